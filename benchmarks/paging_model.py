"""A small model that manages its own memory: a short conversation in two languages, call by call.

    python benchmarks/paging_model.py --model Qwen2.5 --out paging-transcript.md

The model is a GGUF file, or the beginning of its name in .models; llama.cpp serves it over an OpenAI-compatible
endpoint on loopback, on one thread, and LangChain's ``ChatOpenAI`` asks it, at temperature 0. The window is so small
that the model is warned and messages leave it. The transcript holds every call as it was made, and what came of it; a
turn is as hoped if the blocks and the replies say afterwards what they should.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from benchmarks.agent import gguf, served
from hybrid_memory import MemoryConfig, Role, open_memory
from hybrid_memory.log.message import PRESSURE
from hybrid_memory.models.tokenizers import token_counter
from hybrid_memory.text.structured import pieces
from hybrid_memory.text.tokens import message_tokens
from hybrid_memory_paging import AgentRun, PagedAgent
from hybrid_memory_paging.reading import read
from langchain_hybrid_memory.messages import from_langchain

MAX_TOKENS = 1600
ANSWER_TOKENS = 240
MAX_STEPS = 5
BEGINNING = datetime(2026, 5, 4, 9, tzinfo=UTC)
PAUSE = timedelta(hours=7)
IDENTITY = "You are the assistant of a violin maker. Be brief. Answer in the language of the user."

FUNCTIONS = (
    "core_memory_append",
    "core_memory_replace",
    "archival_memory_insert",
    "archival_memory_search",
    "conversation_search",
    "send_message",
)


@dataclass(frozen=True)
class Turn:
    """What happens, and what is hoped for.

    Attributes:
        said: by the user, or what is told of an event.
        event: its name; empty if the user speaks.
        calls: one of these functions is called, without an error.
        kept: words that stand in a block afterwards; ``gone`` that do not.
        reply: one of these words is in the replies.
    """

    said: str
    event: str = ""
    calls: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    reply: tuple[str, ...] = ()


EDITS = ("core_memory_append", "core_memory_replace", "core_memory_rethink")
SEARCHES = ("conversation_search", "archival_memory_search", "conversation_search_date")

TURNS = (
    Turn("Hi! I'm Marta Vidal. I live in Porto and I build violins.", calls=EDITS, kept=("Marta", "Porto")),
    Turn("我的女儿叫小雨，她对花生过敏，请记住。", calls=EDITS, kept=("小雨", "花生")),
    Turn("I moved last week: I live in Braga now, no longer in Porto.", calls=EDITS, kept=("Braga",), gone=("Porto",)),
    Turn(
        "Please put this into archival memory, it is my teacher's varnish: soak 40 g of seedlac and 15 g of dragon's "
        "blood resin in 300 ml of alcohol for nine days in the dark, filter it through linen, add 5 ml of spike oil, "
        "and lay on eight thin coats, with two days of sun after each. Rub the last one with tripoli and olive oil.",
        calls=("archival_memory_insert",),
    ),
    Turn("Marta logged in from a new device in Lisbon.", event="login"),
    Turn("My client Henrik wants his cello by 12 June. He paid 400 euros in advance.", reply=("Henrik", "cello", "12")),
    Turn("里斯本的展览我的展位号是B17，展览从下周三开始。", reply=("B17", "展")),
    Turn("What do I have to soak for my teacher's varnish?", calls=SEARCHES, reply=("seedlac", "dragon")),
    Turn("How much did Henrik pay in advance?", reply=("400",)),
    Turn("我的展位号是多少？", reply=("B17",)),
    Turn("Where do I live now, and what must my daughter not eat?", reply=("Braga",)),
)


@dataclass
class Recorder(BaseCallbackHandler):
    """Notes each answer of the model.

    Attributes:
        texts: of the answers.
        prompts: tokens of the prompts by the memory's count; ``read`` by the server's, without what it had read
            before; ``written`` of the answers.
        seconds: that the model took.
    """

    texts: list[str] = field(default_factory=list)
    prompts: list[int] = field(default_factory=list)
    read: int = 0
    written: int = 0
    seconds: float = 0.0
    started: float = 0.0

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **_: Any) -> None:
        """Count the prompt."""
        del serialized
        count = token_counter()
        self.prompts.append(sum(message_tokens(from_langchain(one, keep_id=False), count) for one in messages[0]))
        self.started = time.perf_counter()

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Note the answer."""
        self.seconds += time.perf_counter() - self.started
        generation = response.generations[0][0]
        self.texts.append(generation.text)
        usage: Any = generation.message.usage_metadata if isinstance(generation, ChatGeneration) else None  # type: ignore[attr-defined]
        if usage is not None:
            self.read += usage["input_tokens"] - usage.get("input_token_details", {}).get("cache_read", 0)
            self.written += usage["output_tokens"]


