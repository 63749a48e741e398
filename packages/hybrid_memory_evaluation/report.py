"""The result of an evaluation: every answer, and the figures of every method computed from them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hybrid_memory.display import counted
from hybrid_memory_evaluation.judging.scores import Dimension, Scores


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one probe with one method.

    Attributes:
        transcript, method, probe: their names; kind: the probe's kind.
        survival: the share of the answer's keys that are literally in the prompt; reach: the share of the sources that
            are in it, that a handle in it leads to, or that a search for the question finds.
        tokens: the size of the prompt; fetched: the tokens fetched in addition; finished: whether that was enough.
        answer: the model's answer; None without a model, or if it failed; in_answer: the share of the keys in it.
        scores: one object for each time it was graded, by criterion, in [0, 5].
    """

    transcript: str
    method: str
    probe: str
    kind: str
    survival: float
    reach: float
    tokens: int
    fetched: int
    finished: bool
    answer: str | None = None
    in_answer: float | None = None
    scores: tuple[Mapping[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of a method over all transcripts; shares in [0, 1], means over probes, None if nothing was measured.

    Attributes:
        survival, reach, finished, in_answer: the means of the fields of `Outcome`; by_kind: survival for each kind of
            probe, as ``(share, probes)``.
        ratio: tokens of the whole conversation per token of a prompt for a probe.
        context: mean tokens of such a prompt.
        task: tokens of all prompts for probes and of everything fetched, per finished probe.
        reuse: the mean share of a prompt that the next one starts with.
        prompts, over, invalid: the number of prompts during the conversations; how many exceed the budget; how many a
            provider would refuse.
        milliseconds: the median time to store messages and make the prompt.
        calls, sent, written: the calls of the model that writes summaries, and their tokens.
        scores: the judge's scores; None without a judge.
    """

    method: str
    probes: int
    survival: float
    reach: float
    finished: float
    by_kind: Mapping[str, tuple[float, int]]
    ratio: float
    context: float
    task: float | None
    reuse: float | None
    prompts: int
    over: int
    invalid: int
    milliseconds: float | None
    calls: int
    sent: int
    written: int
    in_answer: float | None = None
    scores: Scores | None = None


@dataclass(frozen=True, slots=True)
class Judging:
    """How far the judge can be trusted.

    Attributes:
        model: the judge's name.
        calls: the number of grades; malformed: unusable answers, which were requested again.
        failed: grades that never came in a usable form.
        agreement: of the pairs of answers to one probe, one with the gold and one without, the share in which the one
            with it was scored higher for accuracy; equal scores count half. None without such pairs.
        agreed_on: the number of such pairs.
        noise: the standard deviation of the overall score between grades of one answer; None if none was graded twice.
    """

    model: str
    calls: int
    malformed: int
    failed: int
    agreement: float | None
    agreed_on: int
    noise: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """The report of an evaluation.

    Attributes:
        setting: budget, models, version and time.
        transcripts: name, form, messages, tokens, truncated messages, and probes by kind of each transcript.
        probes: the transcript and all fields of each probe.
        methods: the figures of the methods, in the order in which they were named.
        outcomes: every probe with every method.
        judging: how far the judge can be trusted; None without a judge.
        failures: what failed and why: methods that could not run, answers that never came.
    """

    setting: Mapping[str, Any]
    transcripts: Sequence[Mapping[str, Any]]
    probes: Sequence[Mapping[str, Any]]
    methods: Sequence[Figures]
    outcomes: Sequence[Outcome]
    judging: Judging | None = None
    failures: Sequence[str] = field(default_factory=tuple)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        return asdict(self)

    def save(self, file: str | Path) -> None:
        """Write the report as JSON."""
        text = json.dumps(self.as_dict(), ensure_ascii=False, indent=1)
        Path(file).write_text(text + "\n", encoding="utf-8")

    @property
    def dimensions(self) -> list[Dimension]:
        """The dimensions that have scores."""
        return [d for d in Dimension if any(one.scores and d in one.scores.dimensions for one in self.methods)]

    def __repr__(self) -> str:
        best = max(self.methods, key=lambda one: one.survival, default=None)
        most = f"; most survives with {best.method} ({best.survival:.2f})" if best else ""
        methods, probes = counted(len(self.methods), "method"), counted(len(self.probes), "probe")
        return f"<Report {methods}, {probes} of {counted(len(self.transcripts), 'chat')}{most}>"


def figures(
    method: str,
    replays: Sequence[Mapping[str, Any]],
    outcomes: Sequence[Outcome],
    *,
    history: Mapping[str, int],
    scores: Scores | None = None,
) -> Figures:
    """The figures of one method.

    Args:
        method: its name.
        replays: the result of `replayed` for each transcript.
        outcomes: the outcomes of its probes, at least one.
        history: the tokens of each whole transcript, by name.
        scores: the judge's scores.
    """
    prompts = [replay["prompts"] for replay in replays]
    model = {name: sum(replay["model"][name] for replay in replays) for name in ("calls", "sent", "written")}
    seconds = [second for one in prompts for second in one["seconds"]]
    reuse = [one["reuse"] for one in prompts if one["reuse"] is not None]
    shares = [one.in_answer for one in outcomes if one.in_answer is not None]
    finished = sum(one.finished for one in outcomes)
    kinds: dict[str, list[float]] = {}
    for one in outcomes:
        kinds.setdefault(one.kind, []).append(one.survival)
    total = {name: sum(one[name] for one in prompts) for name in ("prompts", "over", "invalid")}
    return Figures(
        method=method,
        probes=len(outcomes),
        survival=statistics.fmean(one.survival for one in outcomes),
        reach=statistics.fmean(one.reach for one in outcomes),
        finished=finished / len(outcomes),
        by_kind={kind: (statistics.fmean(shares), len(shares)) for kind, shares in kinds.items()},
        ratio=statistics.fmean(history[one.transcript] / max(1, one.tokens) for one in outcomes),
        context=statistics.fmean(one.tokens for one in outcomes),
        task=sum(one.tokens + one.fetched for one in outcomes) / finished if finished else None,
        reuse=statistics.fmean(reuse) if reuse else None,
        prompts=total["prompts"],
        over=total["over"],
        invalid=total["invalid"],
        milliseconds=statistics.median(seconds) * 1e3 if seconds else None,
        calls=model["calls"],
        sent=model["sent"],
        written=model["written"],
        in_answer=statistics.fmean(shares) if shares else None,
        scores=scores,
    )
