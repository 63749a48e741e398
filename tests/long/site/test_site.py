"""The site is built without a warning, has every page and every setting, and asks nobody else for anything."""

import importlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pydantic import BaseModel

import hybrid_memory
import langchain_hybrid_memory
import llamaindex_hybrid_memory
from hybrid_memory import MemoryConfig, PagingConfig, Weights, errors, ports

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "results"


class Loads(HTMLParser):
    """What a browser fetches for a page, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.loaded += [given[name] for name in ("src", "srcset", "data", "poster") if name in given]
        if tag == "link" and given.get("rel") not in {"canonical", "next", "prev"}:
            self.loaded.append(given.get("href", ""))
        if tag == "a":
            self.links.append(given.get("href", ""))


def read(page: Path) -> Loads:
    loads = Loads()
    loads.feed(page.read_text(encoding="utf-8"))
    return loads


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        loaded = read(page).loaded
        assert any(name.endswith(".css") for name in loaded)
        assert not [name for name in loaded if re.match(r"(?:[a-z]+:)?//", name)], page.name
        assert "<!-- make:" not in page.read_text(encoding="utf-8"), page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet.name


def test_every_page_is_in_the_navigation(site: Path) -> None:
    linked = {link.partition("#")[0] for link in read(site / "index.html").links}
    pages = {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md")}
    assert pages <= linked | {"index.html"}


def test_the_search_knows_every_page(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    pages = {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md")}
    assert pages <= {entry["location"].partition("#")[0] or "index.html" for entry in entries}
    found = {entry["location"] for entry in entries if "HYBRID_MEMORY_KEY" in entry["text"]}
    assert any(location.startswith("settings.html") for location in found)


def parts(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for part in model.model_fields.values():
        if isinstance(part.annotation, type) and issubclass(part.annotation, BaseModel):
            yield from parts(part.annotation)


def test_every_setting_is_on_its_page(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "hooks")
    page = (site / "settings.html").read_text(encoding="utf-8")
    codes = {unescape(code) for code in re.findall(r"<code>(.*?)</code>", page)}
    models: list[type[BaseModel]] = [*parts(MemoryConfig), PagingConfig]
    assert len(models) == 11
    sections = set("index archive recall compaction prompt learning retention redaction orchestration".split())
    assert set(importlib.import_module("settings_page").GROUPS.values()) == set(models)
    named = {name for model in models for name in model.model_fields} | {part.name for part in fields(Weights)}
    assert named - sections - {"weights"} <= codes


def test_every_error_has_its_cure() -> None:
    page = (DOCS / "faq.md").read_text(encoding="utf-8")
    named = [name for name in vars(errors) if name.endswith(("Error", "Warning")) and name != "HybridMemoryError"]
    assert len(named) > 10
    for name in named:
        _, _, told = page.partition(f"\n### {name}\n")
        assert re.search(r"\*\*Cure:\*\*|line for pip", told.partition("\n### ")[0]), name


def test_every_notebook_is_on_its_page() -> None:
    page = (DOCS / "index.md").read_text(encoding="utf-8")
    notebooks = {notebook.stem for notebook in (ROOT / "notebooks").glob("0[1-9]_*.ipynb")}
    assert notebooks <= set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))


def test_every_result_has_its_table_and_nothing_of_a_machine() -> None:
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"<!-- make: benchmark ([a-z_]+) -->", page))
    files = list(RESULTS.glob("*.json"))
    assert shown == {file.stem for file in files}
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.:/])/\w|jsonl", text), file.name
        assert len(text) < 20_000, "figures, no data"
        assert {"date", "command", "versions", "machine", "note", "results"} == set(json.loads(text))


@pytest.mark.timeout(600)
def test_the_demo_prints_what_its_picture_shows_and_so_does_a_second_run(tmp_path: Path) -> None:
    def bare(text: str) -> str:
        return re.sub(r"\d+(?=ms)|[\d.]+(?=MB)|Thememoryiskeptin[^ ]*?(?=Everyscore)", "", "".join(text.split()))

    svg = (DOCS / "assets" / "demo.svg").read_text("utf-8")
    picture = bare(unescape(re.sub(r"(?s)<style>.*?</style>|<[^>]+>", "", svg)))
    for _ in range(2):
        demo = [sys.executable, str(ROOT / "examples" / "demo.py"), "--store", str(tmp_path / "memory.db")]
        printed = subprocess.run(demo, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8").stdout  # noqa: S603
        assert bare(printed) in picture, "python docs/recording.py records it"


def test_the_packages_on_the_page_are_those_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [layer.replace("hybrid_memory.", "") for layer in contracts[0]["layers"][1:]]
    assert "\n".join(["", *layers, ""]) in (DOCS / "architecture.md").read_text("utf-8")


def test_the_reference_has_every_public_name_and_every_verb(site: Path) -> None:
    pages = "".join(page.read_text("utf-8") for page in (site / "api").glob("*.html"))
    shown = set(re.findall(r'id="([\w.]+)"', pages))
    for package in (hybrid_memory, langchain_hybrid_memory, llamaindex_hybrid_memory, ports, errors):
        names = getattr(package, "__all__", None) or [name for name in vars(package) if name.endswith("Error")]
        assert {f"{package.__name__}.{name}" for name in names if name != "__version__"} <= shown
    assert {
        f"hybrid_memory.ScopedMemory.{name}" for name in ("recall", "arecall", "assemble", "forget", "facts")
    } <= shown
    recall = (site / "api" / "memory.html").read_text("utf-8").partition('id="hybrid_memory.ScopedMemory.recall"')[2]
    assert "min_confidence" in recall[:20_000]