@dataclass(frozen=True)
class Made:
    """A call of a function, and what came of it; ``mended`` if a later one of the turn did what it was to do."""

    name: str
    arguments: dict[str, Any] | str
    result: str
    valid: bool
    mended: bool = False


@dataclass(frozen=True)
class Played:
    """A turn of the script as it went.

    Attributes:
        turn: of the script.
        answers: of the model, as it wrote them.
        made: its calls; that of `send_message` is made by whoever reads the answer, so its result is the reply.
        replies: what the user read.
        warned: whether the memory warned.
        flushed: how often messages left the window.
        blocks: texts of the blocks afterwards; ``edits`` how many changes of them there were.
        why: the run ended.
        seconds: that it took.
    """

    turn: Turn
    answers: tuple[str, ...]
    made: tuple[Made, ...]
    replies: tuple[str, ...]
    warned: int
    flushed: int
    blocks: dict[str, str]
    edits: int
    why: str
    seconds: float

    @property
    def missed(self) -> list[str]:
        """What was hoped for in vain."""
        said, text = "\n".join(self.replies), "\n".join(self.blocks.values())
        wanted = self.turn
        missed = [f"no {word!r} in a block" for word in wanted.kept if word not in text]
        missed += [f"still {word!r} in a block" for word in wanted.gone if word in text]
        if wanted.calls and not any(call.valid and call.name in wanted.calls for call in self.made):
            missed.append(f"no valid call of {' or '.join(wanted.calls)}")
        if wanted.reply and not any(word in said for word in wanted.reply):
            missed.append(f"no {' or '.join(map(repr, wanted.reply))} in a reply")
        if wanted.said in self.replies:
            missed.append("the reply is what was said, word for word")
        return missed if said or wanted.event else [*missed, "no reply"]


def played(agent: PagedAgent, recorder: Recorder, turns: Iterable[Turn]) -> Iterable[Played]:
    """Each turn as it went."""
    for turn in turns:
        before, edits, folded = len(recorder.texts), _edits(agent), agent.memory.summary().audit.compactions
        started = time.perf_counter()
        run = agent.notify(turn.event, turn.said) if turn.event else agent.send(turn.said)
        agent.memory.flush()
        answers = tuple(recorder.texts[before:])
        yield Played(
            turn=turn,
            answers=answers,
            made=(*_made(run), *_sent(answers)),
            replies=run.replies,
            warned=sum(message.event == PRESSURE for message in run.messages),
            flushed=agent.memory.summary().audit.compactions - folded,
            blocks={label: block.value for label, block in agent.memory.blocks().items()},
            edits=_edits(agent) - edits,
            why=run.why,
            seconds=time.perf_counter() - started,
        )


def _edits(agent: PagedAgent) -> int:
    """Changes of blocks by the model."""
    return sum(block.revision - 1 for block in agent.memory.blocks().values())


def _made(run: AgentRun) -> list[Made]:
    results = {message.tool_call_id: message for message in run.messages if message.role is Role.TOOL}
    calls = [(call, results[call.id]) for message in run.messages for call in message.tool_calls]
    valid = [not result.extra.get("failed") for _, result in calls]
    return [
        Made(
            call.name,
            call.arguments,
            result.text,
            valid[row],
            mended=not valid[row]
            and any(valid[later] and calls[later][0].name == call.name for later in range(row + 1, len(calls))),
        )
        for row, (call, result) in enumerate(calls)
    ]


def _sent(answers: Sequence[str]) -> list[Made]:
    """The calls of `send_message` that were written as calls."""
    return [
        Made("send_message", {"message": reply}, reply, valid=True)
        for text in answers
        if pieces(text)
        for reply in read(text).replies
    ]


def transcript(model: str, played: Sequence[Played], recorder: Recorder, max_tokens: int) -> str:
    """The conversation in Markdown, with a table at the end."""
    made = (
        f"`{model}` on one thread behind an OpenAI-compatible endpoint, temperature 0, in a window of {max_tokens} "
        f"tokens. Made on {datetime.now(UTC):%Y-%m-%d} by `python benchmarks/paging_model.py --model {model} --out "
        "paging-transcript.md`; what the model got wrong is left as it was."
    )
    head = [
        "# A small model that manages its own memory",
        made,
        f"Functions: {', '.join(f'`{name}`' for name in FUNCTIONS)}.",
    ]
    turns = [_told(number, one) for number, one in enumerate(played, 1)]
    table = [f"| {name} | {value} |" for name, value in figures(played, recorder, max_tokens).items()]
    return "\n\n".join([*head, *turns, "## Figures", "\n".join(["| what | |", "|---|---|", *table])]) + "\n"


