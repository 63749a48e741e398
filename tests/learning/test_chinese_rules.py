from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import Category
from hybrid_memory.facts.rules.chinese import CHINESE
from hybrid_memory.facts.rules.reading import RuleExtractor
from tests.learning.claims import Reader, listed

READER = Reader(RuleExtractor((CHINESE,)), datetime(2026, 5, 20, 10, 30, tzinfo=UTC))
"""Reads what is said on a Wednesday."""

WHO_ONE_IS = [
    ("你好，我叫李娜，今年28岁，住在杭州，是一名护士。", "name=李娜 | age=28岁 | home=杭州 | profession=护士"),
    ("我的名字是王小明", "name=王小明"), ("我英文名叫Tom", "英文名=Tom"), ("大家都叫我阿强", "nickname=阿强"),
    ("以后叫我老王就行。", "nickname=老王"),
    ("我今年28，在杭州做护士", "profession=护士"), ("我刚满二十岁", "age=二十岁"),
    ("本人男，未婚，35岁", "marital_status=未婚 | age=35岁"), ("我生日是5月3号", "birthday=5月3号"),
    ("我来自四川成都", "hometown=四川成都"),
    ("我老家在山东青岛，现在在北京工作", "hometown=山东青岛"),
    ("我住朝阳区", "home=朝阳区"), ("我们全家搬去了成都", "home=成都"),
    ("我和我老公住在苏州，我们养了一只柯基。", "home=苏州 | pet=一只柯基"),
    ("我叫安娜，和丈夫汤姆住在根特。", "home=根特 | name=安娜"),
    ("我和我老公大伟一起住在杭州", "home=杭州"),
    ("我每天吃降压药，还在服用二甲双胍", "medicine=降压药 | medicine=二甲双胍"),
    ("我的新地址是中山路88号", "address=中山路88号"),
    ("我的手机号是13800001111", "phone=13800001111"), ("我的邮箱改成了li.na@example.com", "email=li.na@example.com"),
    ("我会说英语和法语", "language=英语 | language=法语"), ("我去年结婚了", "marital_status=结婚"),
    ("我离婚了", "marital_status=离婚"),
]  # fmt: skip

WORK_AND_STUDY = [
    ("我在阿里巴巴上班，做产品经理", "employer=阿里巴巴 | profession=产品经理"),
    ("我在一家互联网公司上班", "employer=互联网公司"),
    ("我入职了华为", "employer=华为"),
    ("我换工作了，现在在大疆做飞控", "employer=大疆"),
    ("我是做销售的", "profession=销售"),
    ("我是个程序员", "profession=程序员"),
    ("我用Rust写后端，数据库用的是Postgres", "technology=Rust | technology=Postgres"),
    ("我们后端用Go，前端用React", "technology=Go | technology=React"),
    ("我会Java和C++", "technology=Java | technology=C++"),
    ("我熟悉Docker和Kubernetes", "technology=Docker | technology=Kubernetes"),
]

PEOPLE_AND_PETS = [
    ("我妻子小丽是老师", "partner=小丽 | 小丽.profession=老师"),
    ("我妈妈叫王秀英", "mother=王秀英"),
    ("我有个哥哥叫张伟", "sibling=张伟"),
    ("我有两个孩子", "child=两个孩子"),
    ("张伟是我最好的朋友", "friend=张伟"),
    ("我最好的朋友叫陈晨", "friend=陈晨"),
    ("我女儿五岁了", "user's daughter.age=五岁"),
    ("我爸今年六十岁", "user's father.age=六十岁"),
    ("我老公是医生", "user's husband.profession=医生"),
    ("我姐夫是警察", "user's older sister's husband.profession=警察"),
    ("我叔叔老家在浙江宁波。", "user's uncle.hometown=浙江宁波"),
    ("我妈对青霉素过敏。", "user's mother.allergy=青霉素"),
    ("我老公不吃香菜。", "user's husband.avoids=香菜"),
    ("我男朋友是程序员，他喜欢打游戏", "user's boyfriend.profession=程序员 | user's boyfriend.likes=打游戏"),
    ("我女儿今年上小学三年级，特别喜欢画画。", "user's daughter.likes=画画"),
    ("陈浩是我的下属，其生日是3月12日。", "colleague=陈浩"),
    ("阿明住在广州", "阿明.home=广州"),
    ("我养了一只猫，叫咪咪", "pet=猫 咪咪"),
    ("我家有一条金毛，名字叫旺财", "pet=金毛 旺财"),
    ("我养了两只狗", "pet=两只狗"),
]

