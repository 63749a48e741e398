"""One run of an evaluation: replays, answers, grades, comparisons; results in the journal are reused."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias

from hybrid_memory import __version__
from hybrid_memory.apps.transcripts.transcript import Transcript
from hybrid_memory.display import Progress
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.ports import LanguageModel
from hybrid_memory_evaluation.judging import Judge
from hybrid_memory_evaluation.judging.rubric import CRITERIA
from hybrid_memory_evaluation.judging.scores import (
    Grade,
    Verdict,
    agreement,
    consistency,
    noise,
    order,
    pairs,
    scored,
)
from hybrid_memory_evaluation.measures import Prices
from hybrid_memory_evaluation.methods.method import Method, Setting
from hybrid_memory_evaluation.probing.probe import Probe
from hybrid_memory_evaluation.replaying import Journal, answered, replayed
from hybrid_memory_evaluation.report import Figures, Judging, Outcome, Report, figures

Case: TypeAlias = tuple[str, str, str]
"""Transcript, probe and method, by name."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The work to do.

    Attributes:
        transcripts: by name; probes: the probes of each; history: the tokens of each; truncated: the number of
            truncated messages of each.
        left_out: transcripts that are not evaluated, with the reason.
        judge: the model that grades; None if no questions are answered.
    """

    transcripts: Mapping[str, Transcript]
    methods: Sequence[Method]
    setting: Setting
    probes: Mapping[str, Sequence[Probe]]
    history: Mapping[str, int]
    truncated: Mapping[str, int]
    left_out: Sequence[str]
    judge: LanguageModel | None
    repeats: int
    prices: Prices | None
    seed: int
    journal: Journal

    @property
    def steps(self) -> int:
        """How many results there will be."""
        probes = sum(map(len, self.probes.values()))
        replays = len(self.transcripts) * len(self.methods)
        if self.setting.model is None:
            return replays
        return replays + probes * len(self.methods) * (1 + self.repeats) + probes * (len(self.methods) > 1)


class Run:
    """A run of a plan.

    Args:
        plan: the work to do.
        advance: called after each step.
    """

    def __init__(self, plan: Plan, advance: Progress) -> None:
        self._plan = plan
        self._advance = advance
        self._done = 0
        self._failures: list[str] = []
        self._judge = None if plan.judge is None else Judge(plan.judge)
        self._probes = {(name, probe.id): probe for name, several in plan.probes.items() for probe in several}

    def report(self) -> Report:
        """Do all the work and return the report.

        Raises:
            InvalidInputError: every method failed.
        """
        plan = self._plan
        replays = self._replays()
        result = {
            (name, one["probe"], method): one for (name, method), replay in replays.items() for one in replay["found"]
        }
        answers = {} if plan.setting.model is None else self._answers(plan.setting.model, result)
        grades = {} if self._judge is None else self._grades(self._judge, answers)
        verdicts = [] if self._judge is None else self._verdicts(self._judge, answers)
        outcomes = [self._outcome(case, one, answers.get(case), grades.get(case, ())) for case, one in result.items()]
        return Report(
            setting=self._setting(),
            transcripts=[self._described(chat) for chat in plan.transcripts.values()],
            probes=[{"transcript": name, **probe.as_dict()} for (name, _), probe in self._probes.items()],
            methods=self._figures(replays, outcomes, grades),
            outcomes=outcomes,
            judging=None if self._judge is None else self._judging(outcomes, grades, verdicts),
            failures=tuple(self._failures),
        )

    def _stepped(self) -> None:
        self._done += 1
        self._advance(self._done, self._plan.steps)

    def _replays(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The replays by transcript and method; a method that fails is left out."""
        plan, setting = self._plan, self._plan.setting
        models = [_named(model) for model in (setting.model, setting.embedder, setting.compressor)]
        replays = {}
        for name, chat in plan.transcripts.items():
            asked = [probe.as_dict() for probe in plan.probes[name]]
            for method in plan.methods:
                key = ("replay", __version__, chat.digest, method.name, setting.max_tokens, models, asked)
                try:
                    by = partial(replayed, chat, method, plan.probes[name], setting)
                    replays[name, method.name] = plan.journal.done(*key, by=by)
                except Exception as error:  # noqa: BLE001 - a method of somebody else may raise anything
                    self._failures.append(f"{method.name} on {name}: {type(error).__name__}: {error}")
                self._stepped()
        if not replays:
            raise InvalidInputError("no method could be run: " + "; ".join(self._failures))
        return replays

    def _answers(self, model: LanguageModel, result: Mapping[Case, Mapping[str, Any]]) -> dict[Case, str]:
        answers = {}
        for case, one in result.items():
            asked = self._probes[case[:2]].question
            try:
                by = partial(answered, model, one["prompt"], asked)
                answers[case] = self._plan.journal.done("answer", model.name, one["prompt"], asked, by=by)
            except ModelError as error:
                self._failures.append(f"no answer to {case[1]} of {case[0]} with {case[2]}: {error}")
            self._stepped()
        return answers

    def _grades(self, judge: Judge, answers: Mapping[Case, str]) -> dict[Case, list[Grade]]:
        grades: dict[Case, list[Grade]] = defaultdict(list)
        cases = [(*case, repeat) for case in answers for repeat in range(self._plan.repeats)]
        for chat, probe, method, repeat in order(cases, self._plan.seed):
            case, asked = (chat, probe, method), self._probes[chat, probe]
            given = (asked.as_dict(), self._evidence(chat, probe), answers[case])
            by = partial(_kept, judge.grade, asked, *given[1:])
            key = ("grade", judge.name, repr(CRITERIA), given, method, repeat)
            kept = self._plan.journal.done(*key, by=by, final=_graded)
            grades[case].append(Grade.of(kept))
            self._stepped()
        return grades

    def _verdicts(self, judge: Judge, answers: Mapping[Case, str]) -> list[Verdict]:
        """The verdicts on one random pair of methods for each probe, asked in both orders."""
        verdicts = []
        methods = [method.name for method in self._plan.methods]
        named = {f"{chat}/{probe}": (chat, probe) for chat, probe in self._probes}
        for name, one, other in pairs(list(named), methods, self._plan.seed):
            self._stepped()
            chat, probe = named[name]
            if (chat, probe, one) not in answers or (chat, probe, other) not in answers:
                continue
            asked, two = self._probes[chat, probe], (answers[chat, probe, one], answers[chat, probe, other])
            evidence = self._evidence(chat, probe)
            by = partial(_kept, judge.compare, asked, evidence, *two)
            kept = self._plan.journal.done("verdict", judge.name, asked.as_dict(), evidence, two, by=by, final=_graded)
            verdicts.append(Verdict.of(kept))
        return verdicts

    def _evidence(self, chat: str, probe: str) -> str:
        """The words of the probe's sources."""
        wanted = set(self._probes[chat, probe].sources)
        return "\n\n".join(
            f"{message.role}: {message.text}"
            for message in self._plan.transcripts[chat].messages
            if message.id in wanted
        )

    def _outcome(self, case: Case, result: Mapping[str, Any], answer: str | None, grades: Sequence[Grade]) -> Outcome:
        chat, name, method = case
        probe = self._probes[chat, name]
        rows = [row for row, message in enumerate(self._plan.transcripts[chat].messages) if message.id in probe.sources]
        return Outcome(
            transcript=chat,
            method=method,
            probe=name,
            kind=probe.kind.value,
            age=len(self._plan.transcripts[chat].messages) - 1 - max(rows, default=-1),
            **{key: result[key] for key in ("survival", "reach", "tokens", "fetched", "finished")},
            answer=answer,
            told=None if answer is None else probe.found(answer),
            scores=tuple(dict(grade.scores) for grade in grades if not grade.failed),
        )

    def _figures(
        self, replays: Mapping[tuple[str, str], dict[str, Any]], outcomes: Sequence[Outcome],
        grades: Mapping[Case, Sequence[Grade]],
    ) -> list[Figures]:  # fmt: skip
        made = []
        for name in (method.name for method in self._plan.methods):
            own = [one for one in outcomes if one.method == name]
            graded = [grade for case, several in grades.items() if case[2] == name for grade in several]
            if own:
                made.append(
                    figures(
                        name,
                        [replay for (_, method), replay in replays.items() if method == name],
                        own,
                        history=self._plan.history,
                        prices=self._plan.prices,
                        scores=scored(graded) if graded else None,
                    )
                )
        return made

    def _judging(
        self, outcomes: Sequence[Outcome], grades: Mapping[Case, Sequence[Grade]], verdicts: Sequence[Verdict]
    ) -> Judging:
        every = [grade for several in grades.values() for grade in several]
        values = {(one.transcript, one.probe, one.method): one.told or 0.0 for one in outcomes}
        agreed = agreement((case[:2], values[case], grade) for case, several in grades.items() for grade in several)
        return Judging(
            model=self._judge.name if self._judge else "",
            calls=len(every) + 2 * len(verdicts),
            malformed=sum(one.malformed for one in every) + sum(one.malformed for one in verdicts),
            failed=sum(one.failed for one in every) + sum(one.failed for one in verdicts),
            pairs=len(verdicts),
            consistency=consistency(verdicts),
            agreement=agreed.share if agreed else None,
            agreed_on=agreed.pairs if agreed else 0,
            noise=noise(grades.values()),
        )

    def _described(self, chat: Transcript) -> dict[str, Any]:
        kinds = [probe.kind.value for probe in self._plan.probes[chat.name]]
        return {
            "name": chat.name,
            "form": chat.form,
            "messages": len(chat.messages),
            "tokens": self._plan.history[chat.name],
            "truncated": self._plan.truncated[chat.name],
            "probes": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        }

    def _setting(self) -> dict[str, Any]:
        plan, setting = self._plan, self._plan.setting
        return {
            "version": __version__,
            "python": platform.python_version(),
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "max_tokens": setting.max_tokens,
            "model": getattr(setting.model, "name", None),
            "judge": getattr(plan.judge, "name", None),
            "embedder": _named(setting.embedder),
            "repeats": plan.repeats,
            "seed": plan.seed,
            "left_out": list(plan.left_out),
            "prices": None if plan.prices is None else asdict(plan.prices),
        }


def _kept(ask: Callable[..., Grade | Verdict], *given: Any) -> dict[str, Any]:
    return ask(*given).as_dict()


def _graded(kept: Mapping[str, Any]) -> bool:
    return not kept["failed"]


def _named(model: Any) -> str | None:
    return model if model is None or isinstance(model, str) else getattr(model, "name", type(model).__name__)
