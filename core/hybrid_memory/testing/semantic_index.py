"""The contract of a semantic index: it follows the log, and searches like the in-memory engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np
import pytest

from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.port import RecordColumns, Search, SemanticIndex, Use
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.log.message import Origin
from hybrid_memory.scope import Scope
from hybrid_memory.testing.corpus import (
    ALICE,
    BOB,
    DIM,
    EMBEDDER,
    METADATA,
    PHRASES,
    START,
    STRANGER,
    TOLERANCE,
    Corpus,
    assert_same_ranking,
    entry_of,
    every_where,
    ids,
    make_record,
    random_corpus,
    store,
    unit,
)
from hybrid_memory.testing.drafts import NAMES, assert_closed, check_during
from hybrid_memory.text.tokenize import terms

ALL = 10_000  # more than any corpus in these tests has

QUERIES = [
    *PHRASES,
    "北京",
    "猫",
    "BERLIN marathon 钢琴",
    "nothing matches zyx",
    "berlin berlin berlin cat",
    "sqlite OR faiss AND NOT python",
]
ONES = unit(np.ones(DIM))
VECTOR = unit(np.arange(DIM) + 1.0)
A, B = unit(np.eye(DIM)[0]), unit(np.eye(DIM)[1])


def cats(*numbers: int, **fields: Any) -> list[Record]:
    """A record of each number, in a segment of its own."""
    return [make_record(number, "cat", **fields) for number in numbers]


FACT = RecordKind.FACT
SECOND, FOURTH = START + timedelta(minutes=2), START + timedelta(minutes=4)
LEFT: dict[str, tuple[list[Record], list[tuple[Any, list[int]]]]] = {
    # True is not 1, "1" is not 1, and a stored null is not a missing key.
    "metadata": (
        [make_record(n, "cat", metadata={"value": value}) for n, value in enumerate([*METADATA, [1]], 1)] + cats(100),
        [({"value": value}, [n]) for n, value in enumerate(METADATA, 1)],
    ),
    # A fact is hidden with its turn, whatever its own log position. Stretches include both ends.
    "hidden": (
        [make_record(n, "cat", segment=1, ordinal=n - 1) for n in range(1, 6)]
        + [make_record(5 + turn, "cat", kind=FACT, turn=turn) for turn in range(1, 6)],
        [
            ((), [*range(1, 11)]),
            (((2, 3),), [1, 4, 5, 6, 9, 10]),
            (((6, 10),), [*range(1, 11)]),
            (((5, 10), (1, 1), (4, 4)), [2, 3, 7, 8]),
            (((1, 3), (2, 2**62)), []),
        ],
    ),
    # The instant itself counts as fresh. A record whose kind and category both have a limit must meet both.
    "fresh": (
        cats(1, 2) + cats(3, 4, kind=FACT, category="task") + cats(5, kind=FACT),
        [
            ({"turn": SECOND}, [2, 3, 4, 5]),
            ({"turn": SECOND + timedelta(microseconds=1)}, [3, 4, 5]),
            ({"task": FOURTH}, [1, 2, 4, 5]),
            ({"fact": FOURTH, "task": FOURTH + timedelta(days=1)}, [1, 2, 5]),
            ({"no such": FOURTH}, [1, 2, 3, 4, 5]),
        ],
    ),
    "origins": (
        [make_record(n, "cat", origin=origin) for n, origin in enumerate(Origin, 1)],
        [
            (frozenset(origins), [n for n, origin in enumerate(Origin, 1) if origin in origins])
            for origins in (*({origin} for origin in Origin), {Origin.USER, Origin.IMPORTED}, {*Origin} - {Origin.WEB})
        ],
    ),
}
"""By condition: records, and which of them each value leaves."""


def assert_same_columns(here: RecordColumns, there: RecordColumns, where: Where) -> None:
    """Assert that these are the oracle's columns."""
    for column in fields(RecordColumns):
        mine, expected = getattr(here, column.name), getattr(there, column.name)
        assert mine.dtype == expected.dtype, column.name
        np.testing.assert_allclose(mine, expected, rtol=1e-12, err_msg=f"{column.name} for {where}")


