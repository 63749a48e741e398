"""A conversation that is evaluated, whatever it was read from."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Self

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.message import Message
from hybrid_memory.store.remember import as_messages


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation of one user with one assistant, oldest message first.

    Attributes:
        name: by which the report calls it.
        messages: each with an id that no other has.
        form: what it was read from.
        key: by which its file calls it; empty if it does not.
    """

    name: str
    messages: tuple[Message, ...]
    form: str = "messages"
    key: str = ""

    @classmethod
    def of(
        cls,
        messages: Sequence[Message | dict[str, Any]],
        *,
        name: str = "chat",
        form: str = "messages",
        key: str = "",
    ) -> Self:
        """The conversation of these messages; those without an id, or with one that was used before, get a number.

        Raises:
            InvalidInputError: there are none, or one of them is no message.
        """
        if not messages:
            raise InvalidInputError(f"{name} has no messages")
        given = as_messages(list(messages))
        taken = {message.id for message in given}
        seen: set[str] = set()
        said = []
        for number, message in enumerate(given, 1):
            id_ = message.id if message.id and message.id not in seen else _free(f"turn-{number}", taken)
            taken.add(id_)
            seen.add(id_)
            said.append(message if message.id == id_ else message.model_copy(update={"id": id_}))
        return cls(name, tuple(said), form, key)

    @property
    def digest(self) -> str:
        """Of everything that was said; another for another conversation."""
        said = "\n".join(message.model_dump_json(exclude={"at"}) for message in self.messages)
        return hashlib.blake2b(said.encode(), digest_size=8).hexdigest()

    def __repr__(self) -> str:
        return f"<Transcript {self.name}: {len(self.messages)} messages, read as {self.form}>"


def _free(name: str, taken: Collection[str | None]) -> str:
    names = chain([name], (f"{name}-{again}" for again in count(2)))
    return next(free for free in names if free not in taken)
