"""Nonsense in every argument of every verb, on both faces: only errors of the library's own, and nothing changed.

Calls are made up from the signatures. After an `InvalidInputError` nothing was said or decided, every known turn is
still found, no call takes longer than five seconds, and the process does not grow.
"""

import argparse
import asyncio
import gc
import inspect
import logging
import random
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.faults._verbs import Call, Verbs
from hybrid_memory import EventKind, HybridMemory, LearningConfig, MemoryConfig, Scope, open_memory
from hybrid_memory.config import OrchestrationConfig
from hybrid_memory.errors import HybridMemoryError, InvalidInputError

FACES = {
    "verbs": ("_verbs", "Verbs"), "opening": ("_surfaces", "Opening"), "mcp": ("_surfaces", "Mcp"),
    "cli": ("_surfaces", "Cli"), "adapters": ("_adapters", "Adapters"),
}  # fmt: skip
"""Where calls come from, with the module and the class that makes them up."""
LONGEST = 5.0
"""Seconds that a call may take."""
PER_STORE = 2_000
"""Calls on one store before the next is opened, so that what calls cost does not depend on how many there were."""
CHECKED_EVERY = 100
GROWTH = 64 * 2**20
"""Bytes that the process may grow by, from the end of its first stores to the end of its last."""
DERIVED = {EventKind.CLAIM, EventKind.USED}
KNOWN = "the lighthouse keeper counts seventeen herons"


class _HungError(BaseException):
    """A call took too long."""


def _hung(*_: Any) -> None:
    raise _HungError


class Campaign:
    """Counts of what was called and what came of it.

    Attributes:
        broken: by what happened, how often; examples: the first call of each.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.calls = 0
        self.hung = False
        self.slowest = (0.0, "")
        self.outcomes: Counter[str] = Counter()
        self.broken: Counter[str] = Counter()
        self.examples: dict[str, str] = {}

    def on_store(self, face: str, url: str, folder: Path, calls: int) -> None:
        """So many calls on one store, of which half are awaited, or fewer where one of them hangs."""
        module, kind = FACES[face]
        self.hung = False
        learning, orchestration = LearningConfig(background=False), OrchestrationConfig(background=False)
        config = MemoryConfig(url=url, embedder="hashing", learning=learning, orchestration=orchestration)
        with open_memory(config) as memory, asyncio.Runner() as loop:
            keeper = memory.scoped(user="keeper")
            keeper.remember(KNOWN, id="known")
            made: Verbs = getattr(import_module(f"benchmarks.faults.{module}"), kind)(memory, self.random, folder)
            for number in range(calls):
                self._call(memory, made, loop)
                self.calls += 1
                if self.hung:
                    break
                if number % CHECKED_EVERY == 0 or number == calls - 1:
                    found = keeper.recall("lighthouse keeper herons")
                    if [hit.record.text for hit in found] != [KNOWN]:
                        self._note("the known turn is not found", "recall", "")

    def _call(self, memory: HybridMemory, made: Verbs, loop: asyncio.Runner) -> None:
        call = made.one()
        before = memory.heads()
        signal.setitimer(signal.ITIMER_REAL, LONGEST)
        began = time.perf_counter()
        try:
            value = call.run()
            if inspect.isawaitable(value):
                value = loop.run(_awaited(value))
            self.outcomes["done"] += 1
            made.keep(call, value)
        except HybridMemoryError as error:
            self.outcomes[type(error).__name__] += 1
            if isinstance(error, InvalidInputError) and _changed(memory, before):
                self._note(f"{call.name} refused its arguments and changed something", call.text, str(error))
        except call.foreign as error:
            self.outcomes[type(error).__name__] += 1
        except _HungError:
            self._note(f"{call.name} took more than {LONGEST:g} s", call.text, "")
            self.hung = True
        except Exception as error:  # noqa: BLE001 - it is what is looked for
            self._foreign(call, error)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.slowest = max(self.slowest, (time.perf_counter() - began, call.text))

    def _foreign(self, call: Call, error: Exception) -> None:
        files = traceback.extract_tb(error.__traceback__)
        if call.frames and not any(part in frame.filename for part in call.frames for frame in files):
            self.outcomes["of the framework"] += 1
            return
        what = f"{call.name}: {type(error).__name__} in {Path(files[-1].filename).name}:{files[-1].lineno}"
        self._note(what, call.text, str(error) if not isinstance(error, LookupError) else "")

    def _note(self, what: str, call: str, error: str) -> None:
        self.broken[what] += 1
        self.examples.setdefault(what, f"{call} -> {error[:200]}")


def _changed(memory: HybridMemory, before: dict[Scope, int]) -> bool:
    """Whether anything was written but what is read from turns when they are first asked about."""
    for owner, head in memory.heads().items():
        new = range(before.get(owner, 0) + 1, head + 1)
        if any(event.kind not in DERIVED for event in memory.for_scope(owner).events(which=list(new)) if new):
            return True
    return False


async def _awaited(value: Any) -> Any:
    return await value


def resident() -> int:
    """Bytes of memory that this process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def campaign(
    count: int, seed: int, *, faces: Sequence[str] = tuple(FACES), per_store: int = PER_STORE
) -> tuple[Campaign, int]:
    """So many calls on stores in files and in memory by turns; what came of them, and how much the process grew."""
    done = Campaign(seed)
    sizes: list[int] = []
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable()
        before = signal.signal(signal.SIGALRM, _hung)
        while done.calls < count:
            face, turn = faces[len(sizes) % len(faces)], len(sizes) // len(faces)
            folder = Path(name, *"abcdefgh", str(len(sizes)))  # no path of one text leads out of all of them
            folder.mkdir(parents=True)
            url = f"sqlite:///{folder}/kept.db" if turn % 2 else "memory://"
            done.on_store(face, url, folder, min(per_store, count - done.calls))
            sizes.append(resident())
        signal.signal(signal.SIGALRM, before)
        logging.disable(logging.NOTSET)
    return done, sizes[-1] - sizes[len(sizes) // 4] if len(sizes) > 4 else 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many calls, and which."""
    parser.add_argument("--count", type=int, default=100_000, help="calls")
    parser.add_argument("--seed", type=int, help="the same calls again")
    parser.add_argument("--faces", nargs="+", choices=FACES, default=[*FACES], help="where they come from")


def run(args: argparse.Namespace) -> int:
    """Call, and print what broke; 0 if nothing did."""
    seed = random.SystemRandom().randrange(2**32) if args.seed is None else args.seed
    print(f"seed {seed}")
    done, grown = campaign(args.count, seed, faces=args.faces)
    foreign = sum(done.broken.values())
    print(f"{done.calls:,} calls, {foreign:,} broken ({100 * foreign / done.calls:.2f} %): {dict(done.outcomes)}")
    print(f"slowest {done.slowest[0]:.2f} s: {done.slowest[1]}; grown by {grown / 2**20:.1f} MiB")
    for what, times in done.broken.most_common():
        print(f"{times:6} {what}\n       {done.examples[what]}")
    return 1 if foreign or grown > GROWTH else 0
