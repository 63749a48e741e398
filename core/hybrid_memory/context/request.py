"""The arguments of a prompt."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from hybrid_memory.config import PagingConfig, PromptConfig
from hybrid_memory.context.layout import Layout
from hybrid_memory.documents.document import Block
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.origin import Origin
from hybrid_memory.validation import checked_count, checked_text, shown, storable

LEAST_TOKENS = 50
RECALLED_TURNS = 5
"""How many recalled turns a prompt shows by default, beside the user's own sentences."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A tool with which a model reads what does not fit into its prompt, given a handle such as ``#12``.

    Attributes:
        name: the name by which the model calls it.
        schema: the tool's schema, if the tool is bound only to calls whose prompt names it, so that its tokens count;
            empty if it is always among the tools.
    """

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Host:
    """What a program knows about a conversation that it holds itself, such as an agent's state.

    Attributes:
        among: ids of the messages in the program's copy. After the first of them, only these are shown; the others were
            removed there, or belong to another branch or a concurrent run.
        began: id of the first message the copy ever had, if that was removed.
        beside: the session that this one works for, as a sub-agent does: neither it nor its other sub-sessions
            (``parent/...``) are recalled.
        assistant_first: whether the model takes a conversation that the assistant began. Otherwise those words are
            shown in the user's first turn, as some providers need a user first.
    """

    among: Collection[str] | None = None
    began: str | None = None
    beside: str | None = None
    assistant_first: bool = False


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A validated call of assemble.

    Attributes:
        blocks: texts by label; ``writers`` has their origins: the operator's unless stated.
    """

    query: str | None
    max_tokens: int
    identity: str = ""
    instructions: str = ""
    blocks: Mapping[str, str] = field(default_factory=dict)
    writers: Mapping[str, Origin] = field(default_factory=dict)
    profile: str | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    k: int = RECALLED_TURNS
    layout: Layout = "stable"
    host: Host = Host()
    reader: Reader | None = None
    wait: bool = True
    paging: PagingConfig | None = None
    marks: PromptConfig = field(default_factory=PromptConfig)

    @classmethod
    def of(
        cls, query: Any, *, max_tokens: Any, k: Any, layout: Any, tools: Any, blocks: Any, host: Any = None,
        reader: Any = None, wait: bool = True, paging: Any = None, **texts: Any,
    ) -> Self:  # fmt: skip
        """The request; raises `InvalidInputError` if an argument is invalid."""
        if query is not None and not query.strip():
            raise InvalidInputError(f"the query must be text, or None for the user's last turn; got {shown(query)}")
        for name, text in texts.items():
            if text is not None:
                checked_text(name, text)
        _check_tools(tools)
        return cls(
            query=query,
            host=_host(host),
            reader=_reader(reader),
            wait=bool(wait),
            paging=paging,
            max_tokens=checked_count("max_tokens", max_tokens, least=LEAST_TOKENS),
            k=checked_count("k", k, least=0),
            layout=layout,
            tools=tuple(tools),
            blocks={label: _words(block, edited=paging is not None) for label, block in (blocks or {}).items()},
            writers={label: block.origin for label, block in (blocks or {}).items() if isinstance(block, Block)},
            **texts,
        )


def _host(host: Host | None) -> Host:
    if host is None:
        return Host()
    named: tuple[tuple[str, Any], ...] = (("began", host.began), ("beside", host.beside))
    for name, value in named:
        if not isinstance(value, str | None):
            raise InvalidInputError(f"{name} must be text or None, got {shown(value)}")
    among: Any = host.among
    if isinstance(among, str) or not isinstance(among, Collection | None) or _not_texts(among or ()):
        raise InvalidInputError(f"among must be a list of message ids, got {shown(among)}")
    return replace(host, among=None if among is None else frozenset(among))


def _words(block: str | Block, *, edited: bool) -> str:
    """A block as shown in a prompt; for a model that edits it, with how full it is."""
    return block if isinstance(block, str) else block.written if edited else block.value


def _check_tools(tools: Any) -> None:
    for tool in tools:
        try:
            storable(dict(tool))
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"a tool must be a schema in JSON, got {shown(tool)}: {error}") from None


def _reader(reader: Reader | str | None) -> Reader | None:
    if not isinstance(reader, str):
        return reader
    if not reader.strip():
        raise InvalidInputError(f"reader must be the name of a tool, a Reader or None, got {shown(reader)}")
    return Reader(reader)


def _not_texts(values: Collection[Any]) -> bool:
    return not all(isinstance(value, str) for value in values)
