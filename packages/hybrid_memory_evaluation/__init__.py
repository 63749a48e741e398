"""Evaluate how well methods keep long conversations within a budget: probes, a blinded judge, and costs.

`Evaluation` compares methods on your own chats; `read_transcript` reads the chats. Names are imported when they are
first used: the command line, which shows the options, need not wait for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid_memory.sockets import on_first_use

if TYPE_CHECKING:
    from hybrid_memory.apps.transcripts import Transcript, read_transcript
    from hybrid_memory_evaluation.evaluation import METHODS, Estimate, Evaluation
    from hybrid_memory_evaluation.methods import found_methods
    from hybrid_memory_evaluation.methods.method import (
        VERBATIM,
        Method,
        Prompt,
        Replay,
        Setting,
        StockMethod,
        StockReplay,
        Writer,
        embedder_of,
    )
    from hybrid_memory_evaluation.probing.probe import Probe, ProbeKind
    from hybrid_memory_evaluation.report import Figures, Judging, Outcome, Report

__all__ = [
    "METHODS", "VERBATIM", "Estimate", "Evaluation", "Figures", "Judging", "Method", "Outcome", "Probe", "ProbeKind",
    "Prompt", "Replay", "Report", "Setting", "StockMethod", "StockReplay", "Transcript", "Writer", "embedder_of",
    "found_methods", "read_transcript",
]  # fmt: skip

__getattr__ = on_first_use(
    __name__,
    {
        "hybrid_memory.apps.transcripts": "Transcript read_transcript",
        "hybrid_memory_evaluation.evaluation": "METHODS Estimate Evaluation",
        "hybrid_memory_evaluation.methods": "found_methods",
        "hybrid_memory_evaluation.methods.method": (
            "VERBATIM Method Prompt Replay Setting StockMethod StockReplay Writer embedder_of"
        ),
        "hybrid_memory_evaluation.probing.probe": "Probe ProbeKind",
        "hybrid_memory_evaluation.report": "Figures Judging Outcome Report",
    },
)
