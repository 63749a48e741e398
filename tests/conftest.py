import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, cast

import pytest
from blockbuster import blockbuster_ctx
from hypothesis import HealthCheck, settings

from hybrid_memory import HybridMemory, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.models.tokenizers import token_counter
from tests.faces import Child, Face, Open

pytest.register_assert_rewrite("hybrid_memory.testing")

ENGINES = re.compile("postgres|redis|milvus|durability|test_extension|full_disk|test_engines_agree|test_stdio")
"""In the ids of the tests that `make test-engines` runs."""

# The same examples each time, and few where a property says no number itself, so that a run that passed passes again;
# --hypothesis-profile=search looks for new ones. How fast examples are made tells how busy the machine is.
settings.register_profile(
    "quick", max_examples=25, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", deadline=None)
settings.load_profile("quick")

CHILDREN = Path(__file__).with_name("children")

# Thousands of tests make a store in a file. In memory, where there is room, none of them waits for the disk.
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes folders of its own there
if IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


class _Twins:
    """An object whose blocking calls go to their async twins, each in an event loop of its own."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __getattr__(self, name: str) -> Any:
        twin = getattr(self._owner, f"a{name}", None)
        if name == "block":
            return lambda label: _Twins(self._owner.block(label))
        if twin is None:
            return getattr(self._owner, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await twin(*args, **kwargs)

        return lambda *args, **kwargs: asyncio.run(call(*args, **kwargs))


@pytest.fixture(params=["async"])
def face(request: pytest.FixtureRequest) -> Iterator[Face]:
    """The async face, which fails if it ever blocks the loop; where marked ``in_pairs`` also the blocking one.

    Both are made of one coroutine: what a verb does, one of them shows.
    """
    if request.param == "blocking":
        yield lambda owner: owner
    else:
        token_counter()("")  # its table is read once a process, by whichever test is the first
        with blockbuster_ctx() as blockbuster:
            # Coverage guards its own data, wherever the measured code runs.
            blockbuster.functions["threading.Lock.acquire"].can_block_in("coverage/collector.py", "lock_data")
            yield cast("Face", _Twins)


@pytest.fixture
def child() -> Child:
    """Runs a script of ``tests/children`` in a process of its own."""

    def run(script: str, *arguments: str, timeout: float = 200) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(CHILDREN / script), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)  # noqa: S603

    return run


@pytest.fixture
def store(tmp_path: Path) -> str:
    """The URL of a store file that is not there yet."""
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture
def opened(store: str) -> Iterator[Open]:
    """Opens memories by settings and models, on `store` with the hashing embedder; closes them after the test."""
    memories: list[HybridMemory] = []

    def open_one(*, embedder: Any = "hashing", **more: Any) -> HybridMemory:
        named = isinstance(embedder, str)
        models = {name: more.pop(name) for name in signature(open_memory).parameters if name in more}
        # Killed processes lose nothing without it either, and many thousand waits for the disk are saved.
        quick = {"power_safe": False}
        config = MemoryConfig(**{"url": store, "embedder": embedder if named else "none", **quick, **more})
        memory = open_memory(config, embedder=None if named else embedder, **models)
        memories.append(memory)
        return memory

    yield open_one
    for memory in memories:
        memory.close()


@pytest.fixture
def idle_loop() -> Iterator[None]:
    """An event loop of the main thread, which LlamaIndex would make and never close."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser, whose event loop runs as long as it does; skipped without one, or HYBRID_MEMORY_BROWSER=required."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None or find_spec("playwright") is None:
        missing = "no Chromium is installed" if path is None else "playwright is not installed"
        (pytest.fail if os.environ.get("HYBRID_MEMORY_BROWSER") == "required" else pytest.skip)(missing)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - optional

    flags = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*flags.split(), "--no-first-run"])
        yield browser
        browser.close()


@pytest.fixture
def memory(request: pytest.FixtureRequest, opened: Open) -> HybridMemory:
    """An empty memory: on SQLite where the async face is tested, which must not wait for a disk, else in memory.

    That all engines answer alike, `tests/stores` and `tests/engines` prove.
    """
    on_a_loop = {"face", "invoke"} & set(request.fixturenames)
    engine = getattr(request, "param", "sqlite" if on_a_loop else "memory")
    return opened() if engine == "sqlite" else opened(url="memory://")


@pytest.hookimpl(tryfirst=True)  # before fixtures bring their own parameters
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Where marked so, each face runs on one engine."""
    mark = metafunc.definition.get_closest_marker("in_pairs")
    given = " ".join(str(other.args[0]) for other in metafunc.definition.iter_markers("parametrize"))
    if mark is not None and set(mark.args) <= set(metafunc.fixturenames) and "face" not in given:
        pairs = [("blocking", "memory"), ("async", "sqlite")]
        metafunc.definition.add_marker(pytest.mark.parametrize(mark.args, pairs, indirect=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What starts servers or kills processes has a mark, so that `make test` needs neither and is quick."""
    for item in items:
        if ENGINES.search(item.nodeid):
            item.add_marker("engines")


@pytest.fixture
def alice(memory: HybridMemory) -> ScopedMemory:
    """One user's first session."""
    return memory.scoped(user="alice", session="s1")


@pytest.fixture(autouse=True)
def no_learning_by_itself(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is learned in the background, unless a test is marked so: positions in the log depend on no pause."""
    if request.node.get_closest_marker("background") is None:
        monkeypatch.setattr("hybrid_memory.memory.runtime.Runtime.after_write", lambda *_: None)
        monkeypatch.setattr("hybrid_memory.memory.runtime.Runtime.start", lambda *_: None)
        monkeypatch.setattr("hybrid_memory.memory.runtime.Runtime.after_recall", lambda *_: None)
        monkeypatch.setattr("hybrid_memory.memory.runtime.Runtime.learn_left", lambda *_: None)
