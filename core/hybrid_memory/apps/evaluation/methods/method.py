"""What stands between a long conversation and a model: the port behind which all methods are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from hybrid_memory import Message
from hybrid_memory.ports import LanguageModel, TextCompressor
from hybrid_memory.text.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class Prompt:
    """What would be sent to the model.

    Attributes:
        messages: in the OpenAI form, the question last if there is one.
        tokens: of all of them.
    """

    messages: Sequence[Mapping[str, Any]]
    tokens: int

    @property
    def text(self) -> str:
        """All messages as one text, each behind its role, with its calls."""
        return "\n\n".join(map(_as_text, self.messages))


def _as_text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(part.get("text", "") for part in content)
    calls = (f"{call['function']['name']} {call['function']['arguments']}" for call in message.get("tool_calls") or ())
    return "\n".join([f"{message['role']}: {content}", *calls])


@dataclass(frozen=True, slots=True)
class Setting:
    """What every method is given alike.

    Attributes:
        max_tokens: of a prompt, the question included.
        count: counts tokens.
        model: writes summaries; None leaves a method to what it does without one, or to the `StandIn`.
        embedder: as `hybrid_memory.open_memory` takes it, or the name of one as in `hybrid_memory.config.MemoryConfig`,
            such as ``none``; None is the default one.
        compressor: for LLMLingua.
    """

    max_tokens: int
    count: TokenCounter
    model: LanguageModel | None = None
    embedder: Any = None
    compressor: TextCompressor | None = None


class Fetched(NamedTuple):
    """A text that was fetched beside a prompt, and the ids of the messages that it comes from."""

    text: str
    sources: frozenset[str]


class Replay(Protocol):
    """One conversation under one method."""

    def say(self, message: Message, /) -> None:
        """The next message was said; compress if it is time."""
        ...

    def prompt(self, question: str | None = None, /) -> Prompt:
        """What the model would be sent now: for the next turn, or for this question after all that was said.

        Asking changes nothing that a later prompt shows.
        """
        ...

    def reaches(self, prompt: Prompt, source: str, /) -> bool:
        """Whether a name that the prompt shows leads to the message with this id, word by word."""
        ...

    def fetch(self, question: str, prompt: Prompt, /) -> Iterator[Fetched]:
        """What a model that doesn't find the answer in the prompt can have fetched, one text after the other."""
        ...


class Method(Protocol):
    """A way to keep a conversation within a budget.

    Attributes:
        name: by which it is chosen, and which the report shows.
    """

    name: str

    def replay(self, setting: Setting, /) -> AbstractContextManager[Replay]:
        """An empty conversation under this method.

        Raises:
            MissingDependencyError: something that it needs is not installed.
        """
        ...
