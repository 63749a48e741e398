"""Scripted models: deterministic policies that know what stands in the prompt, and nothing else.

`Reader` answers a question from the line that has most of its words, and looks for such a line a page at a time.
`Follower` follows a chain of keys and values to its end. Both use functions only if the prompt offers them, so the same
policy also works in a plain window. Neither has a state: what it did before it reads in the prompt, or does not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hybrid_memory import Message, Role
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import terms

QUESTION = "Question: "
UNKNOWN = "I do not know."
PAGES = 3
"""That `Reader` reads at most."""

ENOUGH = 0.85
"""Share of the question's words with which a sentence is taken for the answer without reading on."""

BEST = 3
"""Lines that `Reader` keeps under pressure, and reads in full before it answers."""

LOOKUP_PAGES = 2
"""Without the key, after which `Follower` takes it for the end of the chain."""

_FUNCTION = re.compile(r"^- (\w+)\(", re.MULTILINE)
_PIECE = re.compile(
    r"^<(?P<tag>\w+)(?: of=\"(?P<of>\w+)\")?>\n(?P<body>[\s\S]*?)\n</(?P=tag)>$|^(?P<line>[^\n]+)$", re.MULTILINE
)
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_PAIR = re.compile(rf"({_UUID}): ({_UUID})")
_MORE = "(more: page="
_CUT = " (more: fetch it)"
_LINE = re.compile(r"(#\d+) \[[\d-]+\] ")
_JOINT = " | "
_WARNING = "Memory pressure"


@dataclass
class Shown:
    """What a prompt shows.

    Attributes:
        functions: that may be called.
        question: the last one.
        lines: of everything but instructions, the policy's own calls, and questions, also where a search finds one.
        calls: that the policy made since the question, as far as they are in the prompt.
        results: since the question, the last one of each function.
        warned: whether the newest thing is a warning of memory pressure.
    """

    functions: frozenset[str] = frozenset()
    question: str = ""
    lines: list[str] = field(default_factory=list)
    calls: list[Mapping[str, Any]] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)
    warned: bool = False

    @classmethod
    def of(cls, prompt: Sequence[Message]) -> Shown:
        """The prompt, read from its beginning to its end."""
        shown = cls()
        for message in prompt:
            if message.role is Role.SYSTEM:
                shown.functions = frozenset(_FUNCTION.findall(message.text))
                shown.lines += [line for found in _PIECE.finditer(message.text) for line in _body(found)]
            elif message.role is Role.ASSISTANT:
                shown._own(message.text)
            else:
                shown._others(message.text)
        return shown

    def _own(self, text: str) -> None:
        self.warned = False
        for line in text.splitlines():
            call = _call(line)
            if call is None:
                self.lines.append(line)
            elif "message" in call["arguments"]:
                self.lines += str(call["arguments"]["message"]).splitlines()
            else:
                self.calls.append(call)

    def _others(self, text: str) -> None:
        for found in _PIECE.finditer(text):
            line, tag = found["line"], found["tag"]
            self.warned = tag == "system" and found["body"].startswith(_WARNING)
            if line is None:
                self.lines += _body(found)
                if tag == "result":
                    self.results[found["of"] or ""] = found["body"]
            elif line.startswith(QUESTION):
                self.question, self.calls, self.results = line.removeprefix(QUESTION), [], {}
            else:
                self.lines.append(line)


def _body(found: re.Match[str]) -> list[str]:
    lines = [] if found["body"] is None or found["body"].startswith(_WARNING) else found["body"].splitlines()
    return [part for line in lines for part in line.split(_JOINT) if QUESTION not in part]


def _call(line: str) -> dict[str, Any] | None:
    try:
        call = json.loads(line)
    except ValueError:
        return None
    return call if isinstance(call, dict) and isinstance(call.get("arguments"), dict) else None


def coverage(words: frozenset[str], text: str) -> float:
    """The share of the words that the text has."""
    return len(words & set(terms(text))) / len(words) if words else 0.0


def call(function: str, **arguments: Any) -> str:
    """A call of a function, after which the policy wants to go on."""
    return json.dumps({"function": function, "arguments": arguments, "request_heartbeat": True}, ensure_ascii=False)


