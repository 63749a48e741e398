"""The window under pressure: one warning an episode, a flush of the stated share, and all of it found again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from hybrid_memory import Context, Message, PagingConfig, Role
from hybrid_memory.log.message import PRESSURE
from hybrid_memory.text.tokens import message_tokens
from hybrid_memory_paging import PAGING_FUNCTIONS, PagedAgent
from tests.faces import Open
from tests.paging.conftest import Make, Script, call, says, shown

SHARES = PagingConfig()
SENTENCES = [
    "The ferry to Ghent leaves at {n} past eight from pier {n}.",
    "Invoice INV-{n} over 1,250 EUR is due in July.",
    "记住第{n}号箱子里有花生，我对花生过敏。",
    "Captain {n} asked about the storm, and nobody had an answer for a while.",
]


def told(number: int, *, long: int = 4) -> str:
    return f"Item {number}: " + " ".join(SENTENCES[(number + row) % 4].format(n=number) for row in range(long))


def warnings(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.event == PRESSURE]


@dataclass
class Watched:
    """What an agent's prompts were made of, as its memory laid them out."""

    agent: PagedAgent
    contexts: list[Context] = field(default_factory=list)
    flushes: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, agent: PagedAgent) -> Watched:
        watched = cls(agent)
        inner = agent.memory.assemble

        def assemble(*args: Any, **kwargs: Any) -> Context:
            context = inner(*args, **kwargs)
            if context.compacted:
                watched.flushes.append(len(watched.contexts))
            watched.contexts.append(context)
            return context

        agent.memory.assemble = assemble  # type: ignore[method-assign]
        return watched

    def count(self, messages: Sequence[Message]) -> int:
        return sum(message_tokens(message, self.agent._store.token_counter) for message in messages)

    def turns(self, context: Context) -> list[Message]:
        """The conversation in a prompt, without the system message, the summary and the memory's own warnings."""
        rest = [message for message in context.messages if message.role is not Role.SYSTEM]
        own = ("<summary>\n", "<system>\nMemory pressure:")
        return [message for message in rest if not message.text.startswith(own)]


def talk(agent: PagedAgent, turns: Iterator[int], until: Callable[[], bool], *, long: int = 4) -> None:
    for number in turns:
        agent.send(told(number, long=long))
        if until():
            return


def test_each_episode_has_one_warning_which_the_model_reads_before_messages_leave(make: Make) -> None:
    agent = make(Script(), max_tokens=2600)
    watched = Watched.of(agent)
    talk(agent, iter(range(400)), lambda: len(watched.flushes) >= 2, long=6)
    assert len(watched.flushes) >= 2
    known: set[str] = set()
    for first, behind in zip([0, *watched.flushes], watched.flushes, strict=False):
        episode = watched.contexts[first:behind]
        (fresh,) = set().union(*map(warned_in, episode)) - known
        told_at = next(row for row, context in enumerate(episode) if fresh in warned_in(context))
        assert all(fresh in warned_in(context) for context in episode[told_at:]), "it stays until the flush"
        full = [context.tokens / context.max_tokens for context in episode]
        assert full[told_at] >= SHARES.pressure
        assert all(share < SHARES.pressure for share in full[:told_at])
        known.add(fresh)
    written = [message.id for message in warnings(agent.memory.history())]
    assert len(written) == len(set(written))
    assert len(written) - len(known) == bool(warned_in(watched.contexts[-1]) - known)


def warned_in(context: Context) -> set[str]:
    """The warnings in a prompt, by their ids."""
    return {str(message.id) for message in context.messages if "Memory pressure:" in message.text}


def test_the_warning_is_in_the_very_prompt_that_reaches_the_pressure_and_names_the_functions(make: Make) -> None:
    agent = make(script := Script(), max_tokens=3000)
    talk(agent, iter(range(100)), lambda: bool(warnings(agent.memory.history())))
    last = script.prompts[-1]
    assert "Memory pressure:" in shown(last)
    assert "Memory pressure:" not in shown(script.prompts[-2])
    (warning,) = warnings(agent.memory.history())
    assert warning.role is Role.SYSTEM
    known = {function.name for function in PAGING_FUNCTIONS}
    named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", warning.text))
    assert named
    assert named <= known
    assert {"core_memory_append", "archival_memory_insert", "conversation_search"} <= named
    told_in = next(message for message in last if "Memory pressure:" in message.text)
    assert told_in.role is Role.USER
    assert f"<system>\n{warning.text}\n</system>" in told_in.text


