"""A store as version 0.9.0 wrote it, and what it answered.

``store-0.9.0.db`` and ``store-0.9.0.json`` were made by this script, once, with the code of the last commit whose
``__version__`` is 0.9.0 in front: ``PYTHONPATH=OLD/core python tests/data/store_0_9_0.py``. They are never made again:
what they hold is what users have on their disks. `answers` is asked of today's code by ``tests/test_older_stores.py``.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hybrid_memory import (
    CompactionConfig,
    HybridMemory,
    LearningConfig,
    MemoryConfig,
    Message,
    OrchestrationConfig,
    RecallConfig,
    ScopedMemory,
    open_memory,
)

STORE = Path(__file__).with_name("store-0.9.0.db")
ANSWERS = STORE.with_suffix(".json")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LOG_OUTPUT = "\n".join(
    f"2026-02-27 build step {n:03d} finished in {n * 7 % 31} s, cache key 9f{n:04x}" for n in range(120)
)
QUESTIONS = {
    "boat": ("What is the name of the boat?", "Which engine needs new seals?", "What did Ilse bring from Gdynia?"),
    "yard": ("When shall we sail?", "Where do I live now?"),
    "wei": ("旧船坞的门锁密码是什么？", "绿色的帆布放在哪里？"),
    "noor": ("When does the tide gate open?",),
    "eve": ("What is the name of the boat?",),
}
"""Each has one answer, which no ranker should miss."""


def opened(path: Path) -> HybridMemory:
    """The store at `path`, as it was and is opened: nothing is learned by itself, and uses are not counted."""
    config = MemoryConfig(
        url=f"sqlite:///{path}", embedder="hashing",
        learning=LearningConfig(background=False), orchestration=OrchestrationConfig(background=False),
        recall=RecallConfig(count_uses=False),
        compaction=CompactionConfig(max_tokens=1200, keep_least=4),
    )  # fmt: skip
    return open_memory(config, clock=lambda: NOW)


def turn(content: str, hours: float, role: str = "user", **fields: Any) -> dict[str, Any]:
    """A message of so many hours before now."""
    return {"role": role, "content": content, "at": NOW - timedelta(hours=hours), **fields}


def _call(name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": arguments}


def write(memory: HybridMemory) -> None:
    """All that a store can hold, of four people, in English and Chinese."""
    _write_boat(memory)
    _write_yard(memory)
    _write_long_chat(memory)
    _write_team(memory)
    item = importlib.import_module("hybrid_memory.types.item")
    memory.items("harbour").batch([
        item.PutItem(("berths", "north"), "n1", {"boat": "Sturmvogel", "metres": 11}, ("Sturmvogel, eleven metres",)),
        item.PutItem(("berths", "south"), "s4", {"boat": "海鸥", "metres": 9}, ("海鸥 九米",)),
        item.PutItem(("berths", "south"), "s5", {"boat": "gone"}),
        item.PutItem(("berths", "south"), "s5", None),
    ])  # fmt: skip
    memory.flush()


def _write_boat(memory: HybridMemory) -> None:
    first = memory.scoped(user="marta", session="boat")
    first.remember([
        turn("My name is Marta Okafor and I live in Lisbon.", 900, id="marta-1"),
        turn("Noted.", 899.9, "assistant"),
        turn("The boat is named Sturmvogel, built in 1974.", 899, metadata={"topic": "boat"}),
        turn("I work as a carpenter.", 898),
        turn("The left engine needs new seals before Easter.", 897, importance=0.9),
        turn("Ilse brought two oak planks from Gdynia.", 896, name="Marta"),
    ])  # fmt: skip
    first.learn()
    second = memory.scoped(user="marta", session="yard")
    second.remember([
        turn("I live in Porto now.", 400),
        turn("Check the weather for Saturday.", 399, id="marta-ask"),
        turn("", 398.9, "assistant", tool_calls=[_call("weather", "call-1", place="Porto", day="2026-02-14")]),
        turn("wind 5, rain from noon", 398.8, "tool", tool_call_id="call-1", name="weather"),
        turn("Rain from noon; sail in the morning.", 398.7, "assistant"),
        turn("My secret is Quillfeather.", 397, id="secret"),
    ])  # fmt: skip
    second.forget(ids="secret")
    second.learn()
    old: Any = second
    old.put_block("plan", "Paint the hull.", description="what is next")
    old.edit_block("plan", append="\nThen the mast.")


def _write_yard(memory: HybridMemory) -> None:
    wei = memory.scoped(tenant="北港", user="伟", session="船坞")
    wei.remember([
        turn("我叫李伟，我住在杭州。", 700),
        turn("好的。", 699.9, "assistant"),
        turn("旧船坞的门锁密码是 7391。", 699),
        turn("绿色的帆布放在二号仓库的架子上。", 698),
    ])  # fmt: skip
    wei.learn()
    before = wei.events()[-1].position
    wei.remember(turn("这句话要撤回。", 690))
    wei.rollback(before)
    wei.remember(turn("潮水闸门每天六点开。", 600))


def _write_long_chat(memory: HybridMemory) -> None:
    """Rounds of which the older are compacted, with one result that is offloaded."""
    chat = memory.scoped(user="noor", session="build")
    chat.remember(turn("The tide gate opens at 05:40 on 3 March 2026.", 60))
    chat.remember([
        turn("Show me the log of the build.", 59),
        turn("", 58.9, "assistant", tool_calls=[_call("read_log", "call-9", lines=120)]),
        turn(LOG_OUTPUT, 58.8, "tool", tool_call_id="call-9", name="read_log"),
        turn("It ran through in 120 steps.", 58.7, "assistant"),
    ])  # fmt: skip
    for step in range(14):
        chat.remember([
            turn(f"We decided that step {step} of the jetty costs 30{step} EUR, see jetty/step{step}.md.", 50 - step),
            turn(f"Step {step} is planned for 2026-04-{step + 1:02d}.", 49.9 - step, "assistant"),
        ])  # fmt: skip
    chat.assemble("What does step 3 cost?", max_tokens=1200)
    chat.compact(keep=4)
    older: Any = chat
    older.put_block("open", "pay the deposit")


def _write_team(memory: HybridMemory) -> None:
    marta = memory.scoped(user="marta", session="boat")
    team = marta.create_space("harbour 队")
    team.grant(user="noor", right="write")
    team.grant(user="eve", right="read")
    team.revoke(user="eve")
    team.remember(turn("The harbour master is called Tomasz.", 30))
    memory.scoped(user="noor", session="build").space("harbour 队").remember(turn("Fuel is sold until 18:00.", 29))


def people(memory: HybridMemory) -> dict[str, ScopedMemory]:
    """Every session of the store, by a name."""
    return {
        "boat": memory.scoped(user="marta", session="boat"), "yard": memory.scoped(user="marta", session="yard"),
        "wei": memory.scoped(tenant="北港", user="伟", session="船坞"),
        "noor": memory.scoped(user="noor", session="build"), "eve": memory.scoped(user="eve"),
    }  # fmt: skip


def answers(memory: HybridMemory, item: Any) -> dict[str, Any]:
    """Whatever the people of the store can be shown, as JSON; `item` is the module with the operations on items."""
    shown: dict[str, Any] = {name: _answers_of(person, QUESTIONS[name]) for name, person in people(memory).items()}
    team = memory.scoped(user="marta").space("harbour 队")
    shown["team"] = {
        "grants": sorted([str(grant.user), str(grant.right), grant.trust] for grant in team.grants()),
        "history": [message.text for message in team.history()],
        "recalled": [hit.record.text for hit in memory.scoped(user="noor").recall("harbour master", spaces="all", k=1)],
    }
    found = memory.items("harbour").batch([
        item.GetItem(("berths", "north"), "n1"), item.GetItem(("berths", "south"), "s5"), item.FindItems(("berths",)),
        item.ListNamespaces(),
    ])  # fmt: skip
    noor = people(memory)["noor"]
    result = next(f"#{event.position}" for event in noor.events() if event.payload.get("tool_call_id") == "call-9")
    shown["result"] = [result, noor.grep(result, "build step 077").text, noor.fetch(result, max_chars=200).text]
    shown["items"] = json.loads(json.dumps(found, default=_plain))
    shown["owners"] = sorted(str(owner) for owner in memory.owners())
    return shown


def _short(message: Message) -> dict[str, Any]:
    """A message as JSON; of a long result its length and checksum."""
    fields: dict[str, Any] = json.loads(message.model_dump_json())
    if fields.get("origin") is None:  # messages had none then
        fields.pop("origin", None)
    if len(message.text) > 1000:
        fields["content"] = [len(message.text), hashlib.sha256(message.text.encode()).hexdigest()]
    return fields


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return {name: getattr(value, name) for name in ("namespace", "key", "value", "created_at", "updated_at")}


def _answers_of(person: ScopedMemory, questions: tuple[str, ...]) -> dict[str, Any]:
    recalled = {question: person.recall(question, k=1) for question in questions}
    summary = person.summary()
    return {
        "history": [_short(message) for message in person.history()],
        "conversation": [message.id for message in person.conversation()],
        "events": [[event.position, event.id, str(event.kind)] for event in person.events()],
        "recalled": {
            q: [[h.record.id, h.record.text, list(h.record.sources)] for h in found] for q, found in recalled.items()
        },
        "opened": {q: [m.text for h in found for m in person.expand(h)] for q, found in recalled.items()},
        "everything": sorted(hit.record.text for hit in person.recall("step boat 船 live", k=100, kinds=["turn"])),
        "facts": [
            [
                fact.subject,
                fact.attribute,
                fact.value,
                str(fact.state),
                fact.valid_from.isoformat(),
                list(fact.positions),
            ]
            for fact in person.facts(history=True)
        ],
        "profile": {name: [e.value for e in entries] for name, entries in person.profile().sources.items()},
        "lines": [[line.section, line.text, line.handle, list(line.sources)] for line in summary],
        "behind": {line.handle: [message.id for message in person.expand(line.handle)] for line in summary},
        "blocks": {label: [block.value, block.description] for label, block in person.blocks().items()},
        "past": [message.text for message in person.at(NOW - timedelta(hours=500)).history()],
        "spaces": person.spaces(),
    }


def main() -> None:
    """Write both files."""
    for path in (STORE, ANSWERS):
        path.unlink(missing_ok=True)
    with opened(STORE) as memory:
        write(memory)
    with opened(STORE) as memory:
        shown = answers(memory, importlib.import_module("hybrid_memory.types.item"))
    ANSWERS.write_text(json.dumps(shown, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    with sqlite3.connect(STORE, isolation_level=None) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("VACUUM")


if __name__ == "__main__":
    main()
