"""Random records for the semantic index suite, and how to compare rankings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import numpy as np

from hybrid_memory.arrays import Floats, Ids
from hybrid_memory.index.port import Entry, Matches, SemanticIndex, Use
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.message import Origin
from hybrid_memory.scope import Scope
from hybrid_memory.text.tokenize import terms

DIM = 16
EMBEDDER = ("contract", DIM)
TOLERANCE = 5e-4  # vectors may be stored in half precision

START = datetime(2024, 1, 1, tzinfo=UTC)
ALICE, BOB, STRANGER = Scope(user="alice"), Scope(user="bob", agent="coach"), Scope(user="stranger")

METADATA: list[Any] = [True, False, 1, 0, "1", "true", "null", "", None, 1.5, "é", 'quo"te', "100%"]
"""Values that an engine with fewer types than JSON would confuse."""

NOON = START + timedelta(hours=12)
CONDITIONS: dict[str, list[Any]] = {
    "kinds": [frozenset({kind}) for kind in (RecordKind.TURN, RecordKind.FACT)],
    "categories": [frozenset({"task"}), frozenset({"task", "preference"}), frozenset({"no such"})],
    "metadata": [
        *({"value": value} for value in METADATA),
        *({"no such": None}, {"other": 1}, {"value": True, "other": 1}, {"value": True, "other": "1"}),
    ],
    "origins": [
        *(frozenset({origin}) for origin in Origin),
        *(frozenset({Origin.USER, other}) for other in (Origin.PERSON, Origin.IMPORTED)),
        *(frozenset(Origin), frozenset(Origin) - {Origin.WEB}),
    ],
    # Stretches that touch, overlap, are empty, or are very many.
    "hidden": [
        *(((100, 2**62),), ((1, 100), (7, 7)), ((20, 60), (50, 90), (91, 120), (230, 229)), ((1, 2**62),)),
        tuple((position, position) for position in range(1, 2500, 2)),
    ],
    "fresh": [
        {"task": NOON},
        {"fact": NOON},
        {"turn": NOON, "preference": NOON + timedelta(hours=28), "no such": NOON},
    ],
}
"""Values for each condition of a search."""

PHRASES = [
    "moved to Berlin with the cat",
    "running shoes and marathon training",
    "the deployment of the payment service failed",
    "grandmother's apple pie recipe",
    "Python, SQLite and FAISS",
    "我搬到了北京",
    "学习弹钢琴和唱歌",
    "我的猫叫咪咪",
    "在上海 meeting with 张伟",
    "Café déjà vu",
]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Data for an index: entries with terms and a content hash each, and a vector for each hash."""

    entries: list[Entry]
    keys: dict[int, bytes]
    vectors: dict[bytes, Floats]

    def of(self, owner: Scope) -> list[Entry]:
        return [entry for entry in self.entries if entry.record.scope.owner == owner]

    def fill(self, index: SemanticIndex, *, batch: int = 17) -> None:
        """Write all entries and vectors to the index."""
        for owner in (ALICE, BOB):
            mine, after = self.of(owner), 0
            for part in (mine[at : at + batch] for at in range(0, len(mine), batch)):
                upto = part[-1].record.id
                assert index.upsert(owner, part, after=after, upto=upto)
                after = upto
        index.put_vectors(EMBEDDER, self.keys, self.vectors)


def unit(vector: Any) -> Floats:
    """The vector, scaled to length 1."""
    row: Floats = (np.asarray(vector) / np.linalg.norm(vector)).astype(np.float32)
    return row


def make_record(number: int, text: str = "some words", **fields: Any) -> Record:
    """A record owned by Alice, the given number of minutes after the start, in a segment of its own."""
    values: dict[str, Any] = {
        "scope": replace(ALICE, session="s1"),
        "at": START + timedelta(minutes=number),
        "sources": (f"event-{number}",),
        "segment": number,
        "ordinal": 0,
    }
    return Record(id=number, text=text, **{**values, **fields})


def entry_of(record: Record) -> Entry:
    """An entry for the record, with the terms of its text."""
    return Entry(record, " ".join(terms(record.text)))


def store(
    index: SemanticIndex,
    *records: Record,
    after: int | None = None,
    upto: int | None = None,
    uses: Mapping[int, Use] | None = None,
) -> bool:
    """Store records of one owner (Alice if there are none), by default from the applied position to the last record."""
    owner = records[0].scope.owner if records else ALICE
    last = upto if upto is not None else max(record.id for record in records)
    start = index.status(owner).applied if after is None else after
    return index.upsert(owner, [entry_of(record) for record in records], after=start, upto=last, uses=uses or {})


