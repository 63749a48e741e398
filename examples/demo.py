"""One memory in two frameworks: a long chat goes in, and in a new session a chain and a chat engine answer from it.

    python examples/demo.py                     a fresh store, deleted at the end
    python examples/demo.py --store memory.db   a store that is kept

The chat is sample_chat.jsonl: ten months of one person with an assistant, in English and Chinese, with facts that
change on the way. The questions are in questions.json; which turns answer them is read from it only after the recall.
On the way, prompts of a bounded size fold older sessions into a summary, of which each line leads back to the words.

Nothing here needs a server, an API key or the network. The model that "answers" is a script: it can only quote what
the memory put into its prompt, so what it says shows what a language model would have had to go on.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.messages import BaseMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import CustomLLM

import hybrid_memory
import langchain_hybrid_memory
import llamaindex_hybrid_memory
from hybrid_memory import Hit, HybridMemory, ScopedMemory, open_memory
from hybrid_memory.errors import HybridMemoryError
from hybrid_memory.text.tokenize import terms

HERE = Path(__file__).parent
USER = "mei"
K = 5
SHOWN = 3
TOKENS = 1000
WIDTH = 100
PROMPT = "Answer from what you remember."

Ask = Callable[[str], str]
"""A question to its answer."""


# The scripted model.


def quote(prompt: Sequence[str]) -> str:
    """The two remembered lines of the prompt that share the most words with the question at its end, best first.

    A word counts the more the fewer lines have it. This is no language model: it cannot say what is not in the prompt.
    """
    question = prompt[-1].rpartition("\n\n")[2]  # what was recalled for it may stand in front
    lines = [line[2:] for text in prompt for line in text.splitlines() if line.startswith("- [")]
    words = [set(terms(line)) for line in lines]
    common = Counter(word for line in words for word in line)
    asked = set(terms(question))
    weight = [sum(1 / common[word] for word in asked & line) for line in words]
    best = sorted(range(len(lines)), key=lambda row: (weight[row], row), reverse=True)[:2]
    return "\n".join(lines[row] for row in best) or "Nothing in my prompt answers that."


class QuotingChatModel(SimpleChatModel):
    """The scripted model, as LangChain sees it."""

    @property
    def _llm_type(self) -> str:
        return "quoting"

    def _call(self, messages: list[BaseMessage], *_: Any, **__: Any) -> str:
        return quote([str(message.text) for message in messages if message.type != "ai"])


class QuotingLLM(CustomLLM):
    """The scripted model, as LlamaIndex sees it."""

    @property
    def metadata(self) -> LLMMetadata:
        """A chat model without tools."""
        return LLMMetadata(is_chat_model=True, model_name="quoting")

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        """An answer to the last message."""
        told = [message.content or "" for message in messages if message.role != "assistant"]
        return ChatResponse(message=ChatMessage(role="assistant", content=quote(told)))

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """What the abstract class asks for; a chat engine calls `chat`."""
        return CompletionResponse(text=quote([prompt]))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        """Not needed here."""
        raise NotImplementedError


# The two frameworks, on the same memory.


def langchain_chain(memory: HybridMemory, session: str) -> Ask:
    """An LCEL chain whose history placeholder is filled by the memory."""
    chat = langchain_hybrid_memory.HybridChatMemory(
        memory=memory, user=USER, session=session, k=K, return_messages=True
    )
    prompt = ChatPromptTemplate.from_messages(
        [("system", PROMPT), MessagesPlaceholder("history"), ("human", "{input}")]
    )
    history = RunnableLambda(chat.load_memory_variables, chat.aload_memory_variables) | itemgetter("history")
    chain = RunnablePassthrough.assign(history=history) | prompt | QuotingChatModel()

    def ask(question: str) -> str:
        answer = chain.invoke({"input": question})
        chat.save_context({"input": question}, {"output": answer})
        return str(answer.text)

    return ask


def llamaindex_engine(memory: HybridMemory, session: str) -> Ask:
    """A simple chat engine on the memory."""
    chat = llamaindex_hybrid_memory.HybridChatMemory.from_defaults(memory=memory, user=USER, session=session, k=K)
    engine = SimpleChatEngine.from_defaults(llm=QuotingLLM(), memory=chat, system_prompt=PROMPT)
    return lambda question: str(engine.chat(question))


FRAMEWORKS = {
    "langchain": ("LangChain: an LCEL chain with a MessagesPlaceholder", langchain_chain),
    "llamaindex": ("LlamaIndex: a SimpleChatEngine", llamaindex_engine),
}


# Files.


def sessions(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The turns of the chat, as messages, session by session."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        turn = json.loads(line)
        grouped.setdefault(turn.pop("session"), []).append(turn)
    return grouped


def questions(path: Path) -> list[tuple[str, str]]:
    """Each question with the framework to ask, and nothing else of the file."""
    return [(entry["ask"], entry["question"]) for entry in json.loads(path.read_text(encoding="utf-8"))]


def labels(path: Path) -> dict[str, dict[str, Any]]:
    """By question: the turns that answer it, and those that did once."""
    return {entry["question"]: entry for entry in json.loads(path.read_text(encoding="utf-8"))}


# Output: plain text in 100 columns, where a Chinese character takes two.


def columns(text: str) -> int:
    """How many columns a terminal needs for the text."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def clipped(text: str, room: int) -> str:
    """The text on one line, cut to so many columns."""
    text = " ".join(text.split())
    if columns(text) <= room:
        return text
    while columns(text) > room - 1:
        text = text[:-1]
    return f"{text}…"


