"""What is done already, in a file, so that an evaluation that was interrupted goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Journal:
    """Results by key; each is written before it is used.

    Args:
        file: JSON lines, made where there is none; None keeps nothing.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._kept: dict[str, Any] = {}
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    self._kept[entry["key"]] = entry["value"]
                except (ValueError, KeyError, TypeError):  # a line that was cut off when the process was killed
                    continue
            with file.open("a", encoding="utf-8") as end:
                end.write("\n")
        elif file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)

    def done(self, *key: Any, by: Callable[[], Any], final: Callable[[Any], bool] = lambda _: True) -> Any:
        """The result under this key, which is made now if there is none.

        Args:
            key: JSON values that decide the result.
            by: makes it; JSON values.
            final: whether it is worth keeping; what is not is made again next time.
        """
        name = _digest(key)
        if name in self._kept:
            return self._kept[name]
        value = by()
        if not final(value):
            return value
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as end:
                end.write(json.dumps({"key": name, "value": value}, ensure_ascii=False) + "\n")
        self._kept[name] = value
        return value


def _digest(key: tuple[Any, ...]) -> str:
    return hashlib.blake2b(json.dumps(key, ensure_ascii=False, default=str).encode(), digest_size=12).hexdigest()
