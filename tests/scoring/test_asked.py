"""A short answer comes with its question, never with one that may not be found; a turn stands for its facts."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from hybrid_memory import Hit, HybridMemory, Message, ScopedMemory, open_memory
from hybrid_memory.apps.cli import printing, turns
from hybrid_memory.context.memories import Memories, memory_line, memory_note
from hybrid_memory.recall.measure import demand
from hybrid_memory.tools import MEMORY_TOOLS
from langchain_hybrid_memory.documents import document
from llamaindex_hybrid_memory.retriever import node
from tests.doubles import Deriving

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
QUESTION, ANSWER = "When shall we meet at the station?", "At half past nine."
TOOLS = {tool.name: tool for tool in MEMORY_TOOLS}
LATER = "When do we meet at the station?"


def said(speaker: str, text: str, number: int, **changes: object) -> Message:
    return Message.model_validate(
        {"content": text, "name": speaker, "id": f"m{number}", "at": START + timedelta(minutes=number), **changes}
    )


def told(memory: HybridMemory, **changes: object) -> ScopedMemory:
    """Another session of ann than the one where she asked, and bob answered."""
    before = memory.scoped(user="ann", session="before")
    before.remember([said("bob", "I saw the bus.", 1), said("ann", QUESTION, 2, **changes), said("bob", ANSWER, 3)])
    before.flush(progress=False)
    return memory.scoped(user="ann", session="now")


def answer(hits: list[Hit]) -> Hit:
    return next(hit for hit in hits if hit.record.text == ANSWER)


def test_a_short_answer_comes_with_its_question(memory: HybridMemory) -> None:
    hits = told(memory).recall(LATER)
    hit = answer(hits)
    assert hit.asked is not None
    assert (hit.asked.text, hit.asked.speaker, hit.sources) == (QUESTION, "ann", ("m3", "m2"))
    assert f"; answers ann: {QUESTION!r}" in hit.why()
    assert f"ann: {QUESTION!r}" in re.sub("&#x27;", "'", hit._repr_html_())
    asked = {"text": QUESTION, "speaker": "ann", "origin": "user", "sources": ["m2"]}
    assert hit.as_metadata()["asked"] == asked
    assert [other.asked for other in hits if other is not hit] == [None] * (len(hits) - 1)


def test_what_stands_by_itself_comes_without_its_question(memory: HybridMemory) -> None:
    ann = memory.scoped(user="ann", session="before")
    long = "We meet at the station at half past nine, take the slow train along the coast, and have lunch in Genoa."
    ann.remember([said("ann", QUESTION, 1), said("bob", long, 2), said("ann", "What about Tom?", 3)])
    ann.remember([said("ann", "He has the tickets.", 4)])
    assert [hit.asked for hit in memory.scoped(user="ann").recall(LATER)] == [None] * 4


def test_a_question_that_is_not_to_be_found_never_comes(memory: HybridMemory) -> None:
    ann = told(memory, origin="web", metadata={"channel": "mail"})
    assert answer(ann.recall(LATER)).asked is not None
    for filters in ({"origins": ["user"]}, {"since": START + timedelta(minutes=3)}):
        assert answer(ann.recall(LATER, **filters)).asked is None, filters
    past = memory.scoped(user="ann", session="before").as_of(START + timedelta(days=1))
    assert answer(past.recall(LATER, scope="session")).asked is not None


def test_a_forgotten_question_never_comes(memory: HybridMemory) -> None:
    ann = told(memory)
    hit = answer(ann.recall(LATER))
    prompt = ann.assemble(LATER)
    assert f"ann: {QUESTION} -> bob: {ANSWER}" in str(prompt.messages)
    ann.forget(ids=["m2"])
    again = answer(ann.recall(LATER))
    assert (again.asked, again.record.id) == (None, hit.record.id)
    assert QUESTION not in str(ann.assemble(LATER).messages)
    assert not [event for event in ann.events(kinds=["recalled"]) if QUESTION in str(event.payload)]


def test_a_note_tells_a_question_once_and_whose_it_is(memory: HybridMemory) -> None:
    hits = told(memory, origin="web").recall(LATER)
    hit = answer(hits)
    assert memory_line(hit, frozenset()) == f"- [2026-03-02] web (ann): {QUESTION} -> bob: {ANSWER}"
    assert hit.origin == "web"
    notes = [memory_note(Memories(shown), LATER) for shown in (tuple(hits), (hit,))]
    assert [note.count(QUESTION) for note in notes] == [1, 1]


def test_a_turn_stands_in_its_own_words_for_the_fact_that_fits_better() -> None:
    derived = Deriving(("Ines", "Ines", "home", "Turin"))
    with open_memory("memory://", embedder="hashing", extractor=derived) as memory:
        ann = memory.scoped(user="ann", session="s")
        ann.remember("Good morning.")
        ann.remember("My sister Ines lives in Turin.", metadata={"channel": "mail"})
        ann.flush(progress=False)
        (fact, *_) = ann.recall("Ines lives in: Turin", kinds=["fact"])
        (turn, *_) = ann.recall("Ines lives in: Turin")
    assert (fact.record.kind, fact.own, turn.record.kind) == ("fact", None, "turn")
    assert (turn.record.text, turn.record.turn) == ("My sister Ines lives in Turin.", fact.record.turn)
    assert turn.own is not None
    assert turn.own < turn.score
    assert turn.arithmetic.startswith(f"{turn.score:.3f} by its fact {fact.record.text!r}; before it {turn.own:.3f} ")


def test_whoever_shows_a_hit_shows_the_question(memory: HybridMemory, capsys: pytest.CaptureFixture[str]) -> None:
    ann = told(memory)
    answered = TOOLS["memory_recall"].run(ann, {"query": LATER})
    assert f"#3 [2026-03-02] ann: {QUESTION} -> bob: {ANSWER}" in answered.text
    hit = answer(ann.recall(LATER))
    assert printing.hit(hit)["asked"]["text"] == QUESTION
    turns.show_hits([hit], why=False)
    assert f"ann: {QUESTION}" in capsys.readouterr().out
    made = document(hit)
    assert (made.page_content, made.metadata["asked"]["text"]) == (ANSWER, QUESTION)
    assert node(hit).node.metadata["asked"]["text"] == QUESTION


@pytest.mark.parametrize(
    ("queries", "of_self"),
    [
        (["Where do I live?", "where did i work before", "我住在哪里？", "我是做什么的？"], True),
        (["Where does my sister live?", "我妹妹住在哪里？", "Where is it?", "我们去哪里？"], False),
    ],
)
def test_a_question_about_oneself_is_told_from_one_about_others(queries: list[str], of_self: bool) -> None:
    assert [demand(query).of_self for query in queries] == [of_self] * len(queries)


def test_what_is_known_of_the_user_is_for_a_question_about_oneself() -> None:
    derived = Deriving(("Hamburg", "user", "home", "Hamburg"), ("Graz", "Anna", "home", "Graz"))
    with open_memory("memory://", embedder="hashing", extractor=derived) as memory:
        alice = memory.scoped(user="alice")
        alice.remember("I live in Hamburg, right by the canal, and I love it.")
        alice.remember("My sister Anna lives in Graz.")
        alice.flush(progress=False)
        asked = {
            query: {hit.record.text: hit.signals.speaker for hit in alice.recall(query, kinds=["fact"])}
            for query in ("Where do I live?", "Where does Anna live?")
        }
    mine, hers = "user lives in: Hamburg", "Anna lives in: Graz"
    assert asked["Where do I live?"][mine] > asked["Where do I live?"][hers]
    assert asked["Where does Anna live?"][mine] < asked["Where does Anna live?"][hers]
