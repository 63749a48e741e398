"""Calls of the verbs of a memory and of its handles, made up from their signatures."""

import inspect
import random
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.faults._hostile import FITTING, HOSTILE, shown
from hybrid_memory import HybridMemory, Message

LEFT_OUT = {
    "close", "as_read_only", "lock", "schedule", "now", "migrate", "set_language_model", "language_model",
}  # fmt: skip
"""What ends the memory, gives it another model or makes another memory."""

CHANCES = (0.15, 0.35)
"""That an optional argument is given: few, since some verbs take one of several only."""


@dataclass(frozen=True)
class Call:
    """One call.

    Attributes:
        name: what is called, without its async twin's letter.
        text: the call as it is reported.
        run: makes it; may return an awaitable.
        foreign: errors of others that are their own check of the arguments.
        frames: only errors that passed through files with one of these in their path count; by default all.
    """

    name: str
    text: str
    run: Callable[[], Any]
    foreign: tuple[type[BaseException], ...] = ()
    frames: tuple[str, ...] = ()


class Verbs:
    """Makes up calls of one store's verbs, and remembers what they returned, to be given to others.

    Args:
        memory: open, of a store that the calls may fill.
        random: what is made up follows from it.
        folder: for files.
    """

    def __init__(self, memory: HybridMemory, random: random.Random, folder: Path) -> None:
        self.random = random
        self.memory = memory
        self.folder = folder
        alice = memory.scoped(user="alice", session="s1")
        space = memory.scoped(user="alice").space("team").create()
        self.owners: list[Any] = [memory, alice, memory.scoped(user="alice"), space, alice.block("notes")]
        self.owners += [memory.scoped(user="bob", agent="a"), memory.items("app"), space.block("plan")]
        alice.remember(["I live in Hamburg", "the red car is fast", "see https://example.org and `x.py`"])
        alice.block("notes").put("first")
        payload = alice.offload("line one\nline two\n" * 50)
        self.made: list[Any] = [alice.recall("car")[0], "#1", "#1-3", payload.result_id, 1, 3, Message(content="hi")]
        self.made += list(alice.facts()) + alice.events()[:3]

    def one(self) -> Call:
        """The next call."""
        owner = self.random.choice(self.owners)
        names = sorted(name for name in dir(owner) if not name.startswith("_") and is_verb(owner, name))
        return self.of(owner, self.random.choice(names))

    def of(self, owner: Any, name: str, **given: Any) -> Call:
        """A call of a verb of an object."""
        verb = getattr(owner, name)
        return self.call(f"{type(owner).__name__}.{name}", verb, given | dict(self.arguments(verb, *CHANCES)))

    def call(self, text: str, function: Callable[..., Any], arguments: dict[str, Any]) -> Call:
        """A call with these arguments; where it is refused, nothing may have changed."""
        said = ", ".join(f"{name}={shown(value)}" for name, value in arguments.items())
        owner = getattr(function, "__self__", None)
        return Call(bare_name(type(owner), text.rpartition(".")[2]), f"{text}({said})", lambda: function(**arguments))

    def arguments(self, verb: Callable[..., Any], *chances: float) -> Iterator[tuple[str, Any]]:
        """Arguments by the signature, of which the optional ones are given with one of these chances."""
        chance = self.random.choice(chances)
        for name, parameter in inspect.signature(verb).parameters.items():
            required = parameter.default is parameter.empty
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) or name in ("self", "progress"):
                continue
            if required or self.random.random() < chance:
                yield name, self.value(str(parameter.annotation))

    def value(self, annotation: str) -> Any:
        """Nonsense, something that a verb returned, or what fits."""
        chance = self.random.random()
        if chance < 0.55:
            return self.random.choice(HOSTILE)()
        if chance < 0.7:
            return self.random.choice(self.made)
        return self.fitting(annotation)

    def fitting(self, annotation: str) -> Any:
        """A value of the parameter's type, which reaches further than one that is refused."""
        fitting: list[Any] = []
        for part, values in FITTING.items():
            if part in annotation:
                fitting += values
        return self.random.choice(fitting) if fitting else None

    def keep(self, call: Call, value: Any) -> None:
        """Something that a verb returned, for later calls."""
        if call.name == "rebuild":
            return
        values = list(value)[:2] if isinstance(value, list) else [value]
        self.made = [*self.made, *(one for one in values if one is not None and not inspect.isawaitable(one))][-60:]


def is_verb(owner: Any, name: str) -> bool:
    """Whether the attribute is a method that a campaign may call."""
    return bare_name(type(owner), name) not in LEFT_OUT and isinstance(
        getattr(type(owner), name, None), types.FunctionType
    )


def bare_name(kind: type, name: str) -> str:
    """The name of a verb for that of its async twin."""
    return name[1:] if name.startswith("a") and hasattr(kind, name[1:]) else name
