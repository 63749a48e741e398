"""Memories by URL: how what was copied, pickled or serialised finds its store again, in this process or another."""

from __future__ import annotations

import atexit
import threading
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakValueDictionary

from hybrid_memory.errors import InvalidConfigError
from hybrid_memory.memory.store import HybridMemory

IN_MEMORY = "memory://"

_lock = threading.Lock()
_opened: dict[str, HybridMemory] = {}
_given: WeakValueDictionary[str, HybridMemory] = WeakValueDictionary()
_names: WeakKeyDictionary[HybridMemory, str] = WeakKeyDictionary()


def url_of(memory: HybridMemory) -> str:
    """A URL under which this process finds the memory again, for as long as somebody holds it.

    A memory of ``memory://`` gets one of its own, since each of these is another store.
    """
    with _lock:
        url = _names.get(memory)
        if url is None:
            url = f"{IN_MEMORY}{uuid4()}" if memory.url == IN_MEMORY else memory.url
            _names[memory] = url
        _given[url] = memory
        return url


def held(url: str) -> HybridMemory | None:
    """The open memory that somebody in this process holds under this URL."""
    memory = _given.get(url)
    return None if memory is None or memory.closed else memory


def opened(url: str) -> HybridMemory:
    """The memory behind a URL; the first call opens it, and it stays open until the process ends.

    Raises:
        InvalidConfigError: it was a store in memory, and is gone.
        hybrid_memory.errors.HybridMemoryError: it cannot be opened; see `open_memory`.
    """
    if url.startswith(IN_MEMORY) and url != IN_MEMORY:
        raise InvalidConfigError(
            f"{url!r} was a store in the memory of a process, and is gone: what is to outlive its process needs a "
            "store in a file, as in sqlite:///memory.db"
        )
    from hybrid_memory.memory.opening import open_memory  # noqa: PLC0415 - all engines and models; most only look

    with _lock:
        memory = _opened.get(url)
        if memory is None or memory.closed:  # in a fork it is the other process's
            memory = _opened[url] = open_memory(url)
            _names[memory] = url  # its own url has no password
        return memory


def found(url: str) -> HybridMemory:
    """The memory that this process holds under the URL, else the one that `opened` gives."""
    return held(url) or opened(url)


def close_all() -> None:
    """Close what `opened` opened; a later call opens it again."""
    with _lock:
        memories = list(_opened.values())
        _opened.clear()
    for memory in memories:
        memory.close()


atexit.register(close_all)
