"""The arguments of a prompt."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from hybrid_memory.config import PagingConfig, PromptConfig
from hybrid_memory.context.layout import Layout, Voice
from hybrid_memory.documents.document import Block
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.message import Origin
from hybrid_memory.scope import Scope
from hybrid_memory.validation import checked_text, shown, storable, whole

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
        spaces: shared spaces to recall from, which the caller may read; ``rules`` are their standing instructions.
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
    spaces: tuple[Scope, ...] = ()
    rules: tuple[Voice, ...] = ()

    @classmethod
    def of(
        cls, query: Any, *, max_tokens: Any, k: Any, layout: Any, tools: Any, blocks: Any, host: Any = None,
        reader: Any = None, wait: bool = True, paging: Any = None, spaces: Sequence[Scope] = (),
        rules: Sequence[Voice] = (), **texts: Any,
    ) -> Self:  # fmt: skip
        """The request; raises `InvalidInputError` if an argument is invalid."""
        if query is not None and not query.strip():
            raise InvalidInputError(f"the query must be text, or None for the user's last turn; got {shown(query)}")
        for name, text in texts.items():
            if text is not None:
                checked_text(name, text)
        for tool in tools:
            try:
                storable(dict(tool))
            except (TypeError, ValueError) as error:
                raise InvalidInputError(f"a tool must be a schema in JSON, got {shown(tool)}: {error}") from None
        if isinstance(reader, str) and not reader.strip():
            raise InvalidInputError(f"reader must be the name of a tool, a Reader or None, got {shown(reader)}")
        words, writers = dict[str, str](), dict[str, Origin]()
        for label, block in (blocks or {}).items():
            if isinstance(block, Block):  # for a model that edits it, with how full it is
                words[label] = block.value if paging is None else block.written
                writers[label] = block.origin
            else:
                words[label] = block
        return cls(
            query=query,
            host=_checked(host or Host()),
            reader=Reader(reader) if isinstance(reader, str) else reader,
            wait=bool(wait),
            paging=paging,
            max_tokens=whole("max_tokens", max_tokens, LEAST_TOKENS),
            k=whole("k", k, 0),
            layout=layout,
            tools=tuple(tools),
            blocks=words,
            writers=writers,
            spaces=tuple(spaces),
            rules=tuple(rules),
            **texts,
        )


def _checked(host: Host) -> Host:
    for name in ("began", "beside"):
        if not isinstance(value := getattr(host, name), str | None):
            raise InvalidInputError(f"{name} must be text or None, got {shown(value)}")
    among: Any = host.among
    texts = not isinstance(among, str) and isinstance(among, Collection | None)
    if not texts or not all(isinstance(value, str) for value in among or ()):
        raise InvalidInputError(f"among must be a list of message ids, got {shown(among)}")
    return replace(host, among=None if among is None else frozenset(among))