def wrapped(text: str, room: int) -> Iterator[str]:
    """The text in lines of so many columns, broken at spaces and beside Chinese characters."""
    line = ""
    for unit in re.findall(r"[^\s\u2e80-\uffef]+|.", " ".join(text.split())):
        if columns(line + unit) > room:
            yield line.rstrip()
            line = ""
        line = (line + unit).lstrip()
    if line:
        yield line


def say(text: str, *, first: str = "", indent: str = "") -> None:
    """Print the text wrapped, behind a label on its first line."""
    for number, line in enumerate(wrapped(text, WIDTH - max(len(first), len(indent)))):
        print(f"{indent if number else first or indent}{line}")


def show_recall(hits: Sequence[Hit], label: dict[str, Any]) -> None:
    """The best turns with their scores and reasons, and whether those that answer the question are among them."""
    print("       turn      score  vector    text")
    for place, hit in enumerate(hits[:SHOWN], 1):
        record, signals = hit.record, hit.signals
        head = (
            f"   {place}.  {record.sources[0][:8]:<8} {hit.score:6.3f}  {signals.vector:6.2f}  {signals.text:6.2f}   "
        )
        said = f"{record.at:%Y-%m-%d} {record.speaker}: {record.text}"
        print(head + clipped(said, WIDTH - len(head)))
        say(hit.why(), first="       why: ", indent="            ")
    found = [hit.record.sources[0] for hit in hits]
    for name, absent in (("evidence", "MISSED"), ("outdated", "not recalled")):
        places = [
            f"{turn} {f'place {found.index(turn) + 1} of {len(hits)}' if turn in found else absent}"
            for turn in label[name]
        ]
        if places:
            say(", ".join(places), first=f"   {name}: ", indent="             ")


def show_prompt(everything: ScopedMemory, question: str) -> None:
    """All sessions as one conversation: the sizes of its prompt, its summary, and the words behind a line."""
    title = f"Prompt: all sessions as one conversation, in at most {TOKENS} tokens"
    print(f"\n{title}\n{'-' * WIDTH}\n\n   {question}")
    context = everything.assemble(question, max_tokens=TOKENS)
    summary = everything.summary()
    say(repr(context), indent="   ")
    say(repr(summary), indent="   ")
    weightiest = sorted(summary, key=lambda line: line.importance, reverse=True)[:SHOWN]
    for line in weightiest:
        say(f"{line.text} [{line.handle}]", first="   - ", indent="     ")
    handle = weightiest[0].handle
    (original,) = everything.expand(handle)
    say(original.text, first=f"   expand({handle!r}): ", indent="     ")


