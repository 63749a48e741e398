"""The verbs of a conversation, end to end and on both faces."""

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import CompactionConfig, MemoryConfig, Message, open_memory
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text.tokens import estimate_tokens
from tests.conversation.conftest import OpenWith, SessionWith, laid_out, rounds
from tests.faces import Face
from tests.world import assistant, cases, exchange

GARDEN: list[str] = cases("conversation/prompts.json", "garden")


@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from(range(4)), st.booleans(), st.integers(0, 2)), min_size=2, max_size=9))
@pytest.mark.parametrize("embedder", ["none", "hashing"])
def test_each_prompt_extends_the_last(embedder: Literal["none", "hashing"], turns: list[tuple[int, bool, int]]) -> None:
    config = MemoryConfig(url="memory://", embedder=embedder, compaction=CompactionConfig(max_tokens=900))
    with open_memory(config, token_counter=estimate_tokens) as memory:
        memory.scoped(user="a", session="before").remember(GARDEN)
        alice = memory.scoped(user="a", session="s")
        last: list[tuple[str, str]] = []
        for number, (topic, said_before, steps) in enumerate(turns):
            question = cases("conversation/prompts.json", "questions")[topic]
            question = f"{question} ({number})"
            if said_before:
                alice.remember(question)
            asked = None if said_before else question
            for step in range(steps + 1):
                if step:
                    alice.remember(exchange(f"c{number}-{step}", f"Result {step} of {number}.", step=step))
                context = alice.assemble(asked if step == 0 else None)
                assert context.compacted or laid_out(context)[: len(last)] == last
                last = laid_out(context)
                if step == 0:
                    assert laid_out(alice.assemble(asked)) == last
                    if not said_before:
                        alice.remember(question)
            assert alice.assemble(None).tokens <= 900
            alice.remember(assistant(f"That is answer {number}."))


def test_compact_folds_all_but_the_newest_rounds(face: Face, session_with: SessionWith) -> None:
    alice = session_with(rounds=None)
    said = rounds(0, 6)
    assert face(alice).compact().compacted == 0
    assert not face(alice).summary()
    face(alice).remember(said)
    assert face(alice).compact(keep=2).compacted == 8
    assert face(alice).compact(keep=2).compacted == 0
    (name,) = face(alice).summary().handles
    assert face(alice).expand(name) == face(alice).history()[:8]
    (role, first), *shown = laid_out(face(alice).assemble(k=0))
    summary, words = first.split("\n</summary>\n\n")
    assert (role, words) == ("user", said[8].text)
    assert summary.startswith("<summary>\n")
    assert face(alice).summary().lines[0].text in summary
    assert [text for _, text in shown] == [message.text for message in said[9:]]
    assert face(alice).summary().audit.compactions == 1


def test_a_context_tells_what_is_where_and_what_did_not_fit(face: Face, session_with: SessionWith) -> None:
    alice = session_with(rounds=None, flush=1.0)
    face(alice).remember(rounds(0, 30))
    face(alice).compact(keep=3)
    context = face(alice).assemble("What does room 3 need?", max_tokens=420, identity="You are a guide.",
        instructions="Be brief.", blocks={"human": "Nora"}, profile="likes tea",
    )  # fmt: skip
    parts = ["identity", "instructions", "blocks", "profile", "summary", "turns", "recalled", "question"]
    assert [name for name in context.sections if name != "artifacts"] == parts
    assert context.section_tokens == {name: estimate_tokens(text) for name, text in context.sections.items()}
    assert all(text in context.text for name, text in context.sections.items() if name != "turns")
    assert context.messages[0].text == "You are a guide.\n\nBe brief.\n\n<human>\nNora\n</human>"
    assert {part.section for part in context.dropped} >= {"summary"}
    for part in context.dropped:
        said = " ".join(message.text for message in face(alice).expand(part))
        assert part.what.split(": ", 1)[1][:40] in said
        assert part.what.split(": ", 1)[1] not in context.sections["summary"] or part.section != "summary"
    assert context.breakpoints == (0, len(context.messages) - 1)
    plain, marked = context.as_dicts(), context.as_dicts(cache_control=True)
    for row, (one, other) in enumerate(zip(plain, marked, strict=True)):
        if row in context.breakpoints:
            assert other["content"][-1].pop("cache_control") == {"type": "ephemeral"}
            assert other["content"] == [{"type": "text", "text": one["content"]}]
        else:
            assert one == other


def test_what_people_say_is_shown_as_they_said_it(face: Face, session_with: SessionWith) -> None:
    said = cases("conversation/prompts.json", "said")
    alice = session_with(embedder="hashing")
    for text in said:
        face(alice).remember([Message(content=text), assistant(text.replace("um", "uh"))])
    shown = [message.text for message in face(alice).assemble("And?", k=0, profile="").messages[:-1]]
    assert shown == [text for one in said for text in (one, one.replace("um", "uh"))]


def test_what_stands_in_the_recent_turns_is_not_recalled_again(face: Face, open_with: OpenWith) -> None:
    memory = open_with(embedder="hashing")
    face(memory.scoped(user="a", session="old")).remember(GARDEN[:2])
    alice = memory.scoped(user="a", session="s")
    face(alice).remember([Message(content=GARDEN[2]), assistant("I see.")])
    context = face(alice).assemble("Who borrowed the ladder, and who planted the roses?")
    assert context.text.count("Tom borrowed the green ladder") == 1
    assert context.text.count("planted by Nora") == 1
    assert all(GARDEN[2] != hit.record.text for hit in context.hits)


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [*cases("conversation/prompts.json", "bad"), ("assemble", {"tools": [{"a": {1}}]})],
    ids=lambda part: str(part)[:40],
)
def test_what_is_refused_changes_nothing(
    face: Face, session_with: SessionWith, verb: str, arguments: dict[str, Any]
) -> None:
    alice = session_with()
    face(alice).remember(rounds(0, 8))
    before = alice.events()
    with pytest.raises(InvalidInputError):
        getattr(face(alice), verb)(**arguments)
    assert alice.events() == before
