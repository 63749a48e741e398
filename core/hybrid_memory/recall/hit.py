"""What recall returns: a record, its score, and the arithmetic behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, fields
from typing import Any

from hybrid_memory import display
from hybrid_memory.config.memory import Weights
from hybrid_memory.index.record import Record
from hybrid_memory.log.origin import Origin, spoken
from hybrid_memory.recall.plan import Plan
from hybrid_memory.validation import shown

HUES = {
    "vector": "0,114,178",
    "text": "230,159,0",
    "neighbours": "0,158,115",
    "segment": "86,180,233",
    "recency": "204,121,167",
    "importance": "213,94,0",
    "use": "150,130,0",
    "current": "128,128,128",
    "exact": "170,60,110",
    "temporal": "90,90,200",
}
"""Of each signal in a bar."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What speaks for a record, each in [0, 1]; 0 where nothing does.

    Attributes:
        vector: nearness of meaning; text: words in common (BM25).
        neighbours: relevance of the turns next to it; segment: relevance of the conversation around it.
        recency: 1 now, 0.5 after a half-life; importance: as the message says, else how much it says.
        use: how often it was used.
        current: 1, or 0 where a newer record among those that were found says otherwise.
        exact: the share of what the query quotes, of its paths and ids, that the record has word for word.
        temporal: 1 in the time that the query names, less the further away.
    """

    vector: float = 0.0
    text: float = 0.0
    neighbours: float = 0.0
    segment: float = 0.0
    recency: float = 0.0
    importance: float = 0.0
    use: float = 0.0
    current: float = 1.0
    exact: float = 0.0
    temporal: float = 0.0


@dataclass(frozen=True, slots=True, repr=False)
class Hit:
    """A record that recall found.

    Attributes:
        score: in [0, 1], higher is better.
        signals: what spoke for it; weights: as applied to this hit.
        note: what was out of the ordinary, such as a path that could not run.
        plan: what the recall set out to do, for all its hits.
        closeness: how near its meaning is by itself, whatever else was found: 0 an average record of its owner, 1 the
            words of the query; None where nothing tells.
        ranker: what gave the score, where it is not the weighted mean of the signals.
    """

    record: Record
    score: float
    signals: Signals
    weights: Weights
    note: str = ""
    plan: Plan | None = None
    closeness: float | None = None
    ranker: str = ""

    def __repr__(self) -> str:
        return f"<Hit {self.score:.3f} {spoken(self.record.speaker, self.record.origin)}: {shown(self.record.text)}>"

    def _repr_html_(self) -> str:
        return _drawn([self])

    def as_metadata(self) -> dict[str, Any]:
        """The record's own metadata, and what speaks for the hit, in its place where it has the same name.

        ``score``, ``why``, ``signals``, ``speaker``, ``origin``, ``at`` (ISO 8601), ``sources``, ``kind``, ``session``;
        of a shared space also ``space`` and ``author``.
        """
        record = self.record
        ours = {
            "score": self.score,
            "why": self.why(),
            "signals": asdict(self.signals),
            "speaker": record.speaker,
            "origin": record.origin.value,
            "at": record.at.isoformat(),
            "sources": list(record.sources),
            "kind": record.kind.value,
            "session": record.scope.session,
        }
        if record.scope.space is not None:
            ours |= {"space": record.scope.space, "author": record.author}
        return deepcopy(record.metadata) | ours

    @property
    def arithmetic(self) -> str:
        """The score as the sum that it is, strongest share first; or the ranker that gave it, and the signals' sum."""
        if not self.ranker:
            return _arithmetic(self, self.score)
        shares = _shares(self)
        mean = sum(weight * signal for _, weight, signal in shares) / sum(weight for _, weight, _ in shares)
        return f"{self.score:.3f} by {self.ranker}; signals {_arithmetic(self, mean)}"

    def why(self) -> str:
        """The arithmetic of the score in one line, the events behind it, and the plan."""
        space = f" in the space {self.record.scope.space!r}" if self.record.scope.space else ""
        words = _WHOSE.get(self.record.origin, "")
        author = f", written by {self.record.author}" if self.record.author else ""
        note = f"; {self.note}" if self.note else ""
        plan = f"; {self.plan}" if self.plan else ""
        return f"{self.arithmetic}; from {', '.join(self.record.sources)}{space}{author}{words}{note}{plan}"


