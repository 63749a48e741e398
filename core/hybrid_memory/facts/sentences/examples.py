"""Labelled sentences for training the sentence judge.

A line is ``LABEL<TAB>TEXT`` or ``LABEL<TAB>BEFORE<TAB>TEXT``, with what was said before. A label has claims,
``attribute=value`` or ``attribute!stance=value``, joined by semicolons; those about others look like
``user's sister/home=Rome``. Or it begins with ``-kind``, the reason why it claims nothing about the speaker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hybrid_memory.facts.attributes import ATTRIBUTES
from hybrid_memory.facts.fact import USER, Stance

CLAIMS = "claims"

KINDS = (
    CLAIMS, "question", "quote", "fiction", "hypothetical", "other", "sarcasm", "translate", "momentary", "chat",
    "general", "negated",
)  # fmt: skip
"""The kind of a sentence: a claim about its speaker, or why it is not."""

LEARNED = tuple(ATTRIBUTES)
"""The attributes that the judge distinguishes."""

MARKS = (*LEARNED, *Stance)

SHIPPED = Path(__file__).with_name("examples")


@dataclass(frozen=True, slots=True)
class Told:
    """A claim of a sentence: subject, attribute with value, and stance."""

    subject: str
    attribute: str
    stance: Stance
    value: str


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled sentence; kind is one of `KINDS`."""

    text: str
    before: str
    kind: str
    told: tuple[Told, ...]
    language: str

    @property
    def own(self) -> list[Told]:
        """The claims about its speaker."""
        return [told for told in self.told if told.subject == USER]


def examples(folder: Path = SHIPPED) -> Iterator[Example]:
    """The examples in all files of a folder, in the order of their names, which begin with the language."""
    for file in sorted(folder.glob("*.tsv")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line:
                yield parsed(line, file.stem[:2])


def parsed(line: str, language: str = "") -> Example:
    """The example in a line; raises ValueError for an invalid label."""
    label, *before, text = line.split("\t")
    kind, told = CLAIMS, []
    for part in label.split("; "):
        if part.startswith("-"):
            kind = part[1:]
            continue
        head, _, value = part.partition("=")
        subject, _, name = head.rpartition("/")
        attribute, _, stance = name.partition("!")
        if attribute not in LEARNED or not value:
            raise ValueError(f"no such label: {label!r}")
        told.append(Told(subject or USER, attribute, Stance(stance or Stance.HOLDS), value))
    if kind not in KINDS:
        raise ValueError(f"no such kind: {label!r}")
    if kind == CLAIMS and all(one.subject != USER for one in told):
        kind = "other"
    return Example(text, before[0] if before else "", kind, tuple(told), language)
