from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from hybrid_memory import Event, Fact, HybridMemory, Message, Role, open_memory
from hybrid_memory.facts import judge
from hybrid_memory.facts.attributes import SAFETY
from hybrid_memory.facts.own import own_sentences
from hybrid_memory.facts.sheet import is_safety
from hybrid_memory.facts.statements import cut_value, packed, unpacked
from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder
from tests.world import cases, event, rows

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


def turns(*texts: str) -> list[Event]:
    """Turns of one session; those that begin with ``A:`` are the assistant's."""
    made = []
    for number, text in enumerate(texts, 1):
        role = Role.ASSISTANT if text.startswith("A:") else Role.USER
        made.append(event(number, text.removeprefix("A:"), role))
    return made


def own(*texts: str) -> list[str]:
    """The user's own sentences in the last of these turns, each with the question that it answers."""
    made = own_sentences(turns(*texts), [])
    return [f"{one.question} {one.text}".strip() for one in made if one.position == len(texts) and not one.request]


@pytest.mark.parametrize("row", rows("learning/own.tsv"), ids=" | ".join)
def test_what_is_certainly_the_users_is_kept_whole_and_nothing_else(row: tuple[str, ...]) -> None:
    """The turns stand before the arrow, the sentences of the last one behind it."""
    arrow = row.index("=>")
    assert own(*row[:arrow]) == list(row[arrow + 1 :])


@pytest.mark.parametrize(("sentence", "name", "value"), rows("learning/cut_values.tsv"))
def test_a_value_is_cut_only_out_of_a_form_without_a_doubt(sentence: str, name: str, value: str) -> None:
    assert cut_value(sentence) == ((name, value) if name else None)


def test_a_vector_survives_its_way_through_the_log() -> None:
    (vector,) = LocalEmbedder().embed_documents(["I live in Ghent."])
    assert float(unpacked(packed(vector)) @ vector) == pytest.approx(1, abs=1e-3)


@pytest.fixture
def memory() -> Iterator[HybridMemory]:
    with open_memory("memory://") as opened:
        yield opened


def facts(memory: HybridMemory, *texts: str) -> list[str]:
    scoped = memory.scoped(user="ann", session="s")
    for text in texts:
        scoped.remember(text.removeprefix("A:"), role="assistant" if text.startswith("A:") else "user")
    return [str(fact) for fact in scoped.facts()]


@pytest.mark.parametrize(("texts", "expected"), cases("learning/statements.json", "facts"))
def test_only_a_cut_value_of_one_thing_ends_an_earlier_one(
    memory: HybridMemory, texts: list[str], expected: list[str]
) -> None:
    listed = set(facts(memory, *texts))
    assert listed.issuperset(expected)
    assert not any(" · home: " in text for text in listed.difference(expected))


@pytest.mark.parametrize(("text", "whose"), rows("learning/statements.tsv", "whose"))
def test_what_somebody_else_has_alone_is_not_the_users(memory: HybridMemory, text: str, whose: str) -> None:
    assert [fact.startswith(whose) for fact in facts(memory, text)] == [True]


@pytest.mark.parametrize("words", ["For this chat, answer in Dutch.", "这次对话请用英文回答。"])
def test_an_instruction_for_one_chat_stands_in_that_chat_alone(memory: HybridMemory, words: str) -> None:
    memory.scoped(user="ann", session="s").remember(["The garden needs a new fence.", words])
    assert words in memory.scoped(user="ann", session="s").assemble("What does the garden need?").text
    assert words not in memory.scoped(user="ann", session="later").assemble("What does the garden need?").text


@pytest.mark.parametrize(
    "words", ["peanuts = hospital for me", "I carry an EpiPen", "青霉素打不得", "je ne digère pas le lait"]
)
def test_safety_stands_in_every_prompt(memory: HybridMemory, words: str) -> None:
    memory.scoped(user="ann", session="s").remember(f"{words}.")
    memory.scoped(user="ann", session="s").remember("The weather was fine on Sunday.")
    later = memory.scoped(user="ann", session="later")
    assert words in later.assemble("Plan a dinner.").standing
    assert words in later.assemble("Plan a dinner.", max_tokens=400).standing
    assert words not in later.assemble("hi").text, "who greets is told of no illness"
    later.remember({"role": "user", "content": "hi"})
    later.remember({"role": "assistant", "content": "Hello! What can I do?"})
    assert words not in later.assemble("thanks").text
    assert words in later.assemble("What shall we cook?").standing


@pytest.mark.parametrize(("question", "answer", "together"), cases("learning/statements.json", "answers"))
def test_a_question_before_lends_its_sense_to_an_answer_alone(
    memory: HybridMemory, question: str, answer: str, *, together: bool
) -> None:
    user = memory.scoped(user=question, session="s")
    user.remember([{"role": "assistant", "content": question}, answer])
    assert any(question in fact.text for fact in user.facts()) is together


