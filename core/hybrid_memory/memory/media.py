"""The verbs for pictures and sounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal

from hybrid_memory.media import recall as media_recall
from hybrid_memory.memory.handle import Handle
from hybrid_memory.memory.runtime import INLINE
from hybrid_memory.recall.hit import Hit
from hybrid_memory.runtime.runners import Runner, drive
from hybrid_memory.runtime.tasks import INTERACTIVE, at_priority


class Media(Handle):
    """What was shown or played to one owner's memory, where its embedder embeds images or sounds."""

    def recall_media(
        self,
        query: str | bytes | Mapping[str, Any],
        *,
        k: int = 10,
        kinds: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        within: Literal["user", "session"] = "user",
    ) -> list[Hit]:
        """The images or sounds in messages that answer a text best, or are most like an example, best first.

        For a text ``0.7 * vector + 0.3 * text``, where the words are those of the message around it and the name of the
        file; for an example nearness alone. What was just written is found, if its data stood in the message: links are
        not followed, and system messages are left out.

        A hit is no bytes: ``record.metadata`` has ``handle``, which `expand` takes and whose message has the medium,
        ``block``, its place among the content blocks, ``media``, its media type, and ``bytes``, its size.

        Args:
            query: a text, the bytes of an example, or a content block with its data, as messages have it.
            k: how many at most.
            kinds: ``image``, ``audio``; empty means any that the embedder embeds.
            since: only what was said then or later; aware.
            until: only what was said before; aware.
            within: all sessions of the owner, or this handle's session only.

        Raises:
            InvalidInputError: the memory has no embedder for media, or none for this kind; an example that cannot be
                decoded or read; and as `recall`.
            ModelError: the embedder failed on an example. For a text the words are left, and each hit has a note.
        """
        named = {"k": k, "kinds": kinds, "since": since, "until": until, "within": within}
        return drive(self._recall_media(INLINE, query, named))

    async def arecall_media(
        self,
        query: str | bytes | Mapping[str, Any],
        *,
        k: int = 10,
        kinds: Collection[str] = (),
        since: datetime | None = None,
        until: datetime | None = None,
        within: Literal["user", "session"] = "user",
    ) -> list[Hit]:
        """Async twin of `recall_media`."""
        named = {"k": k, "kinds": kinds, "since": since, "until": until, "within": within}
        return await self._recall_media(self._runtime.loop, query, named)

    async def _recall_media(self, run: Runner, query: Any, named: dict[str, Any]) -> list[Hit]:
        services = self._services
        with at_priority(INTERACTIVE), services.statistics.timed("recall_media"):
            return await media_recall.recall_media(run, services, media_recall.Request.of(self.scope, query, **named))
