"""A model answers probes from what a method left of the conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_memory.log.message import Message, Role
from hybrid_memory.models.port import LanguageModel
from hybrid_memory.text.tokenize import cjk_share

_ENGLISH = "Answer from the conversation above, briefly and exactly. If it does not tell, say that you don't know."
_CHINESE = "只根据上面的对话回答，简短而准确。如果对话里没有，就说不知道。"


def answered(model: LanguageModel, prompt: Sequence[Mapping[str, Any]], question: str) -> str:
    """What the model makes of the prompt, whose last message ends with the question.

    Raises:
        ModelError: it failed, or answered nothing.
    """
    said = [_spoken(message) for message in prompt]
    wanted = _CHINESE if cjk_share(question) > 0.5 else _ENGLISH  # noqa: PLR2004 - the larger part
    last = said[-1].model_copy(update={"content": f"{said[-1].text}\n\n{wanted}"})
    return model.complete([*said[:-1], last])


def _spoken(message: Mapping[str, Any]) -> Message:
    """The message as text: calls are told, and results are the user's, so that any model takes them."""
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
    calls = [f"{call['function']['name']}({call['function']['arguments']})" for call in message.get("tool_calls") or ()]
    role = Role.USER if message["role"] == "tool" else Role(message["role"])
    return Message(role=role, content="\n".join(part for part in (text, *calls) if part) or "-")
