"""Blocks of working context as files."""

from __future__ import annotations

from dataclasses import replace

from hybrid_memory.blocks import edit as flows
from hybrid_memory.blocks.block import MAX_CHARS, Block, Edit
from hybrid_memory.blocks.edit import Owned
from hybrid_memory.errors import FileError
from hybrid_memory.files.file import File, FileRevision, checked_file
from hybrid_memory.files.owned import Change, Place, Writing, missing
from hybrid_memory.log.origin import lowest
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.sharing.grant import Right
from hybrid_memory.validation import shown

FOLDER = "/blocks"


class BlockFiles(Place):
    """``/blocks/<label>.md``: the exact text of each block."""

    made = False

    def holds(self, path: str) -> bool:
        return path == FOLDER or path.startswith(f"{FOLDER}/")

    async def files(self, run: Runner, owned: Owned) -> list[File]:
        return [_file(owned, block) for block in (await flows.blocks(run, owned)).values()]

    async def text(self, run: Runner, owned: Owned, path: str) -> str | None:
        block = (await flows.blocks(run, owned)).get(path.removeprefix(f"{FOLDER}/").removesuffix(".md"))
        return block.value if block is not None and path == _path(block.label) else None

    async def change(self, run: Runner, owned: Owned, path: str, change: Change, writing: Writing) -> File:
        label = _label(path)
        home = await flows.home(run, owned, label, "edit_block")
        block = (await flows.kept_blocks(run, home.services, home.scope)).get(label)
        text = checked_file(change(None if block is None else block.value))
        origin = await flows.editor(run, home, writing.origin, writing.sources, followed=bool(writing.call))
        if block is None:
            services = replace(home.services, speaks=lowest((home.services.speaks, origin)))
            new = Block(label, text, max_chars=max(MAX_CHARS, len(text)))
            return _file(owned, await flows.put(run, services, home.scope, new))
        if block.value == text:
            return _file(owned, block)
        edited = await flows.edit(
            run, home.services, home.scope, label, Edit(value=text),
            seen=block.revision, call=writing.call, sources=writing.sources, origin=origin,
        )  # fmt: skip
        return _file(owned, home.seen(edited))

    async def delete(self, run: Runner, owned: Owned, path: str) -> None:
        """Remove the block from the prompt."""
        await flows.remove(run, owned.services, owned.scope, _label(path))

    async def history(self, run: Runner, owned: Owned, path: str) -> list[FileRevision]:
        label = _label(path)
        home = await flows.home(run, owned, label, "block_history", Right.READ)
        kept = await flows.kept_blocks(run, home.services, home.scope)
        if label not in kept.histories:
            raise missing(path)
        return [
            FileRevision(path, one.revision, one.value, one.change, one.at, one.author, one.origin, one.removed)
            for one in flows.history(kept, label)
        ]

    async def undo(self, run: Runner, owned: Owned, path: str) -> File | None:
        label = _label(path)
        home = await flows.home(run, owned, label, "undo_block")
        block = await flows.undo(run, home.services, home.scope, label)
        return None if block.removed else _file(owned, home.seen(block))


def _path(label: str) -> str:
    return f"{FOLDER}/{label}.md"


def _label(path: str) -> str:
    name = path.removeprefix(f"{FOLDER}/")
    if not name.endswith(".md") or path == FOLDER:
        raise FileError("path", f"a block is a file such as {_path('notes')}, got {shown(path)}")
    return name.removesuffix(".md")


def _file(owned: Owned, block: Block) -> File:
    services = owned.services
    fixed = block.read_only or services.read_only or services.horizon is not None
    return File(_path(block.label), len(block.value.encode()), block.at, read_only=fixed)
