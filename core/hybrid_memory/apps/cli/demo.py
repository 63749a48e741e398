"""``hybrid-memory demo``: a memory of a small chat that comes with the library, searched, explained and compacted."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_memory.apps.cli.knowledge import show_profile
from hybrid_memory.apps.cli.printing import bar, one_line, show, show_rows
from hybrid_memory.apps.cli.stores import AUTO, EmbeddedBy, open_store
from hybrid_memory.apps.cli.transfer import OWN, read_sessions, remember_all
from hybrid_memory.apps.cli.turns import show_hits
from hybrid_memory.display import counted
from hybrid_memory.errors import InvalidInputError

if TYPE_CHECKING:
    from hybrid_memory import Context

CHAT = Path(__file__).with_name("demo_chat.jsonl")
USER = "noa"
QUESTIONS = ("Where has Noa moved to?", "她喜欢喝什么？", "Why was PostgreSQL chosen instead of SQLite?")
PROMPT = "What could I cook for Noa and her friends?"
MAX_TOKENS = 600
HITS = 2
LINES = 3

Store = Annotated[
    str | None,
    typer.Argument(metavar="[STORE]", show_default=False, help="Keep the memory here; without, it is gone at the end."),
]


def demo(store: Store = None, *, embedder: EmbeddedBy = AUTO) -> None:
    """See what a memory does: a small chat is remembered, searched, explained and summarised, all offline.

    Example: hybrid-memory demo demo.db
    """
    with ExitStack() as opened:
        name = store
        if name is None:
            name = str(Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="hybrid-memory-"))) / "demo.db")
        memory = opened.enter_context(open_store(name, create=True, background=False, embedder=embedder))
        if any(owner.user != USER for owner in memory.owners()):
            raise InvalidInputError(f"{name} holds another memory: give the demo its own file, such as demo.db")
        scoped = memory.scoped(user=USER)
        chats = read_sessions([CHAT], OWN)
        remember_all(memory, scoped, chats, [])
        scoped.flush()
        turns = sum(len(chat.messages) for chat in chats)
        _title(f"remembered: {turns} turns of {len(chats)} conversations, in English and Chinese")
        model = memory.stats().embedder
        paths = f"words and by vectors of {model}" if model else "words alone: there is no embedder"
        show(f"found by {paths}; no language model, no network")
        for question in QUESTIONS:
            _title(f"search: {question}")
            show_hits(scoped.recall(question, k=HITS), why=False)
        _title("profile: what was learned of Noa, with former values and the turns that state them")
        show_profile(scoped.profile(), scoped.facts(history=True), history=True)
        _title(f"prompt: {PROMPT}")
        _show_prompt(scoped.assemble(PROMPT, max_tokens=MAX_TOKENS))
        summary = scoped.summary()
        if summary:
            _title("summary: replaces older turns in a prompt; each handle leads back to the words")
            lines = sorted(summary, key=lambda line: -line.importance)[:LINES]
            for line in lines:
                show(f"{line.text} [{line.handle}]", indent=2)
            first = lines[0].handle
            turn = scoped.expand(first)[0]
            show(one_line(f"behind {first}: {turn.speaker}: {turn.text}"), style="dim", indent=2)
    _title("next")
    kept = store or "demo.db"
    steps = [
        *([("hybrid-memory demo demo.db", "keep this memory")] if store is None else []),
        (f"hybrid-memory inspect {kept}", "look around in a browser"),
        (f'hybrid-memory search {kept} "half marathon" --why', "how a score comes about"),
        (f"hybrid-memory why {kept} home", "where a value comes from"),
        (f"hybrid-memory chat {kept}", "ask it, or with --model a language model that remembers"),
        ("hybrid-memory import mine.db conversations.json -u me", "your own chats, such as ChatGPT's export"),
    ]
    show_rows(steps, styles=("cyan",))


def _title(text: str) -> None:
    show("")
    show(text, style="bold magenta")


SECTIONS = {
    "profile": "what is known of Noa",
    "summary": "replaces older turns",
    "artifacts": "files that older turns name",
    "turns": "the newest turns, word for word",
    "recalled": "older turns that fit the question",
    "question": "what is asked now",
}


def _show_prompt(context: Context) -> None:
    left = counted(len(context.dropped), "part")
    show(f"{context.tokens} of {context.max_tokens} tokens; {left} did not fit")
    rows = [
        (name, f"{tokens:,}", bar(tokens / context.max_tokens, 30), SECTIONS.get(name, ""))
        for name, tokens in context.section_tokens.items()
    ]
    show_rows(rows, right=(1,), styles=("cyan", "", "cyan", "dim"))
