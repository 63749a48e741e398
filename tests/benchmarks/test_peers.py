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
from hybrid_memory.apps.evaluation.measures import faults
from hybrid_memory.models.embedders import HashingEmbedder

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


def test_speed_fills_one_store_of_ours_for_its_three_ways(tmp_path: Path) -> None:
    embedder = speed.Hashed(questions := ["the boat?", "", "新的船"])
    assert embedder.embed_query("").any()
    turns = speed.turns_of([f"Ann: the boat number {n}" for n in range(40)] + ["no speaker at all"])
    assert (turns[0].speaker, turns[0].said, turns[40].said) == ("Ann", "the boat number 0", "no speaker at all")
    system = Own(embedder, tmp_path)
    more = [Turn("new", "Ann", "one more")]
    rows = speed.measured(system, OWN, embedder, turns, more=more, questions=[questions[0], questions[2]] * 4)
    system.close()
    assert set(rows) == set(OURS.values())
    for row in rows.values():
        assert min(row["search p50 ms"], row["search cpu ms"], row["bulk/s"], row["single ms"]) > 0
        assert row["calls"] == 8
    faster = {
        OURS["hybrid"]: rows[OURS["hybrid"]],
        "LanceDB (FTS+vector, RRF)": rows[OURS["hybrid"]] | {"search p50 ms": 0.0},
    }
    assert [row["faster than ours"] for row in speed.table(41, faster).rows] == ["yes", "no"]


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


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("The boats, again", ["boats", "again"]), ("我们搬到里斯本", ["我们", "们搬", "搬到", "到里", "里斯", "斯本"])],
)
def test_words_are_split_for_english_and_for_chinese(text: str, tokens: list[str]) -> None:
    assert split(text, {"the"}) == tokens
