"""The page in a real browser, by keyboard: what is asked of it leaves this machine never."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pytest

from hybrid_memory import CompactionConfig, MemoryConfig, open_memory
from hybrid_memory_inspector.app import PAGES
from tests.inspector.conftest import tell

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

COMMAND = "import typer; from hybrid_memory_inspector.cli import inspect; typer.run(inspect)"
TRIP = "/o/user=alice&session=trip"
PATHS = ["/", "/o/user=alice/prompt"]
PATHS += [f"{TRIP}/{name}" for name in PAGES if name != "event"]
PATHS += [f"{TRIP}/{name}" for name in "event?position=5 forget?position=1 facts?at=5 timeline?q=night".split()]
PATHS += [f"{TRIP}/search?q=night+train&missing=%231"]


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What the command prints, for a store of its own; it must end well on Ctrl-C."""
    path = tmp_path_factory.mktemp("inspector") / "memory.db"
    compaction = CompactionConfig(max_tokens=500)
    config = MemoryConfig(url=f"sqlite:///{path}", embedder="hashing", power_safe=False, compaction=compaction)
    with open_memory(config) as memory:
        alice = memory.scoped(user="alice", session="trip")
        tell(alice)
        alice.remember("My secret word is halcyon.")
        memory.flush(progress=False)
    command = [sys.executable, "-c", COMMAND, str(path), "--write", "--user", "alice"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            printed = process.stdout.readline()
            yield printed.removeprefix("Open ").strip()
            process.send_signal(signal.SIGINT)
            _, problems = process.communicate(timeout=30)
            assert (process.returncode, "Traceback" in problems) == (0, False), problems
        finally:
            process.kill()


@dataclass
class Watched:
    """A tab, what it asked for, and what it complained of."""

    tab: Page
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def watched(chromium: Browser, link: str) -> Iterator[Watched]:
    context = chromium.new_context(viewport={"width": 1100, "height": 800})
    watched = Watched(context.new_page())
    watched.tab.set_default_timeout(15_000)
    context.on("request", lambda request: watched.asked.append(request.url))
    watched.tab.on("console", lambda message: watched.complaints.append(message.text))
    watched.tab.on("pageerror", lambda error: watched.complaints.append(str(error)))
    watched.tab.on("dialog", lambda dialog: watched.complaints.append(dialog.message))
    watched.tab.goto(link)
    yield watched
    context.close()


@pytest.fixture
def page(watched: Watched) -> Iterator[Page]:
    """The tab, let in by the link; all that it asks for must stay on this machine, and it must not complain."""
    watched.tab.set_viewport_size({"width": 1100, "height": 800})
    yield watched.tab
    assert watched.asked
    assert {urlsplit(url).hostname for url in watched.asked} == {"127.0.0.1"}
    assert watched.complaints == []


def go_to(tab: Page, wanted: Callable[[str], bool], *, most: int = 60) -> None:
    """Press Tab until what has the focus is wanted, by its name, its text or its address."""
    for _ in range(most):
        tab.keyboard.press("Tab")
        told = tab.evaluate(
            "(() => { const e = document.activeElement; return [e.tagName, e.name || '', e.getAttribute('aria-label')"
            " || '', e.getAttribute('href') || '', e.innerText || '', e.value || ''].join(' | ') })()"
        )
        if wanted(told):
            return
    pytest.fail(f"the keyboard does not reach it in {most} steps on {tab.url}")


def base_of(link: str) -> str:
    return "{0.scheme}://{0.netloc}".format(urlsplit(link))


def test_the_command_serves_this_address_alone(link: str) -> None:
    place = urlsplit(link)
    assert place.hostname == "127.0.0.1"
    assert httpx.get(base_of(link)).status_code == 401
    with httpx.Client(follow_redirects=True) as browser:
        assert "halcyon" in browser.get(link).text
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.2", place.port or 0), timeout=5)


def test_the_link_opens_the_newest_prompt_and_hides_its_token(page: Page, link: str) -> None:
    page.goto(link)
    assert page.url == f"{base_of(link)}/o/user=alice/prompt"
    assert "halcyon" in page.inner_text("main")
    assert httpx.get(page.url).status_code == 401
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert str(urlsplit(link).port) in cookie["name"]


def test_searching_and_its_arithmetic_by_keyboard(page: Page, link: str) -> None:
    page.goto(f"{base_of(link)}/o/user=alice/timeline")
    go_to(page, lambda told: told.startswith("A") and "Search" in told)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search")
    page.locator("#q[autofocus]").press_sequentially("which train NJ 491 to Vienna")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?*q=which*")
    first, second = page.locator(".hit").nth(0), page.locator(".hit").nth(1)
    assert "NJ 491" in first.inner_text()
    assert first.locator("table").is_visible()
    assert "points" in first.inner_text()
    assert not second.locator("table").is_visible()
    go_to(page, lambda told: told.startswith("SUMMARY") and "Why it came back" in told)
    go_to(page, lambda told: told.startswith("SUMMARY") and "Why it came back" in told)
    page.keyboard.press("Enter")
    assert second.locator("table").is_visible()


def test_a_crafted_text_runs_nothing_and_loads_nothing(page: Page, link: str) -> None:
    for path in (
        "/o/user=alice/timeline",
        "/o/user=alice/search?q=note+gnp",
        f"{TRIP}/facts",
        f"{TRIP}/prompt?turn=17",
    ):
        page.goto(f"{base_of(link)}{path}")
        assert page.title() != "owned"
        assert page.locator("script, img, iframe").count() == 0
        assert "⟨U+202E⟩gnp.exe" in page.content()


def test_no_page_is_wider_than_the_screen(page: Page, link: str) -> None:
    for path in PATHS:
        page.goto(f"{base_of(link)}{path}")
        for width in (360, 700, 1600):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("innerWidth") == width
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_on_a_phone_the_header_is_one_row_with_a_menu(page: Page, link: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{base_of(link)}{TRIP}/facts")
    assert page.evaluate("document.querySelector('header').offsetHeight") < 60
    assert not page.get_by_role("link", name="Summaries").is_visible()
    page.get_by_role("button", name="Facts").press("Enter")
    page.get_by_role("link", name="Summaries").press("Enter")
    page.wait_for_url("**/summaries")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1100])
