"""What every semantic index must do when it is searched, beyond agreeing with the in-memory engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest

from hybrid_memory.errors import MemoryClosedError
from hybrid_memory.index.record import Record, RecordKind, Where
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.scope import Scope
from hybrid_memory.testing.corpus import (
    ALICE,
    BOB,
    DIM,
    EMBEDDER,
    METADATA,
    STRANGER,
    TOLERANCE,
    entry_of,
    ids,
    make_record,
    random_corpus,
    unit,
)

ALL = 10_000
"""More than any corpus here holds."""


class IndexSearchContract:
    """The part of `SemanticIndexContract` that needs no oracle; subclass that."""

    def test_metadata_values_are_kept_apart_by_type(self, index: SemanticIndex) -> None:
        """True is not 1, "1" is not 1, and a stored null is not a missing key."""
        entries = [
            entry_of(make_record(number, "words", metadata={"value": value}))
            for number, value in enumerate(METADATA, start=1)
        ]
        entries += [entry_of(make_record(100, "words")), entry_of(make_record(101, "words", metadata={"value": [1]}))]
        index.upsert(ALICE, entries, after=0, upto=101)
        key, vector = b"one", unit(np.ones(DIM))
        index.put_vectors(EMBEDDER, {entry.record.id: key for entry in entries}, {key: vector})
        for number, value in enumerate(METADATA, start=1):
            where = Where(ALICE, metadata={"value": value})
            assert index.nearest(vector, where, ALL).ids.tolist() == [number], value
            assert index.matching(["word"], where, ALL).ids.tolist() == [number], value

    def test_conditions_narrow_before_the_best_are_chosen(self, index: SemanticIndex) -> None:
        """The one allowed record is found, however many better ones there are."""
        better = [entry_of(make_record(number, "cat cat cat")) for number in range(1, 200)]
        allowed = entry_of(make_record(200, "a cat among many other words", category="task"))
        index.upsert(ALICE, [*better, allowed], after=0, upto=200)
        vector = unit(np.eye(DIM)[0])
        vectors = {b"near": vector, b"far": unit(np.eye(DIM)[0] + 3 * np.eye(DIM)[1])}
        index.put_vectors(EMBEDDER, {**dict.fromkeys(range(1, 200), b"near"), 200: b"far"}, vectors)
        where = Where(ALICE, categories=frozenset({"task"}))
        assert index.nearest(vector, where, 1).ids.tolist() == [200]
        assert index.matching(["cat"], where, 1).ids.tolist() == [200]

    def test_hidden_turns_take_along_what_came_from_them(self, index: SemanticIndex) -> None:
        """A fact goes by its turn, not by its own place in the log; the ends of a stretch belong to it."""
        turns = [make_record(number, "cat", segment=1, ordinal=number - 1) for number in range(1, 6)]
        facts = [make_record(5 + turn, "cat", kind=RecordKind.FACT, turn=turn) for turn in range(1, 6)]
        self._fill_alike(index, [*turns, *facts])
        for hidden, left in (
            ((), [*range(1, 11)]),
            (((2, 3),), [1, 4, 5, 6, 9, 10]),
            (((6, 10),), [*range(1, 11)]),
            (((5, 10), (1, 1), (4, 4)), [2, 3, 7, 8]),
            (((1, 3), (2, 2**62)), []),
        ):
            where = Where(ALICE, hidden=hidden)
            assert self._found(index, where) == left, hidden
            around = index.columns(ids(2, 10), where, 1).ids.tolist()
            assert around == [number for number in (1, 2, 3, 10) if number in left], hidden

    def test_freshness_is_asked_of_one_kind_or_category_only(self, index: SemanticIndex) -> None:
        """The instant itself is fresh; a record of a kind and a category must please both."""
        records = [
            make_record(1, "cat"),
            make_record(2, "cat"),
            make_record(3, "cat", kind=RecordKind.FACT, category="task"),
            make_record(4, "cat", kind=RecordKind.FACT, category="task"),
            make_record(5, "cat", kind=RecordKind.FACT),
        ]
        self._fill_alike(index, records)
        second, fourth = records[1].at, records[3].at
        for fresh, left in (
            ({"turn": second}, [2, 3, 4, 5]),
            ({"turn": second + timedelta(microseconds=1)}, [3, 4, 5]),
            ({"task": fourth}, [1, 2, 4, 5]),
            ({"fact": fourth, "task": fourth + timedelta(days=1)}, [1, 2, 5]),
            ({"no such": fourth}, [1, 2, 3, 4, 5]),
        ):
            where = Where(ALICE, fresh=fresh)
            assert self._found(index, where) == left, fresh
            assert index.columns(ids(*range(1, 6)), where, 0).ids.tolist() == left, fresh

    def test_a_space_is_an_owner_of_its_own(self, index: SemanticIndex) -> None:
        """Not the user of that name, nor the space of another tenant."""
        owners = [Scope(user="x"), Scope(space="x"), Scope(tenant="x"), Scope(tenant="acme", space="x")]
        vector = unit(np.ones(DIM))
        for number, owner in enumerate(owners, start=1):
            index.upsert(owner, [entry_of(make_record(number, "cat", scope=owner))], after=0, upto=number)
            index.put_vectors(EMBEDDER, {number: b"one"}, {b"one": vector})
        for number, owner in enumerate(owners, start=1):
            assert index.matching(["cat"], Where(owner), ALL).ids.tolist() == [number]
            assert index.nearest(vector, Where(owner), ALL).ids.tolist() == [number]
            assert index.columns(ids(1, 2, 3, 4), Where(owner), 1).ids.tolist() == [number]
            assert index.get([number])[0].scope == owner
            assert index.applied(owner) == number

    def _fill_alike(self, index: SemanticIndex, records: list[Record]) -> None:
        index.upsert(ALICE, [entry_of(record) for record in records], after=0, upto=records[-1].id)
        index.put_vectors(EMBEDDER, {record.id: b"one" for record in records}, {b"one": unit(np.ones(DIM))})

    def _found(self, index: SemanticIndex, where: Where) -> list[int]:
        """What words and vector both find."""
        words = sorted(index.matching(["cat"], where, ALL).ids.tolist())
        assert sorted(index.nearest(unit(np.ones(DIM)), where, ALL).ids.tolist()) == words
        return words

    def test_the_centroid_is_the_mean_of_the_vectors(self, index: SemanticIndex) -> None:
        """Of this owner's records, each counted."""
        corpus = random_corpus(4)
        corpus.fill(index)
        for owner in (ALICE, BOB):
            mine = [entry.record.id for entry in corpus.of(owner) if entry.record.id in corpus.keys]
            vectors = [corpus.vectors[corpus.keys[number]] for number in mine]
            centroid, count = index.centroid(owner)
            assert count == len(mine)
            np.testing.assert_allclose(centroid, np.mean(vectors, axis=0), atol=TOLERANCE)
        nobody, count = index.centroid(STRANGER)
        assert (nobody.shape, count) == ((0,), 0)

    def test_likeness_is_the_inner_product_of_each_pair(self, index: SemanticIndex) -> None:
        """Zero where one has no vector, is unknown, or is somebody else's."""
        corpus = random_corpus(4)
        corpus.fill(index)
        asked = [entry.record.id for entry in (*corpus.of(ALICE)[:20], *corpus.of(BOB)[:5])] + [10**12]
        mine = {entry.record.id for entry in corpus.of(ALICE)} & set(corpus.keys)
        nothing = np.zeros(DIM, dtype=np.float32)
        rows = np.stack([corpus.vectors[corpus.keys[n]] if n in mine else nothing for n in asked])
        np.testing.assert_allclose(index.likeness(ALICE, ids(*asked)), rows @ rows.T, atol=TOLERANCE)
        assert index.likeness(ALICE, ids()).shape == (0, 0)

    def test_an_empty_index_finds_nothing(self, index: SemanticIndex) -> None:
        """Before the first record and the first vector."""
        vector = unit(np.ones(DIM))
        assert index.nearest(vector, Where(ALICE), 5).ids.tolist() == []
        assert index.matching(["cat"], Where(ALICE), 5).ids.tolist() == []
        assert np.isnan(index.similar(vector, ALICE, ids(1, 2))).all()
        assert index.columns(ids(1, 2), Where(ALICE), 1).ids.tolist() == []
        assert index.centroid(ALICE)[1] == 0
        assert index.likeness(ALICE, ids(1, 2)).tolist() == [[0, 0], [0, 0]]
        assert index.embedder() is None

    def test_a_record_without_vector_is_found_by_its_words_only(self, index: SemanticIndex) -> None:
        """Until it gets its vector."""
        index.upsert(ALICE, [entry_of(make_record(1, "cat")), entry_of(make_record(2, "cat"))], after=0, upto=2)
        vector = unit(np.ones(DIM))
        index.put_vectors(EMBEDDER, {1: b"a"}, {b"a": vector})
        assert index.nearest(vector, Where(ALICE), 5).ids.tolist() == [1]
        assert sorted(index.matching(["cat"], Where(ALICE), 5).ids.tolist()) == [1, 2]
        index.put_vectors(EMBEDDER, {2: b"b"}, {b"b": -vector})
        assert index.nearest(vector, Where(ALICE), 5).ids.tolist() == [1, 2]

    def test_threads_search_while_another_writes_and_deletes(self, index: SemanticIndex) -> None:
        """Nothing is raised, and no answer holds a record twice or out of order."""
        vector, last = unit(np.ones(DIM)), 28

        def write() -> None:
            for number in range(1, last + 1):
                index.upsert(ALICE, [entry_of(make_record(number, "cat"))], after=number - 1, upto=number)
                key = b"key-%d" % number
                index.put_vectors(EMBEDDER, {number: key}, {key: unit(vector + number * np.eye(DIM)[0])})
                if number % 7 == 0:
                    index.delete([number - 3])

        with ThreadPoolExecutor(max_workers=4) as pool:
            writing = pool.submit(write)
            while not writing.done():
                for found in (
                    *pool.map(lambda _: index.nearest(vector, Where(ALICE), ALL), range(3)),
                    index.matching(["cat"], Where(ALICE), ALL),
                ):
                    assert len(set(found.ids.tolist())) == len(found.ids)
                    assert (np.diff(found.scores) <= 0).all()
            writing.result()
        left = last - last // 7
        assert len(index.nearest(vector, Where(ALICE), ALL).ids) == left
        assert len(index.matching(["cat"], Where(ALICE), ALL).ids) == left

    def test_after_close_every_call_says_so(self, index: SemanticIndex) -> None:
        """And closing again is harmless."""
        random_corpus(0, size=20).fill(index)
        index.close()
        index.close()
        vector, where = unit(np.ones(DIM)), Where(ALICE)
        for call in (
            lambda: index.applied(ALICE),
            lambda: index.tails(ALICE, ["s1"]),
            lambda: index.upsert(ALICE, [], after=0, upto=1),
            lambda: index.pending(ALICE, 1),
            lambda: index.known([b"key-1"]),
            index.embedder,
            lambda: index.put_vectors(EMBEDDER, {}, {}),
            lambda: index.nearest(vector, where, 1),
            lambda: index.matching(["cat"], where, 1),
            lambda: index.centroid(ALICE),
            lambda: index.likeness(ALICE, ids(1)),
            lambda: index.similar(vector, ALICE, ids(1)),
            lambda: index.columns(ids(1), where, 1),
            lambda: index.get([1]),
            lambda: index.delete([1]),
            index.reset,
            index.size,
        ):
            with pytest.raises(MemoryClosedError):
                call()
