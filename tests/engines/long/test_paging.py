"""An agent that pages its memory does the same on every engine, and over a server that dies again and again."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from hybrid_memory import (
    Event,
    EventKind,
    HybridMemory,
    MemoryConfig,
    Message,
    Role,
    ScopedMemory,
    SpaceMemory,
    open_memory,
)
from hybrid_memory.errors import ModelError, StoreUnavailableError
from hybrid_memory.log.port import EventLog
from hybrid_memory.testing.postgres_server import PostgresServer
from hybrid_memory.testing.servers import RedisServer
from hybrid_memory_paging import PagedAgent
from tests.engines.conftest import MONDAY, Clock, Config

APART = ["sqlite", "redis", "sqlite+redis", "sqlite+milvus", "postgres"]
ODD = "a:b {c} d,爱'丽\"丝\\ *%_-@|(x)"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FUNCTIONS = [
    "core_memory_append", "core_memory_replace", "core_memory_rethink", "archival_memory_insert",
    "archival_memory_search", "conversation_search", "conversation_search_date", "send_message",
]  # fmt: skip


def call(function: str, *, goes_on: bool = True, **arguments: Any) -> str:
    return json.dumps({"function": function, "arguments": arguments, "request_heartbeat": goes_on}, ensure_ascii=False)


def say(text: str) -> str:
    return call("send_message", message=text, goes_on=False)


@dataclass
class Script:
    """A model that gives the answers that it was handed, and notes something whenever it is warned.

    Attributes:
        prompts: what it was shown.
    """

    answers: list[str | Exception] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    name: str = "script"

    def complete(self, messages: Sequence[Message]) -> str:
        self.prompts.append("\n".join(f"{message.role}: {message.text}" for message in messages))
        if "Memory pressure" in messages[-1].text:
            return call("archival_memory_insert", content=f"Noted under pressure, at {len(messages)} messages: 压力。")
        answer = self.answers.pop(0) if self.answers else say("Good.")
        if isinstance(answer, Exception):
            raise answer
        return answer

    def structured(self, messages: Sequence[Message], schema: Any) -> Any:
        raise NotImplementedError


class Player:
    """Lets agents live through one script, and tells what the log, the blocks and the prompts come to."""

    def __init__(self, memory: HybridMemory, clock: Clock) -> None:
        self.memory, self.clock = memory, clock
        self.script = Script()
        self.runs: list[Any] = []
        self.forecasts = 0

    def agent(self) -> PagedAgent:
        def forecast(city: str) -> str:
            """The weather of a city."""
            self.forecasts += 1
            return f"Rain in {city}, forecast {self.forecasts}."

        return PagedAgent(
            self.memory, agent="coach", user=ODD, session=ODD, model=self.script, functions=[forecast],
            memory_functions=FUNCTIONS, max_tokens=2400, identity="You are a coach.",
        )  # fmt: skip

    def send(self, agent: PagedAgent, text: str, *answers: str | Exception) -> None:
        self.clock.now += timedelta(minutes=10)
        self.script.answers += answers
        run = agent.send(text)
        self.runs.append((run.replies, run.calls, run.why))

    def play(self) -> dict[str, Any]:
        self.share()
        with self.agent() as agent:
            self.edit(agent)
            self.fill(agent)
            self.fail(agent)
        with self.agent() as agent:
            self.go_on(agent)
            self.search(agent)
            self.look_back(agent)
        return self.told()

    def share(self) -> None:
        self.boss = self.memory.scoped(user="boss").space(ODD).create()
        self.boss.block("task").put("Run a marathon.", description="目标", max_chars=300)
        self.boss.grant(agent="coach", right="write")
        self.coach = self.memory.scoped(user=ODD, agent="coach", session=ODD)
        self.coach.block("task").attach(space=ODD)
        self.coach.block("human").put("Name: Ada", max_chars=120)

    def edit(self, agent: PagedAgent) -> None:
        self.send(
            agent,
            "I am Eve, not Ada. 我住在杭州。",
            call("core_memory_replace", label="human", old_content="Ada", new_content="Eve 伊芙"),
            call("core_memory_append", label="human", content="Lives in 杭州"),
            call("core_memory_append", label="task", content="First run: Tuesday"),
            call("core_memory_append", label="nowhere", content="x"),
            call("core_memory_append", label="human", content="far too long " * 20),
            say("Hello Eve."),
        )
        self.boss.block("task").edit(append="Shoes are ordered.")
        self.send(agent, "What do I have to do?", call("core_memory_rethink", label="task", new_content="Run."))

    def fill(self, agent: PagedAgent) -> None:
        for number in range(12):
            text = f"Day {number}: I ran {number + 3} km along the lake, 在西湖边跑步. " + "The path was muddy. " * 12
            self.send(agent, text, say(f"Well done, day {number}."))

    def fail(self, agent: PagedAgent) -> None:
        with pytest.raises(ModelError):
            self.send(agent, "And the weather?", call("forecast", city="杭州"), ModelError("the model is away"))

    def go_on(self, agent: PagedAgent) -> None:
        self.script.answers.append(say("It rains."))
        run = agent.resume()
        self.runs.append((run.replies, run.calls, run.why))
        self.runs.append(agent.notify("login", "Eve logged in.").replies)

    def search(self, agent: PagedAgent) -> None:
        self.send(
            agent,
            "What did I run?",
            call("archival_memory_insert", content="Eve ran 7 km on day 4.", tags=["runs"]),
            call("archival_memory_search", query="runs of Eve"),
            call("conversation_search", query="muddy path", page=2),
            call("conversation_search", query="住在"),
            call("conversation_search_date", start_date="2024-05-06", end_date="2024-05-06"),
            say("A lot."),
        )

    def look_back(self, agent: PagedAgent) -> None:
        place = self.coach.remember("Until here.").positions[0]
        self.send(agent, "I am Ida.", call("core_memory_rethink", label="human", new_content="Name: Ida"))
        self.coach.rollback(place)
        self.send(agent, "Who am I?", call("core_memory_append", label="human", content="Asks who she is"))
        self.coach.block("task").undo()
        self.memory.scoped(user=ODD, agent="coach").forget(query="伊芙")
        self.send(agent, "Bye.")

    def told(self) -> dict[str, Any]:
        rename = Names()
        log = self.memory._runtime.services.truth
        owners = [owner for owner in sorted(log.heads(), key=str) if owner.user != "boss"]
        return {
            "runs": rename(self.runs),
            "prompts": [rename(prompt) for prompt in self.script.prompts],
            "blocks": rename([str(block) for owner in (self.coach, self.boss) for block in owner.blocks().items()]),
            "human": rename([shown(block) for block in self.coach.block("human").history()]),
            "task": rename([shown(block) for block in self.coach.block("task").history()]),
            "events": [rename(row) for owner in owners for row in rows(log.read(owner))],
            "forecasts": self.forecasts,
        }


class Names:
    """Calls made-up ids and places in the log by their order, which is the same everywhere."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, told: Any) -> str:
        text = UUID.sub(lambda found: self._known.setdefault(found[0], f"id{len(self._known)}"), str(told))
        return re.sub(r"#\d+(-\d+)?|call-\d+", "#", text)


