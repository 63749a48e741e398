"""What an agent can do with the memory of a life: tasks, questions and facts, beside plain vector search.

    python benchmarks/lives                                   twelve lives, four minutes
    python benchmarks/lives --only en_bernie zh3_yiming --check
    python benchmarks/lives --crowd longmemeval_s.jsonl.gz --turns 1000
    python benchmarks/lives --tokens 435                      half of what a prompt shows of memory
    python benchmarks/lives --only en_bernie zh3_yiming --model Qwen2.5 --each 5 --json answers.json

The lives in `data` are invented: about 140 turns each over three to six months, in English, Chinese, Spanish, French
and a mixture, with other people's facts, pasted letters, jokes and plans that move. Each is written through the public
face at default settings. Then each task goes to an agent of LangChain in a new thread, whose model only keeps what it
was sent, and each question to `recall` and `assemble`. A task is possible, and a question answered, if all that it
needs stands in the prompt beside it.

Beside it, the same turns by vectors alone: the nearest 5, 10 and 20, and as many as our prompt has tokens. Tokens are
counted alike for all: 1.3 for a Latin word or a number, 1 for a CJK character. What `recall` finds of the evidence of
the questions (hit@1, r@10, r@20, all@10 of `benchmarks/measures.py`) is measured with the plain formula and with
vectors beside it, and once more after a remark that names a time, on a day on which something was said. With
``--crowd`` other people's chats stand around each life, as if its user had said all of it. ``--check`` compares with
`expected.json` and fails where a figure is worse by more than .02. With ``--model`` a model answers instead: a GGUF
file, or the beginning of its name in .models, served by llama.cpp in the environment of ``make test-full``.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by its folder, only that is on the path

from benchmarks.lives.answers import ARMS, SYSTEM, Exchange, answer, bare
from benchmarks.lives.crowd import crowd_around
from benchmarks.measures import grade
from benchmarks.vectors import KeptVectors
from hybrid_memory import HybridMemory, MemoryConfig, Weights, open_memory
from langchain_hybrid_memory import HybridMemoryMiddleware

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected.json"
WITHIN = 0.02
NEAREST = (5, 10, 20)
DEPTH = 20
RETRIEVAL = ("hit@1", "r@10", "r@20", "all@10")
REMARKS = {
    "en": ("I slept badly last night and today is a long day. ", "Morning, back again.", "It is a grey day."),
    "zh": ("昨晚没睡好，今天事情又多。", "早，我又来了。", "今天天气阴。"),
    "es": ("Anoche dormí mal y hoy tengo un día largo. ", "Buenos días, aquí estoy.", "Hoy está nublado."),
    "fr": ("Hier soir j'ai mal dormi et la journée est longue. ", "Bonjour, me revoilà.", "Il fait gris aujourd'hui."),
}
"""What people say before they ask, and before that on the same day."""
LOWER = (
    "facts_not claimed",
    "facts_superseded claimed",
    "tokens of a question",
    "tokens of a task",
    "small talk: lines",
)
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

    messages: list[BaseMessage] = []  # noqa: RUF012 - a field

    @property
    def prompt(self) -> str:
        """The prompt as text."""
        return "\n\n".join(f"{message.type}: {message.text}" for message in self.messages)

    @property
    def _llm_type(self) -> str:
        return "keeper"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Keeper:
        """Itself, as it calls no tool."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.messages = messages
        return ChatResult(generations=[ChatGeneration(message=AIMessage("OK."))])


@dataclass(frozen=True)
class Vectors:
    """The turns of a life by plain vector search."""

    embedder: KeptVectors
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


def turns_of(life: Mapping[str, Any], crowd: Sequence[Mapping[str, Any]] = ()) -> list[Mapping[str, Any]]:
    """The turns of a life and of the crowd around it, oldest first."""
    own = [{"id": f"t{number}", **turn} for number, turn in enumerate(life["turns"])]
    return sorted([*own, *crowd], key=lambda turn: datetime.fromisoformat(turn["at"]))


