"""What wakes an agent: messages, events, times; one after the other, across threads, tasks and restarts."""

import re
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from hybrid_memory import Message, Role
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory_paging import AgentRun, PagedAgent
from hybrid_memory_paging.agent import _event_message
from hybrid_memory_paging.functions import INTERRUPTED
from tests.faces import Face, Open
from tests.paging.conftest import Make, Script, call, says, shown


def replies(agent: PagedAgent) -> list[str]:
    said = [message for message in agent.memory.history() if message.role is Role.ASSISTANT]
    return [message.text for message in said if not message.tool_calls]


def test_a_message_is_answered(face: Face, make: Make) -> None:
    script = Script(call("core_memory_append", label="human", content="Name: Ada"), says("Hello Ada."))
    agent = make(script)
    run = face(agent).send("I am Ada.")
    assert (run.text, run.why, run.calls) == ("Hello Ada.", "yielded", ["core_memory_append"])
    assert str(run) == "Hello Ada."
    assert [message.role for message in run.messages] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT]
    assert list(run.messages) == agent.memory.history()
    assert face(agent).send([{"role": "user", "content": "And"}, "again?"]).text == "ok"


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("pressure", "x"), ("stopped", "x"), ("", "x"), (" ", "x"), ("login", ""), ("login", "  "), (5, "x"),
        ("login", None),
    ],
)  # fmt: skip
def test_an_event_has_a_name_of_its_own_and_a_text(face: Face, make: Make, event: Any, text: Any) -> None:
    agent = make(script := Script())
    with pytest.raises(InvalidInputError):
        face(agent).notify(event, text)
    assert agent.memory.history() == []
    assert script.prompts == []


def test_resume_answers_what_was_written_meanwhile_and_nothing_twice(face: Face, make: Make) -> None:
    agent = make(script := Script(says("first"), says("second")))
    assert face(agent).resume().why == "nothing to do"
    agent.memory.remember("Are you there?")
    run = face(agent).resume()
    assert (run.text, run.why) == ("first", "yielded")
    assert face(agent).resume().why == "nothing to do"
    agent.memory.remember("One thing more.")
    assert face(agent).send("And another.").text == "second"
    assert len(script.prompts) == 2
    assert "One thing more." in shown(script.prompts[1])


def test_the_same_message_sent_twice_is_answered_once(face: Face, make: Make) -> None:
    agent = make(script := Script())
    message = Message(content="Hello", id="m1")
    assert face(agent).send(message).text == face(agent).send(message).text == "ok"
    assert len(script.prompts) == 1
    assert len(agent.memory.history()) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_steps": 0}, {"max_tokens": "many"}, {"k": -1}, {"identity": 5}, {"session": ""},
        {"paging": {"flush": 0.3}}, {"paging": 5}, {"memory_functions": ["forget"]}, {"model": None}, {"model": 5},
        {"function_timeout": timedelta(0)}, {"function_timeout": timedelta(seconds=-1)}, {"function_timeout": 5},
        {"model_timeout": timedelta(0)}, {"model_timeout": 5},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_settings_are_refused_at_once(make: Make, wrong: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"model": Script(), **wrong}
    with pytest.raises(InvalidInputError):
        make(**settings)


class Careful(Script):
    """Answers with the items of its prompt, alone, and first when all threads wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.alone, self.all_there = threading.Lock(), threading.Event()

    def complete(self, messages: Sequence[Message]) -> str:
        assert self.alone.acquire(blocking=False), "two at once"
        self.all_there.wait(60)
        self.prompts.append(list(messages))
        self.alone.release()
        return says("seen: " + " ".join(re.findall(r"item-\d+", shown(messages[1:]))))


def test_threads_that_send_to_one_agent_are_served_one_after_the_other(make: Make) -> None:
    agent = make(script := Careful())
    begun: list[int] = []

    def send(number: int) -> AgentRun:
        begun.append(number)
        if len(begun) == 4:
            script.all_there.set()
        return agent.send(f"This is item-{number}.")

    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(send, range(8)))
    for number, run in enumerate(runs):
        assert f"item-{number}" in run.text.split(), "each sender gets an answer to what it said"
        assert run.messages[0].text == f"This is item-{number}."
    said = [message.text for message in agent.memory.history() if message.role is Role.USER]
    assert sorted(said) == sorted(f"This is item-{number}." for number in range(8))
    assert agent.resume().why == "nothing to do"


class Ticks(threading.Event):
    """What a timer waits for: so many intervals pass at once, and then it is stopped."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left, self.waits = left, []  # type: ignore[var-annotated]

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        self.left -= 1
        return self.left < 0


def test_a_timer_wakes_the_agent_again_and_again(make: Make) -> None:
    agent = make(script := Script(says("looked"), ModelError("down")))
    ticks = Ticks(3)
    agent._wake(ticks, 60.0, _event_message("timer", "Look around."))
    assert ticks.waits == [60.0] * 4
    assert [message.text for message in agent.memory.history() if message.event == "timer"] == ["Look around."] * 3
    assert replies(agent) == ["looked", "ok"], "a failure ends no timer"
    assert all("Look around." in shown(prompt[-1:]) for prompt in script.prompts)


PLAN: list[list[tuple[str, dict[str, Any]]]] = [
    [("core_memory_append", {"label": "human", "content": "fact one"})],
    [("pay", {"number": 1})],
    [("archival_memory_insert", {"content": "note one of the harbour"})],
    [("pay", {"number": 2}), ("core_memory_append", {"label": "human", "content": "fact two"})],
]


def follow_plan(prompt: Sequence[Message]) -> str:
    """Goes through the plan; what was called already it sees in its prompt."""
    for step in PLAN:
        calls = [call(name, **arguments) for name, arguments in step]
        if not all(text in shown(prompt[1:]) for text in calls):
            return "\n".join(calls)
    return says("All is done.")


class CrashError(BaseException):
    """The process ends here."""


def test_an_agent_that_crashed_after_any_append_finishes_its_plan(make: Make, opened: Open) -> None:
    interrupted = 0
    for place in range(1, 40):
        paid: list[int] = []
        memory = opened(url="memory://", embedder="none")
        log = memory._runtime.services.truth
        inner, appends = log.append, [0]

        def pay(number: int, paid: list[int] = paid) -> str:
            """Pay."""
            paid.append(number)
            return f"paid {number}"

        def append(*args: Any, inner: Any = inner, appends: list[int] = appends, crash: int = place, **kw: Any) -> Any:
            appends[0] += 1
            done = inner(*args, **kw)
            if appends[0] == crash:
                raise CrashError
            return done

        log.append = append  # type: ignore[method-assign]
        settings: dict[str, Any] = {"memory": memory, "functions": [pay]}
        with suppress(CrashError):
            make(Script(otherwise=follow_plan), **settings).send("Do what has to be done.")
        log.append = inner  # type: ignore[method-assign]
        agent = make(Script(otherwise=follow_plan), **settings)
        agent.resume()
        assert replies(agent) == ["All is done."]
        assert agent.memory.blocks()["human"].value == "fact one\nfact two"
        assert len(agent.memory.recall("harbour", metadata={"noted_with": "archival_memory_insert"})) == 1
        results = [message.text for message in agent.memory.history() if message.name == "pay"]
        assert len(results) == 2
        assert all(text in (INTERRUPTED, f"paid {number}") for number, text in enumerate(results, 1))
        assert max(Counter(paid).values(), default=1) == 1, "a call that was interrupted is reported, and not repeated"
        interrupted += results.count(INTERRUPTED)
        if appends[0] < place:
            break
    assert place > 10
    assert interrupted >= 2, "some crashed between a call and its result"