def test_everyday_wordings_of_safety_are_recognised(memory: HybridMemory) -> None:
    missed = []
    for (words,) in rows("learning/safety.txt"):
        user = memory.scoped(user=words)
        user.remember(f"{words}.")
        missed += [words] * (not any(map(is_safety, user.facts())))
    assert len(missed) <= 12, missed


def test_safety_stands_in_the_first_prompt_after_an_import(memory: HybridMemory) -> None:
    ann = memory.scoped(user="ann", session="old")
    ann.remember(["I am allergic to peanuts.", *(f"The parcel number {number} came." for number in range(60))])
    assert "allergic to peanuts" in memory.scoped(user="ann", session="new").assemble("Plan a dinner.").standing


def test_a_prompt_waits_only_so_long_for_what_is_unread(memory: HybridMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.scoped(user="ann", session="old").remember("I am allergic to peanuts.")
    ann = memory.scoped(user="ann", session="new")
    with monkeypatch.context() as patch:
        patch.setattr("hybrid_memory.facts.learn.time", SimpleNamespace(monotonic=count(step=100).__next__))
        assert not ann.assemble("Plan a dinner.").standing
    assert "allergic to peanuts" in ann.assemble("Plan a dinner.").standing


def test_what_a_request_asks_for_is_no_safety(memory: HybridMemory) -> None:
    open_ones = (
        "Draft the note for the ward: what I take, what I cannot have, and who to ring.",
        "Redacta una nota para el comedor, con lo que no puedo comer.",
    )
    told = (
        "Plan a dinner, I can't eat nuts.",
        "Write to the cook, what I can't eat is nuts.",
        "What I can't eat: nuts.",
    )
    assert not [text for text in facts(memory, *open_ones) if "allergy" in text]
    assert len([text for text in facts(memory, *told) if "allergy" in text]) == len(told)


def test_the_sheet_shows_what_is_near_with_its_day_and_nothing_for_small_talk(memory: HybridMemory) -> None:
    scoped = memory.scoped(user="ann", session="s")
    for number in range(30):
        scoped.remember(f"My cousin number {number} collects stamps from country {number}.", at=AT)
    scoped.remember("The canary is called Pip.", at=AT)
    later = memory.scoped(user="ann", session="later")
    context = later.assemble("What is my canary called?", k=0)
    assert "canary" not in context.note
    context = later.assemble("What is my canary called?")
    assert "[2026-03-02]" in context.note
    assert "The canary is called Pip." in context.note
    for talk in ("thanks, that's all!", "Salut, ça va bien ce matin ?", "Oi, tudo bem com você?", "안녕, 잘 지냈어?"):
        assert not later.assemble(talk).note, talk
    for asked in ("¿qué canario?", "où est mon canari ?", "canary name"):
        assert "Pip" in later.assemble(asked).note, asked


def test_what_is_left_of_a_turn_beside_its_standing_sentence_must_say_something(memory: HybridMemory) -> None:
    scoped = memory.scoped(user="ann", session="s")
    scoped.remember(["Perfect. I am allergic to latex.", "I am allergic to nuts. The old ones were too big."])
    context = memory.scoped(user="ann", session="later").assemble("Order gloves for the kitchen.")
    assert "allergic to latex" in context.standing
    assert "The old ones were too big." in context.note
    assert "Perfect" not in context.note
    assert "allergic" not in context.note


def test_where_everything_fits_everything_is_shown(memory: HybridMemory) -> None:
    scoped = memory.scoped(user="ann", session="s")
    said = ["The shed key hangs behind the clock.", "Our boat is called Heron.", "Tom waters the plants in August."]
    for text in said:
        scoped.remember(text)
    note = memory.scoped(user="ann", session="later").assemble("Write a note for the neighbours.").note
    assert all(text in note for text in said)


def test_the_asking_turn_is_no_memory_and_lowers_none(memory: HybridMemory) -> None:
    scoped = memory.scoped(user="ann", session="s")
    for number in range(20):
        scoped.remember(f"Note {number}: the harbour was calm.")
    scoped.remember("The studio is in Annecy now.")
    later = memory.scoped(user="ann", session="later")
    before = later.assemble("Where is the studio now?").note
    later.remember("Where is the studio now?")
    assert later.assemble().note == before


def learned(memory: HybridMemory, table: str) -> Iterator[tuple[str, str, list[Fact]]]:
    """What each row of a table expects, its text, and the facts of a user who says nothing but that."""
    for number, (expected, text) in enumerate(rows(f"learning/{table}.tsv")):
        user = memory.scoped(user=f"u{number}")
        user.remember(text)
        yield expected, text, user.facts()


def test_instructions_that_always_hold_are_told_from_requests_for_one_answer(memory: HybridMemory) -> None:
    taken = [
        kind == "always"
        for kind, _, told in learned(memory, "orders")
        if any(fact.attribute in {"instruction", "communication_style"} for fact in told)
    ]
    assert len(taken) >= 23
    assert sum(taken) / len(taken) >= 0.96


def test_a_harm_is_told_of_the_user_or_of_somebody_else(memory: HybridMemory) -> None:
    wrong = [
        (whose, text)
        for whose, text, told in learned(memory, "whose")
        if {"others" if fact.subject == "others" else "user" for fact in told} != {whose}
    ]
    assert len(wrong) <= 30
    assert sum(whose == "user" for whose, _ in wrong) <= 17, "the user's own is hardly ever lost"


def test_a_task_teaches_only_what_it_says_by_the_way(memory: HybridMemory) -> None:
    wrong = [
        (expected, text)
        for expected, text, told in learned(memory, "requests")
        if ["harm" if fact.attribute in SAFETY else "note" for fact in told][:1] != [expected][: bool(expected)]
    ]
    assert len(wrong) <= 12
    assert sum(bool(expected) for expected, _ in wrong) <= 2, "what may harm is hardly ever lost"


@pytest.mark.parametrize(("text", "attribute"), rows("learning/statements.tsv", "no field"))
def test_what_was_and_what_only_sounds_alike_is_no_field_of_the_profile(
    memory: HybridMemory, text: str, attribute: str
) -> None:
    ann = memory.scoped(user="ann")
    ann.remember(text)
    assert [fact.text for fact in ann.facts()] == [text]
    assert ann.facts(attribute=attribute) == []


def test_an_attached_file_is_not_what_the_user_says() -> None:
    blocks = [{"type": "text", "text": "I moved to Oslo."}, {"type": "attachment", "text": "[lease]\nI own the flat."}]
    said = event(1, Message(content=blocks))
    assert [sentence.text for sentence in own_sentences([said], [])] == ["I moved to Oslo."]


def test_sentences_about_others_are_asked_for_by_name(memory: HybridMemory) -> None:
    ann = memory.scoped(user="ann")
    ann.remember(["My son Emil is allergic to eggs.", "My sister Nora lives in Ghent."])
    assert [fact.text for fact in ann.facts(subject="emil")] == ["My son Emil is allergic to eggs."]
    assert ann.facts(subject="Em") == []


def test_a_prompt_does_not_show_what_was_corrected(memory: HybridMemory) -> None:
    ann = memory.scoped(user="ann", session="monday")
    ann.remember(["Shall I buy a car? I live in Bonn and cycle to work.", "My bike is blue."])
    ann.learn()
    (home,) = [fact for fact in ann.facts() if "Bonn" in fact.text]
    ann.resolve(home, value="I live in Leipzig and cycle to work.")
    shown = memory.scoped(user="ann", session="friday").assemble("Where do I live?").text
    assert "Leipzig" in shown
    assert "Bonn" not in shown


def test_a_turn_that_is_marked_as_standing_instruction_is_one(memory: HybridMemory) -> None:
    ann = memory.scoped(user="ann", session="settings")
    ann.remember(Message(content="Answer briefly. No emojis. What else?", metadata={"standing_instruction": True}))
    ann.remember("Answer briefly, I am in a hurry.")
    ann.learn()
    assert [fact.text for fact in ann.facts(attribute="instruction")] == ["Answer briefly.", "No emojis."]


def test_a_judge_that_was_fitted_for_other_attributes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "OUTPUTS", judge.OUTPUTS[::-1])
    with pytest.raises(ValueError, match="fitted for other kinds or attributes"):
        judge._shipped.__wrapped__()


