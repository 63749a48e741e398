"""Type-check programs that use the library as it is installed, strictly, with mypy and pyright.

    python tests/release/typed.py [--python PYTHON] [--tools mypy pyright] [PROGRAM ...]

The programs stand in ``consumers``; by default all of them are read. They are copied elsewhere first: neither the
settings of this project nor its source tree are seen, only what is installed for PYTHON.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CONSUMERS = Path(__file__).with_name("consumers")
TOOLS = ["mypy", "pyright"]
SECONDS = 600


def check(python: str, programs: list[Path], chosen: list[str]) -> bool:
    """Whether both find nothing; what they find is printed."""
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            shutil.copy(program, folder)
        names = [program.name for program in programs]
        settings = {"typeCheckingMode": "strict", "reportUnnecessaryTypeIgnoreComment": True, "include": names}
        (Path(folder) / "pyrightconfig.json").write_text(json.dumps(settings))
        cache, seen = f"--cache-dir={folder}/.cache", f"--python-executable={python}"
        tools = [
            ["mypy", "--strict", "--config-file=", cache, seen, *names],
            ["pyright", f"--pythonpath={python}", f"--project={folder}"],
        ]
        return all([_run(tool, folder) for tool in tools if tool[0] in chosen])  # noqa: C419 - the second speaks even if the first fails


def _run(command: list[str], folder: str) -> bool:
    # The tools of this environment, whichever one they read.
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    tool = [sys.executable, "-m", *command]
    done = subprocess.run(  # noqa: S603
        tool, cwd=folder, env=environment, timeout=SECONDS, capture_output=True, text=True, check=False
    )
    print(f"{command[0]}: {(done.stdout + done.stderr).strip()}")  # noqa: T201 - a script
    return done.returncode == 0


def main() -> int:
    """0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", type=Path, metavar="PROGRAM")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    given = parser.parse_args()
    programs = given.programs or sorted(CONSUMERS.glob("*.py"))
    return 0 if check(given.python, programs, given.tools) else 1


if __name__ == "__main__":
    sys.exit(main())
