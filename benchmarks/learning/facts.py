"""What is learned from conversations, compared with what readers of them wrote down: precision and recall of values.

Two values are the same if one holds the other, after NFKC, in lower case, without punctuation.

PersonaBench asks 133 questions about three people who chat with others. *recall*: the values of the answers that a
fact about the person carries, current ones unless the question asks for the past; questions about their character are
left out. *precision* counts the attributes that have a complete answer: where somebody lives, works, comes from. Where
the conversations are limited, so are the questions, and only the sessions that answer them are read.

PrefEval states one preference in a turn. *recall*: the value of a fact holds at least half of the words that say what
it is about, its reason aside. *precision*: of the preferences, those in the words of the turn, and not the wrong way
round.

A row in parentheses is not part of the first row of its table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from tqdm import tqdm

from benchmarks.compression.sets import CachedEmbedder, Table, load
from benchmarks.learning import persona, preferences
from benchmarks.learning.sets import COUNTED, Options, Tally, learned
from hybrid_memory import Fact

Counted: TypeAlias = Iterable[tuple[str, Tally]]


def _persona(one: dict[str, Any], limit: int | None) -> tuple[list[dict[str, Any]], Callable[[list[Fact]], Counted]]:
    turns, questions = persona.asked(one, limit)
    name = one["conv"].rpartition("/")[2]
    return turns, lambda facts: persona.compare(facts, name, questions)


def _preferences(one: dict[str, Any], _: int | None) -> tuple[list[dict[str, Any]], Callable[[list[Fact]], Counted]]:
    statement = one["turns"][0]["text"]
    return one["turns"][:1], lambda facts: [("preference", preferences.compare(facts, statement))]


SETS = {
    "personabench": _persona,
    "prefeval_explicit": _preferences,
}


def run(options: Options) -> Iterator[Table]:
    """A table for each set: all values, then by kind; by wording alone, and with the local embedder."""
    readers: dict[str, CachedEmbedder | None] = {"statements, by wording": None, "statements": options.embedder}
    for name, prepare in SETS.items():
        conversations = list(load(options.data, name, options.limit))
        table = Table("", ["read by", *COUNTED, "turns", "seconds"])
        for reader, embedder in readers.items():
            by_kind: dict[str, Tally] = defaultdict(Tally)
            turns, seconds = 0, 0.0
            for one in tqdm(conversations, desc=f"{name}, {reader}", disable=None):
                said, compare = prepare(one, options.limit)
                facts, spent = learned(said, embedder)
                turns, seconds = turns + len(said), seconds + spent
                for kind, tally in compare(facts):
                    by_kind[kind].add(tally)
            table.rows += _rows(reader, by_kind, {"turns": turns, "seconds": round(seconds, 1)})
        table.title = f"Facts: {name}, {len(conversations)} conversations"
        yield table


def _rows(reader: str, by_kind: dict[str, Tally], beside: dict[str, Any]) -> Iterator[dict[str, Any]]:
    whole = Tally()
    for kind, tally in by_kind.items():
        if not kind.startswith("("):
            whole.add(tally)
    yield {"read by": reader, **whole.row(), **beside}
    if len(by_kind) > 1:
        for kind, tally in by_kind.items():
            yield {"read by": f"  {kind}", **tally.row()}
