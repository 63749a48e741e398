"""Each notebook runs from top to bottom without a warning, and holds what it shows.

What a notebook promises it asserts itself. The notebooks from 06 on are in a file of their own, for pytest-xdist keeps
a file in one process.
"""

from collections.abc import Callable
from typing import Any

import pytest

NAMES = [
    "01_quickstart.ipynb", "02_langchain_agent.ipynb", "03_llamaindex_chat.ipynb", "04_why_this_came_back.ipynb",
    "05_compaction_and_probes.ipynb",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_holds_what_it_shows(notebook: Callable[[str], Any], name: str) -> None:
    notebook(name)
