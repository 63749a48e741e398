"""What is shortened once the turns of a conversation no longer fit, and what stays as it was."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from hybrid_memory import Message, Role
from hybrid_memory.context.memories import Memories
from hybrid_memory.context.plan import PromptPlan, plan
from hybrid_memory.context.view import LEAST_INLINE, LEAST_ROOM, PromptView, relieved
from hybrid_memory.text.tokens import message_tokens
from tests.context.conftest import See, assert_accepted, page
from tests.world import assistant, exchange, user

READERS = [None, "memory_fetch"]


def bodies(laid: Sequence[Message]) -> list[str]:
    """What stands in the prompt for each message of the log, without what is marked in front of it."""
    return [message.text.rsplit("</memory>\n\n")[-1].rsplit("</summary>\n\n")[-1] for message in laid if message.id]


def shortened(seen: PromptView) -> list[int]:
    """Rows of the messages that stand shortened."""
    return sorted(position // 10 - 1 for position in relieved(seen, 0).short)


def read(*tokens: int) -> list[Message]:
    """A round for each page that a tool read, answered."""
    return [
        message
        for number, size in enumerate(tokens)
        for message in (
            user(f"Read page {number}."),
            *exchange(f"c{number}", page(f"page {number}", size)),
            assistant(f"Page {number} is read."),
        )
    ]


@pytest.mark.parametrize("reader", READERS)
def test_while_there_is_room_nothing_is_shortened(see: See, reader: str | None) -> None:
    said = read(300, 4000, 200)
    seen = see(said, "What now?", max_tokens=6000, reader=reader)
    assert sum(seen.whole) <= seen.room
    assert shortened(seen) == []
    assert bodies(plan(seen, Memories()).laid) == [message.text for message in said]


def test_media_stay_while_they_fit_and_become_a_line_once_they_do_not(see: See) -> None:
    image = {"type": "image", "data": "iVBORw0KGgo=", "mime_type": "image/png"}
    said = [Message(content=[{"type": "text", "text": "What is this?"}, image]), assistant("A cat.")]
    wide, narrow = see(said, "And its colour?", max_tokens=2000), see(said, "And its colour?", max_tokens=600)
    assert plan(wide, Memories()).laid[0].content == said[0].content
    assert plan(narrow, Memories()).laid[0].text == "What is this?\n[image/png, 8 bytes]"
    # Nobody has looked at it yet: it stays as long as anything else can go.
    fresh = see([*read(900), said[0]], max_tokens=1300)
    assert plan(fresh, Memories()).laid[-1].content == said[0].content


@pytest.mark.parametrize("max_tokens", [120, 400, 900, 4000])
def test_the_image_of_the_question_stays_in_any_budget(see: See, max_tokens: int) -> None:
    image = {"type": "image", "data": "iVBORw0KGgo=", "mime_type": "image/png"}
    words = {"type": "text", "text": f"{page('mail', 300)} Which of these stamps is torn?"}
    for steps in ([], exchange("c", page("leaf", 300)), [*exchange("c", "leaf"), *exchange("d", page("leaf", 700))]):
        said = [user("Hello"), assistant("Hi."), Message(content=[words, image]), *steps]
        laid = plan(see(said, max_tokens=max_tokens), Memories()).laid
        assert [message for message in laid if isinstance(message.content, list) and image in message.content]


def test_of_what_was_recalled_for_earlier_turns_the_oldest_goes_first(see: See) -> None:
    said = [message for row in range(6) for message in (user(f"Question {row}?"), assistant("Yes."))]
    notes = {2 * row: page(f"note {row}", 60) for row in range(6)}
    seen = see(said, "And now?", max_tokens=1000, notes=notes)
    bare = sorted(position // 10 - 1 for position in relieved(seen, 0).bare)
    assert bare == [2 * row for row in range(len(bare))]
    assert 0 < len(bare) < 6
    kept = sum(seen.note_tokens(unit) for unit in seen.units) - sum(
        seen.note_tokens(unit) for unit in seen.units if unit.first // 10 - 1 in bare
    )
    assert kept <= seen.config.recall_ratio * seen.share


ROUNDS = st.lists(
    st.tuples(
        st.integers(0, 400),  # tokens of the user's words beyond a few
        st.lists(st.lists(st.integers(0, 900), min_size=1, max_size=2), max_size=3),  # pages of each round of tools
        st.integers(0, 500),
    ),
    min_size=1,
    max_size=6,
)


def said_of(rounds: list[tuple[int, list[list[int]], int]]) -> list[list[Message]]:
    """The messages of each round; calls of one turn stand beside each other."""
    found = []
    for number, (asked, steps, answered) in enumerate(rounds):
        said = [user(page(f"question {number}", asked))]
        for step, pages in enumerate(steps):
            calls = [exchange(f"{number}.{step}.{row}", page(f"page {row}", size)) for row, size in enumerate(pages)]
            both = [call for message, _ in calls for call in message.tool_calls]
            said += [Message(role=Role.ASSISTANT, tool_calls=both), *(result for _, result in calls)]
        found.append([*said, assistant(page(f"answer {number}", answered))])
    return found


def flat(rounds: Sequence[Sequence[Message]]) -> list[Message]:
    return [message for said in rounds for message in said]


FIXTURES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@FIXTURES
@given(ROUNDS, st.integers(150, 4000), st.sampled_from(READERS), st.booleans(), st.integers(0, 9))
@example([(400, [], 0)], 150, None, False, 0)  # a relief leaves more of the user's words than the budget has room for
def test_a_prompt_is_accepted_and_within_its_budget_unless_the_last_turn_needs_more(  # noqa: PLR0917
    see: See, rounds: list[tuple[int, list[list[int]], int]], budget: int, reader: str | None, asked: bool, cut: int,
) -> None:  # fmt: skip
    said = flat(said_of(rounds))
    said = said[: max(1, len(said) - cut)]
    assume(asked or any(message.role is Role.USER for message in said))
    seen = see(said, "What does it say?" if asked else None, max_tokens=budget, reader=reader, identity="A guide.")
    found = plan(seen, Memories())
    assert_accepted(found.laid)
    assert found.tokens == seen.costs.of(found.laid) + seen.tools + 3
    if found.tokens > seen.budget:
        # Every message of the last turn stands in its least form, and nothing but the last turn stands there.
        assert sum(message.role is Role.USER for message in found.laid) == 1
        assert all(
            message_tokens(message, seen.costs.count) <= LEAST_INLINE * (1 + max(1, len(message.tool_calls))) + 20
            for message in found.laid
            if message.id
        )
        assert not found.parts.summary
        assert not found.parts.profile
    assert seen.budget <= max(budget, seen.own + LEAST_ROOM * budget)
    fits = sum(seen.whole) <= seen.room
    if fits:
        assert bodies(found.laid) == [message.text for unit in seen.units for message in unit.messages]
        assert not found.short
        assert found.reader == ""


def shown(seen: PromptView) -> PromptPlan:
    return plan(seen, Memories())


@FIXTURES
@given(ROUNDS, st.integers(1500, 4000), st.sampled_from(READERS))
def test_between_two_reliefs_a_prompt_only_grows_at_its_end(
    see: See, rounds: list[tuple[int, list[list[int]], int]], budget: int, reader: str | None
) -> None:
    """What a longer conversation shows of a shorter one is what that showed, unless more had to be shortened since."""
    said = flat(said_of(rounds))
    before: PromptPlan | None = None
    for end in range(1, len(said) + 1):
        if said[end - 1].tool_calls or (end < len(said) and said[end].role is Role.TOOL):
            continue  # the host asks again once all results are there
        seen = see(said[:end], max_tokens=budget, reader=reader)
        now = shown(seen)
        long = {long.event.id for long in relieved(seen, 0).short.values()}
        if now.tokens > seen.budget or len(bodies(now.laid)) < end or now.short.keys() - long:
            before = None  # what is not answered yet takes too much: no relief was enough
            continue
        if before is not None:
            assert before.short.items() <= now.short.items(), "what was shortened stays so"
            if before.short.keys() == now.short.keys():
                assert list(now.laid[: len(before.laid)]) == list(before.laid)
        before = now
