import base64
import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import (
    AudioBlock,
    CacheControl,
    CachePoint,
    ChatMessage,
    CitableBlock,
    CitationBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    VideoBlock,
)
from llama_index.core.llms.llm import ToolSelection

from hybrid_memory import Message, Role, ToolCall
from hybrid_memory.errors import InvalidMessageError
from llamaindex_hybrid_memory import from_chat_message, to_chat_message
from tests.world import cases

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
names = st.text("abcdefgh_-", min_size=1, max_size=10)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(texts, json_values, max_size=3)
urls = st.sampled_from(["https://example.org/a.png", "https://example.org", "data:image/png;base64,aGk="])
text_blocks = st.builds(TextBlock, text=texts)
image_blocks = st.builds(
    ImageBlock, image=st.none() | st.binary(max_size=20) | st.just(PNG), url=st.none() | urls, detail=st.none() | texts
)
blocks = st.one_of(
    text_blocks,
    image_blocks,
    st.builds(AudioBlock, audio=st.none() | st.binary(max_size=20), format=st.none() | st.sampled_from(["mp3", "wav"])),
    st.builds(VideoBlock, video=st.none() | st.binary(max_size=20), url=st.none() | urls, fps=st.none() | st.just(3)),
    st.builds(DocumentBlock, data=st.none() | st.binary(max_size=20), path=st.none() | names, title=st.none() | texts),
    st.builds(
        ThinkingBlock, content=st.none() | texts, num_tokens=st.none() | st.just(0), additional_information=objects
    ),
    st.builds(ToolCallBlock, tool_call_id=st.none() | texts, tool_name=texts, tool_kwargs=objects | texts),
    st.builds(CachePoint, cache_control=st.builds(CacheControl, type=texts, ttl=texts)),
    st.builds(CitableBlock, title=texts, source=texts, content=st.lists(text_blocks | image_blocks, max_size=2)),
    st.builds(
        CitationBlock,
        cited_content=text_blocks | image_blocks,
        source=texts,
        title=texts,
        additional_location_info=st.dictionaries(texts, st.integers(0, 9), max_size=2),
    ),
)
openai_calls = st.builds(
    lambda call_id, name, arguments: {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    },
    names,
    names,
    objects,
)
kwargs = st.fixed_dictionaries(
    {},
    optional={
        "tool_calls": st.lists(openai_calls, max_size=2) | json_values,
        "tool_call_id": texts,
        "name": texts | json_values,
        "function_call": json_values,
        "else": json_values,
    },
)
chats = st.builds(
    ChatMessage, role=st.sampled_from(MessageRole), blocks=st.lists(blocks, max_size=4), additional_kwargs=kwargs
)
contents = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text}, texts),
        st.builds(
            lambda kind, rest: {**rest, "type": kind}, texts | st.sampled_from(["image", "file", "thinking"]), objects
        ),
        objects,
    ),
    min_size=1,
    max_size=3,
)


def through_the_log(message: Message) -> Message:
    return Message(**json.loads(message.model_dump_json(exclude_defaults=True)))


@given(chats)
def test_what_llama_index_made_comes_back_equal(chat: ChatMessage) -> None:
    before = chat.model_copy(deep=True)

    back = to_chat_message(through_the_log(from_chat_message(chat)))

    assert back == chat
    assert chat == before


@given(st.sampled_from(Role), contents, st.lists(openai_calls, max_size=2), st.none() | names)
def test_a_message_of_another_framework_becomes_a_valid_one(
    role: Role, content: list[dict[str, Any]], calls: list[dict[str, Any]], tool_call_id: str | None
) -> None:
    message = Message(
        role=role,
        content=content,
        tool_calls=[ToolCall.model_validate(call) for call in calls] if role is Role.ASSISTANT else [],
        tool_call_id=tool_call_id,
        extra={"langchain": {"response_metadata": {"model": "m"}}},
    )

    chat = to_chat_message(message)

    assert ChatMessage.model_validate(chat.model_dump()) == chat
    assert chat.role.value == role.value
    shown = "\n".join(block.text for block in chat.blocks if isinstance(block, TextBlock))
    assert all(block["text"] in shown for block in content if block.get("type") == "text")
    assert [block.tool_name for block in chat.blocks if isinstance(block, ToolCallBlock)] == [
        call.name for call in message.tool_calls
    ]
    assert to_chat_message(from_chat_message(chat)) == chat


CALL = {"id": "c1", "name": "weather", "arguments": {"city": "Bern"}}


def listed(call: Any) -> dict[str, Any]:
    return {"additional_kwargs": {"tool_calls": [call]}}


@pytest.mark.parametrize(
    "fields",
    [
        {"blocks": [ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"city": "Bern"})]},
        {"blocks": [ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs='{"city": "Bern"}')]},
        listed({"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}}),
        listed({"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bern"}}),
        listed(ToolSelection(tool_id="c1", tool_name="weather", tool_kwargs={"city": "Bern"})),
    ],
    ids=["block", "block with text", "openai", "anthropic", "selection"],
)
def test_a_tool_call_is_seen_wherever_it_stands(fields: dict[str, Any]) -> None:
    chat = ChatMessage(role="assistant", **fields)
    message = from_chat_message(chat)

    assert [call.model_dump() for call in message.tool_calls] == [CALL]
    assert to_chat_message(message).model_dump() == chat.model_dump()


def test_a_stream_is_read_and_keeps_its_bytes() -> None:
    chat = ChatMessage(blocks=[ImageBlock(image=BytesIO(PNG), image_mimetype="image/png")])

    (block,) = to_chat_message(from_chat_message(chat)).blocks

    assert isinstance(block, ImageBlock)
    assert block.resolve_image().read() == PNG


@pytest.mark.parametrize("value", [object(), float("nan"), "\ud800"], ids=["object", "nan", "surrogate"])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(InvalidMessageError):
        from_chat_message(ChatMessage(content="hm", additional_kwargs={"value": value}))
    with pytest.raises(InvalidMessageError):
        from_chat_message(ChatMessage(blocks=[ToolCallBlock(tool_name="weather", tool_kwargs={"value": value})]))


def test_what_a_prompt_shows_as_the_users_is_the_users() -> None:
    said = from_chat_message(ChatMessage(role="developer", content="Be kind."))
    shown = to_chat_message(said.model_copy(update={"role": Role.USER, "content": "Rule: be kind."}))
    assert shown == ChatMessage(role="user", content="Rule: be kind.")


@pytest.mark.parametrize(("content", "kind", "field", "value"), cases("llamaindex/messages.json", "content"))
def test_content_of_other_frameworks(content: dict[str, Any], kind: str, field: str, value: object) -> None:
    (block,) = to_chat_message(Message(content=[content])).blocks
    held = getattr(block, field)
    assert block.block_type == kind
    assert (held.decode() if isinstance(held, bytes) else held) == value
