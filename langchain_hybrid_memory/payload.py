"""What the log can carry of a LangChain message's values: JSON, without change where a model is shown them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from pydantic_core import to_json

from hybrid_memory.errors import InvalidMessageError


def exact_json(label: str, value: Any) -> Any:
    """A copy of the value.

    Raises:
        InvalidMessageError: JSON in UTF-8 would not give it back as it is.
    """
    try:
        written = json.dumps(value, allow_nan=False, ensure_ascii=False)
        written.encode()  # refuses lone surrogates
        copied = json.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidMessageError(f"{label}: only JSON values can be stored: {error}") from None
    if copied != value:
        raise InvalidMessageError(
            f"{label}: only JSON values can be stored: keys must be strings, sequences lists (got {value!r:.80})"
        )
    return copied


def json_form(label: str, value: Any) -> Any:
    """A copy of the value if it is JSON, else what JSON can tell of it.

    Models and dataclasses become objects by field, dates and numbers that JSON lacks become text, bytes base64,
    anything else its ``repr``.

    Raises:
        InvalidMessageError: it holds a lone surrogate or itself.
    """
    try:
        return exact_json(label, value)
    except InvalidMessageError:
        pass
    try:
        return json.loads(to_json(value, bytes_mode="base64", inf_nan_mode="strings", fallback=repr))
    except ValueError as error:
        raise InvalidMessageError(f"{label}: has no JSON form: {error}") from None


def stored_content(content: Any, *, silent: bool) -> tuple[str | list[dict[str, Any]], dict[str, Any]]:
    """The content as blocks or text, and what `restored_content` needs.

    Args:
        content: LangChain's: text, or a list of texts and blocks.
        silent: nothing else of the message speaks, so that the core would refuse blank content.
    """
    if silent and (not content or (isinstance(content, str) and not content.strip())):
        return [{"type": "text", "text": content or ""}], {"blank": content}
    if isinstance(content, str):
        return content, {}
    # From the end, because a prompt puts what was recalled in front.
    bare = [row - len(content) for row, block in enumerate(content) if isinstance(block, str)]
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    return exact_json("content", blocks), {"bare": bare} if bare else {}


def restored_content(content: str | list[dict[str, Any]], shape: Mapping[str, Any]) -> Any:
    """LangChain's content again; a copy, since chains write into what they are given."""
    if "blank" in shape and len(content) == 1:
        return deepcopy(shape["blank"])
    if isinstance(content, str):
        return content
    bare = shape.get("bare", ())
    return [block["text"] if row - len(content) in bare else deepcopy(block) for row, block in enumerate(content)]
