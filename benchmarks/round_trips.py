"""How often each verb waits for a Postgres server that is far away: what a turn costs between zones.

    python benchmarks/round_trips.py

Asked directly, and through a proxy that holds back what the client sends by 20 ms; the extra time divided by the delay
is the number of round trips. Nothing runs in the background but learning, so that every verb does its own work.
"""

import asyncio
import logging
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

from hybrid_memory import MemoryConfig, open_memory
from tests.postgres_server import PostgresServer

DELAY = 0.02
ROUNDS = 5


def delayed(port: int) -> int:
    """The port of a proxy for the server."""
    ready, ports = threading.Event(), list[int]()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
        loop = asyncio.get_running_loop()
        while data := await reader.read(1 << 16):
            loop.call_later(delay, writer.write, data)
        loop.call_later(delay, writer.close)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, downstream = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pass_on(reader, downstream, DELAY), pass_on(upstream, writer, 0), return_exceptions=True)

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(run()), daemon=True).start()
    ready.wait()
    return ports[0]


def seconds(url: str) -> dict[str, float]:
    """The median time of each verb."""
    times: dict[str, list[float]] = {}
    config = {"url": url, "embedder": "hashing", "orchestration": {"background": False}}
    with open_memory(MemoryConfig.model_validate(config)) as memory:
        mine = memory.scoped(user="ann", session="s")
        mine.remember([f"turn {number}: I bought {number} apples in town {number}" for number in range(300)])
        memory.flush(progress=False)
        verbs: dict[str, Callable[[int], object]] = {
            "remember": lambda number: mine.remember(f"I sold {number} plums"),
            "recall after a write": lambda number: mine.recall(f"plums {number}"),
            "recall": lambda number: mine.recall(f"apples in town {number}"),
            "remember again": lambda number: mine.remember(f"I sold {number} pears"),
            "assemble after a write": lambda number: mine.assemble(f"what did I sell in town {number}?"),
            "assemble": lambda number: mine.assemble(f"what did I buy in town {number}?"),
            "flush": lambda _: memory.flush(progress=False),
            "flush with nothing to do": lambda _: memory.flush(progress=False),
        }
        for number in range(ROUNDS + 1):
            for name, verb in verbs.items():
                began = time.perf_counter()
                verb(number)
                if number:  # in the first round, caches are filled
                    times.setdefault(name, []).append(time.perf_counter() - began)
    return {name: sorted(each)[ROUNDS // 2] for name, each in times.items()}


def main() -> None:
    """Print a line for each verb."""
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder, PostgresServer(Path(folder), options={"fsync": "off"}) as server:
        port = urlsplit(server.url).port or 0
        near = seconds(f"{server.url}?schema=near")
        far = seconds(f"{server.url}?schema=far".replace(f":{port}/", f":{delayed(port)}/"))
    print(f"{'':26} {'near':>8} {'round trips':>12}")
    for name, each in near.items():
        print(f"{name:26} {1000 * each:5.1f} ms {(far[name] - each) / DELAY:12.1f}")


if __name__ == "__main__":
    main()