TASTES = [
    ("我喜欢绘画、弹钢琴和品茶", "likes=绘画 | likes=弹钢琴 | likes=品茶"),
    ("我特别喜欢村上春树的小说", "likes=村上春树的小说"), ("我喜欢猫，不喜欢狗", "likes=猫 | dislikes=狗"),
    ("我最喜欢的是《城南旧事》", "likes=《城南旧事》"), ("我最喜欢的颜色是蓝色", "favorite_color=蓝色"),
    ("火锅是我的最爱", "likes=火锅"), ("比起咖啡我更喜欢茶", "prefers=茶"),
    ("我偏爱安静的地方", "prefers=安静的地方"), ("我宁愿走路", "prefers=走路"), ("我讨厌下雨天", "dislikes=下雨天"),
    ("我受不了噪音", "dislikes=噪音"), ("我不太喜欢运动", "dislikes=运动"), ("我对足球不感兴趣", "dislikes=足球"),
    ("我不吃辣，也不吃香菜", "avoids=辣 | avoids=香菜"), ("我从来不喝咖啡", "avoids=咖啡"),
    ("我避免喝碳酸饮料", "avoids=喝碳酸饮料"),
    ("我对花生过敏", "allergy=花生"), ("我对芒果和海鲜都过敏。", "allergy=芒果 | allergy=海鲜"),
    ("我海鲜过敏", "allergy=海鲜"), ("医生说我有糖尿病", "condition=糖尿病"),
    ("我现在最喜欢的颜色是橙色", "favorite_color=橙色"), ("我最喜欢的球队是申花", "最喜欢的球队=申花"),
    ("我有轻微的近视", "condition=近视"), ("我从今年一月开始吃素。", "diet=吃素"),
    ("我的爱好是爬山和摄影", "interest=爬山 | interest=摄影"), ("我对天文很感兴趣", "interest=天文"),


    ("我的手机是华为Mate60", "手机=华为Mate60"), ("我家的冰箱是海尔的。", "冰箱=海尔"),
    ("我的车牌号是京A12345", "车牌号=京A12345"), ("我的幸运数字是7", "幸运数字=7"),
]  # fmt: skip

TASKS = [
    ("提醒我下周二下午三点看牙医", "todo=看牙医 05-26 15:00"),
    ("请提醒我今晚八点给客户回电话", "todo=给客户回电话 05-20 20:00"),
    ("记得周五给妈妈打电话", "todo=给妈妈打电话 05-22 00:00"),
    ("我得明天下午三点前交报告", "todo=交报告 05-21 15:00"),
    ("我得买生日蛋糕", "todo=买生日蛋糕"),
    ("项目会议改到6月3日了", "appointment=项目会议 06-03 00:00"),
    ("牙医已经看完了", "todo=看牙医 done"),
    ("周五之前要交论文", "todo=交论文 05-22 00:00"),
    ("待办：买牛奶", "todo=买牛奶"),
    ("我下周二下午三点看牙医", "appointment=看牙医 05-26 15:00"),
    ("明天上午十点我有个面试", "appointment=面试 05-21 10:00"),
    ("周日下午两点和陈医生有个复诊", "appointment=复诊 05-24 14:00"),
    ("会议改到下周四上午十点了", "appointment=会议 05-28 10:00"),
    ("我们决定用Postgres", "decision=Postgres"),
    ("我的目标是今年跑完一场马拉松", "goal=今年跑完一场马拉松"),
    ("我想成为一名作家", "goal=成为一名作家"),
    ("我打算明年考研", "goal=明年考研"),
    ("报告写完了", "todo=写报告 done"),
    ("我已经订好了机票", "todo=订机票 done"),
    ("我把快递寄出去了", "todo=寄快递 done"),
    ("房租已经交了", "todo=交房租 done"),
    ("我不用交报告了", "todo=交报告 dropped"),
    ("周五的会议取消了", "appointment=周五的会议 dropped"),
]