def random_corpus(seed: int, size: int = 240) -> Corpus:
    """Turns and facts of two owners in several sessions and segments; some texts and vectors occur more than once."""
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(6, DIM))
    entries: list[Entry] = []
    keys: dict[int, bytes] = {}
    vectors: dict[bytes, Floats] = {}
    open_segments: dict[Scope, tuple[int, int]] = {}
    turns: dict[Scope, Record] = {}
    for number in range(1, size + 1):
        owner = ALICE if chance.random() < 0.7 else BOB  # noqa: PLR2004 - most are Alice's
        scope = replace(owner, session=[None, "s1", "s2"][chance.integers(3)])
        segment, ordinal = open_segments.get(scope, (number, 0))
        if ordinal and chance.random() < 0.2:  # noqa: PLR2004 - a pause
            segment, ordinal = number, 0
        source = turns.get(scope) if chance.random() < 0.2 else None  # noqa: PLR2004 - a fact from the last turn
        if source is not None:
            segment, ordinal = source.segment, source.ordinal
        open_segments[scope] = (segment, ordinal + 1)
        text = " ".join(chance.choice(PHRASES, size=chance.integers(1, 5)))
        category = [None, "task", "preference"][chance.integers(3)]
        record = make_record(
            number,
            text,
            scope=scope,
            segment=segment,
            ordinal=ordinal,
            category=category,
            kind=RecordKind.TURN if source is None else RecordKind.FACT,
            turn=0 if source is None else source.turn,
            at=START + timedelta(hours=int(chance.integers(48)), microseconds=int(chance.integers(3))),
            importance=float(chance.random()),
            origin=tuple(Origin)[number % len(Origin)],
            uses=int(chance.integers(4)),
            last_used=START if chance.random() < 0.5 else None,  # noqa: PLR2004 - a coin
            metadata={} if number % 5 == 0 else {"value": METADATA[chance.integers(len(METADATA))], "other": 1},
        )
        entries.append(entry_of(record))
        if source is None:
            turns[scope] = record
        if chance.random() < 0.9:  # noqa: PLR2004 - the others wait for their vector
            # A few clusters, and every tenth vector a copy of an earlier one.
            key = b"key-%d" % (number if number % 10 else chance.integers(1, number))
            vectors.setdefault(key, unit(centres[chance.integers(6)] + 0.4 * chance.normal(size=DIM)))
            keys[number] = key
    return Corpus(entries, keys, vectors)


def every_where() -> Iterator[Where]:
    """Each condition alone, and several combined."""
    scopes = [*(ALICE, BOB), *(replace(owner, session=name) for owner in (ALICE, BOB) for name in ("s1", "s2", "none"))]
    yield from map(Where, (*scopes, STRANGER))
    yield from (Where(ALICE, **{name: value}) for name, values in CONDITIONS.items() for value in values)
    instants = [None, NOON, NOON + timedelta(microseconds=1), START]
    yield from (Where(ALICE, since=since, until=until) for since, until in itertools.product(instants, instants))
    chance = Random(0)  # noqa: S311 - for tests
    for _ in range(20):
        some = {name: chance.choice(values) for name, values in CONDITIONS.items() if chance.randrange(3) == 0}
        yield Where(chance.choice(scopes), since=chance.choice(instants), **some)


def assert_same_ranking(matches: Matches, full: Matches, k: int, case: object = "") -> None:
    """Assert that these are the first k of the oracle's full ranking; equal scores may come in any order."""
    assert matches.ids.dtype == np.int64
    assert matches.scores.dtype == np.float32
    assert matches.ids.shape == matches.scores.shape == (min(k, len(full.ids)),), case
    expected = dict(zip(full.ids.tolist(), full.scores.tolist(), strict=True))
    assert len(set(matches.ids.tolist())) == len(matches.ids), case
    own = [expected.get(number, np.nan) for number in matches.ids.tolist()]
    for scores in (own, full.scores[: len(own)]):
        np.testing.assert_allclose(matches.scores, scores, atol=TOLERANCE, rtol=TOLERANCE, err_msg=str(case))


def ids(*numbers: int) -> Ids:
    """Record ids in the form that the port takes."""
    return np.array(numbers, dtype=np.int64)
