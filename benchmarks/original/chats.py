"""The chats that are replayed, and what is asked about them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.sets import load, when
from hybrid_memory import Message, Role
from hybrid_memory_evaluation.probing.probe import holds, plain

DEPTHS = (50, 100, 200)
"""Rounds between the evidence and the question."""

LEAST_CHARS = 2
"""Of an answer that is looked for."""

JOINED, CHATS = 30, 2
"""CrossWOZ: conversations in a chat, and chats."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A question with the literal answers that are looked for, and the rows of the messages that are its evidence."""

    question: str
    keys: tuple[str, ...]
    evidence: tuple[int, ...]


@dataclass(frozen=True)
class Chat:
    """A conversation with what is asked about it."""

    messages: Sequence[Message]
    facts: Sequence[Fact]

    @property
    def rounds(self) -> list[int]:
        """The number of each message's round, from 0."""
        numbers: list[int] = []
        for row, message in enumerate(self.messages):
            opens = message.role is Role.USER and row and self.messages[row - 1].role is not Role.USER
            numbers.append((numbers[-1] if numbers else 0) + bool(opens))
        return numbers

    def due(self) -> dict[int, list[Fact]]:
        """Facts by the round after which they are asked."""
        rounds, due = self.rounds, defaultdict(list)
        for fact in self.facts:
            for depth in DEPTHS:
                if (after := rounds[max(fact.evidence)] + depth) <= rounds[-1]:
                    due[after].append(fact)
        return due


def chat_of(turns: Sequence[dict[str, Any]], users: set[str], facts: Callable[[dict[Any, int]], list[Fact]]) -> Chat:
    """The turns as messages with times that never run back; facts are made from the row of each turn's id."""
    messages: list[Message] = []
    at = datetime(2020, 1, 1, tzinfo=UTC)
    spoken = [turn for turn in turns if turn["text"].strip()]
    for row, turn in enumerate(spoken):
        at = max(at + timedelta(seconds=1), when(turn["time"]) or at)
        role = Role.USER if turn["speaker"] in users else Role.ASSISTANT
        name = None if turn["speaker"].lower() in ("ai", "usr", "sys") else turn["speaker"]
        messages.append(Message(role=role, name=name, content=turn["text"], id=f"m{row}", at=at))
    return Chat(messages, facts({turn["id"]: row for row, turn in enumerate(spoken)}))


def labelled(questions: Sequence[dict[str, Any]], turns: Sequence[dict[str, Any]], rows: dict[Any, int]) -> list[Fact]:
    """The questions whose answers stand literally in the evidence."""
    words = {turn["id"]: turn["text"] for turn in turns}
    facts: dict[str, Fact] = {}
    for one in questions:
        evidence = [turn for turn in one["evidence"] if turn in rows]
        if one.get("bad") or one["category"] == "adversarial" or not evidence:
            continue
        answers = one.get("keys") or [part.strip(" .\"'") for part in re.split(r"[,;，；、]", str(one["answer"] or ""))]
        gold, asked = "\n".join(words[turn] for turn in evidence), one["question"]
        keys = [key for key in answers if len(plain(key)) >= LEAST_CHARS and holds(gold, key) and not holds(asked, key)]
        if keys:
            facts[asked] = Fact(asked, tuple(dict.fromkeys(keys)), tuple(rows[turn] for turn in evidence))
    return list(facts.values())


def people(data: Path, name: str, limit: int | None) -> Iterator[Chat]:
    """Chats of two people."""
    for one in load(data, name, limit):
        turns, questions = one["turns"], one["questions"]
        yield chat_of(turns, {turns[0]["speaker"]}, lambda rows, q=questions, t=turns: labelled(q, t, rows))  # type: ignore[misc]


def memorybank(data: Path) -> Iterator[Chat]:
    """The Chinese chats as one."""
    turns: list[dict[str, Any]] = []
    questions: list[dict[str, Any]] = []
    for number, one in enumerate(load(data, "memorybank_zh")):
        turns += [turn | {"id": (number, turn["id"])} for turn in one["turns"]]
        questions += [q | {"evidence": [(number, turn) for turn in q["evidence"]]} for q in one["questions"]]
    users = {turn["speaker"] for turn in turns} - {"AI"}
    yield chat_of(turns, users, lambda rows: labelled(questions, turns, rows))


def crosswoz(data: Path, limit: int | None) -> Iterator[Chat]:
    """Requests of travellers; what the assistant told of a place is a fact."""
    every = load(data, "crosswoz_val")
    for _ in range(min(CHATS, limit or CHATS)):
        ones = list(enumerate(islice(every, JOINED)))
        turns = [turn | {"id": (number, turn["id"])} for number, one in ones for turn in one["turns"]]
        told = [(number, fact, place) for number, one in ones for fact, place in _told(one["facts"])]

        def facts(rows: dict[Any, int], told: list[Any] = told) -> list[Fact]:
            made: dict[str, Fact] = {}
            for number, fact, place in told:
                evidence = tuple(rows[number, turn] for turn in fact["evidence"])
                question = f"{place}的{fact['slot']}是什么？"
                made.setdefault(question, Fact(question, (fact["value"],), evidence))
            return list(made.values())

        yield chat_of(turns, {"usr"}, facts)


def _told(facts: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """What the assistant told word for word, with the place's name: the only one of its domain in that turn."""
    for fact in facts:
        names = {
            other["value"]
            for other in facts
            if (other["slot"], other["domain"], other["evidence"]) == ("名称", fact["domain"], fact["evidence"])
        }
        if fact["verbatim"] and fact["category"] == "sys-inform" and fact["slot"] != "名称" and len(names) == 1:
            yield fact, names.pop()


SETS: dict[str, Callable[[Path, int | None], Iterator[Chat]]] = {
    "locomo": lambda data, limit: people(data, "locomo", limit),
    "memorybank_zh": lambda data, _: memorybank(data),
    "crosswoz_val": crosswoz,
    "realtalk": lambda data, limit: people(data, "realtalk", limit),
}
