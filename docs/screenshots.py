"""Takes the pictures of the inspector in ``docs/assets/screenshots`` and that of the README: ``make screenshots``.

It makes a store of two conversations that come with the library, looks at it in headless Chromium, and keeps pictures
in light, in dark and on a phone. Everything that shows in them comes from the data; the clock stands still.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import uvicorn
from jinja2 import Template
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, open_memory
from hybrid_memory.config import OrchestrationConfig
from hybrid_memory.recall.hit import HUES
from hybrid_memory_inspector import application
from hybrid_memory_inspector.reading import SIGNALS
from hybrid_memory_inspector.search import shares_of

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/assets"
STORY = ROOT / "docs/hooks/readme_picture.html.jinja"
CHATS = {"mei": ROOT / "examples/sample_chat.jsonl", "noa": ROOT / "examples/noa_chat.jsonl"}
TOKEN = "screenshots"  # noqa: S105 - of a server that ends with this script
FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--font-render-hinting=none"]
MOST_BYTES, STORY_BYTES = 150_000, 300_000
COLOURS, EXACT = 256, 96
"""Colours of a picture, and how many of them are exact."""

REASONS = 5
"""Signals that the picture of the README names."""

PROMPTED, COMPACTED = "the move", "s05"
"""Sessions: one has a prompt for each turn, and most of the other is summarised."""

BUDGET = 2000
"""Tokens of a prompt."""


@dataclass(frozen=True)
class Shot:
    """A picture of one page."""

    name: str
    path: str
    scheme: str = "light"
    width: int = 1120
    height: int = 860
    scale: float = 1.25


ASKED = "Farida is coming to dinner. What should I not cook?"
"""In the picture of the README."""

QUESTION = quote("Who looks after the cat when we are away?")
SHOTS = [
    Shot("prompt", f"/o/user=noa&session={quote(PROMPTED).replace('%', '~')}/prompt"),
    Shot("prompt-phone", "/o/user=noa/prompt", width=390, height=844, scale=2),
    Shot("timeline-dark", "/o/user=mei/timeline?before=118", scheme="dark"),
    Shot("search", f"/o/user=mei/search?q={QUESTION}&k=5", height=1000),
    Shot("facts", "/o/user=noa/facts?history=1"),
]


class Clock:
    """Stands where the conversation is."""

    now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """The time of the turn that is played."""
        return self.now


def filled(memory: HybridMemory, clock: Clock) -> None:
    """Play the conversations to the memory, and one session with a prompt for each turn, as a host would."""
    turns = [
        (datetime.fromisoformat(turn["at"]), user, turn)
        for user, chat in CHATS.items()
        for turn in map(json.loads, chat.read_text(encoding="utf-8").splitlines())
    ]
    for at, user, turn in sorted(turns, key=lambda one: one[0]):
        clock.now = at + timedelta(seconds=1)
        scoped = memory.scoped(user=user, session=turn["session"])
        message = {name: turn[name] for name in ("role", "content", "name") if name in turn}
        scoped.remember(message, at=at)
        if turn["session"] == PROMPTED and turn["role"] == "user":
            scoped.assemble(max_tokens=BUDGET)
    memory.flush(progress=False)
    for user in CHATS:
        memory.scoped(user=user).flush(progress=False)
    memory.scoped(user="mei", session=COMPACTED).compact(keep=2)
    memory.flush(progress=False)
    clock.now += timedelta(hours=1)


@contextmanager
def served(memory: HybridMemory) -> Iterator[str]:
    """The inspector on a free port of this machine; gives its address."""
    config = uvicorn.Config(application(memory, token=TOKEN), port=0, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def taken(browser: Browser, base: str, shot: Shot, folder: Path) -> Path:
    """The picture of a page, with as few colours as it needs."""
    view: Any = {"width": shot.width, "height": shot.height}
    scheme: Any = shot.scheme
    context = browser.new_context(viewport=view, color_scheme=scheme, device_scale_factor=shot.scale)
    page = context.new_page()
    page.goto(f"{base}/?token={TOKEN}")
    answer = page.goto(f"{base}{shot.path}")
    if answer is None or not answer.ok:
        raise SystemExit(f"{shot.path} cannot be shown: {page.inner_text('main')}")
    path = folder / f"{shot.name}.png"
    page.screenshot(path=path)
    context.close()
    return smaller(path)


def smaller(path: Path) -> Path:
    """The picture in 256 colours: the most frequent ones, which fill surfaces, are exact; edges of letters are near."""
    with Image.open(path) as picture:
        pixels = np.ascontiguousarray(picture.convert("RGBA")).view(np.uint32)[..., 0]
    packed, rows, counts = np.unique(pixels.ravel(), return_inverse=True, return_counts=True)
    colours = packed.view(np.uint8).reshape(-1, 4).astype(np.int16)
    ordered = colours[np.argsort(-counts)]
    step, kept = 1, np.arange(len(ordered))
    while len(kept) > COLOURS:
        step += 1
        _, first = np.unique(ordered // step, axis=0, return_index=True)
        kept = np.union1d(np.arange(min(EXACT, len(ordered))), first)
    chosen = ordered[kept]
    nearest = np.array([np.abs(chosen - colour).sum(1).argmin() for colour in colours], np.uint8)
    small = Image.fromarray(nearest[rows.ravel()].reshape(pixels.shape), "P")
    small.putpalette(chosen[:, :3].astype(np.uint8).tobytes())
    small.save(path, optimize=True, transparency=chosen[:, 3].astype(np.uint8).tobytes())
    return path


def story(browser: Browser, memory: HybridMemory, now: datetime, folder: Path) -> Path:
    """A turn of a chat, the question of months later, and what brings the turn back: the picture of the README."""
    mei = memory.scoped(user="mei", session="new")
    (hit,) = mei.recall(ASKED, k=1)
    said = memory.scoped(user="mei").events(kinds=["message"])
    chat = [event for event in said if event.scope.session == hit.record.scope.session]
    place = next(row for row, event in enumerate(chat) if event.position == hit.record.turn)
    shares = sorted(shares_of(hit), key=lambda share: -share.points)
    note = mei.assemble(ASKED, max_tokens=BUDGET).note.splitlines()
    own = next(line for line in note if hit.record.text in line)
    html = Template(STORY.read_text(encoding="utf-8"), autoescape=True).render(
        hit=hit,
        then=[(event.message, event.position == hit.record.turn) for event in chat[place - 2 : place + 3]],
        sessions=len({event.scope.session for event in said}),
        later=sum(event.position > chat[place + 2].position for event in said),
        months=round((now - hit.record.at).days / 30.4),
        now=now,
        question=ASKED,
        shares=shares,
        strongest=shares[:REASONS],
        reasons={name: words.partition(",")[0] for name, words in SIGNALS.items()},
        hues=HUES,
        prompt=[("<memory>", False), (own, True), ("</memory>", False), (ASKED, False)],
    )
    page = browser.new_page(viewport={"width": 800, "height": 600}, device_scale_factor=2)
    page.set_content(html)
    path = folder / "readme.png"
    page.locator("main").screenshot(path=path, omit_background=True)
    page.close()
    return smaller(path)


def main() -> None:
    """Make the store, take the pictures, and fail if one is too large for a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="the pictures whose name holds this")
    parser.add_argument("--to", type=Path, default=PICTURES, help="folder of the pictures")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no Chromium is installed: run make setup-browser, or install one")
    clock = Clock()
    with tempfile.TemporaryDirectory() as work:
        config = MemoryConfig(
            url="sqlite:///demo.db",
            compaction=CompactionConfig(max_tokens=BUDGET),
            orchestration=OrchestrationConfig(background=False),
            power_safe=False,
        )
        with contextlib.chdir(work), open_memory(config, clock=clock) as memory:
            filled(memory, clock)
            paths = pictures(memory.as_read_only(), chromium, clock.now, options.to.resolve(), options.only or "")
    for path in paths:
        size = path.stat().st_size
        sys.stdout.write(f"{path.name}: {size / 1000:.0f} kB\n")
        if size > (STORY_BYTES if path.name == "readme.png" else MOST_BYTES):
            sys.exit(f"{path.name} is too large for a page")


def pictures(memory: HybridMemory, chromium: str, now: datetime, folder: Path, only: str) -> list[Path]:
    """Those whose name holds ``only``."""
    folder.joinpath("screenshots").mkdir(parents=True, exist_ok=True)
    with served(memory) as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        paths = [taken(browser, base, shot, folder / "screenshots") for shot in SHOTS if only in shot.name]
        if only in "readme":
            paths.append(story(browser, memory, now, folder))
        browser.close()
    return paths


if __name__ == "__main__":
    main()
