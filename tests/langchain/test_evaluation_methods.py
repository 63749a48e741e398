from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import util
from typing import Any

import pytest

from hybrid_memory import Message
from hybrid_memory.apps.evaluation.methods.method import Prompt, Replay, Setting
from hybrid_memory.errors import MissingDependencyError
from hybrid_memory.text.tokens import estimate_tokens, message_tokens
from langchain_hybrid_memory.evaluation import NAMES, methods
from langchain_hybrid_memory.evaluation.replays import REPLAYS

STOCK = {method.name: method for method in methods()}
BUDGET = 800
SYSTEM = "You are a shop's assistant. 你是商店助理。"
WORDS = {
    "english": ("Where is order {}?", "Order {} is on its way.", "Which order came first?"),
    "chinese": ("订单{}在哪里？", "订单{}正在路上。", "第一个订单是哪个？"),
}
LANGUAGES = list(WORDS)
SUMMARISING = ["langchain-summarization", "langchain-summary-buffer", "langchain-summary"]


def turns(language: str, count: int, start: int = 1) -> list[Message]:
    """Exchanges about an order each: a question, a call, its result, an answer."""
    asks, answers, _ = WORDS[language]
    said = []
    for number in range(start, start + count):
        order = 1000 + number
        call = {"id": f"call-{number}", "name": "track", "arguments": {"order": order, "note": "急件 {now}"}}
        result = json.dumps({"order": order, "parcel": f"P-{order}", "stops": ["north"] * 20})
        said += [
            Message(content=asks.format(order)),
            Message.model_validate({"role": "assistant", "tool_calls": [call]}),
            Message.model_validate({"role": "tool", "tool_call_id": f"call-{number}", "content": result}),
            Message.model_validate({"role": "assistant", "content": answers.format(order)}),
        ]
    return [message.model_copy(update={"id": f"turn-{start}-{row}"}) for row, message in enumerate(said)]


def told(replay: Replay, messages: Sequence[Message]) -> list[Prompt]:
    """Tells the replay of the messages; the prompts of the model calls in between."""
    prompts = []
    for message in messages:
        if message.role == "assistant":
            prompts.append(replay.prompt())
        replay.say(message)
    return prompts


def held(name: str, messages: Sequence[Message], model: Any = None, *, budget: int = BUDGET) -> Replay:
    """A conversation that was told, behind a system message."""
    with STOCK[name].replay(Setting(budget, estimate_tokens, model)) as replay:
        replay.say(Message.model_validate({"role": "system", "content": SYSTEM}))
        told(replay, messages)
        return replay


def unpaired(prompt: Sequence[Mapping[str, Any]]) -> list[str]:
    """Ids of results that don't follow their call, and of calls without a result."""
    waiting: list[str] = []
    wrong = []
    for message in prompt:
        if message["role"] == "tool":
            wrong += [] if message["tool_call_id"] in waiting else [message["tool_call_id"]]
            waiting = [id_ for id_ in waiting if id_ != message["tool_call_id"]]
        else:
            wrong += waiting
            waiting = [call["id"] for call in message.get("tool_calls", ())]
    return wrong + waiting


class Writer:
    """Answers with numbered summaries."""

    name = "writer"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def complete(self, messages: Sequence[Message]) -> str:
        self.asked.append("\n".join(message.text for message in messages))
        return f"Summary number {len(self.asked)}."

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        raise AssertionError("the memories ask for text")


def test_every_method_has_a_replay_under_its_name() -> None:
    assert [method.name for method in methods()] == list(NAMES) == list(REPLAYS)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
