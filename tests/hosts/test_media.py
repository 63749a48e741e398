"""A picture in hosts that make their requests themselves: sent while it matters, then a line; the log keeps it."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner
from openai.types.responses.response_output_item import ImageGenerationCall
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import BinaryContent, BinaryImage, FilePart, ImageUrl, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models.function import FunctionModel

from hybrid_memory import HybridMemory, MemoryConfig, open_memory
from hybrid_memory.config import PromptConfig
from hybrid_memory.log.media import media_blocks
from hybrid_memory_hosts.google_adk import MediaLines
from hybrid_memory_hosts.openai_agents import HybridSession, MemoryInput
from hybrid_memory_hosts.pydantic_ai import HybridMemoryCapability, HybridMessageHistory
from hybrid_memory_hosts.pydantic_messages import to_model_messages
from tests.hosts.test_google_adk import Scripted as AdkScripted
from tests.hosts.test_google_adk import content, runner
from tests.hosts.test_openai_agents import Scripted
from tests.hosts.test_pydantic_ai import Scripted as PydanticScripted

PNG = (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (1024).to_bytes(4) + (768).to_bytes(4)).ljust(60_000, b"\xa5")
DATA = b64encode(PNG).decode()
LINE = "[image/png, 60 kB]"
QUESTIONS = ["What is this?", "And that?", "So?", "Why?"]

Asks = Callable[[HybridMemory], Awaitable[list[str]]]
"""Asks the questions, the first with the picture; returns the requests as JSON."""


async def with_openai(memory: HybridMemory) -> list[str]:
    alice = memory.scoped(user="alice", session="s1")
    model = Scripted(*["I see."] * 4)
    agent, shown = Agent(name="helper", model=model), RunConfig(call_model_input_filter=MemoryInput(alice))
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}", "detail": "auto"}
    for question in QUESTIONS:
        asked: list[Any] = [{"type": "input_text", "text": question}, *([picture] if question == QUESTIONS[0] else [])]
        said: Any = [{"role": "user", "content": asked}]
        await Runner.run(agent, said, session=HybridSession(alice), run_config=shown)
    held: Any = (await HybridSession(alice).get_items())[0]
    assert held["content"][1] == picture
    return [json.dumps(items) for items in model.inputs]


async def with_pydantic(memory: HybridMemory) -> list[str]:
    history = HybridMessageHistory(memory.scoped(user="alice", session="s1"))
    model = PydanticScripted(*["I see."] * 4)
    agent = PydanticAgent(FunctionModel(model), capabilities=[HybridMemoryCapability(history.memory)])
    picture = BinaryImage(PNG, media_type="image/png")
    for question in QUESTIONS:
        asked: Any = [question, picture] if question == QUESTIONS[0] else question
        result = await agent.run(asked, message_history=await history.amessages())
        assert await history.amessages() == ModelMessagesTypeAdapter.validate_json(result.all_messages_json())
    return [ModelMessagesTypeAdapter.dump_json(list(messages)).decode() for messages in model.sent]


async def with_adk(memory: HybridMemory) -> list[str]:
    model = AdkScripted(answers=["I see."] * 4)
    run = runner(memory, model, before_model_callback=MediaLines(memory))
    await run.session_service.create_session(app_name="app", user_id="alice", session_id="s1")
    for question in QUESTIONS:
        picture = [{"inline_data": {"data": PNG, "mime_type": "image/png"}}] if question == QUESTIONS[0] else []
        asked = content("user", {"text": question}, *picture)
        async for _ in run.run_async(user_id="alice", session_id="s1", new_message=asked):
            pass
    session = await run.session_service.get_session(app_name="app", user_id="alice", session_id="s1")
    assert session is not None
    assert session.events[0].content == content("user", {"text": QUESTIONS[0]}, *[
        {"inline_data": {"data": PNG, "mime_type": "image/png"}}
    ])  # fmt: skip
    requests = [json.dumps([one.model_dump(mode="json") for one in sent.contents]) for sent in model.sent]
    return [request.replace(urlsafe_b64encode(PNG).decode(), DATA) for request in requests]


@pytest.mark.parametrize("ask", [with_openai, with_pydantic, with_adk])
@pytest.mark.parametrize(("turns", "sent"), [(1, [True, True, False, False]), (None, [True] * 4)])
async def test_a_users_picture(ask: Asks, turns: int | None, sent: list[bool]) -> None:
    config = MemoryConfig(url="memory://", embedder="none", prompt=PromptConfig(media_turns=turns))
    with open_memory(config) as memory:
        requests = await ask(memory)
        log = memory.scoped(user="alice", agent="app" if ask is with_adk else None, session="s1").history()
    assert [DATA in request for request in requests] == sent
    assert [LINE in request for request in requests] == [not shown for shown in sent]
    assert any(media_blocks(message.content) for message in log), "other hosts see a picture too"


async def test_what_the_model_made_is_sent_once_more() -> None:
    with open_memory("memory://", embedder="none") as memory:
        alice = memory.scoped(user="alice", session="s1")
        made = ImageGenerationCall(id="g", result=DATA, status="completed", type="image_generation_call")
        model = Scripted("Here.", made, "There.", "Thanks.", "Bye.")
        shown = RunConfig(call_model_input_filter=MemoryInput(alice))
        agent = Agent(name="helper", model=model)
        for question in QUESTIONS:
            await Runner.run(agent, question, session=HybridSession(alice), run_config=shown)
        session = await HybridSession(alice).get_items()
        history = HybridMessageHistory(memory.scoped(user="alice", session="s2"))
        files = [FilePart(BinaryImage(PNG, media_type="image/png"))]
        talker = PydanticScripted("Nice.", "Bye.")
        drawer = PydanticAgent(FunctionModel(talker), capabilities=[HybridMemoryCapability(history.memory)])
        history.add([ModelResponse(parts=files)])
        for question in QUESTIONS[:2]:
            await drawer.run(question, message_history=history.messages())
        [held] = history.messages()[0].parts
        assert isinstance(held, FilePart)
        assert held.content.data == PNG
        asked = [ModelMessagesTypeAdapter.dump_json(list(messages)).decode() for messages in talker.sent]

    assert [DATA in json.dumps(items) for items in model.inputs] == [False, False, True, False, False]
    assert {"role": "assistant", "content": LINE} in model.inputs[-1]
    assert DATA in json.dumps(session), "the session keeps it"
    assert [DATA in request for request in asked] == [True, False]
    assert LINE in asked[-1]


def test_links_come_back_as_they_were(memory: HybridMemory) -> None:
    history = HybridMessageHistory(memory.scoped(user="alice", session="s1"))
    link: list[Any] = ["What is this?", ImageUrl("https://example.org/a.png"), BinaryContent(b"%PDF", media_type="a/b")]
    said: Any = [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": link}]}]
    messages = ModelMessagesTypeAdapter.validate_python(said)
    history.add(messages)
    assert history.messages() == messages
    stored = history.memory.history()
    assert [block["type"] for block in stored[0].content if isinstance(block, dict)] == ["text", "image", "file"]
    assert to_model_messages(stored) == messages
