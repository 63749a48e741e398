from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.compression import replay
from benchmarks.peers import environment, prompts, quality, speed
from benchmarks.peers.lexical import split
from benchmarks.peers.own import Own
from benchmarks.peers.systems import OURS, SYSTEMS, Turn, chosen
from benchmarks.peers.texts import Corpus, Shape
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory_evaluation.measures import faults

OWN = SYSTEMS[0]
SAID = ["I adopted a grey cat", "My brother plays the cello", "We moved to Lisbon in May", "The boat needs new paint"]
CONVERSATION: dict[str, Any] = {
    "turns": [
        {"id": f"gold-{n}", "session": f"answer_{n // 2}", "time": None, "speaker": "Ann", "text": text}
        for n, text in enumerate(SAID)
    ],
    "questions": [
        {"question": "Which instrument does the brother play, the cello?", "evidence": ["gold-1"]},
        {"question": "Who painted the boat?", "evidence": ["gold-3"], "bad": "nobody did"},
        {"question": "What is the weather?", "evidence": []},
    ],
}


def test_quality_asks_what_counts_and_shows_no_memory_the_ids_of_the_set(tmp_path: Path) -> None:
    shown: list[Turn] = []

    class Watched(Own):
        def add(self, turns: Sequence[Turn]) -> None:
            shown.extend(turns)
            super().add(turns)

    found = quality.answers(partial(Watched, HashingEmbedder()), [CONVERSATION])
    assert [len(answers) for answers in found] == [1]
    assert found[0][0][0] == "gold-1"
    assert {turn.text for turn in shown} == {f"Ann: {text}" for text in SAID}
    assert not any("gold" in str(turn) for turn in shown)
    figures = quality.graded([CONVERSATION], found)
    assert figures == {"questions": 1, "r@5": 1.0, "r@10": 1.0, "all@10": 1.0, "hit@1": 1.0, "mrr@20": 1.0}


def test_a_table_says_where_a_peer_is_better_and_why_one_is_missing() -> None:
    ours = dict.fromkeys(quality.MEASURES, 0.5)
    table = quality.table(
        "t", {OURS["hybrid"]: ours, "Chroma": ours | {"hit@1": 0.6, "r@10": 0.25}, "bm25s": {"failed": "no wheel"}}
    )
    rows = {row["memory"]: row for row in table.rows}
    assert rows["Chroma"]["better than ours"] == "hit@1"
    assert rows["Chroma"]["r@10 to ours"] == 0.5
    assert rows["Chroma"]["equal work"] == "no"
    assert rows[OURS["hybrid"]]["better than ours"] == "no"
    assert "bm25s: no wheel" in table.note


def test_speed_fills_one_store_of_ours_for_its_three_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "QUESTIONS", (1, 16))
    monkeypatch.setattr(speed, "SINGLES", 10)
    clock = speed.Clock(speed.Timed())
    system = Own(clock.embedder, tmp_path)
    rows = speed.measured(system, OWN, clock, Shape(owners=2, turns=40))
    system.close()
    assert set(rows) == set(OURS.values())
    for row in rows.values():
        assert min(row["search p50 ms"], row["open ms"], row["first ms"], row["writes/s"], row["index/s"]) > 0
    assert rows[OURS["hybrid"]]["found"] > 0.9
    assert rows[OURS["vector"]]["found"] > 0.5, "vectors lie near those of their topic"
    filled = speed.table(Shape(2, 40), rows)
    title, columns, first = speed.published([{"title": filled.title, "rows": filled.rows}])[0].values()
    assert (title, columns[:2], first[0][:2]) == (filled.title, ["memory", "work"], ["ours", "hybrid"])


