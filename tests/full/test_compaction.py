from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from hybrid_memory import CompactionConfig, EventKind, Message, Role, ScopedMemory, Summary
from hybrid_memory.context.compact import critical_items
from hybrid_memory.ports import LanguageModel
from tests import faces
from tests.world import column

BUDGET = 400
ENGLISH = column("full/compaction.tsv", "english")
CHINESE = column("full/compaction.tsv", "chinese")
FIRST = 8

Open = Callable[..., ScopedMemory]


@pytest.fixture
def opened(opened: faces.Open) -> Open:
    def open_one(strategy: str, **models: Any) -> ScopedMemory:
        patient = timedelta(minutes=5)
        compaction = CompactionConfig.of({"strategy": strategy, "max_tokens": 2000, "model_timeout": patient})
        return opened(url="memory://", compaction=compaction, **models).scoped(user="mara", session="s1")

    return open_one


def turns(said: Sequence[str]) -> list[Message]:
    return [Message(role=Role.ASSISTANT if number % 2 else Role.USER, content=text) for number, text in enumerate(said)]


def folded(handle: ScopedMemory, said: Sequence[str], times: int = 2) -> Summary:
    everything = turns(said)
    parts = (everything,) if times == 1 else (everything[:FIRST], everything[FIRST:])
    for part in parts:
        handle.remember(part)
        assert handle.compact(keep=1).compacted
    summary = handle.summary()
    assert summary.audit.compactions == times
    print(f"\n{summary.strategy}: {summary.audit!r}\n{summary.text}")  # noqa: T201 - to be read with pytest -s
    return summary


def assert_nothing_is_lost(handle: ScopedMemory, summary: Summary) -> None:
    everything = handle.history(current=True)
    originals = handle.expand(summary)
    assert originals == everything[: len(originals)]
    assert len(everything) - len(originals) <= 3
    by_id = {message.id: message for message in everything}
    for line in summary:
        assert handle.expand(line)
        behind = {message.id for message in handle.expand(line)}
        # What a rewritten text has from before stands behind its handle too.
        assert line.sources
        assert behind >= set(line.sources)
        assert all(source in by_id for source in line.sources)
    audit = summary.audit
    assert audit.items == audit.in_summary + audit.in_ledger + audit.in_log
    reachable = " ".join([summary.text, *(message.text for message in originals)])
    log = handle._runtime.services.log
    events = log.read(handle.scope, kinds=(EventKind.MESSAGE,), limit=len(originals))
    items = {item for event in events for item in critical_items(event)}
    assert items
    assert all(item in reachable for item in items)
    # Compressing may delete words, so this share is what the model and the lines put back reach together.
    assert audit.survived >= 0.7


def assert_prompt_fits(handle: ScopedMemory, question: str) -> None:
    context = handle.assemble(question, max_tokens=BUDGET)
    assert 0 < context.tokens <= BUDGET
    assert context.messages[-1].text.endswith(question)
    assert not context.compacted
    assert context.section_tokens["summary"] > 0


def assert_model_wrote(opened: Open, strategy: str, summary: Summary, said: Sequence[str]) -> None:
    """No call failed, and the text is another than the one without a model."""
    assert summary.strategy == strategy
    assert summary.audit.fallbacks == 0
    extracted = folded(opened(strategy), said, summary.audit.compactions)
    assert {line.text for line in summary} - {line.text for line in extracted}


def test_a_model_summarises_a_chat_and_nothing_is_lost(opened: Open, local_model: LanguageModel) -> None:
    """Structured: of the strategies that ask for sections one, since their question alone takes the model a minute."""
    handle, said = opened("anchored", language_model=local_model), ENGLISH[: FIRST - 2]
    summary = folded(handle, said, 1)
    assert_model_wrote(opened, "anchored", summary, said)
    assert_nothing_is_lost(handle, summary)
    assert_prompt_fits(handle, "Which oven did I choose, and why?")


def test_a_model_goes_on_with_its_summary_of_a_chinese_chat(opened: Open, local_model: LanguageModel) -> None:
    handle = opened("recursive", language_model=local_model)
    summary = folded(handle, CHINESE, 2)
    assert_model_wrote(opened, "recursive", summary, CHINESE)
    assert_nothing_is_lost(handle, summary)
    assert "INV-20931" in summary.text
    assert_prompt_fits(handle, "我喜欢什么书架？")
