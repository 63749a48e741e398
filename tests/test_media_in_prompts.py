"""Images, sounds and files in prompts: shown while they matter, then a line with a handle that shows them again."""

import json
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.base.llms.types import ChatMessage, DocumentBlock, ImageBlock, TextBlock

from hybrid_memory import HybridMemory, ScopedMemory
from hybrid_memory.log.media import digest_media
from hybrid_memory.tools import FETCH
from langchain_hybrid_memory import HybridMemoryMiddleware
from llamaindex_hybrid_memory import HybridChatMemory
from tests.faces import Open
from tests.langchain.conftest import THREAD, ScriptedChat

BIG = 60_000
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (1024).to_bytes(4) + (768).to_bytes(4)
JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xc0\0\x11\x08\1\xe0\2\x80"
GIF = b"GIF89a\x0a\0\x14\0"

Block = dict[str, Any]


def coded(mark: str = "", size: int = BIG, head: bytes = PNG) -> str:
    return b64encode((head + mark.encode()).ljust(size, b"\xa5")).decode()


def image(mark: str = "", size: int = BIG, **more: Any) -> Block:
    return {"type": "image", "base64": coded(mark, size), "mime_type": "image/png", **more}


def words(text: str) -> Block:
    return {"type": "text", "text": text}


def say(text: str, *blocks: Block) -> dict[str, Any]:
    return {"role": "user", "content": [words(text), *blocks]}


def answer(text: str = "I see.") -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def tool_round(*blocks: Block, call: str = "c") -> list[dict[str, Any]]:
    asked = {"role": "assistant", "tool_calls": [{"id": call, "name": "draw", "arguments": {}}]}
    return [asked, {"role": "tool", "tool_call_id": call, "name": "draw", "content": list(blocks)}]


def prompt(alice: ScopedMemory, query: str | None = None, **more: Any) -> str:
    return json.dumps(alice.assemble(query, reader="memory_fetch", **more).as_dicts(), ensure_ascii=False)


@pytest.fixture
def opened(opened: Open) -> Open:
    return partial(opened, url="memory://", embedder="none")


