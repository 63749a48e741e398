from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from benchmarks.paging.documents import CHINESE, ENGLISH, Language, entries
from benchmarks.paging.lookup import Pairs, noted, pairs
from benchmarks.paging.policies import Follower, Reader
from benchmarks.paging.retrieval import Asked, History, remembered, shows_evidence
from benchmarks.paging.runs import Answered, asking, opened, paged, windowed
from hybrid_memory import HybridMemory, Message, Role

WINDOW = 3000
LOOKUP = "What is the value of {} at the end?"


@pytest.fixture
def memory() -> Iterator[HybridMemory]:
    with opened() as memory:
        yield memory


@pytest.fixture(scope="module")
def made() -> Pairs:
    return pairs(7)


def said(texts: Sequence[str]) -> list[Message]:
    return [Message(content=text, id=f"m{row}") for row, text in enumerate(texts)]


def without(texts: Sequence[str], key: str) -> list[str]:
    return [text for text in texts if not text.startswith(key)]


@pytest.mark.parametrize("kept_as", ["notes", "messages"])
def test_a_chain_is_followed_by_functions_alone(memory: HybridMemory, made: Pairs, kept_as: str) -> None:
    key, end = made.questions[4]
    if kept_as == "notes":
        noted(memory, made.texts)
        policy = Follower("archival_memory_search")
    else:
        remembered(memory, [said(made.texts)])
        policy = Follower("conversation_search")
    answered = paged(memory, policy, LOOKUP.format(key), max_tokens=WINDOW)
    assert answered.text == end
    assert answered.most_tokens <= WINDOW
    plain = windowed(said(made.texts), policy, LOOKUP.format(key), max_tokens=WINDOW)
    assert plain.text != end


@pytest.mark.parametrize("language", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_a_document_answers_only_if_it_is_in_the_archive(memory: HybridMemory, language: Language) -> None:
    made = entries(language, 60)
    wanted = made[3]
    policy = Reader("archival_memory_search")
    noted(memory, [entry.text for entry in made if entry is not wanted])
    before = paged(memory, policy, wanted.question, max_tokens=WINDOW, session="before")
    assert wanted.answer not in before.text
    noted(memory, [wanted.text])
    after = paged(memory, policy, wanted.question, max_tokens=WINDOW, session="after")
    assert wanted.answer in after.text
    plain = windowed(said([entry.text for entry in made]), policy, wanted.question, max_tokens=WINDOW)
    assert wanted.answer not in plain.text


def prompt(*pieces: tuple[Role, str]) -> list[Message]:
    return [Message(role=role, content=text) for role, text in pieces]


FUNCTIONS = (
    "Memory.\n- conversation_search(query: string): x\n- expand(handle: string): x\n- send_message(message: string): x"
)
FIRST = json.dumps(
    {"function": "conversation_search", "arguments": {"query": "Which instrument does Ines play?", "page": 0}}
)
MORE = "#4 [2024-01-02] Bo: Ines sings.\n(more: page=1)"


def answers(*pieces: tuple[Role, str]) -> list[dict[str, Any]]:
    text = Reader("conversation_search").complete(prompt(*pieces))
    return [json.loads(line) for line in text.splitlines()]


def test_the_reader_does_what_the_prompt_says_and_keeps_nothing_in_mind() -> None:
    asked = (Role.USER, asking("Which instrument does Ines play?"))
    system = (Role.SYSTEM, FUNCTIONS)
    page = (Role.USER, f'<result of="conversation_search">\n{MORE}\n</result>')
    policy = Reader("conversation_search")
    first = policy.complete(prompt(system, asked))
    assert json.loads(first)["arguments"] == {"query": "Which instrument does Ines play?", "page": 0}
    (second,) = answers(system, asked, (Role.ASSISTANT, FIRST), page)
    assert second["arguments"]["page"] == 1
    assert policy.complete(prompt(system, asked)) == first
    (found,) = answers(system, (Role.USER, "Bo: Ines can play an instrument, the cello. It is loud."), asked)
    assert found == {
        "function": "send_message",
        "arguments": {"message": "Bo: Ines can play an instrument, the cello."},
    }


def test_the_last_prompt_is_graded_by_the_turn_itself_or_an_excerpt_of_it_with_the_answer() -> None:
    turn = Message(content="Ines plays the cello.\nShe also paints.", id="c/1")
    history = History(sessions=[[turn]])
    asked = Asked("What does Ines play?", ["the cello"], frozenset({"c/1"}))

    def share(shown: str) -> bool:
        return shows_evidence(history, asked, Answered("", prompt((Role.USER, shown)), 0), {"c/1": "#5"})

    assert share("so:\nInes plays the cello.\nShe also paints.")
    assert share("#5 [2024-01-02] Bo: Ines plays the cello. … (more: expand it)")
    assert not share("#5 [2024-01-02] Bo: Ines plays. … (more: expand it)")
    assert not share("#6 [2024-01-02] Bo: Ines plays the cello. … (more: expand it)")


def test_the_plain_window_has_the_newest_messages_that_fit() -> None:
    seen: list[Sequence[Message]] = []

    class Looking(Reader):
        def complete(self, messages: Sequence[Message]) -> str:
            seen.append(messages)
            return super().complete(messages)

    history = said([f"Note {row} of a long list of notes." for row in range(300)])
    windowed(history, Looking("conversation_search"), "Which note is it?", max_tokens=1000)
    (shown,) = seen
    text = shown[-1].text
    assert "Note 299 of" in text
    assert "Note 100 of" not in text
    assert "conversation_search" not in shown[0].text
