"""An exception at every place where one can come from outside, as a `KeyboardInterrupt` does."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from types import CodeType, FrameType
from typing import Any

CHECKED = ("CALL", "JUMP_BACKWARD", "RESUME")
"""After these instructions, and before the first of a function, the interpreter looks for signals and exceptions."""


class Interrupted(BaseException):
    """Like a `KeyboardInterrupt`, but only ours."""


@cache
def _names(code: CodeType) -> dict[int, str]:
    return {one.offset: one.opname for one in dis.get_instructions(code)}


class Interrupt:
    """A trace function that raises at one such place in this library's code, or what that calls of ``threading``.

    Args:
        place: the number of the place, from 0.
        names: of the modules' files that are traced, in part.
    """

    def __init__(self, place: int, names: tuple[str, ...] = ("hybrid_memory", "threading.py", "_base.py")) -> None:
        self.left = place
        self.raised = False
        self._names = names
        self._last: dict[FrameType, int] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> Interrupt | None:
        if event == "call" and not any(name in frame.f_code.co_filename for name in self._names):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            last, self._last[frame] = self._last.get(frame), frame.f_lasti
            if last is None or _names(frame.f_code)[last].startswith(CHECKED):
                self._count()
        elif event == "return":
            self._last.pop(frame, None)
        return self

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0 and not self.raised:
            self.raised = True
            raise Interrupted


def interrupted(action: Callable[[], object], *, step: int = 1) -> Iterator[Interrupted | None]:
    """Do it again and again, each time interrupted a bit later, until it is over before; the exceptions are yielded.

    Whoever keeps one keeps its frames alive, as an interactive session does. Yields None where it was swallowed.
    """
    for place in count(0, step):
        interrupt, raised = Interrupt(place), None
        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            action()
        except Interrupted as error:
            raised = error
        finally:
            sys.settrace(before)
        if not interrupt.raised:
            return
        yield raised
