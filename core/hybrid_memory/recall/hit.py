"""The result of recall: a record, its score, and the arithmetic behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from hybrid_memory import display
from hybrid_memory.config import Weights
from hybrid_memory.index.record import Record
from hybrid_memory.log.event import handle
from hybrid_memory.log.message import Origin, lowest, spoken
from hybrid_memory.recall.plan import Plan
from hybrid_memory.validation import shown

HUES = {
    "vector": "0,114,178",
    "text": "230,159,0",
    "neighbours": "0,208,208",
    "segment": "16,96,0",
    "coverage": "120,104,56",
    "statement": "96,152,56",
    "speaker": "80,160,248",
    "kind": "248,128,144",
    "recency": "144,200,88",
    "importance": "144,32,0",
    "use": "192,184,176",
    "exact": "72,72,88",
    "temporal": "200,96,56",
}
"""The hue of each signal in a bar, here and in the inspector; distinguishable side by side, on light and on dark."""


@dataclass(frozen=True, slots=True)
class Signals:
    """The evidence for a record, each signal in [0, 1]; 0 means none.

    Attributes:
        vector: similarity of meaning, relative to the other candidates; text: words in common (BM25).
        coverage: share of the query's words in the record, weighted by rarity and adjacency.
        neighbours: relevance of adjacent turns; segment: relevance of the conversation around it.
        statement: states something, rather than asks, agrees or greets.
        speaker: comes from the person the query is about.
        kind: contains the kind of thing the query asks for, such as a time or a number.
        recency: 1 now, 0.5 after a half-life; importance: the message's own, or estimated from its length.
        use: how often it was recalled.
        exact: share of the query's quotations, paths and ids that it contains literally.
        temporal: 1 within the time the query names, falling with the distance.
    """

    vector: float = 0.0
    text: float = 0.0
    coverage: float = 0.0
    neighbours: float = 0.0
    segment: float = 0.0
    statement: float = 0.0
    speaker: float = 0.0
    kind: float = 0.0
    recency: float = 0.0
    importance: float = 0.0
    use: float = 0.0
    exact: float = 0.0
    temporal: float = 0.0


@dataclass(frozen=True, slots=True, repr=False)
class Hit:
    """A record that recall found.

    Attributes:
        score: in [0, 1], higher is better.
        signals: the evidence for it; weights: as applied to this hit.
        note: anything unusual, such as a search that could not run.
        plan: how the query was read, the same for all hits.
        similarity: absolute similarity of meaning: 0 for an average record of the owner, 1 for the query's own words;
            None if unknown.
        confidence: the probability in [0, 1] that it answers the question; None if unknown.
        reranker: what replaced the weighted mean of the signals: your reranker, a better fitting fact extracted from
            the turn, or the order of newer before older; own: the score before.
        asked: the preceding question of another speaker, if the turn says little without it.
    """

    record: Record
    score: float
    signals: Signals
    weights: Weights
    note: str = ""
    plan: Plan | None = None
    similarity: float | None = None
    confidence: float | None = None
    reranker: str = ""
    own: float | None = None
    asked: Record | None = None

    @property
    def text(self) -> str:
        """The words of the record."""
        return self.record.text

    def __repr__(self) -> str:
        return f"<Hit {self.score:.3f} {_who(self.record)}: {shown(self.record.text)}>"

    def _repr_html_(self) -> str:
        return _drawn([self])

    def as_metadata(self) -> dict[str, Any]:
        """The record's own metadata, with fields of the hit, which win where names collide.

        ``score``, ``confidence``, ``why``, ``signals``, ``speaker``, ``origin``, ``at`` (ISO 8601), ``sources``,
        ``kind``, ``session``; of a shared space also ``space`` and ``author``; of an answer ``asked``: the ``text``,
        ``speaker``, ``origin`` and ``sources`` of its question.
        """
        record = self.record
        ours = {
            "score": self.score,
            "confidence": self.confidence,
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
        if self.asked is not None:
            asked = self.asked
            whose = {"speaker": asked.speaker, "origin": asked.origin.value}
            ours["asked"] = {"text": asked.text, **whose, "sources": list(asked.sources)}
        return deepcopy(record.metadata) | ours

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the events it came from: those of the record, and of the question it answers."""
        return (*self.record.sources, *(self.asked.sources if self.asked else ()))

    @property
    def origin(self) -> Origin:
        """Whose words it shows: the lower origin of the record and of the question it answers."""
        return lowest((self.record.origin, *((self.asked.origin,) if self.asked else ())))

    @property
    def arithmetic(self) -> str:
        """The score as a sum, largest share first; or what replaced the score, with the sum before."""
        if self.own is not None:
            before = replace(self, score=self.own, reranker="", own=None).arithmetic
            return f"{self.score:.3f} by {self.reranker}; before it {before}"
        shares = sorted(_shares(self), key=lambda share: share[1] * share[2], reverse=True)
        total = sum(weight for _, weight, _ in shares)
        terms = " + ".join(f"{_brief(weight)}*{signal:.2f} {name}" for name, weight, signal in shares)
        mean = terms if abs(total - 1) < 1e-9 else f"({terms}) / {_brief(total)}"  # noqa: PLR2004 - float noise
        return f"{self.score:.3f} = {mean}"

    def why(self) -> str:
        """One line with the arithmetic of the score, the confidence, the handle of the turn and the plan."""
        sure = "" if self.confidence is None else f"; confidence {self.confidence:.2f}"
        space = f" in the space {self.record.scope.space!r}" if self.record.scope.space else ""
        words = _WHOSE.get(self.record.origin, "")
        author = f", written by {self.record.author}" if self.record.author else ""
        asked = f"; answers {_who(self.asked)}: {shown(self.asked.text)}" if self.asked else ""
        note = f"; {self.note}" if self.note else ""
        plan = f"; {self.plan}" if self.plan else ""
        turn = self.record.turn
        origin = handle(turn, turn) if turn else ", ".join(self.record.sources)
        return f"{self.arithmetic}{sure}; from {origin}{space}{author}{words}{asked}{note}{plan}"


