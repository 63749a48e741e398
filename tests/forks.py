"""Processes of their own for what may kill itself or become another user."""

import multiprocessing
from collections.abc import Callable
from typing import Any

from tests.doubles import PATIENCE

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["hybrid_memory", "hybrid_memory.engines.sqlite"])


def exit_code(work: Callable[..., object], *args: Any) -> int:
    """How a process ends that does this; `work` is a function of a module.

    It is forked from a server that has no threads: in a fork of a process with threads a lock may be taken for ever.
    """
    child = _CONTEXT.Process(target=work, args=args)
    child.start()
    child.join(PATIENCE)
    if child.exitcode is None:
        child.kill()
        child.join()
    code = child.exitcode
    child.close()
    assert code is not None
    return code