_WHOSE = {
    Origin.OPERATOR: ", the words of the operator",
    Origin.PERSON: ", the words of a person who is not the user",
    Origin.TOOL: ", the words of a tool",
    Origin.WEB: ", the words of the web",
    Origin.IMPORTED: ", imported",
}
"""As `Hit.why` tells it; of the user and the assistant nothing."""


class Hits(list[Hit]):
    """What a recall found, best first; a list that a notebook draws.

    Attributes:
        query: that was asked.
    """

    def __init__(self, hits: Iterable[Hit] = (), query: str = "") -> None:
        super().__init__(hits)
        self.query = query

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{display.text(self.query)}: nothing was found</p>"
        plan = next((str(hit.plan) for hit in self if hit.plan), "")
        about = f"<p><small>how it was looked for: {display.text(plan)}</small></p>" if plan else ""
        return display.card(f"{display.counted(len(self), 'hit')} for {display.text(self.query)}", about + _drawn(self))


@dataclass(frozen=True, slots=True, repr=False)
class Scored:
    """A text that is no memory, and how well it answers a query.

    Attributes:
        row: its place among the texts that were given, from 0.
        score: in [0, 1], higher is better.
        signals: what spoke for it; weights: as applied.
        note: what was out of the ordinary, such as an embedder that failed.
    """

    row: int
    text: str
    score: float
    signals: Signals
    weights: Weights
    note: str = ""

    def __repr__(self) -> str:
        return f"<Scored {self.score:.3f} {self.row}: {shown(self.text)}>"

    def why(self) -> str:
        """The arithmetic of the score in one line, strongest share first."""
        return _arithmetic(self, self.score) + (f"; {self.note}" if self.note else "")


def _shares(hit: Hit | Scored) -> list[tuple[str, float, float]]:
    named = [(part.name, getattr(hit.weights, part.name), getattr(hit.signals, part.name)) for part in fields(Weights)]
    return [share for share in named if share[1]]


def _arithmetic(hit: Hit | Scored, score: float) -> str:
    shares = sorted(_shares(hit), key=lambda share: share[1] * share[2], reverse=True)
    total = sum(weight for _, weight, _ in shares)
    terms = " + ".join(f"{weight:g}*{signal:.2f} {name}" for name, weight, signal in shares)
    arithmetic = terms if abs(total - 1) < 1e-9 else f"({terms}) / {total:g}"  # noqa: PLR2004 - float noise
    return f"{score:.3f} = {arithmetic}"


def parts(hit: Hit | Scored) -> list[display.Part]:
    """What each signal brings to the score, largest first, `current` last; the shares add up to the score."""
    shares = _shares(hit)
    total = sum(weight for _, weight, _ in shares)
    made = [
        display.Part(name, weight * signal / total, HUES[name], f"{weight:g}*{signal:.2f}")
        for name, weight, signal in shares
        if signal
    ]
    # What no longer holds has less of it; of all others it says the same.
    return sorted(made, key=lambda part: (part.label == "current", -part.share))


def _drawn(hits: Sequence[Hit]) -> str:
    rows = [
        (
            f"{hit.score:.3f}<br>{display.bar(parts(hit))}",
            f"{hit.record.at:%Y&#8209;%m&#8209;%d}<br>{display.text(spoken(hit.record.speaker, hit.record.origin))}",
            display.text(hit.record.text) + display.details("why", f"<small>{display.text(hit.why())}</small>"),
        )
        for hit in hits
    ]
    named = {part.label: part for hit in hits for part in parts(hit)}
    keys = [display.Part(name, 0.0, HUES[name]) for name in HUES if name in named]
    return f"<small>{display.legend(keys)}</small>{display.table(('score', 'said', 'words'), rows)}"
