"""What an agent can do with the memory of a life: tasks, questions and facts, beside plain vector search.

    python benchmarks/lives                                   twelve lives, four minutes
    python benchmarks/lives --only en_bernie zh3_yiming --check

The lives in `data` are invented: about 140 turns each over three to six months, in English, Chinese, Spanish, French
and a mixture, with other people's facts, pasted letters, jokes and plans that move. Each is written through the public
face at default settings. Then each task goes to an agent of LangChain in a new thread, whose model only keeps what it
was sent, and each question to `recall` and `assemble`. A task is possible, and a question answered, if all that it
needs stands in the prompt beside it.

Beside it, the same turns by vectors alone: the nearest 5, 10 and 20, and as many as our prompt has tokens. Tokens are
counted alike for all: 1.3 for a Latin word or a number, 1 for a CJK character. ``--check`` compares with
`expected.json` and fails where a figure is worse by more than .02.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from tqdm import tqdm

from hybrid_memory import HybridMemory, open_memory
from hybrid_memory.models.embedders import LocalEmbedder
from langchain_hybrid_memory import HybridMemoryMiddleware

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected.json"
WITHIN = 0.02
NEAREST = (5, 10, 20)
LOWER = ("facts_not claimed", "facts_superseded claimed", "tokens of a task", "small talk: lines")
"""Figures that are better when they are lower; tokens and lines are compared by their share of the expected."""

_WORDS = re.compile(r"[^\W\d_\u3040-\u30ff\u4e00-\u9fff]+|\d+")
_CJK = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def has(text: str, patterns: Iterable[str]) -> bool:
    """Whether all patterns are in the text."""
    return all(re.search(pattern, text, re.IGNORECASE | re.DOTALL) for pattern in patterns)


def tokens(text: str) -> int:
    """The size of a text, alike for all methods."""
    return int(1.3 * len(_WORDS.findall(text)) + len(_CJK.findall(text)))


def words(turn: Mapping[str, Any]) -> str:
    """A turn with its tool calls as text."""
    calls = [
        f"{call['name']} {json.dumps(call['arguments'], ensure_ascii=False)}" for call in turn.get("tool_calls", [])
    ]
    return "\n".join(part for part in (turn["text"], *calls) if part)


def without(prompt: str, question: str) -> str:
    """The prompt without the question at its end."""
    head, _, tail = prompt.rpartition(question)
    return head + tail


class Keeper(BaseChatModel):
    """A chat model that answers "OK." and keeps the last prompt."""

    prompt: str = ""

    @property
    def _llm_type(self) -> str:
        return "keeper"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Keeper:
        """Itself, as it calls no tool."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.prompt = "\n\n".join(f"{message.type}: {message.text}" for message in messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("OK."))])


@dataclass(frozen=True)
class Vectors:
    """The turns of a life by plain vector search."""

    embedder: LocalEmbedder
    turns: Sequence[Mapping[str, Any]]
    rows: Any

    def nearest(self, question: str) -> list[int]:
        """The turns, nearest first."""
        return [int(row) for row in np.argsort(-(self.rows @ self.embedder.embed_query(question)))]

    def text(self, rows: Iterable[int]) -> str:
        """These turns as lines."""
        return "\n".join(self.line(row) for row in rows)

    def line(self, row: int) -> str:
        """A turn as a line."""
        turn = self.turns[row]
        return f"- [{turn['at'][:10]}] {turn['role']}: {words(turn)}"

    def within(self, order: Sequence[int], budget: int) -> list[int]:
        """The first turns that take no more tokens than this."""
        taken = np.cumsum([tokens(self.line(row)) for row in order])
        return list(order[: int(np.searchsorted(taken, budget, side="right"))])


class Figures:
    """Figures by name and life."""

    def __init__(self) -> None:
        self.values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, name: str, life: str, value: float) -> None:
        """Add a value."""
        self.values[name][life].append(float(value))

    def means(self, lives: Iterable[str] | None = None) -> dict[str, float]:
        """The mean of each figure, over these lives or all."""
        chosen = None if lives is None else set(lives)
        kept = {
            name: [value for life, values in by.items() if chosen is None or life in chosen for value in values]
            for name, by in self.values.items()
        }
        return {name: round(float(np.mean(values)), 3) for name, values in kept.items() if values}


def written(life: Mapping[str, Any], file: Path) -> HybridMemory:
    """A store with the turns of a life."""
    memory = open_memory(f"sqlite:///{file}")
    for number, turn in enumerate(life["turns"]):
        fields = {key: turn[key] for key in ("role", "tool_calls", "tool_call_id", "name") if key in turn}
        scoped = memory.scoped(user=life["user"], session=turn["session"])
        scoped.remember([fields | {"content": turn["text"], "id": f"t{number}", "at": turn["at"]}])
    memory.flush()
    return memory


