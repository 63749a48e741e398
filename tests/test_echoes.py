from __future__ import annotations

from typing import Any

from hybrid_memory import Message, Role, ScopedMemory, ToolCall
from hybrid_memory.log.exchanges import OWN_TOOLS, is_echo
from hybrid_memory.tools import SERVER_TOOLS
from hybrid_memory_paging import PAGING_FUNCTIONS
from hybrid_memory_paging.functions import SEND
from tests.doubles import texts
from tests.faces import Face


def call(name: str, **arguments: Any) -> Message:
    return Message(role=Role.ASSISTANT, tool_calls=[ToolCall(name=name, id="c", arguments=arguments)])


def result(name: str, text: str) -> Message:
    return Message(role=Role.TOOL, name=name, tool_call_id="c", content=text)


def test_the_tools_are_all_known() -> None:
    assert {tool.name for tool in (*SERVER_TOOLS, *PAGING_FUNCTIONS) if tool is not SEND} == OWN_TOOLS


def test_a_call_beside_another_tools_is_no_echo() -> None:
    both = [ToolCall(name="memory_recall", id="1"), ToolCall(name="weather", id="2")]
    assert not is_echo(Message(role=Role.ASSISTANT, tool_calls=both))


def test_what_is_forgotten_is_forgotten_in_its_echoes_too(alice: ScopedMemory, face: Face) -> None:
    first = face(alice).remember('My code is "zircon 4711".').positions[0]
    other = face(alice).remember("I like tea.").positions[0]
    alice.remember(
        [
            call("memory_remember", text='My code is "zircon 4711".'),
            result("memory_remember", f"Remembered as #{first}."),
            call("memory_recall", query="tea"),
            result("memory_recall", f"#{other} user: I like tea."),
            call("memory_recall", query="code"),
            result("memory_recall", f"#{other} user: I like tea.\n#{first} user: an excerpt of zircon"),
        ]
    )
    planned = face(alice).forget(ids=[f"#{first}"], dry_run=True)
    assert planned.erased["tool messages rewritten"] == 3
    assert "zircon" in alice.history()[-1].text
    face(alice).forget(ids=[f"#{first}"])
    told = texts(alice.history())
    assert not any("zircon" in text for text in told)
    assert told[-3:] == [f"#{other} user: I like tea.", 'memory_recall {"query": "code"}', "(forgotten)"]
