"""A LlamaIndex retriever of memories."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal, Self

from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from pydantic import AwareDatetime, Field, model_validator

from hybrid_memory import Hit, HybridMemory, Origin, RecordKind, Weights
from hybrid_memory.adapters import Runner, Scalar, checked, faces, shown
from hybrid_memory.errors import InvalidConfigError
from llamaindex_hybrid_memory.bound import Bound

UNSEEN = ["score", "confidence", "why", "signals", "sources", "kind", "session", "space"]
"""Metadata hidden from language models."""

_USUAL = frozenset((Origin.USER, Origin.ASSISTANT))


class HybridMemoryRetriever(BaseRetriever):
    """A retriever of the turns and facts that answer a question best, from all sessions of a user.

    A node contains the words; an id made from its event and log position; and as metadata your own values plus,
    replacing values of the same name: ``score``, ``confidence``, ``why``, ``signals``, ``speaker``, ``at`` (ISO 8601),
    ``sources`` (ids of events), ``kind``, ``session``; from a shared space also ``space`` and ``author``. A language
    model sees the speaker, the time, the author and your own values; only the words are embedded, as in the memory.

    An empty question finds nothing.

    Args:
        memory: an open memory.
        url: the URL of a store, instead of an open memory; opened on first use.
        user, tenant, agent: the owner; at least one of them.
        session: the conversation, for ``scope="session"``.
        similarity_top_k: how many nodes to return.
        similarity_cutoff: return only nodes with at least this confidence, in [0, 1]; the ``min_confidence`` of
            `ScopedMemory.recall`. A node's ``score`` only ranks it among the nodes found.
        filters: conditions on metadata that must all hold: ``==`` for your own values, ``==`` and ``in`` for ``kind``
            and ``origin``, ``>=`` and ``<`` for ``at`` (ISO 8601).
        scope, kinds, categories, since, until, metadata, weights, spaces, origins: as in `ScopedMemory.recall`.
        callback_manager: LlamaIndex's callback manager.

    Raises:
        InvalidScopeError: none of user, tenant and agent is given.
        InvalidConfigError: ``memory`` and ``url`` are both given, an argument is out of range, or recall has no such
            filter.
    """

    def __init__(
        self,
        *,
        memory: HybridMemory | None = None,
        url: str | None = None,
        user: str | None = None,
        session: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        similarity_top_k: int = 10,
        similarity_cutoff: float | None = None,
        scope: Literal["user", "session"] = "user",
        kinds: Collection[RecordKind | str] = (),
        categories: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, Scalar] | None = None,
        weights: Weights | None = None,
        spaces: Collection[str] | Literal["all"] = (),
        origins: Collection[Origin | str] = (),
        filters: MetadataFilters | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        conditions = {"metadata": metadata, "kinds": kinds, "origins": origins, "since": since, "until": until}
        self._recall = _Recall.from_defaults(
            memory=memory, url=url, tenant=tenant, user=user, agent=agent, session=session,
            similarity_top_k=similarity_top_k, similarity_cutoff=similarity_cutoff, scope=scope,
            categories=categories, weights=weights, spaces=spaces, **_with_filters(conditions, filters),
        )  # fmt: skip

    def __repr__(self) -> str:
        return repr(self._recall).replace(type(self._recall).__name__, type(self).__name__, 1)

    async def _nodes(self, run: Runner, /, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await self._recall.nodes(run, query_bundle.query_str)

    _retrieve, _aretrieve = faces(_nodes)


def _with_filters(conditions: dict[str, Any], filters: Any) -> dict[str, Any]:
    """The conditions of recall, with those of LlamaIndex's filters."""
    if not isinstance(filters, MetadataFilters | None):
        raise InvalidConfigError(f"filters must be MetadataFilters(filters=[...]), got {shown(filters)}")
    for one in _all(filters):
        name, value = _condition(one)
        if conditions[name] and name != "metadata":
            raise InvalidConfigError(f"{name} is given twice: once by the filter on {one.key!r}")
        before = conditions["metadata"] or {}
        if name == "metadata" and before.get(one.key, one.value) != one.value:
            raise InvalidConfigError(f"{one.key!r} cannot be {shown(before[one.key])} and {shown(one.value)}")
        conditions[name] = {**before, **value} if name == "metadata" else value
    return conditions


