"""What neither asks memory for something nor tells it anything, in English and Chinese."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.asking import MAX_CHARS, MAX_TALK_CHARS, asks_nothing, is_memory
from tests.doubles import assert_linear


@pytest.mark.parametrize(
    "text",
    [
        "hi", "hello there!", "thanks a lot", "ok great", "Good morning, how are you?", "What's new?", "What’s new?",
        "yes", "Yes, please.", "haha nice", "👍", "😂😂", "...", "", "Hello Anna!", "hi :D", "Thanks for your help!",
        "Thank you so much, that really helps!", "How's it going?", "No thanks", "ok", "k", "lol", "sure, go ahead",
        "Sounds good!", "I see.", "Got it, thanks", "see you tomorrow", "good night", "And you?", "Why?",
        "Hey, what's up?", "What have you been up to today?", "Great job!", "I'm fine, thanks", "bye",
        "Have a nice weekend!", "cool cool", "Hmm, ok.", "That's great!", "Not much, you?",
        "How are you doing today?", "你好", "你好！", "谢谢啦", "好的", "嗯嗯", "早上好", "哈哈", "哈哈哈😂",
        "你好吗？", "早上好，你好吗？", "谢谢你的帮助！", "好的，谢谢", "晚安", "再见", "没问题", "知道了", "明白了",
        "是的", "对", "好啊", "行", "可以", "最近怎么样？", "在吗？", "有什么新鲜事吗？", "辛苦了", "太棒了！", "嗯",
        "不用了，谢谢", "你好，小明", "哦哦，好的", "你呢？", "拜拜", "不客气", "收到", "早", "真的吗？", "好吧",
        "Danke!", "Vielen Dank", "Alles klar, danke", "Guten Morgen", "Wie geht's dir?", "merci beaucoup", "d'accord",
        "Salut, ça va bien ce matin ?", "merci t'es top, bonne soirée", "gracias", "mil gracias, hasta luego",
        "ok vale",
        "¡buenos días!", "grazie mille", "buongiorno", "obrigado!", "tudo bem?", "bedankt", "tack så mycket", "спасибо",
    ],
)  # fmt: skip
def test_small_talk_asks_nothing(text: str) -> None:
    assert asks_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "Who am I?", "What is my name?", "Where did I put the keys?", "How was my trip?", "hello world program in C",
        "What did I say last night?", "What should I cook tonight?", "I'm going to Rome", "no, I moved to Ghent",
        "Delete the staging database", "thanks, and when is my dentist appointment?", "How is my dog?",
        "Good morning! Any meetings today?", "What do you know about me?", "Do you remember me?", "biopsy",
        "Wo wohne ich?", "Wer bin ich?", "ja, ich habe Asthma", "non, je suis à Lyon", "oui mais sans gluten",
        "la casa",
        "klar, am Montag um acht", "Ich heiße Ana", "tack the sail", "Soy alérgica a las nueces", "no, vivo en Lugo",
        "my evening plans", "What's my plan for the evening?", "我叫什么名字？", "我的狗叫什么？", "我是谁？",
        "你还记得我吗？", "我明天去苏州", "好的，那我的牙医预约是什么时候？", "你好，我叫小明",
        "早上好，今天有什么会议？", "行李放哪里了？", "推荐一本书", "好吃的餐厅", "我们上次聊了什么？", "早餐吃什么",
    ],
)  # fmt: skip
def test_what_has_content_asks(text: str) -> None:
    assert not asks_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "Can you help me with that?", "OK, noted.", "好的，记住了。", "Got it, I'll remember that.", "hi",
        "What can I eat?", "When is my birthday?", "Where did I park?", "Do you remember my dog's name?",
        "Tell me about the trip to Ghent.", "Please summarise this.", "你能帮我吗？", "我的生日是什么时候？",
        "告诉我去苏州的事", "帮我翻译一下", "推荐一家餐厅吧", "你好，有什么可以帮你的吗？",
        "Hello! How can I help you today?", "Thanks! Glad to hear that.",
        "You're welcome! Let me know if you need anything else.",
        "Sure! Is there anything else I can help you with?", "好的，我记住了。", "我已经记下来了。",
        "没问题，我会记住的。", "Noted!", "If it rains, what should I do?", "Hey, how have you been?",
        "What about you?", "Who is the president", "what's the capital of France",
        "Could you tell me where my keys are?", "I've noted that down.", "Okay, I'll keep that in mind.",
        "明白了，我会记住这一点。", "不客气！还有什么可以帮您的吗？",
    ],
)  # fmt: skip
def test_questions_greetings_acknowledgements_and_bare_requests_are_no_memories(text: str) -> None:
    assert not is_memory(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to nuts, what can I eat?", "My sister is visiting in May, any ideas?",
        "I had a biopsy last week", "Delete the staging database", "Help me plan my trip to Rome.",
        "Can you help me plan my trip to Japan in May?", "我对花生过敏，能吃什么？", "我下周去苏州，有什么推荐吗？",
        "Paris.", "My name is Ann.", "Book a table at Luigi's for Friday.", "Remember that I like tea.",
        "记住我喜欢喝茶。", "我叫小明。", "Thanks! By the way, I moved to Ghent.", "Yes, I love sushi. You?",
        "我妹妹叫小红，你知道吗？", "No, I never eat pork.", "I was in Rome last week. Do you know it?",
        "帮我订周五的餐厅",
        "嗨，AI伴侣，今天我在图书馆里学习的时候发现了一本非常好看的小说，叫《百年孤独》，你听说过吗？",
        "Noted: you are allergic to nuts.", "好的，你对花生过敏。", "我表妹在上海工作呢。",
        "翻译行业交流峰会的地点是上海。", "Name: Ann", "Correct, I live in Ghent.", "给我的印象是他很累。",
        "List: eggs, milk",
    ],
)  # fmt: skip
def test_what_tells_something_is_a_memory(text: str) -> None:
    assert is_memory(text)


@given(st.text(max_size=400))
def test_any_text_can_be_judged(text: str) -> None:
    assert isinstance(asks_nothing(text), bool)
    assert not (asks_nothing(text) and is_memory(text))


@pytest.mark.parametrize(
    "unit", ["ok ", "好", "thank you very ", "what's ", "how are you ", "真的很", "hi, ", "我也很", "?"]
)
def test_a_long_text_takes_no_time(unit: str) -> None:
    assert_linear(asks_nothing, lambda size: (unit * size)[:size], MAX_TALK_CHARS)
    assert_linear(is_memory, lambda size: (unit * size)[:size], MAX_CHARS)
