from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, LLMMetadata, MessageRole, ToolCallBlock
from llama_index.core.llms import MockLLM
from llama_index.core.settings import Settings
from llama_index.core.workflow import Context, JsonSerializer
from workflows.context import PickleSerializer

from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, Message, ScopedMemory, open_memory
from hybrid_memory.adapters import close_all
from hybrid_memory.config.memory import DEFAULT_TOKENS
from hybrid_memory.errors import AccessDeniedError, InvalidConfigError
from hybrid_memory.recall import recall
from hybrid_memory.text.tokens import estimate_tokens
from llamaindex_hybrid_memory import HybridChatMemory
from tests.llamaindex.conftest import Run, assistant, user

MARKS = re.compile(r"(?:<(user_profile|summary|memory)>\n.*?\n</\1>(?:\n\n|$))+", re.DOTALL)

IN_MEMORY = MemoryConfig(url="memory://", embedder="hashing")


def call(*ids: str) -> ChatMessage:
    return ChatMessage(
        role="assistant", blocks=[ToolCallBlock(tool_call_id=call_id, tool_name="weather") for call_id in ids]
    )


def result(call_id: str) -> ChatMessage:
    return ChatMessage(role="tool", content="rain", additional_kwargs={"tool_call_id": call_id})


def recalled(message: ChatMessage) -> str:
    """What stands in front of the user's words."""
    found = MARKS.match(message.content or "")
    return found[0] if found else ""


def earlier(store: HybridMemory, run: Run, *texts: str) -> None:
    """Said in another session of the same user."""
    other = HybridChatMemory.from_defaults(user="alice", session="earlier", memory=store)
    run(other, "put_messages", [user(text) for text in texts])


def written(store: HybridMemory, session: str | None = None) -> list[Message]:
    return store.scoped(user="alice", session=session).history()


def events(store: HybridMemory) -> int:
    return store.stats().events


@pytest.mark.parametrize("run", ["blocking", "async"], indirect=True)
def test_what_was_put_is_the_history(chat: HybridChatMemory, run: Run) -> None:
    said = [user("hi"), assistant("hello"), user("how are you?"), call("c1"), result("c1")]
    run(chat, "put", said[0])
    run(chat, "put_messages", said[1:])

    assert run(chat, "get_all") == said
    assert run(chat, "get") == said


def test_what_was_recalled_stays_where_it_stood(chat: HybridChatMemory, store: HybridMemory, run: Run) -> None:
    earlier(store, run, "My cat is called Pixel.", "My dog is called Rex.", "I live in Bern.")
    prompts = []
    for question in ("what is my cat called?", "and the dog?", "where do I live?"):
        before = run(chat, "get", input=question)
        run(chat, "put", user(question))
        prompts.append(run(chat, "get", input=question))
        assert prompts[-1] == run(chat, "get")
        said = run(chat, "get_all")
        note = before[-1].content if len(before) == len(said) else ""
        assert prompts[-1] == ([*before[:-1], user(f"{note}\n\n{question}")] if note else [*before, user(question)])
        run(chat, "put", assistant("I see."))

    assert recalled(prompts[0][0])
    for shorter, longer in pairwise(prompts):
        assert longer[: len(shorter)] == shorter


def test_another_session_of_the_user_is_recalled(store: HybridMemory, run: Run) -> None:
    first = HybridChatMemory.from_defaults(user="alice", session="s1", memory=store)
    second = HybridChatMemory.from_defaults(user="alice", session="s2", memory=store)
    run(first, "put", user("I am allergic to peanuts. My desk is by the window."))

    (note,) = run(second, "get", input="am I allergic to peanuts?")

    assert note.role is MessageRole.USER
    assert recalled(note) == note.content
    known, _, memories = note.content.partition("</user_profile>\n\n")
    assert "] I am allergic to peanuts." in known, "what is known of the user"
    assert "My desk is by the window." in memories
    assert "peanuts" not in memories, "nothing stands there twice"
    assert run(second, "get_all") == []


