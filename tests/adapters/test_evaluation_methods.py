import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import cycle

import pytest

from hybrid_memory import Message
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.text.tokens import estimate_tokens, message_tokens
from hybrid_memory_evaluation.methods.method import Prompt, Replay, Setting
from langchain_hybrid_memory import evaluation as langchain
from llamaindex_hybrid_memory import evaluation as llamaindex
from tests.doubles import orphans

STOCK = {method.name: method for method in (*langchain.methods(), *llamaindex.methods())}
NAMES = list(STOCK)
BUDGET = 800
SYSTEM = "You are a shop's assistant. 你是商店助理。"
WORDS = {
    "english": ("Where is order {}?", "Order {} is on its way.", "Which order came first?"),
    "chinese": ("订单{}在哪里？", "订单{}正在路上。", "第一个订单是哪个？"),
}
LANGUAGES = list(WORDS)
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
def begun(name: str, *, budget: int = BUDGET) -> Iterator[Replay]:
    """A conversation behind a system message."""
    setting = Setting(budget, estimate_tokens, None, embedder=HashingEmbedder())
    with STOCK[name].replay(setting) as replay:
        replay.say(Message.model_validate({"role": "system", "content": SYSTEM}))
        yield replay


@pytest.fixture(scope="module")
def told_once() -> Iterator[ToldOnce]:
    """Eight exchanges by method and language, and the prompts of their model calls; for tests that ask alone."""
    with ExitStack() as stack:

        @cache
        def made(name: str, language: str) -> tuple[Replay, list[Prompt]]:
            replay = stack.enter_context(begun(name))
            return replay, told(replay, turns(language, 8))

        yield made


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

    def test_calls_and_results_stay_together_as_they_were(self, name: str, language: str, told_once: ToldOnce) -> None:
        _, prompts = told_once(name, language)
        assert not any(orphans(map(Message.model_validate, prompt.messages)) for prompt in prompts)
        # The second call of the model in an exchange answers to the result of the first.
        for number, prompt in enumerate(prompts[1::2], 1):
            (call,) = prompt.messages[-2]["tool_calls"]
            wanted = {"order": 1000 + number, "note": "急件 {now}"}
            assert (call["id"], json.loads(call["function"]["arguments"])) == (f"call-{number}", wanted)
            assert prompt.messages[-1]["tool_call_id"] == call["id"]
            assert f"P-{1000 + number}" in prompt.messages[-1]["content"]
