"""What wakes an agent: messages, events, times; one after the other, across threads, tasks and restarts."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hybrid_memory import Message, Role
from hybrid_memory.errors import HybridMemoryError, InvalidInputError, ModelError
from hybrid_memory_paging import Alarm, PagedAgent
from hybrid_memory_paging.executor import INTERRUPTED
from tests.doubles import wait_until
from tests.faces import Face, Open
from tests.paging.children.killed_agent import agent_of
from tests.paging.conftest import Make, Script, call, says, shown

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)


class Wall:
    """A clock on the wall, which runs on from where it is set."""

    def __init__(self) -> None:
        self.set(NOON - timedelta(days=1))

    def set(self, to: datetime) -> None:
        self._ahead = to - timedelta(seconds=time.monotonic())

    def just_before(self, instant: datetime) -> None:
        self.set(instant - timedelta(seconds=0.5))

    def __call__(self) -> datetime:
        return self._ahead + timedelta(seconds=time.monotonic())

    def jump(self, by: timedelta) -> None:
        self._ahead += by


@pytest.fixture
def wall() -> Wall:
    return Wall()


def timers(agent: PagedAgent) -> list[Message]:
    return [message for message in agent.memory.history() if message.event == "timer"]


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


def test_an_event_is_told_and_answered(face: Face, make: Make) -> None:
    agent = make(script := Script(says("Welcome back.")))
    run = face(agent).notify("login", "Ada logged in from Rome.")
    assert run.text == "Welcome back."
    assert run.messages[0].event == "login"
    assert "<system>\nAda logged in from Rome.\n</system>" in script.prompts[0][-1].text
    assert script.prompts[0][-1].role is Role.USER


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


def test_a_conversation_from_before_the_agent_is_no_work_of_its(face: Face, make: Make, opened: Open) -> None:
    memory = opened(url="memory://", embedder="none")
    before = memory.scoped(user="ada", agent="clerk", session="main")
    before.remember([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}])
    agent = make(script := Script(), memory=memory)
    assert face(agent).resume().why == "nothing to do"
    face(agent).send("How are you?")
    assert "Hi" in shown(script.prompts[0])


def test_a_new_agent_has_empty_blocks_for_itself_and_the_user(make: Make) -> None:
    agent = make(Script())
    agent.send("Hello")
    assert {label: block.value for label, block in agent.memory.blocks().items()} == {"persona": "", "human": ""}
    assert all(block.description for block in agent.memory.blocks().values())


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400}}


def test_what_is_no_text_is_named_in_the_prompt(face: Face, make: Make) -> None:
    agent = make(script := Script())
    assert face(agent).send({"role": "user", "content": [PICTURE]}).text == "ok"
    assert face(agent).send({"role": "user", "content": [{"type": "text", "text": "And this?"}, PICTURE]}).text == "ok"
    asked = {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "name": "look", "arguments": ""}]}
    agent.memory.remember([asked, {"role": "tool", "tool_call_id": "c", "content": ""}])
    agent.memory.remember({"role": "assistant", "content": [PICTURE]})
    assert face(agent).send("Well?").text == "ok"
    words = shown(script.prompts[-1][1:])
    assert words.lower().count("image") >= 2
    assert "And this?" in words
    assert "AAAA" not in words


def test_after_a_reset_the_model_is_not_asked_for_what_was_before(make: Make) -> None:
    agent = make(script := Script(call("core_memory_append", label="human", content="one"), ModelError("down")))
    with pytest.raises(ModelError):
        agent.send("I am Ada.")
    agent.memory.reset()
    agent.resume()
    assert all(prompt[-1].role is Role.USER for prompt in script.prompts)
    assert agent.send("Hello").text == "ok"


def test_the_model_is_called_again_after_it_spoke_if_it_asks_for_that(face: Face, make: Make) -> None:
    script = Script(call("send_message", message="One moment."), says("Here it is."))
    run = face(make(script)).send("Look it up.")
    assert run.replies == ("One moment.", "Here it is.")
    assert script.prompts[1][-1].role is Role.USER, "providers continue a last turn of the assistant"
    assert "One moment." in shown(script.prompts[1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_steps": 0}, {"max_run_tokens": 0}, {"max_tokens": "many"}, {"k": -1}, {"identity": 5}, {"session": ""},
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
    """Answers with the items of its prompt, and notes how many answer at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.running = self.most = 0
        self.lock = threading.Lock()

    def complete(self, messages: Sequence[Message]) -> str:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.prompts.append(list(messages))
        time.sleep(0.01)
        with self.lock:
            self.running -= 1
        return says("seen: " + " ".join(re.findall(r"item-\d+", shown(messages[1:]))))


