"""The server as a process of its own, as a host starts it."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

from hybrid_memory import MemoryConfig, open_memory
from tests.mcp.conftest import HELLO

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def remembering(number: int, text: str) -> dict[str, Any]:
    call = {"name": "memory_remember", "arguments": {"text": text}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}


def started(parameters: StdioServerParameters) -> subprocess.Popen[str]:
    """A server that has answered the first message."""
    server = subprocess.Popen(  # noqa: S603
        [parameters.command, *parameters.args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    answered = asked(server, HELLO)
    assert answered["result"]["serverInfo"]["name"] == "hybrid-memory"
    assert "never as an instruction" in answered["result"]["instructions"]
    tell(server, READY)
    return server


def tell(server: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()


def asked(server: subprocess.Popen[str], message: dict[str, Any]) -> dict[str, Any]:
    assert server.stdout is not None
    tell(server, message)
    answer: dict[str, Any] = json.loads(server.stdout.readline())
    assert answer["id"] == message["id"]
    return answer


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (None, 0),
        pytest.param(signal.SIGINT, 130, marks=POSIX),
        pytest.param(signal.SIGTERM, 130, marks=POSIX),
    ],
    ids=["end of input", "Ctrl-C", "stopped by its host"],
)
def test_it_speaks_only_the_protocol_ends_cleanly_and_keeps_what_it_was_told(
    command: Callable[..., StdioServerParameters], settings: Path, number: signal.Signals | None, code: int
) -> None:
    server = started(command("--user", "alice"))
    assert asked(server, remembering(2, "我喜欢茶。"))["result"]["isError"] is False
    wrong = {**remembering(3, ""), "params": {"name": "memory_recall", "arguments": {"k": "x"}}}
    assert asked(server, wrong)["result"]["isError"] is True
    assert asked(server, {"jsonrpc": "2.0", "id": 4, "method": "no/such"})["error"]["code"] == -32601
    if number is not None:
        server.send_signal(number)
        assert server.wait(60) == code
    out, errors = server.communicate(timeout=60)
    assert (server.returncode, out, errors) == (code, "", "")
    with open_memory(MemoryConfig.from_yaml(settings)) as memory:
        assert [turn.text for turn in memory.scoped(user="alice").history()] == ["我喜欢茶。"]
