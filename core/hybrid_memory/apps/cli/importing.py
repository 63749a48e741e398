"""``hybrid-memory import``: chats of other programs, and what ``export`` wrote, into a memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli.chats import Said, read_sessions
from hybrid_memory.apps.cli.printing import print_json, show
from hybrid_memory.apps.cli.stores import (
    AgentName,
    AsJson,
    EmbeddedBy,
    EmbedderName,
    SessionName,
    StoreName,
    TenantName,
    UserName,
    open_store,
    scoped,
)
from hybrid_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from hybrid_memory import HybridMemory, ScopedMemory

BATCH = 500
"""Messages that are written at once."""

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...", show_default=False, help="Files or folders of chats: JSON or JSONL; - is stdin."),
]
Form = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What wrote the files: openai, langchain, llama-index, claude-code, chatgpt, swe-agent, mini-swe-agent, "
        "or jsonl for hybrid-memory export; auto finds out.",
    ),
]


def import_chats(
    store: StoreName,
    files: Files,
    *,
    form: Form = "auto",
    embedder: EmbeddedBy = EmbedderName.AUTO,
    tenant: TenantName = None,
    user: UserName = None,
    agent: AgentName = None,
    session: SessionName = None,
    as_json: AsJson = False,
) -> None:
    """Import chats from files: each conversation is a session of its own, with dates, tool calls and speakers.

    A store that is not there is made. To import a file again changes nothing, and of a chat that has grown only what is
    new is written. Without --session, sessions are called as the files call them, or after the files.

    Example: hybrid-memory import memory.db conversations.json --user alice
    """
    said = read_sessions(files, form)
    if session is not None:
        if len(said) > 1:
            raise InvalidInputError(f"--session takes one conversation, and these files hold {len(said)}: leave it out")
        said = [Said(session, one.messages) for one in said]
    with open_store(store, create=True, background=False, embedder=embedder.given) as memory:
        whose = scoped(memory, tenant=tenant, user=user, agent=agent)
        before = remembered(memory, whose, said)
        derived = whose.flush()
    messages, sessions = sum(len(one.messages) for one in said), list(dict.fromkeys(one.session for one in said))
    told = {
        "messages": messages,
        "known": before,
        "sessions": sessions,
        "indexed": derived.indexed,
        "embedded": derived.embedded,
        "learned": derived.learned,
    }
    if as_json:
        print_json(told)
        return
    known = f", {before:,} of them known" if before else ""
    show(f"{messages:,} messages in {len(sessions):,} sessions of {whose.scope}{known}")
    show(f"indexed {derived.indexed:,}, embedded {derived.embedded:,}, learned {derived.learned:,} claims", style="dim")


def remembered(memory: HybridMemory, whose: ScopedMemory, said: Sequence[Said]) -> int:
    """Write all of it under a progress bar; returns how many messages were there before."""
    from hybrid_memory.runtime.progress import progress_bar  # noqa: PLC0415 - half a second that help need not take

    total = sum(len(one.messages) for one in said)
    done = known = 0
    scope = whose.scope
    with progress_bar("importing", shown=None, unit="message") as advance:
        for one in said:
            there = memory.scoped(tenant=scope.tenant, user=scope.user, agent=scope.agent, session=one.session)
            for start in range(0, len(one.messages), BATCH):
                receipt = there.remember(one.messages[start : start + BATCH])
                known += len(receipt.duplicates)
                done += len(receipt.ids)
                advance(done, total)
    return known
