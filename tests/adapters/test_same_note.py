"""What the memory shows beside a question is the same in every framework."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from llama_index.core.base.llms.types import ChatMessage

from hybrid_memory import HybridMemory, MemoryConfig, Message, Role, open_memory
from hybrid_memory.config import PromptConfig
from hybrid_memory.context.layout import MEMORY_HEADINGS
from hybrid_memory.errors import AccessDeniedError
from hybrid_memory.text.speakers import marked
from hybrid_memory_hosts.recalled import recalled
from langchain_hybrid_memory import HybridChatMemory as ChainMemory
from langchain_hybrid_memory import HybridMemoryMiddleware
from llamaindex_hybrid_memory import HybridChatMemory as EngineMemory
from llamaindex_hybrid_memory import HybridMemoryBlock
from tests.langchain.conftest import ScriptedChat

SAFETY = {"en": "I carry an EpiPen because of bee stings.", "zh": "我对青霉素过敏。"}
ORDERS = {"en": "Please always quote prices in francs.", "zh": "以后回答都请用公里。"}
NEAR = {"en": "My aunt Gerda keeps bees behind the chapel in Sion.", "zh": "我姑姑住在大理，开了一家书店。"}
ASKED = {"en": "Where does my aunt keep her bees?", "zh": "我姑姑的书店在哪里？"}
THANKS = {"en": "Thanks a lot!", "zh": "好的，谢谢！"}
SURFACES = ("assemble", "window", "chain", "engine", "block", "host")
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def lives() -> Iterator[HybridMemory]:
    """A memory that tells what is lasting, with an owner for each language."""
    with open_memory(MemoryConfig(url="memory://", embedder="local")) as memory:
        for language in ("en", "zh"):
            for day, words in enumerate((SAFETY[language], ORDERS[language], NEAR[language])):
                said = [
                    Message(content=words, at=BEGAN + timedelta(days=day)),
                    Message(role=Role.ASSISTANT, content="OK."),
                ]
                memory.scoped(user=language, session=f"s{day}").remember(said)
            memory.scoped(user=language).flush()  # a prompt waits for what is unread, but not for ever
        yield memory


def shown(memory: HybridMemory, surface: str, user: str, words: str, **options: Any) -> str:
    """What the surface shows before these words in a new session."""
    whose: dict[str, Any] = {"memory": memory, "user": user, "session": f"new {surface} {words}", **options}
    if surface == "assemble":
        return memory.scoped(user=user, session="new").assemble(words).preface
    if surface in ("window", "chain"):
        chain = ChainMemory(**whose, window=4 if surface == "window" else None)
        return str(chain.load_memory_variables({"input": words})["history"])
    if surface == "engine":
        return "".join(str(chat.content) for chat in EngineMemory.from_defaults(**whose).get(words)[:1])  # then "OK."
    if surface == "block":
        block = HybridMemoryBlock.from_defaults(user=user, memory=memory, **options)
        return asyncio.run(block.aget([ChatMessage(role="user", content=words)], session_id="new"))
    if surface == "agent":
        model = ScriptedChat(answers=["OK."])
        create_agent(model, middleware=[HybridMemoryMiddleware(**whose)]).invoke({"messages": [HumanMessage(words)]})
        return model.prompts[0][0].text
    return asyncio.run(recalled(memory.scoped(user=user), words, among=[words], k=5, max_tokens=900))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("surface", SURFACES)
def test_every_surface_shows_the_sheet_and_the_turns(lives: HybridMemory, surface: str, language: Any) -> None:
    text = shown(lives, surface, language, ASKED[language])
    assert text == shown(lives, "assemble", language, ASKED[language])
    standing, note = text.split("\n\n")
    assert SAFETY[language] in standing
    assert ORDERS[language] in standing
    assert NEAR[language] in note
    assert MEMORY_HEADINGS[language] in note
    assert "2026-03-04" in note


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("surface", SURFACES)
def test_small_talk_shows_how_to_work_and_nothing_else(lives: HybridMemory, surface: str, language: str) -> None:
    text = shown(lives, surface, language, THANKS[language])
    assert ORDERS[language] in text
    assert SAFETY[language] not in text
    assert NEAR[language] not in text
    assert "<memory>" not in text


@pytest.mark.parametrize("surface", ["window", "block", "host"])
def test_the_question_itself_is_no_memory(surface: str) -> None:
    with open_memory(MemoryConfig(url="memory://", embedder="local")) as memory:
        memory.scoped(user="en", session="old").remember(NEAR["en"])
        alone = shown(memory, surface, "en", ASKED["en"])
        memory.scoped(user="en", session="new").remember(ASKED["en"])  # the host writes it before it recalls
        text = shown(memory, surface, "en", ASKED["en"])
        assert text == alone
        assert ASKED["en"] not in text


@pytest.mark.parametrize("surface", SURFACES)
def test_one_setting_shows_nothing_anywhere(surface: str) -> None:
    config = MemoryConfig(url="memory://", embedder="hashing", prompt=PromptConfig(memory_tokens=0))
    with open_memory(config) as memory:
        memory.scoped(user="en", session="old").remember([ORDERS["en"], NEAR["en"]])
        assert "Sion" not in shown(memory, surface, "en", ASKED["en"])


@pytest.mark.parametrize("surface", ["window", "chain", "engine", "block", "agent"])
def test_a_space_is_shown_as_long_as_it_may_be_read(surface: str) -> None:
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as memory:
        team = memory.scoped(user="zoe").space("team").create()
        team.remember("The launch of Falcon is on the ninth of June.")
        team.remember("Answer the team in one sentence.", role="system")
        team.grant(user="en", right="read")
        text = shown(memory, surface, "en", "When is the launch of Falcon?", spaces=["team"])
        assert "zoe: The launch of Falcon is on the ninth of June." in text
        assert "zoe: Answer the team in one sentence." in text
        team.revoke(user="en")
        before = memory.scoped(user="en").history()
        with pytest.raises(AccessDeniedError, match="user='en' may not"):
            shown(memory, surface, "en", "When is the launch of Falcon?", spaces=["team"])
        assert memory.scoped(user="en").history() == before, "nothing was written"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("surface", SURFACES)
def test_what_was_shown_teaches_nothing_when_it_comes_back(lives: HybridMemory, surface: str, language: str) -> None:
    text = shown(lives, surface, language, ASKED[language]).replace("\\n", "\n")
    assert SAFETY[language] in text
    text += "\n\n" + marked("summary", f"user: {SAFETY[language]}")
    back = lives.scoped(user=f"{surface} {language}", session="back")
    back.remember([Message(role=role, content=f"{text}\n\n{ASKED[language]}") for role in (Role.USER, Role.ASSISTANT)])
    assert not back.facts()
    assert not [hit for hit in back.recall(SAFETY[language]) if SAFETY[language] in hit.record.text]