_WHOSE = {
    Origin.OPERATOR: ", the words of the operator",
    Origin.PERSON: ", the words of a person who is not the user",
    Origin.TOOL: ", the words of a tool",
    Origin.WEB: ", the words of the web",
    Origin.IMPORTED: ", imported",
}
"""Origins as named by `Hit.why`; user and assistant are not named."""


class Hits(list[Hit]):
    """The hits of a recall, best first; a list with a rich display in notebooks.

    Attributes:
        query: the query.
        unsure: how many hits were left out for their low confidence.
    """

    def __init__(self, hits: Iterable[Hit] = (), query: str = "", unsure: int = 0) -> None:
        super().__init__(hits)
        self.query = query
        self.unsure = unsure

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{display.text(self.query)}: nothing {'certain ' if self.unsure else ''}was found</p>"
        plan = next((str(hit.plan) for hit in self if hit.plan), "")
        about = f"<p><small>how the query was read: {display.text(plan)}</small></p>" if plan else ""
        return display.card(f"{display.counted(len(self), 'hit')} for {display.text(self.query)}", about + _drawn(self))


def _shares(hit: Hit) -> list[tuple[str, float, float]]:
    named = [(part.name, getattr(hit.weights, part.name), getattr(hit.signals, part.name)) for part in fields(Weights)]
    return [share for share in named if share[1]]


def _brief(weight: float) -> str:
    return f"{round(weight, 3):g}"


def parts(hit: Hit) -> list[display.Part]:
    """The share of each signal, largest first; the shares add up to the score, or to `Hit.own`."""
    shares = _shares(hit)
    total = sum(weight for _, weight, _ in shares)
    made = [
        display.Part(name, weight * signal / total, HUES[name], f"{_brief(weight)}*{signal:.2f}")
        for name, weight, signal in shares
        if signal
    ]
    return sorted(made, key=lambda part: -part.share)


def _who(record: Record) -> str:
    return spoken(record.speaker, record.origin)


def _drawn(hits: Sequence[Hit]) -> str:
    rows = []
    for hit in hits:
        score, question = f"{hit.score:.3f}<br>{display.bar(parts(hit))}", ""
        if hit.confidence is not None:
            drawn = display.bar([display.Part("confidence", hit.confidence, display.PLAIN, f"{hit.confidence:.2f}")])
            score += f"<br><small>confidence {hit.confidence:.2f}</small><br>{drawn}"
        if hit.asked is not None:
            question = f"<small>{display.text(f'{_who(hit.asked)}: {shown(hit.asked.text)}')}</small><br>"
        when = f"{hit.record.at:%Y&#8209;%m&#8209;%d}<br>{display.text(_who(hit.record))}"
        why = display.details("why", f"<small>{display.text(hit.why())}</small>")
        rows.append((score, when, question + display.text(hit.record.text) + why))
    named = {part.label: part for hit in hits for part in parts(hit)}
    keys = [display.Part(name, 0.0, HUES[name]) for name in HUES if name in named]
    return f"<small>{display.legend(keys)}</small>{display.table(('score', 'said', 'words'), rows)}"
