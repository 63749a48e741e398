"""What encryption and learning cost: ratios of figures that were measured within this run, side by side.

Encryption: the same turns written one by one and in hundreds, flushed, and asked for, in a plain and in an encrypted
store in turn; medians over all rounds. The vectors come from a cache, so that flushing is what the store does.
Learning: seconds that the rules take of a flush, with text alone and with the local embedder, and of one turn.
Facts: the time of `facts()` and `profile()` over a store of 10,000 turns; *first* reads all claims, *new turn* follows
a write.
Recall: the same conversations with and without learned facts; they must not push out any of the questions' evidence.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.compression.sets import CachedEmbedder, Table, load
from benchmarks.learning.sets import Options
from benchmarks.retrieval import grade, messages
from hybrid_memory import EventKind, HybridMemory, MemoryConfig, Message, RecordKind, Scope, ScopedMemory, open_memory
from hybrid_memory.engines.in_memory import InMemoryIndex, InMemoryLog
from hybrid_memory.engines.sqlite import Database, SqliteLog
from hybrid_memory.facts.learn import Extractors
from hybrid_memory.facts.statements import Statements
from hybrid_memory.log.event import TimeOrderedIds
from hybrid_memory.memory.opening import projections
from hybrid_memory.models.embedders import LocalEmbedder, as_embedder
from hybrid_memory.recall.signals import learned
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import Views
from hybrid_memory.text.tokens import estimate_tokens

KEY = "correct horse battery staple"
ROUNDS = 3
WRITTEN = 600
BATCH = 100
QUESTIONS = 60
READ = 500
TURNS = 10_000
TIMES = 10
RECALLED = ("locomo", "memorybank_zh")
CONVERSATIONS = {"locomo": 3}
DEPTH = 10


def spent(call: Callable[[], object]) -> float:
    """Seconds."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def said(data: Path, name: str, count: int) -> list[Message]:
    """The first turns of a set, with ids of their own."""
    turns = (message for one in load(data, name) for _, those in messages(one["turns"]) for message in those)
    return [message.model_copy(update={"id": None}) for message in islice(turns, count)]


def run(options: Options) -> Iterator[Table]:
    """Four tables."""
    yield encryption(options)
    options.embedder.save()
    yield learning(options)
    yield knowing(options)
    yield recall(options)


def encryption(options: Options) -> Table:
    """Plain and encrypted, and the ratio."""
    turns = said(options.data, "locomo", WRITTEN)
    questions = [question["question"] for question in next(load(options.data, "locomo"))["questions"][:QUESTIONS]]
    figures: dict[str, dict[str, list[float]]] = {}
    stored(turns, questions, options.embedder, None)  # fills the cache, so that no round embeds
    for _ in range(ROUNDS):
        for name, key in (("plain", None), ("encrypted", KEY)):
            for what, values in stored(turns, questions, options.embedder, key).items():
                figures.setdefault(what, {}).setdefault(name, []).extend(values)
    table = Table(
        f"Encryption: {ROUNDS} rounds of {len(turns)} turns, {len(questions)} questions, medians in ms",
        ["what", "plain", "encrypted", "ratio"],
    )
    for what, by_name in figures.items():
        plain, encrypted = (statistics.median(by_name[name]) * 1e3 for name in ("plain", "encrypted"))
        table.rows.append({"what": what, "plain": plain, "encrypted": encrypted, "ratio": encrypted / plain})
    return table


def stored(
    turns: Sequence[Message], questions: Sequence[str], embedder: CachedEmbedder, key: str | None
) -> dict[str, list[float]]:
    """Seconds of each write, flush and recall in one store."""
    with tempfile.TemporaryDirectory() as folder:
        config = MemoryConfig(url=f"sqlite:///{folder}/memory.db")
        opening = time.perf_counter()
        with open_memory(config, embedder=embedder, key=key) as memory:
            opened = time.perf_counter() - opening
            owner = memory.scoped(user="u", session="s")
            middle = len(turns) // 2
            single = [spent(partial(owner.remember, turn)) for turn in turns[:middle]]
            parts = [list(turns[at : at + BATCH]) for at in range(middle, len(turns), BATCH)]
            batches = [spent(partial(owner.remember, part)) for part in parts]
            flush = spent(lambda: owner.flush(progress=False))
            owner.recall(questions[0])
            recalls = [spent(partial(owner.recall, asked)) for asked in questions]
    return {
        "open": [opened],
        "write a turn": single,
        f"write {BATCH} turns": batches,
        "flush": [flush],
        "recall": recalls,
    }


def learning(options: Options) -> Table:
    """What rules take of a flush."""
    table = Table(
        f"Learning by rules, {READ} turns of each set",
        ["set, embedder", "ms learning", "ms flush", "share", "us a turn", "us reading", "claims"],
    )
    for name in RECALLED:
        turns = said(options.data, name, READ)
        for embedder in ("none", "local"):
            table.rows.append({"set, embedder": f"{name}, {embedder}", **read(turns, embedder)})
    return table


