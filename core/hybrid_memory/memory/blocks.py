"""The verbs of working context: labelled texts that stand in every prompt, and that the model edits itself."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.blocks import edit as flows
from hybrid_memory.blocks.block import MAX_CHARS, Block, Edit
from hybrid_memory.memory.membership import Membership
from hybrid_memory.memory.runtime import INLINE
from hybrid_memory.runtime.runners import Runner, drive
from hybrid_memory.sharing.grant import Right


class Blocks(Membership):
    """The blocks of one owner, in all sessions, and those of spaces that are attached to it.

    Every change is an event of the log. `ScopedMemory.assemble` shows the blocks that there are.
    """

    def blocks(self) -> dict[str, Block]:
        """The blocks by label, in the order in which they were first put; of one attached, what its space says now.

        One attached is left out while its space has none of this label, or may not be read.
        """
        return drive(self._blocks(INLINE))

    async def ablocks(self) -> dict[str, Block]:
        """Async twin of `blocks`."""
        return await self._blocks(self._runtime.loop)

    async def _blocks(self, run: Runner) -> dict[str, Block]:
        return await flows.blocks(run, self._owned)

    async def _begin_blocks(self, run: Runner, blocks: Sequence[Block]) -> None:
        """Give an owner who never had a block these, all or none of them."""
        await flows.begin(run, self._services, self.scope, blocks)

    def put_block(
        self, label: str, value: str = "", *, description: str = "", max_chars: int = MAX_CHARS, read_only: bool = False
    ) -> Block:
        """Make a block, or set the one of this label anew: the application's verb, also for what is read-only.

        Args:
            label: 1 to 64 letters, digits, ``_``, ``.`` and ``-``.
            value: the text.
            description: for the model: what belongs into it.
            max_chars: that the text may ever have, 1 to 100,000.
            read_only: whether the model may not edit it.

        Raises:
            InvalidInputError: one of these is out of range. Nothing was changed.
            AccessDeniedError: it is attached from a space that may not be written.
        """
        return drive(self._put_block(INLINE, Block(label, value, description, max_chars, read_only)))

    async def aput_block(
        self, label: str, value: str = "", *, description: str = "", max_chars: int = MAX_CHARS, read_only: bool = False
    ) -> Block:
        """Async twin of `put_block`."""
        return await self._put_block(self._runtime.loop, Block(label, value, description, max_chars, read_only))

    async def _put_block(self, run: Runner, block: Block) -> Block:
        there = await flows.home(run, self._owned, block.label, "put_block")
        return there.seen(await flows.put(run, there.services, there.scope, block))

    def edit_block(
        self,
        label: str,
        *,
        append: str | None = None,
        old: str | None = None,
        new: str = "",
        value: str | None = None,
        revision: int | None = None,
        id: str = "",  # noqa: A002 - the field's name, as in remember
        source: str | Sequence[str] = (),
    ) -> Block:
        """Change the text of a block, as the model does; exactly one of ``append``, ``old`` and ``value`` says how.

        Of two who append at once both are heard, and a replacement holds as long as its place is still there.

        Args:
            label: of the block.
            append: goes on a new line at the end.
            old: what stands in the text exactly once; becomes ``new``.
            new: empty takes ``old`` out.
            value: the whole text anew.
            revision: with ``value``: of the block that it was written from; None overwrites whatever is there.
            id: makes the edit idempotent.
            source: ids of the messages that it follows from; it is forgotten with them.

        Raises:
            InvalidInputError: there is no such block, it is read-only or would be too long, ``old`` is not in it
                exactly once, or it has another revision. Nothing was changed.
            AccessDeniedError: it is attached from a space that may not be written.
        """
        wanted = Edit(append, old, new, value)
        return drive(self._edit_block(INLINE, label, wanted, revision, id, source))

    async def aedit_block(
        self,
        label: str,
        *,
        append: str | None = None,
        old: str | None = None,
        new: str = "",
        value: str | None = None,
        revision: int | None = None,
        id: str = "",  # noqa: A002 - the field's name, as in remember
        source: str | Sequence[str] = (),
    ) -> Block:
        """Async twin of `edit_block`."""
        wanted = Edit(append, old, new, value)
        return await self._edit_block(self._runtime.loop, label, wanted, revision, id, source)

    async def _edit_block(  # noqa: PLR0917 - private, of one call
        self, run: Runner, label: str, wanted: Edit, seen: int | None, call: str, source: str | Sequence[str]
    ) -> Block:
        there = await flows.home(run, self._owned, label, "edit_block")
        sources = (source,) if isinstance(source, str) else tuple(source)
        edit = flows.edit(run, there.services, there.scope, label, wanted, seen=seen, call=call, sources=sources)
        return there.seen(await edit)

    def undo_block(self, label: str) -> Block:
        """Take back the last change of a block that still counts; called again, the one before.

        Raises:
            InvalidInputError: there is nothing to undo.
            AccessDeniedError: it is attached from a space that may not be written.
        """
        return drive(self._undo_block(INLINE, label))

    async def aundo_block(self, label: str) -> Block:
        """Async twin of `undo_block`."""
        return await self._undo_block(self._runtime.loop, label)

    async def _undo_block(self, run: Runner, label: str) -> Block:
        there = await flows.home(run, self._owned, label, "undo_block")
        undone = there.seen(await flows.undo(run, there.services, there.scope, label))
        # Of a block that is attached again, what its space says.
        return (await self._blocks(run)).get(label, undone)

    def block_history(self, label: str) -> list[Block]:
        """A block after each of its changes, oldest first.

        Raises:
            InvalidInputError: there never was one of this label.
            AccessDeniedError: it is attached from a space that may not be read.
        """
        return drive(self._block_history(INLINE, label))

    async def ablock_history(self, label: str) -> list[Block]:
        """Async twin of `block_history`."""
        return await self._block_history(self._runtime.loop, label)

    async def _block_history(self, run: Runner, label: str) -> list[Block]:
        there = await flows.home(run, self._owned, label, "block_history", Right.READ)
        changes = flows.history(await flows.kept_blocks(run, there.services, there.scope), label)
        return [there.seen(block) for block in changes]

    def attach_block(self, label: str, *, space: str) -> Block:
        """Show and edit the block of this label in a shared space, as others do who attach it.

        Raises:
            InvalidInputError: there is a block of this label here, or the space has none.
            AccessDeniedError: the space may not be read.
        """
        return drive(self._attach_block(INLINE, label, space))

    async def aattach_block(self, label: str, *, space: str) -> Block:
        """Async twin of `attach_block`."""
        return await self._attach_block(self._runtime.loop, label, space)

    async def _attach_block(self, run: Runner, label: str, space: str) -> Block:
        return await flows.attach(run, self._owned, label, space)

    def remove_block(self, label: str) -> None:
        """Take a block out of the prompt, or detach it; its history stays, and `undo_block` brings it back.

        Raises:
            InvalidInputError: there is none.
        """
        drive(flows.remove(INLINE, self._services, self.scope, label))

    async def aremove_block(self, label: str) -> None:
        """Async twin of `remove_block`."""
        await flows.remove(self._runtime.loop, self._services, self.scope, label)

    @property
    def _owned(self) -> flows.Owned:
        return flows.Owned(self._services, self.scope, self._principal)
