"""How well a ranking finds what is labelled as evidence: of turns, and of the sessions that they were said in.

All at the same k, for every method: r@k is the share of the evidence among the first k, any@k whether some of it is,
all@k whether all of it is (strict), hit@1 whether the first is evidence, mrr the inverse rank of the first evidence
among the first 20. ndcg@10 is that of LongMemEval's code: ranks 1 and 2 count 1, rank r beyond them 1 / log2(r); the
textbook's has 1 / log2(r + 1). No other measure depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MEASURES = ("r@5", "r@10", "r@20", "any@5", "any@10", "all@5", "all@10", "hit@1", "mrr", "ndcg@10")
CUTOFFS = (5, 10, 20)

TURNS = "turns"
SESSIONS = "sessions"
USER_TURNS = "user turns"
USER_SESSIONS = "sessions by user turns"


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
        "ndcg@10": _ndcg(found, evidence, 10),
    }


def _ndcg(found: Sequence[str], evidence: set[str], k: int) -> float:
    gains = [1.0, *(1 / math.log2(rank) for rank in range(2, k + 1))]
    seen: set[str] = set()
    reached = 0.0
    for gain, name in zip(gains, found, strict=False):
        reached += gain if name in evidence and name not in seen else 0.0
        seen.add(name)
    return reached / sum(gains[: len(evidence)])


def counted(question: Mapping[str, Any]) -> bool:
    """Whether the question is asked: a wrong label is not, nor one that no turn answers (as in LongMemEval's code)."""
    return not question.get("bad") and question.get("category") != "abstention"


@dataclass(frozen=True, slots=True)
class Labels:
    """Where each turn of a conversation was said, and by whom: by turn id."""

    session: Mapping[str, str]
    speaker: Mapping[str, str]

    @classmethod
    def of(cls, turns: Iterable[Mapping[str, Any]]) -> Labels:
        """Those of these turns."""
        turns = list(turns)
        return cls(
            session={str(turn["id"]): str(turn["session"]) for turn in turns},
            speaker={str(turn["id"]): turn["speaker"] for turn in turns},
        )

    def sessions(self, turns: Iterable[str]) -> list[str]:
        """Their sessions, each at its first turn."""
        return list(dict.fromkeys(self.session[turn] for turn in turns))

    def of_user(self, turns: Iterable[str]) -> list[str]:
        """Those of them that the user said."""
        return [turn for turn in turns if self.speaker[turn] == "user"]

    def grades(
        self, question: Mapping[str, Any], found: Sequence[str], deep: Sequence[str]
    ) -> dict[str, dict[str, float]]:
        """The measures of one question by level; without a level for which nothing is labelled.

        Sessions are ranked by their best turn. Where the set labels sessions itself (`ev_sessions`), these are the
        evidence, and the two levels of LongMemEval's code are added: it ranks the turns of the user alone, and asks no
        question whose evidence only the assistant said.

        Args:
            question: with its labels.
            found: turn ids, best first.
            deep: more of them, to find enough sessions.
        """
        evidence = {str(turn) for turn in question.get("evidence") or ()}
        levels = {
            TURNS: (found, evidence),
            SESSIONS: (
                self.sessions(deep),
                {str(name) for name in question.get("ev_sessions") or self.sessions(evidence)},
            ),
        }
        if question.get("ev_sessions"):
            own, said = self.of_user(deep), set(self.of_user(evidence))
            levels[USER_TURNS] = (own, said)
            levels[USER_SESSIONS] = (self.sessions(own), set(self.sessions(said)))
        return {level: grade(ranked, wanted) for level, (ranked, wanted) in levels.items() if wanted}
