"""What a recall sets out to do, made from the words of the query."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from hybrid_memory.text.dates.time_span import TimeSpan


class Intent(StrEnum):
    """What kind of answer is wanted.

    A fact is a value: who, what, when, where. Contextual goes back to something that was said or happened before.
    Reasoning weighs several things: why, how, compare. Auto is decided from the words.
    """

    AUTO = "auto"
    FACT = "fact"
    REASONING = "reasoning"
    CONTEXTUAL = "contextual"


class EntityKind(StrEnum):
    """What makes words of a query stand for one thing."""

    QUOTED = "quoted"
    PATH = "path"
    ID = "id"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Entity:
    """Words of a query that stand for one thing, as they are written there."""

    text: str
    kind: EntityKind

    @property
    def verbatim(self) -> bool:
        """Whether it is looked for word for word: all but names.

        Half of the turns of a chat have the name that is asked for, as their speaker or theirs; counting names lowered
        recall on LoCoMo (docs/decisions/0021).
        """
        return self.kind is not EntityKind.NAME


@dataclass(frozen=True, slots=True)
class Plan:
    """What a recall sets out to do; `Hit.why` shows it.

    Attributes:
        intent: never ``auto``; cue: the word that told it, empty where none did.
        entities: what the query names; times: the stretches of time it names that have begun.
        vector, text, exact, temporal: how many candidates each path brings in at most; 0 where it does not run.
        corrected: words that nobody used here, and what was looked for beside them.
        synonyms: words of the query, and the others that were looked for with them.
    """

    intent: Intent
    cue: str = ""
    entities: tuple[Entity, ...] = ()
    times: tuple[TimeSpan, ...] = ()
    vector: int = 0
    text: int = 0
    exact: int = 0
    temporal: int = 0
    corrected: dict[str, str] = field(default_factory=dict)
    synonyms: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        cue = f" ({self.cue!r})" if self.cue else ""
        names = ", ".join(repr(entity.text) for entity in self.entities if entity.verbatim)
        times = ", ".join(f"{span.text!r} is {span.since:%Y-%m-%d} to {span.until:%Y-%m-%d}" for span in self.times)
        paths = {
            f"vector {self.vector}": self.vector,
            f"text {self.text}": self.text,
            f"exact {self.exact}: {names}": self.exact,
            f"temporal {self.temporal}{f': {times}' if times else ''}": self.temporal,
        }
        parts = [f"{self.intent}{cue}", *(path for path, runs in paths.items() if runs)]
        parts += [f"{wrong!r} read as {right!r}" for wrong, right in self.corrected.items()]
        parts += [f"{word!r} also {', '.join(map(repr, others))}" for word, others in self.synonyms.items()]
        return "; ".join(parts)
