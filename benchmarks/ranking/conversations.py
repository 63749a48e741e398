"""Conversations with labelled questions that were written for the ranker, and sets whose licence lets it learn."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.sets import load

HERE = Path(__file__).parent / "conversations"
OWN = {"own_en": "en_peers_*.txt", "own_zh": "zh_*.txt", "own_assistant": "en_assistant_*.txt"}
"""Ours, in the files beside this one."""

LICENSED = ("friendsqa", "longmemeval_s", "bfcl_memory", "memorybank_zh", "memorybank_en")
"""Of others under MIT or Apache-2.0: with ours, what the ranker that is shipped has learned from."""

MEASURED = ("locomo", "realtalk", "longmemeval_oracle")
"""What it has not seen; of LongMemEval the same questions over their evidence alone."""

DIALOGUES = 12
"""Short dialogues of FriendsQA that make one conversation."""

_TURN = re.compile(r"(\d+)\s+([^:：]{1,30})[:：]\s*(.+)")


def conversations(data: Path, name: str) -> Iterator[dict[str, Any]]:
    """The conversations of a set, in the format of the labelled sets."""
    if name in OWN:
        yield from map(_read, sorted(HERE.glob(OWN[name])))
    elif name == "friendsqa":
        yield from _joined(list(load(data, name)))
    else:
        yield from load(data, name)


def _read(path: Path) -> dict[str, Any]:
    """A file of ours: sessions begin with ``## day time``, turns are numbered, questions begin with ``??``."""
    turns: list[dict[str, Any]] = []
    questions: list[dict[str, Any]] = []
    time = ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("??"):
            question, category, evidence = (part.strip() for part in line[2:].rsplit("|", 2))
            numbers = [number.strip() for number in re.split("[,，]", evidence) if number.strip()]
            name = f"{path.stem}/{len(questions)}"
            questions.append({"id": name, "question": question, "category": category, "evidence": numbers})
        elif line.startswith("## "):
            time = line[3:].strip().replace(" ", "T") + ":00"
        elif found := _TURN.match(line):
            number, speaker, text = found.groups()
            turns.append({"id": number, "session": time, "time": time, "speaker": speaker.strip(), "text": text})
    return {"conv": path.stem, "turns": turns, "questions": questions}


def _joined(dialogues: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for start in range(0, len(dialogues), DIALOGUES):
        turns: list[dict[str, Any]] = []
        questions: list[dict[str, Any]] = []
        for number, one in enumerate(dialogues[start : start + DIALOGUES]):
            turns += [turn | {"id": f"{number}:{turn['id']}", "session": str(number)} for turn in one["turns"]]
            questions += [
                asked | {"evidence": [f"{number}:{turn}" for turn in asked["evidence"]]} for asked in one["questions"]
            ]
        yield {"conv": f"friends{start}", "turns": turns, "questions": questions}
