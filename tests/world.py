"""What tests of every folder make and read: tables of wordings, turns as the log has them, files of a store, pages."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from hybrid_memory import Event, EventKind, Hit, Message, Origin, Record, Role, Scope, Signals, ToolCall, Weights

TESTS = Path(__file__).parent


def rows(name: str, kind: str | None = None) -> list[tuple[str, ...]]:
    r"""The rows of a table below ``tests``, or those of a kind, without it; ``\n`` and ``\t`` are what they say."""
    lines = (TESTS / name).read_text("utf-8").splitlines()
    cells = [tuple(cell.replace(r"\n", "\n").replace(r"\t", "\t") for cell in line.split("\t")) for line in lines]
    return cells if kind is None else [row[1:] for row in cells if row[0] == kind]


def column(name: str, kind: str | None = None) -> list[str]:
    """The same of a table, or a kind of rows, of one column."""
    return [cell for (cell,) in rows(name, kind)]


def cases(name: str, kind: str) -> Any:
    """The cases of a kind in a table of JSON below ``tests``."""
    return json.loads((TESTS / name).read_text("utf-8"))[kind]


NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ALICE = Scope(user="alice", session="s")


def user(text: str = "q", name: str | None = None) -> Message:
    return Message(content=text, id=name)


def assistant(text: str = "a", name: str | None = None) -> Message:
    return Message(role=Role.ASSISTANT, content=text, id=name)


def calls(*ids: str | None, tool: str = "look_up", content: str = "", **arguments: Any) -> Message:
    """Calls of a tool in one turn of the assistant."""
    made = [ToolCall(name=tool, id=id_, arguments=arguments) for id_ in ids]
    return Message(role=Role.ASSISTANT, content=content, tool_calls=made)


def result(call: str | None, text: str = "r", tool: str | None = None) -> Message:
    return Message(role=Role.TOOL, content=text, tool_call_id=call, name=tool)


def exchange(call: str, text: str, tool: str = "read_page", /, **arguments: Any) -> list[Message]:
    """A call of a tool, and what it answered."""
    return [calls(call, tool=tool, **arguments), result(call, text, tool)]


def event(position: int, said: Message | str, role: Role = Role.USER, **more: Any) -> Event:
    """A message as the log has it."""
    message = Message(role=role, content=said, **more) if isinstance(said, str) else said
    payload = message.model_dump(mode="json", exclude_defaults=True, exclude={"id", "at"})
    return Event(position, f"e{position}", ALICE, EventKind.MESSAGE, NOON, payload)


def hit(number: int, text: str = "something", score: float = 1.0) -> Hit:
    """What recall found of the user's turn of this number, said so many days after noon."""
    at, sources = NOON + timedelta(days=number), (f"e{number}",)
    record = Record(number, ALICE, text, at, sources, segment=number, ordinal=0, speaker="user", origin=Origin.USER)
    return Hit(record, score=score, signals=Signals(), weights=Weights())


def stored(folder: Path) -> bytes:
    """All bytes of the files of a store."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def holding(folder: Path, words: Iterable[str]) -> list[str]:
    """Files that hold one of the words, plain or as JSON escapes it."""
    forms = [form.encode() for word in words for form in (word, json.dumps(word)[1:-1])]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if any(form in path.read_bytes() for form in forms)]


def words(text: str) -> int:
    """A token a word."""
    return len(text.split())


class Page(HTMLParser):
    """What a page holds: elements with their attributes, the text outside of styles, and data of each table.

    Its tags must be closed in order.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.tables: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.elements.append((tag, found))
        if tag not in {"meta", "link", "br", "img"}:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "data" and "table" in self.open:
            self.tables[-1].append(found["value"])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data
