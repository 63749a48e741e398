"""Whatever is done with blocks, by two memories on one file in turn, they say what plain lists say."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.errors import InvalidInputError

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
LABELS = st.sampled_from(["human", "任务"])
TEXTS = st.text(alphabet="ab 中🙂\n", max_size=6)
SIZES = st.integers(1, 14)


@dataclass(frozen=True)
class Stand:
    """What a block is at one time."""

    value: str
    max_chars: int
    read_only: bool = False
    removed: bool = False


@dataclass(frozen=True)
class Record:
    """One label: each change that was made, those that still count, and the ids of edits."""

    told: tuple[tuple[str, str], ...] = ()
    counting: tuple[Stand, ...] = ()
    ids: frozenset[str] = frozenset()

    @property
    def stand(self) -> Stand | None:
        return self.counting[-1] if self.counting and not self.counting[-1].removed else None

    def then(self, change: str, stand: Stand, name: str = "") -> Record:
        return Record((*self.told, (change, stand.value)), (*self.counting, stand), self.ids | ({name} - {""}))

    def edited(self, change: str, name: str, value: str | None) -> Record | None:
        """With this value; None where it must be refused."""
        stand = self.stand
        if stand is None:
            return None
        if name and name in self.ids:
            return self
        if stand.read_only or value is None or len(value) > stand.max_chars:
            return None
        return self.then(change, replace(stand, value=value), name)

    def undone(self) -> Record | None:
        if len(self.counting) < 2:
            return None
        counting = self.counting[:-1]
        return replace(self, told=(*self.told, ("undo", counting[-1].value)), counting=counting)


Records = dict[str, Record]


Said = tuple[list[tuple[str, str]], dict[str, list[tuple[str, str]]]]


def seen(owner: ScopedMemory) -> Said:
    """What a handle says: the texts in their order, and the changes of each label."""
    there = owner.blocks()
    assert all(len(block.value) <= block.max_chars for block in there.values())
    return [(label, block.value) for label, block in there.items()], {
        label: [(block.change, block.value) for block in told_of(owner, label)] for label in ("human", "任务")
    }


def told_of(owner: ScopedMemory, label: str) -> list[Any]:
    try:
        return owner.block(label).history()
    except InvalidInputError as error:
        assert "there is no block" in str(error)  # noqa: PT017 - whether there is one is the oracle's to say
        return []


def wanted(records: Records) -> Said:
    standing = [(label, record.stand.value) for label, record in records.items() if record.stand is not None]
    return standing, {label: list(records.get(label, Record()).told) for label in ("human", "任务")}


class Blocks(RuleBasedStateMachine):
    """Two memories on one store do what comes, in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.now = START
        self.memories = [self.open(), self.open()]
        self.records: Records = {}
        self.past: list[tuple[int, Records]] = []
        self.numbers: dict[str, int] = {}

    def open(self) -> HybridMemory:
        url = f"sqlite:///{Path(self.folder.name) / 'memory.db'}"
        return open_memory(MemoryConfig(url=url, embedder="none", power_safe=False), clock=lambda: self.now)

    @property
    def handles(self) -> list[ScopedMemory]:
        return [memory.scoped(user="ada", session="s") for memory in self.memories]

    def write(self, verb: str, label: str, after: Record | None, *args: Any, **options: Any) -> None:
        """Call the verb, after which the label stands like this; None where it must be refused."""
        self.memories.reverse()
        self.now += timedelta(seconds=1)
        call = getattr(self.handles[0].block(label), verb)
        if after is None:
            with pytest.raises(InvalidInputError):
                call(*args, **options)
            return
        block = call(*args, **options)
        if after != self.records.get(label):
            assert block is None or block.revision > self.numbers.get(label, 0), "no number is given twice"
            assert block is None or block.value == after.counting[-1].value
        self.numbers[label] = self.numbers.get(label, 0) + 1 if block is None else block.revision
        self.records = {**self.records, label: after}
        self.mark()

    def mark(self) -> None:
        handle = self.handles[0]
        self.past.append((handle._runtime.services.truth.heads()[handle.scope.owner], self.records))

    def record(self, label: str) -> Record:
        return self.records.get(label, Record())

    @initialize(label=LABELS)
    def begin(self, label: str) -> None:
        self.write("put", label, Record().then("put", Stand("", 14)), max_chars=14)

    @rule(label=LABELS, value=TEXTS, size=SIZES, read_only=st.sampled_from([False, False, False, True]))
    def put(self, label: str, value: str, size: int, read_only: bool) -> None:
        after = self.record(label).then("put", Stand(value, size, read_only)) if len(value) <= size else None
        self.write("put", label, after, value, max_chars=size, read_only=read_only)

    @rule(label=LABELS, text=TEXTS, name=st.sampled_from(["", "", "call-1", "call-2"]))
    def append(self, label: str, text: str, name: str) -> None:
        stand = self.record(label).stand
        value = None if stand is None or not text.strip() else f"{stand.value}\n{text}" if stand.value else text
        after = self.record(label).edited("append", name, value) if text.strip() else None
        self.write("edit", label, after, append=text, id=name)

    @rule(label=LABELS, old=st.text(alphabet="ab中🙂", min_size=1, max_size=2), new=TEXTS)
    def replace(self, label: str, old: str, new: str) -> None:
        stand = self.record(label).stand
        parts = [] if stand is None else stand.value.split(old)
        self.write(
            "edit",
            label,
            self.record(label).edited("replace", "", new.join(parts) if len(parts) == 2 else None),
            old=old,
            new=new,
        )

    @rule(label=LABELS, value=TEXTS, late=st.sampled_from([None, 0, 1]))
    def rethink(self, label: str, value: str, late: int | None) -> None:
        there = self.handles[0].blocks().get(label)
        revision = None if late is None or there is None else there.revision - late
        after = None if late else self.record(label).edited("rethink", "", value)
        self.write("edit", label, after, value=value, revision=revision)

    @rule(label=LABELS)
    def undo(self, label: str) -> None:
        self.write("undo", label, self.record(label).undone())

    @rule(label=LABELS)
    def remove(self, label: str) -> None:
        stand = self.record(label).stand
        after = None if stand is None else self.record(label).then("remove", replace(stand, removed=True))
        self.write("remove", label, after)

    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        position, records = data.draw(st.sampled_from(self.past), label="past")
        self.handles[1].rollback(position)
        self.records = records
        self.mark()

    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        position, records = data.draw(st.sampled_from(self.past), label="past")
        assert seen(self.handles[0].as_of(position)) == wanted(records)

    @rule()
    def reopen(self) -> None:
        self.memories[0].close()
        self.memories[0] = self.open()

    @precondition(lambda self: self.past)
    @invariant()
    def both_say_what_the_lists_say(self) -> None:
        assert [seen(handle) for handle in self.handles] == [wanted(self.records)] * 2

    def teardown(self) -> None:
        for memory in self.memories:
            memory.close()
        self.folder.cleanup()


TestBlocks = Blocks.TestCase
TestBlocks.settings = settings(max_examples=14, stateful_step_count=25)
