from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.compression.sets import IDENTITY, count_tokens
from benchmarks.original.chats import Chat, Fact, chat_of, labelled
from benchmarks.original.figures import answerable, figures, four, hit_rate, latency, utilisation
from benchmarks.original.replay import AFTER, BEFORE, Plain, Prompt, Replay, Tally, judged, literal_tokens, tokens_of
from hybrid_memory import Message, Role
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.text.tokens import message_tokens

GOLD = "periwinkle"
ASKED = "Which colour did I paint the old boat house?"
TOLD = f"I painted the old boat house {GOLD} last summer."


def turn(role: str, words: str = "words") -> Message:
    return Message(role=Role(role), content=words)


def rounds_of(count: int) -> list[Message]:
    return [
        Message(
            role=Role.ASSISTANT if row % 2 else Role.USER, content=f"Turn {row} is about the weather.", id=f"m{row}"
        )
        for row in range(2 * count)
    ]


def told(count: int) -> Chat:
    """A chat whose first turn tells the fact."""
    first = Message(content=TOLD, id="told")
    return Chat([first, *rounds_of(count)[1:]], [Fact(ASKED, (GOLD,), (0,))])


def test_turns_of_the_user_in_a_row_are_one_round() -> None:
    roles = ("user", "user", "assistant", "assistant", "user", "assistant", "user")
    assert Chat([turn(role) for role in roles], []).rounds == [0, 0, 0, 0, 1, 1, 2]
    assert Chat([turn(role) for role in ("assistant", "user", "assistant")], []).rounds == [0, 1, 1]


@given(at=st.integers(0, 130), length=st.integers(1, 260))
def test_a_question_is_due_when_so_many_rounds_lie_behind_the_last_of_its_evidence(at: int, length: int) -> None:
    chat = Chat(rounds_of(length), [Fact("?", ("x",), (0, 2 * min(at, length - 1)))])
    due = [(after, depth) for after, facts in chat.due().items() for depth, _ in facts]
    last = min(at, length - 1)
    assert due == [(last + depth, depth) for depth in (50, 100, 200) if last + depth < length]


def test_a_fact_is_an_answer_that_stands_in_the_evidence_and_not_in_the_question() -> None:
    turns: list[dict[str, Any]] = [
        {"id": "a", "text": "We saw Rome, and the sea."},
        {"id": "b", "text": "我养了一只叫豆豆的猫。"},
    ]
    asked: dict[str, Any] = {"bad": None, "category": "single-hop"}
    questions: list[dict[str, Any]] = [
        {**asked, "question": "Which cities?", "answer": "Rome, Paris", "evidence": ["a"]},
        {**asked, "question": "Was it Rome?", "answer": "Rome", "evidence": ["a"]},
        {**asked, "question": "我的猫叫什么？", "answer": "豆豆", "evidence": ["b"]},
        {**asked, "question": "Elsewhere?", "answer": "Rome", "evidence": ["b"]},
        {**asked, "question": "Wrong label?", "answer": "Rome", "evidence": ["a"], "bad": "wrong"},
        {**asked, "question": "Adversarial?", "answer": "Rome", "evidence": ["a"], "category": "adversarial"},
        {**asked, "question": "No evidence?", "answer": "Rome", "evidence": []},
    ]
    assert labelled(questions, turns, {"a": 0, "b": 7}) == [
        Fact("Which cities?", ("Rome",), (0,)),
        Fact("我的猫叫什么？", ("豆豆",), (7,)),
    ]


def test_turns_keep_their_order_in_time_and_empty_ones_are_left_out() -> None:
    turns = [
        {"id": 1, "speaker": "Bo", "text": "one", "time": "2024-05-02"},
        {"id": 2, "speaker": "Al", "text": " ", "time": "2024-05-02"},
        {"id": 3, "speaker": "Al", "text": "two", "time": "2024-05-01"},
    ]
    chat = chat_of(turns, {"Bo"}, lambda rows: [Fact("?", ("one",), (rows[1], rows[3]))])
    assert chat.facts[0].evidence == (0, 1)
    assert [(m.role, m.name, m.text) for m in chat.messages] == [("user", "Bo", "one"), ("assistant", "Al", "two")]
    first, second = (m.at for m in chat.messages)
    assert first is not None
    assert second is not None
    assert first < second


@given(budget=st.integers(40, 600), count=st.integers(0, 30))
def test_the_window_has_the_newest_messages_that_fit_and_not_one_less(budget: int, count: int) -> None:
    said = rounds_of(count)
    plain = Plain(HashingEmbedder(), len(said))
    for message in said:
        plain.remember(message)
    prompt = plain.prompt("What now?", budget)
    window = prompt[1:-1]
    assert tokens_of(prompt) <= budget
    assert window == said[len(said) - len(window) :]
    assert (prompt[0].text, prompt[-1].text) == (IDENTITY, "What now?")
    if len(window) < len(said):
        assert tokens_of(prompt) + message_tokens(said[-len(window) - 1], count_tokens) > budget


def test_recall_before_finds_the_nearest_of_all_messages() -> None:
    said = [*rounds_of(20), turn("user", TOLD)]
    plain = Plain(HashingEmbedder(), len(said))
    for message in said:
        plain.remember(message)
    assert plain.recall("the old boat house")[0].text == TOLD


