"""The part of the semantic index contract about writing: positions, pending records, vectors, deletion, reset."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from hybrid_memory.errors import EmbedderMismatchError, MemoryClosedError
from hybrid_memory.index.port import SemanticIndex, Use
from hybrid_memory.index.record import Record, RecordKind, Where
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
    store,
    unit,
)

A, B = unit(np.eye(DIM)[0]), unit(np.eye(DIM)[1])


class IndexWritingContract:
    """The tests of `SemanticIndexContract` that are not about search; subclass that class instead."""

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

    def test_the_applied_position_has_an_anchor_and_may_move_back(self, index: SemanticIndex) -> None:
        """As after a log was restored from a backup."""
        assert index.status(ALICE).anchor == ""
        assert index.upsert(ALICE, [], after=0, upto=9, anchor="0123456789abcdef")
        assert index.status(ALICE).anchor == "0123456789abcdef"
        assert not index.upsert(ALICE, [], after=8, upto=10, anchor="late")
        assert index.upsert(ALICE, [], after=9, upto=4, anchor="back")
        assert (index.status(ALICE).applied, index.status(ALICE).anchor) == (4, "back")
        assert index.status(BOB).anchor == ""
        assert index.upsert(ALICE, [], after=4, upto=5)
        assert index.status(ALICE).anchor == ""

    def test_the_position_moves_only_from_the_anchor_that_was_seen(self, index: SemanticIndex) -> None:
        """Together with it, or not at all, the owner's records that vanished from the log are removed."""
        store(index, make_record(1, "first"), make_record(2, "second"), upto=2)
        store(index, make_record(3, "others", scope=BOB), upto=3)
        index.put_vectors(EMBEDDER, {1: b"one", 2: b"two"}, {b"one": A, b"two": B})
        assert index.upsert(ALICE, [], after=2, seen="", upto=2, anchor="seen")
        for seen in ("", "other"):
            assert not index.upsert(ALICE, [], after=2, seen=seen, upto=1, gone=[2])
        assert (index.status(ALICE).anchor, index.size().records) == ("seen", 3)
        assert index.upsert(ALICE, [], after=2, seen="seen", upto=1, anchor="back", gone=[2, 3, 99])
        assert (index.status(ALICE).applied, index.status(ALICE).anchor) == (1, "back")
        assert numbers_of(index.get([1, 2, 3])) == [1, 3]
        assert index.matching(["second"], Where(ALICE), 5).ids.tolist() == []
        assert index.status(ALICE, sums=True).vectors == 1
        assert index.upsert(ALICE, [entry_of(make_record(2, "anew"))], after=1, seen="back", upto=2, anchor="on")
        assert [record.text for record in index.get([2])] == ["anew"]

    def test_a_record_takes_the_place_of_one_with_its_id(self, index: SemanticIndex) -> None:
        """Also of somebody else's."""
        store(index, make_record(1, "older"), make_record(2, "others"))
        store(index, make_record(1, "old words"), upto=3)
        assert index.get([1])[0].text == "old words"
        assert index.matching(["older"], Where(ALICE), 5).ids.tolist() == []
        assert index.matching(["old"], Where(ALICE), 5).ids.tolist() == [1]
        index.put_vectors(EMBEDDER, {1: b"old", 2: b"other"}, {b"old": A, b"other": B})
        store(index, make_record(1, "new text", scope=BOB))
        assert [(record.scope.owner, record.text) for record in index.get([1])] == [(BOB, "new text")]
        assert index.latest(Where(ALICE), 5).tolist() == index.search(A, Where(ALICE), 5).ids.tolist() == [2]
        assert index.matching(["old"], Where(ALICE), 5).ids.tolist() == []
        store(index, make_record(2, "anew"), upto=4)
        assert index.search(A, Where(ALICE), 5).ids.tolist() == [], "its vector was of the old words"
        assert numbers_of([record for record, _ in index.pending(ALICE, 5)]) == [2]
        assert numbers_of([record for record, _ in index.pending(BOB, 5)]) == [1]
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
        assert numbers_of(fetched()) == [2]

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
        assert numbers_of([record for record, _ in index.pending(BOB, 9)]) == [5]
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
        assert numbers_of([record for record, _ in index.pending(ALICE, 5)]) == [4]

    def test_vectors_of_another_embedder_are_refused(self, index: SemanticIndex) -> None:
        store(index, make_record(1), make_record(2))
        index.put_vectors(EMBEDDER, {1: b"a"}, {b"a": A})
        for other in (("another", DIM), (EMBEDDER[0], 2 * DIM)):
            with pytest.raises(EmbedderMismatchError):
                index.put_vectors(other, {2: b"x"}, {b"x": unit(np.ones(other[1]))})
        assert index.embedder() == EMBEDDER
        assert index.known([b"x"]) == {}
        assert numbers_of([record for record, _ in index.pending(ALICE, 5)]) == [2]

    def test_deleting_spares_a_vector_that_others_share(self, index: SemanticIndex) -> None:
        """An unshared vector is removed, and does not come back for a record that was deleted in the meantime."""
        store(index, *(make_record(number) for number in (1, 2, 3, 4)))
        index.put_vectors(EMBEDDER, {1: b"shared", 2: b"shared", 3: b"own"}, {b"shared": A, b"own": B})
        assert index.delete([1, 3, 4]) == 3  # noqa: PLR2004 - all were there
        index.put_vectors(EMBEDDER, {4: b"late"}, {b"late": B})
        assert index.search(A, Where(ALICE), 5).ids.tolist() == [2]
        assert set(index.known([b"shared", b"own", b"late"])) == {b"shared"}
        assert index.size().vectors == 1

    def test_a_deleted_id_can_be_stored_again(self, index: SemanticIndex) -> None:
        store(index, make_record(1, "old"), make_record(5, "later"))
        index.put_vectors(EMBEDDER, {1: b"a"}, {b"a": A})
        assert index.search(A, Where(ALICE), 5).ids.tolist() == [1]
        index.delete([1])
        assert index.columns(ids(1, 5), Where(ALICE), 0).ids.tolist() == [5]
        store(index, make_record(1, "new"), upto=6)
        assert index.columns(ids(1, 5), Where(ALICE), 0).ids.tolist() == [1, 5]
        index.put_vectors(EMBEDDER, {1: b"b"}, {b"b": B})
        assert index.matching(["old"], Where(ALICE), 5).ids.tolist() == []
        assert index.search(B, Where(ALICE), 5).scores.tolist() == pytest.approx([1])

    def test_reset_drops_everything_derived(self, index: SemanticIndex) -> None:
        corpus = random_corpus(7, size=40)
        corpus.fill(index)
        index.delete(None)
        size = index.size()
        assert (size.records, size.vectors, size.pending) == (0, 0, 0)
        assert index.embedder() is None
        assert index.status(ALICE).applied == index.status(BOB).applied == 0
        assert index.get([1, 2, 3]) == []
        assert index.known(list(corpus.vectors)) == {}
        assert index.matching(["berlin"], Where(ALICE), 5).ids.tolist() == []
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
        index.close()
        index.close()
        where = Where(ALICE)
        for call in (
            lambda: index.status(ALICE, sessions=["s1"], pending=1, sums=True),
            lambda: index.upsert(ALICE, [], after=0, upto=1),
            lambda: index.put_vectors(EMBEDDER, {}, {}),
            lambda: index.search(A, where, 1),
            lambda: index.search(["cat"], where, 1),
            lambda: index.search(None, where, 1),
            lambda: index.columns(ids(1), where, 1),
            lambda: index.get([1]),
            lambda: index.vectors([1], ALICE),
            lambda: index.vectors([b"key-1"]),
            lambda: index.terms(ALICE, ["cat"]),
            lambda: index.delete([1]),
            lambda: index.delete(None),
            index.scrub,
        ):
            with pytest.raises(MemoryClosedError):
                call()