class SemanticIndexContract:
    """Tests that every semantic index must pass. Subclass it and provide an ``index`` fixture.

    The fixture is an empty index with exact search, closed after the test.
    """

    @pytest.fixture
    def index(self) -> SemanticIndex:
        raise NotImplementedError("give a fixture named 'index'")

    @pytest.fixture(params=range(2), ids=lambda seed: f"seed {seed}")
    def corpus(self, request: pytest.FixtureRequest) -> Corpus:
        return random_corpus(request.param)

    @pytest.fixture
    def oracle(self, corpus: Corpus) -> InMemoryIndex:
        oracle = InMemoryIndex()
        corpus.fill(oracle)
        return oracle

    @pytest.fixture
    def filled(self, index: SemanticIndex, corpus: Corpus) -> SemanticIndex:
        corpus.fill(index)
        return index

    def test_records_come_back_field_by_field(self, index: SemanticIndex) -> None:
        plain = make_record(1, "plain", scope=ALICE)
        full = make_record(
            2, "full 全", category="task", speaker="Ann", importance=0.25, uses=3, segment=1, ordinal=7, turn=1,
            last_used=START + timedelta(microseconds=1), valid_from=START, valid_to=START + timedelta(days=1),
            sources=("b", "a"), metadata={"nested": {"a": [None, True, 1, 1.5, "NUL \x00"]}}, kind=RecordKind.FACT,
            author="agent coach",
        )  # fmt: skip
        store(index, plain, full)
        assert index.get([2, 99, 1, 2]) == [full, plain, full]
        assert index.get([]) == []

    def test_upsert_moves_the_applied_position(self, index: SemanticIndex) -> None:
        """For this owner only, and also when events yield no record. A wrong starting position stores nothing."""
        assert index.status(ALICE).applied == 0
        store(index, make_record(2), upto=5)
        store(index, upto=9)
        assert index.status(ALICE).applied == index.status(replace(ALICE, session="s1")).applied == 9  # noqa: PLR2004 - as above
        assert index.status(BOB).applied == 0
        for owner, status in index.statuses([ALICE, BOB]).items():
            alone = index.status(owner, pending=1)
            assert (status.applied, status.anchor) == (alone.applied, alone.anchor)
            assert list(status.pending) == list(alone.pending)
        for after in (0, 5, 10):
            assert not index.upsert(ALICE, [], after=after, upto=12, uses={2: Use(1, START)})
        assert index.status(ALICE).applied == 9  # noqa: PLR2004 - as above
        assert (index.size().records, index.get([2])[0].uses) == (1, 0)

    def test_the_position_moves_only_from_the_anchor_that_was_seen(self, index: SemanticIndex) -> None:
        """Also back, as after a log was restored; together with it, what vanished from the owner's log is removed."""
        assert index.status(ALICE).anchor == ""
        store(index, make_record(1, "first"), make_record(2, "second"), upto=2)
        store(index, make_record(3, "others", scope=BOB), upto=3)
        index.put_vectors(EMBEDDER, {1: b"one", 2: b"two"}, {b"one": A, b"two": B})
        assert index.upsert(ALICE, [], after=2, seen="", upto=9, anchor="0123456789abcdef")
        for after, seen in ((8, None), (9, ""), (9, "other")):
            assert not index.upsert(ALICE, [], after=after, seen=seen, upto=1, anchor="late", gone=[2])
        assert (index.status(ALICE).applied, index.status(ALICE).anchor) == (9, "0123456789abcdef")
        assert index.upsert(ALICE, [], after=9, upto=4, anchor="back")
        assert index.size().records == 3  # noqa: PLR2004 - all
        assert index.upsert(ALICE, [], after=4, seen="back", upto=1, anchor="on", gone=[2, 3, 99])
        assert (index.status(ALICE).applied, index.status(ALICE).anchor, index.status(BOB).anchor) == (1, "on", "")
        assert [record.id for record in index.get([1, 2, 3])] == [1, 3]
        assert index.search(["second"], Where(ALICE), 5).ids.tolist() == []
        assert index.status(ALICE, sums=True).vectors == 1
        assert index.upsert(ALICE, [entry_of(make_record(2, "anew"))], after=1, seen="on", upto=2)
        assert (index.status(ALICE).anchor, index.get([2])[0].text) == ("", "anew")

    def test_a_record_takes_the_place_of_one_with_its_id(self, index: SemanticIndex) -> None:
        """Also of somebody else's."""
        store(index, make_record(1, "older"), make_record(2, "others"))
        store(index, make_record(1, "old words"), upto=3)
        assert index.get([1])[0].text == "old words"
        assert index.search(["older"], Where(ALICE), 5).ids.tolist() == []
        assert index.search(["old"], Where(ALICE), 5).ids.tolist() == [1]
        index.put_vectors(EMBEDDER, {1: b"old", 2: b"other"}, {b"old": A, b"other": -A})
        store(index, make_record(1, "new text", scope=BOB))
        assert [(record.scope.owner, record.text) for record in index.get([1])] == [(BOB, "new text")]
        assert index.latest(Where(ALICE), 5).tolist() == index.search(A, Where(ALICE), 5).ids.tolist() == [2]
        assert index.search(["old"], Where(ALICE), 5).ids.tolist() == []
        store(index, make_record(2, "anew"), upto=4)
        assert index.search(A, Where(ALICE), 5).ids.tolist() == [], "its vector was of the old words"
        assert index.search(["anew"], Where(ALICE), 5).ids.tolist() == [2], "without a vector by its words"
        assert [record.id for record, _ in index.pending(ALICE, 5)] == [2]
        assert [record.id for record, _ in index.pending(BOB, 5)] == [1]
        assert index.size().records == 2  # noqa: PLR2004 - one each

    def test_what_a_search_found_is_fetched_as_it_is_then(self, index: SemanticIndex) -> None:
        def fetched() -> list[Record]:
            return list(index.fetch(index.latest(Where(ALICE), 5), ALICE).records)

        first, second = make_record(1, "old words", metadata={"tag": [1]}), make_record(2, "others")
        store(index, first, second)
        fetched()[1].metadata["tag"].append(2)
        assert fetched() == [second, first], "what a caller does to the metadata changes nothing"
        store(index, make_record(1, "new words"), upto=3, uses={2: Use(1, START)})
        assert [(record.text, record.uses) for record in fetched()] == [("others", 1), ("new words", 0)]
        index.delete([1])
        assert [record.id for record in fetched()] == [2]

    def test_of_eight_that_apply_the_same_events_one_wins(self, index: SemanticIndex) -> None:
        with ThreadPoolExecutor(max_workers=8) as pool:
            for number in range(1, 21):
                tries = [pool.submit(store, index, make_record(number), after=number - 1) for _ in range(8)]
                assert sum(job.result() for job in tries) == 1
        assert index.status(ALICE).applied == index.size().records == 20  # noqa: PLR2004 - as many as rounds

    def test_uses_are_added_up(self, index: SemanticIndex) -> None:
        """For existing records and those in the same call. The last use only moves forward; nothing else changes."""
        store(index, make_record(1), make_record(2))
        store(index, make_record(3, scope=BOB))
        index.put_vectors(EMBEDDER, {1: b"a"}, {b"a": A})
        first, later = START + timedelta(days=1), START + timedelta(days=2, microseconds=7)
        assert index.columns(ids(1, 2), Where(ALICE), 0).uses.tolist() == [0, 0]
        store(index, make_record(4), uses={1: Use(2, later), 4: Use(1, first), 99: Use(1, first), 3: Use(5, first)})
        store(index, upto=6, uses={1: Use(1, first)})
        assert [(record.uses, record.last_used) for record in index.get([1, 3, 4])] == [
            (3, later),
            (0, None),  # the record of somebody else
            (1, first),
        ]
        columns = index.columns(ids(1, 2, 4), Where(ALICE), 0)
        assert columns.uses.tolist() == [3, 0, 1]
        assert columns.last_used.tolist() == pytest.approx([later.timestamp(), 0, first.timestamp()], abs=1e-5)
        assert index.search(A, Where(ALICE), 5).ids.tolist() == [1], "a use takes no vector away"
        store(index, upto=7, uses={2: Use(1, later)})
        assert index.columns(ids(1, 2, 4), Where(ALICE), 0).uses.tolist() == [3, 1, 1]

    def test_tails_are_the_last_turns_of_the_sessions(self, index: SemanticIndex) -> None:
        sessions = ["s1", None, "s2", "s1", None]
        records = [make_record(n, scope=replace(ALICE, session=name)) for n, name in enumerate(sessions, start=1)]
        other = make_record(6, scope=replace(BOB, session="s1"))
        store(index, *records)
        store(index, other)
        assert index.tails(ALICE, ["s1", None, "s3"]) == {"s1": records[3], None: records[4]}
        assert index.tails(BOB, ["s1", "s2"]) == {"s1": other}
        assert index.tails(ALICE, []) == index.tails(STRANGER, ["s1", None]) == {}

    def test_pending_records_come_oldest_first_with_the_one_before(self, index: SemanticIndex) -> None:
        """With the previous record of the segment, whether or not that one has a vector; of this owner only."""
        first, second = make_record(1, segment=1, ordinal=0), make_record(2, segment=1, ordinal=1)
        alone, third = make_record(3), make_record(4, segment=1, ordinal=2)
        store(index, first, second, alone, third)
        store(index, make_record(5, scope=BOB))
        assert index.pending(ALICE, 9) == [(first, None), (second, first), (alone, None), (third, second)]
        assert index.pending(ALICE, 2) == [(first, None), (second, first)]
        index.put_vectors(EMBEDDER, {1: b"a", 3: b"a"}, {b"a": A})
        assert index.pending(ALICE, 9) == [(second, first), (third, second)]
        assert [record.id for record, _ in index.pending(BOB, 9)] == [5]
        assert index.pending(STRANGER, 9) == []
        size = index.size()
        assert (size.records, size.vectors, size.pending) == (5, 2, 3)

    def test_known_vectors_come_back_by_their_hash(self, index: SemanticIndex) -> None:
        """Unknown hashes are left out. Known vectors need not be sent again; unknown ones leave records pending."""
        assert index.known([b"a"]) == {}
        store(index, *(make_record(number) for number in (1, 2, 3, 4)))
        index.put_vectors(EMBEDDER, {1: b"a", 2: b"b"}, {b"a": A, b"b": B})
        index.put_vectors(EMBEDDER, {3: b"a", 4: b"gone"}, {})
        known = index.known([b"b", b"no", b"a", b"b"])
        assert set(known) == {b"a", b"b"}
        np.testing.assert_array_equal(known[b"a"], A)
        np.testing.assert_array_equal(known[b"b"], B)
        assert known[b"a"].dtype == np.float32
        assert index.known([]) == {}
        assert sorted(index.search(A, Where(ALICE), 2).ids.tolist()) == [1, 3]
        assert [record.id for record, _ in index.pending(ALICE, 5)] == [4]

    def test_vectors_of_another_embedder_are_refused(self, index: SemanticIndex) -> None:
        store(index, make_record(1), make_record(2))
        index.put_vectors(EMBEDDER, {1: b"a"}, {b"a": A})
        for other in (("another", DIM), (EMBEDDER[0], 2 * DIM)):
            with pytest.raises(EmbedderMismatchError):
                index.put_vectors(other, {2: b"x"}, {b"x": unit(np.ones(other[1]))})
        assert index.embedder() == EMBEDDER
        assert index.known([b"x"]) == {}
        assert [record.id for record, _ in index.pending(ALICE, 5)] == [2]

    def test_deleting_spares_a_vector_that_others_share(self, index: SemanticIndex) -> None:
        """An unshared one is removed, and does not come back for a record deleted in the meantime; the ids are free."""
        every, where = ids(1, 2, 3, 4), Where(ALICE)
        store(index, *(make_record(number, "old") for number in every.tolist()))
        index.put_vectors(EMBEDDER, {1: b"shared", 2: b"shared", 3: b"own"}, {b"shared": A, b"own": B})
        assert index.search(B, where, 1).ids.tolist() == [3]
        assert index.delete([1, 3, 4]) == 3  # noqa: PLR2004 - all were there
        index.put_vectors(EMBEDDER, {4: b"late"}, {b"late": B})
        assert index.search(A, where, 5).ids.tolist() == index.columns(every, where, 0).ids.tolist() == [2]
        assert set(index.known([b"shared", b"own", b"late"])) == {b"shared"}
        assert index.size().vectors == 1
        store(index, make_record(1, "new"), upto=6)
        assert index.columns(every, where, 0).ids.tolist() == [1, 2]
        index.put_vectors(EMBEDDER, {1: b"new"}, {b"new": B})
        assert index.search(["old"], where, 5).ids.tolist() == [2]
        assert index.search(B, where, 5).scores.tolist() == pytest.approx([1, 0])

    def test_an_index_is_empty_at_first_and_after_a_reset(self, index: SemanticIndex) -> None:
        self._assert_empty(index)
        corpus = random_corpus(7, size=40)
        corpus.fill(index)
        index.delete(None)
        self._assert_empty(index)
        assert index.get([1, 2, 3]) == []
        assert index.known(list(corpus.vectors)) == {}
        wide = unit(np.ones(2 * DIM))
        assert index.search(wide, Where(ALICE), 5).ids.tolist() == []
        store(index, make_record(1))
        index.put_vectors(("wide", 2 * DIM), {1: b"wide"}, {b"wide": wide})
        assert index.search(wide, Where(ALICE), 5).ids.tolist() == [1]

    def test_who_works_for_an_owner_may_go_on_and_gives_the_right_back(self, index: SemanticIndex) -> None:
        assert index.lease(ALICE, "ann", 60)
        assert index.lease(ALICE, "ann", 60)
        alone = not index.lease(ALICE, "ben", 60)  # an engine of one process lets everybody
        assert index.lease(BOB, "ben", 60)
        assert index.lease(ALICE, "ann", 0)
        assert index.lease(ALICE, "ben", 60)
        assert alone != index.lease(ALICE, "ann", 60)

    def test_scrubbing_and_training_change_no_answer(self, index: SemanticIndex) -> None:
        random_corpus(1, size=60).fill(index)
        index.delete(range(1, 20))
        queries = (A, ["berlin"], None)
        before = [index.search(query, Where(ALICE), 9).ids.tolist() for query in queries]
        index.scrub()
        index.train(ALICE)
        assert [index.search(query, Where(ALICE), 9).ids.tolist() for query in queries] == before

    def test_after_close_every_call_says_so(self, index: SemanticIndex) -> None:
        random_corpus(0, size=20).fill(index)
        where = Where(ALICE)
        assert_closed(
            index,
            lambda: index.status(ALICE, sessions=["s1"], pending=1, sums=True),
            lambda: index.upsert(ALICE, [], after=0, upto=1),
            lambda: index.put_vectors(EMBEDDER, {}, {}),
            *(partial(index.search, query, where, 1) for query in (A, ["cat"], None)),
            lambda: index.columns(ids(1), where, 1),
            lambda: index.get([1]),
            lambda: index.vector_rows(ALICE, ids(1)),
            lambda: index.known([b"key-1"]),
            lambda: index.terms(ALICE, ["cat"]),
            *(partial(index.delete, numbers) for numbers in ([1], None)),
            index.scrub,
        )

    @pytest.mark.parametrize("by_meaning", [False, True], ids=["words", "meaning"])
    def test_exploring_agrees_with_the_oracle(
        self, filled: SemanticIndex, oracle: InMemoryIndex, by_meaning: bool
    ) -> None:
        vector = VECTOR if by_meaning else None
        wanted = terms("the cat of zyx sleeps in Berlin")
        for where in every_where():
            searches = [Search([], where, 3), Search(["zyx"], where, 3), Search(None, where, 2)]
            searches += [Search(terms("Berlin marathon"), where, 5)]
            searches += [] if vector is None else [Search(vector, replace(where, kinds=frozenset()), 7)]
            found = filled.explore(searches, where, radius=2, vector=vector, words=wanted)
            expected = oracle.explore(searches, where, radius=2, vector=vector, words=wanted)
            for mine, theirs, search in zip(found.matches, expected.matches, searches, strict=True):
                assert_same_ranking(mine, theirs, search.k, where)
            assert [len(matches.ids) for matches in found.matches[:2]] == [0, 0], "no words, and unknown ones"
            assert len(found.places.ids) == 0 or where.scope != STRANGER
            assert_same_columns(found.places, expected.places, where)
            assert found.similarity.dtype == np.float32
            np.testing.assert_allclose(found.similarity, expected.similarity, atol=TOLERANCE)
            assert found.counts.keys() <= set(wanted)
            assert found.counts == filled.terms(where.scope.owner, wanted)
            nothing = filled.explore([], where, radius=2, vector=vector)
            assert (nothing.matches, nothing.counts) == ([], {})
            assert nothing.places.ids.shape == nothing.similarity.shape == (0,)

    def test_corrections_agree_with_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex) -> None:
        """Only from the owner's terms; none at all if the engine keeps no list of them."""
        words = ["berlim", "marahton", "grandmoter", "deploymnt", "sqlit", "berlin", "cta", *terms("北就")]
        found = filled.corrections(words, ALICE)
        assert found in ({}, oracle.corrections(words, ALICE))
        assert not {"berlin", "cta"} & found.keys()
        assert filled.corrections(words, STRANGER) == filled.corrections([], ALICE) == {}

    @pytest.mark.parametrize("k", [1, 7, ALL])
    @pytest.mark.parametrize("by", ["vector", "words", "time"])
    def test_searches_agree_with_the_oracle(
        self, filled: SemanticIndex, oracle: InMemoryIndex, by: str, k: int
    ) -> None:
        chance = np.random.default_rng(k)
        for number, where in enumerate(every_where()):
            vector = 2 * unit(chance.normal(size=DIM))  # of any length
            query: Any = {"vector": vector, "time": None}.get(by, terms(QUERIES[number % len(QUERIES)]))
            found = filled.search(query, where, k)
            assert_same_ranking(found, oracle.search(query, where, ALL), k, (query, where))
            if query is None:
                assert found.ids.tolist() == oracle.latest(where, k).tolist(), where
        assert filled.latest(Where(STRANGER), k).tolist() == []

    def test_records_with_a_word_of_the_query_score_above_zero(self, filled: SemanticIndex) -> None:
        matches = {query: filled.search(terms(query), Where(ALICE), ALL) for query in ("", *QUERIES)}
        assert [query for query, found in matches.items() if not len(found.ids)] == ["", "nothing matches zyx"]
        assert all((found.scores > 0).all() for found in matches.values())

    def test_the_words_of_others_change_no_score(self, index: SemanticIndex) -> None:
        """Nor does the length of their texts: BM25 statistics cover the owner's own records only."""
        mine = [make_record(number, text) for number, text in enumerate(("cat dog", "cat cat", "bird fish", "ant"), 1)]
        store(index, *mine)
        wheres = (Where(ALICE), Where(replace(ALICE, session="s1")), Where(ALICE, until=mine[1].at))
        before = [index.search(["cat", "dog", "fish"], where, ALL) for where in wheres]
        assert [len(found.ids) for found in before] == [3, 3, 1]
        theirs = [make_record(number, "cat fish and many others", scope=BOB) for number in range(11, 51)]
        store(index, *theirs)
        for where, expected in zip(wheres, before, strict=True):
            assert_same_ranking(index.search(["cat", "dog", "fish"], where, ALL), expected, ALL, where)

    def test_records_and_vectors_agree_with_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex) -> None:
        """Only records of the owner, in the given order; and a row for each id, even if there is no such record."""
        asked = ids(*range(300, 0, -1), 5, 10**12)
        for owner in (ALICE, BOB, STRANGER):
            found, expected = filled.fetch(asked, owner), oracle.fetch(asked, owner)
            assert list(found.records) == list(expected.records)
            assert all(record.scope.owner == owner for record in found.records)
            for rows, present in ((found.vectors, found.present), filled.vector_rows(owner, asked)):
                assert present.tolist() == expected.present.tolist()
                assert not present.all()
                assert len(rows) == len(asked)
                if present.any():
                    np.testing.assert_allclose(rows, expected.vectors, atol=TOLERANCE)
            mine, theirs = filled.status(owner, sums=True), oracle.status(owner, sums=True)
            assert (mine.mean.shape, mine.vectors) == (theirs.mean.shape, theirs.vectors)
            np.testing.assert_allclose(mine.mean, theirs.mean, atol=TOLERANCE)
        nothing = filled.fetch(ids(), ALICE)
        assert (list(nothing.records), len(nothing.vectors), len(nothing.present)) == ([], 0, 0)

    @pytest.mark.parametrize("radius", [0, 1, 3])
    def test_columns_agree_with_the_oracle(self, filled: SemanticIndex, oracle: InMemoryIndex, radius: int) -> None:
        """Neighbours in the segment, each once, and only if the condition allows them."""
        chance = np.random.default_rng(radius)
        for where in every_where():
            asked = ids(*chance.integers(1, 250, size=20).tolist(), 10**12)
            assert_same_columns(filled.columns(asked, where, radius), oracle.columns(asked, where, radius), where)

    def test_deleting_leaves_what_an_index_without_the_records_would_hold(
        self, filled: SemanticIndex, oracle: InMemoryIndex, corpus: Corpus
    ) -> None:
        gone = list(range(1, 240, 3))
        kept = [entry for entry in corpus.entries if entry.record.id not in gone]
        keys = {number: key for number, key in corpus.keys.items() if number not in gone}
        fresh = InMemoryIndex()
        Corpus(kept, keys, corpus.vectors).fill(fresh)
        assert filled.delete([*gone, 10**12, gone[0]]) == oracle.delete(gone) == len(gone)
        for where in (Where(ALICE), Where(BOB), Where(ALICE, metadata={"value": 1})):
            assert_same_ranking(filled.search(ONES, where, ALL), fresh.search(ONES, where, ALL), ALL)
            for query in QUERIES:
                expected = fresh.search(terms(query), where, ALL)
                assert_same_ranking(filled.search(terms(query), where, ALL), expected, ALL, query)
            every = ids(*range(1, 241))
            assert filled.columns(every, where, 1).ids.tolist() == fresh.columns(every, where, 1).ids.tolist()
        assert not filled.vector_rows(ALICE, ids(*gone))[1].any()
        assert filled.get(gone) == []
        assert filled.size() == fresh.size()
        assert filled.pending(ALICE, ALL) == fresh.pending(ALICE, ALL)
        assert filled.delete(gone) == 0

    def test_conditions_narrow_before_the_best_are_chosen(self, index: SemanticIndex) -> None:
        allowed = make_record(200, "a cat among many other words", category="task")
        store(index, *(make_record(number, "cat cat cat") for number in range(1, 200)), allowed)
        vector = unit(np.eye(DIM)[0])
        vectors = {b"near": vector, b"far": unit(np.eye(DIM)[0] + 3 * np.eye(DIM)[1])}
        index.put_vectors(EMBEDDER, {**dict.fromkeys(range(1, 200), b"near"), 200: b"far"}, vectors)
        where = Where(ALICE, categories=frozenset({"task"}))
        assert index.search(vector, where, 1).ids.tolist() == [200]
        assert index.search(["cat"], where, 1).ids.tolist() == [200]

    @pytest.mark.parametrize("field", LEFT)
    def test_a_condition_allows_these_records_only(self, index: SemanticIndex, field: str) -> None:
        """Also as neighbours in the segment of a record, whether that one is allowed or not."""
        records, values = LEFT[field]
        self._fill_alike(index, records)
        assert index.get([record.id for record in records]) == records
        for value, left in values:
            where = Where(ALICE, **{field: value})
            assert self._matches(index, where) == left, where
            around = index.columns(ids(2), where, 1).ids.tolist()
            near = [one.id for one in records if one.segment == records[1].segment and one.ordinal <= 2]  # noqa: PLR2004
            assert around == [number for number in near if number in left], where

    def test_owners_and_names_are_kept_apart(self, index: SemanticIndex) -> None:
        """Names may hold any characters."""
        spaces = [Scope(space="x"), Scope(tenant="x"), Scope(tenant="acme", space="x")]
        owners = [*((owner, "x") for owner in spaces), *((Scope(user=name), name) for name in ("x", *NAMES))]
        for number, (owner, name) in enumerate(owners, start=1):
            for place, text, value in ((number, name, name), (1000 + number, f"{name}x", "x")):
                scope, metadata = replace(owner, session=text), {name: value}
                self._fill_alike(index, [make_record(place, "cat", scope=scope, category=text, metadata=metadata)])
        for number, (owner, name) in enumerate(owners, start=1):
            narrow = Where(replace(owner, session=name), categories=frozenset({name}), metadata={name: name})
            for where in (narrow, Where(owner, fresh={f"{name}x": START + timedelta(days=1)})):
                assert self._matches(index, where) == [number], name
            tails = index.tails(owner, [name, f"{name}x", "none"])
            assert {session: record.id for session, record in tails.items()} == {
                name: number,
                f"{name}x": 1000 + number,
            }
            assert index.get([number])[0].scope == replace(owner, session=name)
            assert index.status(owner).applied == 1000 + number

    def _fill_alike(self, index: SemanticIndex, records: list[Record]) -> None:
        store(index, *records)
        index.put_vectors(EMBEDDER, {record.id: b"one" for record in records}, {b"one": ONES})

    def _matches(self, index: SemanticIndex, where: Where) -> list[int]:
        """The ids found by text, by vector, by time, and among all."""
        words = sorted(index.search(["cat"], where, ALL).ids.tolist())
        assert sorted(index.search(ONES, where, ALL).ids.tolist()) == words
        assert sorted(index.latest(where, ALL).tolist()) == words
        assert index.columns(ids(*range(1, 1100)), where, 0).ids.tolist() == words
        return words

    def _assert_empty(self, index: SemanticIndex) -> None:
        assert self._matches(index, Where(ALICE)) == []
        assert not index.vector_rows(ALICE, ids(1, 2))[1].any()
        size = index.size()
        assert (size.records, size.vectors, size.pending) == (0, 0, 0)
        assert index.status(ALICE, sums=True).vectors == index.status(ALICE).applied == index.status(BOB).applied == 0
        assert index.embedder() is None

    def test_threads_search_while_another_writes_and_deletes(self, index: SemanticIndex) -> None:
        last = 28

        def write() -> None:
            for number in range(1, last + 1):
                store(index, make_record(number, "cat"))
                key = b"key-%d" % number
                index.put_vectors(EMBEDDER, {number: key}, {key: unit(ONES + number * np.eye(DIM)[0])})
                if number % 7 == 0:
                    index.delete([number - 3])

        def check() -> None:
            for query in (ONES, ["cat"]):
                found = index.search(query, Where(ALICE), ALL)
                assert len(set(found.ids.tolist())) == len(found.ids)
                assert (np.diff(found.scores) <= 0).all()

        check_during(check, write, readers=3)
        assert len(self._matches(index, Where(ALICE))) == last - last // 7
