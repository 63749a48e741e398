"""The common base of objects that LlamaIndex holds: plain data, bound to a memory by its URL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator

from hybrid_memory import HybridMemory, Scope, ScopedMemory
from hybrid_memory.adapters import LEAST_TOKENS, budget_of, held, memory_at, shown, shown_url, url_of
from hybrid_memory.errors import InvalidConfigError

INSTEAD = {
    **dict.fromkeys(("session_id", "thread_id", "chat_store_key"), "give session="),
    "user_id": "give user=",
    "chat_store": "the conversation is in the memory's own store, give memory= or url=",
    "chat_history": "write it with put_messages(chat_history), or with set(chat_history) to replace what is shown",
}
"""What to do instead of arguments that memories of LlamaIndex have."""


class Bound(BaseModel):
    """An owner and a store.

    The fields are ids, a URL and settings, never messages: the object survives ``Context.to_dict()`` with either
    serializer, pickling and ``model_dump()``, and finds its store again by the URL. For a store with its own settings,
    or a password, use the path of a YAML file as ``url``, so that other processes find it. A ``memory://`` store exists
    only in its own process; elsewhere the first use raises `InvalidConfigError`.

    Attributes:
        tenant, user, agent: the owner; at least one of them, or the first use raises `InvalidScopeError`.
        url: the URL of the store, as for `hybrid_memory.open_memory`.
    """

    model_config = ConfigDict(frozen=True)

    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    url: str = "sqlite:///memory.db"

    _memory: HybridMemory | None = PrivateAttr(default=None)

    @classmethod
    def from_defaults(
        cls,
        *,
        user: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        url: str | None = None,
        memory: HybridMemory | None = None,
        **settings: Any,
    ) -> Self:
        """An object for an owner, on an open memory or on the store at a URL, which is opened on first use.

        You close a ``memory`` yourself; ``url`` may be the path of a YAML file. Settings are the other fields; None
        means the default.

        Raises:
            InvalidScopeError: no user, tenant or agent is named.
            InvalidConfigError: ``url`` and ``memory`` are both given, or a setting is out of range or unknown.
        """
        if unknown := [name for name in settings if name not in cls.model_fields]:
            hints = "".join(f": {INSTEAD[name]}" for name in unknown[:1] if name in INSTEAD)
            raise InvalidConfigError(f"{cls.__name__} has no argument {', '.join(unknown)}{hints}")
        if not isinstance(memory, HybridMemory | None):
            raise InvalidConfigError(f"memory must be an open memory, got {shown(memory)}: a URL is given as url=")
        if memory is not None and url is not None:
            raise InvalidConfigError("give memory= or url=, not both")
        Scope(tenant=tenant, user=user, agent=agent, session=settings.get("session"))
        where = url if memory is None else url_of(memory)
        fields = {"tenant": tenant, "user": user, "agent": agent, "url": where, **settings}
        try:
            return cls(**{name: value for name, value in fields.items() if value is not None})
        except ValidationError as error:
            raise InvalidConfigError("; ".join(map(_problem, error.errors(include_url=False)))) from error

    @field_validator("url")
    @classmethod
    def _a_place(cls, url: str) -> str:
        return checked_url(url)

    def model_post_init(self, context: Any, /) -> None:
        self._memory = held(self.url)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, shown_url(value) if name == "url" else value

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (type(self), dict(self.__dict__))

    def __copy__(self) -> Self:
        # Without what is private: `model_copy(update=...)` may change whose it is.
        return type(self)(**self.__dict__)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.__copy__()  # no field can be changed in place

    def _store(self) -> HybridMemory:
        # `model_copy(update=...)` may have changed the URL.
        if self._memory is None or url_of(self._memory) != self.url:
            self._memory = memory_at(self.url)
        return self._memory

    async def _astore(self) -> HybridMemory:
        known = self._memory is not None and url_of(self._memory) == self.url
        # The first use of a URL reads files and may load a model.
        return self._store() if known else await asyncio.to_thread(self._store)

    def _scoped(self, store: HybridMemory, session: str | None) -> ScopedMemory:
        return store.scoped(tenant=self.tenant, user=self.user, agent=self.agent, session=session)


def _problem(error: Mapping[str, Any]) -> str:
    """The problem that a pydantic error reports, with the value if it concerns one field."""
    what = error["msg"].removeprefix("Value error, ")
    return f"{error['loc'][0]}: {what} (got {shown(error['input'])})" if error["loc"] else what


def checked_url(url: str) -> str:
    """The URL; raises `InvalidConfigError` if it is neither a URL nor the path of a YAML file."""
    if "://" not in url and not url.endswith((".yaml", ".yml")):
        raise InvalidConfigError("url must be a URL such as sqlite:///memory.db, or the path of a YAML file")
    return url


class SessionBound(Bound):
    """An object for one session, with prompts of a limited size.

    Attributes:
        session: the conversation.
        token_limit: the budget of a prompt; by default as configured for the memory, or ``model_limit``, or 30,000.
        model_limit: the tokens that fit the model's window, see `room_of`.
    """

    session: str | None = None
    token_limit: int | None = Field(default=None, ge=LEAST_TOKENS)
    model_limit: int | None = None

    def _max_tokens(self, store: HybridMemory) -> int:
        config = store.compaction
        if self.token_limit is not None:
            return self.token_limit
        by_model = None if "max_tokens" in config.model_fields_set else self.model_limit
        return by_model or config.max_tokens


def room_of(llm: Any) -> int | None:
    """Three quarters of the model's window, since an agent adds its system prompt, tools and the calls of a run.

    None if there is no model, or its window is unknown.

    Raises:
        InvalidConfigError: it is no model.
    """
    if llm is not None and not hasattr(type(llm), "metadata"):  # of an object it may raise
        raise InvalidConfigError(f"llm must be a model of LlamaIndex, such as OpenAI(model=...), got {shown(llm)}")
    with suppress(ValueError):  # of a model whose name LlamaIndex does not know
        window = 0 if llm is None else llm.metadata.context_window
        return budget_of(window, window) if window > 0 else None
    return None


def _remade(kind: type[Bound], fields: dict[str, Any]) -> Bound:
    return kind(**fields)
