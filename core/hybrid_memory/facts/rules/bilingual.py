"""The rules of all languages as one extractor, compiled with the first turn, as that takes a while."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from hybrid_memory.facts.fact import Claim
from hybrid_memory.facts.rules.reading import RuleExtractor
from hybrid_memory.log.event import Event


@lru_cache(maxsize=1)
def _extractor() -> RuleExtractor:
    from hybrid_memory.facts.rules.chinese import CHINESE  # noqa: PLC0415 - see above
    from hybrid_memory.facts.rules.english import ENGLISH  # noqa: PLC0415

    return RuleExtractor((ENGLISH, CHINESE))


class BilingualRules:
    """Extracts claims from English and Chinese turns by rules; see `RuleExtractor`."""

    name = RuleExtractor.name

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """The claims of these turns."""
        return _extractor().extract(turns, before)

    def placed(self, turns: Sequence[Event], before: Sequence[Event]) -> list[tuple[Claim, str]]:
        """The claims, each with its sentence."""
        return _extractor().placed(turns, before)
