"""What the newest messages did, told with what was known before."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.artifacts.ledger import Ledger, Operation
from hybrid_memory.artifacts.merging import merge
from hybrid_memory.artifacts.reading import read_ledger
from hybrid_memory.log.message import Message


def read_on(older: Ledger, messages: Sequence[Message]) -> Ledger:
    """What these messages did, after those of the older ledger; to be merged with it."""
    return read_ledger(messages, runs_fences=bool(older.commands))


def changed_since(older: Ledger, messages: Sequence[Message]) -> Ledger:
    """The files that these messages changed, as they are now that the older ledger's history is counted in."""
    newer = read_on(older, messages)
    if all(file.operation is Operation.READ for file in newer.files):
        return Ledger()
    touched = {message.id for message in messages}
    files = [file for file in merge(older, newer).files if touched.intersection(file.sources)]
    return Ledger(files=tuple(file for file in files if file.operation is not Operation.READ))
