"""``assemble``: the prompt for the next call of a model, within a token budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from hybrid_memory.compute.runners import Runner
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.flows import recall
from hybrid_memory.flows.facts import portrait
from hybrid_memory.flows.fitting import Fitted, fit
from hybrid_memory.flows.fold import fold, retries
from hybrid_memory.flows.history import checked_count
from hybrid_memory.flows.session import load
from hybrid_memory.flows.triggers import due
from hybrid_memory.flows.viewing import View, view
from hybrid_memory.flows.visible import in_view, present
from hybrid_memory.flows.world import World
from hybrid_memory.ports import Draft
from hybrid_memory.tiers.prompt import Layout
from hybrid_memory.types import Context, EventKind, Hit, RecordKind, Scope
from hybrid_memory.types.validation import shown, storable

LEAST_TOKENS = 50
PROFILE_RATIO = 0.1
"""Share of the budget for what was learned of the user."""

MAX_HITS = 20

FOLDS = 3
"""Compactions in one call, before what does not fit is left out of the prompt."""


@dataclass(frozen=True, slots=True)
class Request:
    """A checked call of assemble."""

    query: str | None
    max_tokens: int
    identity: str = ""
    instructions: str = ""
    blocks: Mapping[str, str] = field(default_factory=dict)
    profile: str | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    k: int = MAX_HITS
    layout: Layout = "stable"

    @classmethod
    def of(cls, query: Any, *, max_tokens: Any, k: Any, layout: Any, tools: Any, blocks: Any, **texts: Any) -> Self:
        """The request, if its parts are in order; raises `InvalidInputError`."""
        if query is not None and (not isinstance(query, str) or not query.strip()):
            raise InvalidInputError(f"the query must be text, or None for the user's last turn; got {shown(query)}")
        for name, text in texts.items():
            if not isinstance(text, str) and (name, text) != ("profile", None):
                raise InvalidInputError(f"{name} must be text, got {shown(text)}")
        if layout not in ("stable", "classic"):
            raise InvalidInputError(f"layout must be 'stable' or 'classic', got {shown(layout)}")
        if not isinstance(blocks, Mapping | None) or not all(
            isinstance(part, str) for pair in (blocks or {}).items() for part in pair
        ):
            raise InvalidInputError(f"blocks must be texts by label, got {shown(blocks)}")
        if isinstance(tools, str) or not isinstance(tools, Collection):
            raise InvalidInputError(f"tools must be a list of tool schemas, got {shown(tools)}")
        for tool in tools:
            try:
                storable(dict(tool))
            except (TypeError, ValueError) as error:
                raise InvalidInputError(f"a tool must be a schema in JSON, got {shown(tool)}: {error}") from None
        return cls(
            query=query,
            max_tokens=checked_count("max_tokens", max_tokens, least=LEAST_TOKENS),
            k=checked_count("k", k, least=0),
            layout=layout,
            tools=tuple(tools),
            blocks=dict(blocks or {}),
            **texts,
        )


async def assemble(run: Runner, world: World, scope: Scope, request: Request) -> Context:
    """The prompt; folds older turns first if a trigger asks for it.

    Raises:
        InvalidInputError: identity, instructions, tools and question alone need more than ``max_tokens``, or there is
            no question: none was given and the user has said nothing yet.
    """
    world = await in_view(run, present(world), scope)
    await run.call(world.count, "")  # a counter may have tables to load, off the event loop
    reason = ""
    for _ in range(FOLDS + 1):
        session = await load(run, world, scope)
        if request.profile is None:
            known = await portrait(run, world, session, int(PROFILE_RATIO * request.max_tokens))
            seen = view(world, session, replace(request, profile=known))
        else:
            seen = view(world, session, request)
        hits = await _recalled(run, world, scope, request, seen)
        fitted = fit(world, seen, request, hits)
        why, count = await due(run, world, seen, fitted.wanted, request.max_tokens)
        again = not reason and retries(world, session)
        if not count and not again:
            break
        if await fold(run, world, session, count, max_tokens=request.max_tokens):
            reason = reason or why or "the model is asked again"
    if request.k and seen.noted is None and request.layout == "stable":
        await _keep_note(run, world, scope, seen, fitted)
    return replace(fitted.context, compacted=reason)


async def _recalled(run: Runner, world: World, scope: Scope, request: Request, seen: View) -> list[Hit]:
    """What to recall for the question, best first, without what the prompt shows anyway."""
    if not request.k or not seen.words or seen.noted is not None:
        return []
    wanted = recall.Request.of(
        scope,
        seen.words,
        k=request.k + len(seen.visible),
        within="user",
        kinds=(RecordKind.TURN,),  # the words themselves; what was read from them stands in the profile
        categories=(),
        since=None,
        until=None,
        metadata=None,
        weights=None,
    )
    hits = await recall.recall(run, world, wanted)
    return [hit for hit in hits if not seen.visible.intersection(hit.record.sources)][: request.k]


async def _keep_note(run: Runner, world: World, scope: Scope, seen: View, fitted: Fitted) -> None:
    """Write down what the turn was shown, so that later prompts show it in the same place."""
    turn = seen.question_id
    draft = Draft(
        id=world.new_id(),
        fixed_id=False,
        session=scope.session,
        kind=EventKind.RECALLED,
        at=world.clock(),
        payload={"query": seen.words, "text": fitted.context.note, **({"turn": turn} if turn else {})},
        sources=tuple(dict.fromkeys(source for hit in fitted.context.hits for source in hit.record.sources)),
    )
    await run.call(world.log.append, scope.owner, [draft])
