"""A conversation that is longer than its budget, and a model that answers by script."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from hybrid_memory import Message
from hybrid_memory.errors import ModelError
from hybrid_memory_evaluation import Probe, ProbeKind, Transcript
from tests.world import column, rows


@pytest.fixture(scope="session")
def chat() -> Transcript:
    """62 messages of about 1,400 tokens; what matters is said in the first six."""
    told, fillers = rows("evaluation/chat.tsv", "said"), column("evaluation/chat.tsv", "filler")
    told += [(role, f"{fillers[row % 4]} That was day {row}.") for row in range(28) for role in ("user", "assistant")]
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

    name = "scripted"

    def __init__(
        self,
        complete: Callable[[str], str] = lambda _: "-",
        structured: Callable[[str, Mapping[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
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
