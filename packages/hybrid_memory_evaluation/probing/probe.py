"""A question about an earlier part of a conversation, and the check whether a text contains its answer."""

from __future__ import annotations

import re
import statistics
import unicodedata
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from hybrid_memory.text.tokenize import cjk_share


class ProbeKind(StrEnum):
    """The kind of a probe.

    ``RECALL``: something that was said, such as the first error. ``ARTIFACT``: what happened to files.
    ``CONTINUATION``: what to do next. ``DECISION``: what was decided, and why.
    """

    RECALL = "recall"
    ARTIFACT = "artifact"
    CONTINUATION = "continuation"
    DECISION = "decision"


@dataclass(frozen=True, slots=True)
class Probe:
    """A question with its exact answer.

    Attributes:
        id: unique within its transcript.
        question: the question, asked at the end of the conversation.
        gold: the correct answer, as text.
        keys: the strings that make up the answer; survival counts these.
        sources: ids of the messages that contain the answer, oldest first.
        any_of: whether one of the keys is enough.
        by: the origin of the probe: ``ledger``, ``statements``, ``decisions``, ``next steps``, ``labels`` or
            the name of a model.
    """

    id: str
    kind: ProbeKind
    question: str
    gold: str
    keys: tuple[str, ...]
    sources: tuple[str, ...]
    any_of: bool = False
    by: str = "labels"

    def found(self, text: str) -> float:
        """The share of the keys that a text contains, in [0, 1]; with ``any_of`` 0 or 1."""
        within = plain(text)
        present = [held(within, key) for key in self.keys]
        return float(any(present)) if self.any_of else statistics.fmean(present)

    def as_dict(self) -> dict[str, Any]:
        """The probe as JSON."""
        return asdict(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """The probe that `as_dict` wrote."""
        listed = {"kind": ProbeKind(values["kind"]), "keys": tuple(values["keys"]), "sources": tuple(values["sources"])}
        return cls(**{**values, **listed})


_LATIN = "0-9a-z\u00df-\u024f"


def plain(text: str) -> str:
    """The text in NFKC and lower case, without punctuation, with single spaces."""
    return " ".join(re.sub(r"[^\w\s]|_", " ", unicodedata.normalize("NFKC", text).lower()).split())


def holds(text: str, wanted: str) -> bool:
    """Whether the text contains the words in this order, not as part of a longer word or number.

    Case and punctuation are ignored; in Chinese, spaces too.
    """
    return held(plain(text), wanted)


def held(within: str, wanted: str) -> bool:
    """`holds` for a text that is `plain` already."""
    words = plain(wanted)
    if not words:
        return False
    if cjk_share(wanted):
        words, within = words.replace(" ", ""), within.replace(" ", "")
        before = "(?<![0-9])" if words[0].isdigit() else ""
        return re.search(before + re.escape(words), within) is not None
    return re.search(rf"(?<![{_LATIN}]){re.escape(words)}(?![{_LATIN}])", within) is not None
