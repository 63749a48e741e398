"""Evaluate how well methods keep long conversations within a budget: probes, a blinded judge, and costs.

`Evaluation` compares methods on your own chats; `read_transcript` reads the chats.
"""

from __future__ import annotations

from hybrid_memory.apps.evaluation.evaluation import METHODS, Estimate, Evaluation
from hybrid_memory.apps.evaluation.measures import Prices
from hybrid_memory.apps.evaluation.methods import found_methods
from hybrid_memory.apps.evaluation.methods.method import Method, Prompt, Replay, Setting
from hybrid_memory.apps.evaluation.methods.stock import VERBATIM, StockMethod, StockReplay, Writer, embedder_of
from hybrid_memory.apps.evaluation.probing.probe import Probe, ProbeKind
from hybrid_memory.apps.evaluation.report import Figures, Judging, Outcome, Report
from hybrid_memory.apps.evaluation.transcripts import read_transcript
from hybrid_memory.apps.evaluation.transcripts.transcript import Transcript

__all__ = [
    "METHODS",
    "VERBATIM",
    "Estimate",
    "Evaluation",
    "Figures",
    "Judging",
    "Method",
    "Outcome",
    "Prices",
    "Probe",
    "ProbeKind",
    "Prompt",
    "Replay",
    "Report",
    "Setting",
    "StockMethod",
    "StockReplay",
    "Transcript",
    "Writer",
    "embedder_of",
    "found_methods",
    "read_transcript",
]
