"""What is killed: forks of this process that write to a memory, and others that look at what is left of it.

One order a line on stdin, as JSON: ``write`` forks a writer, which prints its process id, then what each write
acknowledged, until it is killed: ids of messages, ``@id`` in the space, the path of a file, ``?id`` before a message is
forgotten and ``-id`` after. ``check`` prints what is wrong. Both end with ``dead``.
"""

import json
import logging
import os
import random
import sys
import time
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from hybrid_memory import MemoryConfig, ScopedMemory, check_store, open_memory
from hybrid_memory.errors import AccessDeniedError, InvalidInputError, StoreUnavailableError

OLD = datetime(2024, 1, 1, tzinfo=UTC)
READ_EVERY, FLUSH_EVERY = 3, 11
RECALLED = 5
EXTRAS, SPACE = 4, "team"
"""A file, a message in the space and a forgotten one come once in so many batches."""


def text_of(name: str) -> str:
    """The words of a message or file."""
    return f"The cat number {name} sat on the mat."


def say(*words: object) -> None:
    """One line, at once."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def patiently(remember: Any) -> Any:
    """What a write returns, made again under the same ids while the server is away."""
    give_up = time.monotonic() + 60
    while True:
        try:
            return remember()
        except StoreUnavailableError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.02)


def write(config: MemoryConfig, cycle: int, key: str | None) -> None:
    """Batches of one to three messages; in between recalls, files, forgetting, and moves to the archive, if any."""
    memory = patiently(lambda: open_memory(config, key=key))
    alice: ScopedMemory = memory.scoped(user="alice", session=f"s{cycle % 7}")
    with suppress(InvalidInputError):  # it is there already
        patiently(lambda: alice.space(SPACE).create())
    at = OLD if config.archive.url else None
    for batch in range(1_000_000):
        ids = [f"c{cycle}-b{batch}-{part}" for part in range(1 + batch % 3)]
        said = [{"content": text_of(name), "id": name, "at": at} for name in ids]
        say(*patiently(lambda said=said: alice.remember(said)).ids)
        name, path = f"c{cycle}-b{batch}", f"/notes/c{cycle}-b{batch}.md"
        if batch % EXTRAS == 1:
            patiently(lambda path=path, name=name: alice.files().write(path, text_of(name), id=f"file-{name}"))
            say(path)
            shared = {"content": text_of(name), "id": name, "at": at}
            patiently(lambda shared=shared: alice.space(SPACE).remember(shared))
            say(f"@{name}")
        if batch % EXTRAS == 2:
            say(f"?{ids[0]}")
            with suppress(InvalidInputError):  # an attempt that failed has forgotten it
                patiently(lambda ids=ids: alice.forget(ids=[ids[0]]))
            say(f"-{ids[0]}")
            patiently(lambda said=said: alice.remember(said))
        if batch % READ_EVERY == 0:
            patiently(lambda: alice.recall("cat", k=1))
        if batch % FLUSH_EVERY == 0:
            patiently(memory.flush)
        if config.archive.url and batch % READ_EVERY == 1:
            patiently(memory.archive)


def wrong(config: MemoryConfig, acknowledged: list[str], seed: int, key: str | None = None) -> list[str]:
    """What is lost, doubled, not found, back after it was forgotten, or complained of by the doctor."""
    with open_memory(config, key=key) as memory:
        alice = memory.scoped(user="alice")
        forgotten, doubtful = ({name[1:] for name in acknowledged if name[0] == sign} for sign in "-?")
        history = (str(message.id) for message in alice.history())  # with the pieces of files
        said = Counter(name for name in history if name.startswith("c"))
        with suppress(AccessDeniedError):  # no writer came to creating it
            said += Counter(f"@{message.id}" for message in alice.space(SPACE).history())
        said += Counter(file.path for file in alice.files().list("/", deep=True) if file.path.startswith("/notes/"))
        found = [f"lost {name}" for name in acknowledged if name[0] not in "-?" and name not in {*said, *doubtful}]
        found += [f"{count} times {name}" for name, count in said.items() if count > 1]
        found += [f"forgotten {name} is back" for name in forgotten if name in said]
        found += [
            f"another text in {path}"
            for path in said
            if path.startswith("/") and alice.files().read(path) != text_of(path[7:-3])
        ]
        memory.flush()
        stats = memory.stats()
        if (stats.records, stats.vectors, stats.unindexed, stats.pending) != (len(said), len(said), 0, 0):
            found.append(f"{len(said)} messages and files, but {stats!r}")
        chance = random.Random(seed)  # noqa: S311 - for tests
        plain = [name for name in acknowledged if name.startswith("c") and name not in doubtful]
        for name in chance.sample(plain, min(RECALLED, len(plain))):
            hits = memory.scoped(user="alice").recall(f'"{name}"', k=5)
            if name not in {hit.record.sources[0] for hit in hits}:
                found.append(f"not recalled {name}: {[hit.note for hit in hits[:1]]}")
    if not config.archive.url:  # which the doctor's second connection would find locked
        found += [one.detail for one in check_store(config, key=key) if one.state == "wrong"]
    return found


def warmed() -> None:
    """Import once what every fork needs; threads and connections are theirs alone."""
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as memory:
        memory.scoped(user="alice").remember("I live in Lisbon.")
        memory.scoped(user="alice").recall("Where do I live?")
        memory.flush()
    for name in (
        "hybrid_memory.engines.sqlite",
        "hybrid_memory.engines.postgres",
        "hybrid_memory.engines.redis",
        "hybrid_memory.engines.milvus",
    ):
        with suppress(ImportError):
            import_module(name)


def main() -> None:
    """One fork after the other."""
    logging.disable(logging.CRITICAL)  # every lost connection is told at length
    warmed()
    say("ready")
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            try:
                config = MemoryConfig.of(order["config"])
                if order["do"] == "write":
                    say(os.getpid())
                    write(config, order["cycle"], order["key"])
                else:
                    names = Path(order["acknowledged"]).read_text(encoding="utf-8").split()
                    for one in wrong(config, names, order["cycle"], order["key"]):
                        say("wrong", one)
            except BaseException as error:  # noqa: BLE001 - told to who reads
                say("wrong", f"{type(error).__name__}: {error}".replace("\n", " "))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