def _next_page(searches: Sequence[Mapping[str, Any]], result: str, pages: int) -> int | None:
    """The page to read next; None after the last."""
    if not searches:
        return 0
    page = int(searches[-1]["arguments"].get("page", 0)) + 1
    return page if page < pages and _MORE in result else None


def _cut_ones(shown: Shown, lines: Sequence[str]) -> list[str]:
    """The handles of those lines that are cut and were not fetched yet."""
    handles = [found[1] for line in lines if line.endswith(_CUT) and (found := _LINE.match(line))]
    done = {call["arguments"].get("handle") for call in shown.calls if call["function"] == "fetch"}
    return [handle for handle in dict.fromkeys(handles) if handle not in done and "fetch" in shown.functions]


def said(shown: Shown, text: str) -> str:
    """The last words to a question."""
    if "send_message" not in shown.functions:
        return text
    return json.dumps({"function": "send_message", "arguments": {"message": text}}, ensure_ascii=False)


@dataclass(frozen=True)
class Reader:
    """Answers with the sentence that has most of the question's words.

    It looks at what is in front of it, then searches with the question, a page at a time, until a sentence has enough
    of the words, there are no more, or it has read ``pages``. Then it fetches what is an excerpt among its best lines.
    Warned of memory pressure, it keeps these in a block.

    Attributes:
        search: the function to search with.
    """

    search: str
    pages: int = PAGES

    def complete(self, messages: Sequence[Message]) -> str:
        """The next answer, made from the prompt alone."""
        shown = Shown.of(messages)
        words = frozenset(terms(shown.question))
        lines = sorted(dict.fromkeys(shown.lines), key=lambda line: coverage(words, line), reverse=True)
        found = [line for line in lines if _LINE.match(line)][:BEST]
        searches = [call for call in shown.calls if call["function"] == self.search]
        wanted = _next_page(searches, shown.results.get(self.search, ""), self.pages)
        answer = self._sentence(shown.lines, words)
        enough = coverage(words, answer) >= ENOUGH
        if self.search in shown.functions and wanted is not None and not enough:
            search = call(self.search, query=shown.question, page=wanted)
            keep = call("core_memory_append", label="human", content="\n".join(found))
            return f"{keep}\n{search}" if shown.warned and found else search
        if handles := _cut_ones(shown, found):
            return "\n".join(call("fetch", handle=handle) for handle in handles)
        return said(shown, answer)

    @staticmethod
    def _sentence(lines: Sequence[str], words: frozenset[str]) -> str:
        parts = [part for line in lines for part in sentences(_LINE.sub("", line).removesuffix(_CUT))]
        best = max(parts, key=lambda part: coverage(words, part), default="")
        return best if words & set(terms(best)) else UNKNOWN


@dataclass(frozen=True)
class Follower:
    """Follows keys to values that are keys again, and answers with the value that is none.

    Attributes:
        search: the function to look a key up with.
    """

    search: str

    def complete(self, messages: Sequence[Message]) -> str:
        """The next answer, made from the prompt alone."""
        shown = Shown.of(messages)
        asked = re.search(_UUID, shown.question)
        if asked is None:
            return said(shown, UNKNOWN)
        known = {key: value for line in shown.lines for key, value in _PAIR.findall(line)}
        searches = [call for call in shown.calls if call["function"] == self.search]
        start = str(searches[-1]["arguments"]["query"]) if searches else asked[0]
        end = start
        while end in known:
            end = known.pop(end)
        if self.search not in shown.functions:
            return said(shown, UNKNOWN if end == start else end)
        if end != start or not searches:
            return call(self.search, query=end, page=0)
        if handles := _cut_ones(shown, [line for line in shown.lines if f"{end}: " in line]):
            return call("fetch", handle=handles[0])
        page = _next_page(searches, shown.results.get(self.search, ""), LOOKUP_PAGES)
        if page is not None:
            return call(self.search, query=end, page=page)
        return said(shown, UNKNOWN if end == asked[0] else end)
