"""The summary of a span: from a language model where there is one, checked; else deterministic."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hybrid_memory.context.summaries.lines import candidates, chosen, close, merged
from hybrid_memory.context.summaries.strategy import Job, Strategy
from hybrid_memory.context.summaries.survival import measured, unsaid
from hybrid_memory.context.summary import Line
from hybrid_memory.errors import ModelError
from hybrid_memory.log.event import Event
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.text.tokenize import cjk_share, terms

RELATED = 0.25
"""A line that shares less of its terms with the turns, or with what stood before, is made up."""

OTHER_SCRIPT = 0.5
"""Difference in the share of Chinese beyond which words of the one cannot be looked for in the other."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Written:
    """A summary after a span: all lines, those that are new, whether the model failed, how many lines were put back."""

    lines: list[Line]
    fresh: list[Line]
    failed: bool = False
    filled: int = 0


async def summarise(run: Runner, services: Services, way: Strategy, job: Job, ledger: str) -> Written:
    """The model's summary with the critical items that it dropped put back, or the deterministic one."""
    lines: list[Line] | None = None
    failed = False
    try:
        lines = await asked(run, services, way, job)
    except ModelError as error:
        _log.warning("%s; summarised without it", error)
        failed = True
    filled = 0
    if lines is None:
        lines = way.extract(job)
    else:
        lines, filled = _completed(lines, job, ledger)
    return Written(*_measured(lines, job.standing, job.span), failed=failed, filled=filled)


async def again(run: Runner, services: Services, way: Strategy, job: Job, ledger: str) -> Written | None:
    """The lines with those of a span that the model failed on before made anew; None if it fails again."""
    first, last = job.span[0].position, job.span[-1].position
    outside = [line for line in job.standing if not (first <= line.first and line.last <= last)]
    job = replace(job, standing=outside)
    try:
        lines = await asked(run, services, way, job)
    except ModelError as error:
        _log.warning("%s; the deterministic summary stays", error)
        return None
    if lines is None:
        return None
    lines, filled = _completed(lines, job, ledger)
    return Written(*_measured(lines, outside, job.span), filled=filled)


def _measured(lines: Sequence[Line], standing: Sequence[Line], span: Sequence[Event]) -> tuple[list[Line], list[Line]]:
    """All lines, and the new ones of them, which now have their closeness."""
    known = set(standing)
    fresh = iter(measured([line for line in lines if line not in known], span))
    everything = [line if line in known else next(fresh) for line in lines]
    return everything, [line for line in everything if line not in known]


async def asked(run: Runner, services: Services, way: Strategy, job: Job) -> list[Line] | None:
    """The lines after a model was asked; None if there is none to ask; raises `ModelError`, whatever went wrong."""
    questions = way.prompt(job)
    if not questions or not job.span:
        return None
    try:
        if way.name == "llmlingua":
            if services.compressor is None:
                return None
            text = questions[0].text
            answer: object = await run.call(services.compressor.compress, text, max_tokens=job.room.shown)
        elif services.language_model is None:
            return None
        elif way.schema is None:
            answer = await run.call(services.language_model.complete, questions)
        else:
            answer = await run.call(services.language_model.structured, questions, way.schema)
        lines = _related(way.read(answer, job), job)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"no summary by {way.name}: {type(error).__name__}: {error}") from error
    return lines


def _related(lines: list[Line], job: Job) -> list[Line]:
    """The lines without those that the turns have hardly a word of, in their own script; ValueError if none is left."""
    fresh = _measured(lines, job.standing, job.span)[1]
    told = " ".join(event.message.text[:1000] for event in job.span)
    if not fresh or abs(cjk_share(" ".join(line.text for line in fresh)) - cjk_share(told)) > OTHER_SCRIPT:
        return lines
    known = {term for line in job.standing for term in terms(line.text)}
    made_up = {line.text for line in fresh if max(line.closeness, close(line, known).closeness) < RELATED}
    kept = [line for line in lines if line.text not in made_up]
    if made_up and len(made_up) == len({line.text for line in fresh}):
        raise ValueError(f"the answer has nothing to do with the turns: {fresh[0].text[:80]!r}")
    return kept


def _completed(lines: Sequence[Line], job: Job, ledger: str) -> tuple[list[Line], int]:
    """The model's lines and the sentences with critical items that it dropped, as far as there is room."""
    lost = unsaid(job.span, lines, ledger)
    wanted = {item.lower() for items in lost.values() for item in items}
    offered = [
        line
        for line in candidates([event for event in job.span if event.position in lost], job.room.cleaning)
        if any(item in line.text.lower() for item in wanted)
    ]
    added = chosen(offered, max_tokens=job.room.fresh, count=job.room.count, besides=lines)
    return merged(lines, added, max_tokens=job.room.standing, count=job.room.count), len(added)
