"""Calls of what stands beside the verbs: the opening of a memory and its settings, the MCP server, the command."""

import io
import json
import os
import sys
from collections.abc import Mapping
from contextlib import chdir
from datetime import timedelta
from typing import Any, get_args
from unittest.mock import MagicMock, patch

import typer.main
from mcp.server.mcpserver.exceptions import ResourceError
from pydantic import BaseModel

from benchmarks.faults._hostile import HOSTILE
from benchmarks.faults._verbs import Call, Verbs
from hybrid_memory import HybridMemory, MemoryConfig, check_store, open_memory
from hybrid_memory.apps.cli.app import app, main
from hybrid_memory.apps.mcp import server
from hybrid_memory.tools import SERVER_TOOLS

HASHING = MemoryConfig(url="memory://", embedder="hashing")


class Opening(Verbs):
    """Wrong objects for the parameters of `open_memory` and the fields of the settings, and then a first use."""

    def one(self) -> Call:
        """The next call."""
        kind = self.random.randrange(5)
        if kind == 0:
            return self.call("MemoryConfig", self._configured, self._fields(MemoryConfig))
        if kind == 1:
            return self.call("from_yaml", self._read, {"fields": self._fields(MemoryConfig)})
        if kind == 2:
            return self.call("check_store", check_store, dict(self.arguments(check_store, 0.3)))
        given = dict(self.arguments(open_memory, 0.05, 0.2))
        return self.call("open_memory", self._used, {"source": HASHING} | given)

    def _configured(self, **fields: Any) -> None:
        self._used(MemoryConfig(**{"url": "memory://", "embedder": "hashing"} | fields))

    def _used(self, source: Any, **given: Any) -> None:
        with chdir(self.folder), open_memory(source, **given) as memory:
            alice = memory.scoped(user="alice", session="s1")
            if not given.get("read_only"):
                alice.remember("I live in Hamburg and like red cars")
            alice.recall("where do I live?")
            alice.assemble("where do I live?")
            alice.facts()

    def _read(self, fields: Mapping[str, Any]) -> None:
        file = self.folder / "settings.yaml"
        try:
            text = json.dumps(fields, default=repr, ensure_ascii=False)
        except Exception:  # noqa: BLE001 - what no file can hold
            text = self.random.choice(
                ("a: [", "\x00", "- 1", "!!python/object:os.system x", "url: &a [*a]", "a" * 9999)
            )
        file.write_bytes(text.encode(errors="surrogatepass"))
        MemoryConfig.from_yaml(file)

    def _fields(self, model: type[BaseModel]) -> dict[str, Any]:
        """Fields of a model, a few of them, and in their sections too."""
        fields = {}
        for name, field in model.model_fields.items():
            if self.random.random() < 0.15:
                fields[name] = self._field(field.annotation)
        return fields

    def _field(self, kind: Any) -> Any:
        if isinstance(kind, type) and issubclass(kind, BaseModel) and self.random.random() < 0.7:
            return self._fields(kind)
        if self.random.random() < 0.3:
            return self.random.choice([True, 0, 1, 0.5, 300, "auto", timedelta(seconds=1), *get_args(kind)])
        return self.value(str(kind))


class Mcp(Verbs):
    """Arguments of the server's tools, and what it is made with."""

    def __init__(self, memory: HybridMemory, *others: Any) -> None:
        super().__init__(memory, *others)
        self.server = server(memory.scoped(user="alice"), spaces=("team",))

    def one(self) -> Call:
        """The next call."""
        if self.random.randrange(10) == 0:
            given = {"token": self.value("str"), "spaces": (self.value("str"),)}
            return self.call("server", lambda **given: server(self.memory.scoped(user="alice"), **given), given)
        tool = self.random.choice(SERVER_TOOLS)
        given = {
            name: self.value(str(field.annotation))
            for name, field in tool.arguments.model_fields.items()
            if field.is_required() or self.random.random() < 0.4
        }
        if self.random.random() < 0.05:
            given["other"] = self.value("str")
        return self._call("call_tool", tool.name, given)

    def _call(self, method: str, name: str, arguments: Any = None) -> Call:
        given = {} if arguments is None else {"arguments": arguments}
        made = self.call(f"{method} {name[:40]}", lambda **given: getattr(self.server, method)(name, **given), given)
        frames = () if arguments is not None else ("/hybrid_memory/",)
        return Call(made.name, made.text, made.run, (ResourceError,), frames)


class Cli(Verbs):
    """Arguments and options of the command's verbs, but for those that go on until they are stopped."""

    def __init__(self, *others: Any) -> None:
        super().__init__(*others)
        commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
        self.commands = {name: made for name, made in commands.items() if name != "eval"}
        self.depth = self.folder.joinpath(*"abcdefgh")  # a path of one text leads out of some of them, not of all
        self.depth.mkdir(parents=True, exist_ok=True)
        (self.depth / "noise").write_bytes(os.urandom(300))
        (self.depth / "empty.db").touch()
        (self.depth / "wrong.yaml").write_text("url: [1]\nlearning: 7\n", encoding="utf-8")
        (self.depth / "chats.jsonl").write_text('{"role": "user", "content": "hello"}\n[7]\n', encoding="utf-8")
        with open_memory(f"sqlite:///{self.depth}/known.db", embedder="hashing") as known:
            known.scoped(user="alice", session="s1").remember(["I live in Hamburg", "the red car is fast"])

    def one(self) -> Call:
        """The next call."""
        name = self.random.choice(sorted(self.commands))
        given = [name]
        for parameter in self.commands[name].params:
            argument = parameter.param_type_name == "argument"
            if parameter.name == "help" or not (argument or self.random.random() < 0.25):
                continue
            flag = [] if argument else [self.random.choice(parameter.opts)]
            given += flag + ([] if getattr(parameter, "is_flag", False) else [self._word(parameter.name)])
        return self.call(f"main.{name}", self._run, {"arguments": given})

    def _word(self, name: str) -> str:
        if name == "store" and self.random.random() < 0.7:
            return self.random.choice(["known.db", "known.db", "empty.db", "noise", "wrong.yaml", "memory://", "."])
        if self.random.random() < 0.4:
            return self.random.choice(["alice", "s1", "1", "0.5", "#1", "2024-05-01", "chats.jsonl", "new", "all", "."])
        value = self.random.choice(HOSTILE)()
        text = value if type(value) is str else "7" if isinstance(value, int) else "x"
        return text.replace("\x00", "")  # no argument of a process has any

    def _run(self, arguments: list[str]) -> None:
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        streams = patch.multiple(sys, stdout=out, stderr=out, stdin=io.StringIO("hello\n"))
        serving = patch.multiple("hybrid_memory.apps.mcp", server=MagicMock(), serve_http=_served)
        inspecting, signals = patch("hybrid_memory_inspector.serve", _served), patch("signal.signal")
        with chdir(self.depth), streams, serving, inspecting, signals:
            try:
                main(arguments)
            except SystemExit as ended:
                out.flush()
                if ended.code not in {None, 0, 1, 2}:
                    raise RuntimeError(f"ended with {ended.code!r}") from None


def _served(*_: Any, **__: Any) -> None:
    """Nobody is served."""
