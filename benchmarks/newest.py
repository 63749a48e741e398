"""Two statements about the same thing, the later with another value: which comes first, now and for a question before?

    python benchmarks/newest.py

204 pairs in English and Chinese, six topics, none of them about the user. One memory a language and distance holds all
pairs: the later statements follow in the same session, a week later behind 20 turns of other talk, or five months later
behind 300. ``newest``: the later statement is the first hit; ``none older``: the earlier one is not above it;
``before``: a question about before has the earlier one first, or ``not later``, above the later one. Beside recall, in
the same stores: the nearest vectors and words (BM25) alone. The topics projects, places and household (in Chinese too)
were looked at when the rule was made, the others were not.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.sets import Clock, undisturbed
from benchmarks.tables import parser
from hybrid_memory import HybridMemory, ScopedMemory, Weights

START = datetime(2026, 2, 3, 9, tzinfo=UTC)
DISTANCES = {"same session": (0, timedelta(0)), "a week": (20, timedelta(days=7)), "months": (300, timedelta(days=150))}
"""Turns of other talk between the statements, and how far they are apart."""

WAYS = {"recall": None, "vectors": replace(Weights.plain(), text=0.0), "words": replace(Weights.plain(), vector=0.0)}

TABLES = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
"""Of each topic the subjects by commas, then attributes: two wordings, a question about now, one about before, values
by commas; of each language forms of other talk, with two lists of words to fill in.
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """Earlier and later statement of one thing, with the questions."""

    topic: str
    earlier: str
    later: str
    question: str
    past: str


def pairs(topic: str) -> Iterator[Pair]:
    """17 of a topic; wordings alternate, and no two subjects of an attribute share a change of values."""
    subjects, *attributes = TABLES["topics"][topic]
    made = 0
    for number, (first, second, question, past, values) in enumerate(attributes):
        of = values.split(",")
        for row, subject in enumerate(subjects.split(",")):
            in_ = "" if subject == "upstairs" else "in "
            one, other = of[row], of[(row + 1 + number) % len(of)]
            wordings = (first, second, first)[row % 2 :]
            lines = [wordings[0].format(s=subject, v=one, in_=in_), wordings[1].format(s=subject, v=other, in_=in_)]
            lines = [line[0].upper() + line[1:] for line in lines]
            if made < 17:
                earlier, later = lines
                yield Pair(topic, earlier, later, question.format(s=subject, in_=in_), past.format(s=subject, in_=in_))
            made += 1


def chatter(language: str, count: int) -> list[str]:
    """Other talk, no line twice."""
    forms, one, other = TABLES["talk"][language]
    lines = [form.format(a=a, b=b) for form in forms for a in one for b in other]
    more = [""] * len(lines) + [f" {lines[row * 37 % len(lines)]}" for row in range(count)]
    return [lines[row * 61 % len(lines)] + more[row] for row in range(count)]


def remember(memory: HybridMemory, language: str, told: Sequence[Pair], between: int, apart: timedelta) -> None:
    """All earlier statements, other talk, all later ones in another order."""
    answer = {"en": "Noted.", "zh": "好的。"}[language]
    later = [told[row * 41 % len(told)].later for row in range(len(told))]
    session = "one"
    for place, texts in enumerate(([pair.earlier for pair in told], chatter(language, between), later)):
        start = START + (apart * place / 2 if between else timedelta(hours=place))
        for row, text in enumerate(texts):
            session = f"{place}-{row // 12}" if between else session
            at = start + timedelta(seconds=90 * row)
            reply = {"role": "assistant", "content": answer, "at": at + timedelta(seconds=9)}
            memory.scoped(user="ann", session=session).remember([{"role": "user", "content": text, "at": at}, reply])


def graded(now: ScopedMemory, pair: Pair, weights: Weights | None) -> dict[str, bool]:
    """Whether each measure is right for a pair."""
    right: dict[str, bool] = {}
    for name, other, question in (("newest", "none older", pair.question), ("before", "not later", pair.past)):
        first, second = (pair.later, pair.earlier) if name == "newest" else (pair.earlier, pair.later)
        hits = [hit.record.text for hit in now.recall(question, k=10, weights=weights)]
        place = [hits.index(text) if text in hits else len(hits) for text in (first, second)]
        right |= {name: place[0] == 0, other: place[0] <= place[1]}
    return right


def main() -> None:
    """Print the shares, by topic and by distance."""
    parser(__doc__).parse_args()
    results: dict[tuple[str, str], list[dict[str, bool]]] = defaultdict(list)
    for distance, language in product(DISTANCES, ("en", "zh")):
        told = [pair for topic in TABLES["topics"] if topic.isascii() == (language == "en") for pair in pairs(topic)]
        between, apart = DISTANCES[distance]
        with undisturbed(clock=Clock(START + apart + timedelta(days=1))) as memory:
            remember(memory, language, told, between, apart)
            now = memory.scoped(user="ann", session="now")
            now.flush(progress=False)
            for way, pair in product(WAYS, told):
                right = graded(now, pair, WAYS[way])
                for part in (distance, pair.topic, "all"):
                    results[way, part].append(right)
    names = ("newest", "none older", "before", "not later")
    print(f"{'':28}" + "".join(f"{name:>14}" for name in names))
    for (way, part), rows in sorted(results.items()):
        print(
            f"{way:<10}{part:<18}" + "".join(f"{sum(row[name] for row in rows) / len(rows):>14.3f}" for name in names)
        )


if __name__ == "__main__":
    main()