def measure(life: Mapping[str, Any], embedder: LocalEmbedder, figures: Figures, prompts: Path | None) -> None:
    """Write a life, ask its questions and set its tasks."""
    name, turns = life["name"], life["turns"]
    folder = Path(tempfile.mkdtemp())
    memory = written(life, folder / "memory.db")
    vectors = Vectors(embedder, turns, embedder.embed_documents([words(turn)[:2000] or "-" for turn in turns]))
    _facts(life, memory, figures)
    for number, question in enumerate(life["questions"]):
        _question(life, memory, number, question, vectors, figures)
    memory.close()
    for number, task in enumerate(life["acting"]):
        file = folder / f"task{number}.db"
        shutil.copy(folder / "memory.db", file)
        with open_memory(f"sqlite:///{file}") as again:
            prompt = _sent(again, life["user"], f"task {number}", task["q"])
        text = without(prompt, task["q"])
        figures.add("tasks possible", name, has(text, task["need"]))
        figures.add(f"tasks possible, {life['language']}", name, has(text, task["need"]))
        figures.add("tokens of a task", name, tokens(text))
        order = vectors.nearest(task["q"])
        for k in NEAREST:
            figures.add(f"tasks possible, {k} nearest vectors", name, has(vectors.text(order[:k]), task["need"]))
        alike = vectors.text(vectors.within(order, tokens(text)))
        figures.add("tasks possible, vectors, as many tokens", name, has(alike, task["need"]))
        if prompts is not None:
            (prompts / f"{name}-{number}.txt").write_text(prompt, encoding="utf-8")
    shutil.rmtree(folder)


def _sent(memory: HybridMemory, user: str, thread: str, task: str) -> str:
    model = Keeper()
    agent = create_agent(
        model, system_prompt="You are a helpful assistant.", middleware=[HybridMemoryMiddleware(memory)]
    )
    config: RunnableConfig = {"configurable": {"user_id": user, "thread_id": thread}}
    agent.invoke({"messages": [HumanMessage(task)]}, config)
    return model.prompt


def _facts(life: Mapping[str, Any], memory: HybridMemory, figures: Figures) -> None:
    me = memory.scoped(user=life["user"], session="later")
    current, profile = [str(fact) for fact in me.facts()], str(me.profile())
    for fact in life["facts_current"]:
        held = any(has(text, fact["accept"]) for text in current) or has(profile, fact["accept"])
        figures.add("facts found", life["name"], held)
    for kind in ("facts_not", "facts_superseded"):
        for fact in life[kind]:
            figures.add(f"{kind} claimed", life["name"], any(has(text, [fact["pattern"]]) for text in current))


def _question(  # noqa: PLR0917
    life: Mapping[str, Any], memory: HybridMemory, number: int, asked: Mapping[str, Any], vectors: Vectors,
    figures: Figures,
) -> None:  # fmt: skip
    name, question, evidence = life["name"], asked["q"], set(asked["evidence"])
    me = memory.scoped(user=life["user"], session=f"question {number}")
    text = without(me.assemble(question).text, question)
    lines = text.partition("<memory>")[2].partition("</memory>")[0].split("\n- ")[1:]
    if not evidence:
        if asked["kind"] == "smalltalk":
            figures.add("small talk: lines", name, len(lines))
        return
    hits = [{int(source[1:]) for source in hit.sources} for hit in me.recall(question, k=10)]
    order = vectors.nearest(question)
    figures.add("first hit right", name, bool(hits and hits[0] & evidence))
    figures.add("first hit right, vectors", name, order[0] in evidence)
    figures.add("all evidence in 10", name, evidence <= set().union(*hits))
    figures.add("questions answered", name, has(text, asked["need"]))
    figures.add("tokens of a question", name, tokens(text))
    starts = [life["turns"][row]["text"][:60].split("\n")[0][:40] for row in evidence]
    if lines:
        figures.add(
            "recalled lines that are evidence", name, sum(any(s in x for s in starts) for x in lines) / len(lines)
        )
    for k in NEAREST:
        figures.add(f"questions answered, {k} nearest vectors", name, has(vectors.text(order[:k]), asked["need"]))
    alike = vectors.text(vectors.within(order, tokens(text)))
    figures.add("questions answered, vectors, as many tokens", name, has(alike, asked["need"]))


def shortfalls(means: Mapping[str, float], expected: Mapping[str, float]) -> list[str]:
    """The figures that are worse than expected by more than `WITHIN`."""
    short = []
    for name, value in expected.items():
        got = means.get(name, float("nan"))
        if name in LOWER:
            worse = got > value + (WITHIN if name.startswith("facts") else max(1.0, WITHIN * value))
        else:
            worse = not got >= value - WITHIN
        if worse:
            short.append(f"{name}: {got:.3f}, expected {value:.3f}")
    return short


def main() -> int:
    """Measure, print and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE / "data", help="a folder of lives")
    parser.add_argument("--only", nargs="*", help="names of lives")
    parser.add_argument("--prompts", type=Path, help="write the prompts of the tasks into this folder")
    parser.add_argument("--json", type=Path, help="write the figures into this file")
    parser.add_argument("--check", action="store_true", help="fail where a figure is worse than expected.json")
    given = parser.parse_args()
    if given.prompts is not None:
        given.prompts.mkdir(parents=True, exist_ok=True)
    lives = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(given.data.glob("*.json"))]
    lives = [life for life in lives if not given.only or life["name"] in given.only]
    figures, embedder = Figures(), LocalEmbedder()
    for life in tqdm(lives, desc="lives", disable=None):
        measure(life, embedder, figures, given.prompts)
    means = figures.means()
    for name, value in means.items():
        by = ", ".join(f"{life} {np.mean(values):.2f}" for life, values in figures.values[name].items())
        print(f"{name:46}{value:9.3f}   {by}")
    if given.json is not None:
        each = {life["name"]: figures.means([life["name"]]) for life in lives}
        given.json.write_text(json.dumps({"all": means, "lives": each}, indent=1) + "\n", encoding="utf-8")
    if not given.check:
        return 0
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    short = shortfalls(means, expected)
    print("\n".join(["worse than expected:", *short]) if short else "as expected")
    return len(short)


if __name__ == "__main__":
    sys.exit(main())
