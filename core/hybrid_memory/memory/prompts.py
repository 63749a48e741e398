"""The verbs of a conversation: its prompt, its blocks, its summary, and the way back to every word."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from hybrid_memory.arguments import checked
from hybrid_memory.config import PagingConfig
from hybrid_memory.context import assemble as assembling
from hybrid_memory.context import compact as compacting
from hybrid_memory.context import conversation as logged
from hybrid_memory.context import explain as expanding
from hybrid_memory.context.context import Context, Piece
from hybrid_memory.context.explain import Page, Payload, grep, page
from hybrid_memory.context.layout import RECALLED_TURNS, Host, Layout, PromptRequest, Reader, payload_of
from hybrid_memory.context.memories import rules_of
from hybrid_memory.context.queue import state_of
from hybrid_memory.context.strategies import Strategy
from hybrid_memory.context.summary import Line, Summary
from hybrid_memory.documents import editing
from hybrid_memory.documents.document import Block
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.index.record import Record
from hybrid_memory.log.event import EventKind
from hybrid_memory.log.message import Message
from hybrid_memory.log.port import Receipt
from hybrid_memory.memory.faces import BlockHandle, verb
from hybrid_memory.memory.turns import Turns
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.runtime.tasks import INTERACTIVE, at_priority
from hybrid_memory.sharing import Asked, Right, reached
from hybrid_memory.store.keepout import kept_out
from hybrid_memory.store.view import in_view
from hybrid_memory.validation import whole

PAGE_CHARS = 4000
DIGEST_TOKENS = 200


class Prompts(Turns):
    """The conversation of one session, or all sessions of the owner as one if the scope names none."""

    @verb(Right.WRITE)
    async def assemble(
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
        k: int = RECALLED_TURNS,
        layout: Layout = "stable",
        host: Host | None = None,
        reader: str | Reader | None = None,
        wait: bool = True,
        paging: PagingConfig | None = None,
        spaces: Collection[str] | Literal["all"] = (),
    ) -> Context:
        """The prompt for the next model call: summary, recent turns, recalled memories, and the question.

        Whatever fits is shown verbatim. When space runs out, long messages that were already answered are shortened
        first, then older turns are compacted into the summary; unanswered messages go last. Everything learned,
        summarised or recalled, and everything not written by the operator or the user, is marked and placed before the
        user's words, never in the system message.

        Call it before or after remembering the user's turn; the turn is not repeated. While space lasts, each prompt
        starts with the previous one, so that the provider's prompt cache keeps working. Memories recalled for a turn
        stay with that turn, and only what the prompt does not show yet is recalled.

        Args:
            query: the user's words to answer; None for the last turn of the conversation.
            max_tokens: the budget for the whole prompt, tools included; by default as configured.
            identity: who the assistant is.
            instructions: what the assistant must do; system messages that opened the conversation are added.
            blocks: the operator's own texts by label, or blocks as returned by `blocks`; by default all blocks.
            profile: a text about the user; by default the learned profile. An empty text shows none.
            tools: tool schemas sent with the prompt, so that they are counted.
            k: the most turns to recall; 0 recalls nothing.
            layout: ``stable`` as described; ``queue`` puts the summary first in the conversation; ``classic`` is
                identity, profile, memory, conversation, instruction.
            host: what the program that holds the conversation knows about it, such as an agent's state.
            reader: the tool with which the model reads what a handle refers to: its name if it is in ``tools``, or a
                `Reader` with its schema, to be bound only when `Context.reader` names it. Without one, messages that do
                not fit are cut to the parts relevant to the question.
            wait: let a language model write the summary before this returns. Otherwise turns are compacted in the
                background, or right now without the model if they no longer fit.
            paging: lay out the prompt for a model that manages its own memory, with a warning before messages leave it
                and a recursive summary of those that did; see `PagingConfig`. Then no question is needed.
            spaces: shared spaces to recall from as well, by the same rights as `recall`; ``all`` for every space that
                may be read. Each line names its space and who said it. What an admin of a space wrote in the role
                ``system`` stands before the conversation as the space's instruction. Nothing of a space is kept with
                the turn: when a grant ends, so do its lines.

        If the budget is too small for identity, instructions and tools, a warning is logged once. The conversation then
        gets a quarter of the budget, and the prompt is longer than asked.

        Raises:
            InvalidInputError: an argument is wrong, or there is no question.
            AccessDeniedError: a named space may not be read. Nothing was written.
        """
        services = self._services
        readable = await reached(run, services, self._principal, spaces, "assemble") if spaces else []
        shared = [space for space in readable if space != self.scope.owner]
        if query is not None:  # as it is stored, so that it is recognised there
            query = (await kept_out(run, services, self.scope)).masked(query)
        request = PromptRequest.of(
            query, max_tokens=services.config.compaction.max_tokens if max_tokens is None else max_tokens,
            identity=identity, instructions=instructions, blocks=blocks, profile=profile, tools=tools, k=k,
            layout=layout, host=host, reader=reader, wait=wait, paging=paging, spaces=shared,
            rules=await rules_of(run, services, shared) if shared else (), marks=services.config.prompt,
        )  # fmt: skip
        with at_priority(INTERACTIVE):
            context, behind = await assembling.assemble(run, services, self.scope, request)
        self._runtime.after_assemble(self.scope, request, behind=behind)
        return context

    @verb(Right.READ)
    async def blocks(self, run: Runner, *, begin: Sequence[Block] = ()) -> dict[str, Block]:
        """All blocks by label, in the order of their creation.

        Args:
            begin: blocks to create first, all or none, unless the owner ever had one; takes the right to write.

        Raises:
            InvalidInputError: one of them is not a valid block. Nothing was written.
        """
        if begin:
            await self._admitted(run, Asked("begin_blocks", Right.WRITE))
            await editing.begin(run, self._owned, begin)
        return await editing.blocks(run, self._owned)

    @checked
    def block(self, label: str) -> BlockHandle:
        """The handle of one block, to put, edit, undo or remove it."""
        return BlockHandle(self, label)

    @verb(Right.WRITE)
    async def compact(self, run: Runner, *, strategy: str | Strategy | None = None, keep: int | None = None) -> Receipt:
        """Compact all but the newest rounds into the summary now; the log keeps every word.

        Args:
            strategy: a name, or your own strategy object; by default as configured.
            keep: how many rounds stay verbatim; by default the configured ``keep_least``.

        Raises:
            InvalidInputError: the strategy does not exist, or ``keep`` is below 1.
        """
        return await compacting.compact(run, self._services, self.scope, strategy=strategy, keep=keep)

    @verb(Right.READ)
    async def summary(self, run: Runner) -> Summary:
        """The summary that replaces compacted turns, with an audit of what survived; empty until the first one."""
        return (await state_of(run, await in_view(run, self._services, self.scope), self.scope)).summary

    @verb(Right.WRITE)
    async def reset(self, run: Runner, *, keep: Sequence[str] = ()) -> None:
        """Start the conversation afresh, with only these messages; the log and recall keep everything.

        Raises:
            InvalidInputError: ``keep`` is not a list of ids of this session's messages.
        """
        if self.remembers:
            await logged.reset(run, self._services, self.scope, keep)

    @verb(Right.READ)
    async def expand(self, run: Runner, what: str | Line | Hit | Record | Piece | Summary) -> list[Message]:
        """The original messages behind a summary line, a hit, a handle such as ``#12`` or ``#12-40``, or an event id.

        Raises:
            InvalidInputError: it is none of these, or this owner has nothing there.
        """
        return await expanding.expand(run, self._services, self.scope, what)

    @verb(Right.READ)
    async def fetch(
        self,
        run: Runner,
        result_id: str,
        where: str | None = None,
        *,
        pattern: str | None = None,
        max_chars: int = PAGE_CHARS,
    ) -> Page:
        """A page of an offloaded payload, of which the prompt shows only a digest, or its lines that match a pattern.

        Args:
            result_id: the id in the digest.
            where: lines ``"10-60"``, characters ``"c1000-2000"``; None for the beginning. `Page.next` continues.
            pattern: instead of ``where``, a regular expression (no lookaround, no backreferences): the lines that match
                it, numbered.
            max_chars: the longest page to return.

        Raises:
            InvalidInputError: nothing has this id, it has no such part, or the pattern is not a valid expression.
        """
        whole("max_chars", max_chars, 1)
        if pattern is not None and where is not None:
            raise InvalidInputError("give fetch() either where or pattern, not both")
        event = (await expanding.behind(run, self._services, self.scope, result_id))[0]
        if event.kind not in (EventKind.PAYLOAD, EventKind.MESSAGE):
            raise InvalidInputError(f"{result_id!r} is neither a message nor a payload")
        text = event.payload["text"] if event.kind is EventKind.PAYLOAD else payload_of(event.message)
        return page(text, where, max_chars=max_chars) if pattern is None else grep(text, pattern, max_chars=max_chars)

    @verb(Right.WRITE)
    async def offload(self, run: Runner, text: str, *, max_tokens: int = DIGEST_TOKENS) -> Payload:
        """Store a long text outside the conversation and return its digest; durable when this returns.

        Args:
            text: any length.
            max_tokens: the longest digest.

        Raises:
            InvalidInputError: the text is empty or cannot be stored.
        """
        return await expanding.offload(run, self._services, self.scope, text, max_tokens)

    aassemble = assemble.twin
    ablocks = blocks.twin
    acompact = compact.twin
    asummary = summary.twin
    areset = reset.twin
    aexpand = expand.twin
    afetch = fetch.twin
    aoffload = offload.twin
