"""Gives a store one key after the other until it is killed; prints each before and after.

Arguments: the file, the key that it has, in hexadecimal digits.
"""

import sys
from pathlib import Path

from hybrid_memory.engines.sqlite import Database


def main() -> None:
    """Keys count upwards."""
    database = Database(Path(sys.argv[1]), key=bytes.fromhex(sys.argv[2]))
    number = int(sys.argv[2], 16)
    while True:
        number += 1
        sys.stdout.write(f"{number:064x}\n")
        sys.stdout.flush()
        database.rekey(bytes.fromhex(f"{number:064x}"))


if __name__ == "__main__":
    main()