MP4 = coded(head=b"\0\0\0\x18ftypmp42")
DATA = {
    "image": image(),
    "image_url": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{coded()}"}},
    "audio": {"type": "input_audio", "input_audio": {"data": coded(head=b"RIFF"), "format": "wav"}},
    "video": {"type": "video", "base64": MP4, "mime_type": "video/mp4"},
    "pdf": {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{coded()}", "filename": "合同.pdf"}},
    "link": {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
}


@pytest.mark.parametrize("kind", DATA)
def test_a_users_medium_is_shown_until_answered_and_for_one_turn_more(alice: ScopedMemory, kind: str) -> None:
    block = json.dumps(DATA[kind], ensure_ascii=False)
    alice.remember(say("What is this?", DATA[kind]))
    assert block in prompt(alice)
    alice.remember([*tool_round(words("12 °C")), *tool_round(words("13 °C"), call="d")])
    assert block in prompt(alice)
    alice.remember([answer(), say("And that?")])
    assert block in prompt(alice)
    alice.remember(answer())
    assert block in prompt(alice)
    for shown in (prompt(alice, "So?"), prompt(alice, "So?", max_tokens=300)):
        assert block not in shown
        assert len(shown) < 2_000
    assert 'memory_fetch(\\"#1\\") shows it again' in prompt(alice, "So?")
    assert alice.history()[0].content[1] == DATA[kind], "the log keeps it"
    assert block in json.dumps(alice.assemble("So?").as_dicts(), ensure_ascii=False), "no tool could show it again"


@pytest.mark.parametrize("made", [
    tool_round(image("a"), image("b"), DATA["pdf"]),
    [{"role": "assistant", "content": [image("a"), {"type": "image_generation_call", "result": coded("b")}]}],
], ids=["tool", "model"])  # fmt: skip
def test_what_was_made_is_shown_once(alice: ScopedMemory, made: list[dict[str, Any]]) -> None:
    alice.remember([say("Draw two cats."), *made])
    shown = prompt(alice, None if made[-1]["role"] == "tool" else "Which is nicer?")
    assert shown.count(coded("a")) == shown.count(coded("b")) == 1
    alice.remember([answer("The left one."), say("Why?")])
    shown = prompt(alice)
    assert coded("a") not in shown
    assert coded("b") not in shown
    place = len(made) + 1
    for number in (1, 2):
        line = f'[image/png, 60 kB — memory_fetch(\\"#{place}\\", \\"media {number}\\") shows it again]'
        assert line in shown


@pytest.mark.parametrize(("block", "line"), [
    (image(filename="假期.png"), "[image/png 假期.png, 60 kB]"),
    ({"type": "image", "base64": coded(head=JPEG, size=2_500_000)}, "[image/jpeg, 2.5 MB]"),
    ({"type": "image", "base64": coded(head=GIF, size=999)}, "[image/gif, 999 bytes]"),
    ({"type": "image", "base64": "红"}, "[image, 0 bytes]"),
    ({"type": "image_generation_call", "result": coded(), "revised_prompt": "A cat"},
     "[image/png, 60 kB: A cat]"),
    ({"type": "image", "url": "https://example.org/a.png"}, "[image, https://example.org/a.png]"),
])  # fmt: skip
def test_the_line_says_what_is_known(block: Block, line: str) -> None:
    assert digest_media(block) == line


def test_a_line_is_in_the_language_of_its_message(alice: ScopedMemory) -> None:
    alice.remember([say("这是什么？", image(filename="假期.png")), answer("一只猫。"), say("颜色呢？"), answer("红。")])
    line = '<media>[image/png 假期.png, 60 kB — 用 memory_fetch(\\"#1\\") 可再次查看]</media>'
    assert line in prompt(alice, "还有呢？")
    context = alice.assemble("还有呢？", reader="memory_fetch")
    assert next(piece for piece in context.plan if piece.handle == "#1").reason == "whole, but for media behind handles"


@pytest.mark.parametrize("max_tokens", [60, 300, 2_000])
def test_images_of_the_question_stay_in_any_budget(alice: ScopedMemory, max_tokens: int) -> None:
    alice.remember([say("Hello " * 90), answer(), say("Which?", image("a"), image("b"))])
    for steps in ([], tool_round(words("leaf " * 300)), tool_round(words("stem"), call="d")):
        alice.remember(steps)
        shown = prompt(alice, max_tokens=max_tokens)
        assert coded("a") in shown
        assert coded("b") in shown


def test_the_reader_shows_media_again(alice: ScopedMemory) -> None:
    alice.remember([say("This?", image("a", filename="a.png")), *tool_round(image("b"), DATA["audio"]), answer()])
    alice.remember(say("Only words."))
    stored = alice.offload("A long text.").result_id
    one = FETCH.run(alice, {"handle": "#1"})
    assert one.media == (image("a", filename="a.png"),)
    assert one.text.endswith("user: This?\n[image/png a.png, 60 kB — media 1]")
    two = FETCH.run(alice, {"handle": "#3", "where": "media 2"})
    assert two.media == ({"type": "audio", "base64": coded(head=b"RIFF"), "mime_type": "audio/wav"},)
    assert two.text == "#3 media 2: [audio/wav, 60 kB]"
    several = FETCH.run(alice, {"handle": "#1-5"})
    assert several.media == ()
    assert "media 1]" in several.text
    assert "media 3]" in several.text
    assert FETCH.run(alice, {"handle": "#1-5", "where": "media 2"}).media == (image("b"),)
    wrong = FETCH.run(alice, {"handle": "#3", "where": "media 3"})
    assert (wrong.failed, wrong.text) == (True, "Error: #3 has 2 media: there is no media 3")
    for handle in ("#5", stored):
        assert FETCH.run(alice, {"handle": handle}).media == ()
    assert FETCH.run(alice, {"handle": "#1", "pattern": "This"}).media == ()


def call(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"{name}-{sorted(arguments.items())}"}])


