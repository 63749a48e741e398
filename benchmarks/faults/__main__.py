"""What faults do to a memory: campaigns of kills, races and nonsense, as long as one likes.

``python benchmarks/faults kills --count 1000``; each prints what broke, and ends with 1 if anything broke.
"""

import argparse
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

CAMPAIGNS = sorted(path.stem for path in HERE.glob("[!_]*.py"))


def main() -> int:
    """Run the campaign that the command line names."""
    parser = argparse.ArgumentParser(prog="python benchmarks/faults", description=__doc__)
    commands = parser.add_subparsers(dest="campaign", required=True)
    for name in CAMPAIGNS:
        module = import_module(f"benchmarks.faults.{name}")
        command = commands.add_parser(name, help=(module.__doc__ or name).splitlines()[0])
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    args = parser.parse_args()
    return int(args.run(args))


if __name__ == "__main__":
    sys.exit(main())
