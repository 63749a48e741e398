"""Progress of long work, and the bar that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]
"""Called with (done, total) while long work runs."""


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
