"""The shapes that ``--json`` prints: times in ISO 8601, scores and shares in [0, 1], absent values left out or null.

A message has ``handle`` (``#12``), ``session``, ``id``, ``at``, ``role``, ``content``, and what else was said of it:
``name``, ``tool_calls``, ``tool_call_id``, ``importance``, ``metadata``, ``extra``.
A hit has ``handle``, ``score``, ``kind``, ``speaker``, ``at``, ``session``, ``text``, ``sources``, ``signals``,
``weights``, ``why``, ``metadata``, and of a shared space ``space`` and ``author``.
An explanation has ``about``, ``steps``, ``turns`` (messages) and ``facts``.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid_memory import Explanation, Fact, Hit, Message, ProfileEntry, Receipt, Scope, Stats, Summary, UserProfile
    from hybrid_memory.log.event import Event


def message(said: Message) -> dict[str, Any]:
    """A message without its place in the log; it is written to a file like this, and read back the same."""
    fields = said.model_dump(mode="json", exclude_defaults=True)
    first = {"id": said.id, "at": fields.get("at"), "role": said.role.value, "content": fields.get("content", "")}
    return {**first, **fields}


def turn(event: Event) -> dict[str, Any]:
    """A message with its handle and session."""
    return {"handle": f"#{event.position}", "session": event.scope.session, **message(event.message)}


def hit(found: Hit) -> dict[str, Any]:
    """What recall found."""
    record = found.record
    shared = {} if record.scope.space is None else {"space": record.scope.space, "author": record.author}
    return {
        "handle": f"#{record.turn}",
        "score": found.score,
        "kind": record.kind.value,
        "speaker": record.speaker,
        "at": record.at.isoformat(),
        "session": record.scope.session,
        "text": record.text,
        "sources": list(record.sources),
        "signals": asdict(found.signals),
        "weights": asdict(found.weights),
        "why": found.why(),
        "metadata": record.metadata,
        **shared,
    }


def fact(known: Fact) -> dict[str, Any]:
    """What was learned."""
    values = asdict(known)
    instants = {name: at.isoformat() for name in ("valid_from", "valid_to", "due") if (at := values[name]) is not None}
    return {**values, "category": known.category.value, "state": known.state.value, **instants}


def explanation(told: Explanation) -> dict[str, Any]:
    """Where something comes from."""
    return {
        "about": told.about,
        "steps": list(told.steps),
        "turns": [{"handle": name, **message(said)} for name, said in told.turns],
        "facts": [fact(known) for known in told.facts],
    }


def profile(known: UserProfile, *, history: bool) -> dict[str, Any]:
    """``fields`` with their values, ``sources`` by field, and ``history`` by field where it is asked for."""
    shape: dict[str, Any] = {
        "fields": known.model_dump(mode="json"),
        "sources": {name: [_entry(one) for one in entries] for name, entries in known.sources.items()},
    }
    if history:
        shape["history"] = {name: [_entry(one) for one in known.history(name)] for name in type(known).model_fields}
    return shape


def _entry(one: ProfileEntry) -> dict[str, Any]:
    return {
        **asdict(one),
        "state": one.state.value,
        "valid_from": one.valid_from.isoformat(),
        "valid_to": None if one.valid_to is None else one.valid_to.isoformat(),
    }


def summary(folded: Summary) -> dict[str, Any]:
    """``strategy``, ``lines``, ``handles`` of the stretches, ``artifacts``, ``audit`` and the whole ``text``."""
    lines = [{**asdict(line), "section": line.section.value, "handle": line.handle} for line in folded.lines]
    return {
        "strategy": folded.strategy,
        "lines": lines,
        "handles": list(folded.handles),
        "artifacts": folded.artifacts.model_dump(mode="json"),
        "audit": asdict(folded.audit),
        "text": folded.text,
    }


def receipt(done: Receipt) -> dict[str, Any]:
    """What a write did; see `Receipt`."""
    return asdict(done)


def stats(told: Stats) -> dict[str, Any]:
    """What a store holds; see `Stats`; without what this process did."""
    return {name: value for name, value in asdict(told).items() if name != "work"}


def scope(whose: Scope) -> dict[str, Any]:
    """``tenant``, ``user``, ``agent`` and ``space``."""
    return {name: value for name, value in asdict(whose).items() if name != "session"}
