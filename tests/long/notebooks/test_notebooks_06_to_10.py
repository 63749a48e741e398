"""The other notebooks run from top to bottom without a warning, and hold what they show; see the file for 01 to 05."""

from collections.abc import Callable
from typing import Any

import pytest

NAMES = [
    "06_profile_and_time_travel.ipynb", "07_memgpt_paging.ipynb", "08_scaling_out.ipynb",
    "09_bring_your_own_chats.ipynb", "10_one_memory_many_hosts.ipynb",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs_and_holds_what_it_shows(notebook: Callable[[str], Any], name: str) -> None:
    notebook(name)
