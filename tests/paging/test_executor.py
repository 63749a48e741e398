"""Calls that go wrong, take too long, or answer too much: the model is told, and the run goes on."""

import asyncio
import json
import re
import threading
from datetime import timedelta
from typing import Any

import pytest

from hybrid_memory import Role
from hybrid_memory.errors import ModelError
from hybrid_memory.runtime.breaker import MAX_HANGING
from hybrid_memory.text.tokens import message_tokens
from hybrid_memory_paging import AgentRun
from hybrid_memory_paging.agent import MAX_CALLS
from tests.faces import Face
from tests.paging.conftest import Make, Script, call, says, shown
from tests.world import cases

SHORT = timedelta(milliseconds=80)


def results(run: AgentRun) -> list[str]:
    return [message.text for message in run.messages if message.role is Role.TOOL]


def failures(run: AgentRun) -> list[bool]:
    return [bool(message.extra.get("failed")) for message in run.messages if message.role is Role.TOOL]


def refusal(run: AgentRun) -> str:
    """What the model is told of the only call, which failed: something short."""
    assert failures(run) == [True]
    (told,) = results(run)
    assert told.startswith("Error: ")
    assert len(told) < 1200
    return told


LINES = [f"line {number:05d} of the harbour master's book" for number in range(2000)]


def test_a_long_result_is_shown_as_a_digest_and_read_in_pages(make: Make) -> None:
    def read_book() -> str:
        """Read."""
        return "\n".join(LINES)

    handles: list[str] = []

    def fetch(prompt: Any) -> str:
        """First the beginning, then the last lines."""
        where = "1990-2000" if handles else ""
        handles.extend(re.findall(r"#\d+", prompt[-1].text))
        return call("fetch", handle=handles[0], where=where)

    script = Script(call("read_book"), fetch, fetch, says("read"))
    agent = make(script, functions=[read_book], max_tokens=3000)
    run = agent.send("Read the book.")
    for prompt in script.prompts:
        assert 3 + sum(message_tokens(message, agent._store.token_counter) for message in prompt) <= 3000
    result, first, last = results(run)
    assert result == "\n".join(LINES), "the log has all of it"
    numbers = [int(number) for number in re.findall(r"line (\d+) of", first)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 10
    assert "line 01999" in last


@pytest.mark.parametrize(
    ("name", "arguments", "hint"),
    [
        *cases("paging/executor.json", "wrong"),
        ("core_memory_append", {"label": "human", "content": "x" * 2001}, "2001 of 2000 characters"),
    ],
)
def test_a_wrong_call_tells_the_model_what_is_wrong(make: Make, name: str, arguments: Any, hint: str) -> None:
    answer = json.dumps({"function": name, "arguments": arguments, "request_heartbeat": True})
    run = make(Script(answer), functions=[weather]).send("Go on.")
    assert hint in refusal(run)
    assert run.why == "yielded"


def weather(city: str) -> str:
    """The weather."""
    return f"rain in {city}"


@pytest.mark.parametrize(
    "answer",
    [
        call("core_memory_append", label="human", content="Ada lives in Ghent")[:-3],
        call("send_message", message="You live in Ghent")[:-1],
    ],
)
def test_a_call_that_was_cut_off_is_not_made_and_the_model_is_told(face: Face, make: Make, answer: str) -> None:
    agent = make(script := Script(answer))
    run = face(agent).send("Where do I live?")
    assert agent.memory.blocks()["human"].value == ""
    assert run.replies == ("ok",)
    told = refusal(run)
    assert "cut off" in told
    assert "again in full" in told
    assert told in shown(script.prompts[1])


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot say")

    __repr__ = __str__


RAISED = {
    "error": ValueError("no harbour"), "exit": SystemExit(3), "interrupt": KeyboardInterrupt(),
    "unspeakable": UnspeakableError(), "long": ValueError("a" * 10**6), "cancelled": asyncio.CancelledError(),
}  # fmt: skip


@pytest.mark.parametrize("raised", RAISED)
def test_whatever_a_function_raises_is_told(make: Make, raised: str) -> None:
    def sail() -> None:
        """Sail."""
        raise RAISED[raised]

    agent = make(Script(call("sail", heartbeat=False)), functions=[sail])
    run = agent.send("Sail!")
    assert refusal(run)
    assert run.replies == ("ok",)


def test_endless_heartbeats_are_bounded_and_the_next_event_works(face: Face, make: Make) -> None:
    script = Script(otherwise=call("conversation_search", query="boat"))
    agent = make(script, max_steps=5)
    run = face(agent).send("Look for the boat.")
    assert run.why == "stopped after 5 answers"
    assert len(script.prompts) == 5
    script.otherwise = says("here")
    run = face(agent).send("And now?")
    assert (run.replies, run.why) == (("here",), "yielded")
    assert "stopped after 5 answers" in shown(script.prompts[5]), "the model is told"


def test_a_function_that_hangs_is_reported_in_time_and_refused_after_four(make: Make) -> None:
    release = threading.Event()
    begun: list[int] = []

    def hang() -> str:
        """Hang."""
        begun.append(1)
        release.wait(20)
        return "late"

    answers = [call("hang", heartbeat=False) for _ in range(MAX_HANGING + 1)]
    agent = make(Script(*answers), functions=[hang], function_timeout=SHORT)
    try:
        run = agent.send("Go")
        assert failures(run) == [True] * (MAX_HANGING + 1)
        assert all("took longer than 0.08 s" in text for text in results(run)[:MAX_HANGING])
        assert "hangs" in results(run)[MAX_HANGING]
        assert len(begun) == MAX_HANGING
    finally:
        release.set()


def test_at_most_four_calls_of_an_answer_are_made_and_all_are_answered(face: Face, make: Make) -> None:
    made: list[int] = []

    def look(number: int) -> str:
        """Look."""
        made.append(number)
        return f"saw {number}"

    answer = "\n".join(call("look", number=number) for number in range(7))
    script = Script(answer)
    run = face(make(script, functions=[look])).send("Look around")
    assert made == list(range(MAX_CALLS))
    assert failures(run) == [False] * MAX_CALLS + [True] * 3
    assert "at most 4 calls" in results(run)[-1]
    assert shown(script.prompts[1]).count("<result") == 7


def test_a_model_that_fails_loses_nothing_and_resume_goes_on(face: Face, make: Make) -> None:
    script = Script(call("core_memory_append", label="human", content="Name: Ada"), ModelError("down"))
    agent = make(script)
    with pytest.raises(ModelError):
        face(agent).send("I am Ada")
    assert agent.memory.blocks()["human"].value == "Name: Ada"
    run = face(agent).resume()
    assert (run.replies, run.why) == (("ok",), "yielded")
    assert agent.memory.blocks()["human"].value == "Name: Ada"
    assert face(agent).resume().why == "nothing to do"
