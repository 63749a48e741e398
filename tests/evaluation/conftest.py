"""A conversation that is longer than its budget, and a model that answers by script."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from hybrid_memory import Message
from hybrid_memory.errors import ModelError
from hybrid_memory_evaluation import Probe, ProbeKind, Transcript

FILLERS = (
    "The weather was mild and the train was late again, as it is every other morning in spring.",
    "We walked along the river and talked about films, none of which I could remember afterwards.",
    "The bakery at the corner has new owners, and the bread tastes as it always did.",
    "Somebody left an umbrella in the meeting room, and nobody has asked for it since.",
)


@pytest.fixture(scope="session")
def chat() -> Transcript:
    """62 messages of about 1,400 tokens; what matters is said in the first six."""
    told = [
        ("user", "My locker at the station has the number QX4471, please keep it in mind."),
        ("assistant", "I will keep in mind that your locker is QX4471."),
        ("user", "We decided to use PostgreSQL for the ledger because it supports serializable transactions."),
        ("assistant", "Noted: PostgreSQL, because of serializable transactions."),
        ("user", "The name of my dentist is Dr. Amara Okafor."),
        ("assistant", "Dr. Amara Okafor, understood."),
    ]
    told += [(role, f"{FILLERS[row % 4]} That was day {row}.") for row in range(28) for role in ("user", "assistant")]
    return Transcript.of([{"role": role, "content": text} for role, text in told], name="chat")


@pytest.fixture(scope="session")
def probes() -> list[Probe]:
    """Two questions about the beginning, one about the end."""
    return [
        Probe("locker", ProbeKind.RECALL, "Which locker is mine?", "QX4471", ("QX4471",), ("turn-1",)),
        Probe(
            "database", ProbeKind.DECISION, "Which database did we choose, and why?",
            "PostgreSQL, for serializable transactions", ("PostgreSQL", "serializable"), ("turn-3", "turn-4"),
        ),
        Probe("last", ProbeKind.RECALL, "Which day was the last?", "day 27", ("day 27",), ("turn-62",)),
    ]  # fmt: skip


class Scripted:
    """A language model that answers by functions; remembers what it was sent."""

    def __init__(
        self,
        complete: Callable[[str], str] = lambda _: "-",
        structured: Callable[[str, Mapping[str, Any]], dict[str, Any]] | None = None,
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.sent: list[str] = []
        self._complete = complete
        self._structured = structured

    def complete(self, messages: Sequence[Message]) -> str:
        self.sent.append("\n".join(message.text for message in messages))
        return self._complete(self.sent[-1])

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        self.sent.append("\n".join(message.text for message in messages))
        if self._structured is None:
            raise ModelError("this script has no objects")
        return json.loads(json.dumps(self._structured(self.sent[-1], schema)))  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def scripted() -> type[Scripted]:
    return Scripted
