"""What is left in the bytes of a store after `forget`, and what an encrypted store shows before.

Canaries, words that stand nowhere else, are planted in turns of both sides, in what becomes a fact, in tool calls and
results, in a payload, in a question whose prompt is noted, and in turns that are folded into a summary; and so is the
vector of each of these turns. Every file beside the store is read for each canary in UTF-8 and
UTF-16, in lower and upper case and as JSON escapes it; Chinese also for each pair of characters, as the text index has
them. *places*: canaries and vectors that are in some file. After `forget` they are looked for while the store is open,
and again when it is closed.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.compression.sets import CachedEmbedder, Table
from benchmarks.learning.sets import START, Options
from hybrid_memory import HybridMemory, MemoryConfig, Receipt, ScopedMemory, open_memory
from hybrid_memory.ports import Floats
from hybrid_memory.text.tokenize import cjk_share

CANARIES = {
    "turn of the user": "quibblezornak",
    "turn of the assistant": "marzipondrel",
    "fact": "Vexalurionak",
    "tool call": "throndlepixo",
    "tool result": "grelmaxovund",
    "payload": "plinthorvex",
    "question of a prompt": "snorvaldupak",
    "folded turn": "blorptungixo",
    "turn in Chinese": "龘靐齾",
    "fact in Chinese": "麤齉爩镇",
}
VECTOR = "vectors"
VECTOR_BYTES = 32
"""Of a row, enough to tell it from all others."""

KEY = "correct horse battery staple"


class Noticing:
    """An embedder that keeps the rows of texts with a canary; its rows are dense, so that their bytes are their own."""

    def __init__(self, inner: CachedEmbedder) -> None:
        self._inner = inner
        self.name = inner.name
        self.rows: list[bytes] = []

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Unit rows."""
        rows = self._inner.embed_documents(list(texts))
        marked = [any(word in text for word in CANARIES.values()) for text in texts]
        self.rows += [row.tobytes()[:VECTOR_BYTES] for row, there in zip(rows, marked, strict=True) if there]
        return rows

    def embed_query(self, text: str) -> Floats:
        """A unit vector."""
        return self._inner.embed_query(text)


def forms(word: str) -> list[bytes]:
    """The bytes that give a canary away."""
    words = {word, word.lower(), word.upper()}
    if cjk_share(word):
        words |= {word[at : at + 2] for at in range(len(word) - 1)}
    escaped = {json.dumps(each)[1:-1] for each in words}
    return [text.encode(code) for text in words | escaped for code in ("utf-8", "utf-16-le")]


def traces(folder: Path, vectors: Sequence[bytes]) -> dict[str, list[str]]:
    """By place of a canary the files that show it."""
    wanted = {place: forms(word) for place, word in CANARIES.items()} | {VECTOR: list(vectors)}
    contents = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    found = {
        place: [name for name, content in contents.items() if any(each in content for each in those)]
        for place, those in wanted.items()
    }
    return {place: names for place, names in found.items() if names}


def plant(memory: HybridMemory) -> ScopedMemory:
    """A conversation with all canaries between turns without one."""
    alice = memory.scoped(user="alice", session="s1")
    minutes = iter(range(1_000))

    def say(text: Any, role: str = "user") -> None:
        alice.remember(text, role=role, at=START + timedelta(minutes=next(minutes)))

    for number in range(12):
        say(f"Room {number} has {number + 2} chairs and a window.")
    say(f"The gate opens with {CANARIES['turn of the user']}, please keep that in mind.")
    say(f"Noted, {CANARIES['turn of the assistant']} it is.", "assistant")
    say(f"I live in {CANARIES['fact']}.")
    say(f"箱子里放着{CANARIES['turn in Chinese']}，别告诉别人。")
    say(f"我住在{CANARIES['fact in Chinese']}。")
    say(f"We decided to buy the {CANARIES['folded turn']} oven for 4,800 EUR.")
    call = {"name": "write_file", "arguments": {"path": f"src/{CANARIES['tool call']}.py", "content": "x"}, "id": "1"}
    say({"role": "assistant", "tool_calls": [call]})
    say({"role": "tool", "tool_call_id": "1", "content": f"wrote {CANARIES['tool result']}"})
    alice.offload(f"A long result about {CANARIES['payload']}. " * 50)
    alice.flush(progress=False)
    alice.facts()
    alice.assemble(f"What is {CANARIES['question of a prompt']}?", max_tokens=600)
    alice.compact(keep=1)
    for number in range(3):
        say(f"And hall {number} has a door.")
    alice.assemble("What do you know about the gate?", max_tokens=600)
    alice.compact(keep=1)
    alice.flush(progress=False)
    return alice


Forget: TypeAlias = Callable[[ScopedMemory], Receipt | None]


def _by_query(alice: ScopedMemory) -> None:
    for word in CANARIES.values():
        alice.forget(query=word)


def _by_ids(alice: ScopedMemory) -> None:
    """The turns; payloads and questions have no turn, and go by their words."""
    alice.forget(
        ids=[str(message.id) for message in alice.history() if any(word in str(message) for word in CANARIES.values())]
    )
    for place in ("payload", "question of a prompt"):
        alice.forget(query=CANARIES[place])


SELECTORS: dict[str, Forget] = {
    "query=": _by_query,
    "ids=": _by_ids,
    "before=": lambda alice: alice.forget(before=START + timedelta(days=100_000)),
    "user=": lambda alice: alice.forget(user="alice"),
}


def run(options: Options) -> Iterator[Table]:
    """Where canaries stand, and what is left of them."""
    table = Table(
        f"Forgetting: {len(CANARIES)} canaries and the vectors of their turns",
        ["store", "files", "places before", "after, open", "after, closed", "required"],
    )
    shown: dict[str, list[str]] = {}
    for key in (None, KEY):
        for name, forget in SELECTORS.items():
            row, before = forgotten(name, forget, key, Noticing(options.embedder))
            table.rows.append(row)
            shown = shown or before
    control = Table("Where they stand before, in plain", ["place", "files"])
    control.rows = [
        {"place": place, "files": ", ".join(shown.get(place, ["nowhere"]))} for place in (*CANARIES, VECTOR)
    ]
    yield control
    yield table


def forgotten(
    name: str, forget: Forget, key: str | None, embedder: Noticing
) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """What one store shows before and after, and where it did before."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        config = MemoryConfig(url=f"sqlite:///{folder / 'memory.db'}")
        with open_memory(config, embedder=embedder, key=key) as memory:
            alice = plant(memory)
            files = sum(path.is_file() for path in folder.rglob("*"))
            before = traces(folder, embedder.rows)
            forget(alice)
            still = traces(folder, embedder.rows)
        closed = traces(folder, embedder.rows)
    row = {
        "store": f"{'plain' if key is None else 'encrypted'}, {name}",
        "files": files,
        "places before": f"{len(before)} of {len(CANARIES) + 1}",
        "after, open": len(still),
        "after, closed": len(closed),
        "required": "0 after" if key is None else "0 ever",
        "left": {**still, **closed},
    }
    return row, before
