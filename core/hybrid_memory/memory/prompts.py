"""The verbs of a conversation: its prompt, its blocks, its summary, and the way back to every word."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from hybrid_memory.arguments import checked
from hybrid_memory.blocks import edit as block_flows
from hybrid_memory.blocks.block import Block
from hybrid_memory.config import PagingConfig
from hybrid_memory.context import assemble as assembling
from hybrid_memory.context import compact as compacting
from hybrid_memory.context import conversation as logged
from hybrid_memory.context import expand as expanding
from hybrid_memory.context.context import Context, Dropped
from hybrid_memory.context.expand import Payload
from hybrid_memory.context.layout import Layout
from hybrid_memory.context.offload.payloads import Matches, Page
from hybrid_memory.context.request import MAX_HITS, Host, PromptRequest, Reader
from hybrid_memory.context.summaries.strategy import Strategy
from hybrid_memory.context.summary import Line, Summary
from hybrid_memory.index.record import Record
from hybrid_memory.log.message import Message
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.memory.faces import BlockHandle, faces, of_block, owned
from hybrid_memory.memory.turns import Turns
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tasks import INTERACTIVE, at_priority
from hybrid_memory.sharing.grant import Right

PAGE_CHARS = 4000
DIGEST_TOKENS = 200


class HostArguments(TypedDict, total=False):
    """Arguments of `Prompts.assemble` that became one: fields of `Host`."""

    among: Collection[str] | None
    began: str | None
    beside: str | None


class Prompts(Turns):
    """The conversation of one session, or, where the handle names none, all sessions of the owner as one."""

    async def _assemble(
        self,
        run: Runner,
        query: str | None = None,
        *,
        max_tokens: int | None = None,
        identity: str = "",
        instructions: str = "",
        blocks: Mapping[str, str | Block] | None = None,
        profile: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        k: int = MAX_HITS,
        layout: Layout = "stable",
        host: Host | None = None,
        reader: str | Reader | None = None,
        wait: bool = True,
        paging: PagingConfig | None = None,
        **moved: Unpack[HostArguments],
    ) -> Context:
        """The prompt for the next call of a model: summary, recent turns, what is recalled, and the question.

        What fits is shown as it was said. Where it does not, long messages that were answered are shortened first, then
        older turns are compacted into the summary; what was not answered yet goes last. What was learned, summarised or
        recalled, and what others than operator and user wrote, stands in marked places in front of the user's words,
        and never in the system message.

        Call it before or after the user's turn is remembered; it is not repeated. Until room is short, each prompt
        begins with the one before, so that a provider's cache keeps working: what was recalled for a turn stays with
        it, and only what the prompt does not show yet, and what has to do with the question, is recalled.

        Args:
            query: the user's words that are to be answered; None for the last turn of the conversation.
            max_tokens: of the whole prompt, with tools; the configured budget by default.
            identity: who the assistant is.
            instructions: what it must do; the operator's system messages that the conversation began with are added.
            blocks: texts by label, the operator's own; or blocks, as `blocks` gives them, which know whose words they
                are; by default those of working context that there are.
            profile: about the user; by default what was learned of them. What this session's own turns say stands in
                these; it is made anew where it changed otherwise. An empty text shows none.
            tools: tool schemas that go along, to be counted.
            k: the most turns to recall; 0 recalls nothing.
            layout: ``stable`` as above; ``queue`` with the summary as the first entry of the conversation; ``classic``
                for identity, profile, memory, conversation, instruction.
            host: what the program knows that holds the conversation, such as an agent's state.
            reader: the tool by which the model can read what a handle names: its name if it is among ``tools``, or a
                `Reader` with its schema if it is bound only where `Context.reader` says that the prompt names it.
                Without one, what there is no room for is shown in the parts that matter for the question.
            wait: let a language model write the summary before this returns. Otherwise turns are compacted in the pause
                after the answer, and now only if they no longer fit, without asking the model yet.
            paging: lay the prompt out for a model that manages its memory itself: with a warning in the conversation
                before messages leave it, and a recursive summary of those that did; see `PagingConfig`. Then nobody
                need have asked anything.
            **moved: deprecated: ``among``, ``began`` and ``beside`` are fields of ``host``.

        A budget that is too little for identity, instructions and tools is warned about once in the log; the
        conversation then gets a quarter of it, and the prompt is longer.

        Raises:
            InvalidInputError: an argument is wrong, or there is no question.
        """
        if moved:
            host = replace(host or Host(), **moved)
            warnings.warn("give assemble(host=Host(...)) instead", DeprecationWarning, stacklevel=5)
        services = self._services
        if blocks is None:
            blocks = await self._shown(run, edited=paging is not None)
        request = PromptRequest.of(
            query, max_tokens=services.config.compaction.max_tokens if max_tokens is None else max_tokens,
            identity=identity, instructions=instructions, blocks=blocks, profile=profile, tools=tools, k=k,
            layout=layout, host=host, reader=reader, wait=wait, paging=paging,
        )  # fmt: skip
        with at_priority(INTERACTIVE):
            made = await assembling.assemble(run, services, self.scope, request)
        return self._runtime.after_assemble(self.scope, request, made)

    assemble, aassemble = faces(_assemble, needs=Right.WRITE)

    async def _shown(self, run: Runner, *, edited: bool) -> dict[str, Block]:
        """The blocks that a prompt shows: to a model that edits them, also those that are empty."""
        return {label: block for label, block in (await self._blocks(run)).items() if edited or block.value}

    async def _blocks(self, run: Runner) -> dict[str, Block]:
        """The blocks by label, in the order in which they were first put; of one attached, what its space says now.

        One attached is left out while its space has none of this label, or may not be read.
        """
        return await block_flows.blocks(run, owned(self))

    blocks, ablocks = faces(_blocks, needs=Right.READ)

    @checked
    def block(self, label: str) -> BlockHandle:
        """The block of this label, to be put, edited, undone, attached or removed."""
        return BlockHandle(self, label)

    put_block, aput_block = of_block(BlockHandle.put, "put_block"), of_block(BlockHandle.aput, "aput_block")
    edit_block, aedit_block = of_block(BlockHandle.edit, "edit_block"), of_block(BlockHandle.aedit, "aedit_block")
    undo_block, aundo_block = of_block(BlockHandle.undo, "undo_block"), of_block(BlockHandle.aundo, "aundo_block")
    block_history = of_block(BlockHandle.history, "block_history")
    ablock_history = of_block(BlockHandle.ahistory, "ablock_history")
    attach_block = of_block(BlockHandle.attach, "attach_block")
    aattach_block = of_block(BlockHandle.aattach, "aattach_block")
    remove_block = of_block(BlockHandle.remove, "remove_block")
    aremove_block = of_block(BlockHandle.aremove, "aremove_block")

    async def _begin_blocks(self, run: Runner, blocks: Sequence[Block]) -> None:
        """Give an owner who never had a block these, all or none of them.

        Raises:
            InvalidInputError: one of them cannot be a block. Nothing was written.
        """
        await block_flows.begin(run, self._services, self.scope, blocks)

    begin_blocks, abegin_blocks = faces(_begin_blocks, needs=Right.WRITE)

    async def _compact(
        self, run: Runner, *, strategy: str | Strategy | None = None, keep: int | None = None
    ) -> Receipt:
        """Compact all but the newest rounds into the summary now; the log keeps every word.

        Args:
            strategy: a name, or an object of your own behind the same port; the configured one by default.
            keep: how many rounds stay verbatim; the configured ``keep_least`` by default.

        Raises:
            InvalidInputError: no such strategy, or a ``keep`` below 1.
        """
        return await compacting.compact(run, self._services, self.scope, strategy=strategy, keep=keep)

    compact, acompact = faces(_compact, needs=Right.WRITE)

    async def _summary(self, run: Runner) -> Summary:
        """What stands for the turns that were compacted, with the audit of what survived; empty before the first."""
        return await compacting.summary(run, self._services, self.scope)

    summary, asummary = faces(_summary, needs=Right.READ)

    async def _conversation(self, run: Runner, *, limit: int | None = None) -> list[Message]:
        """The messages since the last `reset`, compacted or not, oldest first; with a limit the newest ones."""
        return await logged.conversation(run, self._services, self.scope, limit)

    conversation, aconversation = faces(_conversation, needs=Right.READ)

    async def _reset(self, run: Runner, *, keep: Sequence[str] = ()) -> None:
        """Let the conversation start anew from here, with these messages only; the log and recall keep all.

        Raises:
            InvalidInputError: ``keep`` is no list of ids of this session's messages.
        """
        await logged.reset(run, self._services, self.scope, keep)

    reset, areset = faces(_reset, needs=Right.WRITE)

    async def _expand(self, run: Runner, what: str | Line | Hit | Record | Dropped | Summary) -> list[Message]:
        """The original messages behind a summary line, a hit, a handle such as ``#12`` or ``#12-40``, or an event id.

        Raises:
            InvalidInputError: it is none of these, or nothing of this owner is there.
        """
        return await expanding.expand(run, self._services, self.scope, what)

    expand, aexpand = faces(_expand, needs=Right.READ)

    async def _fetch(
        self, run: Runner, result_id: str, where: str | tuple[int, int] | None = None, *, max_chars: int = PAGE_CHARS
    ) -> Page:
        """A page of a payload that stands in a prompt as a digest.

        Args:
            result_id: from the digest.
            where: lines ``"10-60"`` or ``(10, 60)``, characters ``"c1000-2000"``, a JSON path ``"flights[0].price"``;
                None for the beginning. `Page.next` leads to the rest.
            max_chars: of the page.

        Raises:
            InvalidInputError: nothing has this id, or ``where`` is not in it.
        """
        return await expanding.fetch(run, self._services, self.scope, result_id, where=where, max_chars=max_chars)

    fetch, afetch = faces(_fetch, needs=Right.READ)

    async def _grep(
        self, run: Runner, result_id: str, pattern: str, *, context: int = 0, max_chars: int = PAGE_CHARS
    ) -> Matches:
        """The lines of a payload that match a regular expression (no lookaround, no backreferences), numbered.

        Raises:
            InvalidInputError: nothing has this id, or the pattern is no valid expression.
        """
        return await expanding.search(
            run, self._services, self.scope, result_id, pattern, context=context, max_chars=max_chars
        )

    grep, agrep = faces(_grep, needs=Right.READ)

    async def _offload(self, run: Runner, text: str, *, max_tokens: int = DIGEST_TOKENS) -> Payload:
        """Put a text aside: a long result, or a note to oneself; durable on return, and no turn of the conversation.

        Args:
            text: of any length.
            max_tokens: of the digest.

        Raises:
            InvalidInputError: it is empty or cannot be stored.
        """
        return await expanding.offload(run, self._services, self.scope, text, max_tokens)

    offload, aoffload = faces(_offload, needs=Right.WRITE)
