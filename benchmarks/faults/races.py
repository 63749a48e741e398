"""Forget against folds, notes, learning, indexing, blocks and notes of agents: what is forgotten must not come back.

In each race one derives something from turns, in another thread or another process, while they are forgotten. What
remains of their word in the log, in any verb and, at the end, in the bytes of the store's files is counted.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Self

from hybrid_memory import HybridMemory, MemoryConfig, Message, Role, ScopedMemory, open_memory
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text.tokens import estimate_tokens

ROUNDS = 40
"""Races on one store; then its bytes are searched, and the next store begins."""

SLOWEST = 0.004


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be set."""
    parser.add_argument("--count", type=int, default=1000, help="races, half of them between two processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--url", default="", help="of a server to race on, such as redis://localhost:6379/0")


def run(args: argparse.Namespace) -> int:
    """Race, and print what came back."""
    began, found, raced = time.monotonic(), Counter[str](), Counter[str]()
    random = Random(args.seed)  # noqa: S311 - of delays
    for number in range(0, args.count, ROUNDS):
        with TemporaryDirectory() as folder:
            url = args.url or f"sqlite:///{folder}/memory.db"
            raced += store_of_races(url, Path(folder), random, min(ROUNDS, args.count - number), found)
    print(f"{raced.total():,} races in {time.monotonic() - began:.0f} s: {dict(raced)}")
    print(f"words that came back: {dict(found) or 'none'}")
    return int(bool(found))


def store_of_races(url: str, folder: Path, random: Random, count: int, found: Counter[str]) -> Counter[str]:
    """Race on one store, with threads and with another process; what came back is counted in ``found``."""
    raced: Counter[str] = Counter()
    words = []
    with opened(url) as memory, Child(url) as other:
        for number in range(count):
            way, word = random.choice(sorted(DERIVE)), f"zirconquokka{random.randrange(10**9):09}"
            words.append((way, word))
            alice = memory.scoped(user=f"user of {word[-9:]}", session="s")
            ids = tell(alice, word, number)
            forget = partial(alice.forget, **random.choice(FORGET)(alice, ids, word))
            derive = partial(other.derive if number % 2 else partial(derived, memory), way, str(alice.scope.user), ids)
            race(random, [derive, forget])
            raced[f"{way}, {'processes' if number % 2 else 'threads'}"] += 1
            for place in remains(memory, alice, word):
                found[f"{way} in {place}"] += 1
    for way, word in words:
        for file in folder.rglob("*"):
            if file.is_file() and word.encode() in file.read_bytes():
                found[f"{way} in the bytes of {file.name}"] += 1
    return raced


def race(random: Random, jobs: list[Callable[[], object]]) -> None:
    """Begin the jobs one shortly after the other, and wait for both."""
    threads = [threading.Thread(target=job) for job in jobs]
    random.shuffle(threads)
    for thread in threads:
        thread.start()
        time.sleep(random.random() * random.choice([SLOWEST, 10 * SLOWEST]))
    for thread in threads:
        thread.join()


def opened(url: str) -> HybridMemory:
    """A store with a model that takes its time, and repeats what it was told."""

    def slow(messages: list[dict[str, str]]) -> str:
        time.sleep(SLOWEST / 2)
        said = [word for message in messages for word in message["content"].split() if word.startswith("zircon")]
        return json.dumps(
            {"facts": [], "decisions": [{"text": f"It is about {word}", "turns": []} for word in said[:3]]}
        )

    config = MemoryConfig(url=url, power_safe=False)
    return open_memory(config, embedder="hashing", language_model=slow, token_counter=estimate_tokens)


def tell(alice: ScopedMemory, word: str, number: int) -> list[str]:
    """Turns with the word, among others; returns the ids of those with the word."""
    said = alice.remember([f"I live in {word}. My password is {word}!", f"This is my {word}."])
    rest: list[Any] = []
    for turn in range(3):
        rest += [f"Room {turn} has {number} chairs.", {"role": "assistant", "content": f"Noted: room {turn}."}]
    alice.remember(rest)
    return list(said.ids)


def _fold(alice: ScopedMemory, _: list[str]) -> None:
    alice.compact(keep=1, strategy="anchored")


def _note(alice: ScopedMemory, _: list[str]) -> None:
    alice.remember("And where do I live?")
    alice.assemble(max_tokens=2000)


def _learn(alice: ScopedMemory, _: list[str]) -> None:
    alice.flush()
    alice.profile()


def _index(alice: ScopedMemory, _: list[str]) -> None:
    alice.flush()
    alice.recall("What is this?", k=5)


def _block(alice: ScopedMemory, ids: list[str]) -> None:
    said = next((message.text for message in alice.history() if message.id in ids), "nothing")
    home = alice.block("human")
    home.put(value="A user.")
    home.edit(append=f"Said {said}", source=ids)


def _keep(alice: ScopedMemory, ids: list[str]) -> None:
    said = next((message.text for message in alice.history() if message.id in ids), "nothing")
    alice.remember(Message(role=Role.ASSISTANT, content=f"They said {said}", extra={"made_of": ids}))


DERIVE: dict[str, Callable[[ScopedMemory, list[str]], None]] = {
    "fold": _fold, "note": _note, "learning": _learn, "index": _index, "block": _block, "made of": _keep
}  # fmt: skip


FORGET: list[Callable[[ScopedMemory, list[str], str], dict[str, Any]]] = [
    lambda _, ids, __: {"ids": ids},
    lambda _, __, word: {"query": word},
    lambda alice, ids, _: {"ids": [f"#{event.position}" for event in alice.events(which=ids)]},
]


def derived(memory: HybridMemory, way: str, user: str, ids: list[str]) -> None:
    """Derive something, unless what it is made of is gone already."""
    try:
        DERIVE[way](memory.scoped(user=user, session="s"), ids)
    except InvalidInputError as error:
        if "forgotten" not in str(error):
            raise


def remains(memory: HybridMemory, alice: ScopedMemory, word: str) -> list[str]:
    """Where the word still is."""
    services = memory._runtime.services  # noqa: SLF001 - the log itself, with what no verb shows
    log = services.truth.read(alice.scope.owner)
    found = [str(event.kind) for event in log if word in json.dumps(event.payload)]
    alice.flush()
    shown = {
        "recall": [hit.record.text for hit in alice.recall(f"What about {word}?", k=20)],
        "facts": [str(fact.value) for fact in alice.facts(history=True)],
        "profile": alice.profile().render(1000, estimate_tokens),
        "summary": alice.summary().text,
        "prompt": alice.assemble("What do you know of me?", max_tokens=2000).text,
        "history": [message.text for message in alice.history()],
    }
    return found + [name for name, value in shown.items() if word in json.dumps(value)]


class Child:
    """Another process with the same store, which derives what it is told to."""

    def __init__(self, url: str) -> None:
        command = [sys.executable, __file__, url]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
        self._wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def derive(self, *what: object) -> None:
        """Let it derive this, and wait until it is done."""
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(what) + "\n")
            self._process.stdin.flush()
        self._wait()

    def _wait(self) -> None:
        if self._process.stdout is None or not self._process.stdout.readline():
            raise RuntimeError("the other process is gone")


def main() -> None:
    """Derive what each line asks for."""
    with opened(sys.argv[1]) as memory:
        print("open", flush=True)
        for line in sys.stdin:
            derived(memory, *json.loads(line))
            print("done", flush=True)


if __name__ == "__main__":
    main()
