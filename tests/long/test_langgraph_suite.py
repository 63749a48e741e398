"""LangGraph's own tests of a store, from its source distribution, with our store in the place of theirs."""

import os
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

PROJECT = "langgraph-checkpoint"
THEIRS = "from langgraph.store.memory import InMemoryStore\n"
OURS = "from langchain_hybrid_memory.store import HybridMemoryStore as InMemoryStore\n"

CANNOT: dict[str, str] = {}
"""Tests that cannot pass, by name, and why; none today."""

SETTINGS = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"

# What their tests use of pytest-mock.
MOCKER = """
from unittest import mock
import pytest

class MockerFixture:
    def __init__(self):
        self.patches = []
    def stub(self):
        return mock.MagicMock()
    def spy(self, owner, name):
        patch = mock.patch.object(owner, name, autospec=True, side_effect=getattr(owner, name))
        self.patches.append(patch)
        return patch.start()

@pytest.fixture
def mocker():
    fixture = MockerFixture()
    yield fixture
    for patch in fixture.patches:
        patch.stop()
"""


@pytest.fixture
def unpacked(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The tests of the version that is installed; fetched once, then kept in pytest's cache."""
    release = version(PROJECT)
    cache = getattr(request.config, "cache", None)
    shelf = tmp_path if cache is None else cache.mkdir(f"{PROJECT}-{release}")
    name = f"{PROJECT.replace('-', '_')}-{release}"
    archive = shelf / f"{name}.tar.gz"
    if not archive.exists():
        fetch = ["pip", "download", "--no-deps", "--no-binary", PROJECT, f"{PROJECT}=={release}", "-d", str(shelf)]
        done = subprocess.run([sys.executable, "-m", *fetch], capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
        if done.returncode:
            pytest.skip(f"no source distribution of {PROJECT} {release}: {done.stderr.strip()[-200:]}")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    return tmp_path / name


def test_their_tests_of_a_store_pass_with_ours(unpacked: Path) -> None:
    suite = unpacked / "tests" / "test_store.py"
    source = suite.read_text()
    assert source.count(THEIRS) == 1
    suite.write_text(source.replace(THEIRS, OURS))
    (unpacked / "pytest.ini").write_text(SETTINGS)
    (unpacked / "conftest.py").write_text("from pytest_mock import mocker\n")
    (unpacked / "pytest_mock.py").write_text(MOCKER)
    # Their package itself is the installed one.
    (unpacked / "langgraph").rename(unpacked / "sources")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=result.xml", str(suite)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(  # noqa: S603
        [*command, "-p", "pytest_asyncio.plugin"],
        cwd=unpacked, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    cases = list(ET.parse(unpacked / "result.xml").getroot().iter("testcase"))  # noqa: S314 - made here
    failed = {case.get("name", "").partition("[")[0] for case in cases if len(case)}
    print(f"{len(cases)} tests of {PROJECT} {version(PROJECT)}; cannot pass: {CANNOT or 'none'}")  # noqa: T201
    assert failed == set(CANNOT), done.stdout
    assert len(cases) > 100