@dataclass
class Times:
    """Seconds by step, over all its parts."""

    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time what happens inside."""
        started = time.perf_counter()
        yield
        self.spent[name] = self.spent.get(name, 0.0) + time.perf_counter() - started

    def line(self, name: str, text: str) -> None:
        """Print a step with its time."""
        print(f"  {name:<8}{self.spent[name]:>8.2f} s   {text}")


# The steps.


def fill(memory: HybridMemory, chat: Path, times: Times) -> None:
    """Write the chat, session by session, with a prompt after each, and index it."""
    grouped = sessions(chat)
    everything = memory.scoped(user=USER)
    before = len(everything.history())
    receipts = []
    for name, said in grouped.items():
        with times.step("write"):
            receipts.append(memory.scoped(user=USER, session=name).remember(said))
        with times.step("prompts"):
            everything.assemble(max_tokens=TOKENS, k=0)
    turns = sum(len(receipt.ids) for receipt in receipts)
    known = sum(len(receipt.duplicates) for receipt in receipts)
    times.line("write", f"{turns - known} turns of {len(grouped)} sessions into the log, durable")
    if known:
        print(f"{'':>22}{known} were there already, under the same ids")
    if before > known:
        print(f"{'':>22}{before - known} turns of earlier runs, questions and answers, are remembered too")
    times.line("prompts", f"{len(grouped)} of at most {TOKENS} tokens, one after each session")
    with times.step("index"):
        derived = everything.flush()
    times.line("index", f"{derived.indexed} turns for text search, {derived.embedded} embedded")


def run(memory: HybridMemory, chat: Path, asked: Path, times: Times) -> None:
    """Fill the memory, recall for all questions, then let both frameworks answer."""
    fill(memory, chat, times)
    everything = memory.scoped(user=USER)
    recalled: dict[str, list[Hit]] = {}
    for _, question in questions(asked):
        with times.step(question):
            recalled[question] = everything.recall(question, k=K)
    recalls = [times.spent[question] for question in recalled]
    times.spent["recall"] = sum(recalls)
    times.line(
        "recall", f"{len(recalls)} questions, median {statistics.median(recalls) * 1e3:.0f} ms, embedding included"
    )

    show_prompt(everything, questions(asked)[0][1])
    label = labels(asked)  # only now
    session = f"demo-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    answering = []
    for framework, (title, build) in FRAMEWORKS.items():
        print(f"\n{title}, new session {session!r}\n{'-' * WIDTH}")
        ask = build(memory, session)
        for number, (wanted, question) in enumerate(questions(asked), 1):
            if wanted != framework:
                continue
            print(f"\n{number}. {question}")
            show_recall(recalled[question], label[question])
            with times.step(f"answer {number}"):
                answer = ask(question)
            answering.append(times.spent[f"answer {number}"])
            for line in answer.splitlines():
                say(line, first="   > ", indent="     ")
            print(f"   recall {times.spent[question] * 1e3:.0f} ms, answer {answering[-1] * 1e3:.0f} ms")
    summary(recalled, label, times, sum(answering))


def summary(recalled: dict[str, list[Hit]], label: dict[str, dict[str, Any]], times: Times, answering: float) -> None:
    """How many questions found what answers them, and where the time went."""
    whole = sum(
        set(label[question]["evidence"]) <= {hit.record.sources[0] for hit in hits}
        for question, hits in recalled.items()
    )
    print(f"\n{'=' * WIDTH}")
    print(f"{whole} of {len(recalled)} questions: every turn that answers it is among the {K} recalled")
    steps = ("open", "write", "prompts", "index", "recall")
    spent = {name: times.spent[name] for name in steps} | {"answers": answering}
    print(f"time: {', '.join(f'{name} {seconds:.2f} s' for name, seconds in spent.items())}")
    print("      (an answer includes embedding what this session said so far, before the memory recalls again)")


def main() -> None:
    """Run the demo on a store of its own, or on the one given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="keep the memory in this file")
    parser.add_argument("--questions", type=Path, default=HERE / "questions.json")
    options = parser.parse_args()
    times = Times()
    with tempfile.TemporaryDirectory(prefix="hybrid-memory-") as folder:
        path = (options.store or Path(folder) / "memory.db").resolve()
        print(f"hybrid-agent-memory {hybrid_memory.__version__}: one memory, two frameworks\n")
        with times.step("open"):
            memory = open_memory(f"sqlite:///{path}")
        with memory:
            times.line("open", f"{path}{'' if options.store else ' (deleted at the end)'}")
            print(f"{'':>22}embedder: {memory.stats().embedder or 'none, recall works with words alone'}")
            print(f"{'':>22}model: a script; it quotes the remembered lines of its prompt nearest to the question")
            run(memory, HERE / "sample_chat.jsonl", options.questions, times)


if __name__ == "__main__":
    try:
        main()
    except HybridMemoryError as error:
        raise SystemExit(f"demo: {error}") from None
