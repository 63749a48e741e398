"""What recall knows of the candidates of every question: the features of the ranker, with the evidence beside them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from tqdm import tqdm

import hybrid_memory.recall.recall as flow
from benchmarks.ranking.conversations import OWN, conversations
from benchmarks.sets import Clock, counted, messages, undisturbed, when
from benchmarks.vectors import KeptVectors
from hybrid_memory import HybridMemory, Message, Role
from hybrid_memory.arrays import Array
from hybrid_memory.recall.measure import Measured, measure

ASKED_BEFORE = 4
"""Every so many questions of ours stand in the conversation too, where somebody asked them before."""

ANSWERS = ("Hm, let me think.", "No idea, sorry!", "Good question.", "我想想。", "不太清楚呢。")
FOREIGN = 12
"""Questions of other conversations that each conversation is asked."""

K = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the candidates that recall read for it.

    Attributes:
        labels: 1 for evidence, of shape (n,); wanted: ids of all evidence, found or not.
        kind: ``own``, ``foreign`` (of another conversation) or ``none`` (that nothing answers).
        features: columns of shape (n,); ids: of the turns.
    """

    set: str
    conversation: str
    id: str
    question: str
    category: str
    kind: str
    ids: list[str]
    labels: Array
    wanted: list[str]
    features: dict[str, Array]


def collect(data: Path, name: str, embedder: KeptVectors) -> list[Asked]:
    """All questions of a set; ours meet some that were asked before."""
    chats = list(conversations(data, name))
    asked: list[Asked] = []
    for number, one in enumerate(tqdm(chats, desc=name, disable=None)):
        strangers = [
            question
            for other in chats[number + 1 :] + chats[:number]
            for question in other["questions"]
            if question.get("evidence") and counted(question)
        ]
        strangers = strangers[:: max(1, len(strangers) // FOREIGN)][:FOREIGN]
        asked += _asked(name, one, strangers, embedder)
    embedder.save()
    return asked


def _asked(name: str, one: dict[str, Any], strangers: list[dict[str, Any]], embedder: KeptVectors) -> Iterator[Asked]:
    clock = Clock()
    with undisturbed(embedder=embedder, clock=clock) as memory:
        mine = [question for question in one["questions"] if not question.get("bad")]
        answered = [question for question in mine if counted(question) and question.get("evidence")]
        repeated = answered[::ASKED_BEFORE] if name in OWN else []
        _remember(memory, name, one["turns"], repeated)
        scoped = memory.scoped(user=name)
        scoped.flush(progress=False)
        for kind, question in [("own", each) for each in mine] + [("foreign", each) for each in strangers]:
            evidence = {str(turn) for turn in question.get("evidence") or ()}
            if kind == "own" and not evidence:
                kind = "none"  # noqa: PLW2901
            clock.now = when(question.get("time")) or clock.now
            wanted: list[Measured | None] = []
            with _watched(wanted):
                scoped.recall(question["question"], k=K)
            if wanted and (measured := wanted[-1]):
                yield _labelled((name, one["conv"]), question, kind, evidence, measured)


def _remember(memory: HybridMemory, user: str, turns: list[dict[str, Any]], repeated: list[dict[str, Any]]) -> None:
    """All turns; what was asked before was asked in a session of its own, in the middle of the conversation."""
    sessions = list(messages(turns))
    middle = len(sessions) // 2
    for place, (session, said) in enumerate(sessions):
        if place == middle and repeated:
            memory.scoped(user=user, session="asked before").remember(list(_repeated(said[0], repeated)))
        memory.scoped(user=user, session=session).remember(said)


def _repeated(first: Message, questions: list[dict[str, Any]]) -> Iterator[Message]:
    for number, question in enumerate(questions):
        at = (first.at or datetime.now(UTC)) - timedelta(minutes=3 * (len(questions) - number))
        later = at + timedelta(minutes=1)
        yield Message(role=Role.USER, content=question["question"], name=first.name, id=f"asked:{number}", at=at)
        answer = ANSWERS[number % len(ANSWERS)]
        yield Message(role=Role.ASSISTANT, content=answer, id=f"answered:{number}", at=later)


@contextmanager
def _watched(seen: list[Measured | None]) -> Iterator[None]:
    """Keep what recall measures meanwhile."""

    async def watched(*given: Any, **options: Any) -> Measured | None:
        seen.append(await measure(*given, **options))
        return seen[-1]

    with patch.object(flow, "measure", watched):
        yield


def _labelled(
    where: tuple[str, str], question: dict[str, Any], kind: str, evidence: set[str], measured: Measured
) -> Asked:
    ids = [record.sources[0] for record in measured.records]
    return Asked(
        set=where[0], conversation=where[1], id=str(question.get("id")), question=question["question"],
        category=str(question.get("category")), kind=kind, ids=ids,
        labels=np.array([float(one in evidence and kind == "own") for one in ids]), wanted=sorted(evidence),
        features=measured.features,
    )  # fmt: skip
