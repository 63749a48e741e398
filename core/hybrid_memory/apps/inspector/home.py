"""The front page: a card for each owner, activity over time, and the figures of the store."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import date
from typing import Any

from hybrid_memory import EventKind, HybridMemory, Scope
from hybrid_memory.apps.inspector.charts import Histogram, histogram
from hybrid_memory.apps.inspector.reading import key_of

OWNERS = 24
"""Cards on one page."""

COUNTED = 1_000
"""Newest events of an owner that are counted; of more than that no card claims to know the number of messages."""

MOST_CLAIMS = 200
"""Of an owner with more the facts are not resolved for a card, which shows the claims instead."""

SPARKS, BARS = 32, 72
"""Bars in a card, and over the whole width."""

Activity = Counter[tuple[date, EventKind]]


def overview(memory: HybridMemory, query: dict[str, str]) -> dict[str, Any]:
    """The owners whose name holds what is looked for, those with the newest events first."""
    wanted = query.get("q", "").strip()
    heads = memory.heads()
    owners = [owner for owner in memory.owners() if wanted.lower() in str(owner).lower()]
    owners.sort(key=lambda owner: -heads.get(owner, 0))
    text = query.get("page", "")
    page = min(int(text) if text.isdecimal() and len(text) < 10 else 1, len(owners) // OWNERS + 1)  # noqa: PLR2004
    chosen = owners[(max(page, 1) - 1) * OWNERS : max(page, 1) * OWNERS]
    counted = {owner: memory.for_scope(owner).activity(newest=COUNTED) for owner in chosen}
    days = [day for activity in counted.values() for day, _ in activity]
    span = (min(days), max(days)) if days else None
    work = memory.work
    return {
        "q": wanted,
        "page": max(page, 1),
        "pages": max(1, -(-len(owners) // OWNERS)),
        "found": len(owners),
        "owners": [_card(memory, owner, activity, span) for owner, activity in counted.items()],
        "activity": _messages(sum(counted.values(), Counter()), span, BARS) if span else None,
        "stats": memory.stats(),
        "kinds": [(kind, asdict(figures)) for kind, figures in sorted(work.kinds.items())],
        "caches": sorted(work.caches.items()),
        "work": work,
    }


def _card(memory: HybridMemory, owner: Scope, activity: Activity, span: tuple[date, date] | None) -> dict[str, Any]:
    scoped = memory.for_scope(owner)
    last = scoped.events(limit=1)
    counted = activity.total()
    claims = sum(count for (_, kind), count in activity.items() if kind is EventKind.CLAIM)
    messages = sum(count for (_, kind), count in activity.items() if kind is EventKind.MESSAGE)
    return {
        "scope": owner,
        "key": key_of(owner),
        "events": scoped.count() if counted >= COUNTED else counted,
        "messages": messages if counted < COUNTED else None,
        "facts": len(scoped.facts()) if 0 < claims <= MOST_CLAIMS else None if claims else 0,
        "claims": claims,
        "last": last[0].at if last else None,
        "spark": _messages(activity, span, SPARKS) if span else None,
    }


def _messages(activity: Activity, span: tuple[date, date], bars: int) -> Histogram:
    messages = Counter[date]()
    for (day, kind), count in activity.items():
        if kind is EventKind.MESSAGE:
            messages[day] += count
    return histogram(messages, *span, most_bars=bars)


def activity_of(memory: HybridMemory, scope: Scope) -> Histogram | None:
    """The messages of an owner or session over time; None where nothing was said."""
    activity = memory.for_scope(scope).activity(newest=COUNTED)
    days = [day for day, kind in activity if kind is EventKind.MESSAGE]
    return _messages(activity, (min(days), max(days)), BARS) if days else None
