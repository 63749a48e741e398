"""Keeps the log in step with the messages in an agent's state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import dropwhile, takewhile
from typing import Any, NotRequired

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, convert_to_messages
from typing_extensions import TypedDict

from hybrid_memory import Block, Host, Message, Role
from hybrid_memory.adapters import LruCache
from hybrid_memory.errors import InvalidMessageError
from langchain_hybrid_memory.messages import from_langchain, is_summary, json_form

STATE = "hybrid_memory"
"""Our key in the state."""

KEPT = 20_000
"""Messages whose words are known; others are looked up in the log."""

UNNAMED = "unnamed:"
"""Begins the keys of messages without ids."""

CALLER = "caller"
"""Who speaks to an agent inside a tool: another agent, so nothing of it is learned of the user."""


class Seen(TypedDict):
    """How much of the state is in the log."""

    last: str | None  # the key of the newest message that was written
    known: dict[str, str]  # the ids of events by the keys of messages, where they differ
    began: NotRequired[str | None]  # the event id of the first message that the state ever had
    owner: NotRequired[dict[str, str]]  # the owner as the run named it, for runs of the thread that name none
    size: NotRequired[int]  # how many messages the state had when the newest was written
    blocks: NotRequired[dict[str, int]]  # revisions of the blocks that the model was shown last, if it edits them


def owner_of(state: Any, name: str | None = None) -> Mapping[str, str]:
    """The owner that earlier runs of a thread named, as this middleware or any noted; empty if there were none."""
    notes = state.get(STATE) or {} if isinstance(state, Mapping) else {}
    owners = (note.get("owner") for key, note in notes.items() if name in (None, key))
    return next(filter(None, owners), {})


class Written:
    """The words of messages as last written, to detect edits; callable from any thread."""

    def __init__(self) -> None:
        self._words: LruCache[str, tuple[Any, Any]] = LruCache(KEPT)

    def has(self, key: str, message: BaseMessage) -> bool:
        """Whether the message was written with these words."""
        return self._words.get(key) == _words(message)

    def put(self, messages: Iterable[tuple[str, BaseMessage]]) -> None:
        for key, message in messages:
            self._words.put(key, _words(message))


def _words(message: BaseMessage) -> tuple[Any, Any]:
    # Asked of all messages in each call, and for a name that it lacks Pydantic searches long.
    return message.content, message.tool_calls if isinstance(message, AIMessage) else None


def _unnamed(message: BaseMessage, place: int, last: str) -> str:
    """The key of a message without an id of its own: its words, and its place after the last id."""
    words = repr((place, last, message.type, _words(message))).encode(errors="surrogatepass")
    return f"{UNNAMED}{sha256(words).hexdigest()[:24]}"


@dataclass(frozen=True)
class Follower:
    """An agent's state, and how much of it a middleware of this name has written."""

    state: Mapping[str, Any]
    name: str
    words: Written = field(default_factory=Written)
    owner: Mapping[str, str] = field(default_factory=dict)
    nested: bool = False  # the agent works for another one, whose words are no user's
    changed: bool = False  # this differs from what the state holds

    @cached_property
    def messages(self) -> Sequence[BaseMessage]:
        return [said for said in self._all if not is_summary(said)]

    @property
    def summaries(self) -> Sequence[BaseMessage]:
        """LangChain's own summaries: shown, and not written, since nobody said them."""
        return [said for said in self._all if is_summary(said)]

    @cached_property
    def _all(self) -> Sequence[BaseMessage]:
        return convert_to_messages(self.state["messages"])  # only some reducers do

    @property
    def seen(self) -> Seen:
        return self.state.get(STATE, {}).get(self.name) or Seen(last=None, known={})

    @cached_property
    def keys(self) -> list[str]:
        """A key for each message: its id; for one without an id, or with that of an earlier one, see `_unnamed`."""
        keys: dict[str, None] = {}
        place, last = 0, ""
        for said in self.messages:
            if said.id and said.id not in keys:
                place, last = 0, said.id
                keys[said.id] = None
            else:
                place += 1
                keys[_unnamed(said, place, last)] = None
        return list(keys)

    @property
    def written(self) -> int:
        """How many messages are in the log: all up to the newest written one."""
        last = self.seen["last"]
        return next((row for row in range(len(self.keys), 0, -1) if self.keys[row - 1] == last), 0)

    @property
    def answerable(self) -> bool:
        """Whether the user said something."""
        return any(map(_is_users, self.messages))

    @property
    def began(self) -> str | None:
        """The event id of the first message that the state ever had."""
        first = self.seen.get("began")
        return None if first is None else self._event_id(first)

    @property
    def events(self) -> dict[str, BaseMessage]:
        """The messages by the ids of their events."""
        named = zip(map(self._event_id, self.keys), self.messages, strict=True)
        return {name: said for name, said in named if name is not None}

    @property
    def host(self) -> Host | None:
        """What `ScopedMemory.mirror` must know if messages were removed, or if this may be another branch."""
        keys, size, asks = self.keys, self.seen.get("size", 0), bool(self.messages) and _is_users(self.messages[-1])
        if not size or any(key.startswith(UNNAMED) for key in keys):  # only by their ids can messages be removed
            return None
        if self.summaries:  # what they replace was removed to save space
            return None
        if self.written < size:
            # What shares nothing with the state before is no conversation, unless it is a new turn of one.
            same = (asks and size > 1) or any(map(self.words.has, keys, self.messages))
            return Host(list(self.events), self.began) if same else None
        return Host(list(self.events), self._event_id(keys[self.written - 1])) if asks else None

    def behind(self, call: str) -> list[str]:
        """The event ids behind a tool call: its own message, then the user turns before it."""
        rows = (row for row in reversed(range(len(self.messages))) if _calls(self.messages[row], call))
        row = next(rows, None)
        if row is None:
            return []
        before = dropwhile(lambda place: not _is_users(self.messages[place]), reversed(range(row)))
        asked = takewhile(lambda place: _is_users(self.messages[place]), before)
        return [name for place in (row, *asked) if (name := self._event_id(self.keys[place]))]

    def _event_id(self, key: str) -> str | None:
        return _event_id(self.seen["known"], key)

    def fresh(self) -> list[Message]:
        """The messages to write: those after the newest written one, and earlier ones that may have been edited."""
        return [self._converted(row) for row in self._fresh]

    @cached_property
    def _fresh(self) -> list[int]:
        old = max(0, self.written - 1)
        rows = enumerate(zip(self.keys, self.messages, strict=True))
        return [row for row, (key, said) in rows if row >= old or not self.words.has(key, said)]

    def _converted(self, row: int) -> Message:
        said, key = self.messages[row], self.keys[row]
        message = _converted(said, keep_id=key == said.id)
        changes: dict[str, Any] = {}
        if key != said.id and row < self.written:
            changes["id"] = self._event_id(key)
        if self.nested and message.role is Role.USER and message.name is None:
            changes["name"] = CALLER
        return message.model_copy(update=changes) if changes else message

    def after(self, ids: Sequence[str | None]) -> Follower:
        """The follower after `fresh` was written as these events."""
        seen, fresh = self.seen, [(self.keys[row], self.messages[row]) for row in self._fresh]
        known = seen["known"]
        odd = {key: name for (key, _), name in zip(fresh, ids, strict=True) if name and known.get(key, key) != name}
        known = {**known, **odd}
        last, first = (self.keys[-1], self.keys[0]) if self.keys else (None, "")
        self.words.put(fresh)
        began = seen.get("began") or _event_id(known, first)
        size = len(self.keys)
        owner: Any = {"owner": dict(self.owner)} if self.owner else {}
        return self._with({**seen, **owner, "last": last, "known": known, "began": began, "size": size})

    def shown(self, blocks: Mapping[str, Block] | None) -> Follower:
        """The follower after the model saw these blocks."""
        if blocks is None:
            return self
        return self._with({**self.seen, "blocks": {label: block.revision for label, block in blocks.items()}})

    @property
    def update(self) -> dict[str, Any] | None:
        """The update of the state; None if nothing changes."""
        return {STATE: {self.name: self.seen}} if self.changed else None

    def _with(self, now: Seen) -> Follower:
        if now == self.seen:
            return self
        noted = {**self.state.get(STATE, {}), self.name: now}
        return replace(self, state={**self.state, STATE: noted}, changed=True)


def _event_id(known: Mapping[str, str], key: str) -> str | None:
    return known.get(key, None if key.startswith(UNNAMED) else key or None)


def _converted(message: BaseMessage, *, keep_id: bool) -> Message:
    try:
        return from_langchain(message, keep_id=keep_id)
    except InvalidMessageError:  # what JSON cannot hold is kept as what JSON can tell of it
        plain = {key: json_form(key, value) for key, value in dict(message).items()}
        return from_langchain(message.model_copy(update=plain), keep_id=keep_id)


def _calls(message: BaseMessage, call: str) -> bool:
    return isinstance(message, AIMessage) and any(made["id"] == call for made in message.tool_calls)


def _is_users(message: BaseMessage) -> bool:
    return message.type == "human" or (isinstance(message, ChatMessage) and message.role in {"user", "human"})
