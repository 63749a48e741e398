"""A LangGraph store over the memory: items in namespaces, searched by words and meaning."""

from __future__ import annotations

import asyncio
import inspect
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from langgraph.store import base
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    InvalidNamespaceError,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    tokenize_path,
)
from langgraph.store.base.embed import ensure_embeddings
from pydantic_core import PydanticSerializationError, to_json

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.adapters import (
    FindItems,
    GetItem,
    Item,
    ItemOperation,
    ListNamespaces,
    PutItem,
    checked,
    shown,
)
from hybrid_memory.errors import InvalidConfigError, InvalidInputError

_AWKWARD = re.compile(r"[%.*\x00]")
"""Characters that LangGraph refuses or interprets in labels, and our escape character."""

_EMPTY = "%empty"
_NUMBER = "%int:"
_RESERVED = "langgraph"


def namespace(*ids: str | int) -> tuple[str, ...]:
    """A namespace made of any ids, such as e-mail addresses, numbers or file names.

    LangGraph refuses empty labels, labels with dots, numbers, and ``langgraph`` as the first label: these are escaped.
    Other text is unchanged, and different ids always get different labels.

    Raises:
        InvalidInputError: an id is neither text nor an integer.
    """
    labels = tuple(map(_label, ids))
    if labels and labels[0] == _RESERVED:
        labels = (f"%{ord(_RESERVED[0]):02X}{_RESERVED[1:]}", *labels[1:])
    return labels


def matches(labels: tuple[str, ...], path: tuple[str, ...], *, at_end: bool) -> bool:
    """Whether a namespace begins, or ends, with a path; ``*`` in the path matches any label."""
    part = labels[max(len(labels) - len(path), 0) :] if at_end else labels[: len(path)]
    return len(part) == len(path) and all(one in ("*", other) for one, other in zip(path, part, strict=True))


def _label(one: str | int) -> str:
    if isinstance(one, bool) or not isinstance(one, str | int):
        raise InvalidInputError(f"a namespace must consist of text and integers, got {shown(one)}")
    if isinstance(one, int):
        return f"{_NUMBER}{one}"
    return _AWKWARD.sub(lambda found: f"%{ord(found[0]):02X}", one) or _EMPTY


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_AMONG = {"$in": True, "$nin": False}
_OPERATORS = {"$eq", "$ne", *_AMONG, *_ORDERS}


def check_filter(conditions: Mapping[str, Any]) -> None:
    """Raise `InvalidInputError` if a filter has an unknown operator, or an operator lacks the list it needs."""
    for value in conditions.values():
        if isinstance(value, Mapping):
            if unknown := [name for name in value if name.startswith("$") and name not in _OPERATORS]:
                raise InvalidInputError(f"unknown operator {shown(unknown[0])}: use {', '.join(sorted(_OPERATORS))}")
            for name in _AMONG:
                if not isinstance(value.get(name, []), list | tuple | set | frozenset):
                    raise InvalidInputError(f"{name} needs a list of values, got {shown(value[name])}")
            check_filter({name: part for name, part in value.items() if not name.startswith("$")})


