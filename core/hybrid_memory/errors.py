"""Everything this library raises, split by who must act.

The caller: `InvalidInputError` and its kinds, `AccessDeniedError`, `MemoryClosedError`, `MissingDependencyError`. The
operator: `StoreError` and its kinds, of disk or engine. Whoever runs the model: `ModelError`.
"""

from __future__ import annotations

from collections.abc import Sequence

DISTRIBUTION = "hybrid-agent-memory"


class HybridMemoryError(Exception):
    """The base class of every error of this library."""


class InvalidInputError(HybridMemoryError, ValueError):
    """An argument is wrong; nothing was changed."""


class InvalidScopeError(InvalidInputError):
    """The scope names no owner, or a part of it is malformed."""


class InvalidMessageError(InvalidInputError):
    """A message cannot be stored."""


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
    """A user or agent may not do this in a shared space; nothing was done. ``reason`` is the right that it takes."""

    def __init__(self, who: str, verb: str, space: str, reason: str) -> None:
        super().__init__(f"{who} may not {verb} in the space {space!r}: {reason}")


class MemoryClosedError(HybridMemoryError):
    """A verb was called after ``close()``, or in a fork of the process that opened the memory."""

    def __init__(self, state: str = "closed") -> None:
        super().__init__(f"this memory is {state}: open it again with open_memory(...)")


class StoreError(HybridMemoryError):
    """A store failed: check the disk or the engine."""


class StoreUnavailableError(StoreError):
    """The store cannot be opened, written or locked."""


class OutcomeUnknownError(StoreUnavailableError):
    """The store did not answer a write, which may or may not take effect: repeat it with the same ``ids``."""

    def __init__(self, ids: Sequence[str], reason: object) -> None:
        self.ids = tuple(ids)
        shown = ", ".join(map(repr, self.ids[:3])) + (", ..." if len(self.ids) > 3 else "")  # noqa: PLR2004 - enough
        super().__init__(f"{reason}; it is unknown whether {shown} was written: write it again with the same id")


class WrongKeyError(StoreError):
    """The key is wrong, is missing for an encrypted store, or was given for one that is not encrypted."""


class StoreVersionError(StoreError):
    """The store was written by a version of this library with another schema: ``there`` the store's, ``here`` ours."""

    def __init__(self, store: object, there: int, here: int) -> None:
        super().__init__(
            f"{store} has schema version {there}, and this version of {DISTRIBUTION} knows {here} only: open it with "
            "the version that wrote it, or export it with that one and import it with this one"
        )


class OutdatedError(StoreError):
    """The write was based on an earlier state of the log; nothing was written, derive it again."""


class EmbedderMismatchError(StoreError):
    """The store's vectors come from another embedder than the one given; each has a name and, if known, a width."""

    def __init__(self, there: tuple[str, int], given: tuple[str, int | None]) -> None:
        width = "" if given[1] is None else f" (width {given[1]})"
        super().__init__(
            f"the store's vectors are from embedder {there[0]!r} (width {there[1]}), not {given[0]!r}{width}: "
            "open it with that embedder, or with MemoryConfig(embedder='none') and then call rebuild(embedder=...)"
        )


class ModelError(HybridMemoryError):
    """An embedder or language model failed, or returned an invalid answer."""


class DeadlineExceededError(HybridMemoryError, TimeoutError):
    """Scheduled work did not begin before its deadline and was dropped."""


class MissingDependencyError(HybridMemoryError, ImportError):
    """An optional package is not installed; ``extra`` is that of this distribution which installs it, if one does."""

    def __init__(self, package: str, extra: str | None = None) -> None:
        self.package = package
        self.extra = extra
        wanted = package if extra is None else f"'{DISTRIBUTION}[{extra}]'"
        super().__init__(f"{package} is not installed: pip install {wanted}")


class TextOnlyWarning(UserWarning):
    """No embedder is available: recall works with words alone until you give it one."""
