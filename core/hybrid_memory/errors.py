"""Everything this library raises, split by who must act.

::

    HybridMemoryError
    ├── InvalidInputError (ValueError)      the caller: an argument is wrong, nothing was changed
    │   ├── InvalidScopeError               whose memory is missing or malformed
    │   ├── InvalidMessageError             a message cannot be stored as it is
    │   ├── IdConflictError                 an id is taken by a different message
    │   ├── FileError                       a file is not there, or cannot be changed so; its reason tells which
    │   └── InvalidConfigError              a setting, URL or YAML file is wrong
    ├── AccessDeniedError                   the caller: has no right to this
    ├── MemoryClosedError                   the caller: the memory was closed
    ├── StoreError                          the operator: disk or engine
    │   ├── StoreUnavailableError           cannot be opened, written or locked
    │   │   └── OutcomeUnknownError         it did not answer a write: repeat it under the same ids
    │   ├── WrongKeyError                   encrypted with another key, or one of store and caller has none
    │   ├── StoreVersionError               written by a newer version of this library
    │   ├── OutdatedError                   what was to be written was made from what is erased by now
    │   └── EmbedderMismatchError           indexed by another embedder: rebuild
    ├── ModelError                          an embedder or model failed or answered nonsense
    ├── DeadlineExceededError (TimeoutError)  scheduled work did not begin in time
    ├── QueueFullError                      too much work is queued already: wait, or ask for less
    └── MissingDependencyError (ImportError)  an optional package is not installed
"""

from __future__ import annotations

from collections.abc import Sequence

DISTRIBUTION = "hybrid-agent-memory"


class HybridMemoryError(Exception):
    """The root of every error of this library."""


class InvalidInputError(HybridMemoryError, ValueError):
    """An argument is wrong; nothing was changed."""


class InvalidScopeError(InvalidInputError):
    """The scope names nobody, or a part of it is malformed."""


class InvalidMessageError(InvalidInputError):
    """A message cannot be stored as it is."""


class IdConflictError(InvalidInputError):
    """The id is already taken by a message with other content."""


class FileError(InvalidInputError):
    """A path, or what is to be done with a file, is wrong; nothing was changed.

    Attributes:
        reason: ``missing`` or ``exists``; ``folder`` where a file is expected, ``file`` where a folder is;
            ``read_only``; ``absent`` or ``several`` for what is to be replaced; ``line``, ``path``, ``pattern`` or
            ``text`` for an argument that cannot be.
    """

    def __init__(self, reason: str, text: str) -> None:
        self.reason = reason
        super().__init__(text)


class InvalidConfigError(InvalidInputError):
    """A setting, store URL or configuration file is wrong."""


class AccessDeniedError(HybridMemoryError):
    """A user or agent has no right to do this in a shared space; nothing was done.

    Args:
        who: the user and the agent, as text.
        verb: what they asked for; space: where.
        reason: what it takes.
    """

    def __init__(self, who: str, verb: str, space: str, reason: str) -> None:
        super().__init__(f"{who} may not {verb} in the space {space!r}: {reason}")


class MemoryClosedError(HybridMemoryError):
    """A verb was called after ``close()``."""

    def __init__(self) -> None:
        super().__init__("this memory is closed: open it again with open_memory(...)")


class StoreError(HybridMemoryError):
    """A store failed: look at the disk or the engine."""


class StoreUnavailableError(StoreError):
    """The store cannot be opened, written or locked."""


class OutcomeUnknownError(StoreUnavailableError):
    """The store did not answer a write, which may be done or come to be done: repeat it under the same ids.

    Attributes:
        ids: of what was to be written, also those that were made for it.
    """

    def __init__(self, ids: Sequence[str], reason: object) -> None:
        self.ids = tuple(ids)
        shown = ", ".join(map(repr, self.ids[:3])) + (", ..." if len(self.ids) > 3 else "")  # noqa: PLR2004 - enough
        super().__init__(f"{reason}; whether {shown} was written is not known: write it again under the same id")


class WrongKeyError(StoreError):
    """The store is encrypted with another key, or is encrypted and no key was given, or the other way round."""


class StoreVersionError(StoreError):
    """The store was written with another schema than this version knows."""


class OutdatedError(StoreError):
    """What was to be written was made from an earlier state of the log: nothing was written, make it anew."""


class EmbedderMismatchError(StoreError):
    """The store's vectors come from another embedder than the one given.

    Args:
        there: name and width of the embedder behind the store's vectors.
        given: the name of the other one, and its width where it is known.
    """

    def __init__(self, there: tuple[str, int], given: tuple[str, int | None]) -> None:
        width = "" if given[1] is None else f" (width {given[1]})"
        super().__init__(
            f"the store's vectors come from embedder {there[0]!r} (width {there[1]}), not {given[0]!r}{width}: open it "
            "with that embedder, or with MemoryConfig(embedder='none') and then call rebuild(embedder=...)"
        )


class ModelError(HybridMemoryError):
    """An embedder or a language model failed, or returned something of the wrong shape."""


class DeadlineExceededError(HybridMemoryError, TimeoutError):
    """Scheduled work did not begin before its deadline, and was not done."""


class QueueFullError(HybridMemoryError):
    """As much work is queued as may be, and none of it began within the time that the caller would wait."""


class MissingDependencyError(HybridMemoryError, ImportError):
    """An optional package is not installed.

    Attributes:
        package: what is missing.
        extra: the extra of this distribution that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed: pip install '{DISTRIBUTION}[{extra}]'")


class TextOnlyWarning(UserWarning):
    """No embedder is available: recall works on words alone until one is given."""