TAKEN_BACK = [
    ("我不再喜欢爵士乐了", "likes=爵士乐 ended"),
    ("我对芒果不过敏了", "allergy=芒果 ended"),
    ("我们搬到杭州三个星期了。", "home=杭州"),
    ("我搬到成都半年了。", "home=成都"),
    ("我其实对芒果不过敏。", "allergy=芒果 wrong"),
    ("我不对芒果过敏。", "allergy=芒果 ended"),
    ("我已经不在西门子工作了", "employer=西门子 ended"),
    ("我从腾讯离职了", "employer=腾讯 ended"),
    ("我不住在上海了", "home=上海 ended"),
    ("我以前住在武汉", "home=武汉 ended"),
    ("我不当老师了", "profession=老师 ended"),
    ("我不再用Vue了", "technology=Vue ended"),
    ("我从腾讯跳槽到了字节跳动", "employer=腾讯 ended | employer=字节跳动"),
    ("去年三月我从上海搬到了深圳", "home=上海 ended | home=深圳"),
    ("我们从MySQL迁移到了PostgreSQL", "technology=MySQL ended | technology=PostgreSQL"),
    ("我不叫李丽，我叫李娜", "name=李丽 wrong | name=李娜"),
    ("我叫李娜，不是李丽", "name=李丽 wrong | name=李娜"),
    ("我的生日是6月1日，不是7月1日。", "birthday=7月1日 wrong | birthday=6月1日"),
]

INSTRUCTIONS = [
    ("回答简短点", "communication_style=回答简短点"),
    ("以后请用中文回答我", "communication_style=用中文回答我"),
    ("不要用表情符号", "communication_style=不要用表情符号"),
    ("我希望你的回答详细一些", "communication_style=回答详细一些"),
    ("请用简短的句子回答我", "communication_style=用简短的句子回答我"),
    ("说重点就行", "communication_style=说重点就行"),
]


@pytest.mark.parametrize(
    ("text", "expected"), WHO_ONE_IS + WORK_AND_STUDY + PEOPLE_AND_PETS + TASTES + TASKS + TAKEN_BACK + INSTRUCTIONS
)
def test_what_is_said_becomes_claims(text: str, expected: str) -> None:
    assert READER.lines(text) == listed(expected)


@pytest.mark.parametrize(
    "text",
    [
        "你喜欢爵士乐吗？", "你叫什么名字", "我喜欢什么颜色？", "我想问一下，我住在哪里？", "你记得我叫什么吗",
        "谁喜欢跑步", "我是不是该换工作了", "你觉得我适合当老师吗", "如果我住在北京，我会很开心",
        "要是我是医生就好了", "假如我有一百万，我会买房", "我可能会搬到上海", "也许我喜欢她", "我希望我是歌手",
        "我梦见我在法国工作", "他说他住在北京", "她说我喜欢辣的", "他问我喜不喜欢吃辣", "听说你住在北京",
        '他写道，"我对花生过敏。"', "我不是医生", "我没有高血压", "我没有女朋友", "我又不是程序员", "我还没结婚",
        "我不对任何东西过敏", "我住到明年三月。", "我没说过我喜欢猫", "我喜欢你", "我爱你", "我喜欢这个",
        "我喜欢这首歌", "我喜欢你的建议", "我今天不吃晚饭", "我昨天吃了火锅", "我想喝水", "我要一杯咖啡",
        "我要睡觉了", "我叫了外卖", "我叫你别去", "我住院了", "我在家工作", "我和父母一起住", "我今天吃了感冒药",
        "我没吃药", "我坐地铁", "我是来帮忙的", "我是第一次来", "我是高兴的", "我记得你说过", "我觉得很累",
        "我知道了", "小说里的主角喜欢喝咖啡", "这个角色叫李雷，是一名警察", "请帮我翻译：我叫李华，我喜欢踢足球。",
        "帮我写一封邮件", "每次用完头发都很柔顺", "明天见", "明天天气怎么样", "下次再聊",
    ],
)  # fmt: skip
def test_what_claims_nothing(text: str) -> None:
    assert READER.lines(text) == []


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("你叫什么名字？", "李娜。", "name=李娜"),
        ("请问怎么称呼你？", "叫我小北就好", "nickname=小北"),
        ("你住在哪里？", "杭州", "home=杭州"),
        ("你是哪里人？", "四川的", "hometown=四川"),
        ("你今年多大了？", "三十二岁。", "age=三十二岁"),
        ("你的生日是哪天？", "5月5日，怎么了", "birthday=5月5日"),
        ("你是做什么工作的？", "护士", "profession=护士"),
        ("你有什么爱好吗？", "爬山、游泳", "interest=爬山 | interest=游泳"),
        ("你最喜欢的电影是什么？", "《活着》", "favorite_movie=《活着》"),
        ("你对什么过敏？", "花生", "allergy=花生"),
    ],
)
def test_a_short_answer_says_what_was_asked(question: str, answer: str, expected: str) -> None:
    assert READER.lines(f"A:{question}", answer) == listed(expected)


