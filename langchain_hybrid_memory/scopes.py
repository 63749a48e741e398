"""The owner and session of a run: as the run names them, or beneath the agent in whose tool it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig, ensure_config

from hybrid_memory import HybridMemory, Scope, ScopedMemory
from hybrid_memory.errors import InvalidScopeError
from langchain_hybrid_memory.following import owner_of

_KEYS = {
    "user": ("user_id", "user", "langgraph_user_id"),
    "session": ("session_id", "session", "thread_id"),
    "agent": ("agent_id", "agent"),
    "tenant": ("tenant_id", "tenant"),
}
"""The names under which a run gives each part of the scope, in order of preference."""

_WHOSE = (
    "no user given: give user=, or name the user in the run: context={'user_id': ...} or "
    "config={'configurable': {'user_id': ...}}"
)
_RUNTIME = "__pregel_runtime"
"""The key under which LangGraph keeps a run's runtime in its configuration."""

MAX_NAME_CHARS = 400
"""The maximum length of a thread's name; longer chains of agents share the last thread within it."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The agent whose tool is running; an agent inside that tool works in a thread beneath its thread."""

    memory: HybridMemory
    root: str  # the session that the run names; agents inside the tool find it in their configuration too
    session: str  # its own
    thread: str  # that of an agent inside the tool


_CALLER: ContextVar[Caller | None] = ContextVar("hybrid_memory_caller", default=None)


@dataclass(frozen=True, slots=True)
class Binding:
    """A memory, and the parts of the scope that are known before a run starts.

    The rest is taken from the run: from its ``context`` (attributes or keys), then from ``config["configurable"]``,
    under the names `user_id`, `session_id` or `thread_id`, `agent_id` and `tenant_id`; the user then from the server's
    authentication. A run that names no owner continues with the owner of its thread's earlier runs. With
    ``remember=False``, given here or by the run, nothing is stored or learned.

    Raises:
        InvalidScopeError: a name is malformed.
    """

    memory: HybridMemory
    user: str | None = None
    session: str | None = None
    agent: str | None = None
    tenant: str | None = None
    remember: bool = True

    def __post_init__(self) -> None:
        nobody = self.user is None and self.agent is None and self.tenant is None
        Scope(self.tenant, self.user, "anybody" if nobody else self.agent, self.session)

    @property
    def given(self) -> str:
        """The known parts, as text."""
        parts = ((name, getattr(self, name)) for name in _KEYS)
        return " ".join(f"{name}={value!r}" for name, value in parts if value is not None) or "of its run"

    def alone(self) -> ScopedMemory:
        """The memory of the known parts, whatever a run names; raises `InvalidScopeError` if they name no owner."""
        return self.memory.scoped(
            tenant=self.tenant, user=self.user, agent=self.agent, session=self.session, remember=self.remember
        )

    def scoped(self, runtime: Any = None, thread: Mapping[str, str] | None = None) -> ScopedMemory:
        """The memory of this run.

        Args:
            runtime: LangGraph's ``Runtime`` or ``ToolRuntime``; None outside of a run.
            thread: the owner of the thread, by default from the runtime's state; see `owner_of`.

        Raises:
            InvalidScopeError: no user is named, or a different one from the authenticated user.
        """
        config = _configurable(runtime)
        sources = [getattr(runtime, "context", None), config]
        signed_in = _authenticated(runtime, config)
        if signed_in is None and not any(_named(part, sources) for part in ("user", "agent", "tenant")):
            sources.append(owner_of(getattr(runtime, "state", None)) if thread is None else thread)
        user = self._user(sources, signed_in)
        if user is None:
            raise InvalidScopeError(_WHOSE)
        return self._of(user, sources)

    def named(self, scope: Scope) -> dict[str, str]:
        """The owner of a run, without the parts that are known before."""
        parts = {f"{part}_id": getattr(scope, part) for part in ("user", "agent", "tenant") if not getattr(self, part)}
        return {name: value for name, value in parts.items() if value is not None}

    def of_run(self, config: RunnableConfig) -> ScopedMemory:
        """The memory of a run with this configuration, whose ``metadata`` counts too; see `scoped`.

        Raises:
            InvalidScopeError: no user, agent or tenant is named, or a user different from the authenticated one.
        """
        configurable = config.get("configurable") or {}
        runtime = configurable.get(_RUNTIME)
        sources = [getattr(runtime, "context", None), configurable, config.get("metadata")]
        user = self._user(sources, _authenticated(runtime, configurable))
        if user is None and not (self.agent or self.tenant or _named("agent", sources) or _named("tenant", sources)):
            raise InvalidScopeError(_WHOSE)
        return self._of(user, sources)

    def _user(self, sources: list[Any], signed_in: str | None) -> str | None:
        if self.user is not None:
            return self.user
        user = _named("user", sources)
        if None not in (user, signed_in) and user != signed_in:
            raise InvalidScopeError(f"the run names user {user!r}, but {signed_in!r} is signed in")
        return signed_in if user is None else user

    def _of(self, user: str | None, sources: list[Any]) -> ScopedMemory:
        return self.memory.scoped(
            user=user,
            session=self.session or _named("session", sources),
            agent=self.agent or _named("agent", sources),
            tenant=self.tenant or _named("tenant", sources),
            remember=self.remember and not any(_value("remember", source) is False for source in sources),
        )

    def caller(self, runtime: Any, thread: Mapping[str, str] | None = None) -> Caller | None:
        """The agent in whose tool this run is, if both have the same memory and the run names the same session."""
        caller = _CALLER.get()
        if caller is None or caller.memory is not self.memory:
            return None
        return caller if caller.root == self.scoped(runtime, thread).scope.session else None

    def in_session(self, runtime: Any, session: str, thread: Mapping[str, str] | None = None) -> ScopedMemory:
        """The memory of the run's owner in this session."""
        own = self.scoped(runtime, thread)
        return self.memory.scoped(
            tenant=own.scope.tenant, user=own.scope.user, agent=own.scope.agent, session=session, remember=own.remembers
        )

    @contextmanager
    def calling(self, root: str, session: str, call: Mapping[str, Any]) -> Iterator[None]:
        """A context manager for running a tool that this session's agent called."""
        thread = f"{session}/{call['name']}:{call['id']}"[:MAX_NAME_CHARS]
        token = _CALLER.set(Caller(self.memory, root, session, thread))
        try:
            yield
        finally:
            _CALLER.reset(token)


def _configurable(runtime: Any) -> Mapping[str, Any]:
    # A node's runtime has no configuration, a chain has no runtime: LangChain keeps that of the run that is going on.
    config = getattr(runtime, "config", None) or ensure_config()
    return config.get("configurable") or {}


def _authenticated(runtime: Any, configurable: Mapping[str, Any]) -> str | None:
    """The identity authenticated by the LangGraph server."""
    user = getattr(getattr(runtime, "server_info", None), "user", None)
    identity = getattr(user, "identity", None) or configurable.get("langgraph_auth_user_id")
    return None if identity is None else str(identity)


def _named(part: str, sources: list[Any]) -> str | None:
    return next((value for source in sources for value in _values(part, source)), None)


def _value(key: str, source: Any) -> Any:
    return source.get(key) if isinstance(source, Mapping) else getattr(source, key, None)


def _values(part: str, source: Any) -> Iterator[str]:
    for key in _KEYS[part]:
        value = _value(key, source)
        # Ids of databases are numbers or UUIDs as often as they are text; an object would be no stable name.
        if isinstance(value, str | int | UUID) and not isinstance(value, bool):
            yield str(value)
