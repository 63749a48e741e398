"""What German turns claim, by two patterns."""

import re
from collections.abc import Sequence

from hybrid_memory import Category, Event
from hybrid_memory.ports import Claim

PATTERNS = {
    "name": re.compile(r"\bich heiße (?P<value>[A-ZÄÖÜ]\w+)", re.IGNORECASE),
    "home": re.compile(r"\bich wohne (?:jetzt )?in (?P<value>[A-ZÄÖÜ]\w+)", re.IGNORECASE),
}
"""By attribute; see `hybrid_memory.facts.attributes`."""


class German:
    """Reads a name and a home."""

    name = "german"

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """What these turns claim, by position."""
        return [
            Claim("user", attribute, found["value"], Category.KNOWLEDGE, turn.position, single=True, by=self.name)
            for turn in turns
            if turn.message.role == "user"
            for attribute, pattern in PATTERNS.items()
            for found in pattern.finditer(turn.message.text)
        ]
