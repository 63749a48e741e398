"""The profile in a prompt: whose it is, and when it is renewed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hybrid_memory import HybridMemory, MemoryConfig, Message, Role, ScopedMemory, open_memory
from hybrid_memory.context.session import load
from hybrid_memory.facts.portrait import portrait
from hybrid_memory.runtime.runners import INLINE, drive
from hybrid_memory.text.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START = datetime(2024, 5, 1, 9, tzinfo=UTC)


def opened(url: str = "memory://") -> HybridMemory:
    settings: dict[str, Any] = {"embedder": "none", "power_safe": False, "learning": {"background": False}}
    return open_memory(MemoryConfig(url=url, **settings), token_counter=estimate_tokens)


@pytest.fixture
def memory() -> Iterator[HybridMemory]:
    with opened() as store:
        yield store


def shown(handle: ScopedMemory, max_tokens: int = 200) -> str:
    """What a prompt of this session shows."""
    services = handle._services
    session = drive(load(INLINE, services, handle.scope))
    return drive(portrait(INLINE, services, handle.scope, session.state.cursor, max_tokens))


def test_it_is_that_from_before_the_session_and_has_no_heading(memory: HybridMemory) -> None:
    memory.scoped(user="mei", session="monday").remember("I work as a nurse.")
    today = memory.scoped(user="mei", session="tuesday")
    assert shown(today) == "profession: nurse", "nothing was said yet"
    today.remember("Hello! I love jazz.")
    assert shown(today) == "profession: nurse", "the session's own words stand in its turns"
    assert not shown(memory.scoped(user="lin", session="monday"))


def test_what_another_session_tells_is_there_at_the_next_turn(memory: HybridMemory) -> None:
    laptop, phone = (memory.scoped(user="mei", session=name) for name in ("laptop", "phone"))
    laptop.remember("Hello!")
    assert not shown(laptop)
    phone.remember("I'm allergic to nuts.")
    assert shown(laptop) == "allergies and needs: allergic to nuts"
    phone.remember("我女儿叫米娅。")
    assert "孩子米娅" in shown(laptop)
    assert not shown(phone), "its own words stand in its turns"


@pytest.mark.parametrize(
    ("before", "after", "was", "then"),
    [
        ("I love sushi.", "I don't like sushi any more.", "likes: sushi", ""),
        ("我喜欢寿司。", "我不再喜欢寿司了。", "喜欢：寿司", ""),
        ("I live in Paris.", "I moved to Berlin.", "lives in: Paris", "lives in: Berlin"),
        ("我住在杭州。", "我搬到北京了。", "住在：杭州", "住在：北京"),
        ("I love coriander.", "I hate coriander.", "likes: coriander", "dislikes or avoids: coriander"),
        ("I want to learn Dutch.", "I no longer want to learn Dutch.", "goals: learn Dutch", ""),
    ],
)
def test_what_is_no_longer_so_goes_at_once(memory: HybridMemory, before: str, after: str, was: str, then: str) -> None:
    memory.scoped(user="mei", session="monday").remember(before, at=START)
    today = memory.scoped(user="mei", session="tuesday")
    today.remember("Hello!", at=START + timedelta(days=1))
    assert shown(today) == was
    today.remember(after, at=START + timedelta(days=1, hours=1))
    assert shown(today) == then


def test_what_was_corrected_goes_at_once(memory: HybridMemory) -> None:
    memory.scoped(user="mei", session="monday").remember("I'm allergic to peanuts.", at=START)
    today = memory.scoped(user="mei", session="tuesday")
    today.remember("Hello!", at=START + timedelta(days=1))
    assert "peanuts" in shown(today)
    today.remember("I'm not allergic to peanuts.", at=START + timedelta(days=1))
    assert not shown(today)


def test_what_lapses_after_a_renewal_renews_it_again(memory: HybridMemory) -> None:
    today = memory.scoped(user="mei", session="today")
    memory.scoped(user="mei", session="before").remember("I live in Paris.", at=START)
    for day, (said, home) in enumerate([("Hi!", "Paris"), ("I moved to Rome.", "Rome"), ("I moved to Oslo.", "Oslo")]):
        today.remember(said, at=START + timedelta(days=day + 1))
        assert shown(today) == f"lives in: {home}"


def test_only_what_the_profile_shows_renews_it(memory: HybridMemory) -> None:
    memory.scoped(user="mei", session="monday").remember(["I work as a nurse.", "I need to renew my passport."])
    today = memory.scoped(user="mei", session="tuesday")
    today.remember("Hello! I love jazz.")
    before = shown(today)
    today.remember("I renewed my passport.")
    assert [fact.state.value for fact in today.facts(attribute="todo", history=True)] == ["done"]
    assert shown(today) == before == "profession: nurse"


def test_an_erasure_is_seen_at_once(memory: HybridMemory) -> None:
    _, jazz = memory.scoped(user="mei", session="monday").remember(["I work as a nurse.", "I love jazz."]).ids
    today = memory.scoped(user="mei", session="tuesday")
    today.remember("Hello! I live in Ghent.")
    assert "jazz" in shown(today)
    today.forget(ids=jazz)
    assert shown(today) == "lives in: Ghent\nprofession: nurse"


def test_a_rollback_is_seen_at_once(memory: HybridMemory) -> None:
    monday = memory.scoped(user="mei", session="monday")
    place = monday.remember("I work as a nurse.").positions[0]
    monday.remember("I work as a pilot now.")
    today = memory.scoped(user="mei", session="tuesday")
    assert shown(today) == "profession: pilot"
    today.rollback(place)
    assert shown(today) == "profession: nurse"


def test_another_process_shows_the_same(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    with opened(url) as one, opened(url) as other:
        mine = one.scoped(user="mei", session="today")
        mine.remember("Hello! I love jazz.")
        other.scoped(user="mei", session="there").remember("I live in Paris.")
        text = shown(mine)
        assert text == shown(other.scoped(user="mei", session="today")) == "lives in: Paris\nlikes: jazz"


def named(name: str | None, *said: str) -> list[Message]:
    return [Message(role=Role.USER, name=name, content=text) for text in said]


def test_the_one_name_of_the_users_turns_is_the_user(memory: HybridMemory) -> None:
    mei = memory.scoped(user="u-17", session="monday")
    mei.remember(named("Mei", "I'm allergic to nuts.", "My sister Nora is a nurse.", "I live in Ghent."))
    mei.remember(Message(role=Role.ASSISTANT, name="Helper", content="I live in Rome."))
    assert mei.profile().needs == ["allergic to nuts"]
    assert mei.profile().home == "Ghent"
    assert {fact.subject for fact in mei.facts()} >= {"Mei", "Nora"}, "facts stay as they are"
    assert "nuts" in shown(memory.scoped(user="u-17", session="tuesday"))


@pytest.mark.parametrize("other", ["Tom", None])
def test_of_several_names_only_the_users_id_is_the_user(memory: HybridMemory, other: str | None) -> None:
    for user, needs in (("u-17", []), ("MEI", ["allergic to nuts"])):
        group = memory.scoped(user=user, session="group")
        group.remember(named("Mei", "I'm allergic to nuts.", "I love jazz.", "I live in Paris."))
        group.remember(named(other, "I work as a nurse."))
        known = group.profile()
        assert known.needs == needs
        assert known.profession == (None if other else "nurse")
        assert group.profile(names=["Mei"]).needs == ["allergic to nuts"]
