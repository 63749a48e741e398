"""A chat memory and tools by which a model pages its memory itself, without an agent around them."""

from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from hybrid_memory import HybridMemory, PagingConfig
from hybrid_memory.context.layout import SUMMARY_HEADINGS
from hybrid_memory_paging import MEMORY
from llamaindex_hybrid_memory import HybridChatMemory, from_chat_message
from tests.doubles import orphans
from tests.llamaindex.conftest import Run, assistant, tokens, user

SUMMARY_HEADING = SUMMARY_HEADINGS["en"]

WARNED = "Memory pressure"
LIMIT = 900


def paged(memory: HybridMemory, **settings: Any) -> HybridChatMemory:
    settings = {"token_limit": LIMIT, "paging": True, **settings}
    return HybridChatMemory.from_defaults(user="alice", session="s1", memory=memory, **settings)


def fact(number: int) -> list[ChatMessage]:
    return [
        user(f"Box {number} in the cellar holds {7 * number} green apples, and nobody has opened it for years."),
        assistant(f"I see: box {number}. Thank you for telling me all of that."),
    ]


def folds(memory: HybridMemory) -> int:
    return len(memory.scoped(user="alice", session="s1").summary().stretches)


class TestThePrompt:
    def test_it_opens_with_how_the_memory_works_and_the_blocks(self, store: HybridMemory, run: Run) -> None:
        chat = paged(store)
        run(chat, "put", user("Hello!"))

        system, question = run(chat, "get")

        assert system.role is MessageRole.SYSTEM
        assert system.content.startswith(MEMORY)
        for label in ("persona", "human"):
            assert f"<{label}>\n(0 of 2000 characters)" in system.content
        assert question == user("Hello!")
        assert list(store.scoped(user="alice").blocks()) == ["persona", "human"]

    def test_the_model_is_warned_once_before_each_flush_and_the_flush_frees_its_share(
        self, store: HybridMemory, run: Run
    ) -> None:
        chat = paged(store)
        told, sizes, seen = 0, [], 0
        for number in range(36):
            question, answer = fact(number)
            run(chat, "put", question)
            before = folds(store)
            shown = run(chat, "get")
            sizes.append(tokens(shown))
            assert sizes[-1] <= LIMIT
            assert not orphans(map(from_chat_message, shown))
            assert shown[-1] == question or WARNED in shown[-1].content
            assert [m.role for m in shown].count(MessageRole.SYSTEM) == 1
            new = WARNED in shown[-1].content
            told += new
            if folds(store) > before:
                seen += 1
                assert told >= seen, "it was warned before"
                told_apart = (SUMMARY_HEADING, WARNED)  # the next warning may come at once
                turns = [one for one in shown[1:] if not any(words in one.content for words in told_apart)]
                assert tokens(turns) <= 0.5 * (LIMIT - tokens(shown[:1]))
            elif new:
                assert sizes[-1] >= 0.7 * LIMIT
                assert sizes[-1] - tokens(shown[-1:]) - tokens([*fact(number), question]) < 0.7 * LIMIT
            run(chat, "put", answer)

        assert seen == folds(store) >= 3
        said = store.scoped(user="alice", session="s1").history()
        assert [one.id for one in said if one.event == "pressure"] == [f"pressure-{number}" for number in range(told)]
        assert told in (seen, seen + 1)

    def test_a_question_that_was_not_put_yet_is_left_to_the_engine(self, store: HybridMemory, run: Run) -> None:
        chat = paged(store)
        assert [message.role for message in run(chat, "get", input="Hello?")] == [MessageRole.SYSTEM]
        for number in range(28):
            shown = run(chat, "get", input=fact(number)[0].content)
            assert fact(number)[0].content not in [message.content for message in shown]
            assert tokens([*shown, fact(number)[0]]) <= LIMIT
            run(chat, "put_messages", fact(number))
        assert shown[1].content.startswith(f"<summary>\n{SUMMARY_HEADING}"), "the summary is no question"
        assert folds(store) >= 2


class TestSettings:
    def test_paging_is_on_or_off_or_configured(self, store: HybridMemory) -> None:
        assert paged(store).paging == PagingConfig()
        assert paged(store).k == 0
        assert paged(store, k=4).k == 4
        assert paged(store, paging=PagingConfig(flush=0.3)).paging == PagingConfig(flush=0.3)
        for off in (False, None):
            plain = paged(store, paging=off)
            assert (plain.paging, plain.k, plain.profile) == (None, 5, None)