def holds(value: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    """Whether an item's value matches every field of the filter; a missing field counts as None."""
    return all(_fits(value.get(name), part) for name, part in conditions.items())


def _fits(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if any(name.startswith("$") for name in condition):
            return all(_compares(value, name, limit) for name, limit in condition.items())
        return isinstance(value, Mapping) and holds(value, condition)
    if isinstance(condition, list | tuple):
        return isinstance(value, list) and len(value) == len(condition) and all(map(_fits, value, condition))
    return bool(value == condition)


def _compares(value: Any, name: str, limit: Any) -> bool:
    """Compare numbers and numeric texts by size, other texts alphabetically; anything else is False."""
    if name in _AMONG:
        among = any(one == value or (isinstance(value, list) and one in value) for one in limit)
        return among is _AMONG[name]
    if name not in _ORDERS:
        return bool((value == limit) is (name == "$eq"))
    try:
        return _ORDERS[name](float(value), float(limit))
    except (TypeError, ValueError):
        return isinstance(value, str) and isinstance(limit, str) and _ORDERS[name](value, limit)
    except OverflowError:  # an integer beyond what a float can hold
        return isinstance(value, int | float) and isinstance(limit, int | float) and _ORDERS[name](value, limit)


AGENT = "langgraph.store"
"""The agent that owns the items in the memory; no conversation has it."""


def _refuse_awkward(op: Any) -> None:
    paths = [getattr(op, "namespace", ()), getattr(op, "namespace_prefix", ())]
    paths += [condition.path for condition in getattr(op, "match_conditions", None) or ()]
    for label in (label for path in paths for label in path):
        if not isinstance(label, str) or not label or set(label) & {".", "\x00"}:
            raise InvalidNamespaceError(f"{shown(label)} is not a namespace label; namespace() makes one from any id")


# LangGraph checks labels in put() and search(), and not in batch(); older versions leave it to the store.
_check_labels: Callable[[Op], None] = getattr(base, "validate_op_namespace", _refuse_awkward)


class HybridMemoryStore(BaseStore):
    """A LangGraph store in a memory: durable, shared by all processes, searched by 0.7 vector + 0.3 text.

    Without a memory it behaves like ``InMemoryStore`` and takes the same ``index``. Values are JSON; dates, models and
    tuples are converted to JSON. With a query, ``score`` is in [0, 1] and relative to the best item of that search;
    items without an index come last, without a score. Deleted items are destroyed in log, index and files,
    with all their earlier values.

    The ``filter`` of a search takes values or operators: ``$eq``, ``$ne``, ``$gt``, ``$gte``, ``$lt``, ``$lte``, and
    ``$in`` and ``$nin`` with a list; if the field itself is a list, one matching element is enough.

    Namespaces cannot contain dots, numbers and some other ids; `langchain_hybrid_memory.namespace` escapes them.

    Args:
        memory: an open memory, which you close; by default a private one in this process.
        tenant: the tenant; each has its own items.
        index: ``fields`` are the paths to search, by default the whole value. ``embed`` is the embedder of a store
            without a memory, which otherwise searches words alone; a memory has its own. ``dims`` is not needed.

    Raises:
        InvalidConfigError: ``embed`` is given together with a memory.
        InvalidInputError: ``fields`` is not a list of paths.
    """

    @checked
    def __init__(
        self,
        memory: HybridMemory | None = None,
        *,
        tenant: str | None = None,
        index: IndexConfig | None = None,
    ) -> None:
        super().__init__()
        embed = (index or {}).get("embed")
        if memory is None:
            embedder = None if embed is None else ensure_embeddings(blocking(embed))
            memory = open_memory(MemoryConfig(url="memory://", embedder="none"), embedder=embedder)
        elif embed is not None:
            raise InvalidConfigError("the memory embeds: give open_memory(embedder=...) what is in index['embed']")
        self.index_config = index
        self._fields = [_tokenized(path) for path in _paths(index)]
        self._items = memory.items(AGENT, tenant=tenant)

    @checked
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results in order; reads come first, then all puts are written at once.

        Raises:
            InvalidInputError: a value, a label or a filter is invalid. Nothing was written.
        """
        asked = list(ops)
        return _results(asked, self._items.batch(list(map(self._operation, asked))))

    @checked
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        asked = list(ops)
        return _results(asked, await self._items.abatch(list(map(self._operation, asked))))

    def _operation(self, op: Op) -> ItemOperation:
        _check_labels(op)
        if isinstance(op, PutOp):
            return self._put(op)
        if isinstance(op, GetOp):
            return GetItem(tuple(op.namespace), op.key)
        if isinstance(op, ListNamespacesOp):
            _check_page(op.limit, op.offset, op.max_depth)
            return ListNamespaces()
        if not isinstance(op, SearchOp):
            raise InvalidInputError(f"not a store operation: {shown(op)}")
        check_filter(op.filter or {})
        return FindItems(
            tuple(op.namespace_prefix),
            query=op.query or "",
            where=partial(holds, conditions=op.filter) if op.filter else None,
            limit=op.limit,
            offset=op.offset,
        )

    def _put(self, op: PutOp) -> PutItem:
        if op.value is None:
            return PutItem(tuple(op.namespace), op.key, None)
        value = _json_form(op)
        paths = [] if op.index is False else self._fields if op.index is None else list(map(_tokenized, op.index))
        texts = tuple(text for path in paths for text in get_text_at_path(value, path))
        return PutItem(tuple(op.namespace), op.key, value, texts)


def _paths(index: IndexConfig | None) -> list[str]:
    paths: Any = (index or {}).get("fields") or ["$"]
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str) for path in paths):
        raise InvalidInputError(f"index['fields'] must be a list of paths, such as ['text'], got {shown(paths)}")
    return list(paths)


def _tokenized(path: str) -> Any:
    """A path as LangGraph looks it up; ``$`` is the whole value."""
    return path if path == "$" else tokenize_path(path)


def _json_form(op: PutOp) -> dict[str, Any]:
    try:
        value = json.loads(to_json(op.value, inf_nan_mode="constants"))
    except (PydanticSerializationError, ValueError) as error:
        raise InvalidInputError(f"the value of {shown(op.key)} has no JSON form: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInputError(f"the value of {shown(op.key)} must be a dict, got {shown(op.value)}")
    return value


@checked
def _check_page(limit: int, offset: int, max_depth: int | None) -> None:
    """Refuse an invalid limit, offset or depth."""


def _results(ops: Sequence[Op], answers: Sequence[Any]) -> list[Result]:
    return [_result(op, one) for op, one in zip(ops, answers, strict=True)]


def _result(op: Op, answer: Any) -> Result:
    if isinstance(op, ListNamespacesOp):
        asked = [(one.path, one.match_type == "suffix") for one in op.match_conditions or ()]
        matching = [labels for labels in answer if all(matches(labels, path, at_end=end) for path, end in asked)]
        shortened = sorted({labels[: op.max_depth] for labels in matching})
        return shortened[op.offset : op.offset + op.limit]
    if isinstance(answer, list):
        return [SearchItem(**_fields(item), score=item.score) for item in answer]
    return None if answer is None else base.Item(**_fields(answer))


def _fields(item: Item) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ("namespace", "key", "value", "created_at", "updated_at")}


def blocking(embed: Any) -> Any:
    """The embedding function; an async one wrapped so that any thread can call it, even with a running loop."""
    if not inspect.iscoroutinefunction(embed) and not inspect.iscoroutinefunction(type(embed).__call__):
        return embed

    def embed_texts(texts: Sequence[str]) -> Any:
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(lambda: asyncio.run(embed(texts))).result()

    return embed_texts
