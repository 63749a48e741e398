"""Two days of a user, then ten months of another: what a memory finds, why, and what the model reads.

    python examples/demo.py                     one screen; the store is deleted at the end
    python examples/demo.py --explain           also every score, the summary of the long chat, and the times
    python examples/demo.py --store memory.db   a store that is kept

The long chat is sample_chat.jsonl: 212 turns of one person with an assistant, in English and Chinese, with facts that
change on the way. The questions are in questions.json; which turns answer them is read from it only after the recall.

Nothing here needs a server, an API key or the network. The model that "answers" is a script: it can only quote a line
of its prompt, so what it says shows what a language model would have had to go on.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.messages import BaseMessage
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CustomLLM

import hybrid_memory
from hybrid_memory import Hit, HybridMemory, MemoryConfig, open_memory
from hybrid_memory.analysis import parts
from hybrid_memory.errors import HybridMemoryError
from hybrid_memory.text.tokenize import terms
from langchain_hybrid_memory import HybridMemoryMiddleware
from llamaindex_hybrid_memory import HybridChatMemory

HERE = Path(__file__).parent
CHAT = HERE / "sample_chat.jsonl"
USER = "mei"
K = 5
SHOWN = 3
SIGNALS = 4
TOKENS = 1000
WIDTH = 100

DAYS = {
    "2026-11-02": [
        ("user", "I am allergic to shrimp."),
        ("assistant", "Noted. What can I do for you?"),
        ("user", "I take the night train to Porto on May 12."),
    ],
    "2026-11-05": [
        ("user", "Please move the dentist to Friday."),
        ("assistant", "Done: Friday at nine."),
        ("user", "And a strike: my train to Porto goes on May 14."),
    ],
}
QUESTION = "When do I go to Porto?"
OTHER = "What am I allergic to?"

Ask = Callable[[str], str]
"""A question to its answer."""


# The scripted model.


def quote(prompt: Sequence[str]) -> str:
    """The remembered line of the prompt that shares the most words with the question at its end.

    A word counts the more the fewer lines have it. This is no language model: it cannot say what is not in the prompt.
    """
    question = prompt[-1].rpartition("\n\n")[2]  # what was recalled for it may stand in front
    lines = [line.removeprefix("- ") for text in prompt for line in text.splitlines() if re.match(r"(- )?\[\d", line)]
    words = [set(terms(line)) for line in lines]
    common = Counter(word for line in words for word in line)
    asked = set(terms(question))
    weights = [sum(1 / common[word] for word in asked & line) for line in words]
    best = max(range(len(lines)), key=lambda row: (weights[row], row), default=None)
    return "I do not know: nothing in my prompt answers that." if best is None else lines[best]


class QuotingChatModel(SimpleChatModel):
    """The scripted model, as LangChain sees it; it keeps the newest prompt."""

    prompt: tuple[str, ...] = ()

    @property
    def _llm_type(self) -> str:
        return "quoting"

    def _call(self, messages: list[BaseMessage], *_: Any, **__: Any) -> str:
        self.prompt = tuple(str(message.text) for message in messages if message.type != "ai")
        return quote(self.prompt)


class QuotingLLM(CustomLLM):
    """The scripted model, as LlamaIndex sees it."""

    @property
    def metadata(self) -> LLMMetadata:
        """A chat model without tools."""
        return LLMMetadata(is_chat_model=True, model_name="quoting")

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """An answer to the last message."""
        prompt = [message.content or "" for message in messages if message.role != "assistant"]
        return ChatResponse(message=ChatMessage(role="assistant", content=quote(prompt)))

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """What the abstract class asks for; a chat engine calls `chat`."""
        return CompletionResponse(text=quote([prompt]))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        """Not needed here."""
        raise NotImplementedError


# The two frameworks.


def langchain_agent(model: QuotingChatModel, middleware: Sequence[HybridMemoryMiddleware] = ()) -> Ask:
    """An agent of LangChain, with or without a memory."""
    agent: Any = create_agent(model, middleware=middleware)
    config = {"configurable": {"user_id": "ann", "thread_id": "today, in LangChain"}}
    return lambda question: str(agent.invoke({"messages": [("user", question)]}, config)["messages"][-1].text)


def llamaindex_engine(memory: HybridMemory) -> Ask:
    """A chat engine of LlamaIndex, with a memory."""
    chat = HybridChatMemory.from_defaults(memory=memory, user="ann", session="today", k=K, remember=False)
    engine = SimpleChatEngine.from_defaults(llm=QuotingLLM(), memory=chat)
    return lambda question: str(engine.chat(question))


# Output: plain text in 100 columns, where a Chinese character takes two.


def columns(text: str) -> int:
    """How many columns a terminal needs for the text."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def clipped(text: str, width: int) -> str:
    """The text on one line, cut to so many columns."""
    text = " ".join(text.split())
    if columns(text) <= width:
        return text
    while columns(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def padded(text: str, width: int) -> str:
    """The text cut or filled to so many columns."""
    text = clipped(text, width)
    return text + " " * (width - columns(text))


def wrapped(text: str, width: int) -> Iterator[str]:
    """The text in lines of so many columns, broken at spaces and beside Chinese characters."""
    line = ""
    for unit in re.findall(r"[^\s\u2e80-\uffef]+|.", " ".join(text.split())):
        if columns(line + unit) > width:
            yield line.rstrip()
            line = ""
        line = (line + unit).lstrip()
    if line:
        yield line


def say(text: str, *, label: str = "", indent: int = 0) -> None:
    """Print the text wrapped and indented, behind a label on its first line."""
    for number, line in enumerate(wrapped(text, WIDTH - indent)):
        print(f"{'' if number else label:<{indent}}{line}")


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n== {text}")


def turn_of(hit: Hit) -> str:
    """The turn of a hit by its handle, with its day and the confidence."""
    return f"turn #{hit.record.turn} ({hit.record.at:%Y-%m-%d}), confidence {hit.confidence or 0:.2f}"


def reasons(hit: Hit) -> str:
    """The signals with the largest shares of the score; each is at most 1."""
    signals = asdict(hit.signals)
    return ", ".join(f"{part.label} {signals[part.label]:.2f}" for part in parts(hit)[:SIGNALS])


# Two days.


def show_days(memory: HybridMemory, *, explain: bool) -> None:
    """What a user says on two days, a question in a new thread, and the answer with and without the memory."""
    title("Two days of Ann with her agent")
    for day, turns in DAYS.items():
        session = memory.scoped(user="ann", session=day)
        for number, (role, words) in enumerate(turns, 1):
            session.remember({"id": f"{day}-{number}", "at": f"{day}T18:0{number}:00Z", "role": role, "content": words})
            print(f"  {day}  {role:<10} {words}")

    title("Today, in a new thread")
    memory.flush()
    hits = memory.scoped(user="ann").recall(QUESTION, k=K)
    model = QuotingChatModel()
    # Its own questions are not remembered: a second run on a store that is kept would quote their answers.
    middleware = HybridMemoryMiddleware(memory, remember=False)
    lines = [
        ("question", QUESTION),
        ("LangChain", langchain_agent(model, [middleware])(QUESTION)),
        ("found in", f"{turn_of(hits[0])}: {reasons(hits[0])}"),
        *(("why", f"{hit.record.text} {hit.why()}") for hit in hits if explain),
        ("without memory", langchain_agent(QuotingChatModel())(QUESTION)),
        ("question", OTHER),
        ("LlamaIndex", llamaindex_engine(memory)(OTHER)),
    ]
    for label, text in lines:
        say(text, label=f"  {label}", indent=18)
    print("\n  The prompt that the model gets in LangChain:")
    for line in "\n".join(model.prompt).splitlines():
        say(line, label="  |", indent=4)


# Ten months.


def fill(memory: HybridMemory, *, explain: bool) -> None:
    """Write the chat, session by session, and index it."""
    turns = [json.loads(line) for line in CHAT.read_text(encoding="utf-8").splitlines()]
    started = time.perf_counter()
    for session, said in groupby(turns, key=itemgetter("session")):
        messages = [{name: value for name, value in turn.items() if name != "session"} for turn in said]
        memory.scoped(user=USER, session=session).remember(messages)
    written = time.perf_counter()
    memory.scoped(user=USER).recall("the first recall indexes what is new")
    size = memory.stats().size_bytes / 1e6
    title(f"Ten months of Mei: {len(turns)} turns in English and Chinese; the file has {size:.1f} MB, vectors included")
    if explain:
        indexed = time.perf_counter()
        print(f"  durable after {written - started:.2f} s")
        print(f"  indexed and embedded by {memory.stats().embedder} in {indexed - written:.1f} s more\n")


def show_questions(memory: HybridMemory, path: Path, *, explain: bool) -> None:
    """Recall for each question, and compare with the turns that answer it."""
    asked = json.loads(path.read_text(encoding="utf-8"))
    complete = 0
    for number, entry in enumerate(asked, 1):
        started = time.perf_counter()
        hits = memory.scoped(user=USER).recall(entry["question"], k=K)
        spent = time.perf_counter() - started
        places = {hit.record.sources[0]: rank for rank, hit in enumerate(hits, 1)}
        evidence = [places.get(turn) for turn in entry["evidence"]]  # the labels are read only now
        complete += None not in evidence
        ranks = " and ".join("missing" if rank is None else f"{rank} of {K}" for rank in evidence)
        print(f"{number}. {padded(entry['question'], 55)} answer at {ranks}, {spent * 1e3:.0f} ms")
        for hit in hits[: SHOWN if explain else 1]:
            print(f"   {clipped(f'#{hit.record.turn} {hit.record.at:%Y-%m-%d}: {hit.record.text}', WIDTH - 3)}")
            if explain:
                say(hit.why(), label="     why", indent=9)
        for turn in entry["outdated"] if explain else []:
            print(f"   {turn} answered it once: {f'place {places[turn]}' if turn in places else 'not recalled'}")
    print(f"\n{complete} of {len(asked)} questions: every turn that answers it is among the {K} recalled")


def show_summary(memory: HybridMemory, question: str) -> None:
    """All sessions of the chat as one conversation: its prompt, its summary, and the words behind a line."""
    everything = memory.scoped(user=USER)
    title(f"All sessions as one conversation, in at most {TOKENS} tokens: {question}")
    say(repr(everything.assemble(question, max_tokens=TOKENS)), indent=3)
    summary = everything.summary()
    say(repr(summary), indent=3)
    weightiest = sorted(summary, key=lambda line: line.importance, reverse=True)[:SHOWN]
    for line in weightiest:
        say(f"{line.text} [{line.handle}]", label="   - ", indent=5)
    handle = weightiest[0].handle
    say(everything.expand(handle)[0].text, label=f"   expand({handle!r}): ", indent=17)


def main() -> None:
    """Run the demo on a store of its own, or on the one given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--explain", action="store_true", help="every score, the summary, and the times")
    parser.add_argument("--store", type=Path, help="keep the memory in this file")
    parser.add_argument("--questions", type=Path, default=HERE / "questions.json")
    options = parser.parse_args()
    print(f"hybrid-agent-memory {hybrid_memory.__version__}, in this process, without network and language model.")
    print("The model that answers is a script: it can only quote a line of its prompt.")
    with tempfile.TemporaryDirectory(prefix="hybrid-memory-") as folder:
        settings = {
            "learning": {"background": False},  # facts are only read where a prompt needs them
            "orchestration": {"model_timeout": timedelta(minutes=5)},  # the first recall waits for all vectors
        }
        path = (options.store or Path(folder) / "memory.db").resolve()
        with open_memory(MemoryConfig.model_validate({"url": f"sqlite:///{path}", **settings})) as memory:
            show_days(memory, explain=options.explain)
            fill(memory, explain=options.explain)
            show_questions(memory, options.questions, explain=options.explain)
            if options.explain:
                show_summary(memory, json.loads(options.questions.read_text(encoding="utf-8"))[0]["question"])
        if options.store:
            print(f"The memory is kept in {path}")
        if not options.explain:
            print("Every score and the summary: make demo ARGS=--explain")


if __name__ == "__main__":
    try:
        main()
    except HybridMemoryError as error:
        raise SystemExit(f"demo: {error}") from None
