"""Deep memory retrieval: a question about any session of a long history, most of which has left the window.

A history is one conversation of a set, or several of a set whose conversations are short, one after the other. Counted
is what the last prompt of a question shows of its evidence: a turn of it word for word, or an excerpt of the turn that
holds the answer. The policy knows neither evidence nor answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tqdm import tqdm

from benchmarks.compression.sets import Table, load
from benchmarks.learning.sets import messages
from benchmarks.paging.options import Options
from benchmarks.paging.policies import Reader, spoken
from benchmarks.paging.runs import AGENT, COLUMNS, NOTE, USER, Answered, Tally, opened, paged, windowed
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


def histories(options: Options, name: str) -> Iterator[History]:
    """The first histories of a set."""
    joined, history = JOINED[name], History()
    for number, conversation in enumerate(load(options.data, name, options.limit * joined), 1):
        history.add(conversation)
        if number % joined == 0:
            spread = max(1, -(-len(history.questions) // options.questions))
            history.questions = history.questions[::spread]
            yield history
            history = History()


def run(options: Options) -> Iterator[Table]:
    """The share of questions whose evidence the last prompt shows."""
    shown = Table(
        "deep memory retrieval: evidence in the prompt of the answer",
        ("set", "questions", "one paged", "one window", "all paged", "all window", "far", "far paged"),
        note="one: at least one turn of the evidence, all: every one; far: questions of which the window has none",
    )
    costs = Table("deep memory retrieval: what it took", ("set", *COLUMNS), note=NOTE)
    for name in options.sets:
        tally, shares = Tally(), list[tuple[float, float]]()
        for history in histories(options, name):
            questions = tqdm(history.questions, desc=name, disable=None)
            shares += [_asked(options, history, asked, tally) for asked in questions]
        shown.rows.append(_row(name, shares))
        costs.rows.append({"set": name} | tally.row())
    yield from (shown, costs)


def _row(name: str, shares: Sequence[tuple[float, float]]) -> dict[str, Any]:
    far = [paged for paged, window in shares if not window]
    return {
        "set": name,
        "questions": len(shares),
        "one paged": sum(paged > 0 for paged, _ in shares) / len(shares),
        "one window": sum(window > 0 for _, window in shares) / len(shares),
        "all paged": sum(paged == 1 for paged, _ in shares) / len(shares),
        "all window": sum(window == 1 for _, window in shares) / len(shares),
        "far": len(far),
        "far paged": sum(paged > 0 for paged in far) / len(far) if far else None,
    }


def _asked(options: Options, history: History, asked: Asked, tally: Tally) -> tuple[float, float]:
    """The shares of the evidence that the policy was shown: with the memory, and in the plain window."""
    policy = Reader("conversation_search")
    with opened(embedder=options.embedder) as memory:
        places = remembered(memory, history.sessions)
        answered = paged(memory, policy, asked.text, tally, max_tokens=options.max_tokens)
    said = [message for session in history.sessions for message in session]
    plain = windowed(said, policy, asked.text, max_tokens=options.max_tokens)
    return share_shown(history, asked, answered, places), share_shown(history, asked, plain, {})


def remembered(memory: HybridMemory, sessions: Sequence[Sequence[Message]], session: str = "main") -> dict[str, str]:
    """The handle of each message, once all of them are written."""
    owner = memory.scoped(agent=AGENT, user=USER, session=session)
    handles: dict[str, str] = {}
    for said in sessions:
        receipt = owner.remember(said)
        names = (f"#{position}" for position in receipt.positions)
        handles |= dict(zip((str(message.id) for message in said), names, strict=True))
    return handles


def share_shown(history: History, asked: Asked, answered: Answered, handles: dict[str, str]) -> float:
    """How much of the evidence the prompt shows."""
    lines = spoken(answered.prompt)
    text = _plain("\n".join(lines))
    turns = history.turns

    def stands(id_: str) -> bool:
        if _plain(turns[id_].text) in text:
            return True
        excerpts = [line for line in lines if id_ in handles and line.startswith(f"{handles[id_]} [")]
        return any(all(holds(excerpt, key) for key in asked.keys) for excerpt in excerpts)

    return sum(map(stands, asked.evidence)) / len(asked.evidence)


def _plain(text: str) -> str:
    return " ".join(text.split())
