from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage, LLMMetadata
from llama_index.core.llms import MockLLM
from llama_index.core.settings import Settings

from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, Message, ScopedMemory, open_memory
from hybrid_memory.config import DEFAULT_TOKENS
from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.text.tokens import estimate_tokens
from llamaindex_hybrid_memory import HybridChatMemory
from tests.llamaindex.conftest import Run, assistant, user

IN_MEMORY = MemoryConfig(url="memory://", embedder="hashing")


def earlier(store: HybridMemory, run: Run, *texts: str) -> None:
    """Said in another session of the same user."""
    other = HybridChatMemory.from_defaults(user="alice", session="earlier", memory=store)
    run(other, "put_messages", [user(text) for text in texts])


def written(store: HybridMemory, session: str | None = None) -> list[Message]:
    return store.scoped(user="alice", session=session).history()


def events(store: HybridMemory) -> int:
    return store.stats().events


def test_what_was_recalled_stays_where_it_stood(chat: HybridChatMemory, store: HybridMemory, run: Run) -> None:
    earlier(store, run, "My cat is called Pixel.", "My dog is called Rex.", "I live in Bern.")
    prompts = []
    for question in ("what is my cat called?", "and the dog?", "where do I live?"):
        before = run(chat, "get", input=question)
        run(chat, "put", user(question))
        prompts.append(run(chat, "get", input=question))
        assert prompts[-1] == run(chat, "get")
        said = run(chat, "get_all")
        note = before[-2].content if len(before) == len(said) + 1 else ""  # answered, so that roles alternate
        assert prompts[-1] == ([*before[:-2], user(f"{note}\n\n{question}")] if note else [*before, user(question)])
        run(chat, "put", assistant("I see."))

    assert prompts[0][0].content.startswith("<memory>\n")
    for shorter, longer in pairwise(prompts):
        assert longer[: len(shorter)] == shorter


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
        note, answer = run(chat, "get", input="what is my cat called?")
        assert answer == assistant("OK."), "roles alternate"
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
        assert [message.content for message in shown[3:]] == ["OK.", "Who keeps bees, for a nut cake?"]
        (*turns, preface, _) = run(chat, "get", "Am I allergic to something?")
        assert "allergic to nuts" in str(preface.content)
        assert turns == run(chat, "get_all")
        assert [message.content for message in turns] == [message.content for message in said]
        run(chat, "reset")
        assert run(chat, "get_all") == run(chat, "get") == []
        assert [event.id for event in memory.scoped(user="alice").events(kinds=("message",))] == before
        assert "secret" not in str([event.payload for event in memory.scoped(user="alice").events()])
        with pytest.raises(InvalidConfigError, match="remember=False"):
            HybridChatMemory.from_defaults(user="alice", memory=memory, remember=False, paging=True)