@pytest.mark.parametrize(
    ("task", "first", "last"),
    [
        ("Fill in the intake form for the new clinic.", "I take five milligrams of warfarin.", "We watched a film."),
        ("Plan a dinner for Saturday.", "Onions are not my thing at all.", "I study geology at Leeds."),
        ("Write my bio for the conference.", "I study geology at Leeds.", "The bus was late again this morning."),
        ("周六请客，菜单帮我定一下", "我女儿对虾过敏。", "今天公交车又晚点了。"),
    ],
)
def test_a_task_needs_sentences_of_some_kinds_more_than_others(task: str, first: str, last: str) -> None:
    embedder = LocalEmbedder()
    of_it = judge.judge_of(embedder)
    assert of_it is not None
    worth = of_it.outlines(embedder.embed_documents([first, last])) @ of_it.needed(embedder.embed_query(task))
    assert worth[0] > worth[1] + 1  # as much as a standard deviation of the likeness


def test_statements_of_a_wider_embedder_are_shown_after_a_change_to_the_local_one(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/memory.db"
    with open_memory(store, embedder=HashingEmbedder(dim=1024)) as memory:
        memory.scoped(user="ann", session="monday").remember("I live in Ghent with two cats.")
        memory.flush(progress=False)
    with open_memory(store, embedder="none") as memory:
        memory.rebuild(embedder=LocalEmbedder(), progress=False)
    with open_memory(store, embedder="local") as memory:
        assert "two cats" in memory.scoped(user="ann", session="friday").assemble("Plan a dinner.").text