class TestAll:
    def test_a_question_stands_last_behind_the_system_message_and_the_newest_turn(
        self, name: str, language: str
    ) -> None:
        asked = WORDS[language][2]
        prompt = held(name, turns(language, 8)).prompt(asked)
        assert prompt.messages[0] == {"role": "system", "content": SYSTEM}
        assert prompt.messages[-1] == {"role": "user", "content": asked}
        assert WORDS[language][1].format(1008) in prompt.text

    def test_asking_changes_nothing(self, name: str, language: str) -> None:
        said = turns(language, 8)
        asked, unasked = held(name, said), held(name, said)
        first = asked.prompt("Which?")
        assert asked.prompt("Which?") == first
        more = turns(language, 3, start=9)
        assert told(asked, more) == told(unasked, more)
        assert asked.prompt("哪个？") == unasked.prompt("哪个？")

    def test_calls_and_results_stay_together_and_as_they_were(self, name: str, language: str) -> None:
        with STOCK[name].replay(Setting(BUDGET, estimate_tokens)) as replay:
            prompts = told(replay, turns(language, 8))
        assert not any(unpaired(prompt.messages) for prompt in prompts)
        # The second call of the model in an exchange answers to the result of the first.
        for number, prompt in enumerate(prompts[1::2], 1):
            (call,) = prompt.messages[-2]["tool_calls"]
            wanted = {"order": 1000 + number, "note": "急件 {now}"}
            assert (call["id"], json.loads(call["function"]["arguments"])) == (f"call-{number}", wanted)
            assert prompt.messages[-1]["tool_call_id"] == call["id"]
            assert f"P-{1000 + number}" in prompt.messages[-1]["content"]

    def test_tokens_are_those_of_all_messages(self, name: str, language: str) -> None:
        prompt = held(name, turns(language, 8)).prompt(WORDS[language][2])
        counted = [message_tokens(Message.model_validate(message), estimate_tokens) for message in prompt.messages]
        assert prompt.tokens == sum(counted)

    def test_there_is_no_way_back(self, name: str, language: str) -> None:
        replay = held(name, turns(language, 8))
        prompt = replay.prompt("Which?")
        assert not replay.reaches(prompt, "turn-1")
        assert list(replay.fetch("Which?", prompt)) == []

    def test_a_short_conversation_is_shown_at_its_first_call(self, name: str, language: str) -> None:
        with STOCK[name].replay(Setting(BUDGET, estimate_tokens)) as replay:
            (first, _) = told(replay, turns(language, 1))
        assert first.messages == [{"role": "user", "content": WORDS[language][0].format(1001)}]


@pytest.mark.parametrize("language", LANGUAGES)
class TestWhatIsLeft:
    @pytest.mark.parametrize("name", [name for name in NAMES if name != "langchain-buffer-window"])
    def test_prompts_keep_the_budget(self, name: str, language: str) -> None:
        with STOCK[name].replay(Setting(BUDGET, estimate_tokens)) as replay:
            replay.say(Message.model_validate({"role": "system", "content": SYSTEM}))
            prompts = told(replay, turns(language, 20))
            assert max(prompt.tokens for prompt in [*prompts, replay.prompt("Which?")]) <= BUDGET

    @pytest.mark.parametrize("name", ["langchain-trim", "langchain-buffer-window"])
    def test_a_window_has_lost_the_old_turns(self, name: str, language: str) -> None:
        text = held(name, turns(language, 20)).prompt("Which?").text
        assert "1001" not in text
        assert "1020" in text

    def test_the_buffer_window_holds_five_exchanges_whatever_they_take(self, language: str) -> None:
        prompt = held("langchain-buffer-window", turns(language, 20), budget=50).prompt("Which?")
        said = [message["content"] for message in prompt.messages[1:-1]]
        asks, answers, _ = WORDS[language]
        assert said == [text.format(order) for order in range(1016, 1021) for text in (asks, answers)]
        assert prompt.tokens > 50

    @pytest.mark.parametrize("name", SUMMARISING)
    def test_an_old_turn_stands_in_the_excerpts(self, name: str, language: str) -> None:
        asks = WORDS[language][0]
        prompt = held(name, turns(language, 20)).prompt("Which?")
        said = [asks.format(order) for order in range(1001, 1021)]
        folded = [text for text in said if {"role": "user", "content": text} not in prompt.messages]
        assert said[0] in folded
        assert any(text in prompt.text for text in folded)

    def test_the_summary_memory_holds_nothing_word_by_word(self, language: str) -> None:
        prompt = held("langchain-summary", turns(language, 6)).prompt("Which?")
        assert [message["role"] for message in prompt.messages] == ["system", "system", "user"]

    @pytest.mark.parametrize("name", NAMES[2:])
    def test_classic_memories_lose_results_of_tools_after_the_turn(self, name: str, language: str) -> None:
        with STOCK[name].replay(Setting(BUDGET, estimate_tokens)) as replay:
            prompts = told(replay, turns(language, 1))
            assert "P-1001" in prompts[-1].text
            assert "P-1001" not in replay.prompt("Which?").text
            assert WORDS[language][1].format(1001) in replay.prompt("Which?").text

    @pytest.mark.parametrize("name", NAMES[:2])
    def test_agents_keep_results_of_tools(self, name: str, language: str) -> None:
        assert "P-1020" in held(name, turns(language, 20)).prompt("Which?").text


