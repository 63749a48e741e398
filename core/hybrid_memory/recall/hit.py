"""What recall returns: a record, its score, and the arithmetic behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from hybrid_memory import display
from hybrid_memory.config.memory import Weights
from hybrid_memory.index.record import Record
from hybrid_memory.log.origin import Origin, lowest, spoken
from hybrid_memory.recall.plan import Plan
from hybrid_memory.validation import shown

HUES = {
    "vector": "0,114,178",
    "text": "230,159,0",
    "neighbours": "0,158,115",
    "segment": "86,180,233",
    "closeness": "90,60,160",
    "coverage": "190,150,0",
    "alike": "0,120,140",
    "statement": "60,120,60",
    "speaker": "120,90,60",
    "kind": "200,80,80",
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
        closeness: nearness of meaning by itself, whatever else was found.
        coverage: the share of the query's words that it has, by their rarity, and whether they stand side by side.
        neighbours: relevance of the turns next to it; segment: relevance of the conversation around it.
        alike: how much it has in common with the best, for what the query does not name itself.
        statement: it tells something, rather than asks, agrees or greets.
        speaker: it comes from whom the query is about.
        kind: it has what kind of thing the query asks for: a time, a number.
        recency: 1 now, 0.5 after a half-life; importance: as the message says, else how much it says.
        use: how often it was used.
        current: 1, or 0 where a newer record among those that were found says otherwise.
        exact: the share of what the query quotes, of its paths and ids, that the record has word for word.
        temporal: 1 in the time that the query names, less the further away.
    """

    vector: float = 0.0
    text: float = 0.0
    closeness: float = 0.0
    coverage: float = 0.0
    neighbours: float = 0.0
    segment: float = 0.0
    alike: float = 0.0
    statement: float = 0.0
    speaker: float = 0.0
    kind: float = 0.0
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
        confidence: the probability in [0, 1] that it answers, whatever else was found; None where nothing tells.
        reranker: what gave the score, where it is not the ranker's: a model that was given to score the best anew, a
            fact that was read from the turn and fits better, or the place in the order; own: the score before.
        asked: the question of another speaker that stands right before its turn, where the turn says little without.
    """

    record: Record
    score: float
    signals: Signals
    weights: Weights
    note: str = ""
    plan: Plan | None = None
    closeness: float | None = None
    ranker: str = ""
    confidence: float | None = None
    reranker: str = ""
    own: float | None = None
    asked: Record | None = None

    def __repr__(self) -> str:
        return f"<Hit {self.score:.3f} {_who(self.record)}: {shown(self.record.text)}>"

    def _repr_html_(self) -> str:
        return _drawn([self])

    def as_metadata(self) -> dict[str, Any]:
        """The record's own metadata, and what speaks for the hit, in its place where it has the same name.

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
        """Ids of the events behind its words: of the record, and of the question that it answers."""
        return (*self.record.sources, *(self.asked.sources if self.asked else ()))

    @property
    def origin(self) -> Origin:
        """Whose words it shows: the lower origin of the record and the question that it answers."""
        return lowest((self.record.origin, *((self.asked.origin,) if self.asked else ())))

    @property
    def arithmetic(self) -> str:
        """The score as the sum that it is, strongest share first; or what gave it, and the sum before."""
        if self.own is not None:
            before = replace(self, score=self.own, reranker="", own=None).arithmetic
            return f"{self.score:.3f} by {self.reranker}; before it {before}"
        if not self.ranker:
            return _arithmetic(self, self.score)
        shares = _shares(self)
        mean = sum(weight * signal for _, weight, signal in shares) / sum(weight for _, weight, _ in shares)
        return f"{self.score:.3f} by {self.ranker}; signals {_arithmetic(self, mean)}"

    def why(self) -> str:
        """The arithmetic of the score in one line, the confidence, the events behind it, and the plan."""
        sure = "" if self.confidence is None else f"; confidence {self.confidence:.2f}"
        space = f" in the space {self.record.scope.space!r}" if self.record.scope.space else ""
        words = _WHOSE.get(self.record.origin, "")
        author = f", written by {self.record.author}" if self.record.author else ""
        asked = f"; answers {_who(self.asked)}: {shown(self.asked.text)}" if self.asked else ""
        note = f"; {self.note}" if self.note else ""
        plan = f"; {self.plan}" if self.plan else ""
        return (
            f"{self.arithmetic}{sure}; from {', '.join(self.record.sources)}{space}{author}{words}{asked}{note}{plan}"
        )


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
        unsure: how many others were found, and left out for their confidence.
    """

    def __init__(self, hits: Iterable[Hit] = (), query: str = "", unsure: int = 0) -> None:
        super().__init__(hits)
        self.query = query
        self.unsure = unsure

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{display.text(self.query)}: nothing {'certain ' if self.unsure else ''}was found</p>"
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
    """What each signal brings, largest first, `current` last; the shares add up to the score, or to `Hit.own`."""
    shares = _shares(hit)
    total = sum(weight for _, weight, _ in shares)
    made = [
        display.Part(name, weight * signal / total, HUES[name], f"{weight:g}*{signal:.2f}")
        for name, weight, signal in shares
        if signal
    ]
    # What no longer holds has less of it; of all others it says the same.
    return sorted(made, key=lambda part: (part.label == "current", -part.share))


def _sure(hit: Hit) -> str:
    if hit.confidence is None:
        return ""
    drawn = display.bar([display.Part("confidence", hit.confidence, display.PLAIN, f"{hit.confidence:.2f}")])
    return f"<br><small>confidence {hit.confidence:.2f}</small><br>{drawn}"


def _who(record: Record) -> str:
    return spoken(record.speaker, record.origin)


def _question(asked: Record | None) -> str:
    return f"<small>{display.text(f'{_who(asked)}: {shown(asked.text)}')}</small><br>" if asked else ""


def _drawn(hits: Sequence[Hit]) -> str:
    rows = [
        (
            f"{hit.score:.3f}<br>{display.bar(parts(hit))}{_sure(hit)}",
            f"{hit.record.at:%Y&#8209;%m&#8209;%d}<br>{display.text(_who(hit.record))}",
            _question(hit.asked)
            + display.text(hit.record.text)
            + display.details("why", f"<small>{display.text(hit.why())}</small>"),
        )
        for hit in hits
    ]
    named = {part.label: part for hit in hits for part in parts(hit)}
    keys = [display.Part(name, 0.0, HUES[name]) for name in HUES if name in named]
    return f"<small>{display.legend(keys)}</small>{display.table(('score', 'said', 'words'), rows)}"