def _told(number: int, one: Played) -> str:
    who = f"Event `{one.turn.event}`" if one.turn.event else "User"
    lines = [f"## Turn {number}", f"**{who}:** {one.turn.said}"]
    if one.warned:
        lines.append("*The memory warned that the window fills.*")
    if one.flushed:
        lines.append("*Older messages left the window; a summary stands for them.*")
    lines += [_call(call) for call in one.made if call.name != "send_message" or not call.valid]
    lines += [f"*No call, so all of it was taken as the reply:*\n\n{_quoted(text)}" for text in plain(one.answers)]
    lines += [f"**Reply:** {' '.join(reply.split())}" for reply in one.replies] or ["**No reply.**"]
    blocks = [f"<{label}>\n{text or '(empty)'}\n</{label}>" for label, text in one.blocks.items()]
    lines.append("```text\n" + "\n".join(blocks) + "\n```")
    verdict = f"Not as hoped: {'; '.join(one.missed)}." if one.missed else "As hoped."
    return "\n\n".join([*lines, f"{verdict} Run {one.why}, {one.seconds:.0f} s."])


def _call(call: Made) -> str:
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    state = "valid" if call.valid else "error, mended later" if call.mended else "error"
    written = f"  ```json\n{_indented(arguments)}\n  ```\n\n  ```text\n{_indented(call.result)}\n  ```"
    return f"- `{call.name}` ({state})\n\n{written}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def plain(answers: Iterable[str]) -> list[str]:
    """The answers without a call."""
    return [text for text in answers if not read(text).calls and not pieces(text)]


def figures(played: Sequence[Played], recorder: Recorder, max_tokens: int) -> dict[str, str]:
    """What came of it all, in numbers."""
    made = [call for one in played for call in one.made]
    failed = [call for call in made if not call.valid]
    largest = max(recorder.prompts)
    return {
        "turns": str(len(played)),
        "turns as hoped": str(sum(not one.missed for one in played)),
        "turns of the user without a reply": str(sum(not one.replies and not one.turn.event for one in played)),
        "answers of the model": str(len(recorder.texts)),
        "answers without a call, taken as a reply": str(len(plain(recorder.texts))),
        "calls": str(len(made)),
        "valid calls": str(len(made) - len(failed)),
        "errors reported to the model, and mended by it": f"{len(failed)}, {sum(call.mended for call in failed)}",
        "edits of blocks that took effect": str(sum(one.edits for one in played)),
        "warnings": str(sum(one.warned for one in played)),
        "flushes": str(sum(one.flushed for one in played)),
        "largest prompt, by the memory's count": f"{largest} tokens, {largest / max_tokens:.0%} of the window",
        "tokens read, and written, by the server's count": f"{recorder.read}, {recorder.written}",
        "seconds of the model": f"{recorder.seconds:.0f}",
    }


class Clock:
    """Time that goes on between the turns."""

    def __init__(self) -> None:
        self.now = BEGINNING

    def __call__(self) -> datetime:
        """The time of this turn."""
        return self.now


def converse(
    model: BaseChatModel, recorder: Recorder, turns: Sequence[Turn], max_tokens: int = MAX_TOKENS
) -> Iterator[Played]:
    """The turns as they go."""
    clock = Clock()
    asked = model.model_copy(update={"callbacks": [recorder], "max_tokens": ANSWER_TOKENS})
    with (
        open_memory(MemoryConfig(url="memory://", embedder="hashing"), clock=clock) as memory,
        PagedAgent(
            memory,
            agent="assistant",
            user="marta",
            model=asked,
            identity=IDENTITY,
            memory_functions=FUNCTIONS,
            max_tokens=max_tokens,
            max_steps=MAX_STEPS,
            model_timeout=timedelta(minutes=10),
        ) as agent,
    ):
        for one in played(agent, recorder, turns):
            yield one
            clock.now += PAUSE


def main() -> None:
    """Run the script, print it, and write it down turn by turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a GGUF file, or the beginning of its name in .models")
    parser.add_argument("--max-tokens", type=int, default=MAX_TOKENS)
    parser.add_argument("--turns", type=int, default=len(TURNS), help="so many from the beginning")
    parser.add_argument("--out", type=Path, help="the transcript, in Markdown")
    chosen = parser.parse_args()
    path = gguf(chosen.model)
    recorder, found = Recorder(), []
    with served(path) as model:
        for number, one in enumerate(converse(model, recorder, TURNS[: chosen.turns], chosen.max_tokens), 1):
            found.append(one)
            print(_told(number, one), end="\n\n", flush=True)
            text = transcript(path.stem, found, recorder, chosen.max_tokens)
            if chosen.out:
                chosen.out.write_text(text, encoding="utf-8")
    print(text[text.index("## Figures") :])


if __name__ == "__main__":
    main()
