"""The four figures of the case that the library was conceived from, measured in one replay of real chats.

    python benchmarks/original_case.py --data FOLDER --json original_case.json --cache PATH

before: a plain window of the newest messages that fit the budget, behind the identity, and nothing else; recall embeds
its query anew each time and compares it with the vectors of all turns, in NumPy, exactly. The case says that the same
text is embedded again and again, not how often: here turns are embedded once, queries each time, which is the milder
reading. after: this library with its defaults and the same budget, embedder and token counter.

Chats of 100 to 330 rounds; a round is the user's turn, or several in a row, with the answer. LoCoMo and REALTALK are of
two people, of whom the first to speak is the user. The five Chinese chats of MemoryBank are joined, as are 30 of
CrossWOZ. For each turn of the user `recall` and then `assemble` are called with its words; then it is remembered with
its answer, and `flush` stands for the pause until the next turn. A question is asked by `recall` too, as often as it is
due: once exactly 50, 100 and 200 rounds lie between the last turn of its evidence and the question. The prompt for it
is made on a copy of the store, so that nothing of it stands in a later prompt.

A fact is a question with evidence whose answer, or a part of it between commas, stands literally in a turn of the
evidence and not in the question. Of CrossWOZ it is what the assistant told of a place, asked for by the place's name.

1. facts answerable: share of the literal answers that stand in the prompt for their question, over all three distances.
2. ms of a recall: mean wall time, with the embedding of the query, over all recalls of the replay. Writing and indexing
   are not in it, on either side.
3. cache: hits of the cache ``embeddings`` in `HybridMemory.work`, by all its requests. Before there is no cache.
4. used: of the tokens of all prompts for questions, those of evidence turns that are shown literally, by sentences
   where not all of a turn is, and those of the standing state, which is the system message: identity, profile, summary
   and artifacts after, the identity alone before. Recent turns, the question, recalled turns without a label, and
   framing are neither.
"""

import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started by its path, only its folder is there

from benchmarks.original.chats import SETS
from benchmarks.original.replay import AFTER, BEFORE, Kept, Replay, Tally
from benchmarks.tables import Table, parser, write
from benchmarks.vectors import KeptVectors

CASE = {
    "set": "the case", "facts, before": "45 %", "facts": "92 %", "ms, before": "800", "ms": "120", "cache": "67 %",
    "used, before": "35 %", "used": "78 %",
}  # fmt: skip
COLUMNS = ("set", "questions", *list(CASE)[1:])


def row(name: str, tally: Tally) -> dict[str, Any]:
    """The four figures, before and after."""
    made: dict[str, Any] = {"set": name, "questions": len(tally.prompts[AFTER])}
    for side, mark in ((BEFORE, ", before"), (AFTER, "")):
        prompts = tally.prompts[side]
        made[f"facts{mark}"] = statistics.fmean(prompt.found for prompt in prompts)
        made[f"ms{mark}"] = f"{1e3 * statistics.fmean(tally.spent[side]):.1f}"
        made[f"used{mark}"] = sum(prompt.used for prompt in prompts) / sum(prompt.tokens for prompt in prompts)
    return made | {"cache": tally.requests["hits"] / tally.requests.total()}


def main() -> None:
    """Print the table, and write the JSON if asked."""
    command = parser(__doc__, "--data", "--limit", "--cache", "--json")
    command.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    options = command.parse_args()
    table, everything, load_before = Table("Before and after", COLUMNS, [CASE]), Tally(), os.getloadavg()
    kept = KeptVectors(options.cache)
    embedder = Kept(kept)
    for name in options.sets:
        tally = Tally()
        for chat in tqdm(list(SETS[name](options.data, options.limit)), desc=name, disable=None):
            kept.embed_documents([message.text for message in chat.messages])
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                tally.add(Replay(chat, embedder, Path(folder)).run())
            kept.save()
        everything.add(tally)
        table.rows.append(row(name, tally))
        write(options.json, table.rows, load=[load_before, os.getloadavg()])
    table.rows.append(row("all", everything))
    table.show()
    write(options.json, table.rows, load=[load_before, os.getloadavg()])


if __name__ == "__main__":
    main()
