"""How well a ranking finds what is labelled as evidence: of turns, and of the sessions that they were said in.

All at the same k, for every method: r@k is the share of the evidence among the first k, any@k whether some of it is,
all@k whether all of it is (strict), hit@1 whether the first is evidence, mrr the inverse rank of the first evidence
among the first 20.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MEASURES = ("r@5", "r@10", "r@20", "any@5", "any@10", "all@5", "all@10", "hit@1", "mrr")
CUTOFFS = (5, 10, 20)

TURNS = "turns"
SESSIONS = "sessions"


def grade(found: Sequence[str], evidence: set[str]) -> dict[str, float]:
    """The measures of one question; what is found twice takes two places and counts once."""
    share = {k: len(evidence.intersection(found[:k])) / len(evidence) for k in CUTOFFS}
    first = next((rank for rank, name in enumerate(found[: CUTOFFS[-1]], 1) if name in evidence), None)
    return {
        **{f"r@{k}": value for k, value in share.items()},
        **{f"any@{k}": float(share[k] > 0) for k in (5, 10)},
        **{f"all@{k}": float(share[k] == 1) for k in (5, 10)},
        "hit@1": float(first == 1),
        "mrr": 1 / first if first else 0.0,
    }


@dataclass(frozen=True, slots=True)
class Labels:
    """Where each turn of a conversation was said, by turn id."""

    session: Mapping[str, str]

    @classmethod
    def of(cls, turns: Iterable[Mapping[str, Any]]) -> Labels:
        """Those of these turns."""
        return cls({str(turn["id"]): str(turn["session"]) for turn in turns})

    def sessions(self, turns: Iterable[str]) -> list[str]:
        """Their sessions, each at its first turn."""
        return list(dict.fromkeys(self.session[turn] for turn in turns))

    def grades(
        self, question: Mapping[str, Any], found: Sequence[str], deep: Sequence[str]
    ) -> dict[str, dict[str, float]]:
        """The measures of one question by level; without a level for which nothing is labelled.

        Sessions are ranked by their best turn. Where the set labels sessions itself (`ev_sessions`), these are the
        evidence.

        Args:
            question: with its labels.
            found: turn ids, best first.
            deep: more of them, to find enough sessions.
        """
        evidence = {str(turn) for turn in question.get("evidence") or ()}
        sessions = {str(name) for name in question.get("ev_sessions") or self.sessions(evidence)}
        levels = {TURNS: (found, evidence), SESSIONS: (self.sessions(deep), sessions)}
        return {level: grade(ranked, wanted) for level, (ranked, wanted) in levels.items() if wanted}
