"""Takes the pictures of the inspector in ``docs/assets/screenshots``: ``make screenshots``.

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

import uvicorn
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from hybrid_memory import CompactionConfig, HybridMemory, MemoryConfig, OrchestrationConfig, open_memory
from hybrid_memory.apps.inspector import application

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/assets/screenshots"
CHATS = {"mei": ROOT / "examples/sample_chat.jsonl", "noa": ROOT / "core/hybrid_memory/apps/cli/demo_chat.jsonl"}
TOKEN = "screenshots"  # noqa: S105 - of a server that ends with this script
FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--font-render-hinting=none"]
COLOURS = 256
MOST_BYTES = 150_000
PROMPTED = "s09"
BUDGET = 2000
"""Tokens of a prompt; few enough that older turns are compacted."""


@dataclass(frozen=True)
class Shot:
    """A picture of one page."""

    name: str
    path: str
    scheme: str = "light"
    width: int = 1120
    height: int = 860
    scale: float = 1.25


QUESTION = quote("When is my dentist appointment?")
SHOTS = [
    Shot("overview", "/"),
    Shot("overview-dark", "/", scheme="dark"),
    Shot("timeline", "/o/user=mei/timeline?before=2026-05-20&kind=message", height=1000),
    Shot("search", f"/o/user=mei/search?q={QUESTION}&k=5", height=1000),
    Shot("map-dark", f"/o/user=mei/map?q={quote('what must the cat not eat?')}", scheme="dark"),
    Shot("facts", "/o/user=noa/facts#facts", height=1000),
    Shot("prompt", "/o/user=mei&session=s09/prompt", height=1000),
    Shot("search-phone", f"/o/user=mei/search?q={quote('拔智齿改到什么时候？')}&k=5", width=390, height=844, scale=2),
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
        memory.scoped(user=user).learn(progress=False)
    memory.scoped(user="mei").compact(keep=12)
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
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
            path, optimize=True
        )
    return path


def main() -> None:
    """Make the store, take the pictures, and fail if one is too large for a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="the pictures whose name holds this")
    parser.add_argument("--to", type=Path, default=PICTURES, help="folder of the pictures")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no Chromium is installed: run make setup-browser, or install one")
    folder = options.to.resolve()
    folder.mkdir(parents=True, exist_ok=True)
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
            with served(memory.as_read_only()) as base, sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
                wanted = [shot for shot in SHOTS if (options.only or "") in shot.name]
                paths = [taken(browser, base, shot, folder) for shot in wanted]
                browser.close()
    for path in paths:
        size = path.stat().st_size
        sys.stdout.write(f"{path.name}: {size / 1000:.0f} kB\n")
        if size > MOST_BYTES:
            sys.exit(f"{path.name} has more than {MOST_BYTES / 1000:.0f} kB")


if __name__ == "__main__":
    main()