def written(user: str, turns: Iterable[Mapping[str, Any]], file: Path, embedder: KeptVectors) -> HybridMemory:
    """A store with these turns."""
    memory = open_memory(f"sqlite:///{file}", embedder=embedder)
    for turn in turns:
        fields = {key: turn[key] for key in ("id", "at", "role", "tool_calls", "tool_call_id", "name") if key in turn}
        memory.scoped(user=user, session=turn["session"]).remember([fields | {"content": turn["text"]}])
    memory.flush()
    return memory


def opened(file: Path, embedder: KeptVectors, settings: Mapping[str, Any]) -> HybridMemory:
    """The store in a file, with these settings."""
    return open_memory(MemoryConfig.model_validate({"url": f"sqlite:///{file}", **settings}), embedder=embedder)


def measure(
    life: Mapping[str, Any],
    turns: Sequence[Mapping[str, Any]],
    embedder: KeptVectors,
    figures: Figures,
    settings: Mapping[str, Any],
) -> None:
    """Write the turns of a life and the crowd around it, ask the life's questions and set its tasks."""
    name = life["name"]
    folder = Path(tempfile.mkdtemp())
    written(life["user"], turns, folder / "memory.db", embedder).close()
    memory = opened(folder / "memory.db", embedder, settings)
    vectors = Vectors(embedder, turns, embedder.embed_documents([words(turn)[:2000] or "-" for turn in turns]))
    _facts(life, memory, figures)
    for number, question in enumerate(life["questions"]):
        _question(life, memory, number, question, vectors, figures)
    memory.close()
    _after_a_remark(life, folder / "memory.db", embedder, figures)
    for number, task in enumerate(life["acting"]):
        file = folder / f"task{number}.db"
        shutil.copy(folder / "memory.db", file)
        with opened(file, embedder, settings) as again:
            prompt = _sent(again, life["user"], f"task {number}", task["q"]).prompt
        text = without(prompt, task["q"])
        figures.add("tasks possible", name, has(text, task["need"]))
        figures.add(f"tasks possible, {life['language']}", name, has(text, task["need"]))
        figures.add("tokens of a task", name, tokens(text))
        order = vectors.nearest(task["q"])
        for k in NEAREST:
            figures.add(f"tasks possible, {k} nearest vectors", name, has(vectors.text(order[:k]), task["need"]))
        alike = vectors.text(vectors.within(order, tokens(text)))
        figures.add("tasks possible, vectors, as many tokens", name, has(alike, task["need"]))
    shutil.rmtree(folder)


def _sent(
    memory: HybridMemory, user: str, thread: str, task: str, system: str = "You are a helpful assistant."
) -> Keeper:
    model = Keeper()
    agent = create_agent(model, system_prompt=system, middleware=[HybridMemoryMiddleware(memory)])
    config: RunnableConfig = {"configurable": {"user_id": user, "thread_id": thread}}
    agent.invoke({"messages": [HumanMessage(task)]}, config)
    return model


