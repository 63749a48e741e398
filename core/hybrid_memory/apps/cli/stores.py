"""Stores and owners as they are named on the command line."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from hybrid_memory.apps.cli.listing import listed, sessions_of
from hybrid_memory.apps.cli.vectors import make_vectors
from hybrid_memory.errors import (
    EmbedderMismatchError,
    InvalidConfigError,
    InvalidInputError,
    MissingDependencyError,
    WrongKeyError,
)
from hybrid_memory.urls import shown_url

if TYPE_CHECKING:
    from hybrid_memory import HybridMemory, MemoryConfig, Scope, ScopedMemory

KEY = "HYBRID_MEMORY_KEY"
"""The environment variable with the key of an encrypted store: on the command line others would see it."""

OWNER = "Whose memory"
"""Panel of the help."""


EMBEDDERS = ("auto", "local", "hashing", "none")
"""That need nobody else's package."""


class EmbedderName(str):
    """The name of an embedder: one of `EMBEDDERS`, or ``provider:model``."""

    __slots__ = ()
    AUTO: ClassVar[EmbedderName]
    HASHING: ClassVar[EmbedderName]
    NONE: ClassVar[EmbedderName]

    @property
    def given(self) -> str | None:
        """The value for `open_store`: None leaves it to the settings."""
        return None if self == EmbedderName.AUTO else str(self)

    @classmethod
    def parsed(cls, text: str) -> EmbedderName:
        """The value parsed from the command line."""
        if text not in EMBEDDERS and not all(text.partition(":")):
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(EMBEDDERS)} or provider:model")
        return cls(text)


EmbedderName.AUTO, _, EmbedderName.HASHING, EmbedderName.NONE = map(EmbedderName, EMBEDDERS)

NAMED = "|".join((*EMBEDDERS, "PROVIDER:MODEL"))

_FILE = "sqlite:///"


def _users(context: typer.Context, incomplete: str) -> list[str]:
    """Names of users in the store, for the completion of a shell."""
    store = context.params.get("store") or next(iter(context.args), None)  # not parsed while the line is unfinished
    if store is None:
        return []
    try:
        with open_store(store, read_only=True, embedder="none") as memory:
            names = {owner.user for owner in memory.owners() if owner.user}
    except Exception:  # noqa: BLE001 - a shell shows no completion rather than an error
        return []
    return sorted(name for name in names if name.startswith(incomplete))


