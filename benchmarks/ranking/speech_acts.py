"""Learns which short turns say nothing, from their vectors: ``core/hybrid_memory/text/speech.json``.

    python benchmarks/ranking/speech_acts.py [--write]

Acknowledgements, greetings, questions and statements of 13 languages, written for this, are in ``said.json``. All are
embedded by themselves, questions and statements also behind a question, an acknowledgement and several turns, as what
answers is. A logistic regression tells the acknowledgements and greetings from all the rest. Printed is how well it
does on languages that were left out.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hybrid_memory.models.embedders import LocalEmbedder
from hybrid_memory.text import asking

Rows: TypeAlias = npt.NDArray[np.float64]

SAID = Path(__file__).with_name("said.json")
SCALE = 6.0
DECAY = 1e-4
STEPS = 400
ROOM = 250


def learned(rows: Rows, empty: Rows) -> tuple[Rows, float]:
    """Weights and bias of a logistic regression, in which both classes count alike."""
    middle = rows.mean(axis=0)
    inputs = np.column_stack([(rows - middle) * SCALE, np.ones(len(rows))])
    share = empty.mean()
    importance = np.where(empty > 0, 0.5 / share, 0.5 / (1 - share))
    weights, speed = np.zeros(inputs.shape[1]), np.zeros(inputs.shape[1])
    for _ in range(STEPS):
        wrong = (1 / (1 + np.exp(-inputs @ weights)) - empty) * importance
        speed = 0.9 * speed - (inputs.T @ wrong / len(inputs) + DECAY * weights)
        weights = weights + speed
    return weights[:-1] * SCALE, float(weights[-1] - SCALE * middle @ weights[:-1])


def passages() -> Iterator[tuple[str, bool, str]]:
    """Language, whether it says nothing, and passage."""
    chosen = random.Random(3)  # noqa: S311 - no secret
    for language, said in json.loads(SAID.read_text(encoding="utf-8")).items():
        empty, full = said["ack"] + said["greet"], said["ask"] + said["state"]
        for text in empty + full:
            turn = f"{chosen.choice(['user', 'assistant', 'Anna'])}: {text}"
            yield language, text in empty, f"<message role='user'>{turn}</message>"
            for before in (chosen.choice(said["ask"]), chosen.choice(empty), " ".join(chosen.sample(full, 3))):
                if text in full:
                    yield language, False, f"<message role='user'>{before[-(ROOM - len(turn)) :]}\n{turn}</message>"


def main() -> None:
    """Print how well it does, and write the weights if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    languages, said_nothing, texts = zip(*passages(), strict=True)
    embedder = LocalEmbedder()
    rows, empty = embedder.embed_documents(texts).astype(np.float64), np.array(said_nothing, dtype=np.float64)
    told, by_language = np.zeros(len(empty)), np.array(languages)
    for language in sorted(set(languages)):
        kept = by_language != language
        weights, bias = learned(rows[kept], empty[kept])
        told[~kept] = 1 / (1 + np.exp(-(rows[~kept] @ weights + bias)))
    for sure in (0.5, asking.SURE, 0.9, 0.95):
        right, of = told[empty > 0] > sure, by_language[empty > 0]
        found = {language: f"{np.mean(right[of == language]):.2f}" for language in languages}
        wrong = int(np.sum(told[empty == 0] > sure))
        print(f"above {sure}: {found}; {wrong} of {int(np.sum(empty == 0))} that say something")
    if options.write:
        weights, bias = learned(rows, empty)
        stored = {"embedder": embedder.name, "bias": round(bias, 3), "weights": [round(one, 2) for one in weights]}
        Path(asking.__file__).with_name("speech.json").write_text(json.dumps(stored) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
