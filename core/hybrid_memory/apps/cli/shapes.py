"""The shapes that ``--json`` prints: times in ISO 8601, scores and shares in [0, 1], absent values left out or null.

A message has ``handle`` (``#12``), ``session``, ``id``, ``at``, ``role``, ``content``, and what else was said of it:
``name``, ``tool_calls``, ``tool_call_id``, ``importance``, ``metadata``, ``extra``.
A hit has ``handle``, ``score``, ``kind``, ``speaker``, ``at``, ``session``, ``text``, ``sources``, ``signals``,
``weights``, ``why``, ``metadata``, and of a shared space ``space`` and ``author``.
An explanation has ``about``, ``steps``, ``turns`` (messages) and ``facts``. What is not here is printed by its fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid_memory.apps.cli.printing import fields_of

if TYPE_CHECKING:
    from hybrid_memory import Event, Explanation, Hit, Message, Scope, Stats, Summary, UserProfile


def message(said: Message) -> dict[str, Any]:
    """A message without its place in the log; it is written to a file like this, and read back the same."""
    fields = said.model_dump(mode="json", exclude_defaults=True)
    first = {"id": said.id, "at": fields.get("at"), "role": said.role.value, "content": fields.get("content", "")}
    return {**first, **fields}


def turn(event: Event) -> dict[str, Any]:
    """A message with its handle and session."""
    return {"handle": f"#{event.position}", "session": event.scope.session, **message(event.message)}


def hit(result: Hit) -> dict[str, Any]:
    """What recall found."""
    record = result.record
    shared = {} if record.scope.space is None else {"space": record.scope.space, "author": record.author}
    return {
        "handle": f"#{record.turn}",
        "score": result.score,
        "kind": record.kind,
        "speaker": record.speaker,
        "at": record.at,
        "session": record.scope.session,
        "text": record.text,
        "sources": record.sources,
        "signals": result.signals,
        "weights": result.weights,
        "why": result.why(),
        "metadata": record.metadata,
        **shared,
    }


def explanation(told: Explanation) -> dict[str, Any]:
    """Where something comes from."""
    return {**fields_of(told), "turns": [{"handle": name, **message(said)} for name, said in told.turns]}


def profile(known: UserProfile, *, history: bool) -> dict[str, Any]:
    """``fields`` with their values, ``sources`` by field, and ``history`` by field where it is asked for."""
    former = {"history": {name: known.history(name) for name in type(known).model_fields}} if history else {}
    return {"fields": known.model_dump(mode="json"), "sources": known.sources, **former}


def summary(folded: Summary) -> dict[str, Any]:
    """``strategy``, ``lines``, ``handles`` of the stretches, ``artifacts``, ``audit`` and the whole ``text``."""
    return {
        "strategy": folded.strategy,
        "lines": [{**fields_of(line), "handle": line.handle} for line in folded.lines],
        "handles": folded.handles,
        "artifacts": folded.artifacts.model_dump(mode="json"),
        "audit": folded.audit,
        "text": folded.text,
    }


def stats(told: Stats) -> dict[str, Any]:
    """What a store holds; see `Stats`; without what this process did."""
    return {name: value for name, value in fields_of(told).items() if name != "work"}


def scope(whose: Scope) -> dict[str, Any]:
    """``tenant``, ``user``, ``agent`` and ``space``."""
    return {name: value for name, value in fields_of(whose).items() if name != "session"}