def read(turns: Sequence[Message], embedder: str) -> dict[str, Any]:
    """Seconds of learning alone and of the rest of a flush; of reading without the log."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.db"
        model = LocalEmbedder() if embedder == "local" else None
        with open_memory(MemoryConfig(url=f"sqlite:///{file}", embedder="none"), embedder=model) as memory:
            owner = memory.scoped(user="u", session="s")
            owner.remember("Hello.")
            owner.flush(progress=False)  # compiles the rules, and loads the model
            owner.remember(list(turns))
            learned = spent(lambda: owner.learn(progress=False))
            rest = spent(lambda: owner.flush(progress=False))
        log = SqliteLog(Database(file))
        events = log.read(Scope(user="u"), kinds=[EventKind.MESSAGE])
        claims = len(log.read(Scope(user="u"), kinds=[EventKind.CLAIM]))
        log.close()
    rules = Statements()
    reading = spent(lambda: rules.extract(events, []))
    return {
        "ms learning": round(learned * 1e3),
        "ms flush": round((learned + rest) * 1e3),
        "share": learned / (learned + rest),
        "us a turn": round(learned / len(turns) * 1e6),
        "us reading": round(reading / len(events) * 1e6),
        "claims": claims,
    }


def knowing(options: Options) -> Table:
    """How long facts and profile take over a large store."""
    count = TURNS if options.limit is None else min(TURNS, 1_000 * options.limit)
    turns = said(options.data, "longmemeval_s", count)
    rows = []
    for name, embedder in (("words alone", None), ("local embedder", options.embedder)):
        with tempfile.TemporaryDirectory() as folder:
            config = MemoryConfig(url=f"sqlite:///{folder}/memory.db", embedder="none")
            with open_memory(config, embedder=embedder) as memory:
                owner = memory.scoped(user="u", session="s")
                owner.remember(turns)
                learned = spent(partial(owner.learn, progress=False))
                for verb, call in (("facts()", owner.facts), ("profile()", owner.profile)):
                    rows.append({"verb": f"{verb}, {name}", **latencies(owner, call), "s learning": round(learned, 1)})
                known = len(owner.facts())
            rows[-1]["facts"] = rows[-2]["facts"] = known
    return Table(
        f"Facts of {len(turns)} turns, ms", ["verb", "first", "again", "new turn", "facts", "s learning"], rows
    )


def latencies(owner: ScopedMemory, call: Callable[[], object]) -> dict[str, Any]:
    """Milliseconds of the first call, of one without anything new, and after a write."""
    owner.remember("My favourite colour is blue.")
    owner.flush(progress=False)
    first = spent(call)
    again = [spent(call) for _ in range(TIMES)]
    after = []
    for number in range(TIMES):
        owner.remember(f"I bought {number + 3} apples today, and I love the sort number {number}.")
        after.append(spent(call))
    return {
        "first": first * 1e3,
        "again": statistics.median(again) * 1e3,
        "new turn": statistics.median(after) * 1e3,
    }


def opened(embedder: CachedEmbedder, *, learns: bool) -> HybridMemory:
    """A memory that learns by rules, or not at all."""
    config = MemoryConfig(url="memory://")
    services = Services(
        log=InMemoryLog(),
        index=InMemoryIndex(),
        embedder=as_embedder(embedder),
        clock=lambda: datetime.now(UTC),
        new_id=TimeOrderedIds(),
        config=config,
        ranker=learned(),
        count=estimate_tokens,
        states=(Extractors(Statements() if learns else None), Views(), *projections()),
    )
    return HybridMemory(services, as_embedder)


def recall(options: Options) -> Table:
    """The evidence that is found with facts and without, and the time it takes."""
    table = Table(
        "Recall with and without learned facts",
        ["set", "questions", "r@5", "r@10", "ms p50", "records", "facts in hits", "required"],
    )
    for name in RECALLED:
        rows: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
        limit = CONVERSATIONS.get(name) if options.limit is None else options.limit
        for one in load(options.data, name, limit):
            for learns in rows:
                rows[learns] += found(one, options.embedder, learns=learns)
            options.embedder.save()
        without = _row(f"{name}, without", rows[False])
        beside = _row(f"{name}, with facts", rows[True])
        beside["required"] = "no less"
        ratio = {column: beside[column] / without[column] for column in ("r@5", "r@10", "ms p50", "records")}
        table.rows += [without, beside, {"set": f"{name}, ratio", **ratio}]
    return table


def found(one: dict[str, Any], embedder: CachedEmbedder, *, learns: bool) -> list[dict[str, Any]]:
    """For each question of a conversation how much of its evidence was found, and how long that took."""
    questions = [question for question in one["questions"] if not question.get("bad") and question.get("evidence")]
    with opened(embedder, learns=learns) as memory:
        for session, those in messages(one["turns"]):
            memory.scoped(user="u", session=session).remember(those)
        owner = memory.scoped(user="u")
        owner.flush(progress=False)
        records = memory.stats().records
        for question in questions:
            embedder.embed_query(question["question"])
        asked = []
        for question in questions:
            started = time.perf_counter()
            hits = owner.recall(question["question"], k=DEPTH)
            took = time.perf_counter() - started
            turns = list(dict.fromkeys(hit.record.sources[0] for hit in hits))
            facts = sum(hit.record.kind is RecordKind.FACT for hit in hits)
            graded = grade(turns, {str(turn) for turn in question["evidence"]})
            asked.append({**graded, "seconds": took, "facts": facts, "hits": len(hits), "records": records})
        return asked


def _row(name: str, asked: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "set": name,
        "questions": len(asked),
        "r@5": statistics.fmean(one["r@5"] for one in asked),
        "r@10": statistics.fmean(one["r@10"] for one in asked),
        "ms p50": statistics.median(one["seconds"] for one in asked) * 1e3,
        "records": round(statistics.fmean(one["records"] for one in asked)),
        "facts in hits": sum(one["facts"] for one in asked) / sum(one["hits"] for one in asked),
    }
