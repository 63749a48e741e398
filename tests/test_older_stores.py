"""A store that an older version wrote opens, answers as it did, keeps its handles, and can be written on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridMemory, Origin, RecordKind
from hybrid_memory.documents import items
from tests.data import store_0_9_0
from tests.doubles import texts


@pytest.fixture
def older(tmp_path: Path) -> Iterator[HybridMemory]:
    """A copy of the store that 0.9.0 wrote, opened by the code of today."""
    shutil.copyfile(store_0_9_0.STORE, tmp_path / "older.db")
    with store_0_9_0.opened(tmp_path / "older.db") as memory:
        yield memory


def recorded() -> dict[str, Any]:
    answers: dict[str, Any] = json.loads(store_0_9_0.ANSWERS.read_text(encoding="utf-8"))
    return answers


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def assert_found(now: dict[str, Any], then: dict[str, Any]) -> None:
    """What answered still does; where a fact did, it may be the turn that it was read from."""
    assert now["recalled"].keys() == then["recalled"].keys()
    for question, hits in then["recalled"].items():
        for (_, text, sources), (_, before, read_from) in zip(now["recalled"][question], hits, strict=True):
            assert text in {before, *then["opened"][question]}, question
            assert sources == read_from, question


def assert_known(now: dict[str, Any], then: dict[str, Any]) -> None:
    """Each value that rules of earlier versions cut out is at least in the sentence that is known of its turn."""
    for _, _, value, _, _, positions in then["facts"]:
        assert [fact for fact in now["facts"] if value in fact[2] and fact[5] == positions], value


def unlearned(answers: dict[str, Any]) -> dict[str, Any]:
    """The answers without what is made of the turns again."""
    said = [event for event in answers["events"] if event[2] != "claim"]
    return answers | {"recalled": (), "facts": (), "profile": (), "events": said}


def test_a_store_of_0_9_0_answers_as_it_did(older: HybridMemory) -> None:
    expected, now = recorded(), as_json(store_0_9_0.answers(older, items))
    assert now.keys() == expected.keys()
    for name, shown in expected.items():
        if name in store_0_9_0.QUESTIONS:
            assert_found(now[name], shown)
            assert_known(now[name], shown)
            assert unlearned(now[name]) == unlearned(shown), name
        else:
            assert now[name] == shown, name
    assert now["yard"]["profile"]["home"] == ["Porto"]


def test_a_store_of_0_9_0_answers_as_it_did_when_its_index_is_derived_again(older: HybridMemory) -> None:
    older.flush()
    before = older.stats()
    older.rebuild()
    after = older.stats()
    assert (after.records, after.vectors, after.unindexed) == (before.records, before.vectors, 0)
    expected, now = recorded(), as_json(store_0_9_0.answers(older, items))
    for name in store_0_9_0.QUESTIONS:
        assert_found(now[name], expected[name])
        assert_known(now[name], expected[name])
        assert unlearned(now[name]) == unlearned(expected[name])


def test_a_store_of_0_9_0_learns_whose_words_it_holds(older: HybridMemory) -> None:
    """At the first opening, and the same again when its index is derived anew."""

    def origins() -> list[tuple[int, RecordKind, Origin]]:
        return [
            (record.id, record.kind, record.origin)
            for owner in sorted(older.owners(), key=str)
            for record in older.for_scope(owner).records(range(1, older.heads()[owner] + 1))
        ]

    older.flush()
    before = origins()
    turns, facts = ({one for _, of, one in before if of is kind} for kind in (RecordKind.TURN, RecordKind.FACT))
    assert turns == {"user", "assistant", "tool", "person"}
    assert not facts, "a statement is found by its turn"
    older.rebuild()
    assert origins() == before


def test_life_goes_on_in_a_store_of_0_9_0(older: HybridMemory) -> None:
    people = store_0_9_0.people(older)
    marta, noor = people["boat"], people["noor"]
    assert marta.remember("Noted.", role="assistant", id="marta-1-answer").positions[0] > 0
    assert marta.remember(marta.history()[0]).duplicates == ("marta-1",)
    marta.remember("I live in Faro now.")
    marta.learn()
    assert marta.profile().sources["home"][0].value == "Faro"
    old = {line.handle for line in noor.summary()}
    assert old
    noor.compact(keep=2)
    assert all(noor.expand(handle) for handle in old), "handles in prompts of the older version still lead somewhere"
    words = noor.history()[-1].text
    noor.forget(query=words)
    assert words not in texts(noor.history())
