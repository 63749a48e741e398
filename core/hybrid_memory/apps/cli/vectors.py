"""Compute missing vectors of a store before they are needed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from hybrid_memory.display import counted
from hybrid_memory.errors import ModelError

if TYPE_CHECKING:
    from hybrid_memory import HybridMemory, ScopedMemory

MANY = 100
"""How many missing vectors a search computes silently without a terminal."""


def make_vectors(memory: HybridMemory, whose: ScopedMemory, store: str) -> bool:
    """Compute missing vectors, with a progress bar on a terminal; False if interrupted."""
    stats = memory.stats()
    if stats.embedder is None:
        if stats.records and not stats.vectors:
            more = f"hybrid-memory rebuild {store} --embedder local"
            typer.echo(f"this store has no vectors: search uses words alone until you run {more}", err=True)
        return True
    if not stats.pending + stats.unindexed:
        return True
    if not sys.stderr.isatty():
        if stats.pending > MANY:
            wait = memory.config.orchestration.model_timeout.total_seconds()
            vectors = counted(stats.pending, "vector")
            typer.echo(f"{vectors} are missing: this search computes what it can in {wait:g} seconds", err=True)
        return True
    try:
        whose.flush()
    except KeyboardInterrupt:
        left = f"{counted(memory.stats().pending, 'vector')} left for the next search"
        typer.echo(f"interrupted: {left}; turns without one are found by their words", err=True)
        return False
    except ModelError as error:  # recall goes by words
        typer.echo(str(error), err=True)
    return True
