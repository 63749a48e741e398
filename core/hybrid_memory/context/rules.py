"""The standing instructions of shared spaces: what their admins wrote in the role ``system``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from hybrid_memory.context.layout import RULE_HEADINGS, Voice, prompt_language
from hybrid_memory.context.memories import author_name
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Origin
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.projection import FoldedProjection
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import at_positions, in_view
from hybrid_memory.text.sentences import excerpt
from hybrid_memory.text.speakers import within_line

MARK = "space_instructions"

RULE_CHARS = 1000
"""Longer instructions are shown as excerpts."""

RULES_RATIO = 0.25
"""The most of the tokens for memories that the instructions of one space take."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Positions of the instructions, up to a position in the log of a space."""

    position: int = 0
    places: tuple[int, ...] = ()

    def after(self, events: Iterable[Event]) -> Self:
        """With those among these messages: in a space only an admin's count as the operator's."""
        news = list(events)
        new = (event.position for event in news if event.origin is Origin.OPERATOR)
        return type(self)(news[-1].position, (*self.places, *new))


class RulesProjection(FoldedProjection[Rules]):
    """The instructions of each space."""

    start = Rules
    follows = frozenset({EventKind.MESSAGE})


async def rules_of(run: Runner, services: Services, spaces: Sequence[Scope]) -> list[Voice]:
    """The instructions of each space with their days and authors, the newest that fit, oldest first."""
    voices = []
    for space in spaces:
        view = await in_view(run, services, space)
        places = (await services.state(RulesProjection).read(run, services, space)).places
        room = RULES_RATIO * services.config.prompt.memory_tokens
        lines: list[str] = []
        for event in reversed(await at_positions(run, view, space, places)):
            text = excerpt(event.message.text, frozenset(), RULE_CHARS)
            line = f"- [{event.at:%Y-%m-%d}] {within_line(f'{author_name(event.author)}: {text}')}"
            room -= services.count(line)
            if room < 0:
                break
            lines.insert(0, line)
        if lines:
            heading = RULE_HEADINGS[prompt_language("".join(lines))]
            voices.append(Voice(MARK, "\n".join([heading, *lines]), str(space.space)))
    return voices