class TestModel:
    @pytest.mark.parametrize("name", SUMMARISING)
    def test_its_summary_is_shown(self, name: str) -> None:
        writer = Writer()
        prompt = held(name, turns("english", 40), writer).prompt("Which?")
        assert f"Summary number {len(writer.asked)}." in prompt.text
        assert "Where is order 1001?" in writer.asked[0]

    @pytest.mark.parametrize("name", SUMMARISING)
    def test_it_is_asked_with_the_words_of_langchain(self, name: str) -> None:
        writer = Writer()
        held(name, turns("english", 40), writer)
        asked = writer.asked[0].replace("Where is order 1001?", "")
        assert "summar" in asked.lower()

    def test_questions_that_fold_the_same_turns_are_paid_for_once(self) -> None:
        writer = Writer()
        replay = held("langchain-summarization", turns("english", 20), writer)
        long = "Which order came first, " + "and which one after that, " * 60 + "and why?"
        before = len(writer.asked)
        prompts = [replay.prompt(long) for _ in range(3)]
        assert len(writer.asked) == before + 1
        assert prompts[0] == prompts[2]

    @pytest.mark.parametrize("name", ["langchain-trim", "langchain-buffer-window"])
    def test_windows_ask_no_model(self, name: str) -> None:
        writer = Writer()
        held(name, turns("english", 20), writer).prompt("Which?")
        assert writer.asked == []


class TestUnusual:
    @pytest.mark.parametrize("name", NAMES)
    def test_a_system_message_beyond_the_budget_leaves_room_for_the_newest_turn(self, name: str) -> None:
        with STOCK[name].replay(Setting(100, estimate_tokens)) as replay:
            replay.say(Message.model_validate({"role": "system", "content": "Be kind to everybody. " * 60}))
            told(replay, turns("english", 6))
            prompt = replay.prompt("Which?")
        assert prompt.tokens > 100
        assert prompt.messages[-1] == {"role": "user", "content": "Which?"}

    @pytest.mark.parametrize("name", NAMES)
    def test_nothing_said_yet(self, name: str) -> None:
        with STOCK[name].replay(Setting(BUDGET, estimate_tokens)) as replay:
            assert replay.prompt("Which?").messages == [{"role": "user", "content": "Which?"}]

    @pytest.mark.parametrize("name", NAMES)
    def test_one_side_may_speak_twice(self, name: str) -> None:
        said = [
            Message.model_validate({"role": role, "content": text})
            for role, text in (
                ("assistant", "Welcome."), ("user", "Hello."), ("user", "Are you there?"),
                ("assistant", "Yes."), ("assistant", "What is it?"),
            )
        ]  # fmt: skip
        text = held(name, said).prompt("Which?").text
        wanted = ("Hello.", "Are you there?", "Yes.", "What is it?")
        assert all(part in text for part in wanted)
        # trim_messages begins with what the user says.
        assert ("Welcome." in text) is (name != "langchain-trim")

    def test_a_summary_that_fails_is_an_error_or_says_so(self) -> None:
        class Broken(Writer):
            def complete(self, messages: Sequence[Message]) -> str:
                raise RuntimeError("out of order")

        with pytest.raises(RuntimeError, match="out of order"):
            held("langchain-summary", turns("english", 1), Broken())


class TestMissing:
    @pytest.mark.parametrize(
        ("package", "named"), [("langchain", "langchain"), ("langchain_classic", "langchain-classic")]
    )
    def test_without_langchain_there_are_no_methods(
        self, package: str, named: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            "langchain_hybrid_memory.evaluation.find_spec",
            lambda name: None if name == package else util.find_spec(name),
        )
        with pytest.raises(MissingDependencyError, match=f"^{named} is not installed.*langchain]"):
            methods()

    def test_listing_the_methods_does_not_load_langchain(self) -> None:
        code = (
            "import sys; from langchain_hybrid_memory.evaluation import methods; methods(); "
            "print(sorted({'langchain', 'langchain_core', 'langchain_classic', 'langgraph'} & set(sys.modules)))"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
        assert run.stdout.strip() == "[]"
