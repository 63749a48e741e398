"""What LlamaIndex's instrumentation hears of the memories that agents use, and what it does not hear."""

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.base import BaseEvent
from llama_index_instrumentation.event_handlers import BaseEventHandler
from llama_index_instrumentation.span.simple import SimpleSpan
from llama_index_instrumentation.span_handlers import SimpleSpanHandler
from pydantic import Field

from hybrid_memory import HybridMemory
from hybrid_memory.errors import StoreUnavailableError
from llamaindex_hybrid_memory import HybridChatMemory
from tests.doubles import line_to
from tests.llamaindex.conftest import Run

FRUIT = "My favourite fruit is the quince, and I live in Porto."
ASKED = "Which fruit is my favourite?"


class Events(BaseEventHandler):
    seen: list[BaseEvent] = Field(default_factory=list)

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        if isinstance(event, RetrievalStartEvent | RetrievalEndEvent):
            self.seen.append(event)


class Heard:
    """What handlers at the root of LlamaIndex's instrumentation hear."""

    def __init__(self) -> None:
        self.events, self.spans = Events(), SimpleSpanHandler()

    @property
    def own(self) -> list[SimpleSpan]:
        done = [*self.spans.completed_spans, *self.spans.dropped_spans]
        return [span for span in done if span.id_.startswith("hybrid_memory.")]

    def named(self, name: str) -> list[SimpleSpan]:
        return [span for span in self.own if span.id_.startswith(f"hybrid_memory.{name}-")]

    def text(self) -> str:
        # The tags of events are LlamaIndex's own: its workflows write the input of a step there.
        events = (event.model_dump(exclude={"tags"}) for event in self.events.seen)
        return " ".join([*map(str, events), *map(repr, self.own)]).lower()


@pytest.fixture
def heard() -> Iterator[Heard]:
    root, heard = get_dispatcher(), Heard()
    before = root.event_handlers, root.span_handlers
    root.event_handlers, root.span_handlers = [*before[0], heard.events], [*before[1], heard.spans]
    yield heard
    root.event_handlers, root.span_handlers = before


@pytest.fixture
def known(store: HybridMemory) -> HybridMemory:
    """A store that knows something of a user."""
    store.scoped(user="alice", session="before").remember(FRUIT)
    return store


def test_what_a_chat_memory_recalls_is_an_event_in_a_span(known: HybridMemory, run: Run, heard: Heard) -> None:
    chat = HybridChatMemory.from_defaults(user="alice", session="now", memory=known)
    run(chat, "get", ASKED)
    begun, ended = heard.events.seen
    assert isinstance(begun, RetrievalStartEvent)
    assert isinstance(ended, RetrievalEndEvent)
    (span,) = heard.named("recall")
    assert begun.span_id == ended.span_id == span.id_
    assert (begun.str_or_query_bundle, ended.str_or_query_bundle) == ("", "")
    (found,) = ended.nodes
    assert (found.node_id, found.text, found.metadata["chars"]) == ("#1", "", len(FRUIT))
    assert 0 < (found.score or 0) <= 1
    (outer,) = heard.named("assemble")
    assert span.parent_id == outer.id_
    assert {one.id_.split("-")[0].split(".")[1] for one in heard.own} >= {"assemble", "recall", "index", "embed"}


def test_an_error_drops_the_span_without_its_words(known: HybridMemory, run: Run, heard: Heard) -> None:
    chat = HybridChatMemory.from_defaults(user="alice", session="now", memory=known)
    run(chat, "get", ASKED)
    heard.spans.completed_spans.clear()
    line = line_to(known, "log")
    line.hits = lambda name, _: name == "state"
    line.error = StoreUnavailableError("the log of alice is away")
    with pytest.raises(StoreUnavailableError):
        run(chat, "get", ASKED)
    (span,) = heard.named("assemble")
    assert span in heard.spans.dropped_spans
    assert "alice" not in repr(span)
    assert not heard.spans.open_spans
