"""Draws docs/assets/recall.svg from a real recall: ``python docs/hooks/recall_picture.py``.

The README shows the file, and the start page has it inside of it.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import drawing

from hybrid_memory import Hit, ScopedMemory, open_memory
from hybrid_memory.recall.hit import HUES

SAID = (
    "I moved to Berlin in May, the flat is right by the canal.",
    "Our nightly import fails with E4127: two loggers disagree about the time zone.",
    "我对腰果过敏，别的坚果都没事。",
)
ASKED = ("Which city does she live in now?", "What was that E4127 again?", "做菜要避开哪种坚果？")

FILLS = {name: f"rgb({hue})" for name, hue in HUES.items()}
STYLE = """<style>
text { fill: #1f2328; font: 13px system-ui, sans-serif } .strong { font-weight: 700 } .small { font-size: 12px }
.faint { fill: #59636e; font-size: 11.5px } .rail { fill: #d8dee4 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .faint { fill: #9198a1 } .rail { fill: #3d444d } }
</style>"""
WIDTH = 640
SMALLEST = 0.005
"""Of a share that can be seen."""


def shares(hit: Hit) -> dict[str, float]:
    """What each signal adds to the score, the largest first; together they are the score."""
    weights, signals = asdict(hit.weights), asdict(hit.signals)
    total = sum(weights.values())
    parts = {name: weights[name] * signals[name] / total for name in weights}
    return {name: part for name, part in sorted(parts.items(), key=lambda item: -item[1]) if part >= SMALLEST}


def drawn(memory: ScopedMemory) -> str:
    """The first two hits for each question, as bars of what spoke for them."""
    content, y, used = "", 18.0, dict[str, None]()
    for question in ASKED:
        content += drawing.text(4, y, question, "strong")
        y += 10
        for hit in memory.recall(question, k=2, kinds=["turn"]):
            parts = shares(hit)
            used |= dict.fromkeys(parts)
            content += drawing.text(4, y + 11, f"{hit.score:.2f}", "strong")
            content += drawing.stack(y + 1, parts, FILLS, x=44, width=WIDTH - 50)
            content += drawing.text(44, y + 29, hit.record.text, "faint")
            y += 40
        y += 20
    x = 4.0
    for name in [name for name in HUES if name in used]:
        if x + 16 + 6.6 * len(name) > WIDTH:
            x, y = 4.0, y + 18
        content += drawing.box(x, y - 14, 11, 11, kind="", fill=FILLS[name]) + drawing.text(
            x + 16, y - 4, name, "small"
        )
        x += 34 + 6.6 * len(name)
    title = "Three questions, the turns that were found, and what spoke for each"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {round(y) + 4}" role="img" '
        f'aria-label="{title}">{STYLE}{content}</svg>\n'
    )


def main() -> None:
    """Write the picture."""
    with open_memory("memory://") as memory:
        memory.scoped(user="alice", session="monday").remember(list(SAID))
        picture = drawn(memory.scoped(user="alice", session="friday"))
    Path(__file__).parents[1].joinpath("assets", "recall.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
