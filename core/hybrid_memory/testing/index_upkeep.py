"""What every semantic index must do to follow the log: applied positions, waiting records, vectors, reset."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from hybrid_memory.errors import EmbedderMismatchError
from hybrid_memory.index.port import Use
from hybrid_memory.index.record import RecordKind, Where
from hybrid_memory.index.semantic import SemanticIndex
from hybrid_memory.testing.corpus import (
    ALICE,
    BOB,
    DIM,
    EMBEDDER,
    START,
    STRANGER,
    entry_of,
    ids,
    make_record,
    numbers_of,
    random_corpus,
    unit,
)

A, B = unit(np.eye(DIM)[0]), unit(np.eye(DIM)[1])


class IndexUpkeepContract:
    """The part of `SemanticIndexContract` that is not about searching; subclass that."""

    def test_records_come_back_field_by_field(self, index: SemanticIndex) -> None:
        """Those that were never set, too."""
        plain = make_record(1, "plain", scope=ALICE)
        full = make_record(
            2,
            "full 全",
            category="task",
            speaker="Ann",
            importance=0.25,
            uses=3,
            last_used=START + timedelta(microseconds=1),
            valid_from=START,
            valid_to=START + timedelta(days=1),
            sources=("b", "a"),
            segment=1,
            ordinal=7,
            metadata={"nested": {"a": [None, True, 1, 1.5, "NUL \x00"]}},
            kind=RecordKind.FACT,
            turn=1,
            author="agent coach",
        )
        index.upsert(ALICE, [entry_of(plain), entry_of(full)], after=0, upto=2)
        assert index.get([2, 1]) == [full, plain]

    def test_get_keeps_the_order_and_leaves_unknown_ids_out(self, index: SemanticIndex) -> None:
        """An id asked for twice comes twice."""
        index.upsert(ALICE, [entry_of(make_record(number)) for number in (1, 2, 3)], after=0, upto=3)
        assert numbers_of(index.get([3, 99, 1, 3])) == [3, 1, 3]
        assert index.get([]) == []

    def test_upsert_moves_the_applied_position(self, index: SemanticIndex) -> None:
        """Of this owner only, also where events leave no record; a session does not matter."""
        assert index.applied(ALICE) == 0
        assert index.upsert(ALICE, [entry_of(make_record(2))], after=0, upto=5)
        assert index.upsert(ALICE, [], after=5, upto=9)
        assert index.applied(ALICE) == index.applied(replace(ALICE, session="s1")) == 9  # noqa: PLR2004 - as above
        assert index.applied(BOB) == 0

    def test_upsert_from_another_position_stores_nothing(self, index: SemanticIndex) -> None:
        """Somebody else was faster."""
        index.upsert(ALICE, [entry_of(make_record(1))], after=0, upto=1)
        for after in (0, 2):
            assert not index.upsert(ALICE, [entry_of(make_record(2, "late"))], after=after, upto=3)
        assert index.applied(ALICE) == 1
        assert index.size().records == 1
        assert index.matching(["late"], Where(ALICE), 5).ids.tolist() == []

    def test_upsert_replaces_a_record_that_is_there(self, index: SemanticIndex) -> None:
        """With its terms; it waits for a new vector."""
        index.upsert(ALICE, [entry_of(make_record(1, "old words"))], after=0, upto=1)
        index.put_vectors(EMBEDDER, {1: b"old"}, {b"old": A})
        index.upsert(ALICE, [entry_of(make_record(1, "new text"))], after=1, upto=2)
        assert index.get([1])[0].text == "new text"
        assert index.matching(["old"], Where(ALICE), 5).ids.tolist() == []
        assert index.matching(["new"], Where(ALICE), 5).ids.tolist() == [1]
        assert numbers_of([record for record, _ in index.pending(ALICE, 5)]) == [1]
        assert index.nearest(A, Where(ALICE), 5).ids.tolist() == []

    def test_uses_are_added_up(self, index: SemanticIndex) -> None:
        """Of records that are there, or come with them; the last use only moves on; nothing else changes."""
        index.upsert(ALICE, [entry_of(make_record(1)), entry_of(make_record(2))], after=0, upto=2)
        index.upsert(BOB, [entry_of(make_record(3, scope=BOB))], after=0, upto=3)
        index.put_vectors(EMBEDDER, {1: b"a"}, {b"a": A})
        first, later = START + timedelta(days=1), START + timedelta(days=2, microseconds=7)
        assert index.columns(ids(1, 2), Where(ALICE), 0).uses.tolist() == [0, 0]
        uses = {1: Use(2, later), 4: Use(1, first), 99: Use(1, first), 3: Use(5, first)}
        assert index.upsert(ALICE, [entry_of(make_record(4))], after=2, upto=4, uses=uses)
        assert not index.upsert(ALICE, [], after=2, upto=5, uses=uses), "from another position nothing is counted"
        assert index.upsert(ALICE, [], after=4, upto=6, uses={1: Use(1, first)})
        used, other, new = index.get([1, 3, 4])
        assert (used.uses, used.last_used) == (3, later)
        assert (other.uses, other.last_used) == (0, None), "the record of somebody else"
        assert (new.uses, new.last_used) == (1, first)
        places = index.columns(ids(1, 2, 4), Where(ALICE), 0)
        assert places.uses.tolist() == [3, 0, 1]
        assert places.last_used.tolist() == pytest.approx([later.timestamp(), 0, first.timestamp()], abs=1e-5)
        assert index.nearest(A, Where(ALICE), 5).ids.tolist() == [1], "a use takes no vector away"
        assert index.upsert(ALICE, [], after=6, upto=7, uses={2: Use(1, later)})
        assert index.columns(ids(1, 2, 4), Where(ALICE), 0).uses.tolist() == [3, 1, 1]

    def test_of_eight_that_apply_the_same_events_one_wins(self, index: SemanticIndex) -> None:
        """Compare and set, under threads."""
        with ThreadPoolExecutor(max_workers=8) as pool:
            for number in range(1, 21):
                tries = [
                    pool.submit(index.upsert, ALICE, [entry_of(make_record(number))], after=number - 1, upto=number)
                    for _ in range(8)
                ]
                assert sum(job.result() for job in tries) == 1
        assert index.applied(ALICE) == index.size().records == 20  # noqa: PLR2004 - as many as rounds

    def test_tails_are_the_last_turns_of_the_sessions(self, index: SemanticIndex) -> None:
        """Without sessions that have none."""
        sessions = ["s1", None, "s2", "s1", None]
        records = [make_record(n, scope=replace(ALICE, session=name)) for n, name in enumerate(sessions, start=1)]
        index.upsert(ALICE, [entry_of(record) for record in records], after=0, upto=5)
        other = make_record(6, scope=replace(BOB, session="s1"))
        index.upsert(BOB, [entry_of(other)], after=0, upto=6)
        assert index.tails(ALICE, ["s1", None, "s3"]) == {"s1": records[3], None: records[4]}
        assert index.tails(BOB, ["s1", "s2"]) == {"s1": other}
        assert index.tails(ALICE, []) == index.tails(STRANGER, ["s1", None]) == {}

    def test_pending_records_come_oldest_first_with_the_one_before(self, index: SemanticIndex) -> None:
        """The one before it in its segment, whether that has a vector or not; of this owner only."""
        first, second = make_record(1, segment=1, ordinal=0), make_record(2, segment=1, ordinal=1)
        alone, third = make_record(3), make_record(4, segment=1, ordinal=2)
        index.upsert(ALICE, [entry_of(record) for record in (first, second, alone, third)], after=0, upto=4)
        index.upsert(BOB, [entry_of(make_record(5, scope=BOB))], after=0, upto=5)
        assert index.pending(ALICE, 9) == [(first, None), (second, first), (alone, None), (third, second)]
        assert index.pending(ALICE, 2) == [(first, None), (second, first)]
        index.put_vectors(EMBEDDER, {1: b"a", 3: b"a"}, {b"a": A})
        assert index.pending(ALICE, 9) == [(second, first), (third, second)]
        assert numbers_of([record for record, _ in index.pending(BOB, 9)]) == [5]
        assert index.pending(STRANGER, 9) == []

    def test_known_vectors_come_back_by_their_hash(self, index: SemanticIndex) -> None:
        """Unknown hashes are left out."""
        assert index.known([b"a"]) == {}
        index.upsert(ALICE, [entry_of(make_record(1)), entry_of(make_record(2))], after=0, upto=2)
        index.put_vectors(EMBEDDER, {1: b"a", 2: b"b"}, {b"a": A, b"b": B})
        known = index.known([b"b", b"no", b"a", b"b"])
        assert set(known) == {b"a", b"b"}
        np.testing.assert_array_equal(known[b"a"], A)
        np.testing.assert_array_equal(known[b"b"], B)
        assert known[b"a"].dtype == np.float32
        assert index.known([]) == {}

    def test_a_known_vector_need_not_be_given_again(self, index: SemanticIndex) -> None:
        """One text said twice is embedded once; the records of both are found."""
        index.upsert(ALICE, [entry_of(make_record(1)), entry_of(make_record(2))], after=0, upto=2)
        index.put_vectors(EMBEDDER, {1: b"a"}, {b"a": A})
        index.put_vectors(EMBEDDER, {2: b"a"}, {})
        assert sorted(index.nearest(A, Where(ALICE), 5).ids.tolist()) == [1, 2]
        assert index.size().vectors == 2  # noqa: PLR2004 - both records

    def test_a_record_whose_vector_is_unknown_goes_on_waiting(self, index: SemanticIndex) -> None:
        """Its vector may have been deleted between `known` and `put_vectors`."""
        index.upsert(ALICE, [entry_of(make_record(1))], after=0, upto=1)
        index.put_vectors(EMBEDDER, {1: b"gone"}, {})
        assert numbers_of([record for record, _ in index.pending(ALICE, 5)]) == [1]
        assert index.size().pending == 1

    def test_vectors_for_records_that_are_gone_are_ignored(self, index: SemanticIndex) -> None:
        """They were deleted while the embedder worked."""
        index.upsert(ALICE, [entry_of(make_record(1)), entry_of(make_record(2))], after=0, upto=2)
        index.delete([1])
        index.put_vectors(EMBEDDER, {1: b"a", 2: b"b"}, {b"a": A, b"b": B})
        assert index.nearest(A, Where(ALICE), 5).ids.tolist() == [2]
        assert index.size().vectors == 1
        assert set(index.known([b"a", b"b"])) == {b"b"}, "the vector of a deleted record came back"

    def test_vectors_of_another_embedder_are_refused(self, index: SemanticIndex) -> None:
        """By name or by width, and nothing changes."""
        index.upsert(ALICE, [entry_of(make_record(1)), entry_of(make_record(2))], after=0, upto=2)
        index.put_vectors(EMBEDDER, {1: b"a"}, {b"a": A})
        for other in (("another", DIM), (EMBEDDER[0], 2 * DIM)):
            with pytest.raises(EmbedderMismatchError):
                index.put_vectors(other, {2: b"x"}, {b"x": unit(np.ones(other[1]))})
        assert index.embedder() == EMBEDDER
        assert index.known([b"x"]) == {}
        assert numbers_of([record for record, _ in index.pending(ALICE, 5)]) == [2]

    def test_deleting_spares_a_vector_that_others_share(self, index: SemanticIndex) -> None:
        """But not one that nobody needs any more: what was forgotten must be gone."""
        index.upsert(ALICE, [entry_of(make_record(number)) for number in (1, 2, 3)], after=0, upto=3)
        index.put_vectors(EMBEDDER, {1: b"shared", 2: b"shared", 3: b"own"}, {b"shared": A, b"own": B})
        assert index.delete([1, 3]) == 2  # noqa: PLR2004 - both were there
        assert index.nearest(A, Where(ALICE), 5).ids.tolist() == [2]
        assert set(index.known([b"shared", b"own"])) == {b"shared"}

    def test_a_deleted_id_can_be_stored_again(self, index: SemanticIndex) -> None:
        """With other words and another vector."""
        index.upsert(ALICE, [entry_of(make_record(1, "old")), entry_of(make_record(5, "later"))], after=0, upto=5)
        index.put_vectors(EMBEDDER, {1: b"a"}, {b"a": A})
        assert index.nearest(A, Where(ALICE), 5).ids.tolist() == [1]
        index.delete([1])
        assert index.columns(ids(1, 5), Where(ALICE), 0).ids.tolist() == [5]
        index.upsert(ALICE, [entry_of(make_record(1, "new"))], after=5, upto=6)
        assert index.columns(ids(1, 5), Where(ALICE), 0).ids.tolist() == [1, 5]
        index.put_vectors(EMBEDDER, {1: b"b"}, {b"b": B})
        assert index.matching(["old"], Where(ALICE), 5).ids.tolist() == []
        assert index.nearest(B, Where(ALICE), 5).scores.tolist() == pytest.approx([1])

    def test_reset_drops_everything_derived(self, index: SemanticIndex) -> None:
        """The index takes any embedder then, of another width too."""
        corpus = random_corpus(7, size=40)
        corpus.fill(index)
        index.reset()
        size = index.size()
        assert (size.records, size.vectors, size.pending) == (0, 0, 0)
        assert index.embedder() is None
        assert index.applied(ALICE) == index.applied(BOB) == 0
        assert index.get([1, 2, 3]) == []
        assert index.known(list(corpus.vectors)) == {}
        assert index.matching(["berlin"], Where(ALICE), 5).ids.tolist() == []
        wide = unit(np.ones(2 * DIM))
        assert index.nearest(wide, Where(ALICE), 5).ids.tolist() == []
        index.upsert(ALICE, [entry_of(make_record(1))], after=0, upto=1)
        index.put_vectors(("wide", 2 * DIM), {1: b"wide"}, {b"wide": wide})
        assert index.nearest(wide, Where(ALICE), 5).ids.tolist() == [1]

    def test_size_counts_records_vectors_and_waiting_ones(self, index: SemanticIndex) -> None:
        """Over all owners."""
        index.upsert(ALICE, [entry_of(make_record(1)), entry_of(make_record(2))], after=0, upto=2)
        index.upsert(BOB, [entry_of(make_record(3, scope=BOB))], after=0, upto=3)
        index.put_vectors(EMBEDDER, {1: b"a", 3: b"a"}, {b"a": A})
        size = index.size()
        assert (size.records, size.vectors, size.pending) == (3, 2, 1)
