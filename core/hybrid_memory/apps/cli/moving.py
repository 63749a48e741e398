"""``hybrid-memory migrate`` and ``rebuild``: a memory on another engine, and an index made anew."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from hybrid_memory.apps.cli.printing import print_json, show
from hybrid_memory.apps.cli.stores import AsJson, EmbeddedBy, EmbedderName, StoreName, open_store, settings
from hybrid_memory.errors import InvalidInputError

Source = Annotated[str, typer.Argument(metavar="FROM", show_default=False, help="A store, as for all verbs.")]
Target = Annotated[
    str, typer.Argument(metavar="TO", show_default=False, help="One that is empty, or an earlier copy; a file is made.")
]


def migrate(
    source: Source, target: Target, *, embedder: EmbeddedBy = EmbedderName.AUTO, as_json: AsJson = False
) -> None:
    """Copy a whole memory to another engine or embedder, and compare the two.

    What was copied before is not copied again, so that an interrupted copy goes on, and a later one takes what is new.

    Example: hybrid-memory migrate memory.db redis://localhost:6379/0
    """
    if settings(source).url == settings(target, create=True).url:
        raise InvalidInputError(f"{source} and {target} are the same store: give another one to copy to")
    with (
        open_store(source, background=False, embedder="none") as original,
        open_store(target, create=True, background=False, embedder=embedder.given) as copy,
    ):
        done = original.migrate(copy)
    if as_json:
        print_json(asdict(done))
        return
    show(f"{done.events:,} events of {done.owners:,} owners are in {target}, the same as in {source}")
    show(f"indexed {done.indexed:,}, embedded {done.embedded:,}; SHA-256 {done.checksum}", style="dim")


def rebuild(store: StoreName, *, embedder: EmbeddedBy = EmbedderName.AUTO, as_json: AsJson = False) -> None:
    """Drop the index and derive it again from the log, with another embedder if one is named.

    Example: hybrid-memory rebuild memory.db --embedder local
    """
    given = _model(embedder)
    with open_store(store, background=False, embedder=None if embedder is EmbedderName.AUTO else "none") as memory:
        told = memory.stats()
        if embedder is EmbedderName.AUTO and told.embedder is None and told.vectors:
            raise InvalidInputError(
                f"{told.vectors:,} vectors would be lost, as the command cannot make their embedder: call "
                "rebuild(embedder=...) where it is known, or name another one with --embedder"
            )
        done = memory.rebuild(embedder=given)
    if as_json:
        print_json({"indexed": done.indexed, "embedded": done.embedded, "learned": done.learned})
        return
    show(f"indexed {done.indexed:,}, embedded {done.embedded:,}, learned {done.learned:,} claims")


def _model(name: EmbedderName) -> Any:
    """The embedder to change to; None for the one that there is, or for none."""
    from hybrid_memory.models.embedders import HashingEmbedder, LocalEmbedder  # noqa: PLC0415

    made = {EmbedderName.LOCAL: LocalEmbedder, EmbedderName.HASHING: HashingEmbedder}.get(name)
    return None if made is None else made()
