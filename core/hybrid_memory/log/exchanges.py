"""Which messages of a conversation belong together: an assistant's calls and the results that came for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from hybrid_memory.log.message import Message, Role


@dataclass(slots=True)
class Exchange:
    """A message, and the results of its calls if it has any.

    Attributes:
        rows: of its messages, ascending.
        waiting: results that have not come, by the id of their call.
        pending: whether these may still come: no assistant has spoken since.
        orphan: whether it is a result without a call, or beyond the first for its call.
    """

    rows: list[int]
    waiting: Counter[str | None] = field(default_factory=Counter)
    pending: bool = False
    orphan: bool = False

    @property
    def complete(self) -> bool:
        """Whether a chat model accepts it: no result without its call, and no call without its result."""
        return not self.orphan and not self.waiting.total()


def exchanges(messages: Sequence[Message]) -> list[Exchange]:
    """The messages as exchanges, by their first row; each message is in one.

    A result goes to the latest call of its id that waits for one, also if somebody spoke in between: people write while
    tools run.
    """
    found: list[Exchange] = []
    open_ones: list[Exchange] = []
    for row, message in enumerate(messages):
        if message.role is not Role.TOOL:
            if message.role is Role.ASSISTANT:
                for exchange in open_ones:
                    exchange.pending = False
            # Counted, because calls without an id, or with the same one, need a result each.
            exchange = Exchange([row], Counter(call.id for call in message.tool_calls), pending=True)
            found.append(exchange)
            if message.tool_calls:
                open_ones.append(exchange)
            continue
        name = message.tool_call_id
        asked = next((exchange for exchange in reversed(open_ones) if exchange.waiting[name]), None)
        if asked is None:
            found.append(Exchange([row], orphan=True))
            continue
        asked.rows.append(row)
        asked.waiting[name] -= 1
        if asked.complete:
            open_ones.remove(asked)
    for exchange in found:
        exchange.pending = exchange.pending and not exchange.complete
    return found