def test_only_somebody_else_can_ask_for_an_answer() -> None:
    assert READER.lines("A:你住在哪里？", "杭州") == ["home=杭州"]
    assert READER.claims("你住在哪里？", "杭州") == []


@pytest.mark.parametrize("text", ["说错了，是慕尼黑不是柏林", "不对，不是柏林，是慕尼黑"])
def test_a_correction_takes_back_what_was_said_before(text: str) -> None:
    assert READER.lines("我住在柏林", "A:好的。", text) == ["home=慕尼黑", "home=柏林 wrong"]


def test_a_time_tells_since_when_it_is_so() -> None:
    ended, begun = sorted(READER.claims("去年三月我从上海搬到了深圳"), key=lambda claim: claim.stance)
    assert (ended.value, ended.until) == ("上海", datetime(2025, 3, 1, tzinfo=UTC))
    assert (begun.value, begun.since) == ("深圳", datetime(2025, 3, 1, tzinfo=UTC))


def test_a_named_speaker_speaks_of_themselves() -> None:
    (claim,) = READER.extractor.extract([READER.turn(1, "我对花生过敏", name="小敏")], [])
    assert (claim.subject, claim.value) == ("小敏", "花生")
    (wife,) = READER.extractor.extract([READER.turn(1, "我妻子是牧师", name="小敏")], [])
    assert wife.subject == "小敏's wife"


def test_the_assistant_makes_no_claims_about_itself() -> None:
    assert READER.extractor.extract([READER.turn(1, "我叫小智，我喜欢帮助你。", role="assistant")], []) == []


def test_facts_of_both_languages_can_meet() -> None:
    subjects = {claim.subject for claim in READER.claims("我妈妈今年60岁。我哥哥喜欢下棋。我老板住在苏州。")}
    assert subjects == {"user's mother", "user's older brother", "user's boss"}


@pytest.mark.parametrize(
    ("text", "category", "single"),
    [
        ("我对花生过敏", Category.KNOWLEDGE, False),
        ("我住在杭州", Category.KNOWLEDGE, True),
        ("我喜欢爬山", Category.PREFERENCE, False),
        ("我妻子叫小丽", Category.RELATION, True),
        ("我得明天交报告", Category.TASK, False),
        ("我的手机是华为Mate60", Category.KNOWLEDGE, True),
    ],
)
def test_claims_have_the_kind_of_their_attribute(text: str, category: Category, *, single: bool) -> None:
    (claim,) = READER.claims(text)
    assert (claim.category, claim.single) == (category, single)


SIGNS = st.sampled_from(
    """我 我们 他 她 我妈妈 我朋友 小丽 喜欢 不 不再 讨厌 住在 搬到 从 到 叫 是 的 一名 护士 在 工作 北京 公司 养了 一只
    猫 今年 三 岁 对 花生 过敏 明天 下午 三点 提醒 得 交 报告 了 吗 如果 ， 。 ？ ： 、 " 《 》 Rust 用 以后 都 要
    目标 打算 决定 最 更 和 不是 每天 1 年 月 日 \n""".split()
)


@given(st.lists(SIGNS, max_size=20).map("".join))
def test_values_are_words_of_the_turn_and_no_pronouns(text: str) -> None:
    for claim in READER.extractor.extract([READER.turn(1, f"。{text}")], []):
        assert 0 < len(claim.value) <= 120
        assert claim.value not in {"我", "你", "他", "她", "它", "这个", "那个", "什么"}
        assert claim.source == 1
        assert 0 < claim.confidence < 1


@given(st.lists(SIGNS, max_size=12).map("".join), st.lists(SIGNS, max_size=12).map("".join))
def test_claims_do_not_depend_on_how_turns_are_cut_into_calls(one: str, other: str) -> None:
    turns = [READER.turn(number, text) for number, text in enumerate((one, other), 1) if text.strip()]
    together = READER.extractor.extract(turns, [])
    apart = [claim for number, turn in enumerate(turns) for claim in READER.extractor.extract([turn], turns[:number])]
    assert together == apart
