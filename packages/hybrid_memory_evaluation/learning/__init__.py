"""Evaluate how well facts are learned, on labelled sentences and dialogues."""

from __future__ import annotations

from hybrid_memory_evaluation.learning.figures import Calibrated, Ended, Figures, Report, Share
from hybrid_memory_evaluation.learning.labelled import SAMPLES, Dialogue, read_dialogues, read_lines
from hybrid_memory_evaluation.learning.learning import Learner

__all__ = [
    "SAMPLES",
    "Calibrated",
    "Dialogue",
    "Ended",
    "Figures",
    "Learner",
    "Report",
    "Share",
    "read_dialogues",
    "read_lines",
]
