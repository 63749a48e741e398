"""Learns the judgement of sentences from labelled ones, and measures it on others.

    python benchmarks/sentences [--cache FOLDER] [--write]

Printed is, out of fold, for the chats of invented people with an assistant (`chats`) and for single, harder sentences
(`examples`): how well claims are told from what only sounds like one (AUROC), and how much of what may harm somebody is
found; and for the chats, how often what is held for likely is so. Then, with the judge that is shipped or written, what
is taken for safety among sentences that nothing was learned from: of those that may harm, in unusual words
(`safety.tsv`), in plain ones (`plain.tsv`), beside something else (`mixed.tsv`) or in a request (`requests.tsv`), and
of false friends (`harmless.tsv`) and ordinary chat (`ordinary.tsv`); for two of them also whether it is told of the
right person. With ``--write`` the network is learned from all examples, and from plain sentences made of `forms.tsv`,
and stored in the package; `needs.py` has to follow, since what questions need is told in its outputs.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.ranking.certainty import auroc
from benchmarks.sentences import training
from benchmarks.sentences.training import CHATS, TIMES, Example, examples, plain_examples
from benchmarks.tables import parser
from benchmarks.vectors import KeptVectors
from hybrid_memory import Event, EventKind, Scope
from hybrid_memory.arrays import Array, Floats
from hybrid_memory.facts.attributes import AT_STAKE
from hybrid_memory.facts.fact import USER
from hybrid_memory.facts.judge import CLAIMS, KINDS, OUTPUTS, SHIPPED, Judge, asked, logit, sigmoid, softmax
from hybrid_memory.facts.statements import RISKY, stated_in
from hybrid_memory.runtime.runners import InlineRunner, drive

FOLDS, BLOCK = 5, 250
"""Sentences are left out in blocks: those of one person stand together."""

SEEDS = (0, 1)


def show(title: str, told: Array, given: Sequence[Example]) -> None:
    """One line for all languages, and one for each."""
    claims = np.array([one.kind == CLAIMS for one in given])
    languages = np.array([one.language for one in given])
    for language in ("", *sorted(set(languages))):
        of = languages == language if language else np.ones(len(given), dtype=bool)
        yes, no = told[of & claims], told[of & ~claims]
        if len(yes) and len(no):
            print(f"{title:12} {language or 'all':4} n {of.sum():6} AUROC {auroc(yes, no):.3f}")


def calibration(likely: Array, claims: npt.NDArray[np.bool_]) -> None:
    """The share that is so, of what is held for likely so much."""
    edges = np.linspace(0, 1, 11)
    for low, high in pairwise(edges):
        of = (likely >= low) & (likely < high + (high == 1))
        if of.any():
            print(f"held for {low:.1f} to {high:.1f}: {claims[of].mean():.2f} of {of.sum()}")


ASIDE = ("safety.tsv", "plain.tsv", "mixed.tsv", "requests.tsv", "harmless.tsv", "ordinary.tsv")


def taken_for_safety(name: str, embedder: KeptVectors) -> None:
    """How many sentences of a file a store would keep as safety, by language, and for how many of the right person."""
    at, taken, count, right = datetime(2026, 3, 2, 9, tzinfo=UTC), Counter[str](), Counter[str](), Counter[bool]()
    for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines():
        language, *about, text = line.split("\t")
        turn = Event(1, "e1", Scope(user="u"), EventKind.MESSAGE, at, {"role": "user", "content": text})
        claims = drive(stated_in(InlineRunner(), embedder, [turn], []))
        harms = [claim for claim in claims if claim.attribute in AT_STAKE]
        taken[language] += bool(harms)
        count[language] += 1
        if harms and about and about[0] in {"user", "others"}:
            right[any(claim.subject == USER for claim in harms) == (about[0] == "user")] += 1
    by_language = ", ".join(f"{language} {taken[language]} of {number}" for language, number in count.items())
    whose = f", of the right person {right[True]}" if right else ""
    print(f"taken for safety of {name}: {taken.total()} of {count.total()}{whose} ({by_language})")


def main() -> None:
    """Print how well it does, and write the weights if asked."""
    command = parser(__doc__, "--cache")
    command.add_argument("--write", action="store_true")
    options = command.parse_args()
    embedder = KeptVectors(options.cache)
    known = [*examples(CHATS, times=TIMES), *examples(), *plain_examples()]
    chats = np.arange(len(known)) < sum(1 for _ in examples(CHATS))
    taught = training.lessons(known, embedder.embed_documents([asked(one.text, one.before) for one in known]))
    embedder.save()
    fold = (np.arange(len(known)) // BLOCK) % FOLDS
    outputs: Floats = np.concatenate(
        [training.learned(taught.rows(fold != number))(taught.inputs[fold == number]) for number in range(FOLDS)]
    )[np.argsort(np.argsort(fold, kind="stable"), kind="stable")]
    told = logit(softmax(outputs[:, : len(KINDS)])[:, 0])
    claims, safety = np.array([one.kind == CLAIMS for one in known]), taught.safety > 0
    risky = sigmoid(outputs[:, -1]) >= RISKY
    for title, of in (("chats", chats), ("examples", ~chats)):
        show(title, told[of], [one for one, counts in zip(known, of, strict=True) if counts])
        right, taken = (of & risky & safety).sum(), (of & risky).sum()
        print(f"{title}: safety found {right} of {(of & safety).sum()}, {right / taken:.3f} of what is taken is safety")
    slope, bias = training.calibrated(told[chats], claims[chats].astype(np.float64))
    calibration(0.5 * (1 + np.tanh(0.5 * (slope * told[chats] + bias))), claims[chats])
    if options.write:
        none = np.zeros((len(OUTPUTS), embedder.dim + 1), dtype=np.float32)
        training.saved(Judge(embedder.name, training.learned(taught, seeds=SEEDS), slope, bias, none), SHIPPED)
    for name in ASIDE:
        taken_for_safety(name, embedder)
    embedder.save()


if __name__ == "__main__":
    main()
