"""What a model may write, and what is made of it."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybrid_memory import Message, Role, ToolCall
from hybrid_memory.text.structured import cut_off
from hybrid_memory_paging.functions import HEARTBEAT, THOUGHTS
from hybrid_memory_paging.instructions import rendered
from hybrid_memory_paging.reading import read
from tests.world import cases

SEARCH: dict[str, Any] = {"name": "conversation_search", "arguments": {"query": "boat", "page": 1}}
APPEND: dict[str, Any] = {"name": "core_memory_append", "arguments": {"label": "human", "content": "Name: Ada"}}


def canonical(wanted: dict[str, Any], **beside: Any) -> str:
    return json.dumps({"function": wanted["name"], "arguments": wanted["arguments"], **beside}, ensure_ascii=False)


def as_openai(wanted: dict[str, Any]) -> dict[str, Any]:
    written = json.dumps(wanted["arguments"])
    return {"id": "x1", "type": "function", "function": {"name": wanted["name"], "arguments": written}}


def found(text: str) -> list[dict[str, Any]]:
    """The calls, without what is said beside the arguments."""
    plain = []
    for call in read(text, functions=[SEARCH["name"], APPEND["name"]]).calls:
        assert isinstance(call.arguments, dict)
        own = {name: value for name, value in call.arguments.items() if name not in (THOUGHTS, HEARTBEAT)}
        plain.append({"name": call.name, "arguments": own})
    return plain


ONE = {
    "canonical": canonical(SEARCH, thoughts="so", request_heartbeat=True),
    "name for function": json.dumps(SEARCH),
    "OpenAI": json.dumps(as_openai(SEARCH)),
    "tool_calls": json.dumps({"role": "assistant", "content": None, "tool_calls": [as_openai(SEARCH)]}),
    "calls": json.dumps({"calls": [SEARCH]}),
    "a list": json.dumps([SEARCH]),
    "arguments as text": json.dumps({"function": SEARCH["name"], "arguments": json.dumps(SEARCH["arguments"])}),
    "arguments beside the name": json.dumps({"function": SEARCH["name"], **SEARCH["arguments"]}),
    "fenced": f"```json\n{canonical(SEARCH)}\n```",
    "after words": f"I will look that up.\n{canonical(SEARCH)}",
    "before words": f"{canonical(SEARCH)}\n\nI hope this helps.",
    "after thoughts": f'<think>Perhaps {{"function": "other", "arguments": {{}}}}?</think>\n{canonical(SEARCH)}',
    "a trailing comma": '{"function": "conversation_search", "arguments": {"query": "boat", "page": 1,},}',
    "single quotes": "{'function': 'conversation_search', 'arguments': {'query': 'boat', 'page': 1}}",
}


SEVERAL = {
    "one a line": f"{canonical(APPEND)}\n{canonical(SEARCH)}",
    "a list": json.dumps([APPEND, SEARCH]),
    "tool_calls": json.dumps({"tool_calls": [as_openai(APPEND), as_openai(SEARCH)]}),
    "one fence each": f"```json\n{canonical(APPEND)}\n```\nthen\n```json\n{canonical(SEARCH)}\n```",
}


@pytest.mark.parametrize("text", [*ONE.values(), *SEVERAL.values()], ids=[*ONE, *(f"two: {form}" for form in SEVERAL)])
def test_each_form_of_one_call_or_several_is_read(text: str) -> None:
    assert found(text) == ([SEARCH] if text in ONE.values() else [APPEND, SEARCH])
    assert read(text, functions=[SEARCH["name"], APPEND["name"]]).replies == ()


@pytest.mark.parametrize("written", [True, "true", "TRUE", "yes", 1])
@pytest.mark.parametrize("where", ["beside", "inside", "openai"])
def test_a_heartbeat_is_heard_wherever_it_stands(written: Any, where: str) -> None:
    inside = {"name": SEARCH["name"], "arguments": {**SEARCH["arguments"], HEARTBEAT: written}}
    forms = {"beside": canonical(SEARCH, **{HEARTBEAT: written}), "inside": json.dumps(inside)}
    forms["openai"] = json.dumps({**as_openai(SEARCH), HEARTBEAT: written})
    assert read(forms[where]).goes_on
    assert found(forms[where]) == [SEARCH]


@pytest.mark.parametrize(("text", "replies"), cases("paging/reading.json", "replies"))
def test_words_for_the_user_are_replies(text: str, replies: list[str]) -> None:
    assert (read(text).replies, read(text).calls) == (tuple(replies), ())


WHOLE = canonical(APPEND, thoughts="so", request_heartbeat=True)
CUT = {
    "in a value": WHOLE[: WHOLE.index("Ada")],
    "in the name": WHOLE[: WHOLE.index("core_memory_append") + 7],
    "in the first key": '{"func',
    "in a key": '{"function": "core_memory_append", "argu',
    "in a fence": f"```json\n{WHOLE[:-1]}\n```",
    "in a fence with words around": f"I note that.\n```json\n{WHOLE[:-1]}\n```\nDone.",
    "after words": f"I note that.\n{WHOLE[:-2]}",
    "in single quotes": "{'function': 'core_memory_append', 'arguments': {'label': 'human', 'content': 'Name",
    "name for function": '{"name": "core_memory_append", "arguments": {"label": "human", "content": "Name',
    "OpenAI": json.dumps(as_openai(APPEND))[:-20],
    "OpenAI, in the arguments": json.dumps(
        {"function": {"name": APPEND["name"], "arguments": '{"label": "human", "content": "Name'}}
    ),
    "arguments as text": json.dumps({"function": APPEND["name"], "arguments": '{"label": "human", "content": "N"'}),
    "arguments first": '{"arguments": {"label": "human", "content": "Name: Ada"}, "function": "core_memory_app',
    "a message": '{"message": "You live in',
    "a message to send": '{"function": "send_message", "arguments": {"message": "You live in',
    "a quote not escaped": '{"function": "core_memory_append", "arguments": {"label": "a", "content": "6" tall"}}',
    "after thoughts": f"<think>I note that.</think>\n{WHOLE[:-2]}",
}


@pytest.mark.parametrize("where", CUT)
def test_a_call_that_was_cut_off_is_kept_as_text_and_never_said(where: str) -> None:
    answer = read(CUT[where], functions=[APPEND["name"], "send_message"])
    assert answer.replies == ()
    (call,) = answer.calls
    assert isinstance(call.arguments, str)
    assert cut_off(call.arguments)


PACKAGE = '{"name": "my-app", "version": "1.0", "scripts": {"test": "vitest"}}'


@pytest.mark.parametrize(
    "text",
    [
        f"Your package.json:\n```json\n{PACKAGE}\n```\nRun npm install.",
        f"你的 package.json：\n```json\n{PACKAGE}\n```\n然后运行 npm install。", PACKAGE,
        f"It begins like this:\n```json\n{PACKAGE[:-20]}\n```",
        'The server answers:\n```json\n{"message": "Not found", "status": 404}\n```',
        'The server answers:\n```json\n{"message": "Not found"}\n```',
        'A call looks like this:\n```json\n{"function": "weather", "arguments": {"city": "Rome"}}\n```\nTry it.',
        'With OpenAI:\n```json\n{"name": "weather", "parameters": {"city"\n```\nand so on.',
        "Storybook:\n```js\nexport const Primary = {name: 'Primary', args: {label: 'Go'}};\n```\nThat is all.",
        "In set notation, {x: x > 0} and { y : y < 0 } have nothing in common.",
        "A dict like {'a': 1} or an f-string {name: >10} is fine.", "The function {", "用 {名字: 值} 表示。",
    ],
)  # fmt: skip
def test_braces_that_are_no_call_stay_a_reply(text: str) -> None:
    answer = read(text, functions=["send_message", "core_memory_append"])
    assert (answer.replies, answer.calls) == ((text,), ())


NAMES = st.sampled_from(["core_memory_append", "weather", "f_1"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.text(max_size=12)
    | st.sampled_from(["“", "{", "</think>"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.text(min_size=1, max_size=8) | st.sampled_from(
    ["message", "function", "name", "arguments", "calls", THOUGHTS]
)
CALLS = st.builds(ToolCall, name=NAMES, arguments=st.dictionaries(KEYS, VALUES, max_size=4))


@given(st.lists(CALLS, min_size=1, max_size=4), st.text(max_size=30))
@settings(max_examples=20)
def test_what_the_conversation_shows_of_calls_is_read_as_the_same_calls(calls: list[ToolCall], said: str) -> None:
    (message,) = rendered([Message(role=Role.ASSISTANT, content=said, tool_calls=calls)])
    answer = read(message.text)
    assert list(answer.calls) == calls
    assert answer.replies == ((said.strip(),) if said.strip() else ())


BROKEN = st.sampled_from(
    ['{"function": "f", "arguments": ', '"message": "a"', "}", "]", "[" * 40, '{"a":' * 40, "\\ud83d", '"\\ud83d"',
     "<think>", "</think>", "```json\n", "\n```\n", "1e999", "NaN", '{"tool_calls": [', '{"name": "x\\u0000y"}', "，",
     '{"function": {"name": ']
)  # fmt: skip


@given(st.lists(BROKEN | st.text(max_size=10), max_size=8).map("".join))
@example("[" * 5000)
@example('{"function": "f", "arguments": {"a": ' + "[" * 5000 + "]" * 5000 + "}}")
@example('{"function": "f", "arguments": {"a": ' + "[" * 600 + "]" * 600 + "}}")
@example('{"function": "f", "arguments": {"a": 1e999}}')
@example('{"function": "send_message", "arguments": {"message": "cut \\ud83d"}}')
@example('{"function": "' + "n" * 5000 + '", "arguments": {}}')
@example('{"function": "a\\u0000b", "arguments": {"c\\ud83d": "\\udc00"}}')
@settings(max_examples=40)
def test_any_text_is_read_and_can_be_stored(text: str) -> None:
    answer = read(text)
    for call in answer.calls:
        stored = Message(role=Role.ASSISTANT, tool_calls=[call.model_copy(update={"id": "c"})])
        stored.model_dump(mode="json")
        Message(role=Role.TOOL, name=call.name, tool_call_id="c")
    for reply in answer.replies:
        reply.encode()
