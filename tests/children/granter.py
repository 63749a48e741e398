"""Gives rights in a shared space while other processes do the same; prints the names it gave them to."""

import sys

from hybrid_memory import MemoryConfig, open_memory

GRANTS = 25


def main() -> None:
    """As the admin who made the space."""
    url, process = sys.argv[1:]
    with open_memory(MemoryConfig(url=url, embedder="none", power_safe=False)) as memory:
        team = memory.scoped(user="alice").space("team")
        for number in range(GRANTS):
            team.grant(user=f"{process}-{number}", right="read")
            if number % 5 == 0:
                team.revoke(user=f"{process}-{number}")
        sys.stdout.write("\n".join(f"{process}-{number}" for number in range(GRANTS) if number % 5))


if __name__ == "__main__":
    main()
