"""What a scripted model is shown of a prompt, whatever host sent it, and how a careful reader reads it.

Nothing here knows what a memory writes. Text between tags (``<note>...</note>``, whatever the tag) stands for data; the
user's own words are what else their last messages say; a bound tool is called by its name and schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

from hybrid_memory.models.tokenizers import token_counter

Speaker = Literal["system", "user", "assistant", "tool"]

_MARKED = re.compile(r"<(\w[\w-]*)(?:\s[^<>]*)?>.*?</\1>", re.DOTALL)
_DATED = re.compile(r"\W{0,4}\[?(\d{4}-\d{2}-\d{2})")
_TURN = re.compile(r"^(Human|AI|System): ?", re.MULTILINE)
_SHORT = 100
"""Characters of an argument: where a longer one is told in other words, a reader still knows the call for the same."""

_count = lru_cache(maxsize=20_000)(token_counter("cl100k_base"))


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def same_as(self, other: Call) -> bool:
        """Whether a reader takes both for one: long arguments need not be word for word."""
        if self.name != other.name or set(self.arguments) != set(other.arguments):
            return False
        pairs = [(str(value), str(other.arguments[key])) for key, value in self.arguments.items()]
        return all(one == two for one, two in pairs if max(len(one), len(two)) <= _SHORT)


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a prompt.

    Attributes:
        media: what is to be seen on its pictures and to be read in its documents.
    """

    speaker: Speaker
    text: str
    calls: Sequence[Call] = ()
    media: Sequence[str] = ()

    @property
    def words(self) -> str:
        """The text without what stands between tags."""
        return _MARKED.sub("", self.text).strip()

    def __str__(self) -> str:
        calls = [f"-> {call.name}({json.dumps(call.arguments, ensure_ascii=False)})" for call in self.calls]
        media = [f"[media: {shown}]" for shown in self.media]
        return "\n".join([f"{self.speaker}: {self.text}", *media, *calls])


@dataclass(frozen=True)
class Prompt:
    """The messages of a prompt, and the JSON schemas of the bound tools by name."""

    messages: Sequence[Said]
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of_transcript(cls, text: str) -> Prompt:
        """A prompt that is one text, with the speakers' names at the beginnings of lines as LangChain writes them."""
        names: dict[str, Speaker] = {"Human": "user", "AI": "assistant", "System": "system"}
        opening, *parts = _TURN.split(text)
        pairs = zip(parts[::2], parts[1::2], strict=True)
        turns = [Said(names[name], said.strip()) for name, said in pairs if said.strip()]
        return cls([Said("system", opening.strip()), *turns])

    @property
    def _asked(self) -> range:
        """The rows of the user's last messages."""
        rows = range(len(self.messages))
        last = next((row for row in reversed(rows) if self._users(row)), -1)
        first = last
        while first > 0 and self._users(first - 1):
            first -= 1
        return range(first, last + 1)

    def _users(self, row: int) -> bool:
        message = self.messages[row]
        return message.speaker == "user" and bool(message.words or message.media)

    @cached_property
    def now(self) -> str:
        """What the user says now: their last messages, without what stands between tags."""
        return "\n".join(self.messages[row].words for row in self._asked).strip()

    @cached_property
    def turn(self) -> Sequence[Said]:
        """What follows the user's last words."""
        return self.messages[self._asked.stop :]

    @property
    def made(self) -> Iterator[Call]:
        """The calls since the user's last words."""
        return (call for message in self.turn for call in message.calls)

    def undone(self, calls: Sequence[Call]) -> list[Call]:
        """Those that were not made since the user's last words."""
        made = list(self.made)
        return [call for call in calls if not any(call.same_as(other) for other in made)]

    def orders(self, pattern: str) -> re.Match[str] | None:
        """An order of that form: in the user's words now, or a line of a system message outside of tags."""
        found = re.search(pattern, self.now)
        lines = (line for said in self.messages if said.speaker == "system" for line in said.words.splitlines())
        return found or next(filter(None, (re.match(pattern, line.strip()) for line in lines)), None)

    def newest(self, pattern: str) -> tuple[str, ...] | None:
        """The groups of the newest match in texts and media: by its place, within a message by the dates of lines."""
        found = []
        for row, message in enumerate(self.messages):
            text = "\n".join([message.text, *message.media])
            for match in re.finditer(pattern, text):
                dated = _DATED.match(text[text.rfind("\n", 0, match.start()) + 1 :])
                found.append((row, dated[1] if dated else "", match.start(), match.groups()))
        return max(found)[-1] if found else None

    @property
    def tokens(self) -> int:
        """By tiktoken, with the tools and a little for the form of each message."""
        shown = [str(message) for message in self.messages]
        shown += [json.dumps(schema, ensure_ascii=False) for schema in self.tools.values()]
        return sum(4 + _count(text) for text in shown)

    def __str__(self) -> str:
        tools = f"bound tools: {', '.join(self.tools) or 'none'}; {self.tokens:,} tokens"
        return "\n\n".join([tools, *map(str, self.messages)])


def count_tokens(text: str) -> int:
    """Of a text, by tiktoken."""
    return _count(text)
