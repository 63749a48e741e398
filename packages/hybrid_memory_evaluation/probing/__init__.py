"""Questions about an earlier part of a conversation, made from the conversation itself, without a model.

They come from the artifact ledger (``by`` is ``ledger``), and from sentences with cues of a decision (``decisions``),
of a next step (``next steps``), or with a figure, a date or a name (``statements``). The deterministic summaries of
this library use the same cues, so these probes favour them: what a cue misses is never asked. Probes written by
people do not have this bias.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hybrid_memory.apps.transcripts import Transcript
from hybrid_memory_evaluation.probing.decisions import decision_probes
from hybrid_memory_evaluation.probing.probe import History, Probe, ProbeKind, held, plain
from hybrid_memory_evaluation.probing.statements import record_probes, statement_probes
from hybrid_memory_evaluation.probing.work import artifact_probes, continuation_probes, error_probes

MAX_PER_KIND = 10


def probes_of(transcript: Transcript, truncated: int) -> list[Probe]:
    """Questions about the truncated messages, with answers that are still true at the end; deterministic.

    Ordered by kind, oldest first. Of more than ten of a kind, an even spread is kept, preferring those that the visible
    messages do not answer. All keys of a probe occur literally in its sources, and none in its question.

    Args:
        transcript: the whole conversation.
        truncated: how many of its first messages are no longer visible.
    """
    history = History(transcript, truncated)
    if not history.past:
        return []
    probes: list[Probe] = []
    for kind, sources in (
        (ProbeKind.ARTIFACT, [artifact_probes(history)]),
        (ProbeKind.RECALL, [[*error_probes(history), *record_probes(history)], statement_probes(history)]),
        (ProbeKind.DECISION, [decision_probes(history)]),
        (ProbeKind.CONTINUATION, [continuation_probes(history)]),
    ):
        chosen: list[Probe] = []
        for offered in sources:
            fresh = _distinct(history, offered, chosen)
            # What comes later fills the room that is left.
            hidden = [probe for probe in fresh if history.hides(probe)]
            for several in (hidden, [probe for probe in fresh if probe not in hidden]):
                chosen += _spread(history, several, MAX_PER_KIND - len(chosen))
        chosen.sort(key=lambda probe: history.rows[probe.sources[0]])
        probes += [replace(probe, id=f"{kind}-{number}") for number, probe in enumerate(chosen, 1)]
    return probes


def _distinct(history: History, offered: Iterable[Probe], before: Sequence[Probe]) -> list[Probe]:
    """The fair probes, oldest first; the newest of equal questions, the first of equal answers.

    Probes whose answer earlier probes reveal are dropped.
    """
    fair: dict[str, Probe] = {}
    for probe in offered:
        if (checked := history.checked(probe)) is not None:
            fair[plain(checked.question)] = checked
    answers = {_answer(probe) for probe in before}
    lines = [(source, plain(probe.gold)) for probe in before for source in probe.sources]
    results: list[Probe] = []
    for probe in sorted(fair.values(), key=lambda probe: history.rows[probe.sources[0]]):
        within = [gold for source, gold in lines if source in probe.sources and probe.by != "ledger"]
        if _answer(probe) not in answers and not any(held(gold, key) for gold in within for key in probe.keys):
            answers.add(_answer(probe))
            lines += [(source, plain(probe.gold)) for source in probe.sources]
            results.append(probe)
    return results


def _answer(probe: Probe) -> frozenset[str]:
    return frozenset(map(plain, probe.keys))


def _spread(history: History, probes: Sequence[Probe], room: int) -> list[Probe]:
    """This many of the probes, evenly spread over the truncated part."""
    if len(probes) <= room:
        return list(probes)
    if room < 1:
        return []
    kept: list[Probe] = []
    for slot in range(room):
        middle = (slot + 0.5) * history.truncated / room
        left = [probe for probe in probes if probe not in kept]
        kept.append(min(left, key=lambda probe: (abs(history.rows[probe.sources[0]] - middle), probe.question)))
    return kept
