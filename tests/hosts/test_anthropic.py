"""Claude's memory tool on a memory: as the SDK's own tool behaves, and through the SDK's own runner."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

from hybrid_memory import ScopedMemory
from hybrid_memory_hosts.anthropic import HybridMemoryTool
from tests.doubles import texts
from tests.faces import Open
from tests.world import TESTS, cases

LONG = {"(a long line)": "x" * 1500, "(many lines)": "line\n" * 3000}


def commands() -> Iterator[dict[str, Any]]:
    """One after the other, from an empty memory on."""
    for line in (TESTS / "hosts/commands.jsonl").read_text("utf-8").splitlines():
        command = json.loads(line)
        yield {name: LONG.get(value, value) if name == "file_text" else value for name, value in command.items()}


@pytest.fixture
def ann(opened: Open) -> ScopedMemory:
    return opened(embedder="none", url="memory://").scoped(user="ann", session="s1")


def told(tool: Any, command: dict[str, Any]) -> tuple[bool, str]:
    """Whether it went well, and the text, without the sizes of folders, which are those of a disk there."""
    try:
        return True, re.sub(
            r"(?m)^\S+\t(?=\S+(/|/memories)$|/memories$)|^\S+\t(?=/memories/\w+$)", "", str(tool.call(command))
        )
    except ToolError as error:
        return False, str(error)


def test_it_answers_as_the_tool_of_the_sdk_does(ann: ScopedMemory, tmp_path: Path) -> None:
    ours, theirs = HybridMemoryTool(ann), BetaLocalFilesystemMemoryTool(str(tmp_path))
    assert ours.to_dict() == theirs.to_dict()
    for command in commands():
        expected = told(theirs, command)
        assert told(ours, command) == expected, command


@pytest.mark.parametrize(("command", "error"), cases("hosts/anthropic.json", "wrong"))
def test_what_is_wrong_is_told_the_model(ann: ScopedMemory, command: dict[str, Any], error: str) -> None:
    with pytest.raises(ToolError, match=re.escape(error)):
        HybridMemoryTool(ann).call(command)
    assert ann.files().list() == []


class Claude(httpx2.MockTransport):
    """Speaks the Messages API: calls the tool with these inputs one after the other, and keeps what it was asked."""

    def __init__(self, inputs: list[dict[str, Any]]) -> None:
        super().__init__(self._answer)
        self.asked: list[dict[str, Any]] = []
        self._calls = iter(inputs)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(json.loads(request.content))
        given, number = next(self._calls, None), len(self.asked)
        said: dict[str, Any] = {"type": "text", "text": "Done."}
        if given is not None:
            said = {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": given}
        message = {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude", "content": [said],
            "stop_reason": "end_turn" if given is None else "tool_use", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }  # fmt: skip
        return httpx2.Response(200, json=message)

    @property
    def results(self) -> list[tuple[str, bool]]:
        """What the tool answered, and whether that was an error."""
        turns = [turn for asked in self.asked for turn in asked["messages"] if turn["role"] == "user"]
        blocks = [block for turn in turns for block in turn["content"] if isinstance(block, dict)]
        # Of one conversation a client sends all anew, or only what came since.
        found = {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
        return [(str(block["content"]), bool(block.get("is_error"))) for block in found.values()]


SCRIPT: list[dict[str, Any]] = cases("hosts/anthropic.json", "script")


def test_the_sdks_runner_calls_it(opened: Open) -> None:
    memory, claude = opened(embedder="none"), Claude(SCRIPT)
    tool = HybridMemoryTool(memory.scoped(user="ann", session="s1"))
    with Anthropic(api_key="none", max_retries=0, http_client=httpx2.Client(transport=claude)) as client:
        final = client.beta.messages.tool_runner(
            model="claude", max_tokens=100, messages=[{"role": "user", "content": "Plan my trip."}], tools=[tool]
        ).until_done()
    assert [block.type for block in final.content] == ["text"]
    assert claude.asked[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert [failed for _, failed in claude.results] == [False, False, True, False, True, False]
    assert "old_str `Madrid` did not appear verbatim in /memories/trip.md" in claude.results[2][0]
    assert "would escape /memories" in claude.results[4][0]
    elsewhere = memory.scoped(user="ann", session="another")
    assert elsewhere.files().read("/trips/lisbon.md") == "The trip goes to Lisbon.\n- Buy tickets\n"
    assert texts(elsewhere.recall("Where does the trip go?", k=1)) == ["The trip goes to Lisbon."]
    assert str(elsewhere.recall("trip Lisbon", k=1)[0].record.origin) == "assistant"
