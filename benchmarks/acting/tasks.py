"""What a task is: what a user says to an agent, and what must come of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmarks.acting.policies import Rule
from benchmarks.acting.prompts import Call

Host = Literal["agent", "function", "chain", "engine"]
Language = Literal["en", "zh"]

HOSTS: dict[Host, str] = {
    "agent": "create_agent", "function": "FunctionAgent", "chain": "ConversationChain", "engine": "SimpleChatEngine",
}  # fmt: skip
MAIN = "main"
"""The thread that is meant where none is named."""

WORDS: dict[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
"""What users say in the tasks, where it stands in prompts and what is answered, by subject and language."""

IDENTITY: dict[Language, str] = {"en": "You are a helpful assistant.", "zh": "你是一个乐于助人的助手。"}


@dataclass(frozen=True, slots=True)
class Checks:
    """What must be seen of a turn; all are patterns, and empty ones ask for nothing.

    Attributes:
        answer: must match the answer.
        never: must not match it.
        hidden: must match no text of the turn's prompts.
        not_user: must match no message of the user in them.
        not_system: must match no system message in them, outside of tags.
        shown: must match a text of each prompt, or what is to be seen of its media.
    """

    answer: str = ""
    never: str = ""
    hidden: str = ""
    not_user: str = ""
    not_system: str = ""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """The user says something.

    Attributes:
        media: what is to be seen on a picture that comes with it, or to be read in a document.
    """

    text: str
    checks: Checks = field(default_factory=Checks)
    thread: str = MAIN
    media: str = ""
    document: bool = False


@dataclass(frozen=True, slots=True)
class Pause:
    """Time passes."""

    days: int = 7


@dataclass(frozen=True, slots=True)
class Regenerate:
    """The user asks for the last answer again."""

    checks: Checks = field(default_factory=Checks)


@dataclass(frozen=True, slots=True)
class Remove:
    """The message with these words is taken out of the agent's state, and the answer to it."""

    words: str


@dataclass(frozen=True, slots=True)
class Edit:
    """The message with these words gets other ones under its id."""

    words: str
    now: str


@dataclass(frozen=True, slots=True)
class Return:
    """What is said next follows on what was said as the nth, and on nothing later; the first is 1."""

    turn: int


Step = Say | Pause | Regenerate | Remove | Edit | Return


@dataclass(frozen=True, slots=True)
class Subagent:
    """An agent that the parent has as a tool ``ask_researcher``, with the same memory.

    Attributes:
        tools: of its own.
    """

    rules: Sequence[Rule]
    tools: Sequence[str]


@dataclass(frozen=True)
class Task:
    """Something that an agent must finish.

    Attributes:
        script: what happens.
        rules: of the policy that stands for its model.
        tools: see `benchmarks.acting.world`.
        texts: what the tools read, by name.
        done: the calls with side effects that must have been made at the end, all of them and in any order.
        max_tokens: what the memory is given as its budget; by default nothing.
        window: the model's, which it tells of itself, and beyond which it refuses a prompt.
        checkpointer: whether the host keeps a state; else its client sends all messages each time.
        transcript: whether a chain's prompt is one text.
    """

    kind: str
    language: Language
    host: Host
    script: Sequence[Step]
    rules: Sequence[Rule]
    variant: str = ""
    tools: Sequence[str] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    done: Sequence[Call] = ()
    system: str = ""
    max_tokens: int | None = None
    window: int | None = None
    checkpointer: bool = True
    transcript: bool = False
    subagent: Subagent | None = None

    @property
    def name(self) -> str:
        """Told apart from all others by it."""
        return "-".join(part for part in (self.kind, self.variant, self.language, self.host) if part)

    @property
    def identity(self) -> str:
        """The system prompt."""
        return self.system or IDENTITY[self.language]

    @property
    def acknowledgement(self) -> str:
        """What the policy answers to what no rule is for."""
        return {"en": "Noted.", "zh": "记下了。"}[self.language]