def _all(filters: MetadataFilters | None) -> Iterator[MetadataFilter]:
    if filters is None:
        return
    several = len(filters.filters) > 1 or filters.condition is FilterCondition.NOT
    if several and filters.condition is not FilterCondition.AND:
        raise InvalidConfigError(
            "recall takes filters that all hold: give FilterCondition.AND, and retrieve once for each alternative"
        )
    for one in filters.filters:
        if isinstance(one, MetadataFilters):
            yield from _all(one)
        else:
            yield one


def _condition(one: MetadataFilter) -> tuple[str, Any]:
    """The argument of recall for this filter, and its value."""
    sign = one.operator
    if one.key in ("kind", "origin") and sign in (FilterOperator.EQ, FilterOperator.IN):
        return f"{one.key}s", one.value if isinstance(one.value, list) else [one.value]
    if one.key == "at" and sign in (FilterOperator.GTE, FilterOperator.LT):
        return "since" if sign is FilterOperator.GTE else "until", one.value
    if one.key not in ("kind", "origin", "at") and sign is FilterOperator.EQ and not isinstance(one.value, list):
        return "metadata", {one.key: one.value}
    raise InvalidConfigError(
        f"recall has no filter {one.key} {sign.value}: it has == for your own values, == and in for kind and origin, "
        ">= and < for at; for others, retrieve more nodes and filter them"
    )


class _Recall(Bound):
    """The owner and the arguments of recall."""

    session: str | None = None
    similarity_top_k: int = Field(default=10, ge=1)
    similarity_cutoff: float | None = Field(default=None, ge=0, le=1)
    scope: Literal["user", "session"] = "user"
    kinds: tuple[RecordKind, ...] = ()
    categories: tuple[str, ...] = ()
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    metadata: dict[str, Scalar] | None = None
    weights: Weights | None = None
    spaces: tuple[str, ...] | Literal["all"] = ()
    origins: tuple[Origin, ...] = ()

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.since is not None and self.until is not None and self.since > self.until:
            raise InvalidConfigError(f"since ({self.since}) is after until ({self.until})")
        if self.scope == "session" and self.session is None:
            raise InvalidConfigError("scope='session' needs a session=")
        return self

    @checked
    async def nodes(self, run: Runner, query: str) -> list[NodeWithScore]:
        if not query.strip():
            return []
        memory = self._scoped(await run.call(self._store), self.session)
        return [node(hit) for hit in await run.call(memory.recall, query, **self._asked())]

    def _asked(self) -> dict[str, Any]:
        names = ("scope", "kinds", "categories", "since", "until", "metadata", "weights", "spaces", "origins")
        asked = {"k": self.similarity_top_k, "min_confidence": self.similarity_cutoff}
        return asked | {name: getattr(self, name) for name in names}


class _Remembered(TextNode):
    """A node whose hash does not depend on its score.

    Fusion retrievers identify nodes by their hash, which would otherwise include the metadata.
    """

    @property
    def hash(self) -> str:
        return sha256(f"{self.node_id}\n{self.text}".encode()).hexdigest()


def node(hit: Hit) -> NodeWithScore:
    """The hit as a node; see `HybridMemoryRetriever`."""
    record = hit.record
    metadata = hit.as_metadata()
    words = _Remembered(
        # An id counts within one session, and a turn may be the source of several facts.
        id_=f"{record.sources[0]}@{record.id}",
        text=record.text,
        extra_info=metadata,
        # Whose words they are says something where it is not the user or the assistant.
        excluded_llm_metadata_keys=UNSEEN if record.origin not in _USUAL else [*UNSEEN, "origin"],
        excluded_embed_metadata_keys=list(metadata),
    )
    return NodeWithScore(node=words, score=hit.score)
