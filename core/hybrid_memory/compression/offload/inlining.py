"""How a message of the log stands in a prompt: cleaned, its big payloads as digests, its media by handle."""

from __future__ import annotations

import json
from typing import Any

from hybrid_memory.compression.offload.digest import digest
from hybrid_memory.compression.offload.media import digest_media, is_media
from hybrid_memory.config import CleaningLevel
from hybrid_memory.ports import TokenCounter
from hybrid_memory.text.cleaning import clean
from hybrid_memory.types import Message, Role, ToolCall

MAX_TOKENS_PER_CHAR = 4
"""A character has at most four bytes in UTF-8, and tokenizers go no further down: short texts need not be counted."""


def inlined(
    message: Message, *, result_id: str, max_tokens: int, count: TokenCounter, cleaning: CleaningLevel = "light"
) -> Message:
    """The message as a later prompt shows it: each text of at most ``max_tokens``, media as one line.

    Without a change it is the same object.
    """

    def short(text: str) -> str:
        if MAX_TOKENS_PER_CHAR * len(text) > max_tokens and count(text) > max_tokens:
            # Of the text as it stands in the log, because lines and characters are fetched from there.
            return digest(text, result_id=result_id, max_tokens=max_tokens, count=count)
        return clean(text, cleaning) if message.role in (Role.USER, Role.ASSISTANT) else text

    changes: dict[str, Any] = {}
    if isinstance(message.content, str):
        content: str | list[dict[str, Any]] = short(message.content)
    else:
        content = [_block(block, short, result_id) for block in message.content]
    if content != message.content:
        changes["content"] = content
    calls = [_call(call, result_id, max_tokens, count) for call in message.tool_calls]
    if calls != message.tool_calls:
        changes["tool_calls"] = calls
    return message.model_copy(update=changes) if changes else message


def _block(block: dict[str, Any], short: Any, result_id: str) -> dict[str, Any]:
    if is_media(block):
        return {"type": "text", "text": digest_media(block, result_id=result_id)}
    if isinstance(block.get("text"), str):
        return {**block, "text": short(block["text"])}
    return block


def _call(call: ToolCall, result_id: str, max_tokens: int, count: TokenCounter) -> ToolCall:
    """A call whose long arguments are digests; what is not an object stays one, because providers insist."""
    if MAX_TOKENS_PER_CHAR * len(call.written_arguments) <= max_tokens or count(call.written_arguments) <= max_tokens:
        return call
    if isinstance(call.arguments, str):
        shortened: dict[str, Any] | str = {
            "digest": digest(call.arguments, result_id=result_id, max_tokens=max_tokens, count=count)
        }
    else:
        share = max(20, max_tokens // max(1, len(call.arguments)))
        shortened = {key: _value(value, result_id, share, count) for key, value in call.arguments.items()}
    return call.model_copy(update={"arguments": shortened})


def _value(value: Any, result_id: str, max_tokens: int, count: TokenCounter) -> Any:
    """An argument, or the digest of its text or JSON if it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if count(text) <= max_tokens:
        return value
    return digest(text, result_id=result_id, max_tokens=max_tokens, count=count)
