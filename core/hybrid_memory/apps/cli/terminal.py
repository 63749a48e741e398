"""The streams of the process: text in any language works with terminals and files of any encoding."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper

ESCAPED = "hybrid_memory.escaped"

DRAWN = "█▏…"
"""The characters of bars and shortened lines."""

_escaped_for: set[str] = set()


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Escape characters that the encoding lacks as in JSON, so that JSON stays valid and complete."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    _escaped_for.add(error.encoding)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


@contextmanager
def any_encoding() -> Iterator[None]:
    """Escape characters that stdout and stderr cannot encode; finally, a line on stderr says what to do."""
    codecs.register_error(ESCAPED, _escape)
    streams = [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, TextIOWrapper)]
    before = [stream.errors for stream in streams]
    for stream in streams:
        stream.reconfigure(errors=ESCAPED)
    try:
        yield
    finally:
        if _escaped_for:
            sys.stderr.write(
                f"hybrid-memory: {', '.join(sorted(_escaped_for))} cannot write all characters, so some are shown as "
                "\\uXXXX; set PYTHONIOENCODING=utf-8 to see them\n"
            )
            _escaped_for.clear()
        for stream, errors in zip(streams, before, strict=True):
            with suppress(OSError, ValueError):  # a pipe that was closed early, or a stream
                stream.reconfigure(errors=errors)


def draws() -> bool:
    """Whether stdout can encode bars of blocks and the ellipsis."""
    try:
        DRAWN.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
