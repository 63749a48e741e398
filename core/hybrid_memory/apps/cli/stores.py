"""Stores, owners and dates as they are named on the command line."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from functools import partial, wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_memory.errors import (
    EmbedderMismatchError,
    InvalidConfigError,
    InvalidInputError,
    MissingDependencyError,
    ModelError,
    WrongKeyError,
)
from hybrid_memory.urls import shown_url

if TYPE_CHECKING:
    from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory

KEY = "HYBRID_MEMORY_KEY"
"""The environment variable with the key of an encrypted store: on the command line others would see it."""

AUTO = "auto"
EMBEDDERS = (AUTO, "local", "hashing", "none")  # that need nobody else's package

NAMED = "|".join((*EMBEDDERS, "PROVIDER:MODEL"))
SHOWN_NAMES = 10  # how many names an error lists

_FILE = "sqlite:///"


def embedder_name(text: str) -> str:
    """The name of an embedder from the command line: one of `EMBEDDERS`, or ``provider:model``."""
    if text not in EMBEDDERS and not all(text.partition(":")):
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(EMBEDDERS)} or provider:model")
    return text


def moment(text: str | datetime) -> datetime:
    """The time in ISO 8601 text, in UTC if it has no time zone; or when today or yesterday begins."""
    from hybrid_memory.validation import instant  # noqa: PLC0415 - help need not wait for it

    today = datetime.combine(datetime.now(UTC), time.min, UTC)
    result = {"today": today, "yesterday": today - timedelta(days=1)}.get(str(text)) or instant(text)
    if result is None:
        raise typer.BadParameter(f"{text!r} is no date: write 2026-03-01, 2026-03-01T14:30+01:00, today or yesterday")
    return result


owner_name = partial(typer.Option, metavar="NAME", rich_help_panel="Owner")
date_option = partial(typer.Option, parser=moment, metavar="DATE")

StoreName = Annotated[
    str,
    typer.Argument(
        metavar="STORE", show_default=False, help="A file (memory.db), a store URL, or a YAML file of settings."
    ),
]
TenantName = Annotated[str | None, owner_name("--tenant", help="The tenant.")]
UserName = Annotated[str | None, owner_name("--user", "-u", help="The user; not needed if the store has one owner.")]
AgentName = Annotated[str | None, owner_name("--agent", help="The agent.")]
SessionName = Annotated[str | None, owner_name("--session", "-s", help="Only this conversation.")]
EmbeddedBy = Annotated[
    str,
    typer.Option(
        "--embedder",
        parser=embedder_name,
        metavar=NAMED,
        help="What makes vectors: auto takes it from the settings, none leaves words alone.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Since = Annotated[datetime | None, date_option(help="Only turns from this date on, such as 2026-03-01 or yesterday.")]
Until = Annotated[datetime | None, date_option(help="Only turns before this date.")]


def open_store(
    store: str, *, create: bool = False, read_only: bool = False, background: bool = True, embedder: Any = AUTO
) -> HybridMemory:
    """Open the memory with this name; the key of an encrypted store is taken from the environment, see `KEY`.

    A store whose vectors come from another embedder than the configured one is opened anyway: with the hashing embedder
    if they are from it, otherwise with words alone and a note on stderr. So is one whose settings name a model that
    cannot be made here. Short verbs do without the background, and then recalled turns are not counted as used;
    ``auto`` leaves the embedder to the settings.
    """
    from hybrid_memory import open_memory  # noqa: PLC0415 - half a second that help need not take

    config, embedder = settings(store, create=create), None if embedder == AUTO else embedder
    if not background:
        off = {"orchestration": "background", "learning": "background", "recall": "count_uses"}
        parts = {part: getattr(config, part).model_copy(update={field: False}) for part, field in off.items()}
        config = config.model_copy(update=parts)
    given: dict[str, Any] = {"read_only": read_only, "key": store_key(config)}
    try:
        return open_memory(config, embedder=embedder, **given)
    except WrongKeyError as error:
        raise WrongKeyError(f"{error}; the key comes from the environment variable {KEY}") from error
    except EmbedderMismatchError as error:
        if embedder is not None or config.embedder != AUTO:
            raise
        problem: Exception = error
        with suppress(EmbedderMismatchError):
            return open_memory(config, embedder="hashing", **given)
    except (InvalidConfigError, MissingDependencyError) as error:
        if embedder not in (None, "none"):
            raise
        problem = error
    memory = open_memory(config.model_copy(update={"language_model": None}), embedder="none", **given)
    typer.echo(f"recall works with words alone: {problem}", err=True)
    return memory


def settings(store: str, *, create: bool = False) -> MemoryConfig:
    """The settings behind a name; raises `InvalidInputError` if the file does not exist and should not be created."""
    from hybrid_memory import MemoryConfig  # noqa: PLC0415 - see above

    if store.endswith((".yaml", ".yml")):
        if not Path(store).exists():
            raise InvalidInputError(f"{shown_url(store)}: no such settings file")
        config = MemoryConfig.from_yaml(store)
    else:
        config = MemoryConfig(url=store if "://" in store else f"{_FILE}{Path(store).expanduser().absolute()}")
    path = _file_of(config)
    if path is not None and path.is_dir():
        raise InvalidInputError(f"{path} is a folder: name a file in it, such as {path / 'memory.db'}")
    if path is not None and not path.exists() and not create:
        raise InvalidInputError(
            f"{path}: no such store; create one with: hybrid-memory remember {store} TEXT --user NAME, or "
            f"hybrid-memory import {store} FILE --user NAME"
        )
    return config


def _file_of(config: MemoryConfig) -> Path | None:
    """The file of the log; None if the log is not in a file."""
    path = config.url.removeprefix(_FILE)
    return None if path in {config.url, ""} else Path(path).expanduser()


def store_key(config: MemoryConfig) -> str | None:
    """The key of the store; None if the environment has none, or the store is not a file."""
    key = None if _file_of(config) is None else os.environ.get(KEY)
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

    @property
    def named(self) -> bool:
        """Whether a tenant, user or agent is named: only then can the owner be new, and so can its store."""
        return (self.tenant, self.user, self.agent) != (None, None, None)

    @contextmanager
    def opened(self, store: str, *, embedder: Any = AUTO, derives: bool = False) -> Iterator[ScopedMemory]:
        """The owner's memory in a store, for a verb that ends at once.

        With ``derives`` missing vectors and facts are made under a progress bar on a terminal; elsewhere the verbs do
        so in silence.
        """
        with open_store(store, background=False, embedder=embedder) as memory:
            scoped = self.of(memory, known=True)
            if derives and sys.stderr.isatty():
                try:
                    scoped.flush()
                except ModelError as error:  # recall goes by words
                    typer.echo(str(error), err=True)
            yield scoped

    def of(self, memory: HybridMemory, *, known: bool = False) -> ScopedMemory:
        """The owner's memory; if no tenant, user or agent is named, that of the store's only owner.

        With ``known`` the owner must be in the store already; then the given names need only match one owner.

        Raises:
            InvalidInputError: no owner or several match, or the session does not exist; the error lists those that do.
        """
        names = {"tenant": self.tenant, "user": self.user, "agent": self.agent}
        given = {part: name for part, name in names.items() if name is not None}
        if given and not known:
            return memory.scoped(tenant=self.tenant, user=self.user, agent=self.agent, session=self.session)
        owners = [owner for owner in memory.owners() if owner.space is None]
        fitting = [owner for owner in owners if all(getattr(owner, part) == name for part, name in given.items())]
        exact = [owner for owner in fitting if len(given) == sum(getattr(owner, part) is not None for part in names)]
        match exact or fitting:
            case [owner]:
                if known and self.session is not None:
                    events = memory.for_scope(owner).events(kinds=["message"])
                    names_there = {event.scope.session for event in events if event.scope.session is not None}
                    sessions = sorted(names_there, key=lambda name: (not name.startswith(self.session or ""), name))
                    if self.session not in sessions:
                        there = f"there are: {listed(sessions)}" if sessions else "there are none"
                        raise InvalidInputError(f"{owner} has no session {self.session!r}; {there}")
                return memory.scoped(tenant=owner.tenant, user=owner.user, agent=owner.agent, session=self.session)
            case [] if not owners:
                raise InvalidInputError(
                    f"{memory.url} is empty: name its owner with --user, or fill it with hybrid-memory import"
                )
            case []:
                parts = " ".join(f"{part}={name!r}" for part, name in given.items())
                problem, among = f"{memory.url} has nothing of {parts}; there are", owners
            case among:
                problem = "the store has several owners, give --user, --agent or --tenant"
        raise InvalidInputError(f"{problem}: {listed([*map(str, among)])}")


def listed(names: list[str]) -> str:
    """The first of the names, and how many more there are."""
    more = len(names) - SHOWN_NAMES
    return "; ".join([*names[:SHOWN_NAMES], *([f"and {more:,} more"] if more > 0 else [])])


def with_owner(*, session: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make Typer fill the parameter ``owner`` of a verb from the options that name one."""
    options = {"tenant": TenantName, "user": UserName, "agent": AgentName}
    options |= {"session": SessionName} if session else {}
    names = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=of) for name, of in options.items()]

    def declared(verb: Callable[..., None]) -> Callable[..., None]:
        @wraps(verb)
        def called(**given: Any) -> None:
            verb(owner=Owner(**{name: given.pop(name) for name in options}), **given)

        parts = inspect.signature(verb, eval_str=True).parameters.values()
        parameters = [each for part in parts for each in (names if part.name == "owner" else [part])]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return called

    return declared