def test_speed_compares_ours_of_the_same_work_on_the_same_server() -> None:
    row = {"search p50 ms": 4.0}
    names = ("ours on Postgres", "ours", "LanceDB (FTS+vector, RRF)", "LangChain PGVectorStore (hybrid, HNSW)")
    figures = {name: {"search p50 ms": place} for place, name in enumerate(names, 1)} | {
        "Chroma": {"failed": "no disk"}
    }
    table = speed.table(Shape.of("3x1000"), figures | {"mem0 (pgvector, HNSW)": row})
    assert [(one["memory"], one.get("to ours")) for one in table.rows] == [
        ("ours on Postgres", 0.5), ("ours", 1.0), ("LanceDB (FTS+vector, RRF)", 1.5),
        ("LangChain PGVectorStore (hybrid, HNSW)", 4.0), ("mem0 (pgvector, HNSW)", None),
    ]  # fmt: skip
    assert (table.title, table.note) == ("Speed over 3 owners with 1,000 turns", "not measured: Chroma: no disk")


def test_what_owners_say_is_the_same_in_any_order_and_everybodys_own() -> None:
    corpus, again = Corpus(), Corpus()
    texts = corpus.texts(3, 995, 10)
    assert texts == again.texts(3, 990, 20)[5:15]
    assert texts != corpus.texts(4, 995, 10)
    for question, turn in corpus.questions(3, 2000, 5):
        said = corpus.turns(3, int(turn.partition("-")[2]), 1)[0]
        assert (said.id, said.owner) == (turn, "u3")
        assert set(question.split()[2:]) <= set(said.said.split())


def test_a_shape_is_read_in_batches() -> None:
    assert list(Shape.of("25").batches(10)) == [[(0, 0, 10)], [(0, 10, 10)], [(0, 20, 5)]]
    assert list(Shape.of("3x5").batches(10)) == [[(0, 0, 5), (1, 0, 5)], [(2, 0, 5)]]
    assert Shape.of("10000x1000").total == 10_000_000


def test_a_memory_of_a_peer_is_driven_as_ours_and_its_orphans_are_counted() -> None:
    pytest.importorskip("langchain")
    with prompts.opened("LangChain trim_messages", None), vars(replay)["open_memory"]() as memory:
        chat = memory.scoped(user="u", session="s")
        chat.remember("Which orders are late?")
        call = {"id": "c", "name": "f", "arguments": {"query": "order " * 100}}
        chat.remember({"role": "assistant", "content": "", "tool_calls": [call]})
        chat.remember({"role": "tool", "tool_call_id": "c", "content": "late " * 1900})
        context = chat.assemble(max_tokens=2000, identity="", layout="stable")
    assert [message.role for message in context.messages] == ["system", "tool"]
    assert faults(context.as_dicts()) == ["a result without its call"]


def test_a_row_of_prompts_stands_beside_ours() -> None:
    ours = dict.fromkeys([*prompts.HIGHER, *prompts.LOWER], 0.5)
    row = prompts.compared(ours | {"memory": "LlamaIndex Memory", "over": 1, "reuse": 0.25, "orphans": 0}, ours)
    assert (row["better than ours"], row["reuse to ours"], row["equal work"]) == ("orphans", 0.5, "no")


def test_a_process_that_breaks_is_listed_with_its_reason() -> None:
    found = environment.in_process({"measure": "nothing", "system": "x"}, patience=60)
    assert "No module named 'benchmarks.peers.nothing'" in found["failed"]
    assert environment.last_line("Collecting x\nERROR: no such wheel\n[notice] new pip") == "ERROR: no such wheel"


def test_ours_is_always_in_the_list() -> None:
    assert [entry.name for entry in chosen(["chroma"])] == [*OURS.values(), "Chroma"]
    assert [entry.name for entry in chosen(["redis"], servers=True)][3:] == [
        "ours on Redis", "ours on Redis, vectors alone"
    ]  # fmt: skip
    milvus = next(entry for entry in chosen(["milvus"], servers=True) if entry.server == "milvus")
    assert not speed.fits(milvus, Shape.of("1000000"))
    assert speed.fits(milvus, Shape.of("100x1000"))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("The boats, again", ["boats", "again"]), ("我们搬到里斯本", ["我们", "们搬", "搬到", "到里", "里斯", "斯本"])],
)
def test_words_are_split_for_english_and_for_chinese(text: str, tokens: list[str]) -> None:
    assert split(text, {"the"}) == tokens
