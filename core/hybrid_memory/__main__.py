"""``python -m hybrid_memory``: the command ``hybrid-memory``, where that is not on the path."""

from hybrid_memory.apps.cli import main

if __name__ == "__main__":
    main()
