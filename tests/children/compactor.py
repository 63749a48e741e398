"""Compacts one session again and again while another process does the same; prints how often it won."""

import sys

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.text.tokens import estimate_tokens


def main() -> None:
    """Two rounds a time, until one is left."""
    url, process = sys.argv[1:]
    config = MemoryConfig(url=url, embedder="none")
    with open_memory(config, token_counter=estimate_tokens) as memory:
        alice = memory.scoped(user="a", session="s")
        folded = 0
        for keep in range(18, 0, -2):
            alice.remember([f"{process} asks about room {keep}.", {"role": "assistant", "content": "Noted."}])
            folded += alice.compact(keep=keep).compacted
        sys.stdout.write(f"{folded}\n")


if __name__ == "__main__":
    main()
