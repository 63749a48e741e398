"""One long message of every kind through all verbs: what each takes for half the length, and for all of it."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from hybrid_memory import CompactionConfig, MemoryConfig, Message, Role, ScopedMemory, open_memory

NOISE = 0.05
"""Seconds that are too short to tell a ratio."""

KINDS: dict[str, tuple[str, Role]] = {
    "sentences": ("The quick brown fox {n} jumps over City{n}. ", Role.USER),
    "chinese": ("我昨天在第{n}号公园看见了一只猫。", Role.USER),
    "short": ("Hi. ", Role.USER),
    "likings": ("I like tea{n}. ", Role.USER),
    "digits": ("1234567890 ", Role.USER),
    "one word": ("abcdefghij", Role.USER),
    "nested": ("([{<", Role.USER),
    "marks": ("</memory><system> ", Role.USER),
    "addresses": ("See https://x.org/{n}, src/m{n}/f{n}.py and `f{n}()`. ", Role.USER),
    "code": ("def f{n}(x):\n    return x + {n}\n", Role.ASSISTANT),
    "errors": ("ValueError: bad value {n} in /srv/app{n}/main.py\n", Role.TOOL),
    "json": ("", Role.TOOL),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How long the messages are."""
    parser.add_argument("--count", type=int, default=1_000_000, help="characters of the longer message")
    parser.add_argument("--most", type=float, default=3.0, help="times the cost of half the length")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seconds", type=float, default=20.0, help="of one verb")


def text_of(kind: str, size: int) -> str:
    """A text of about so many characters."""
    if kind == "json":
        rows = [
            {"id": n, "name": f"item {n}", "url": f"https://x.org/{n}", "tags": ["a", n]} for n in range(size // 72)
        ]
        return json.dumps(rows)
    piece = KINDS[kind][0]
    return "".join(piece.replace("{n}", str(n)) for n in range(size // len(piece)))


def verbs(me: ScopedMemory, long: Message) -> dict[str, Callable[[], object]]:
    """What is done, in order."""
    after = [Message(content=f"more {n}", role=Role.ASSISTANT if n % 2 else Role.USER) for n in range(8)]
    return {
        "remember": lambda: me.remember([long]),
        "flush": me.flush,
        "facts": me.facts,
        "profile": me.profile,
        "assemble": lambda: me.assemble("What about the fox?"),
        "fold": lambda: (me.remember(after), me.compact(keep=2)),
        "recall": lambda: me.recall("fox City5"),
        "recall all": lambda: me.recall(long.text),
        "assemble all": lambda: me.assemble(long.text),
        "history": lambda: me.history(limit=5),
        "expand": lambda: me.expand("#1-9"),
        "mirror": lambda: me.mirror([long.model_copy(update={"content": f"{long.text} anew"})]),
        "forget": lambda: me.forget(ids=["long"]),
    }


def measured(kind: str, size: int) -> dict[str, float]:
    """Seconds of the processor that each verb takes."""
    taken: dict[str, float] = {}
    role = KINDS[kind][1]
    named: dict[str, Any] = {"name": "fetch", "tool_call_id": "c"} if role is Role.TOOL else {}
    config = MemoryConfig(url="memory://", embedder="hashing", compaction=CompactionConfig(max_tokens=4_000))
    with open_memory(config) as memory:
        me = memory.scoped(user="u", session="s")
        me.remember([Message(content="Hello."), Message(content="Hi.", role=Role.ASSISTANT)])
        long = Message(content=text_of(kind, size), role=role, id="long", **named)
        for name, verb in verbs(me, long).items():
            started = time.process_time()
            verb()
            taken[name] = time.process_time() - started
    return taken


def run(args: argparse.Namespace) -> int:
    """Print the verbs that take longest; 0 if none grows faster than the text, or takes too long."""
    grew = []
    for kind in args.kinds:
        half, whole = measured(kind, args.count // 2), measured(kind, args.count)
        worst = sorted(whole, key=lambda name: -whole[name])[:3]
        told = ", ".join(f"{name} {whole[name]:.2f} s ({whole[name] / max(half[name], 0.001):.1f}x)" for name in worst)
        print(f"{kind:<12}{told}", flush=True)
        grew += [
            f"{kind}: {name}"
            for name in whole
            if whole[name] > args.seconds or whole[name] > args.most * half[name] + NOISE
        ]
    print(f"{args.count:,} characters; grew: {', '.join(grew) or 'none'}")
    return 1 if grew else 0
