"""What the objects that LlamaIndex holds have in common: plain data, bound to a memory that is found by its URL."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from hybrid_memory import HybridMemory, Scope, ScopedMemory
from hybrid_memory.context.budget import budget_of
from hybrid_memory.context.request import LEAST_TOKENS
from hybrid_memory.errors import InvalidConfigError
from llamaindex_hybrid_memory.sharing import held, opened, url_of


class Bound(BaseModel):
    """Whose memory, and in which store.

    Its fields are ids, a URL and settings, never messages: it survives ``Context.to_dict()`` with either serializer,
    pickling and ``model_dump()``, and finds its store again by the URL. In another process a store with settings of its
    own needs the path of a YAML file as ``url``, which is also the place for a password; a store of ``memory://`` is
    found only in the process that holds it, and elsewhere the first use raises `InvalidConfigError`.

    Attributes:
        tenant, user, agent: whose memory it is; at least one, or the first use raises `InvalidScopeError`.
        url: where the store is, as for `hybrid_memory.open_memory`.
    """

    model_config = ConfigDict(frozen=True)

    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    url: str = "sqlite:///memory.db"

    _memory: HybridMemory | None = PrivateAttr(default=None)

    @classmethod
    def _bound(cls, *, memory: HybridMemory | None, url: str | None, unknown: Mapping[str, Any], **fields: Any) -> Self:
        """The object from checked arguments; fields that are None have their default.

        Raises:
            InvalidScopeError: nobody is named.
            InvalidConfigError: ``url`` and ``memory`` are both given, or an argument is out of range or unknown.
        """
        if unknown:
            raise InvalidConfigError(f"{cls.__name__} has no argument {', '.join(unknown)}")
        if memory is not None and url is not None:
            raise InvalidConfigError("give memory= or url=, not both")
        Scope(**{name: fields.get(name) for name in ("tenant", "user", "agent", "session")})
        fields["url"] = url if memory is None else url_of(memory)
        try:
            return cls(**{name: value for name, value in fields.items() if value is not None})
        except ValidationError as error:
            problems = (f"{p['loc'][0]}: {p['msg']} (got {p['input']!r})" for p in error.errors(include_url=False))
            raise InvalidConfigError("; ".join(problems)) from error

    def model_post_init(self, context: Any, /) -> None:
        """Hold on to the memory, if this process has it open."""
        self._memory = held(self.url)

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
            self._memory = held(self.url) or opened(self.url)
        return self._memory

    async def _astore(self) -> HybridMemory:
        known = self._memory is not None and url_of(self._memory) == self.url
        # The first use of a URL reads files and may load a model, and `open_memory` has no async twin.
        return self._store() if known else await asyncio.to_thread(self._store)

    def _scoped(self, store: HybridMemory, session: str | None) -> ScopedMemory:
        return store.scoped(tenant=self.tenant, user=self.user, agent=self.agent, session=session)


class SessionBound(Bound):
    """What works on one session, for prompts of a certain size.

    Attributes:
        session: the conversation.
        token_limit: of a prompt; by default as the memory was configured, else ``model_limit``, else 30,000.
        model_limit: what the model has room for, as `room_of` tells it.
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
    """Three quarters of the model's window, since an agent adds its system prompt, its tools and the calls of a run.

    None if there is no model, or it does not tell its window.
    """
    with suppress(ValueError):  # of a model whose name LlamaIndex does not know
        window = 0 if llm is None else llm.metadata.context_window
        return budget_of(window, window) if window > 0 else None
    return None


def _remade(kind: type[Bound], fields: dict[str, Any]) -> Bound:
    return kind(**fields)
