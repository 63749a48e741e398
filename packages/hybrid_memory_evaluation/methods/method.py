"""The interface of methods that fit a long conversation into a model's prompt, and the base for frameworks' own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from hybrid_memory import Context, Message, Role
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder, as_embedder
from hybrid_memory.ports import Embedder, LanguageModel
from hybrid_memory.text.tokens import TokenCounter, message_tokens


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt for the model.

    Attributes:
        messages: messages in OpenAI's format; the question, if any, comes last.
        tokens: the size of all messages.
    """

    messages: Sequence[Mapping[str, Any]]
    tokens: int

    @property
    def text(self) -> str:
        """All messages as one text, each after its role, with its calls."""
        return "\n\n".join(f"{message['role']}: " + "\n".join(words_of(message)) for message in self.messages)


def words_of(message: Mapping[str, Any]) -> list[str]:
    """The text of a message in OpenAI's format, then its calls."""
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(part.get("text", "") for part in content)
    calls = (call["function"] for call in message.get("tool_calls") or ())
    return [content, *(f"{call['name']} {call['arguments']}" for call in calls)]


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting that all methods share.

    Attributes:
        max_tokens: the budget of a prompt, including the question.
        count: counts tokens.
        model: writes summaries; with None a method works without a model, or by excerpts.
        embedder: as for `hybrid_memory.open_memory`, or a name as in `hybrid_memory.config.MemoryConfig`, such as
            ``none``; None is the default.
    """

    max_tokens: int
    count: TokenCounter
    model: LanguageModel | None = None
    embedder: Any = None


class Fetched(NamedTuple):
    """A text fetched in addition to a prompt, and the ids of its messages."""

    text: str
    sources: frozenset[str]


class Replay(Protocol):
    """A conversation with a method."""

    def say(self, message: Message, /) -> None:
        """Add the next message, and compress if it is time."""
        ...

    def prompt(self, question: str | None = None, /) -> Prompt:
        """The prompt for the model now: for the next turn, or for this question at the end of the conversation.

        Asking does not change later prompts.
        """
        ...

    def reaches(self, prompt: Prompt, source: str, /) -> bool:
        """Whether a handle in the prompt leads to the verbatim message with this id."""
        ...

    def fetch(self, question: str, prompt: Prompt, /) -> Iterator[Fetched]:
        """The texts that a model can fetch if the answer is not in the prompt, one by one."""
        ...


class Method(Protocol):
    """A way to keep a conversation within a budget.

    Attributes:
        name: the name for choosing it, also shown in the report.
    """

    name: str

    def replay(self, setting: Setting, /) -> AbstractContextManager[Replay]:
        """An empty conversation with this method.

        Raises:
            MissingDependencyError: a package that it needs is not installed.
        """
        ...


LEAST_ROOM = 0.25
"""The share of the budget reserved for the conversation, however long the initial system messages are."""

SUMMARY = 0.3
"""The share of the room that excerpts may use."""

VERBATIM = 0.5
"""The share of the room for verbatim turns next to a summary; the rest is for the next turn."""

COUNTED = 10_000
"""How many token counts are cached, since the memories count the same turns repeatedly."""


EXCERPT = 200
"""How many characters of each line an excerpt keeps."""


@dataclass(slots=True)
class StockMethod:
    """A framework's memory; the framework is imported on the first replay, which takes seconds.

    Attributes:
        name: the name of the method.
        module: the module with ``replaying(name, setting)``.
    """

    name: str
    module: str

    def replay(self, setting: Setting, /) -> AbstractContextManager[Replay]:
        """An empty conversation with this memory."""
        replay: AbstractContextManager[Replay] = import_module(self.module).replaying(self.name, setting)
        return replay


class Writer:
    """The model of a setting; without one, excerpts: the first 200 characters of each line, the newest that fit.

    Excerpts keep words and figures unchanged and cannot judge what matters. Our own methods never need them: without a
    model they write deterministic summaries.

    Repeated prompts get the same answer without a call: each question of an evaluation summarises the same turns, and
    you would pay for every one.

    Args:
        setting: the setting of the replay.
        ``room``: the tokens of the conversation, of which excerpts may use a share.
    """

    def __init__(self, setting: Setting, room: int) -> None:
        self.name = "excerpts" if setting.model is None else setting.model.name
        self.count = lru_cache(COUNTED)(setting.count)
        self.instructed = setting.model is not None
        self._model = setting.model
        self._max_tokens = int(SUMMARY * room)
        self._answers: dict[tuple[str, ...], str] = {}

    def __call__(self, asked: Sequence[Message]) -> str:
        """The answer."""
        key = tuple(f"{message.role}: {message.text}" for message in asked)
        if key not in self._answers:
            self._answers[key] = self._excerpts(asked) if self._model is None else self._model.complete(asked)
        return self._answers[key]

    def _excerpts(self, messages: Sequence[Message]) -> str:
        lines = [line.strip()[:EXCERPT] for message in messages for line in message.text.splitlines() if line.strip()]
        kept: list[str] = []
        left = self._max_tokens
        for line in reversed(lines):
            left -= self.count(line) + 1
            if left < 0:
                break
            kept.append(line)
        return "\n".join(reversed(kept)) or "-"


def embedder_of(setting: Setting) -> Embedder:
    """The setting's embedder, or the local one; raises `InvalidInputError` if the setting has none."""
    given: Any = setting.embedder
    if given == "none":
        raise InvalidInputError("a vector memory needs an embedder, but none is set")
    if given == "hashing":
        return HashingEmbedder()
    return _local() if given is None or isinstance(given, str) else as_embedder(given)


_local = cache(LocalEmbedder)


class StockReplay(ABC):
    """A conversation with a memory that cannot read again what it left out; initial system messages come first."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._count = lru_cache(COUNTED)(setting.count)
        self._front: list[Message] = []
        self._begun = False

    def say(self, message: Message, /) -> None:
        """Add a message."""
        if message.role is Role.SYSTEM and not self._begun:
            self._front.append(message)
        else:
            self._begun = True
            self._add(message)

    def prompt(self, question: str | None = None, /) -> Prompt:
        """The prompt that the framework would send."""
        shown = self._shown(None if question is None else Message(role=Role.USER, content=question))
        tokens = self._tokens(shown)
        return Prompt(Context(tuple(shown), {}, tokens, tokens).as_dicts(), tokens)

    def reaches(self, prompt: Prompt, source: str, /) -> bool:
        """Never: what was left out is gone."""
        del prompt, source
        return False

    def fetch(self, question: str, prompt: Prompt, /) -> Iterator[Fetched]:
        """Nothing."""
        del question, prompt
        return iter(())

    @abstractmethod
    def _add(self, message: Message) -> None: ...

    @abstractmethod
    def _shown(self, question: Message | None) -> Sequence[Message]: ...

    def _tokens(self, messages: Sequence[Message]) -> int:
        return sum(message_tokens(message, self._count) for message in messages)

    @cached_property
    def _room(self) -> int:
        """The tokens that the initial system messages leave."""
        budget = self._setting.max_tokens
        return max(budget - self._tokens(self._front), int(LEAST_ROOM * budget))

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self._setting, self._room)
