"""A question about what a conversation has left behind, with the answer that it must get."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from hybrid_memory.apps.evaluation.probing.matching import held, plain


class ProbeKind(StrEnum):
    """What a probe asks for.

    ``RECALL``: something that was said, such as the first error. ``ARTIFACT``: what became of files.
    ``CONTINUATION``: what is to be done next. ``DECISION``: what was decided, and why.
    """

    RECALL = "recall"
    ARTIFACT = "artifact"
    CONTINUATION = "continuation"
    DECISION = "decision"


@dataclass(frozen=True, slots=True)
class Probe:
    """A question with its exact answer.

    Attributes:
        id: names it within its transcript.
        question: as it is put to whoever goes on with the conversation.
        gold: the answer, for a reader.
        keys: strings that the answer consists of; what survived is counted by them.
        sources: ids of the messages that it was made from, oldest first.
        any_of: one of the keys is enough.
        by: what made it: ``ledger``, ``facts``, ``statements``, ``decisions``, ``next steps``, ``labels`` or the name
            of a model.
    """

    id: str
    kind: ProbeKind
    question: str
    gold: str
    keys: tuple[str, ...]
    sources: tuple[str, ...]
    any_of: bool = False
    by: str = "labels"

    def found(self, text: str) -> float:
        """The share of the keys that stand in a text, in [0, 1]; with ``any_of`` 0 or 1."""
        within = plain(text)
        there = [held(within, key) for key in self.keys]
        return float(any(there)) if self.any_of else statistics.fmean(there)

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """The probe that `as_dict` wrote."""
        listed = {"kind": ProbeKind(values["kind"]), "keys": tuple(values["keys"]), "sources": tuple(values["sources"])}
        return cls(**{**values, **listed})