def exchanges(life: Mapping[str, Any], embedder: KeptVectors, each: int) -> Iterator[Exchange]:
    """So many questions and tasks of a life, spread evenly, arm by arm: a server reuses what prompts share."""
    turns, kinds = turns_of(life), {"question": life["questions"], "task": life["acting"]}
    fitting = {kind: [ask for ask in of if ask["need"]] for kind, of in kinds.items()}
    asks = [(kind, ask) for kind, of in fitting.items() for ask in of[:: max(1, len(of) // each)][:each]]
    vectors = Vectors(embedder, turns, embedder.embed_documents([words(turn)[:2000] or "-" for turn in turns]))
    prompts: dict[str, list[list[BaseMessage]]] = {arm: [] for arm in ARMS}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.db"
        written(life["user"], turns, file, embedder).close()
        for number, (_, ask) in enumerate(asks):
            copy = Path(shutil.copy(file, file.with_stem(f"copy{number}")))
            with open_memory(f"sqlite:///{copy}") as memory:
                ours = _sent(memory, life["user"], f"asked {number}", ask["q"], SYSTEM).messages
            nearest = vectors.text(vectors.nearest(ask["q"])[:10])
            for arm, prompt in zip(ARMS, (ours, bare(ask["q"], nearest), bare(ask["q"])), strict=True):
                prompts[arm].append(prompt)
    for arm, of in prompts.items():
        for (kind, ask), prompt in zip(asks, of, strict=True):
            yield Exchange(life["name"], kind, ask["q"], ask["need"], arm, prompt)


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
    order = vectors.nearest(question)
    ranked = {
        "": [hit.sources[0] for hit in me.recall(question, k=DEPTH)],
        ", plain": [hit.sources[0] for hit in me.recall(question, k=DEPTH, weights=Weights.plain())],
        ", vectors": [vectors.turns[row]["id"] for row in order[:DEPTH]],
    }
    for method, names in ranked.items():
        marks = grade(names, {f"t{row}" for row in evidence})
        for measure in RETRIEVAL:
            figures.add(f"{measure}{method}", name, marks[measure])
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


def _after_a_remark(life: Mapping[str, Any], file: Path, embedder: KeptVectors, figures: Figures) -> None:
    """The questions again, each after a remark, on the day on which they are asked."""
    asked_at = datetime.fromisoformat(life["asked_at"])
    remark, *before = REMARKS.get(life["language"], REMARKS["zh"])
    copy = Path(shutil.copy(file, file.with_stem("remark")))
    with open_memory(f"sqlite:///{copy}", embedder=embedder, clock=lambda: asked_at) as memory:
        me = memory.scoped(user=life["user"], session="that day")
        for minutes, text in zip((20, 10), before, strict=True):
            me.remember([{"role": "user", "content": text, "at": asked_at - timedelta(minutes=minutes)}])
        me.flush()
        for question in life["questions"]:
            evidence = {f"t{row}" for row in question["evidence"]}
            for method, weights in {"": None, ", plain": Weights.plain()}.items() if evidence else ():
                hits = me.recall(remark + question["q"], k=DEPTH, weights=weights)
                marks = grade([hit.sources[0] for hit in hits], evidence)
                for measure in RETRIEVAL[:2]:
                    figures.add(f"{measure} after a remark{method}", life["name"], marks[measure])


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
    parser.add_argument("--json", type=Path, help="write the figures into this file")
    parser.add_argument("--check", action="store_true", help="fail where a figure is worse than expected.json")
    parser.add_argument("--crowd", type=Path, help="other people's chats (*.jsonl.gz), written as the user's own")
    parser.add_argument("--turns", type=int, default=5000, help="how many turns of them")
    parser.add_argument("--tokens", type=int, help="the most tokens of memory in a prompt, if not the default")
    parser.add_argument("--model", help="a GGUF file, or the beginning of its name in .models, that answers")
    parser.add_argument("--each", type=int, default=10, help="how many questions and tasks of a life a model answers")
    given = parser.parse_args()
    lives = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(given.data.glob("*.json"))]
    lives = [life for life in lives if not given.only or life["name"] in given.only]
    settings = {} if given.tokens is None else {"prompt": {"memory_tokens": given.tokens}}
    figures, embedder = Figures(), KeptVectors()
    if given.model:
        asked = (exchange for life in lives for exchange in exchanges(life, embedder, given.each))
        print(json.dumps(answer(given.model, tqdm(asked, disable=None), has, given.json), indent=1, ensure_ascii=False))
        return 0
    for life in tqdm(lives, desc="lives", disable=None):
        crowd = () if given.crowd is None else crowd_around(life, given.crowd, given.turns)
        measure(life, turns_of(life, crowd), embedder, figures, settings)
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
