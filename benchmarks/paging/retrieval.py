"""Deep memory retrieval: a question about any session of a long history, most of which has left the window.

A history is one conversation of a set, or several of a set whose conversations are short, one after the other. Counted
is what the last prompt of a question shows of its evidence: a turn of it word for word, or an excerpt of the turn that
holds the answer. The policy knows neither evidence nor answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.compression.sets import Table, load
from benchmarks.learning.sets import messages
from benchmarks.paging.policies import Reader, spoken
from benchmarks.paging.runs import AGENT, USER, Answered, opened, paged, windowed
from hybrid_memory import HybridMemory, Message
from hybrid_memory_evaluation.probing.probe import holds

JOINED = {"realtalk": 1, "longmemeval_oracle": 12, "memorybank_zh": 5}
"""The sets, and how many of their conversations make a history."""

QUESTIONS = 20
"""Of each history at most, evenly spread."""


@dataclass(slots=True)
class Asked:
    """A question of a history.

    Attributes:
        keys: strings of the answer.
        evidence: ids of turns.
    """

    text: str
    keys: Sequence[str]
    evidence: frozenset[str]


@dataclass(slots=True)
class History:
    """What was said, by session, and what is asked about it."""

    sessions: list[list[Message]] = field(default_factory=list)
    questions: list[Asked] = field(default_factory=list)

    @property
    def turns(self) -> dict[str, Message]:
        """By id."""
        return {str(message.id): message for session in self.sessions for message in session}

    def add(self, conversation: dict[str, Any]) -> None:
        """Go on with this conversation."""
        prefix = f"{conversation['conv']}/"
        last = ""
        for session, message in messages(conversation["turns"]):
            if session != last:
                self.sessions.append([])
            last = session
            self.sessions[-1].append(message.model_copy(update={"id": prefix + str(message.id)}))
        known = self.turns
        for question in conversation["questions"]:
            evidence = frozenset(id_ for turn in question.get("evidence", ()) if (id_ := prefix + turn) in known)
            if evidence and not question.get("bad"):
                keys = question.get("keys") or [str(question["answer"])]
                self.questions.append(Asked(question["question"], keys, evidence))


def histories(data: Path, name: str, limit: int, questions: int) -> Iterator[History]:
    """The first histories of a set."""
    joined, history = JOINED[name], History()
    for number, conversation in enumerate(load(data, name, limit * joined), 1):
        history.add(conversation)
        if number % joined == 0:
            spread = max(1, -(-len(history.questions) // questions))
            history.questions = history.questions[::spread]
            yield history
            history = History()


def run(*, data: Path, embedder: Any, limit: int, questions: int, max_tokens: int, **_: Any) -> Table:
    """The share of questions of whose evidence the last prompt shows at least one turn."""
    table = Table(
        "deep memory retrieval: evidence in the prompt of the answer", ("set", "questions", "one paged", "one window")
    )
    for name in JOINED:
        shown: list[tuple[bool, bool]] = []
        for history in histories(data, name, limit, questions):
            shown += [_asked(history, asked, embedder, max_tokens) for asked in tqdm(history.questions, desc=name)]
        paged_share, window_share = (sum(column) / len(shown) for column in zip(*shown, strict=True))
        table.rows.append({"set": name, "questions": len(shown), "one paged": paged_share, "one window": window_share})
    return table


def _asked(history: History, asked: Asked, embedder: Any, max_tokens: int) -> tuple[bool, bool]:
    """Whether the policy was shown evidence: with the memory, and in the plain window."""
    policy = Reader("conversation_search")
    with opened(embedder) as memory:
        places = remembered(memory, history.sessions)
        answered = paged(memory, policy, asked.text, max_tokens=max_tokens)
    said = [message for session in history.sessions for message in session]
    plain = windowed(said, policy, asked.text, max_tokens=max_tokens)
    return shows_evidence(history, asked, answered, places), shows_evidence(history, asked, plain, {})


def remembered(memory: HybridMemory, sessions: Sequence[Sequence[Message]], session: str = "main") -> dict[str, str]:
    """The handle of each message, once all of them are written."""
    owner = memory.scoped(agent=AGENT, user=USER, session=session)
    handles: dict[str, str] = {}
    for said in sessions:
        receipt = owner.remember(said)
        names = (f"#{position}" for position in receipt.positions)
        handles |= dict(zip((str(message.id) for message in said), names, strict=True))
    return handles


def shows_evidence(history: History, asked: Asked, answered: Answered, handles: dict[str, str]) -> bool:
    """Whether the prompt has a turn of the evidence: word for word, or an excerpt that holds the answer."""
    lines = spoken(answered.prompt)
    text = _plain("\n".join(lines))
    turns = history.turns
    for id_ in asked.evidence:
        excerpts = [line for line in lines if id_ in handles and line.startswith(f"{handles[id_]} [")]
        if _plain(turns[id_].text) in text or any(all(holds(line, key) for key in asked.keys) for line in excerpts):
            return True
    return False


def _plain(text: str) -> str:
    return " ".join(text.split())
