from dataclasses import replace
from typing import Any

import pytest

from benchmarks.acting import __main__ as acting
from benchmarks.acting.running import OFFERED, run
from benchmarks.acting.surroundings import System
from benchmarks.acting.tasks import HOSTS, Checks, Say
from hybrid_memory.models.embedders import HashingEmbedder
from tests.doubles import OLD_PYDANTIC

pytestmark = OLD_PYDANTIC


def outcome(name: str, system: System) -> Any:
    return run(acting.TASKS[name], system, HashingEmbedder())


def test_there_are_enough_tasks_of_all_kinds_hosts_and_languages() -> None:
    tasks = acting.TASKS.values()
    assert len(tasks) == sum(len(list(kind.tasks())) for kind in acting.KINDS) >= 60
    assert len({task.kind for task in tasks}) >= 12
    assert {task.host for task in tasks} == set(HOSTS)
    assert 0.4 < sum(task.language == "zh" for task in tasks) / len(tasks) < 0.6


@pytest.mark.parametrize(
    "name",
    [
        "document-10k-en-agent", "loop-zh-function", "mail-zh-chain", "exact-words-zh-engine", "regenerate-zh-agent",
        "regenerate-without-checkpointer-en-agent", "remove-en-agent", "edit-zh-agent", "time-travel-en-agent",
        "sub-agent-zh-agent", "media-picture-en-agent", "media-document-zh-function", "small-talk-hi-en-chain",
    ],
)  # fmt: skip
def test_what_stands_in_the_prompt_is_enough_for_the_policies(name: str) -> None:
    done = outcome(name, "bare")
    assert done.finished, done.reason


@pytest.mark.parametrize(
    ("name", "system"),
    [
        ("long-chat-60-in-4000-zh-agent", "summarization"),
        ("reread-zh-function", "stock"),
        ("long-chat-30-en-chain", "stock"),
        ("next-week-train-zh-agent", "langmem"),
    ],
)
def test_other_memories_finish_what_they_are_made_for(name: str, system: System) -> None:
    if system == "langmem":
        pytest.importorskip("langmem")
    assert acting.TASKS[name].host in OFFERED[system]
    assert outcome(name, system).finished


def test_checks_see_what_must_not_be_there_and_what_was_done_twice() -> None:
    task = acting.TASKS["order-idle-en-agent"]
    twice = replace(task, script=[*task.script, task.script[0]])
    assert run(twice, "bare", HashingEmbedder()).reason == "did delete_database(staging) unasked or again"
    idle = replace(task, script=task.script[1:])
    assert run(idle, "bare", HashingEmbedder()).reason == "did not delete_database(staging)"
    for checks, reason in (
        (Checks(hidden="hel+o"), "was shown 'hello'"),
        (Checks(not_user="hello"), "was shown 'hello' as words of the user"),
        (Checks(not_system="helpful"), "was shown 'helpful' as words of the system"),
        (Checks(shown="bye"), "was not shown 'bye'"),
        (Checks("bye"), "answered 'Noted.', not 'bye'"),
        (Checks(never="Noted"), "said 'Noted'"),
    ):
        assert run(replace(task, script=[Say("hello", checks)], done=[]), "bare", HashingEmbedder()).reason == reason
