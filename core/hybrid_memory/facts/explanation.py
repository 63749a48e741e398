"""Where something that the memory holds comes from."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_memory import display
from hybrid_memory.facts.fact import Fact
from hybrid_memory.log.message import Message


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The chain behind a fact, a profile field, a summary line or a hit; printed, it is text to be read.

    Attributes:
        about: what is explained, in one line.
        steps: how it came about, one line each.
        turns: the words that it comes from, oldest first, each with its handle.
        facts: that it rests on, with those that they replaced.
    """

    about: str
    steps: tuple[str, ...] = ()
    turns: tuple[tuple[str, Message], ...] = ()
    facts: tuple[Fact, ...] = ()

    def __str__(self) -> str:
        said = [
            f"  [{name}] {'' if turn.at is None else f'{turn.at:%Y-%m-%d %H:%M} '}{turn.speaker}: {turn.text}"
            for name, turn in self.turns
        ]
        return "\n".join([self.about, *(f"  {step}" for step in self.steps), *said])

    def __repr__(self) -> str:
        return f"<Explanation of {self.about}: {len(self.turns)} turns, {len(self.facts)} facts>"

    def _repr_html_(self) -> str:
        steps = "".join(f"<li>{display.text(step)}</li>" for step in self.steps)
        turns = "".join(
            display.under(
                display.EPISODIC,
                display.text(turn.text),
                f"{name} {'' if turn.at is None else f'{turn.at:%Y-%m-%d %H:%M}'} {display.text(turn.speaker)}",
            )
            for name, turn in self.turns
        )
        return display.card(display.text(self.about), f"<ul>{steps}</ul>{turns}")
