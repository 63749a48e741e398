"""How a text is stored as messages: paragraphs, list items and fenced blocks, so that each is found and forgotten."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hybrid_memory.documents.document import Part
from hybrid_memory.log.event import Event
from hybrid_memory.log.message import EARLIER, Message, Origin, lowest
from hybrid_memory.log.port import Draft
from hybrid_memory.scope import Scope
from hybrid_memory.store.remember import draft_of
from hybrid_memory.store.services import Services
from hybrid_memory.text.sentences import blocks
from hybrid_memory.text.tokenize import terms

DERIVED = 0.5
"""The share of the shorter piece's words from which a later piece counts as derived from an earlier one."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+\S")
_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_FIELD = re.compile(r"[^\s:：|][^:：|]{0,40}(?::\s|：)")
_ENDED = re.compile(r"[.!?。！？…][\"'”’)）」』*_]*\s*$")
_MARKS = re.compile(r"[\s\-*_=#>|`~+:.]*")
"""Lines without words: rules, fences, empty bullets."""


class Unit(NamedTuple):
    """A piece of a text; all pieces concatenated are the text.

    Attributes:
        words: its words; empty if it has only punctuation and white space.
        tail: the characters between it and the next one.
    """

    words: str
    tail: str


def units(text: str) -> list[Unit]:
    """The pieces of a text, in order.

    A new piece begins after a blank line, after a line that ends a sentence, and at an unindented list item, a line
    that begins with a field, or a heading. A heading stays with what follows it; a fenced block is never split.
    """
    pieces: list[str] = []
    open_ended, ended = False, True
    lines = ((fenced, line) for fenced, part in blocks(text) for line in ([part] if fenced else _LINE.findall(part)))
    for fenced, line in lines:
        empty, heading = not line.strip(), _HEADING.match(line) is not None
        begins = ended or (not fenced and any(form.match(line) for form in (_HEADING, _ITEM, _FIELD)))
        if not pieces or (begins and not open_ended and not empty):
            pieces.append("")
        open_ended = open_ended if empty else heading
        pieces[-1] += line
        ended = empty or (not fenced and not line[:1].isspace() and _ENDED.search(line) is not None)
    made: list[Unit] = []
    for piece in pieces:
        words = piece.rstrip()
        if _MARKS.fullmatch(words):
            made.append(Unit("", piece))
            continue
        begin = len(piece) - len(piece.lstrip("\r\n"))
        made += [Unit("", piece[:begin])] if begin else []
        made.append(Unit(words[begin:], piece[len(words) :]))
    return made


def as_messages(
    services: Services,
    scope: Scope,
    text: str,
    *,
    path: str,
    origin: Origin,
    sources: Sequence[str],
    events: Sequence[Event],
) -> tuple[tuple[Part, ...], list[Draft]]:
    """The parts of a file's text: messages that the file already has, and new ones in the user's role.

    A new piece that reuses words of a removed one is derived from it: it has the lowest of their origins, and is
    forgotten with it.
    """
    parts_by_words = {event.message.text: Part(event.id, "", len(event.message.text.encode())) for event in events}
    pieces = units(text)
    kept = {piece.words for piece in pieces}
    removed = [(event, set(terms(event.message.text))) for event in events if event.message.text not in kept]
    rows_by_term: dict[str, list[int]] = defaultdict(list)
    for row, (_, own) in enumerate(removed):
        for term in own:
            rows_by_term[term].append(row)
    parts, drafts = list[Part](), list[Draft]()
    for words, tail in pieces:
        if words and words not in parts_by_words:
            own = set(terms(words)) if removed else set()
            shared = Counter(row for term in own for row in rows_by_term.get(term, ()))
            earlier = [
                removed[row][0]
                for row, count in sorted(shared.items())
                if count >= DERIVED * min(len(own), len(removed[row][1]))
            ]
            spoken = lowest((Origin.USER, origin, services.speaks, *(event.origin for event in earlier)))
            extra = {"made_of": list(sources), EARLIER: [event.id for event in earlier]}
            message = Message(
                content=words,
                metadata={"noted_with": "file", "file": path},
                origin=None if spoken is Origin.USER else spoken,
                extra={name: ids for name, ids in extra.items() if ids},
            )
            draft = draft_of(services, scope, message)
            parts_by_words[words] = Part(draft.id, "", len(str(draft.payload["content"]).encode()))
            drafts.append(draft)
        parts.append(parts_by_words[words]._replace(tail=tail) if words else Part("", tail))
    return tuple(parts), drafts


def joined(parts: Sequence[Part], events: Iterable[Event]) -> str:
    """The text of a file, joined from the words of its messages; destroyed messages leave nothing."""
    words = {event.id: event.message.text for event in events}
    return "".join(
        words[part.id] + part.tail if part.id else part.tail for part in parts if not part.id or part.id in words
    )
