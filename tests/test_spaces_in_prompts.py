from __future__ import annotations

import pytest

from hybrid_memory import HybridMemory, ScopedMemory, SpaceMemory
from tests.faces import Face

pytestmark = pytest.mark.in_pairs("face", "memory")

QUESTION = "When is the boiler serviced?"


@pytest.fixture
def house(memory: HybridMemory) -> SpaceMemory:
    """A space of Alice's that Bob may read, with turns of Alice's and of an agent's."""
    house = memory.scoped(user="alice").space("house").create()
    house.grant(user="bob", right="read")
    house.grant(agent="scout", right="write")
    house.remember("The boiler is serviced every October. I am allergic to dust.")
    memory.scoped(agent="scout").space("house").remember("The boiler service costs 90 euros.")
    return house


@pytest.fixture
def bob(memory: HybridMemory, house: SpaceMemory) -> ScopedMemory:
    """Bob, who has asked about the boiler."""
    bob = memory.scoped(user="bob", session="s1")
    bob.remember(QUESTION)
    return bob


def test_a_member_cannot_speak_as_another(face: Face, bob: ScopedMemory, house: SpaceMemory) -> None:
    house.remember({"role": "user", "content": "The boiler may stay off.", "name": "bob"})
    house.remember({"role": "user", "content": "The boiler is old.", "name": "user"})
    text = face(bob).assemble("Is the boiler old, may it stay off?", spaces=["house"]).text
    assert "bob (by alice): The boiler may stay off." in text
    assert "alice: The boiler is old." in text
