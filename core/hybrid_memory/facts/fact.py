"""Claims made by single turns, the facts derived from all of them, and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, Self

from hybrid_memory import display
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import Message, spoken

SETTLED = "settled"
"""The ``by`` of a claim that somebody decided with `resolve`: it wins under every rule, and no re-reading drops it."""

USER = "user"  # the subject of what the owner says about themselves
OTHERS = "others"  # the subject of sentences about somebody else than their speaker


class Category(StrEnum):
    """The category of a fact: a preference, a task, knowledge, or a relation between people."""

    PREFERENCE = "preference"
    TASK = "task"
    KNOWLEDGE = "knowledge"
    RELATION = "relation"


class Stance(StrEnum):
    """What a claim says about its value: it holds, no longer holds, or never held; a task is done or dropped."""

    HOLDS = "holds"
    ENDED = "ended"
    WRONG = "wrong"
    DONE = "done"
    DROPPED = "dropped"


class FactState(StrEnum):
    """The state of a fact.

    A task is open, done or dropped. Any other fact is current, ended (withdrawn), superseded (by a newer value) or
    disputed (two speakers disagree).
    """

    CURRENT = "current"
    ENDED = "ended"
    SUPERSEDED = "superseded"
    DISPUTED = "disputed"
    OPEN = "open"
    DONE = "done"
    DROPPED = "dropped"

    @property
    def standing(self) -> bool:
        """Whether the fact is true today."""
        return self is FactState.CURRENT or self is FactState.OPEN or self is FactState.DISPUTED


class FactScope(StrEnum):
    """Where an instruction applies: always, or in the session it was given in."""

    ALWAYS = "always"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement made by one turn.

    Attributes:
        subject: ``user``, or a name as it was written.
        attribute: in snake case, from `hybrid_memory.facts.attributes` if it is listed there.
        value: in the words of the turn; empty with a stance other than ``holds`` means any value.
        source: position of the turn.
        single: whether a newer value replaces the older one.
        confidence, importance: in [0, 1].
        since: when it began, if the turn says so; None: at the turn.
        due: when a task is due.
        by: the rule or the model that extracted it.
        verbatim: whether the value is the whole sentence.
        scope: where an instruction applies; other claims apply always.
        sentence: the speaker's own sentence, with the question that it answers; empty for what others derived.
        vector: of the sentence, as text; see `hybrid_memory.facts.statements.packed`.
        asked: the id of the turn with the question; empty without one.
    """

    subject: str
    attribute: str
    value: str
    category: Category
    source: int
    stance: Stance = Stance.HOLDS
    single: bool = False
    confidence: float = 0.7
    importance: float = 0.5
    since: datetime | None = None
    due: datetime | None = None
    by: str = ""
    verbatim: bool = False
    scope: FactScope = FactScope.ALWAYS
    sentence: str = ""
    vector: str = ""
    asked: str = ""

    def as_payload(self) -> dict[str, Any]:
        """As JSON, without empty fields."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}  # `asdict` takes ten times as long
        values |= {name: values[name].isoformat() for name in ("since", "due") if values[name] is not None}
        usual = {"verbatim": False, "scope": FactScope.ALWAYS, "sentence": "", "vector": "", "asked": ""}
        return {name: value for name, value in values.items() if value is not None and usual.get(name) != value}

    @classmethod
    def of(cls, payload: dict[str, Any]) -> Self:
        """The claim that `as_payload` wrote."""
        values = {**payload, "category": Category(payload["category"]), "stance": Stance(payload["stance"])}
        for name in ("text", "origin", "speaker"):  # for recall, and to tell who said it
            values.pop(name, None)
        values |= {name: datetime.fromisoformat(values[name]) for name in ("since", "due") if name in values}
        values["scope"] = FactScope(values.get("scope", FactScope.ALWAYS))
        return cls(**values)


@dataclass(frozen=True, slots=True, repr=False)
class Fact:
    """Something known, derived from the claims of all turns.

    Attributes:
        id: identifies it in this owner's memory; the log position of its first claim.
        state: its state; ``current`` says whether it is true today.
        confidence: in [0, 1]; grows with every turn that states it.
        importance: in [0, 1].
        valid_from, valid_to: when it was true; ``valid_to`` None is open.
        due: when a task is due.
        sources: ids of the turns that state it, oldest first; positions: their log positions.
        records: ids of its records in the semantic index.
        by: the rules and models that extracted it.
        supersedes, superseded_by: ids of the facts before and after it.
        rivals: ids of the facts it is disputed with.
        author: who wrote it, in a shared space.
        verbatim: the value is a whole sentence of the turn, since no shorter value could be extracted.
        scope: where an instruction applies; other facts apply always.
        session: the session in which it was first said.
        text: the user's own sentence, verbatim; empty for what a model or a tool derived.
        asked: the id of the turn with the question that the text begins with; empty without one.
    """

    id: int
    subject: str
    attribute: str
    value: str
    category: Category
    state: FactState
    confidence: float
    importance: float
    valid_from: datetime
    valid_to: datetime | None
    sources: tuple[str, ...]
    positions: tuple[int, ...]
    records: tuple[int, ...] = ()
    due: datetime | None = None
    by: tuple[str, ...] = ()
    supersedes: int | None = None
    superseded_by: int | None = None
    rivals: tuple[int, ...] = ()
    author: str = ""
    verbatim: bool = False
    scope: FactScope = FactScope.ALWAYS
    session: str | None = None
    text: str = ""
    asked: str = ""

    @property
    def current(self) -> bool:
        """Whether it is true today."""
        return self.state.standing

    @property
    def reviewed(self) -> bool:
        """Whether it was approved, corrected or rejected with `resolve`; a rejected one is no longer current."""
        return SETTLED in self.by

    def __str__(self) -> str:
        return f"{self.subject} · {self.attribute}: {self.value}"

    def __repr__(self) -> str:
        until = "" if self.valid_to is None else f" until {self.valid_to:%Y-%m-%d}"
        return f"<Fact {self} ({self.state}, {self.confidence:.2f}, from {self.valid_from:%Y-%m-%d}{until})>"


STATED = ("subject", "attribute", "value", "category", "confidence", "importance", "due", "verbatim", "scope", "asked")
"""The fields that facts and claims share."""


class Facts(list[Fact]):
    """Facts, oldest first; a list with a rich display in notebooks."""

    def _repr_html_(self) -> str:
        rows = [
            (
                display.text(fact.subject),
                display.text(fact.attribute),
                display.text(fact.value),
                f"{fact.state}" if fact.current else f"<s>{fact.state}</s>",
                f"{fact.valid_from:%Y-%m-%d} {'' if fact.valid_to is None else f'to {fact.valid_to:%Y-%m-%d}'}",
                f"{fact.confidence:.2f}",
                ", ".join(f"#{position}" for position in fact.positions),
            )
            for fact in self
        ]
        head = ("about", "what", "value", "state", "when", "confidence", "turns")
        return display.card(display.counted(len(self), "fact"), display.table(head, rows))


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Where a fact, a profile field, a summary line or a hit comes from; print it to read it.

    Attributes:
        about: what is explained, in one line.
        steps: how it came about, one line each.
        turns: the turns it comes from, oldest first, each with its handle.
        facts: the facts it is based on, with those they replaced.
    """

    about: str
    steps: tuple[str, ...] = ()
    turns: tuple[tuple[str, Message], ...] = ()
    facts: tuple[Fact, ...] = ()

    def __str__(self) -> str:
        turns = [
            f"  [{name}] {'' if turn.at is None else f'{turn.at:%Y-%m-%d %H:%M} '}"
            f"{spoken(turn.speaker, turn.spoken_by)}: {turn.text}"
            for name, turn in self.turns
        ]
        return "\n".join([self.about, *(f"  {step}" for step in self.steps), *turns])

    def __repr__(self) -> str:
        turns, facts = display.counted(len(self.turns), "turn"), display.counted(len(self.facts), "fact")
        return f"<Explanation of {self.about}: {turns}, {facts}>"


class FactExtractor(Protocol):
    """Extracts claims from turns."""

    @property
    def name(self) -> str:
        """The name of the extractor; its progress is stored under this name."""

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """The claims of these turns, by position; ``before`` are the preceding turns, oldest first.

        The claims of a turn must depend only on the turn and those before it, not on how turns are batched.

        Raises:
            ModelError: a model failed; the turns will be passed again.
        """