def shown(block: Any) -> tuple[Any, ...]:
    return (block.value, block.change, block.revision, block.at, block.author, block.sources, block.space)


def rows(events: Sequence[Event]) -> list[Any]:
    """Blocks and messages of an owner; positions are counted among these."""
    kinds = (EventKind.BLOCK, EventKind.MESSAGE)
    told = [event for event in events if event.kind in kinds]
    places = [event.position for event in told]

    def payload(event: Event) -> dict[str, Any]:
        note = event.payload.get("extra", {}).get("paging")
        if note is None:
            return event.payload
        return event.payload | {"extra": {"paging": note | {"seen": bisect_right(places, note["seen"])}}}

    return [(e.kind.value, e.id, str(e.scope), e.at, payload(e), e.sources, e.author) for e in told]


@pytest.fixture(scope="module")
def oracle() -> dict[str, Any]:
    """What the memory in this process comes to."""
    clock = Clock()
    with open_memory(MemoryConfig(url="memory://", embedder="hashing"), clock=clock) as memory:
        told = Player(memory, clock).play()
        kinds = Counter(event.kind for owner in memory._runtime.services.truth.heads() for event in
                        memory._runtime.services.truth.read(owner))  # fmt: skip
    # That they agree would show little if nothing had happened.
    assert kinds[EventKind.COMPACTION] >= 2
    assert "Noted under pressure" in "".join(told["events"])
    assert told["forecasts"] == 1
    assert "muddy" in told["prompts"][-5]
    assert not any("伊芙" in part for name in ("blocks", "human", "events") for part in told[name])
    return told


@pytest.mark.parametrize("engines", APART)
def test_an_agent_lives_as_in_memory(engines: str, new_config: Config, oracle: dict[str, Any]) -> None:
    clock = Clock()
    with open_memory(new_config(engines), clock=clock) as memory:
        told = Player(memory, clock).play()
    assert told.keys() == oracle.keys()
    for name, answer in oracle.items():
        assert told[name] == answer, name


@dataclass
class Quake:
    """A clock that kills a server at every so many-th look at it, whatever is being done then.

    Attributes:
        every: looks between two kills; most: kills; kills: that there were.
    """

    server: RedisServer | PostgresServer
    every: int
    most: int = 8
    looks: int = 0
    kills: int = 0
    armed: bool = False

    def __call__(self) -> datetime:
        self.looks += self.armed
        if self.armed and self.looks % self.every == 0 and self.kills < self.most:
            self.server.kill()
            self.kills += 1
        return MONDAY + timedelta(seconds=self.looks)

    def through(self, agent: PagedAgent, text: str) -> None:
        """Send, and resume until the agent rests."""
        self.armed, said = True, False
        while True:
            try:
                if said:
                    agent.resume()
                else:
                    agent.send({"content": text, "role": "user", "id": "asked"})
            except StoreUnavailableError:
                self.server.start()
                said = bool(agent.memory.history())
            else:
                break
        self.armed = False