def test_recall_runs_once_between_two_messages_of_the_user(
    store: HybridMemory, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier(store, run, "My cat is called Pixel.", "The dog barks.", "A bird sings.")
    asked: list[str] = []
    real = recall.recall

    async def counted(run: Any, services: Any, request: Any) -> Any:
        asked.append(request.query)
        return await real(run, services, request)

    monkeypatch.setattr("hybrid_memory.context.memories.recall", counted)
    chat = HybridChatMemory.from_defaults(user="alice", session="s1", memory=store, k=1)
    for question in ("my cat?", "the dog?", "a bird?"):
        run(chat, "put", user(question))
        run(chat, "get")
        run(chat, "get", input=question)
        run(chat, "put_messages", [call("c"), result("c")])
        run(chat, "get", input=question)
        run(chat, "put", assistant("done"))
        run(chat, "get")

    assert asked == ["my cat?", "the dog?", "a bird?"]


class Window(MockLLM):
    """A model with a window of so many tokens; with none its name is one that LlamaIndex does not know."""

    @property
    def metadata(self) -> LLMMetadata:
        if not self.max_tokens:
            raise ValueError("unknown model")
        return LLMMetadata(context_window=self.max_tokens)


class TestBudget:
    @pytest.mark.parametrize(
        ("given", "configured", "model", "ambient", "expected"),
        [
            (500, 700, 8000, 4000, 500), (None, 700, 8000, 4000, 700), (None, None, 8000, 4000, 6000),
            (None, None, None, 4000, 3000), (None, None, 0, None, DEFAULT_TOKENS),
            (None, None, 1_000_000, None, 128_000), (None, None, None, None, DEFAULT_TOKENS),
        ],
    )  # fmt: skip
    def test_what_is_said_first_counts(  # noqa: PLR0917 - a row of the table
        self, given: int | None, configured: int | None, model: int | None, ambient: int | None, expected: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        monkeypatch.setattr(Settings, "_llm", None if ambient is None else Window(max_tokens=ambient))
        compaction = CompactionConfig() if configured is None else CompactionConfig(max_tokens=configured)
        config = MemoryConfig(url="memory://", embedder="none", compaction=compaction)
        with open_memory(config) as store:
            llm = None if model is None else Window(max_tokens=model)
            chat = HybridChatMemory.from_defaults(user="alice", memory=store, token_limit=given, llm=llm)
            chat.put(user("hi"))
            monkeypatch.setattr(Settings, "_llm", None)
            asked: list[int] = []
            real = ScopedMemory.assemble

            def noted(scoped: ScopedMemory, *args: Any, **kwargs: Any) -> Any:
                asked.append(kwargs["max_tokens"])
                return real(scoped, *args, **kwargs)

            monkeypatch.setattr(ScopedMemory, "assemble", noted)
            chat.get()
            HybridChatMemory.from_dict(chat.to_dict()).get()
            chat.get(initial_token_count=100)
            assert asked == [expected, expected, expected - 100]


class TestSetAndReset:
    def test_reset_hides_and_does_not_forget(self, chat: HybridChatMemory, store: HybridMemory, run: Run) -> None:
        run(chat, "put_messages", [user("My cat is called Pixel."), assistant("Noted.")])

        run(chat, "reset")

        assert run(chat, "get_all") == []
        (note,) = run(chat, "get", input="what is my cat called?")
        assert "My cat is called Pixel." in note.content
        assert [m.content for m in written(store, "s1")] == ["My cat is called Pixel.", "Noted."]

    @given(histories=st.lists(st.lists(st.builds(user, st.sampled_from("abc")), max_size=12), max_size=4))
    def test_any_set_shows_exactly_that(self, histories: list[list[ChatMessage]]) -> None:
        with open_memory(IN_MEMORY, token_counter=estimate_tokens) as store:
            chat = HybridChatMemory.from_defaults(user="alice", session="s1", memory=store, k=0)
            for history in histories:
                chat.set(history)

                assert chat.get_all() == chat.get() == history
                before = events(store)
                chat.set(history)
                assert events(store) == before
                chat.put(user("d"))
                assert chat.get_all() == chat.get() == [*history, user("d")]
                said = written(store)
                chat.set(history)
                assert chat.get_all() == history
                assert written(store) == said


class TestTravel:
    @pytest.mark.parametrize("serializer", [JsonSerializer(), PickleSerializer()], ids=["json", "pickle"])
    async def test_a_context_carries_it(
        self, config: str, serializer: JsonSerializer, scripted: Callable[..., Any]
    ) -> None:
        chat = HybridChatMemory.from_defaults(user="alice", session="s1", url=config)
        agent = FunctionAgent(llm=scripted("Noted.", "Pixel."), tools=None)
        context = Context(agent)
        await agent.run("My cat is called Pixel.", memory=chat, ctx=context)
        data = context.to_dict(serializer=serializer)
        assert "Pixel" not in str(data["state"]["state_data"].get("_data", data).get("memory"))
        close_all()

        restored = Context.from_dict(agent, data, serializer=serializer)
        await agent.run("What is it called?", ctx=restored)

        memory = await restored.store.get("memory")
        assert isinstance(memory, HybridChatMemory)
        assert memory is not chat
        assert [message.content for message in await memory.aget_all()] == [
            "My cat is called Pixel.", "Noted.", "What is it called?", "Pixel.",
        ]  # fmt: skip


@pytest.mark.parametrize("kind", ["sqlite", "store"])
async def test_concurrent_puts_are_all_kept_in_one_log(kind: str, request: pytest.FixtureRequest) -> None:
    memory: HybridMemory = request.getfixturevalue(kind)
    chats = [HybridChatMemory.from_defaults(user="alice", session="s1", memory=memory) for _ in range(2)]
    pairs = [[call(f"c{number}"), result(f"c{number}")] for number in range(20)]

    with blockbuster_ctx():
        await asyncio.gather(
            *(chats[number % 2].aput(user(str(number))) for number in range(40)),
            *(chats[number % 2].aput_messages(pair) for number, pair in enumerate(pairs)),
            *(chat.aget() for chat in chats),
        )

    kept = await chats[0].aget_all()
    assert sorted(m.content or "" for m in kept if m.role is MessageRole.USER) == sorted(map(str, range(40)))
    for pair in pairs:
        place = kept.index(pair[0])
        assert kept[place : place + 2] == pair
    assert len(kept) == 80
    assert await chats[1].aget_all() == kept


def test_a_session_without_memory_recalls_and_stores_nothing(run: Run) -> None:
    with open_memory(IN_MEMORY) as memory:
        memory.scoped(user="alice", session="old").remember(["I am allergic to nuts.", "My sister Zoe keeps bees."])
        before = [event.id for event in memory.scoped(user="alice").events(kinds=("message",))]
        chat = HybridChatMemory.from_defaults(user="alice", session="new", memory=memory, remember=False)
        said = [user("I quit my secret job."), assistant("Noted."), user("Who keeps bees, for a nut cake?")]
        run(chat, "put_messages", said[:1])
        for message in said[1:]:
            run(chat, "put", message)
        shown = run(chat, "get")
        assert [message.content for message in shown[:2]] == ["I quit my secret job.", "Noted."]
        assert "allergic to nuts" in str(shown[2].content)
        assert "Zoe keeps bees" in str(shown[2].content)
        assert [message.content for message in shown[3:]] == ["Who keeps bees, for a nut cake?"]
        (*turns, preface) = run(chat, "get", "Am I allergic to something?")
        assert "allergic to nuts" in str(preface.content)
        assert turns == run(chat, "get_all")
        assert [message.content for message in turns] == [message.content for message in said]
        run(chat, "reset")
        assert run(chat, "get_all") == run(chat, "get") == []
        assert [event.id for event in memory.scoped(user="alice").events(kinds=("message",))] == before
        assert "secret" not in str([event.payload for event in memory.scoped(user="alice").events()])
        with pytest.raises(InvalidConfigError, match="remember=False"):
            HybridChatMemory.from_defaults(user="alice", memory=memory, remember=False, paging=True)


def test_the_spaces_that_the_user_may_read_are_shown(store: HybridMemory, run: Run) -> None:
    team = store.scoped(user="zoe").space("team").create()
    team.remember("The launch of Falcon is on the ninth of June.")
    memory = HybridChatMemory.from_defaults(user="alice", session="s1", memory=store, spaces=["team"])
    run(memory, "put", user("When is the launch of Falcon?"))
    with pytest.raises(AccessDeniedError, match="user='alice' may not assemble in the space 'team'"):
        run(memory, "get")
    team.grant(user="alice", right="read")
    (shown,) = run(memory, "get")
    assert "zoe: The launch of Falcon is on the ninth of June." in shown.content
