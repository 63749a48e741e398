"""A small model that manages its own memory: a short conversation in two languages, call by call.

    python benchmarks/paging_model.py --model Qwen2.5 --out paging-transcript.txt

The model is a GGUF file, or the beginning of its name in .models; llama.cpp serves it over an OpenAI-compatible
endpoint on loopback, on one thread, and LangChain's ``ChatOpenAI`` asks it, at temperature 0. The window is so small
that the model is warned and messages leave it. The transcript holds every message, and what was hoped for in vain: a
turn is as hoped if the blocks and the replies say afterwards what they should.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.served import gguf, served
from hybrid_memory import MemoryConfig, Role, open_memory
from hybrid_memory_paging import AgentRun, PagedAgent

MAX_TOKENS = 1600
ANSWER_TOKENS = 240
BEGINNING = datetime(2026, 5, 4, 9, tzinfo=UTC)
PAUSE = timedelta(hours=7)
IDENTITY = "You are the assistant of a violin maker. Be brief. Answer in the language of the user."
FUNCTIONS = (
    "core_memory_append", "core_memory_replace", "archival_memory_insert", "archival_memory_search",
    "conversation_search", "send_message",
)  # fmt: skip


@dataclass(frozen=True)
class Turn:
    """What happens, and what is hoped for.

    Attributes:
        text: of the user, or of an event.
        event: its name; empty if the user speaks.
        calls: one of these functions is called, without an error.
        kept: words that stand in a block afterwards; ``gone`` that do not.
        reply: one of these words is in the replies.
    """

    text: str
    event: str = ""
    calls: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    reply: tuple[str, ...] = ()


EDITS = ("core_memory_append", "core_memory_replace")
SEARCHES = ("conversation_search", "archival_memory_search")

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


def missed(turn: Turn, run: AgentRun, blocks: str) -> list[str]:
    """What was hoped for in vain."""
    valid = {message.name for message in run.messages if message.role is Role.TOOL and not message.extra.get("failed")}
    problems = [f"no {word!r} in a block" for word in turn.kept if word not in blocks]
    problems += [f"still {word!r} in a block" for word in turn.gone if word in blocks]
    if turn.calls and valid.isdisjoint(turn.calls):
        problems.append(f"no valid call of {' or '.join(turn.calls)}")
    if turn.reply and not any(word in run.text for word in turn.reply):
        problems.append(f"no {' or '.join(map(repr, turn.reply))} in a reply")
    if turn.text in run.replies:
        problems.append("the reply is what was said, word for word")
    return problems if run.replies or turn.event else [*problems, "no reply"]


def converse(model: Any) -> Iterator[str]:
    """The transcript, turn by turn."""
    now = [BEGINNING]
    as_hoped = 0
    with (
        open_memory(MemoryConfig(url="memory://", embedder="hashing"), clock=lambda: now[0]) as memory,
        PagedAgent(
            memory,
            agent="assistant",
            user="marta",
            model=model.model_copy(update={"max_tokens": ANSWER_TOKENS}),
            identity=IDENTITY,
            memory_functions=FUNCTIONS,
            max_tokens=MAX_TOKENS,
            max_steps=5,
            model_timeout=timedelta(minutes=10),
        ) as agent,
    ):
        for turn in TURNS:
            run = agent.notify(turn.event, turn.text) if turn.event else agent.send(turn.text)
            blocks = "\n".join(f"<{block.label}> {block.value}" for block in agent.memory.blocks().values())
            problems = missed(turn, run, blocks)
            as_hoped += not problems
            lines = [f"{message.event or message.role}: {message.text}" for message in run.messages]
            yield "\n".join([*lines, blocks, f"Not as hoped: {'; '.join(problems)}" if problems else "As hoped."])
            now[0] += PAUSE
    yield f"{as_hoped} of {len(TURNS)} turns as hoped"


def main() -> None:
    """Run the script, print it, and write it down turn by turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a GGUF file, or the beginning of its name in .models")
    parser.add_argument("--out", type=Path, help="the transcript")
    chosen = parser.parse_args()
    transcript = ""
    with served(gguf(chosen.model)) as model:
        for part in converse(model):
            print(part, end="\n\n", flush=True)
            transcript += f"{part}\n\n"
            if chosen.out:
                chosen.out.write_text(transcript, encoding="utf-8")


if __name__ == "__main__":
    main()
