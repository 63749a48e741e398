"""``hybrid-memory chat``: chat with a model that remembers, or with the memory alone."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_memory.apps.cli import printing as shapes
from hybrid_memory.apps.cli.knowledge import show_profile
from hybrid_memory.apps.cli.printing import one_line, printable, show
from hybrid_memory.apps.cli.stores import AsJson, Owner, StoreName, catch_up, open_store, with_owner
from hybrid_memory.apps.cli.turns import show_hits
from hybrid_memory.errors import HybridMemoryError, InvalidInputError, MissingDependencyError

if TYPE_CHECKING:
    from hybrid_memory import Hit, ScopedMemory

PROMPT = "you> "
HITS = 3
SURE = 0.2
"""Without a hit of this confidence, none is likely to answer the question."""

IDENTITY = "You are a helpful assistant who remembers earlier conversations with the user."
HELP = "/why explains the last hits, /profile shows what is known about you, quit ends"
LEAVES = frozenset(("quit", "exit", "/quit", "/exit"))

ModelName = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="NAME", help="Model that answers: provider:model, as LangChain names them."),
]
BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="An OpenAI-compatible endpoint for the model.")]
MaxTokens = Annotated[int, typer.Option(min=1, help="Most tokens of every prompt.")]


@with_owner()
def chat(
    store: StoreName,
    *,
    model: ModelName = None,
    base_url: BaseUrl = None,
    max_tokens: MaxTokens = 4000,
    owner: Owner,
    as_json: AsJson = False,
) -> None:
    """Chat with a model that remembers; without a model, see what the memory finds for your questions.

    What you say and the answers are remembered, in a new session unless you name one; without a model, questions are
    not. With a named owner it creates a missing store. Takes piped questions, one per line; --json prints a line for
    each: question, answer, hits.

    Example: hybrid-memory chat memory.db --user alice --model anthropic:claude-sonnet-4-5
    """
    answering = chat_model(model, base_url=base_url)
    with open_store(store, create=owner.named) as memory:
        session = owner.session or f"chat-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        scoped = replace(owner, session=session).of(memory)
        owners, who = memory.owners(), scoped.scope.owner
        if owners and who not in owners:
            typer.echo(f"{one_line(str(who))} is new in this store", err=True)
        catch_up(scoped)
        if sys.stdin.isatty() and not as_json:
            speaks = f"model {model}" if model else "no model, only recall"
            show(f"{who}, session {session}; {speaks}. {HELP}", style="dim")
        hits: Sequence[Hit] = ()
        for words in filter(None, map(str.strip, _lines())):
            if words.lower() in LEAVES:
                break
            if words.startswith("/"):
                if words == "/profile":
                    show_profile(scoped.profile(), scoped.facts(history=True))
                elif words == "/why" and hits:
                    show_hits(hits, why=True)
                else:
                    show("nothing came back yet" if words == "/why" else HELP)
                continue
            answer = None
            if answering is None:
                hits = _recall(scoped, words, silent=as_json)
            else:
                hits, answer = _answer(scoped, words, answering, max_tokens, silent=as_json)
            if as_json:
                line = {"question": words, "answer": answer, "hits": [shapes.hit(hit) for hit in hits]}
                typer.echo(shapes.as_json(line))


def _lines() -> Iterator[str]:
    """What is typed, or what is piped in."""
    if not sys.stdin.isatty():
        yield from sys.stdin
        return
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            return


def _recall(scoped: ScopedMemory, words: str, *, silent: bool) -> Sequence[Hit]:
    """Remember a statement; show what the memory finds for a question, which nobody answers and nothing keeps."""
    from hybrid_memory.text.asking import asking_share, is_memory  # noqa: PLC0415 - loads NumPy

    if is_memory(words) and not asking_share(words):
        scoped.remember(words)
        if not silent:
            show("remembered")
        return ()
    hits: Sequence[Hit] = scoped.recall(words, k=HITS)
    if silent:
        return hits
    if not hits:
        show("no model, and I remember nothing about it")
    elif max(hit.confidence or 0.0 for hit in hits) < SURE:
        show("no model; nothing I remember is likely to answer it, the nearest:")
    else:
        show("no model; what I remember about it:")
    for hit in hits:
        record = hit.record
        show(one_line(f"#{record.turn} {record.at:%Y-%m-%d} {record.speaker}: {record.text}"), indent=2)
    return hits


def _answer(
    scoped: ScopedMemory, words: str, model: Any, max_tokens: int, *, silent: bool
) -> tuple[Sequence[Hit], str | None]:
    """Let the model answer and store both; if the model fails, the question is still stored."""
    scoped.remember(words)
    context = scoped.assemble(words, max_tokens=max_tokens, identity=IDENTITY, wait=False)
    parts = []
    try:
        for chunk in model.stream(context.as_dicts()):
            parts.append(str(chunk.text))
            if not silent:
                typer.echo(printable(parts[-1]), nl=False)
    except HybridMemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - each provider raises what it likes
        typer.echo(f"\nthe model failed: {printable(_first_line(error))}", err=True)
        return context.hits, None
    if not silent:
        typer.echo()
    answer = "".join(parts)
    if answer.strip():
        scoped.remember(answer, role="assistant")
    return context.hits, answer


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


NO_KEY = "none"
"""Your own server may need no key, but the client requires one."""


def chat_model(name: str | None, *, base_url: str | None = None) -> Any:
    """A LangChain chat model, made by ``init_chat_model``; None without a name.

    The name is ``provider:model``, or with an OpenAI-compatible endpoint the model's; ``OPENAI_API_KEY`` has its key.

    Raises:
        MissingDependencyError: LangChain is not installed.
        InvalidInputError: the provider is unknown, its package is not installed, or its key is missing.
    """
    if name is None:
        if base_url is not None:
            raise InvalidInputError("a base URL needs the name of its model: give --model")
        return None
    try:
        # By name, as the core knows no framework.
        make = importlib.import_module("langchain.chat_models").init_chat_model
    except ImportError as error:
        raise MissingDependencyError("langchain", extra="langchain") from error
    given: dict[str, Any] = {}
    if base_url is not None:
        key = os.environ.get("OPENAI_API_KEY") or NO_KEY
        given = {"model_provider": "openai", "base_url": base_url, "api_key": key}
    elif not all(name.partition(":")):
        raise InvalidInputError(f"the model {name!r} has no provider: write provider:model, or give --base-url")
    try:
        return make(name, **given)
    except Exception as error:  # each provider raises what it likes
        raise InvalidInputError(f"the model {name!r} cannot be used: {_first_line(error)}") from error
