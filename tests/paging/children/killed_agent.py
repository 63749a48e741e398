"""Runs an agent that kills its own process at a given append to the log.

Arguments: the store, and a file in which the application's function notes each time that it is called. For every line
on stdin, such as ``7 after``, a fork of this process sends a message, and is killed after its seventh append, or
before it; the answer is ``dead``, or ``done`` if the agent came to rest first. Importing once and forking is quick.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from hybrid_memory import HybridMemory, MemoryConfig, Message, open_memory
from hybrid_memory_paging import PagedAgent

PLAN: list[list[tuple[str, dict[str, Any]]]] = [
    [("core_memory_append", {"label": "human", "content": "fact one"})],
    [("pay", {"number": 1})],
    [("archival_memory_insert", {"content": "note one of the harbour"})],
    [("pay", {"number": 2}), ("core_memory_append", {"label": "human", "content": "fact two"})],
]


class Planner:
    """Goes through the plan; what was called already it sees in its prompt."""

    name = "planner"

    def complete(self, messages: Sequence[Message]) -> str:
        seen = "\n".join(message.text for message in messages[1:])
        for step in PLAN:
            calls = [
                json.dumps({"function": name, "arguments": arguments, "request_heartbeat": True})
                for name, arguments in step
            ]
            if not all(call in seen for call in calls):
                return "\n".join(calls)
        return "All is done."

    def structured(self, messages: Sequence[Message], schema: Any) -> dict[str, Any]:
        raise NotImplementedError


def say(word: str) -> None:
    """One line, at once."""
    os.write(1, f"{word}\n".encode())


def agent_of(memory: HybridMemory, paid: str, cycle: str) -> PagedAgent:
    """The agent of one cycle."""

    def pay(number: int) -> str:
        """Pay."""
        with open(paid, "a") as file:  # noqa: PTH123 - one short line, appended at once
            file.write(f"{cycle} {number}\n")
        return f"paid {number}"

    return PagedAgent(memory, agent="clerk", user=f"user {cycle}", model=Planner(), functions=[pay], max_steps=12)


def killed(url: str, paid: str, place: int, when: str) -> None:
    """Send a message, and be killed at this append."""
    agent = agent_of(open_memory(MemoryConfig(url=url, embedder="none", power_safe=False)), paid, f"{place}-{when}")
    log = agent.memory._runtime.services.truth
    inner, appends = log.append, [0]

    def append(*args: Any, **options: Any) -> Any:
        appends[0] += 1
        if when == "before" and appends[0] == place:
            os.kill(os.getpid(), signal.SIGKILL)
        appended = inner(*args, **options)
        if when == "after" and appends[0] == place:
            os.kill(os.getpid(), signal.SIGKILL)
        return appended

    log.append = append  # type: ignore[method-assign]
    agent.send("Do what has to be done.")


def main() -> None:
    """One fork after the other."""
    url, paid = sys.argv[1:]
    open_memory(MemoryConfig(url=url, embedder="none", power_safe=False)).close()
    # What is loaded with the first message is loaded here, and not again in every fork.
    with open_memory(MemoryConfig(url="memory://", embedder="none")) as memory:
        agent_of(memory, os.devnull, "first").send("Do what has to be done.")
    say("ready")
    for line in sys.stdin:
        place, when = line.split()
        child = os.fork()
        if not child:
            faulthandler.dump_traceback_later(60, exit=True)
            killed(url, paid, int(place), when)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        say("dead" if os.WIFSIGNALED(status) else "done")


if __name__ == "__main__":
    main()
