"""A progress bar for long work: on a terminal, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hybrid_memory.ports import Progress


@contextmanager
def progress_bar(label: str, *, shown: bool | None, unit: str = "turn") -> Iterator[Progress]:
    """A callback that moves a bar.

    Args:
        label: what is being done.
        shown: None shows it when stderr is a terminal.
        unit: what is counted.
    """
    from tqdm import tqdm  # noqa: PLC0415 - 50 ms that an import of the package need not pay

    with tqdm(desc=label, unit=unit, disable=None if shown is None else not shown, leave=False) as bar:

        def advance(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield advance
