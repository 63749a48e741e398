"""The reference of the command, from the command itself."""

from __future__ import annotations

import inspect
from typing import Any

import typer.main

from hybrid_memory.apps.cli.app import NAME, app

EXAMPLE = "Example: "


def reference() -> str:
    """Every verb: what it does, how it is called, its arguments and options."""
    command: Any = typer.main.get_command(app)
    return "\n\n".join(_verb(f"{NAME} {name}", verb) for name, verb in command.commands.items())


def _verb(name: str, verb: Any) -> str:
    arguments = [part for part in verb.params if part.param_type_name == "argument"]
    options = [part for part in verb.params if part.param_type_name == "option" and not part.hidden]
    usage = " ".join([name, "[OPTIONS]" if options else "", *(_usage(part) for part in arguments)])
    parts = [f"### {name}", f"```text\n{' '.join(usage.split())}\n```", _prose(verb.help or "")]
    rows = [f"| `{_name(part)}` | {_told(part)} |" for part in arguments]
    rows += [f"| `{', '.join([*part.opts, *part.secondary_opts])}` | {_told(part)} |" for part in options]
    return (
        "\n\n".join([*parts, "\n".join(["| argument, option | what it is |", "|---|---|", *rows])])
        if rows
        else "\n\n".join(parts)
    )


def _usage(part: Any) -> str:
    name = _name(part) + ("..." if part.nargs == -1 else "")
    return name if part.required else f"[{name}]"


def _name(part: Any) -> str:
    name: str = part.metavar or part.name.upper()
    return name.strip("[].")


def _prose(told: str) -> str:
    # Behind \f stands what is for readers of the code.
    text = inspect.cleandoc(told).partition("\f")[0]
    return "\n\n".join(_block(block) for block in text.split("\n\n"))


def _block(block: str) -> str:
    lines = [line.strip() for line in block.replace("\b", "").strip().split("\n")]
    if not all(line.startswith(EXAMPLE) for line in lines):
        return block
    return "\n".join(["```bash", *(line.removeprefix(EXAMPLE) for line in lines), "```"])


def _told(part: Any) -> str:
    told = " ".join((part.help or "").split()).replace("|", "\\|")
    default = part.default
    shown = default is not None and not callable(default) and default not in (False, "", ()) and not part.required
    return f"{told} Default: `{default}`." if shown and getattr(part, "show_default", True) else told
