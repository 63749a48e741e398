from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from starlette.testclient import TestClient

from hybrid_memory import CompactionConfig, HybridMemory, LearningConfig, MemoryConfig, ScopedMemory, open_memory
from hybrid_memory.config import OrchestrationConfig
from hybrid_memory_inspector import application
from tests.world import rows

TOKEN = "the-token-of-this-session"  # noqa: S105 - of a test
ADDRESS = "http://127.0.0.1:8123"
START = datetime(2026, 3, 2, 9, tzinfo=UTC)

CRAFTED = (
    "<script>document.title='owned'</script> <img src=x onerror=alert(1)> **bold** [link](javascript:alert(2)) "
    "{{ 7 * 7 }} \u202egnp.exe\u202c \u2066isolate\u2069 \x1b[31mred\x1b[0m \x07 \u200bzero \U000e0041tag"
)
"""What tries to be more than text."""

TALK = [(role, text.replace("CRAFTED", CRAFTED)) for role, text in rows("inspector/talk.tsv")]


def tell(alice: ScopedMemory) -> None:
    """A conversation of some months, with prompts for its turns, a compaction, facts and a block."""
    for number, (role, text) in enumerate(TALK):
        alice.remember(text, role=role, at=START + timedelta(days=10 * number))
        if role == "user":
            alice.assemble(max_tokens=500)
    alice.block("persona").put(f"Calm. {CRAFTED}")
    alice.compact(keep=3)
    alice.facts()
    alice.flush(progress=False)


def remembered() -> HybridMemory:
    """A memory with alice's conversation, a session with a crafted name, another user and a shared space."""
    config = MemoryConfig(
        url="memory://", embedder="hashing", compaction=CompactionConfig(max_tokens=500),
        learning=LearningConfig(background=False), orchestration=OrchestrationConfig(background=False),
    )  # fmt: skip
    memory = open_memory(config)
    alice = memory.scoped(user="alice", session="s/1 & more")
    tell(alice)
    memory.scoped(user="alice", session=CRAFTED[:200]).remember("A word in a strange place.", at=START)
    memory.scoped(user=CRAFTED[:200], agent="a/b?c=d").remember("I like tea.", at=START)
    alice.space("team").create().remember(f"The stand-up is at nine. {CRAFTED}", at=START)
    memory.flush(progress=False)
    return memory


@pytest.fixture(scope="module")
def told() -> Iterator[HybridMemory]:
    """What is only looked at."""
    with remembered() as memory:
        yield memory


@pytest.fixture
def fresh() -> Iterator[HybridMemory]:
    """What may be changed."""
    with remembered() as memory:
        yield memory


@pytest.fixture
def browse() -> Callable[..., TestClient]:
    """Gives a client that has the token."""

    def browser(memory: HybridMemory, *, writable: bool = False) -> TestClient:
        page = application(memory, token=TOKEN, writable=writable)
        headers = {"authorization": f"Bearer {TOKEN}"}
        return TestClient(page, base_url=ADDRESS, headers=headers, follow_redirects=False)

    return browser


@pytest.fixture
def reader(told: HybridMemory, browse: Callable[..., TestClient]) -> TestClient:
    return browse(told)


@pytest.fixture
def writer(told: HybridMemory, browse: Callable[..., TestClient]) -> TestClient:
    return browse(told, writable=True)