def test_an_answer_counts_neither_in_the_question_nor_as_shown_in_another_turn() -> None:
    fact = Fact(f"Is it {GOLD}?", (GOLD,), (0,))
    system = turn("system", IDENTITY)
    asked = judged([system, turn("user", f"Is it {GOLD}?")], fact, [TOLD])
    assert (asked.found, asked.shown, asked.evidence) == (0, 0, 0)
    elsewhere = judged([system, turn("user", f"My car is {GOLD}."), turn("user", fact.question)], fact, [TOLD])
    assert (elsewhere.found, elsewhere.shown, elsewhere.evidence) == (1, 0, 0)
    note = f"- user: {TOLD}"
    recalled = judged([system, turn("user", f"{note}\n\n{fact.question}")], fact, [TOLD], note)
    assert (recalled.found, recalled.shown, recalled.evidence) == (1, 1, count_tokens(TOLD))
    assert recalled.chosen == recalled.standing + count_tokens(note)
    said = judged([system, turn("user", TOLD), turn("user", f"{note}\n\n{fact.question}")], fact, [TOLD], note)
    assert said.chosen == recalled.chosen + count_tokens(TOLD)


def test_evidence_in_the_system_message_is_standing_state_alone() -> None:
    system = turn("system", f"Facts:\n- {TOLD}")
    prompt = judged([system, turn("user", ASKED)], Fact(ASKED, (GOLD,), (0,)), [TOLD])
    assert (prompt.found, prompt.shown, prompt.evidence) == (1, 1, 0)
    assert prompt.standing == message_tokens(system, count_tokens)
    assert prompt.standing + message_tokens(turn("user", ASKED), count_tokens) < prompt.tokens


def test_of_a_turn_that_is_shown_in_part_its_longer_sentences_count() -> None:
    first, second, short = "We went to the old harbour on Sunday.", "It rained the whole afternoon there.", "Yes."
    turn_ = f"{first} {second} {short}"
    assert literal_tokens(f"user: {first.upper()} Oh yes.", turn_) == count_tokens(first)
    assert literal_tokens(f"user: {second}", turn_) == count_tokens(second)
    assert literal_tokens(f"user: {turn_}", turn_) == count_tokens(turn_)
    assert literal_tokens("user: We went home. Yes.", turn_) == 0
    assert literal_tokens("用户：我下个月要搬到杭州去住。好。", "我下个月要搬到杭州去住。好。真的吗？") > 0


def test_after_fifty_rounds_the_window_has_lost_what_the_memory_still_shows(tmp_path: Path) -> None:
    tally = Replay(told(103), HashingEmbedder(), 400, tmp_path).run()
    assert [answerable(tally, BEFORE, (depth,))["found"] for depth in (50, 100, 200)] == [0, 0, None]
    assert [answerable(tally, AFTER, (depth,))["found"] for depth in (50, 100, 200)] == [1, 1, None]
    assert max(prompt.tokens for prompts in tally.prompts.values() for prompt in prompts) <= 400
    assert not list(tmp_path.glob("copy*"))
    # Each turn is embedded for recall and known to the prompt, which compares it with statements too;
    # the question is known when it is asked again.
    assert tally.requests["turns"]["misses"] == 103
    assert 103 <= tally.requests["turns"]["hits"] <= 3 * 103
    assert tally.requests["questions"] == {"hits": 1, "misses": 1}
    assert tally.requests["writes"]["misses"] >= 2 * 102  # the last round is not followed by a pause
    for side in (BEFORE, AFTER):
        assert [latency(tally, side, (kind,))["calls"] for kind in ("turn", "first", "again")] == [103, 1, 1]
    table = four(figures(tally), "")
    cells = {row["figure"]: row for row in table.rows}
    assert cells["facts answerable"][BEFORE] == "0 %"
    assert cells["facts answerable"][AFTER] == "100 %"
    assert cells["facts answerable"]["case after"] == "92 %"


def test_figures_weigh_prompts_by_their_tokens_and_requests_by_their_number() -> None:
    tally, other = Tally(chats=1, turns=2), Tally(chats=1, turns=2, known=1)
    tally.prompts[AFTER, 50].append(Prompt(found=1, shown=1, tokens=100, standing=30, evidence=20, chosen=80))
    other.prompts[AFTER, 100].append(Prompt(found=0, shown=0, tokens=300, standing=0, evidence=10, chosen=40))
    tally.requests["turns"].update(hits=1, misses=3)
    other.requests["writes"].update(hits=0, misses=4)
    tally.spent[AFTER, "turn"].append((0.01, 0.004))
    other.spent[AFTER, "again"].append((0.03, 0.002))
    tally.add(other)
    assert utilisation(tally, AFTER) == {
        "both": 60 / 400,
        "standing": 30 / 400,
        "evidence": 30 / 400,
        "with all that was recalled": 120 / 400,
        "tokens": 200,
    }
    assert answerable(tally, AFTER) == {"found": 0.5, "shown": 0.5, "prompts": 2}
    assert answerable(tally, BEFORE)["found"] is None
    assert hit_rate(tally, ("turns",))["rate"] == 1 / 4
    assert hit_rate(tally, ("turns", "writes"))["rate"] == 1 / 8
    spent = latency(tally, AFTER, ("turn", "again"))
    assert (spent["mean"], spent["processor"]) == (pytest.approx(20), pytest.approx(3))
    assert (tally.chats, tally.turns, tally.known) == (2, 4, 1)
