"""The verbs of a conversation: its prompt, its summary, and the way back to every word."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hybrid_memory.config import PagingConfig
from hybrid_memory.context import assemble as assembling
from hybrid_memory.context import compact as compacting
from hybrid_memory.context import conversation as logged
from hybrid_memory.context import expand as expanding
from hybrid_memory.context.context import Context, Dropped
from hybrid_memory.context.expand import Payload
from hybrid_memory.context.layout import Layout
from hybrid_memory.context.offload.payloads import Matches, Page
from hybrid_memory.context.request import MAX_HITS, Reader, Request
from hybrid_memory.context.summaries.strategy import Strategy
from hybrid_memory.context.summary import Line, Summary
from hybrid_memory.index.record import Record
from hybrid_memory.log.message import Message
from hybrid_memory.log.receipt import Receipt
from hybrid_memory.memory.blocks import Blocks
from hybrid_memory.memory.runtime import INLINE
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.runners import Runner, drive

PAGE_CHARS = 4000
DIGEST_TOKENS = 200


class Conversation(Blocks):
    """The conversation of one session, or, where the handle names none, all sessions of the owner as one."""

    def assemble(
        self,
        query: str | None = None,
        *,
        max_tokens: int | None = None,
        identity: str = "",
        instructions: str = "",
        blocks: Mapping[str, str] | None = None,
        profile: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        k: int = MAX_HITS,
        layout: Layout = "stable",
        among: Collection[str] | None = None,
        began: str | None = None,
        beside: str | None = None,
        reader: str | Reader | None = None,
        wait: bool = True,
        paging: PagingConfig | None = None,
    ) -> Context:
        """The prompt for the next call of a model: summary, recent turns, what is recalled, and the question.

        What fits is shown as it was said. Where it does not, long messages that were answered are shortened first, then
        older turns are folded into the summary; what was not answered yet goes last. What was learned, summarised or
        recalled stands in marked places in front of the user's words, and never in the system message.

        Call it before or after the user's turn is remembered; it is not repeated. Until room is short, each prompt
        begins with the one before, so that a provider's cache keeps working: what was recalled for a turn stays with
        it, and only what the prompt does not show yet, and what has to do with the question, is recalled.

        Args:
            query: the user's words that are to be answered; None for the last turn of the conversation.
            max_tokens: of the whole prompt, with tools; the configured budget by default.
            identity: who the assistant is.
            instructions: what it must do; system messages that the conversation began with are added.
            blocks: labelled texts; by default the blocks of working context that there are.
            profile: about the user; by default what was learned of them. What this session's own turns say stands in
                these; it is made anew where it changed otherwise. An empty text shows none.
            tools: tool schemas that go along, to be counted.
            k: the most turns to recall; 0 recalls nothing.
            layout: ``stable`` as above; ``queue`` with the summary as the first entry of the conversation; ``classic``
                for identity, profile, memory, conversation, instruction.
            among: ids of the messages in the caller's own copy of the conversation. Behind the first of them only they
                are shown: the rest was removed there, is of another branch, or of a run that answers something else at
                the same time.
            began: id of the first message that the caller's copy ever had, if that is removed by now.
            beside: a session that this one works for, as a sub-agent does: nothing of it, nor of others beneath it
                (``parent/...``), is recalled.
            reader: the tool by which the model can read what a handle names: its name if it is among ``tools``, or a
                `Reader` with its schema if it is bound only where `Context.reader` says that the prompt names it.
                Without one, what there is no room for is shown in the parts that matter for the question.
            wait: let a language model write the summary before this returns. Otherwise turns are folded in the pause
                after the answer, and now only if they no longer fit, without asking the model yet.
            paging: lay the prompt out for a model that manages its memory itself: with a warning in the conversation
                before messages leave it, and a recursive summary of those that did; see `PagingConfig`. Then nobody
                need have asked anything.

        A budget that is too little for identity, instructions and tools is told once as a warning in the log; the
        conversation then gets a quarter of it, and the prompt is longer.

        Raises:
            InvalidInputError: an argument is wrong, or there is no question.
        """
        request = drive(self._request(
            INLINE, query, max_tokens, identity=identity, instructions=instructions, blocks=blocks, profile=profile,
            tools=tools, k=k, layout=layout, among=among, began=began, beside=beside, reader=reader, wait=wait,
            paging=paging,
        ))  # fmt: skip
        made = drive(assembling.assemble(INLINE, self._services, self.scope, request))
        return self._runtime.assembled(self.scope, request, made)

    async def aassemble(
        self,
        query: str | None = None,
        *,
        max_tokens: int | None = None,
        identity: str = "",
        instructions: str = "",
        blocks: Mapping[str, str] | None = None,
        profile: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
        k: int = MAX_HITS,
        layout: Layout = "stable",
        among: Collection[str] | None = None,
        began: str | None = None,
        beside: str | None = None,
        reader: str | Reader | None = None,
        wait: bool = True,
        paging: PagingConfig | None = None,
    ) -> Context:
        """Async twin of `assemble`."""
        request = await self._request(
            self._runtime.loop, query, max_tokens, identity=identity, instructions=instructions, blocks=blocks,
            profile=profile, tools=tools, k=k, layout=layout, among=among, began=began, beside=beside, reader=reader,
            wait=wait, paging=paging,
        )  # fmt: skip
        made = await assembling.assemble(self._runtime.loop, self._services, self.scope, request)
        return self._runtime.assembled(self.scope, request, made)

    async def _request(self, run: Runner, query: str | None, max_tokens: int | None, **wanted: Any) -> Request:
        default = self._services.config.compaction.max_tokens
        if wanted["blocks"] is None:
            there = (await self._blocks(run)).values()
            edited = wanted["paging"] is not None
            wanted["blocks"] = {b.label: b.written if edited else b.value for b in there if edited or b.value}
        return Request.of(query, max_tokens=default if max_tokens is None else max_tokens, **wanted)

    def compact(self, *, strategy: str | Strategy | None = None, keep: int | None = None) -> Receipt:
        """Fold all but the newest rounds into the summary now; the log keeps every word.

        Args:
            strategy: a name, or an object of your own behind the same port; the configured one by default.
            keep: how many rounds stay verbatim; the configured ``keep_least`` by default.

        Raises:
            InvalidInputError: no such strategy, or a ``keep`` below 1.
        """
        flow = compacting.compact(INLINE, self._services, self.scope, strategy=strategy, keep=keep)
        return drive(flow)

    async def acompact(self, *, strategy: str | Strategy | None = None, keep: int | None = None) -> Receipt:
        """Async twin of `compact`."""
        return await compacting.compact(self._runtime.loop, self._services, self.scope, strategy=strategy, keep=keep)

    def summary(self) -> Summary:
        """What stands for the turns that were folded, with the audit of what survived; empty before the first time."""
        return drive(compacting.summary(INLINE, self._services, self.scope))

    async def asummary(self) -> Summary:
        """Async twin of `summary`."""
        return await compacting.summary(self._runtime.loop, self._services, self.scope)

    def conversation(self, *, limit: int | None = None) -> list[Message]:
        """The messages since the last `reset`, folded or not, oldest first; with a limit the newest ones."""
        return drive(logged.conversation(INLINE, self._services, self.scope, limit))

    async def aconversation(self, *, limit: int | None = None) -> list[Message]:
        """Async twin of `conversation`."""
        return await logged.conversation(self._runtime.loop, self._services, self.scope, limit)

    def reset(self, *, keep: Sequence[str] = ()) -> None:
        """Let the conversation start anew from here, with these messages only; the log and recall keep all.

        Raises:
            InvalidInputError: ``keep`` is no list of ids of this session's messages.
        """
        drive(logged.reset(INLINE, self._services, self.scope, keep))

    async def areset(self, *, keep: Sequence[str] = ()) -> None:
        """Async twin of `reset`."""
        await logged.reset(self._runtime.loop, self._services, self.scope, keep)

    def expand(self, what: str | Line | Hit | Record | Dropped | Summary) -> list[Message]:
        """The original messages behind a summary line, a hit, a handle such as ``#12`` or ``#12-40``, or an event id.

        Raises:
            InvalidInputError: it is none of these, or nothing of this owner is there.
        """
        return drive(expanding.expand(INLINE, self._services, self.scope, what))

    async def aexpand(self, what: str | Line | Hit | Record | Dropped | Summary) -> list[Message]:
        """Async twin of `expand`."""
        return await expanding.expand(self._runtime.loop, self._services, self.scope, what)

    def fetch(self, result_id: str, where: str | tuple[int, int] | None = None, *, max_chars: int = PAGE_CHARS) -> Page:
        """A page of a payload that stands in a prompt as a digest.

        Args:
            result_id: from the digest.
            where: lines ``"10-60"`` or ``(10, 60)``, characters ``"c1000-2000"``, a JSON path ``"flights[0].price"``;
                None for the beginning. `Page.next` leads to the rest.
            max_chars: of the page.

        Raises:
            InvalidInputError: nothing has this id, or ``where`` is not in it.
        """
        return drive(expanding.fetch(INLINE, self._services, self.scope, result_id, where=where, max_chars=max_chars))

    async def afetch(
        self, result_id: str, where: str | tuple[int, int] | None = None, *, max_chars: int = PAGE_CHARS
    ) -> Page:
        """Async twin of `fetch`."""
        return await expanding.fetch(
            self._runtime.loop, self._services, self.scope, result_id, where=where, max_chars=max_chars
        )

    def grep(self, result_id: str, pattern: str, *, context: int = 0, max_chars: int = PAGE_CHARS) -> Matches:
        """The lines of a payload that match a regular expression (no lookaround, no backreferences), numbered.

        Raises:
            InvalidInputError: nothing has this id, or the pattern is no valid expression.
        """
        services = self._services
        flow = expanding.search(INLINE, services, self.scope, result_id, pattern, context=context, max_chars=max_chars)
        return drive(flow)

    async def agrep(self, result_id: str, pattern: str, *, context: int = 0, max_chars: int = PAGE_CHARS) -> Matches:
        """Async twin of `grep`."""
        services = self._services
        return await expanding.search(
            self._runtime.loop, services, self.scope, result_id, pattern, context=context, max_chars=max_chars
        )

    def offload(self, text: str, *, max_tokens: int = DIGEST_TOKENS) -> Payload:
        """Put a text aside: a long result, or a note to oneself; durable on return, and no turn of the conversation.

        Args:
            text: of any length.
            max_tokens: of the digest.

        Raises:
            InvalidInputError: it is empty or cannot be stored.
        """
        return drive(expanding.offload(INLINE, self._services, self.scope, text, max_tokens))

    async def aoffload(self, text: str, *, max_tokens: int = DIGEST_TOKENS) -> Payload:
        """Async twin of `offload`."""
        return await expanding.offload(self._runtime.loop, self._services, self.scope, text, max_tokens)
