"""The reference of the command, from the command itself."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import Any

import typer.main

from hybrid_memory.apps.cli.app import app

EXAMPLE = "Example: "
MANY = 3
"""What as many verbs take with the same help is described once."""


def reference() -> str:
    """What many verbs take, then every verb: what it does, an example, its own arguments and options."""
    command: Any = typer.main.get_command(app)
    lines = {
        name: [_line(part) for part in verb.params if not getattr(part, "hidden", False)]
        for name, verb in command.commands.items()
    }
    counts = Counter(line for own in lines.values() for line in own)
    common = [line for line, count in counts.items() if count >= MANY]
    parts = ["\n".join(common)]
    for name, verb in command.commands.items():
        own = "\n".join(line for line in lines[name] if line not in common)
        parts += [f"### {name}", _prose(verb.help or ""), *([own] if own else [])]
    return "\n\n".join(parts)


def _line(part: Any) -> str:
    """A parameter with its help, and its default where this is not nothing."""
    names = [*part.opts, *part.secondary_opts] if part.param_type_name == "option" else [_metavar(part)]
    help_text = " ".join((part.help or "").split())
    default = part.default
    shown = default is not None and not callable(default) and default not in (False, "", ()) and not part.required
    more = f" Default: `{default}`." if shown and getattr(part, "show_default", True) else ""
    return f"- `{', '.join(names)}`: {help_text}{more}"


def _metavar(part: Any) -> str:
    name: str = part.metavar or part.name.upper()
    return name.strip("[].")


def _prose(help_text: str) -> str:
    # Behind \f stands what is for readers of the code.
    text = inspect.cleandoc(help_text).partition("\f")[0]
    return "\n\n".join(_block(block) for block in text.split("\n\n"))


def _block(block: str) -> str:
    lines = [line.strip() for line in block.replace("\b", "").strip().split("\n")]
    if not all(line.startswith(EXAMPLE) for line in lines):
        return block
    return "\n".join(["```bash", *(line.removeprefix(EXAMPLE) for line in lines), "```"])
