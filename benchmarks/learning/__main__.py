"""What is learned from conversations, compared with what readers of them wrote down: the share of it that is found.

    python benchmarks/learning --data PATH --cache PATH --json out.json

Two values are the same if one holds the other, after NFKC, in lower case, without punctuation.

PersonaBench asks 133 questions about three people who chat with others: the values of the answers that a fact about the
person carries, current ones unless the question asks for the past; questions about their character are left out. Where
the conversations are limited, so are the questions, and only the sessions that answer them are read.

Facts are read once by wording alone, and once with the local embedder.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # started by its folder, only that is on the path

from benchmarks.learning import persona
from benchmarks.sets import load, messages, undisturbed
from benchmarks.tables import Table, parser, write
from benchmarks.vectors import KeptVectors
from hybrid_memory import Fact

NAME = "personabench"
COLUMNS = ("read by", "known", "found", "turns", "seconds")


def measured(data: Path, limit: int | None, embedder: KeptVectors) -> Iterator[dict[str, Any]]:
    """A row by wording alone, and one with the embedder."""
    conversations = [persona.asked(one, limit) for one in load(data, NAME, limit)]
    for reader, used in {"wording": None, "wording and vectors": embedder}.items():
        known: list[bool] = []
        turns, seconds = 0, 0.0
        for person, said, questions in tqdm(conversations, desc=reader, disable=None):
            facts, spent = learned(said, used)
            turns, seconds = turns + len(said), seconds + spent
            known += persona.found(facts, person, questions)
        yield {
            "read by": reader, "known": len(known), "found": sum(known) / len(known), "turns": turns,
            "seconds": round(seconds, 1),
        }  # fmt: skip


def learned(turns: Sequence[dict[str, Any]], embedder: KeptVectors | None) -> tuple[list[Fact], float]:
    """All facts that follow from the turns, with their history, and the seconds that the reading took."""
    with undisturbed(embedder=embedder or "none") as memory:
        for session, said in messages(turns):
            memory.scoped(user="u", session=session).remember(said)
        owner = memory.scoped(user="u")
        started = time.perf_counter()
        owner.flush(progress=False)
        return owner.facts(history=True), time.perf_counter() - started


def main() -> None:
    """Print the tables, and write the JSON if asked."""
    options = parser(__doc__, "--data", "--limit", "--cache", "--json").parse_args()
    embedder = KeptVectors(options.cache)
    table = Table("Facts: PersonaBench", COLUMNS, list(measured(options.data, options.limit, embedder)))
    table.show()
    embedder.save()
    write(options.json, {NAME: table.rows}, limit=options.limit)


if __name__ == "__main__":
    main()