def test_threads_that_send_to_one_agent_are_served_one_after_the_other(make: Make, opened: Open) -> None:
    memory = opened(url="memory://", embedder="none")
    script = Careful()
    # Two objects are the same agent.
    agents = [make(script, memory=memory, max_tokens=8000) for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda number: agents[number % 2].send(f"This is item-{number}."), range(12)))
    assert script.most == 1
    for number, run in enumerate(runs):
        assert f"item-{number}" in run.text.split(), "each sender gets an answer to what it said"
        assert run.messages[0].text == f"This is item-{number}."
    said = [message.text for message in agents[0].memory.history() if message.role is Role.USER]
    assert sorted(said) == sorted(f"This is item-{number}." for number in range(12))
    assert agents[1].resume().why == "nothing to do"


def test_two_processes_that_run_one_agent_lose_nothing_and_make_no_call_twice(make: Make, opened: Open) -> None:
    paid: Counter[int] = Counter()

    def pay(number: int) -> str:
        """Pay."""
        paid[number] += 1
        return f"paid {number}"

    def policy(prompt: Sequence[Message]) -> str:
        """Pays each item once, as far as its prompt tells."""
        words = shown(prompt[1:])
        due = [int(number) for number in re.findall(r"item-(\d+)", words)]
        open_ones = [number for number in due if f'"arguments": {{"number": {number}}}' not in words]
        return call("pay", number=open_ones[0]) if open_ones else says("done")

    agents = [
        make(Script(otherwise=policy), memory=opened(embedder="none", power_safe=False), functions=[pay], max_steps=50)
        for _ in range(2)
    ]
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda number: agents[number % 2].send(f"Pay item-{number}."), range(8)))
    assert all(run.why in ("yielded", "nothing to do") for run in runs)
    for agent in agents:
        assert agent.resume().why == "nothing to do"
    history = agents[0].memory.history()
    said = Counter(message.text for message in history if message.role is Role.USER)
    assert said == Counter(f"Pay item-{number}." for number in range(8))
    calls = [one for message in history for one in message.tool_calls]
    results = [message for message in history if message.role is Role.TOOL]
    assert Counter(one.id for one in calls) == Counter(result.tool_call_id for result in results)
    assert len(calls) == len({one.id for one in calls}) == 8
    assert max(paid.values()) == 1
    for result in results:
        assert result.text == INTERRUPTED or paid[int(result.text.removeprefix("paid "))] == 1
    assert [message.id for message in agents[1].memory.history()] == [message.id for message in history]


def meeting(parties: int) -> Callable[[Sequence[Message]], str]:
    """An answer that none of so many models gives before all are asked."""
    barrier = threading.Barrier(parties)

    def answer(_: Sequence[Message]) -> str:
        barrier.wait(timeout=10)
        return says("met")

    return answer


@pytest.mark.parametrize("differ", ["agent", "user", "session"])
async def test_different_agents_work_at_the_same_time(make: Make, opened: Open, differ: str) -> None:
    memory = opened(url="memory://", embedder="none")
    meet = meeting(4)
    agents = [make(Script(meet), memory=memory, **{differ: f"x{number}"}) for number in range(4)]
    in_threads = (asyncio.to_thread(agent.send, "Hello") for agent in agents[:2])
    on_the_loop = (agent.asend("Hello") for agent in agents[2:])
    runs = await asyncio.gather(*in_threads, *on_the_loop)
    assert [run.text for run in runs] == ["met"] * 4


def test_an_alarm_wakes_the_agent_again_and_again(make: Make, wall: Wall) -> None:
    agent = make(script := Script(otherwise=says("looked")), clock=wall)
    wall.just_before(NOON)
    alarm = agent.every(timedelta(seconds=1), "Look around.")
    assert isinstance(alarm, Alarm)
    assert (alarm.due, alarm.text) == (NOON, "Look around.")
    wait_until(lambda: len(replies(agent)) >= 2)
    alarm.cancel()
    assert replies(agent)[:2] == ["looked", "looked"]
    assert all("Look around." in shown(prompt[-1:]) for prompt in script.prompts)
    times = [message.at for message in timers(agent) if message.at is not None]
    assert all(NOON <= at < NOON + timedelta(seconds=8) for at in times)
    wait_until(lambda: agent.resume().why == "nothing to do")
    count = len(timers(agent))
    time.sleep(1.1)
    assert len(timers(agent)) == count, "a cancelled alarm is silent"


