"""An exception at every place where one can come from outside, as a `KeyboardInterrupt` does."""

import sys
from collections.abc import Callable, Iterator
from itertools import count
from types import FrameType
from typing import Any

TRACED = ("hybrid_memory", "threading.py", "futures/_base.py")


class Interrupted(BaseException):
    """Like a `KeyboardInterrupt`, but only ours."""


class Interrupt:
    """A profile function that raises at one such place in this library's code, or in what that calls of ``threading``.

    The interpreter looks for signals and exceptions from outside when a function begins, and inside the instruction
    that called C code, when that has returned: just there profile functions are called. A trace function would raise
    between instructions too, where nothing can come: after a ``with`` has begun to end, and before its lock is free.

    Args:
        place: the number of the place, from 0.
        traced: parts of the names of the files.
    """

    def __init__(self, place: int, traced: tuple[str, ...] = TRACED) -> None:
        self.left = place
        self._traced = traced
        self.raised = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if self.raised or event not in {"call", "c_return"}:
            return
        if any(name in frame.f_code.co_filename for name in self._traced):
            self.left -= 1
            if self.left < 0:
                self.raised = True
                raise Interrupted


def interrupted(action: Callable[[], object]) -> Iterator[Interrupted | None]:
    """Do it again and again, each time interrupted a bit later, until it is over before; the exceptions are yielded.

    Whoever keeps one keeps its frames alive, as an interactive session does. Yields None where it was swallowed.
    """
    for place in count():
        interrupt, raised = Interrupt(place), None
        before = sys.getprofile()
        sys.setprofile(interrupt)
        try:
            action()
        except Interrupted as error:
            raised = error
        finally:
            sys.setprofile(before)
        if not interrupt.raised:
            return
        yield raised
