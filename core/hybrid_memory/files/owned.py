"""The owner of files, and how a file is changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from hybrid_memory.blocks.edit import Owned
from hybrid_memory.errors import FileError, IdConflictError, OutdatedError, StoreUnavailableError
from hybrid_memory.files.file import File, FileRevision, FilesProjection, KeptFiles, Part, Revision
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import EARLIER, Message
from hybrid_memory.log.origin import Origin, lowest
from hybrid_memory.log.port import Draft
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.remember import draft_of
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view
from hybrid_memory.validation import shown

RACES = 100
"""How many changes by others may interfere before the call fails."""

Change: TypeAlias = Callable[[str | None], str]
"""The new text of a file, given its current one, None if there is none; may raise `FileError`."""


@dataclass(frozen=True, slots=True)
class Writing:
    """How a file is changed.

    Attributes:
        change: write, edit or insert.
        origin: the origin of the new words; sources: ids of the messages it is based on.
        call: makes the change idempotent.
        earlier: ids of the file's pieces whose words are reused.
    """

    change: str
    origin: Origin
    sources: tuple[str, ...] = ()
    call: str = ""
    earlier: tuple[str, ...] = ()

    def message(self, services: Services, text: str, path: str, extra: dict[str, object] | None = None) -> Message:
        """The text written into a file as a message, in the user's role and with this origin."""
        origin = lowest((Origin.USER, self.origin, services.speaks))
        made_of = {"made_of": list(self.sources)} if self.sources else {}
        return Message(
            content=text,
            metadata={"noted_with": "file", "file": path},
            origin=None if origin is Origin.USER else origin,
            extra={**made_of, **({EARLIER: list(self.earlier)} if self.earlier else {}), **(extra or {})},
        )


class Place(ABC):
    """Files of one kind, under paths of their own.

    Attributes:
        made: whether the memory creates these files itself; then they cannot be deleted or renamed.
    """

    made: ClassVar[bool] = True

    @abstractmethod
    def holds(self, path: str) -> bool:
        """Whether this kind is responsible for a path."""

    @abstractmethod
    async def files(self, run: Runner, owned: Owned) -> list[File]:
        """The existing files."""

    @abstractmethod
    async def text(self, run: Runner, owned: Owned, path: str) -> str | None:
        """The text of a file; None if it does not exist."""

    @abstractmethod
    async def change(self, run: Runner, owned: Owned, path: str, change: Change, writing: Writing) -> File:
        """Change a file's text, given a function of its current text."""

    @abstractmethod
    async def history(self, run: Runner, owned: Owned, path: str) -> list[FileRevision]:
        """All revisions of a file, oldest first."""

    @abstractmethod
    async def undo(self, run: Runner, owned: Owned, path: str) -> File | None:
        """Undo the last effective change; None if the file no longer exists then."""


async def seen_files(run: Runner, owned: Owned) -> KeptFiles:
    """The owner's files as this view shows them."""
    view = await in_view(run, owned.services, owned.scope)
    return await owned.services.state(FilesProjection).seen(run, view)


async def appended(run: Runner, owned: Owned, made: Sequence[Revision], drafts: Sequence[Draft], *, seen: int) -> bool:
    """Write changes of files with related events, all or none; False if outrun, or if some were forgotten."""
    services = owned.services
    revisions = [
        replace(
            services.draft(EventKind.FILE, one.as_payload(), id=one.name, author=services.author),
            at=one.at,
        )
        for one in made
    ]
    try:
        await run.call(services.truth.append, owned.scope.owner, [*drafts, *revisions], seen=seen)
    except (OutdatedError, IdConflictError):
        return False
    return True


def kept_changed(services: Services, gone: Sequence[Event], restored: Sequence[Event] = ()) -> list[Draft]:
    """The event by which messages are superseded or restored; none if there are neither."""
    if not gone and not restored:
        return []
    payload = {
        "positions": [event.position for event in gone],
        "ids": [event.id for event in gone],
        "restored": [event.position for event in restored],
        "by": {},
    }
    return [services.draft(EventKind.SUPERSEDED, payload, author=services.author)]


def parted(services: Services, owned: Owned, message: Message, tail: str = "") -> tuple[Part, Draft]:
    """A new part of a file, and the event of its message."""
    draft = draft_of(services, owned.scope.owner, message)
    words = str(draft.payload["content"])
    return Part(draft.id, tail, len(words.encode())), draft


def missing(path: str) -> FileError:
    """The error for a file that does not exist."""
    return FileError("missing", f"there is no file {shown(path)}: list() shows those that there are")


def raced(path: str) -> StoreUnavailableError:
    """The error if other writers were faster at every attempt."""
    return StoreUnavailableError(f"others kept changing {shown(path)} at the same time: try again")