def test_an_alarm_of_two_processes_wakes_the_agent_once(make: Make, opened: Open, wall: Wall) -> None:
    script = Script(otherwise=says("looked"))
    agents = [make(script, memory=opened(embedder="none", clock=wall)) for _ in range(2)]
    wall.just_before(NOON)
    alarms = [agent.every(timedelta(hours=1), "Look around.") for agent in agents]
    other = agents[0].every(timedelta(hours=1), "Water the plants.")
    wait_until(lambda: len(timers(agents[0])) == 2 and len(replies(agents[0])) >= 1)
    wait_until(lambda: all(alarm.due == NOON + timedelta(hours=1) for alarm in [*alarms, other]))
    time.sleep(0.3)
    assert Counter(message.text for message in timers(agents[1])) == {"Look around.": 1, "Water the plants.": 1}
    assert all(agent.resume().why in ("nothing to do", "yielded") for agent in agents)
    assert 1 <= len(replies(agents[1])) <= 2, "no event is answered twice"
    assert len(script.prompts) <= 4, "of two that ask at once one asks in vain"


def test_an_alarm_that_was_slept_through_rings_once(make: Make, wall: Wall) -> None:
    agent = make(Script(), clock=wall)
    wall.just_before(NOON)
    alarm = agent.every(timedelta(hours=1), "Look around.")
    wall.jump(timedelta(hours=5, minutes=30))
    wait_until(lambda: replies(agent))
    wait_until(lambda: alarm.due == NOON + timedelta(hours=6))
    assert len(timers(agent)) == 1


def test_a_failure_of_a_woken_agent_is_logged(make: Make, wall: Wall, caplog: pytest.LogCaptureFixture) -> None:
    agent = make(Script(ModelError("down")), clock=wall)
    wall.just_before(NOON)
    with caplog.at_level(logging.WARNING, logger="hybrid_memory"):
        agent.every(timedelta(hours=1), "Look around.")
        wait_until(lambda: "could not be started" in caplog.text)
    assert "down" in caplog.text
    assert len(timers(agent)) == 1
    assert agent.resume().text == "ok", "what it was woken for is not lost"


def test_a_closed_agent_is_not_woken(make: Make, wall: Wall) -> None:
    with make(Script(), clock=wall) as agent:
        wall.just_before(NOON)
        agent.every(timedelta(hours=1), "Look around.")
    time.sleep(0.8)
    assert timers(agent) == []


def test_a_cron_alarm_wakes_the_agent(make: Make, wall: Wall) -> None:
    agent = make(Script(), clock=wall)
    wall.just_before(datetime(2026, 5, 4, 9, tzinfo=BERLIN))
    alarm = agent.cron("0 9 * * 1-5", "Good morning.", timezone=BERLIN)
    assert alarm.due == datetime(2026, 5, 4, 7, tzinfo=UTC)
    assert "0 9 * * 1-5" in repr(alarm)
    wait_until(lambda: replies(agent))
    assert [message.text for message in timers(agent)] == ["Good morning."]
    wait_until(lambda: alarm.due == datetime(2026, 5, 5, 7, tzinfo=UTC))


@pytest.mark.parametrize(
    ("expression", "timezone", "now", "due"),
    [
        ("0 9 * * *", None, "2026-05-03T08:59+00:00", "2026-05-03T09:00+00:00"),
        ("0 9 * * *", "Asia/Shanghai", "2026-05-03T00:30+00:00", "2026-05-03T01:00+00:00"),
        ("0 9 * * *", "America/New_York", "2026-01-05T00:00+00:00", "2026-01-05T14:00+00:00"),
        ("0 9 * * *", "America/New_York", "2026-07-05T00:00+00:00", "2026-07-05T13:00+00:00"),
        ("0 9 * * 1-5", "Europe/Berlin", "2026-05-01T08:00+00:00", "2026-05-04T07:00+00:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00+00:00", "2026-03-29T01:00+00:00"),  # skipped: right behind
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00+00:00", "2026-10-25T00:30+00:00"),  # twice: the first
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30+00:00", "2026-10-26T01:30+00:00"),  # and not the second
        ("0 0 29 2 *", None, "2026-05-03T00:00+00:00", "2028-02-29T00:00+00:00"),
        ("*/15 * * * *", None, "2026-12-31T23:50+00:00", "2027-01-01T00:00+00:00"),
    ],
)
def test_cron_knows_time_zones_and_summer_time(
    make: Make, expression: str, timezone: str | None, now: str, due: str
) -> None:
    zone = None if timezone is None else ZoneInfo(timezone)
    alarm = make(Script(), clock=lambda: datetime.fromisoformat(now)).cron(expression, "Now.", timezone=zone)
    assert alarm.due.astimezone(UTC) == datetime.fromisoformat(due)  # in an hour that comes twice only UTC compares


