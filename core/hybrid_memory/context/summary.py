"""The summary of turns that no longer fit: lines with their sources, and the audit of what survived."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter

from hybrid_memory import display
from hybrid_memory.artifacts.ledger import Ledger, render
from hybrid_memory.log.event import handle
from hybrid_memory.log.message import MARKED, Origin
from hybrid_memory.text.speakers import is_chinese, origin_name, within_line
from hybrid_memory.text.tokens import estimate_tokens

LEDGER_TOKENS = 20_000  # of the artifacts, apart from a prompt, which shows what fits


class Section(StrEnum):
    """The sections of a summary, in the order of a prompt."""

    INTENT = "intent"
    DECISIONS = "decisions"
    NEXT_STEPS = "next_steps"
    FACTS = "facts"
    QUESTIONS = "questions"
    NOTES = "notes"


@dataclass(frozen=True, slots=True)
class Line:
    """One statement of a summary.

    Attributes:
        sources: ids of the events it came from.
        first, last: log positions of the first and last turn it covers.
        importance: in [0, 1]; the least important lines are left out first.
        coverage: the share of its terms that occur in the turns it covers, in [0, 1]; 1 for a quotation.
        origin: whose words it contains, the lowest of its sources; None if unknown.
    """

    section: Section
    text: str
    sources: tuple[str, ...]
    first: int
    last: int
    importance: float = 0.5
    coverage: float = 1.0
    origin: Origin | None = None

    @property
    def handle(self) -> str:
        """Pass this to `expand` to see the original turns: ``#12``, or ``#12-40``."""
        return handle(self.first, self.last)

    def __repr__(self) -> str:
        return f"<Line {self.section}: {self.text} [{self.handle}]>"


@dataclass(frozen=True, slots=True)
class Audit:
    """What became of the critical items in compacted turns: paths, numbers, dates, ids, names, decisions.

    Of several compactions it adds up what each did: a line may have left the summary since.

    Attributes:
        compactions: how many compactions this covers.
        items: how many critical items there were; each is counted once, in the first of the next three that applies.
        in_summary, in_ledger, in_log: how many are literally in a line that fits a prompt, in the artifact ledger,
            or only in the log, where `expand` shows them.
        coverage: the mean of `Line.coverage` over the lines written, in [0, 1].
        lines: how many lines were written.
        fallbacks: compactions whose model failed, so that the summary was made by rules.
        filled: lines added because the model had dropped something critical.
    """

    compactions: int = 0
    items: int = 0
    in_summary: int = 0
    in_ledger: int = 0
    in_log: int = 0
    coverage: float = 1.0
    lines: int = 0
    fallbacks: int = 0
    filled: int = 0

    @property
    def survived(self) -> float:
        """The share of items that a prompt can show without reading the log, in [0, 1]; 1 if there are none."""
        return (self.in_summary + self.in_ledger) / self.items if self.items else 1.0

    def __add__(self, other: Audit) -> Audit:
        total = {part.name: getattr(self, part.name) + getattr(other, part.name) for part in fields(self)}
        lines = self.lines + other.lines
        mean = (self.coverage * self.lines + other.coverage * other.lines) / lines if lines else 1.0
        return Audit(**{**total, "coverage": mean})

    def __repr__(self) -> str:
        return (
            f"<Audit {display.counted(self.compactions, 'compaction')}: {self.items} critical items, "
            f"{self.in_summary} in the summary, {self.in_ledger} in files and commands, {self.in_log} only in the log; "
            f"coverage {self.coverage:.2f}>"
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary that replaces the older turns of a session.

    Attributes:
        lines: by section, oldest first within each.
        artifacts: the ledger: files and what happened to them, commands, tests, errors, ids.
        stretches: first and last log position of each compacted stretch, oldest first; `expand` shows its turns.
        audit: the audit over all compactions.
        strategy: the strategy that made it; empty before the first compaction.
    """

    lines: tuple[Line, ...] = ()
    artifacts: Ledger = field(default_factory=Ledger)
    stretches: tuple[tuple[int, int], ...] = ()
    audit: Audit = field(default_factory=Audit)
    strategy: str = ""

    @property
    def text(self) -> str:
        """All lines under their sections, then the artifacts."""
        files = render(self.artifacts, max_tokens=LEDGER_TOKENS, count=estimate_tokens)
        return "\n".join(filter(None, (written(self.lines), files)))

    def as_json(self) -> dict[str, Any]:
        """The summary as JSON, which `of` reads."""
        artifacts = self.artifacts.model_dump(mode="json", exclude_defaults=True)
        return {**_JSON.dump_python(self, mode="json", exclude={"artifacts"}), "artifacts": artifacts}

    @staticmethod
    def of(values: Mapping[str, Any]) -> Summary:
        """The summary that `as_json` wrote."""
        return _JSON.validate_python(values)

    @property
    def handles(self) -> tuple[str, ...]:
        """The handles of the stretches; `expand` shows the messages of each."""
        return tuple(handle(first, last) for first, last in self.stretches)

    def section(self, section: Section | str) -> list[Line]:
        """The lines of one section, oldest first."""
        wanted = Section(section)
        return [line for line in self.lines if line.section is wanted]

    def __bool__(self) -> bool:
        return bool(self.stretches)

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def __repr__(self) -> str:
        if not self:
            return "<Summary: nothing was compacted yet>"
        lines = display.counted(len(self.lines), "line")
        return f"<Summary {self.strategy}: {lines} for {', '.join(self.handles)}; {self.audit!r}>"


_JSON = TypeAdapter(Summary)

CHINESE_SECTIONS = dict(zip(Section, "意图 决定 待办 事实 未决问题 摘记".split(), strict=True))


def written(lines: Sequence[Line], *, chinese: bool = False, handles: bool = True) -> str:
    """Lines under their section names, each with its handle unless no tool can use it.

    A line with words of a tool, a page or an import that does not begin with the speaker says so.
    """
    parts = []
    for section in Section:
        rows = []
        for line in (line for line in lines if line.section is section):
            text = line.text
            if line.origin in MARKED and not text.startswith(name := origin_name(line.origin, text)):
                text = f"（含{name}内容）{text}" if is_chinese(text) else f"(partly {name}) {text}"
            rows.append(f"- {within_line(text)}" + (f" [{line.handle}]" if handles else ""))
        if rows:
            title = f"{CHINESE_SECTIONS[section]}：" if chinese else f"{section.replace('_', ' ')}:"
            parts.append("\n".join([title, *rows]))
    return "\n".join(parts)