@dataclass
class Planner:
    """A model that works through a plan, and reads from its prompt how far it is."""

    plan: list[str]
    name: str = "planner"

    def complete(self, messages: Sequence[Message]) -> str:
        done = sum('"function"' in message.text for message in messages if message.role is Role.ASSISTANT)
        return self.plan[done]

    def structured(self, messages: Sequence[Message], schema: Any) -> Any:
        raise NotImplementedError


TURNS = 6
PLAN = [
    answer
    for number in range(TURNS)
    for answer in (
        call("core_memory_append", label="human", content=f"line {number}"),
        call("core_memory_append", label="task", content=f"shared {number}"),
        call("measure", number=number),
    )
] + [say("Done.")]


def prepared(memory: HybridMemory) -> tuple[SpaceMemory, ScopedMemory]:
    """A space with a block, and the memory of an agent that has attached it."""
    team = memory.scoped(user="boss").space("team").create()
    team.block("task").put()
    team.grant(user="ada", right="write")
    coach = memory.scoped(user="ada", agent="coach", session="s")
    coach.block("human").put()
    coach.block("task").attach(space="team")
    return team, coach


def assert_each_step_is_there_once(owner: ScopedMemory) -> None:
    """Each call has one result, behind it."""
    log = owner._runtime.services.truth
    said = [event.message for event in log.read(owner.scope, kinds=(EventKind.MESSAGE,))]
    asked = [called.id for message in said for called in message.tool_calls]
    assert len(asked) == len(set(asked)) == 3 * TURNS
    assert [message.tool_call_id for message in said if message.role is Role.TOOL] == asked


@pytest.mark.parametrize(("engine", "every"), [("redis", 5), ("redis", 11), ("postgres", 7)])
def test_a_server_that_dies_in_a_chain_loses_and_doubles_no_step(
    engine: str, every: int, new_config: Config, request: pytest.FixtureRequest
) -> None:
    quake = Quake(request.getfixturevalue(f"{engine}_server"), every)
    measured: list[int] = []

    def measure(number: int) -> str:
        """Measures something."""
        measured.append(number)
        quake()
        return f"measured {number}"

    with open_memory(new_config(engine), clock=quake) as memory:
        team, coach = prepared(memory)
        agent = PagedAgent(
            memory, agent="coach", user="ada", session="s", model=Planner(PLAN), functions=[measure],
            max_tokens=20_000, max_steps=200,
        )  # fmt: skip
        quake.through(agent, "Go on.")
        assert quake.kills >= 4
        assert coach.blocks()["human"].value.split("\n") == [f"line {number}" for number in range(TURNS)]
        assert team.blocks()["task"].value.split("\n") == [f"shared {number}" for number in range(TURNS)]
        assert measured == list(range(TURNS)), "what was interrupted is told, not made again"
        assert_each_step_is_there_once(coach)
        said = coach.history()
        assert [message.text for message in said if message.role is Role.USER] == ["Go on."]
        assert said[-1].text == "Done."


@dataclass
class Deaf:
    """A log whose every so many-th append is done, and fails all the same."""

    inner: Any
    every: int
    appends: int = 0
    armed: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def append(self, owner: Any, drafts: Any, **options: Any) -> Any:
        done = self.inner.append(owner, drafts, **options)
        self.appends += self.armed
        if self.armed and self.appends % self.every == 0:
            raise StoreUnavailableError("no answer in time")
        return done


@pytest.mark.parametrize("every", [2, 3, 4, 5, 7])
def test_a_write_that_is_done_but_not_acknowledged_is_told_as_done(every: int) -> None:
    measured: list[int] = []

    def measure(number: int) -> str:
        """Measures something."""
        measured.append(number)
        return f"measured {number}"

    with open_memory(MemoryConfig(url="memory://", embedder="none")) as memory:
        team, coach = prepared(memory)
        services = memory._runtime.services
        log = Deaf(services.log, every)
        services.log = cast("EventLog", log)
        agent = PagedAgent(
            memory, agent="coach", user="ada", session="s", model=Planner(PLAN), functions=[measure],
            max_tokens=20_000, max_steps=200,
        )  # fmt: skip
        log.armed, said = True, False
        while True:
            try:
                _ = agent.resume() if said else agent.send({"content": "Go on.", "role": "user", "id": "asked"})
            except StoreUnavailableError:
                said = True
            else:
                break
        assert log.appends >= 3 * TURNS
        assert coach.blocks()["human"].value.split("\n") == [f"line {number}" for number in range(TURNS)]
        assert team.blocks()["task"].value.split("\n") == [f"shared {number}" for number in range(TURNS)]
        assert len(set(measured)) == len(measured)
        assert_each_step_is_there_once(coach)
        told = [(message.name, message.text) for message in coach.history() if message.role is Role.TOOL]
        assert all(text.startswith("Done.") for name, text in told if name == "core_memory_append")
        for number, (_, text) in enumerate(told[2::3]):
            assert text == f"measured {number}" if number in measured else "unknown whether it took effect" in text
