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
from hybrid_memory.apps.cli.printing import as_json as written
from hybrid_memory.apps.cli.printing import one_line, printable, show
from hybrid_memory.apps.cli.recalling import show_hits
from hybrid_memory.apps.cli.stores import AsJson, Owner, StoreName, open_store, with_owner
from hybrid_memory.apps.cli.vectors import make_vectors
from hybrid_memory.errors import HybridMemoryError, InvalidInputError, MissingDependencyError
from hybrid_memory.text.asking import asking_share, is_memory

if TYPE_CHECKING:
    from hybrid_memory import Hit, ScopedMemory

PROMPT = "you> "
HITS = 3
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

    What you say is remembered, and so are answers, in a new session unless you name one. A missing store is created.
    You can pipe questions in, one per line; with --json each prints a line of JSON: question, answer, hits.

    Example: hybrid-memory chat memory.db --user alice --model anthropic:claude-sonnet-4-5
    """
    answering = chat_model(model, base_url=base_url)
    with open_store(store, create=True) as memory:
        session = owner.session or f"chat-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        whose = replace(owner, session=session).of(memory)
        there, who = memory.owners(), whose.scope.owner
        if there and who not in there:
            typer.echo(f"{one_line(str(who))} is new in this store", err=True)
        make_vectors(memory, whose, store)
        chatting = _Chat(whose, answering, max_tokens, as_json=as_json)
        if sys.stdin.isatty() and not as_json:
            show(
                f"{who}, session {session}; {'model ' + model if model else 'no model, only recall'}. {HELP}",
                style="dim",
            )
        for line in _lines():
            if not chatting.answer_line(line):
                break


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


class _Chat:
    """A conversation, line by line.

    Args:
        whose: the memory of one session.
        model: a LangChain chat model; None answers from recall alone.
        max_tokens: the budget of every prompt.
        as_json: print a line of JSON for each question.
    """

    def __init__(self, whose: ScopedMemory, model: Any, max_tokens: int, *, as_json: bool) -> None:
        self._whose = whose
        self._model = model
        self._max_tokens = max_tokens
        self._as_json = as_json
        self._hits: Sequence[Hit] = ()

    def answer_line(self, line: str) -> bool:
        """Answer a line or execute a command; False to end the conversation."""
        words = line.strip()
        if words.lower() in LEAVES:
            return False
        if words == "/why":
            show_hits(self._hits, why=True)
            if not self._hits:
                show("nothing came back yet")
        elif words == "/profile":
            show_profile(self._whose.profile(), self._whose.facts(history=True))
        elif words.startswith("/"):
            show(HELP)
        elif words:
            self._asked(words)
        return True

    def _asked(self, words: str) -> None:
        answer = None
        if self._model is None:
            self._recalled(words)
        else:
            answer = self._answered(words)
        if self._as_json:
            values = {"question": words, "answer": answer, "hits": [shapes.hit(hit) for hit in self._hits]}
            typer.echo(written(values))

    def _recalled(self, words: str) -> None:
        """Show what the memory finds for a question, which is stored afterwards, so that it does not find itself."""
        is_statement = is_memory(words) and not asking_share(words)
        self._hits = () if is_statement else self._whose.recall(words, k=HITS)
        self._whose.remember(words)
        if self._as_json:
            return
        if is_statement:
            show("remembered")
            return
        show("no model; what I remember about it:" if self._hits else "no model, and I remember nothing about it")
        for hit in self._hits:
            show(
                one_line(f"#{hit.record.turn} {hit.record.at:%Y-%m-%d} {hit.record.speaker}: {hit.record.text}"),
                indent=2,
            )

    def _answered(self, words: str) -> str | None:
        """Let the model answer and store both; if the model fails, the question is still stored."""
        self._whose.remember(words)
        context = self._whose.assemble(words, max_tokens=self._max_tokens, identity=IDENTITY, wait=False)
        self._hits = context.hits
        parts = []
        try:
            for chunk in self._model.stream(context.as_dicts()):
                parts.append(str(chunk.text))
                if not self._as_json:
                    typer.echo(printable(parts[-1]), nl=False)
        except HybridMemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - each provider raises what it likes
            said = str(error).partition("\n")[0] or type(error).__name__
            typer.echo(f"\nthe model failed: {printable(said)}", err=True)
            return None
        if not self._as_json:
            typer.echo()
        answer = "".join(parts)
        if answer.strip():
            self._whose.remember(answer, role="assistant")
        return answer


NO_KEY = "none"
"""Your own server may need no key, but the client requires one."""


def chat_model(name: str | None, *, base_url: str | None = None) -> Any:
    """A LangChain chat model, made by ``init_chat_model``; None without a name.

    Args:
        name: ``provider:model``, such as ``anthropic:claude-sonnet-4-5``; with an endpoint only the model.
        base_url: the URL of an OpenAI-compatible endpoint; its key is taken from ``OPENAI_API_KEY``.

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
        said = str(error).partition("\n")[0] or type(error).__name__
        raise InvalidInputError(f"the model {name!r} cannot be used: {said}") from error