def test_after_a_rollback_the_model_is_warned_again(make: Make) -> None:
    agent = make(Script(), max_tokens=3000)
    numbers = iter(range(200))
    talk(agent, numbers, lambda: bool(warnings(agent.memory.history())))
    agent.memory.rollback(6)
    assert warnings(agent.memory.history()) == []
    watched = Watched.of(agent)
    talk(agent, numbers, lambda: bool(watched.flushes))
    assert len(warnings(agent.memory.history())) in (1, 2)
    assert any(warned_in(context) for context in watched.contexts[: watched.flushes[0]])


@pytest.mark.parametrize(("size", "flush"), [(2600, 0.3), (2600, 0.8)])
def test_a_flush_frees_the_stated_share(make: Make, flush: float, size: int) -> None:
    agent = make(Script(), max_tokens=size, paging=PagingConfig(flush=flush))
    watched = Watched.of(agent)
    talk(agent, iter(range(400)), lambda: len(watched.flushes) >= 2, long=5)
    kept = []
    for row in watched.flushes:
        context = watched.contexts[row]
        system = watched.count([message for message in context.messages if message.role is Role.SYSTEM])
        room = context.max_tokens - system - 3
        kept.append(watched.count(watched.turns(context)) / room)
        assert kept[-1] <= 1 - flush, "more stays than is allowed"
        assert watched.count(watched.turns(context)) < watched.count(watched.turns(watched.contexts[row - 1]))
    # Not everything goes either: the newest turns that fit stay, up to a turn and half of the share.
    assert max(kept) > (1 - flush) / 2 - 0.15


def test_the_summary_and_recall_storage_agree(make: Make, opened: Open) -> None:
    memory = opened(url="memory://")
    agent = make(Script(), memory=memory, max_tokens=2600)
    other = make(Script(), memory=memory, session="another", max_tokens=2600)
    watched = Watched.of(agent)
    search = next(function for function in PAGING_FUNCTIONS if function.name == "conversation_search")
    said: list[str] = []
    for number in range(60):
        said.append(told(number))
        agent.send(said[-1])
        if number % 3 == 0:
            other.send(f"Beside {number}")
        if len(watched.flushes) >= 2:
            break
    summary = agent.memory.summary()
    assert len(watched.flushes) >= 2
    assert summary.lines
    visible = shown(watched.contexts[-1].messages)
    evicted = [text for text in said if text not in visible]
    assert len(evicted) > 5
    # The handles of the lines lead to all the messages that they stand for, word for word, and to nobody else's.
    behind = [message.text for line in summary.lines for message in agent.memory.expand(line.handle)]
    assert set(evicted) <= set(behind)
    assert not any(text.startswith("Beside") for text in behind)
    assert all(text in behind or text in visible for text in said)
    # The prompt names these handles.
    assert all(line.handle in visible for line in summary.lines)
    history = [message.text for message in agent.memory.history()]
    assert [text for text in history if text.startswith("Item")] == said
    for number in range(len(evicted)):
        found = search.run(agent.memory, {"query": f'"Item {number}:"'})
        assert f"Item {number}:" in found.text


def test_calls_and_results_leave_together(make: Make) -> None:
    def look(number: int) -> str:
        """Look."""
        return f"result {number}: " + "the harbour and its ships " * 6

    def policy(prompt: Sequence[Message]) -> str:
        number = int(re.findall(r"Item (\d+)", shown(prompt[1:]))[-1])
        if f"result {number}:" in shown(prompt[-1:]):
            return says(f"seen {number}")
        return "\n".join(call("look", number=number) for _ in range(1 + number % 3))

    agent = make(Script(otherwise=policy), functions=[look], max_tokens=3000)
    watched = Watched.of(agent)
    talk(agent, iter(range(200)), lambda: len(watched.flushes) >= 2, long=1)
    assert len(watched.flushes) >= 2
    for context in watched.contexts:
        asked = Counter(one.id for message in context.messages for one in message.tool_calls)
        answered = Counter(message.tool_call_id for message in context.messages if message.role is Role.TOOL)
        assert asked == answered
