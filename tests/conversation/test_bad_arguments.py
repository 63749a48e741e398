"""Wrong arguments of the verbs of a conversation."""

from __future__ import annotations

from typing import Any, cast

import pytest

from hybrid_memory import Host, ScopedMemory
from hybrid_memory.errors import InvalidInputError
from tests.conversation.conftest import SessionWith, rounds
from tests.faces import Face


def events(handle: ScopedMemory) -> int:
    return len(handle._runtime.services.log.read(handle.scope))


BAD: dict[str, list[dict[str, Any]]] = {
    "assemble": [
        {"query": ""}, {"query": 3}, {"max_tokens": 10}, {"max_tokens": "many"}, {"k": -1}, {"layout": "wild"},
        {"identity": None}, {"instructions": "\ud800"}, {"blocks": {"a": 1}}, {"blocks": ["a"]}, {"tools": 5},
        {"tools": [{"a": {1}}]}, {"tools": ["look_up"]}, {"reader": 5}, {"reader": " "}, {"host": "s1"},
        {"host": Host(**cast("Any", {"began": 5}))}, {"host": Host(**cast("Any", {"beside": ["s"]}))},
    ],
    "compact": [{"strategy": "magic"}, {"strategy": 5}, {"keep": 0}, {"keep": "all"}],
    "history": [{"current": True, "limit": -1}],
    "reset": [{"keep": 5}, {"keep": "m1"}, {"keep": ["unknown"]}],
    "expand": [{"what": None}, {"what": ""}, {"what": "#999"}, {"what": "#2-1"}],
    "fetch": [
        {"result_id": "#999"}, {"result_id": 5},
        *({"result_id": "#1", "where": where} for where in ((1,), 1.5, "9999-")),
        *({"result_id": "#1", "max_chars": most} for most in (0, "x")),
        {"result_id": "#1", "pattern": "("}, {"result_id": "#1", "pattern": "x", "where": "1-2"},
        {"result_id": "#1", "pattern": "x", "context": "a"},
    ],
    "offload": [
        {"text": ""}, {"text": "\ud800"}, {"text": "abc", "max_tokens": "x"}, {"text": "abc", "max_tokens": -1},
    ],
}  # fmt: skip
CASES = [(verb, arguments) for verb, several in BAD.items() for arguments in several]


@pytest.mark.parametrize(("verb", "arguments"), CASES, ids=lambda part: str(part)[:40])
def test_they_change_nothing(face: Face, session_with: SessionWith, verb: str, arguments: dict[str, Any]) -> None:
    alice = session_with()
    face(alice).remember(rounds(0, 8))
    before = events(alice)
    with pytest.raises(InvalidInputError):
        getattr(face(alice), verb)(**arguments)
    assert events(alice) == before