def test_axe_finds_nothing_on_any_page(chromium: Browser, link: str, scheme: Any, width: int) -> None:
    package = find_spec("axe_playwright_python")
    if package is None or package.origin is None:
        pytest.skip("axe-playwright-python is not installed")
    axe = Path(package.origin).with_name("axe.min.js").read_text(encoding="utf-8")
    view: Any = {"width": width, "height": 800}
    context = chromium.new_context(viewport=view, color_scheme=scheme, bypass_csp=True)
    tab = context.new_page()
    tab.goto(link)
    for path in [*PATHS, "/nothing"]:
        tab.goto(f"{base_of(link)}{path}")
        tab.evaluate(axe)
        problems = tab.evaluate("axe.run().then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))")
        assert problems == [], path
    context.close()


def test_forgetting_with_a_confirmation_by_keyboard(page: Page, link: str) -> None:
    page.goto(f"{base_of(link)}/o/user=alice/search?q=secret+word+halcyon&k=1")
    assert "halcyon" in page.inner_text(".hits")
    page.locator(".hits a.place").first.press("Enter")
    page.wait_for_url("**/event?position=*")
    go_to(page, lambda told: "Forget …" in told)
    page.keyboard.press("Enter")
    page.wait_for_url("**/forget?position=*")
    assert "halcyon" in page.inner_text(".log")
    go_to(page, lambda told: told.split(" | ")[1] == "confirmed")
    page.keyboard.press("Space")
    go_to(page, lambda told: "Forget for good" in told)
    page.keyboard.press("Enter")
    page.wait_for_url("**/timeline")
    page.goto(f"{base_of(link)}/o/user=alice/search?q=secret+word+halcyon&k=20")
    assert "halcyon" not in page.inner_text(".hits")