def test_a_model_that_takes_no_image_of_a_tool_reads_what_it_is(opened: Open) -> None:
    answers = ["A cat.", "Grey.", call("memory_fetch", handle="#1"), "Yes."]
    model = ScriptedChat(answers=answers, profile={"image_tool_message": False})
    agent = create_agent(model, [], middleware=[HybridMemoryMiddleware(opened())], checkpointer=InMemorySaver())
    for said in (HumanMessage([words("What is this?"), image()]), HumanMessage("Colour?"), HumanMessage("Sure?")):
        agent.invoke({"messages": [said]}, THREAD)
    assert "[image/png, 60 kB — media 1]" in str(model.prompts[3][-1].content)
    assert coded() not in str(model.prompts[3])


def test_a_memory_of_llamaindex_forgets_no_file(opened: Open, tmp_path: Path) -> None:
    file = tmp_path / "假期.png"
    file.write_bytes(PNG)
    pdf = DocumentBlock(data=coded().encode(), document_mimetype="application/pdf", title="lease.pdf")
    chat = HybridChatMemory.from_defaults(memory=opened(), user="alice", session="s")
    fetch: Any = chat.tools()[0]
    chat.put(ChatMessage(role="user", blocks=[TextBlock(text="These?"), ImageBlock(path=file), pdf]))
    shown = []
    for _ in range(3):
        shown.append([type(block) for block in chat.get()[0].blocks])
        chat.put_messages([ChatMessage(role="assistant", content="Yes."), ChatMessage(role="user", content="And?")])
    assert shown == [[TextBlock, ImageBlock, DocumentBlock]] * 2 + [[TextBlock] * 3]
    assert "lease.pdf, 60 kB" in str(chat.get()[0].content)
    text, again = fetch(handle="#1", where="media 2").blocks
    assert text.text.startswith("#1 media 2: [application/pdf lease.pdf, 60 kB")
    assert (again.data, again.document_mimetype) == (pdf.data, "application/pdf")
    assert fetch(handle="#1", where="media 1").blocks[1].path == file


def core_requests(memory: HybridMemory) -> list[int]:
    alice, sizes = memory.scoped(user="alice", session="s"), list[int]()
    for number in range(TURNS):
        alice.remember(say("Draw a cat."))
        sizes.append(len(prompt(alice)))
        alice.remember(tool_round(image(str(number)), call=str(number)))
        sizes.append(len(prompt(alice)))
        alice.remember(answer())
    return sizes


def langchain_requests(memory: HybridMemory) -> list[int]:
    @tool
    def draw(number: int) -> Any:
        """Draw a cat."""
        return [image(str(number))]

    model = ScriptedChat(answers=[said for number in range(TURNS) for said in (call("draw", number=number), "Done.")])
    agent = create_agent(model, [draw], middleware=[HybridMemoryMiddleware(memory)], checkpointer=InMemorySaver())
    for _ in range(TURNS):
        agent.invoke({"messages": [HumanMessage("Draw a cat.")]}, THREAD)
    return [len(json.dumps([message.content for message in messages])) for messages in model.prompts]


def llamaindex_requests(memory: HybridMemory) -> list[int]:
    chat, sizes = HybridChatMemory.from_defaults(memory=memory, user="alice", session="s"), list[int]()
    for number in range(TURNS):
        chat.put(ChatMessage(role="user", content="Draw a cat."))
        sizes.append(sum(len(message.model_dump_json()) for message in chat.get()))
        drawn = ImageBlock(image=coded(str(number)).encode(), image_mimetype="image/png")
        chat.put(ChatMessage(role="assistant", blocks=[drawn]))
        sizes.append(sum(len(message.model_dump_json()) for message in chat.get("A dog, too?")))
        chat.put_messages([ChatMessage(content="A dog, too?"), ChatMessage(role="assistant", content="Done.")])
    return sizes


TURNS = 8


@pytest.mark.parametrize("requests", [core_requests, langchain_requests, llamaindex_requests])
def test_a_request_has_the_newest_picture_alone(opened: Open, requests: Callable[[HybridMemory], list[int]]) -> None:
    sizes = requests(opened())
    assert len(sizes) == 2 * TURNS
    assert max(sizes[::2]) < 10_000
    assert len(coded()) < min(sizes[1::2]) <= max(sizes[1::2]) < len(coded()) + 10_000
