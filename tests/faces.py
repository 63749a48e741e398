"""The types of the fixtures that open memories, call them on either face, and run scripts."""

import subprocess
from collections.abc import Callable
from typing import Protocol, TypeVar

from hybrid_memory import HybridMemory

T = TypeVar("T")
Open = Callable[..., HybridMemory]
Child = Callable[..., subprocess.CompletedProcess[str]]


class Face(Protocol):
    """``face(alice).recall("cat")`` calls the verb, blocking or by its async twin, with the types of the verb."""

    def __call__(self, owner: T) -> T: ...
