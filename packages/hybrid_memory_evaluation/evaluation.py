"""`Evaluation`: methods replayed on conversations, a model's answers, a judge's grades, and the report of all of it."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from hybrid_memory import __version__
from hybrid_memory.apps.transcripts import Transcript
from hybrid_memory.display import counted, progress_bar
from hybrid_memory.errors import InvalidInputError, ModelError
from hybrid_memory.models.language import as_language_model
from hybrid_memory.models.tokenizers import token_counter as default_counter
from hybrid_memory.ports import LanguageModel
from hybrid_memory.text.tokens import TokenCounter, message_tokens
from hybrid_memory_evaluation.judging import Judge
from hybrid_memory_evaluation.judging.scores import CRITERIA, Grade, agreement, noise, order, scored
from hybrid_memory_evaluation.methods import chosen_methods, truncated
from hybrid_memory_evaluation.methods.method import Method, Setting
from hybrid_memory_evaluation.probing import probes_of
from hybrid_memory_evaluation.probing.probe import Probe
from hybrid_memory_evaluation.replaying import Journal, answered, replayed
from hybrid_memory_evaluation.report import Figures, Judging, Outcome, Report, figures

Case: TypeAlias = tuple[str, str, str]
"""Transcript, probe and method, by name."""

METHODS = (
    "anchored",
    "anchored-alone",
    "regenerate-alone",
    "compact-alone",
    "recursive-alone",
    "sliding-window",
    "none",
)
"""The methods compared by default: this library, its summaries alone, a window, and no compression."""

ANSWER_TOKENS = 120
GRADE_TOKENS = (2500, 700)
"""For the estimate: tokens of an answer; tokens that a judge reads and writes for a grade."""

TIMEOUT = timedelta(minutes=5)

NOTHING_TO_ASK = "has nothing to ask about: give probes"

NAMED = 3
"""How many transcripts the error names that there is nothing to evaluate."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of the model calls of an evaluation, made before it runs.

    Attributes:
        answers, grades: the numbers of calls.
        sent, written: tokens of all calls, including summaries if each turn is read once.
    """

    answers: int = 0
    grades: int = 0
    sent: int = 0
    written: int = 0

    def __str__(self) -> str:
        if not self.answers:
            return "no model is asked"
        calls = f"{counted(self.answers, 'answer')} and {counted(self.grades, 'grade')}"
        return f"{calls}: about {self.sent / 1e6:.2f} million tokens read and {self.written / 1e6:.2f} million written"


class Evaluation:
    """A comparison of methods that keep conversations within a budget: what survives, costs and a model's answers.

    Without a model, it measures which answers survive literally and which can be reached. With a model, the model
    writes summaries and answers the probes, and a judge grades the answers without knowing the method.

    Args:
        transcripts: conversations, see `read_transcript`. Those that fit the budget, or offer nothing to ask about, are
            left out.
        methods: names, see `found_methods`, or objects.
        max_tokens: the budget of every prompt.
        model: writes summaries and answers; a language model as for `open_memory`.
        judge: the model that grades; by default the same model.
        embedder: as for `open_memory`, or a name as in `MemoryConfig`, such as ``none``.
        token_counter: as for `open_memory`.
        probes: your own probes, by transcript name; by default they are made from the conversation.
        repeats: how often each answer is graded, to measure the spread.
        folder: keeps results in ``journal.jsonl``, so that an interrupted evaluation can continue.

    Attributes:
        probes: those of each transcript.
        left_out: transcripts that are not evaluated, with the reason.

    Raises:
        InvalidInputError: there are no transcripts, two have the same name, or all are left out; a probe has no keys or
            unknown sources; or a method is unknown.
    """

    def __init__(
        self,
        transcripts: Sequence[Transcript],
        methods: Sequence[str | Method] = METHODS,
        *,
        max_tokens: int = 2000,
        model: Any = None,
        judge: Any = None,
        embedder: Any = None,
        token_counter: TokenCounter | None = None,
        probes: Mapping[str, Sequence[Probe]] | None = None,
        repeats: int = 2,
        folder: str | Path | None = None,
    ) -> None:
        if model is None and judge is not None:
            raise InvalidInputError("a judge needs a model: give model=")
        if repeats < 1 or max_tokens < 1:
            raise InvalidInputError(f"repeats={repeats} or max_tokens={max_tokens} is too small")
        self._methods = chosen_methods(methods)
        count = token_counter or default_counter()
        answering = None if model is None else as_language_model(model, timeout=TIMEOUT)
        self._judge = answering if judge is None else as_language_model(judge, timeout=TIMEOUT)
        self._setting = Setting(max_tokens, count, answering, embedder)
        named = {chat.name: chat for chat in transcripts}
        if not named or len(named) < len(transcripts):
            raise InvalidInputError(
                "two transcripts have the same name: rename one" if named else "there are no transcripts"
            )
        self._truncated = {name: truncated(chat.messages, max_tokens, count) for name, chat in named.items()}
        values = {name: self._probes_of(chat, probes) for name, chat in named.items() if self._truncated[name]}
        self.probes = {name: made for name, made in values.items() if made}
        self._transcripts = {name: named[name] for name in self.probes}
        fits = f"fits into {max_tokens} tokens, so that nothing is compressed: give a smaller max_tokens"
        self.left_out = tuple(
            f"{name} {NOTHING_TO_ASK if self._truncated[name] else fits}" for name in named if name not in self.probes
        )
        if not self._transcripts:
            raise InvalidInputError("; ".join(self.left_out[:NAMED]))
        self._history = {
            name: sum(message_tokens(message, count) for message in chat.messages)
            for name, chat in self._transcripts.items()
        }
        self._repeats = repeats
        self._journal = Journal(None if folder is None else Path(folder) / "journal.jsonl")

    def _probes_of(self, chat: Transcript, given: Mapping[str, Sequence[Probe]] | None) -> list[Probe]:
        probes = list(given[chat.name]) if given and chat.name in given else probes_of(chat, self._truncated[chat.name])
        existing = {message.id for message in chat.messages}
        for probe in probes:
            if not probe.keys or not existing.issuperset(probe.sources):
                raise InvalidInputError(f"probe {probe.id} of {chat.name} has no keys, or unknown sources")
        if len({probe.id for probe in probes}) < len(probes):
            raise InvalidInputError(f"two probes of {chat.name} have the same id")
        return probes

    def estimate(self) -> Estimate:
        """An estimate of the model calls of `run`; makes no calls."""
        if self._setting.model is None:
            return Estimate()
        methods = len(self._methods)
        answers = sum(map(len, self.probes.values())) * methods
        grades = answers * self._repeats
        sent = sum(self._history.values()) * methods + answers * self._setting.max_tokens + grades * GRADE_TOKENS[0]
        return Estimate(answers, grades, sent, answers * ANSWER_TOKENS + grades * GRADE_TOKENS[1])

    def run(self, *, progress: bool | None = None) -> Report:
        """Run the evaluation, or the part that the journal does not have yet, and return the report.

        Methods, answers and grades that fail are left out and reported; the next run in the same folder tries them
        again.

        Args:
            progress: show a progress bar; None shows it on a terminal.

        Raises:
            InvalidInputError: every method failed.
        """
        failures: list[str] = []
        answering = self._setting.model
        answers_each = 0 if answering is None else sum(map(len, self.probes.values())) * (1 + self._repeats)
        steps = len(self._methods) * (len(self._transcripts) + answers_each)
        with progress_bar("evaluating", shown=progress, unit="step") as advance:
            done = 0

            def step() -> None:
                nonlocal done
                done += 1
                advance(done, steps)

            replays = self._replays(failures, step)
            results = {
                (name, one["probe"], method): one
                for (name, method), replay in replays.items()
                for one in replay["results"]
            }
            answers = {} if answering is None else self._answers(answering, results, failures, step)
            grades = {} if self._judge is None else self._grades(Judge(self._judge), answers, step)
        outcomes = [
            self._outcome(case, result, answers.get(case), grades.get(case, ())) for case, result in results.items()
        ]
        return Report(
            setting=self._described_setting(),
            transcripts=[self._described(chat) for chat in self._transcripts.values()],
            probes=[
                {"transcript": name, **probe.as_dict()} for name, probes in self.probes.items() for probe in probes
            ],
            methods=self._figures(replays, outcomes, grades),
            outcomes=outcomes,
            judging=None if self._judge is None else self._judging(self._judge.name, outcomes, grades),
            failures=tuple(failures),
        )

    def _replays(self, failures: list[str], step: Callable[[], None]) -> dict[tuple[str, str], dict[str, Any]]:
        """The replays by transcript and method; a method that fails is left out."""
        setting = self._setting
        models = [_named(setting.model), _named(setting.embedder)]
        replays = {}
        for name, chat in self._transcripts.items():
            asked = [probe.as_dict() for probe in self.probes[name]]
            for method in self._methods:
                key = ("replay", __version__, chat.digest, method.name, setting.max_tokens, models, asked)
                try:
                    by = partial(replayed, chat, method, self.probes[name], setting)
                    replays[name, method.name] = self._journal.done(*key, by=by)
                except Exception as error:  # noqa: BLE001 - a method of somebody else may raise anything
                    failures.append(f"{method.name} on {name}: {type(error).__name__}: {error}")
                step()
        if not replays:
            raise InvalidInputError("no method could be run: " + "; ".join(failures))
        return replays

    def _answers(
        self, model: LanguageModel, results: Mapping[Case, Mapping[str, Any]], failures: list[str],
        step: Callable[[], None],
    ) -> dict[Case, str]:  # fmt: skip
        answers = {}
        for case, result in results.items():
            asked = self._probe(case).question
            try:
                by = partial(answered, model, result["prompt"], asked)
                answers[case] = self._journal.done("answer", model.name, result["prompt"], asked, by=by)
            except ModelError as error:
                failures.append(f"no answer to {case[1]} of {case[0]} with {case[2]}: {error}")
            step()
        return answers

    def _grades(self, judge: Judge, answers: Mapping[Case, str], step: Callable[[], None]) -> dict[Case, list[Grade]]:
        """The grades of each answer, asked for in random order, so that the judge cannot tell the methods apart."""
        grades: dict[Case, list[Grade]] = defaultdict(list)
        cases = [(*case, repeat) for case in answers for repeat in range(self._repeats)]
        for *named, method, repeat in order(cases):
            case = (named[0], named[1], method)
            probe = self._probe(case)
            said = (one for one in self._transcripts[case[0]].messages if one.id in probe.sources)
            evidence = "\n\n".join(f"{message.role}: {message.text}" for message in said)
            given = (probe.as_dict(), evidence, answers[case])
            kept = self._journal.done(
                "grade", judge.name, repr(CRITERIA), given, method, repeat,
                by=lambda: asdict(judge.grade(probe, *given[1:])), final=lambda kept: not kept["failed"],  # noqa: B023
            )  # fmt: skip
            grades[case].append(Grade(**kept))
            step()
        return grades

    def _probe(self, case: Case) -> Probe:
        return next(probe for probe in self.probes[case[0]] if probe.id == case[1])

    def _outcome(self, case: Case, result: Mapping[str, Any], answer: str | None, grades: Sequence[Grade]) -> Outcome:
        chat, name, method = case
        probe = self._probe(case)
        return Outcome(
            transcript=chat,
            method=method,
            probe=name,
            kind=probe.kind.value,
            **{key: result[key] for key in ("survival", "reach", "tokens", "fetched", "finished")},
            answer=answer,
            in_answer=None if answer is None else probe.share(answer),
            scores=tuple(dict(grade.scores) for grade in grades if not grade.failed),
        )

    def _figures(
        self, replays: Mapping[tuple[str, str], dict[str, Any]], outcomes: Sequence[Outcome],
        grades: Mapping[Case, Sequence[Grade]],
    ) -> list[Figures]:  # fmt: skip
        made = []
        for name in (method.name for method in self._methods):
            own = [one for one in outcomes if one.method == name]
            graded = [grade for case, several in grades.items() if case[2] == name for grade in several]
            if own:
                by_chat = [replay for (_, method), replay in replays.items() if method == name]
                scores = scored(graded) if graded else None
                made.append(figures(name, by_chat, own, history=self._history, scores=scores))
        return made

    def _judging(self, name: str, outcomes: Sequence[Outcome], grades: Mapping[Case, Sequence[Grade]]) -> Judging:
        every = [grade for several in grades.values() for grade in several]
        shares = {(one.transcript, one.probe, one.method): one.in_answer or 0.0 for one in outcomes}
        share, pairs = agreement(
            (case[:2], shares[case], grade) for case, several in grades.items() for grade in several
        )
        return Judging(
            model=name,
            calls=len(every),
            malformed=sum(grade.malformed for grade in every),
            failed=sum(grade.failed for grade in every),
            agreement=share,
            agreed_on=pairs,
            noise=noise(grades.values()),
        )

    def _described(self, chat: Transcript) -> dict[str, Any]:
        kinds = [probe.kind.value for probe in self.probes[chat.name]]
        return {
            "name": chat.name,
            "form": chat.form,
            "messages": len(chat.messages),
            "tokens": self._history[chat.name],
            "truncated": self._truncated[chat.name],
            "probes": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        }

    def _described_setting(self) -> dict[str, Any]:
        return {
            "version": __version__,
            "python": platform.python_version(),
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "max_tokens": self._setting.max_tokens,
            "model": _named(self._setting.model),
            "judge": _named(self._judge),
            "embedder": _named(self._setting.embedder),
            "repeats": self._repeats,
            "left_out": list(self.left_out),
        }

    def __repr__(self) -> str:
        names = ", ".join(method.name for method in self._methods)
        chats = counted(len(self._transcripts), "chat")
        return f"<Evaluation of {names} on {chats} at {self._setting.max_tokens} tokens>"


def _named(model: Any) -> str | None:
    return model if model is None or isinstance(model, str) else getattr(model, "name", type(model).__name__)
