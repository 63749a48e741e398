"""What is too long for a prompt stands in it as a digest, and can be read page by page."""

from __future__ import annotations

import pytest

from hybrid_memory import Role
from hybrid_memory.text.tokens import estimate_tokens
from tests.conversation.conftest import SessionWith, assistant, exchange
from tests.faces import Face

LONG = "\n".join(f"row {number:05d}: {number * 7919 % 10007} parts in store {number % 13}" for number in range(3100))


@pytest.mark.parametrize("reader", [None, "memory_fetch"])
def test_under_pressure_a_long_result_is_shortened(face: Face, session_with: SessionWith, reader: str | None) -> None:
    alice = session_with(max_tokens=2000)
    assert len(LONG) > 100_000
    face(alice).remember(["How many parts are there?", *exchange("c", LONG), assistant("Many.")])
    assert face(alice).assemble("And in store 3?", max_tokens=100_000).messages[2].text == LONG
    context = face(alice).assemble("And in store 3?", reader=reader)
    assert context.tokens <= 2000
    (result,) = [message for message in context.messages if message.role is Role.TOOL]
    (piece,) = [piece for piece in context.plan if piece.reason != "whole"]
    assert context.reader == (reader or "")
    if reader is None:
        assert set(result.text.splitlines()[1:3]) & set(LONG.splitlines())
        assert "#" not in result.text
    else:
        assert result.text.splitlines()[-1].startswith(f'read on: memory_fetch("{piece.handle}"')
    pages, where = [], None
    while True:
        page = face(alice).fetch(piece.handle, where, max_chars=9000)
        assert len(page.text) <= 9000
        pages.append(page.text)
        if (where := page.next) is None:
            break
    assert "".join(pages) == LONG
    found = face(alice).fetch(piece.handle, pattern=r"row 01234: \d+")
    assert (found.total_matches, found.text.split(": ", 1)[1]) == (1, LONG.splitlines()[1234])
    assert face(alice).expand(piece.handle)[0].text == LONG


def test_what_is_not_answered_yet_is_seen_whole_as_long_as_it_fits(face: Face, session_with: SessionWith) -> None:
    alice = session_with(max_tokens=3000)
    text = "\n".join(LONG.splitlines()[:150])
    face(alice).remember(["How many parts?", *exchange("c", text), assistant("Many."), *["And more?"]])
    face(alice).remember(exchange("d", text.replace("row", "line")))
    context = face(alice).assemble(reader="memory_fetch")
    assert context.messages[-1].text == text.replace("row", "line")
    assert context.messages[2].text != text
    assert context.tokens <= 3000


def test_the_scratchpad_is_no_part_of_the_conversation(face: Face, session_with: SessionWith) -> None:
    alice = session_with(embedder="hashing")
    face(alice).remember("Hello there.")
    put = face(alice).offload(LONG)
    assert put.result_id in put.digest
    assert estimate_tokens(put.digest) <= 200
    assert face(alice).fetch(put.result_id, "1-1").text == LONG.splitlines(keepends=True)[0]
    assert face(alice).fetch(put.result_id, pattern="row 03099").total_matches == 1
    assert [message.text for message in face(alice).history()] == ["Hello there."]
    assert face(alice).history(current=True) == face(alice).history()
    assert "parts in store" not in repr(face(alice).recall("parts in store 3", k=9))
    assert "parts in store" not in face(alice).assemble().text
