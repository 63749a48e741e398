"""The interface of methods that fit a long conversation into a model's prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from hybrid_memory import Message
from hybrid_memory.ports import LanguageModel
from hybrid_memory.text.tokens import TokenCounter


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
        return "\n\n".join(map(_as_text, self.messages))


def _as_text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(part.get("text", "") for part in content)
    calls = (f"{call['function']['name']} {call['function']['arguments']}" for call in message.get("tool_calls") or ())
    return "\n".join([f"{message['role']}: {content}", *calls])


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting that all methods share.

    Attributes:
        max_tokens: the budget of a prompt, including the question.
        count: counts tokens.
        model: writes summaries; with None a method works without a model, or uses the `StandIn`.
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
