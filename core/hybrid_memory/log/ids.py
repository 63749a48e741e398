"""Ids that sort by the time at which they were made."""

from __future__ import annotations

import secrets
import threading
import time
from uuid import UUID

MAX_COUNTER = 0xFFF
"""The 12 bits of rand_a in a UUID of version 7."""


class TimeOrderedIds:
    """UUIDs of version 7 (RFC 9562): milliseconds, a counter, random bits; ordered within a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = (0, 0)

    def __call__(self) -> str:
        """A new id."""
        with self._lock:
            now = time.time_ns() // 1_000_000
            millis, counter = self._last
            # The counter takes the 12 bits of rand_a; when it or the clock runs back, borrow from the next millisecond.
            if now > millis:
                millis, counter = now, 0
            elif counter < MAX_COUNTER:
                counter += 1
            else:
                millis, counter = millis + 1, 0
            self._last = (millis, counter)
        value = millis << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | secrets.randbits(62)
        return str(UUID(int=value))
