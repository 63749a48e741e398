"""The environment in which the peers run: made once, in fixed versions, away from the project's own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
_GIVEN = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
GROUPS: dict[str, list[str]] = _GIVEN["groups"]
"""What each needs; what one needs from another stands in both.

langchain-postgres names a pgvector below 0.4, and works with the one that this library needs.
"""

SETTINGS: dict[str, str] = _GIVEN["settings"]
"""Telemetry off, nothing fetched, one thread for the arithmetic of all."""


def python_of(folder: Path) -> Path:
    """Its interpreter."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def prepare(folder: Path) -> None:
    """Make the environment, or what of it is missing; what cannot be installed is noted with its reason."""
    notes = folder / "installed.json"
    if notes.exists() and json.loads(notes.read_text(encoding="utf-8"))["groups"] == GROUPS:
        return
    if not python_of(folder).exists():
        venv.create(folder, with_pip=True)
    reasons: dict[str, str] = {}
    for group, packages in GROUPS.items():
        print(f"installing {group}: {', '.join(packages)}", flush=True)
        own = ["-e", str(PROJECT)] if group == "library" else []
        done = subprocess.run(  # noqa: S603 - our own list
            [str(python_of(folder)), "-m", "pip", "install", "--quiet", *packages, *own],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            reasons[group] = "not installed: " + last_line(done.stderr)
    if "library" in reasons:
        raise SystemExit(reasons["library"])
    notes.write_text(json.dumps({"groups": GROUPS, "reasons": reasons}, indent=2), encoding="utf-8")


def reasons_of(folder: Path) -> dict[str, str]:
    """Why a group of packages is not there, by group."""
    found: dict[str, str] = json.loads((folder / "installed.json").read_text(encoding="utf-8"))["reasons"]
    return found


def last_line(text: str) -> str:
    """The last line that says something, which of a traceback is the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or [""])[-1][:300]


def in_process(job: Mapping[str, Any], patience: float) -> dict[str, Any]:
    """The result of a job in a process of its own; ``failed`` with the reason where there is none."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command: Sequence[str] = (
            sys.executable, "-m", "benchmarks.peers.worker", str(folder / "job.json"), str(folder / "result.json"),
        )  # fmt: skip
        own = {"MEM0_DIR": str(folder / "mem0"), "TMPDIR": str(folder)}
        running = subprocess.Popen(  # noqa: S603 - this script
            command, cwd=PROJECT, env={**os.environ, **SETTINGS, **own},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            _, complaints = running.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            return {"failed": f"stopped after {patience:.0f} s"}
        finally:
            _end(running)
        if running.returncode:
            return {"failed": last_line(complaints) or f"ended with code {running.returncode}"}
        result: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        return result


def _end(process: subprocess.Popen[str]) -> None:
    """End what is left of it, the servers that it started among them."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def versions() -> dict[str, str | None]:
    """Of every package that the groups name, and of this one."""
    names = {package.partition("==")[0] for packages in GROUPS.values() for package in packages if "==" in package}
    found: dict[str, str | None] = {"python": sys.version.split()[0]}
    for name in sorted({name.partition("[")[0] for name in names} | {"hybrid-agent-memory"}):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found