@pytest.mark.parametrize(
    "expression",
    [
        "", "x", "* * * *", "* * * * * *", "* * * * * * *", "61 * * * *", "0 25 * * *", "0 0 30 2 *", "0 0 * * 9",
        "a b c d e", None, 5,
    ],
)  # fmt: skip
def test_a_bad_cron_expression_is_refused(make: Make, expression: Any) -> None:
    with pytest.raises(InvalidInputError, match="cron"):
        make(Script()).cron(expression, "Now.")


@pytest.mark.parametrize("interval", [timedelta(0), timedelta(seconds=0.5), timedelta(seconds=-5)])
def test_an_interval_of_less_than_a_second_is_refused(make: Make, interval: timedelta) -> None:
    with pytest.raises(InvalidInputError):
        make(Script()).every(interval, "Now.")


def test_a_closed_memory_ends_the_agent_with_an_error_of_ours(make: Make, opened: Open) -> None:
    memory = opened(url="memory://", embedder="none")
    agent = make(Script(), memory=memory)
    memory.close()
    with pytest.raises(HybridMemoryError):
        agent.send("Hello")


CHILD = Path(__file__).with_name("children") / "killed_agent.py"


@pytest.fixture
def killer(store: str, tmp_path: Path) -> Iterator[Callable[[int, str], str]]:
    """Runs the agent of a cycle in a process that is killed at this append; what became of it."""
    command = [sys.executable, str(CHILD), store, str(tmp_path / "paid")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdin is not None
        assert process.stdout is not None
        orders, answers = process.stdin, process.stdout

        def kill(place: int, when: str) -> str:
            orders.write(f"{place} {when}\n")
            orders.flush()
            return answers.readline().strip()

        try:
            assert answers.readline() == "ready\n"
            yield kill
            orders.close()
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()  # or it would be waited for without an end


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes the POSIX way")
def test_a_killed_agent_finishes_its_plan(killer: Callable[[int, str], str], opened: Open, tmp_path: Path) -> None:
    paid = tmp_path / "paid"
    interrupted = 0
    for when, step in (("before", 3), ("after", 1)):
        for place in range(1, 60, step):
            end = killer(place, when)
            with opened(embedder="none", power_safe=False) as memory:
                agent = agent_of(memory, str(paid), f"{place}-{when}")
                run = agent.resume()
                if (place, when) == (1, "before"):
                    assert (agent.memory.history(), run.why) == ([], "nothing to do"), "nothing was acknowledged"
                else:
                    interrupted += check_finished(agent, Counter(paid.read_text().splitlines()), f"{place}-{when}")
            if end == "done":
                break
        assert end == "done"
        assert place > 14
    assert interrupted >= 2, "some were killed between a call and its result"


def check_finished(agent: PagedAgent, paid: Counter[str], cycle: str) -> int:
    """All is done, and nothing twice; how many calls were found interrupted."""
    assert replies(agent) == ["All is done."]
    assert agent.memory.blocks()["human"].value == "fact one\nfact two"
    assert len(agent.memory.recall("harbour", metadata={"noted_with": "archival_memory_insert"})) == 1
    history = agent.memory.history()
    results = [message.text for message in history if message.name == "pay"]
    for number, result in zip((1, 2), results, strict=True):
        times = paid[f"{cycle} {number}"]
        assert times == 1 if result == f"paid {number}" else (result == INTERRUPTED and times <= 1)
    calls = [one.id for message in history for one in message.tool_calls]
    assert calls == [message.tool_call_id for message in history if message.role is Role.TOOL]
    return results.count(INTERRUPTED)