StoreName = Annotated[
    str,
    typer.Argument(
        metavar="STORE", show_default=False, help="A file (memory.db), a store URL, or a YAML file of settings."
    ),
]
TenantName = Annotated[str | None, typer.Option("--tenant", metavar="NAME", rich_help_panel=OWNER, help="The tenant.")]
UserName = Annotated[
    str | None,
    typer.Option(
        "--user", "-u", metavar="NAME", rich_help_panel=OWNER, help="The user; not needed if the store has one owner.",
        autocompletion=_users,
    ),
]  # fmt: skip
AgentName = Annotated[str | None, typer.Option("--agent", metavar="NAME", rich_help_panel=OWNER, help="The agent.")]
SessionName = Annotated[
    str | None,
    typer.Option("--session", "-s", metavar="NAME", rich_help_panel=OWNER, help="Only this conversation."),
]
EmbeddedBy = Annotated[
    EmbedderName,
    typer.Option(
        "--embedder",
        parser=EmbedderName.parsed,
        metavar=NAMED,
        help="What makes vectors: auto takes it from the settings, none leaves words alone.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def open_store(
    store: str,
    *,
    create: bool = False,
    read_only: bool = False,
    background: bool = True,
    embedder: Any = None,
    language_model: Any = None,
) -> HybridMemory:
    """Open the memory with this name; the key of an encrypted store is taken from the environment, see `KEY`.

    A store whose vectors come from another embedder than the configured one is opened anyway: with the hashing embedder
    if they are from it, otherwise with words alone and a note on stderr. A store filled without an embedder stays
    without one, unless the settings name one.

    Args:
        store: a file, a store URL, or a YAML file of settings.
        create: create a missing file.
        read_only: as for `open_memory`: nothing is written, and what is not indexed yet is not found.
        background: index and learn in the background; short verbs do without, and then recalled turns are not counted
            as used.
        embedder: a name as in `MemoryConfig`, or a model as for `open_memory`; None leaves it to the settings.
        language_model: as for `open_memory`.

    Raises:
        InvalidInputError: the file does not exist, or a setting is invalid.
        StoreError: the store cannot be opened.
    """
    config = settings(store, create=create)
    if not background:
        config = _quiet(config)
    if embedder is None and config.embedder not in EMBEDDERS:
        embedder = _made(config.embedder)
    if language_model is None and not _usable(config.language_model):
        config = config.model_copy(update={"language_model": None})
    given: dict[str, Any] = {"language_model": language_model, "read_only": read_only, "key": store_key(config)}
    try:
        memory = _opened(config, embedder, given)
        if embedder is not None or config.embedder != EmbedderName.AUTO or not _chose_words(memory):
            return memory
        memory.close()
        return _opened(config, "none", given)
    except EmbedderMismatchError as error:
        if config.embedder != "auto" or embedder is not None:
            raise
        try:
            return _opened(config, "hashing", given)
        except EmbedderMismatchError:
            typer.echo(f"recall works with words alone: {error}", err=True)
            return _opened(config, "none", given)
    except WrongKeyError as error:
        raise WrongKeyError(f"{error}; the key comes from the environment variable {KEY}") from error


def _made(embedder: str) -> Any:
    """The embedder of the settings, or words alone with a note on stderr."""
    from hybrid_memory.models.named import embedder_of  # noqa: PLC0415 - see below

    try:
        return embedder_of(embedder)
    except (InvalidConfigError, MissingDependencyError) as error:
        why = f"the command line cannot create the embedder {embedder!r}: {error}"
        typer.echo(f"recall works with words alone: {why}", err=True)
        return "none"


def _usable(language_model: str | None) -> bool:
    """Whether the language model of the settings can be created; if not, a note says so."""
    from hybrid_memory.models.named import language_model_of  # noqa: PLC0415 - see below

    try:
        language_model_of(language_model)
    except (InvalidConfigError, MissingDependencyError) as error:
        typer.echo(f"no language model is used: {error}", err=True)
        return False
    return True


def _chose_words(memory: HybridMemory) -> bool:
    """Whether everything is indexed and nothing has a vector, as after an import without an embedder."""
    told = memory.stats()
    return bool(told.embedder and told.records and not told.vectors and told.vectors_of is None)


def _opened(config: MemoryConfig, embedder: Any, given: dict[str, Any]) -> HybridMemory:
    from hybrid_memory import open_memory  # noqa: PLC0415 - half a second that help need not take

    if isinstance(embedder, str):
        config, embedder = config.model_copy(update={"embedder": embedder}), None
    return open_memory(config, embedder=embedder, **given)


def settings(store: str, *, create: bool = False) -> MemoryConfig:
    """The settings behind a name.

    Raises:
        InvalidInputError: the file does not exist and should not be created; or a setting is invalid.
    """
    from hybrid_memory import MemoryConfig  # noqa: PLC0415 - see above

    if store.endswith((".yaml", ".yml")):
        if not Path(store).exists():
            raise InvalidInputError(f"{shown_url(store)}: no such settings file")
        config = MemoryConfig.from_yaml(store)
    elif "://" in store:
        config = MemoryConfig(url=store)
    else:
        config = MemoryConfig(url=f"{_FILE}{Path(store).expanduser().absolute()}")
    path = store_file(config)
    if path is not None and not path.exists() and not create:
        raise InvalidInputError(
            f"{path}: no such store; create one with: hybrid-memory import {store} FILE, or hybrid-memory demo {store}"
        )
    return config


def store_file(config: MemoryConfig) -> Path | None:
    """The file of the log; None if the log is not in a file."""
    path = config.url.removeprefix(_FILE)
    return None if path in {config.url, ""} else Path(path).expanduser()


def store_key(config: MemoryConfig) -> str | None:
    """The key of the store; None if the environment has none, or the store is not a file."""
    key = None if store_file(config) is None else os.environ.get(KEY)
    if key == "":
        raise InvalidInputError(f"{KEY} is empty: set it to the key of the store, or unset it for a store without one")
    return key


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner on the command line, optionally with a session; without names, the store's only owner."""

    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None

    @contextmanager
    def opened(
        self, store: str, *, embedder: Any = None, recalls: bool = False, learns: bool = False
    ) -> Iterator[ScopedMemory]:
        """The owner's memory in a store, for a verb that ends at once.

        A verb that recalls first computes missing vectors, and one that learns first reads unread turns, with a
        progress bar on a terminal.
        """
        with open_store(store, background=False, embedder=embedder) as memory:
            whose = self.of(memory, known=True)
            if learns and sys.stderr.isatty():
                whose.learn()
            if recalls and not make_vectors(memory, whose, store):
                whose = self.of(memory.as_read_only(), known=True)
            yield whose

    def of(self, memory: HybridMemory, *, known: bool = False) -> ScopedMemory:
        """The owner's memory.

        Args:
            memory: an open memory; if no tenant, user or agent is named, it must have exactly one owner.
            known: the owner must be in the store already; then the given names need only match one owner.

        Raises:
            InvalidInputError: no owner or several match, or the session does not exist; the error lists those that do.
        """
        named = {"tenant": self.tenant, "user": self.user, "agent": self.agent}
        given = {part: name for part, name in named.items() if name is not None}
        if given and not known:
            return memory.scoped(tenant=self.tenant, user=self.user, agent=self.agent, session=self.session)
        owners = [owner for owner in memory.owners() if owner.space is None]
        fitting = [owner for owner in owners if all(getattr(owner, part) == name for part, name in given.items())]
        exact = [owner for owner in fitting if len(given) == sum(getattr(owner, part) is not None for part in named)]
        match exact or fitting:
            case [owner]:
                if known and self.session is not None:
                    _check_session(memory.for_scope(owner), self.session)
                return memory.scoped(tenant=owner.tenant, user=owner.user, agent=owner.agent, session=self.session)
            case []:
                raise InvalidInputError(_nobody(memory, given, owners))
            case several:
                raise InvalidInputError(
                    f"the store has several owners, give --user, --agent or --tenant: {listed([*map(str, several)])}"
                )


def _check_session(whose: ScopedMemory, session: str) -> None:
    rows = sessions_of(whose)
    if any(row.session == session for row in rows):
        return
    names = [row.session for row in rows if row.session is not None]
    there = f"there are: {listed(names)}" if names else "there are none"
    raise InvalidInputError(f"{whose.scope} has no session {session!r}; {there}")


def with_owner(*, session: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make Typer fill the parameter ``owner`` of a verb from the options that name one."""
    options = {
        "tenant": TenantName,
        "user": UserName,
        "agent": AgentName,
        **({"session": SessionName} if session else {}),
    }
    named = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=of) for name, of in options.items()]

    def declared(verb: Callable[..., None]) -> Callable[..., None]:
        @wraps(verb)
        def called(**given: Any) -> None:
            owner = Owner(**{name: given.pop(name) for name in options})
            verb(**given, owner=owner)

        parts = inspect.signature(verb, eval_str=True).parameters.values()
        shown = [one for part in parts for one in (named if part.name == "owner" else [part])]
        called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        return called

    return declared


def _nobody(memory: HybridMemory, given: dict[str, str], owners: list[Scope]) -> str:
    if not owners:
        return f"{memory.url} is empty: name its owner with --user, or fill it with hybrid-memory import"
    wanted = " ".join(f"{part}={name!r}" for part, name in given.items())
    return f"{memory.url} has nothing of {wanted}; there are: {listed([*map(str, owners)])}"


def _quiet(config: MemoryConfig) -> MemoryConfig:
    return config.model_copy(
        update={
            "orchestration": config.orchestration.model_copy(update={"background": False}),
            "learning": config.learning.model_copy(update={"background": False}),
            "recall": config.recall.model_copy(update={"count_uses": False}),
        }
    )
