"""Wrong arguments of the verbs of a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from hybrid_memory import Host, ScopedMemory
from hybrid_memory.errors import InvalidInputError
from tests.conversation.conftest import SessionWith, rounds
from tests.faces import Face


def events(handle: ScopedMemory) -> int:
    return len(handle._runtime.services.log.read(handle.scope))


BAD: list[tuple[str, dict[str, Any]]] = [
    ("assemble", {"query": ""}),
    ("assemble", {"query": 3}),
    ("assemble", {"max_tokens": 10}),
    ("assemble", {"max_tokens": "many"}),
    ("assemble", {"k": -1}),
    ("assemble", {"layout": "wild"}),
    ("assemble", {"identity": None}),
    ("assemble", {"instructions": "\ud800"}),
    ("assemble", {"blocks": {"a": 1}}),
    ("assemble", {"blocks": ["a"]}),
    ("assemble", {"tools": 5}),
    ("assemble", {"tools": [{"a": {1}}]}),
    ("assemble", {"tools": ["look_up"]}),
    ("assemble", {"reader": 5}),
    ("assemble", {"reader": " "}),
    ("assemble", {"host": Host(began=5)}),  # type: ignore[arg-type]
    ("assemble", {"host": "s1"}),
    ("assemble", {"host": Host(beside=["s"])}),  # type: ignore[arg-type]
    ("compact", {"strategy": "magic"}),
    ("compact", {"strategy": 5}),
    ("compact", {"keep": 0}),
    ("compact", {"keep": "all"}),
    ("conversation", {"limit": -1}),
    ("reset", {"keep": 5}),
    ("reset", {"keep": "m1"}),
    ("reset", {"keep": ["unknown"]}),
    ("expand", {"what": None}),
    ("expand", {"what": ""}),
    ("expand", {"what": "#999"}),
    ("expand", {"what": "#2-1"}),
    ("fetch", {"result_id": "#999"}),
    ("fetch", {"result_id": 5}),
    ("fetch", {"result_id": "#1", "where": (1,)}),
    ("fetch", {"result_id": "#1", "where": 1.5}),
    ("fetch", {"result_id": "#1", "where": "9999-"}),
    ("fetch", {"result_id": "#1", "max_chars": 0}),
    ("fetch", {"result_id": "#1", "max_chars": "x"}),
    ("grep", {"result_id": "#1", "pattern": "("}),
    ("grep", {"result_id": "#1", "pattern": None}),
    ("grep", {"result_id": "#1", "pattern": "x", "context": "a"}),
    ("offload", {"text": ""}),
    ("offload", {"text": "\ud800"}),
    ("offload", {"text": "abc", "max_tokens": "x"}),
    ("offload", {"text": "abc", "max_tokens": -1}),
]


@pytest.mark.parametrize(("verb", "arguments"), BAD, ids=lambda part: str(part)[:40])
def test_bad_arguments_change_nothing(
    face: Face, session_with: SessionWith, verb: str, arguments: dict[str, Any]
) -> None:
    alice = session_with()
    face(alice).remember(rounds(0, 8))
    before = events(alice)
    with pytest.raises(InvalidInputError):
        getattr(face(alice), verb)(**arguments)
    assert events(alice) == before
