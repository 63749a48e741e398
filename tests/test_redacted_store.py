"""With redaction no stored byte of a secret is left, through whichever verb it came."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridMemory, Message
from hybrid_memory.adapters import PutItem
from tests.faces import Open

MAIL, CARD = "ann.quokka@example.org", "4111 1111 1111 1111"
SECRET = f"Write to {MAIL} or use {CARD}."


def file_block(memory: HybridMemory) -> None:
    file = {"filename": f"{MAIL}.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}
    memory.scoped(user="u").remember({"content": [{"type": "file", "file": file}, {"type": "text", "text": SECRET}]})


def question(memory: HybridMemory) -> None:
    alice = memory.scoped(user="u", session="s")
    alice.remember("The cat sleeps.")
    memory.scoped(user="u", session="t").assemble(f"The cat? {SECRET}")


def items(memory: HybridMemory) -> None:
    value = {"about": SECRET, "nested": [{"mail": MAIL}]}
    memory.items("agent").batch([PutItem(("people",), "ann", value, texts=(SECRET,))])


def quarantined(memory: HybridMemory) -> None:
    memory.scoped(user="u").space("team").create().grant(user="v", right="write", trust=0.1)
    memory.scoped(user="v").space("team").remember(SECRET)


WRITES: dict[str, Callable[[HybridMemory], Any]] = {
    "text": lambda memory: memory.scoped(user="u").remember(SECRET),
    "name": lambda memory: memory.scoped(user="u").remember({"content": "Hi", "name": MAIL}),
    "metadata": lambda memory: memory.scoped(user="u").remember("Hi", metadata={"mail": MAIL, "card": CARD}),
    "extra": lambda memory: memory.scoped(user="u").remember({"content": "Hi", "extra": {"raw": {"text": [SECRET]}}}),
    "call": lambda memory: memory.scoped(user="u").remember(
        {"role": "assistant", "tool_calls": [{"id": "1", "name": "send", "arguments": {"to": [MAIL]}}]}
    ),
    "file block": file_block,
    "offload": lambda memory: memory.scoped(user="u").offload(f"{SECRET} " * 30),
    "question": question,
    "item": items,
    "block": lambda memory: memory.scoped(user="u").block("notes").put(SECRET),
    "file": lambda memory: memory.scoped(user="u").files().write("/notes/ann.md", SECRET),
    "quarantined": quarantined,
    "mirror": lambda memory: memory.scoped(user="u", session="s").mirror([Message(content=SECRET, name=MAIL, id="1")]),
}  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
def test_no_byte_of_it_is_stored(opened: Open, tmp_path: Path, write: str) -> None:
    with opened(redaction={"kinds": ["email", "card"]}) as memory:
        WRITES[write](memory)
        memory.flush()
        assert memory.stats().events
    for file in tmp_path.iterdir():
        assert b"quokka" not in file.read_bytes(), file.name
        assert CARD.encode() not in file.read_bytes(), file.name


def test_what_is_written_again_is_recognized(opened: Open) -> None:
    memory = opened(redaction={"kinds": ["email"]})
    alice = memory.scoped(user="u", session="s")
    said = [Message(content=SECRET, name=MAIL, metadata={"mail": MAIL}, id="1"), Message(content="And now?", id="2")]
    for _ in range(2):
        assert alice.mirror(said) == ["1", "2"]
    assert alice.remember(said).duplicates == ("1", "2")
    assert len(alice.history()) == 2


def test_ids_and_pictures_stay(opened: Open) -> None:
    memory = opened(url="memory://", redaction={"kinds": ["email", "phone", "api key"]})
    alice = memory.scoped(user=MAIL)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "AKIAABCDEFGHIJ123456/" * 20}}
    alice.remember(Message(content=[picture], id="ann@example.org"))
    (message,) = alice.history()
    assert (message.id, message.content) == ("ann@example.org", [picture])
