"""What each rule finds in labelled sentences: how often it is right, and whether the judge finds it as well.

    python benchmarks/sentences/rules.py [--examples FOLDER] [--cache FOLDER] [--json out.json]

Right is what a rule claims if a label of the sentence is of the same subject and has the value, or is within it; right
with its attribute if that is the same too. Judged are those of the right and the wrong ones in whose sentence the judge
finds a claim as well.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.vectors import KeptVectors
from hybrid_memory import Event, EventKind, Scope
from hybrid_memory.facts.fact import Category, Claim
from hybrid_memory.facts.rules.chinese.lexicon import KIN
from hybrid_memory.facts.rules.reading import RuleExtractor
from hybrid_memory.facts.sentences.examples import SHIPPED, Example, examples
from hybrid_memory.facts.sentences.judge import asked
from hybrid_memory.facts.sentences.judges import judge_of
from hybrid_memory.facts.sentences.reading import SURE
from hybrid_memory.text.tokenize import terms

COLUMNS = ("fired", "right", "attribute", "wrong", "judged", "judged wrong")
ENOUGH = 0.5
"""Of the words of a task, which a rule words as it was said before: "book the hotel" for "booked the hotel"."""

AT = datetime(2025, 3, 12, 10, tzinfo=UTC)
SCOPE = Scope(user="u", session="s")


def turns(example: Example) -> list[Event]:
    """What was said before, and the sentence."""
    said = [("assistant", example.before)] * bool(example.before) + [("user", example.text)]
    return [
        Event(place, f"e{place}", SCOPE, EventKind.MESSAGE, AT, {"role": role, "content": text})
        for place, (role, text) in enumerate(said, 1)
    ]


def right(claim: Claim, example: Example) -> tuple[bool, bool]:
    """Whether a label says so, and whether it is one of the same attribute."""
    same = [told for told in example.told if _subject(told.subject) == claim.subject and _alike(claim, told.value)]
    return bool(same), any(told.attribute == claim.attribute for told in same)


def _subject(told: str) -> str:
    """A subject as rules name it: 用户的姐姐 is the user's older sister."""
    noun = told.removeprefix("用户的")
    return f"user's {KIN[noun][1]}" if noun != told and noun in KIN else told


def _alike(claim: Claim, told: str) -> bool:
    mine, other = claim.value.casefold(), told.casefold()
    words = set(terms(mine)) if claim.category is Category.TASK else set()
    return mine in other or other in mine or (bool(words) and len(words & set(terms(other))) >= ENOUGH * len(words))


def counted(given: Sequence[Example], embedder: KeptVectors, *, wrong: bool) -> dict[str, Counter[str]]:
    """The counts of each rule; what is not right is printed if asked for."""
    extractor = RuleExtractor()
    read = [(one, claims) for one in given if (claims := extractor.extract(turns(one), []))]
    rows = embedder.embed_documents([asked(one.text, one.before) for one, _ in read])
    judge = judge_of(embedder)
    if judge is None:
        raise SystemExit("there is no judge for these vectors")
    likely = judge([one.text for one, _ in read], [one.before for one, _ in read], rows).claims.tolist()
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for (one, claims), sure in zip(read, likely, strict=True):
        for claim in claims:
            good, exact = right(claim, one)
            found = [good, exact, not good, good and sure >= SURE, not good and sure >= SURE]
            table[claim.by].update(dict(zip(COLUMNS, map(int, [True, *found]), strict=True)))
            if wrong and not good:
                print(claim.by, claim.subject, claim.attribute, claim.value, one.text, sep="\t")
    return table


def main() -> None:
    """Print the table, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=Path, default=SHIPPED)
    parser.add_argument("--cache", type=Path, default=Path(".vectors"))
    parser.add_argument("--wrong", action="store_true", help="print what is not right")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    told = [one for one in examples(options.examples) if one.language in {"en", "zh"}]
    embedder = KeptVectors(options.cache)
    table = counted(told, embedder, wrong=options.wrong)
    embedder.save()
    rows = [*sorted(table.items(), key=lambda item: -item[1]["fired"]), ("all", sum(table.values(), Counter()))]
    print(f"{'rule':30}", *COLUMNS, sep=" | ")
    for name, counts in rows:
        print(f"{name:30}", *(counts[column] for column in COLUMNS), sep=" | ")
    if options.json:
        report = [{"rule": name, **{column: counts[column] for column in COLUMNS}} for name, counts in rows]
        options.json.write_text(json.dumps({"sentences": len(told), "rules": report}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
