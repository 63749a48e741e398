"""Turns that the rules of one language read, and their claims in a line each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hybrid_memory import Event, EventKind, Scope
from hybrid_memory.facts.fact import USER, Claim, Stance
from hybrid_memory.facts.rules.reading import RuleExtractor


@dataclass(frozen=True)
class Reader:
    """Reads turns of one user with these rules, all at one time."""

    extractor: RuleExtractor
    at: datetime

    def turn(self, position: int, text: str, *, role: str = "user", name: str | None = None) -> Event:
        payload = {"role": role, "content": text} | ({} if name is None else {"name": name})
        return Event(position, f"e{position}", Scope(user="u", session="s"), EventKind.MESSAGE, self.at, payload)

    def claims(self, *texts: str) -> list[Claim]:
        """The claims of the last of these turns; one that begins with ``A:`` is the assistant's."""
        turns = [
            self.turn(number, text.removeprefix("A:"), role="assistant" if text.startswith("A:") else "user")
            for number, text in enumerate(texts, 1)
        ]
        return [claim for claim in self.extractor.extract(turns, []) if claim.source == len(turns)]

    def lines(self, *texts: str) -> list[str]:
        """The claims of the last turn as written, sorted."""
        return sorted(map(written, self.claims(*texts)))


def written(claim: Claim) -> str:
    """``subject.attribute=value``, the user left out, and behind it what else it says."""
    subject = "" if claim.subject == USER else f"{claim.subject}."
    stance = "" if claim.stance is Stance.HOLDS else f" {claim.stance}"
    due = "" if claim.due is None else f" {claim.due:%m-%d %H:%M}"
    return f"{subject}{claim.attribute}={claim.value}{stance}{due}"


def listed(expected: str) -> list[str]:
    """The claims of a row, sorted."""
    return sorted(expected.split(" | "))
