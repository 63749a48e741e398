"""What `forget` does to blocks: lines go that came from what is destroyed, from the block and from all its history."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services


def plain(text: str) -> str:
    """The text as words are looked for in it: whatever its case, width and spacing."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


async def rewritten_blocks(
    run: Runner, services: Services, owner: Scope, gone: Callable[[Event], bool], words: str
) -> dict[int, dict[str, Any]]:
    """New payloads for the changes of the owner's blocks, by position.

    Args:
        run: of the flow.
        services: its ports.
        owner: whose blocks.
        gone: whether what a change put into its block goes.
        words: plain; lines with them go. Empty for none.
    """
    by_label: dict[str, list[Event]] = {}
    for event in await run.call(services.truth.read, owner, kinds=(EventKind.BLOCK,)):
        by_label.setdefault(event.payload["label"], []).append(event)
    found: dict[int, dict[str, Any]] = {}
    for events in by_label.values():
        banned, told = _banned(events, gone, words), _told(events, gone)
        for event in events:
            payload = _without(event.payload, banned, told, words)
            if payload != event.payload:
                found[event.position] = payload
    return found


def _banned(events: Iterable[Event], gone: Callable[[Event], bool], words: str) -> set[str]:
    """The lines that go, of one label's changes: what a change put there that goes, and what was made of it later."""
    banned: set[str] = set()
    before: set[str] = set()
    earlier: set[str] = set()
    for event in events:
        lines = set(event.payload["value"].split("\n"))
        if gone(event) or not banned.isdisjoint(before - lines):
            banned |= lines - earlier  # an undo brings back what stood there before
        before = lines
        earlier |= lines
    return banned | {line for line in earlier if words and words in plain(line)}


def _told(events: Iterable[Event], gone: Callable[[Event], bool]) -> set[str]:
    """The descriptions that go with who gave them."""
    told: set[str] = set()
    before = ""
    for event in events:
        now = event.payload["description"]
        if now != before and gone(event):
            told.add(now)
        before = now
    return told


def _without(payload: dict[str, Any], banned: set[str], told: set[str], words: str) -> dict[str, Any]:
    value = "\n".join(line for line in payload["value"].split("\n") if line not in banned)
    if words and words in plain(value):  # across two lines
        value = ""
    described = payload["description"]
    goes = described in told or (words and words in plain(described))
    return {**payload, "value": value, "description": "" if goes else described}
