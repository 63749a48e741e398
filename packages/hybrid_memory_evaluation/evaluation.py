"""`Evaluation`: the methods to compare, an estimate of the cost, and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from hybrid_memory.apps.transcripts.transcript import Transcript
from hybrid_memory.display import progress_bar
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.models.language import as_language_model
from hybrid_memory.models.tokenizers import token_counter as default_counter
from hybrid_memory.ports import TextCompressor
from hybrid_memory.text.tokens import TokenCounter, message_tokens
from hybrid_memory_evaluation.measures import Prices
from hybrid_memory_evaluation.methods import chosen_methods
from hybrid_memory_evaluation.methods.method import Method, Setting
from hybrid_memory_evaluation.methods.own import truncated
from hybrid_memory_evaluation.probing import probes_of
from hybrid_memory_evaluation.probing.probe import Probe
from hybrid_memory_evaluation.probing.writing import written_probes
from hybrid_memory_evaluation.replaying import Journal
from hybrid_memory_evaluation.report import Report
from hybrid_memory_evaluation.running import Plan, Run

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

NOTHING_TO_ASK = "has nothing to ask about: give probes, or a model and written="

NAMED = 3
"""How many transcripts a reason names."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of the model calls of an evaluation, made before it runs.

    Attributes:
        answers, grades, comparisons: the numbers of calls.
        sent, written: tokens of all calls, including summaries if each turn is read once.
        cost: the cost at the given prices; None without prices.
    """

    answers: int = 0
    grades: int = 0
    comparisons: int = 0
    sent: int = 0
    written: int = 0
    cost: float | None = None

    def __str__(self) -> str:
        if not self.answers:
            return "no model is asked"
        cost = "" if self.cost is None else f", about {self.cost:.2f} at the prices given"
        return (
            f"{self.answers} answers, {self.grades} grades and {self.comparisons} comparisons: "
            f"about {self.sent / 1e6:.2f} million tokens read and {self.written / 1e6:.2f} million written{cost}"
        )


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
        compressor, token_counter: as for `open_memory`.
        probes: your own probes, by transcript name; by default they are made from the conversation.
        written: how many additional probes the model writes for each transcript.
        repeats: how often each answer is graded, to measure the spread.
        prices: the prices for the cost.
        seed: the seed of the random order in which the judge is asked.
        folder: keeps results in ``journal.jsonl``, so that an interrupted evaluation can continue.

    Attributes:
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
        compressor: TextCompressor | None = None,
        token_counter: TokenCounter | None = None,
        probes: Mapping[str, Sequence[Probe]] | None = None,
        written: int = 0,
        repeats: int = 2,
        prices: Prices | None = None,
        seed: int = 0,
        folder: str | Path | None = None,
    ) -> None:
        if model is None and (judge is not None or written):
            raise InvalidInputError("a judge and written probes need a model: give model=")
        if repeats < 1 or max_tokens < 1 or written < 0:
            raise InvalidInputError(f"repeats={repeats}, max_tokens={max_tokens} or written={written} is too small")
        self._methods = chosen_methods(methods)
        count = token_counter or default_counter()
        answering = None if model is None else as_language_model(model, timeout=TIMEOUT)
        self._judge = answering if judge is None else as_language_model(judge, timeout=TIMEOUT)
        self._setting = Setting(max_tokens, count, answering, embedder, compressor)
        self._written = written
        named = _by_name(transcripts)
        self._truncated = {name: truncated(chat.messages, max_tokens, count) for name, chat in named.items()}
        values = {name: self._exact_probes(chat, probes) for name, chat in named.items() if self._truncated[name]}
        self._exact = {name: made for name, made in values.items() if made or written}
        self._transcripts = {name: named[name] for name in self._exact}
        self.left_out = self._reasons(named)
        if not self._transcripts:
            raise InvalidInputError("; ".join(self.left_out_by_reason))
        self._history = {
            name: sum(message_tokens(message, count) for message in chat.messages)
            for name, chat in self._transcripts.items()
        }
        self._repeats = repeats
        self._prices = prices
        self._seed = seed
        self._journal = Journal(None if folder is None else Path(folder) / "journal.jsonl")

    def _reasons(self, named: Mapping[str, Transcript]) -> tuple[str, ...]:
        return tuple(
            f"{name} {NOTHING_TO_ASK if self._truncated[name] else self._fits}"
            for name in named
            if name not in self._exact
        )

    @property
    def _fits(self) -> str:
        return f"fits into {self._setting.max_tokens} tokens, so that nothing is compressed: give a smaller max_tokens"

    @property
    def left_out_by_reason(self) -> tuple[str, ...]:
        """The transcripts that are not evaluated, in one line for each reason."""
        lines = []
        for reason in (self._fits, NOTHING_TO_ASK):
            names = [line.removesuffix(f" {reason}") for line in self.left_out if line.endswith(f" {reason}")]
            if len(names) > NAMED:
                names = [*names[:NAMED], f"{len(names) - NAMED:,} more"]
            if len(names) > 1:
                lines.append(f"each of {', '.join(names[:-1])} and {names[-1]} {reason}")
            elif names:
                lines.append(f"{names[0]} {reason}")
        return tuple(lines)

    def _exact_probes(self, chat: Transcript, given: Mapping[str, Sequence[Probe]] | None) -> list[Probe]:
        probes = list(given[chat.name]) if given and chat.name in given else probes_of(chat, self._truncated[chat.name])
        existing = {message.id for message in chat.messages}
        for probe in probes:
            if not probe.keys or not existing.issuperset(probe.sources):
                raise InvalidInputError(f"probe {probe.id} of {chat.name} has no keys, or unknown sources")
        if len({probe.id for probe in probes}) < len(probes):
            raise InvalidInputError(f"two probes of {chat.name} have the same id")
        return probes

    @cached_property
    def probes(self) -> dict[str, list[Probe]]:
        """The probes of each transcript: made from the conversation, then written by the model, which this calls."""
        return {name: [*exact, *self._asked_for(self._transcripts[name])] for name, exact in self._exact.items()}

    def _asked_for(self, chat: Transcript) -> list[Probe]:
        model = self._setting.model
        if not self._written or model is None:
            return []
        before = self._truncated[chat.name]
        kept = self._journal.done(
            "written", chat.digest, before, model.name, self._written,
            by=lambda: [one.as_dict() for one in written_probes(chat, before, model, count=self._written).probes],
        )  # fmt: skip
        return [Probe.of(values) for values in kept]

    def estimate(self) -> Estimate:
        """An estimate of the model calls of `run`; makes no calls."""
        if self._setting.model is None:
            return Estimate()
        methods = len(self._methods)
        probes = sum(map(len, self._exact.values())) + self._written * len(self._transcripts)
        answers, compared = probes * methods, 2 * probes * (methods > 1)
        grades = answers * self._repeats
        sent = sum(self._history.values()) * methods + answers * self._setting.max_tokens
        sent += (grades + compared) * GRADE_TOKENS[0]
        written = answers * ANSWER_TOKENS + (grades + compared) * GRADE_TOKENS[1]
        cost = None if self._prices is None else self._prices.cost(sent, written)
        return Estimate(answers, grades, compared, sent, written, cost)

    def run(self, *, progress: bool | None = None) -> Report:
        """Run the evaluation, or the part that the journal does not have yet, and return the report.

        Methods, answers and grades that fail are left out and reported; the next run in the same folder tries them
        again.

        Args:
            progress: show a progress bar; None shows it on a terminal.

        Raises:
            InvalidInputError: every method failed.
        """
        plan = Plan(
            transcripts=self._transcripts,
            methods=self._methods,
            setting=self._setting,
            probes=self.probes,
            history=self._history,
            truncated=self._truncated,
            left_out=self.left_out,
            judge=self._judge,
            repeats=self._repeats,
            prices=self._prices,
            seed=self._seed,
            journal=self._journal,
        )
        with progress_bar("evaluating", shown=progress, unit="step") as advance:
            return Run(plan, advance).report()

    def __repr__(self) -> str:
        names = ", ".join(method.name for method in self._methods)
        return f"<Evaluation of {names} on {len(self._transcripts)} chats at {self._setting.max_tokens} tokens>"


def _by_name(transcripts: Sequence[Transcript]) -> dict[str, Transcript]:
    named = {chat.name: chat for chat in transcripts}
    if not named:
        raise InvalidInputError("there are no transcripts")
    if len(named) < len(transcripts):
        raise InvalidInputError("two transcripts have the same name: rename one")
    return named
