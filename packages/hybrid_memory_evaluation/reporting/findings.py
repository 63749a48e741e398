"""Findings: the figures in sentences, one each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hybrid_memory_evaluation.report import Figures, Judging, Report
from hybrid_memory_evaluation.reporting.columns import keeping, number, overall, percent, points


def findings(report: Report) -> list[str]:
    """The findings as sentences, most important first."""
    within = keeping(report)
    results = [*_broken(report)]
    if within:
        results = [*_survival(report, within), *_finished(within), *_judged(report, within), *results, *_costs(within)]
    if report.judging:
        results += _trust(report.judging)
    return results


def _broken(report: Report) -> list[str]:
    """Methods whose prompts exceed the budget or break providers' rules."""
    results = []
    for what, count in (("were longer than the budget", "over"), ("a provider would refuse", "invalid")):
        lines = [
            f"{getattr(one, count):,} of {one.prompts:,} with {_named(one.method)}"
            for one in report.methods
            if getattr(one, count)
        ]
        if lines:
            results.append(f"Prompts that {what}: {_listed(lines)}; not counted when the best is named.")
    return results


def _survival(report: Report, within: Sequence[Figures]) -> list[str]:
    ranked = sorted(within, key=lambda one: -one.survival)
    top, share = _top(ranked, lambda one: one.survival)
    text = (
        f"Within {report.setting['max_tokens']:,} tokens, most survived with {_listed(top)}: {share} of the answers to "
        f"{ranked[0].probes:,} questions were literally in the prompt."
    )
    if len(top) == len(ranked):
        return [text]
    other = ranked[len(top)]
    text += f" Next came {_named(other.method)} with {percent(other.survival)}."
    return [text, _side_by_side(report, ranked[0].method, other.method)]


def _side_by_side(report: Report, one: str, other: str) -> str:
    """How often one kept more of an answer than the other, to show how far the means can be trusted."""
    kept = {(outcome.method, outcome.transcript, outcome.probe): outcome.survival for outcome in report.outcomes}
    pairs = [
        (share, kept[other, chat, probe])
        for (method, chat, probe), share in kept.items()
        if method == one and (other, chat, probe) in kept
    ]
    more, less = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    return (
        f"Question by question, {_named(one)} kept more than {_named(other)} {_times(more)}, less {_times(less)}, "
        f"and the same {_times(len(pairs) - more - less)}."
    )


def _finished(within: Sequence[Figures]) -> list[str]:
    results = []
    ranked = sorted(within, key=lambda one: -one.finished)
    if ranked[0].finished > 0:
        top, share = _top(ranked, lambda one: one.finished)
        results.append(f"If the model may also fetch, most questions were finished with {_listed(top)}: {share}.")
    tasks = sorted((one.task, one.method) for one in within if one.task is not None)
    if tasks and number(tasks[0][0]) != number(tasks[-1][0]):
        (least, lean), (most, heavy) = tasks[0], tasks[-1]
        results.append(
            f"A finished question took the fewest tokens with {_named(lean)} ({number(least)}), the most with "
            f"{_named(heavy)} ({number(most)})."
        )
    return results


def _costs(within: Sequence[Figures]) -> list[str]:
    reused = sorted(((one.reuse, one.method) for one in within if one.reuse is not None), reverse=True)
    if not reused or percent(reused[0][0]) == percent(reused[-1][0]):
        return []
    (most, steady), (least, changing) = reused[0], reused[-1]
    text = f"Consecutive prompts shared the longest beginning with {_named(steady)} ({percent(most)} of a prompt), "
    return [f"{text}the shortest with {_named(changing)} ({percent(least)})."]


def _judged(report: Report, within: Sequence[Figures]) -> list[str]:
    ranked = sorted(((score, one.method) for one in within if (score := overall(one)) is not None), reverse=True)
    if len(ranked) < 2:  # noqa: PLR2004 - nothing to compare
        return []
    (high, first), (low, second) = ranked[:2]
    text = (
        f"The judge gave the answers with {_named(first)} the highest score, {points(high)} of 5, then "
        f"{_named(second)}, {points(low)}."
    )
    noise = report.judging.noise if report.judging else None
    if noise is not None and high - low < noise:
        text += f" The difference is smaller than the deviation between two grades of one answer ({points(noise)})."
    return [text]


def _trust(judging: Judging) -> list[str]:
    results = []
    if judging.agreement is not None:
        results.append(
            f"Of {judging.agreed_on:,} pairs of answers to one question, one with the true answer and one without, "
            f"the judge preferred the true one in {percent(judging.agreement)}; guessing gets 50 %."
        )
    if judging.consistency is not None:
        results.append(
            f"Asked which of two answers is better, it named the same one in both orders in "
            f"{percent(judging.consistency)} of {judging.pairs:,} comparisons."
        )
    return results


def _top(ranked: Sequence[Figures], value: Callable[[Figures], float]) -> tuple[list[str], str]:
    """All methods that share the first place, as displayed."""
    share = percent(value(ranked[0]))
    return [_named(one.method) for one in ranked if percent(value(one)) == share], share


def _named(method: str) -> str:
    """The name in quotes, since one method is called none."""
    return f"“{method}”"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count:,} times")
