"""A LlamaIndex retriever over a memory: what is its own; see tests/adapters for what both frameworks have."""

import asyncio
import copy
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from llama_index.core import MockEmbedding, VectorStoreIndex, schema
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import BaseNode, Document, ImageNode, IndexNode, MetadataMode, NodeWithScore, TextNode
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from hybrid_memory import HybridMemory, RecordKind
from hybrid_memory.errors import InvalidConfigError
from llamaindex_hybrid_memory import CompressionPostprocessor, HybridMemoryRetriever
from tests.doubles import Deriving
from tests.faces import Open

MAY = datetime(2024, 5, 1, 12, tzinfo=UTC)
Ask = Callable[[BaseRetriever, str], list[NodeWithScore]]
Scripted = Callable[..., Any]


@pytest.fixture(params=["sync", "sync in a loop", "async"])
def ask(request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Asks a retriever: blocking, outside or inside a running loop, or on a loop that must not be blocked."""

    async def inside(retriever: BaseRetriever, query: str) -> list[NodeWithScore]:
        return retriever.retrieve(query)

    if request.param == "sync":
        yield lambda retriever, query: retriever.retrieve(query)
    elif request.param == "sync in a loop":
        yield lambda retriever, query: asyncio.run(inside(retriever, query))
    else:
        with blockbuster_ctx():
            yield lambda retriever, query: asyncio.run(retriever.aretrieve(query))


@pytest.fixture
def told(store: HybridMemory) -> HybridMemory:
    """Alice's two sessions, and Bob's one."""
    alice = store.scoped(user="alice", session="s1")
    alice.remember("My sister lives in Lisbon.", at=MAY, id="m1", metadata={"topic": "family", "score": "high"})
    alice.remember("My cat sleeps on the sofa.", role="assistant", at=MAY.replace(month=6), metadata={"topic": "pets"})
    store.scoped(user="alice", session="s2").remember("我妹妹住在里斯本。", at=MAY.replace(month=7))
    store.scoped(user="bob").remember("My sister lives in Porto.")
    return store


def texts(nodes: list[NodeWithScore]) -> list[str]:
    return [one.text for one in nodes]


def test_a_model_is_shown_who_said_it_and_when_and_no_arithmetic(told: HybridMemory, ask: Ask) -> None:
    (found,) = ask(HybridMemoryRetriever(memory=told, user="alice", similarity_top_k=1), "sister in Lisbon")
    shown = found.node.get_content(metadata_mode=MetadataMode.LLM)
    assert sorted(shown.splitlines()) == [
        "", "My sister lives in Lisbon.", "at: 2024-05-01T12:00:00+00:00", "speaker: user", "topic: family",
    ]  # fmt: skip
    assert found.node.get_content(metadata_mode=MetadataMode.EMBED) == "My sister lives in Lisbon."


def test_ids_are_stable_and_tell_apart_what_has_one_source_or_one_name(opened: Open, ask: Ask) -> None:
    derived = Deriving(
        ("nurse", "user", "profession", "nurse"),
        ("Lisbon", "user", "home", "Lisbon"),
        ("pilot", "user's sister", "profession", "pilot"),
    )
    store = opened(url="memory://", extractor=derived)
    alice = store.scoped(user="alice", session="s1")
    alice.remember("I work as a nurse and I live in Lisbon.", id="t1")
    store.scoped(user="alice", session="s2").remember("My sister works as a pilot.", id="t1")
    alice.flush()
    kinds = [HybridMemoryRetriever(memory=store, user="alice", kinds=[kind]) for kind in ("turn", "fact")]
    question = "Who works as a nurse or a pilot, and who lives in Lisbon?"

    def names() -> dict[str, str]:
        return {one.node_id: one.text for retriever in kinds for one in ask(retriever, question)}

    found = names()
    hits = [hit for kind in ("turn", "fact") for hit in alice.recall(question, kinds=[kind])]
    assert sorted(found.values()) == sorted(hit.record.text for hit in hits)
    assert [hit.record.kind for hit in hits].count(RecordKind.FACT) > 1
    assert {hit.record.sources[0] for hit in hits} == {"t1"}
    assert all(name.startswith("t1") for name in found)
    store.rebuild()
    assert names() == found


@pytest.mark.parametrize("mode", list(FUSION_MODES))
@pytest.mark.parametrize("use_async", [True, False])
@pytest.mark.usefixtures("idle_loop")
def test_a_fusion_of_several_questions_has_each_memory_once(
    told: HybridMemory, ask: Ask, scripted: Scripted, mode: FUSION_MODES, use_async: bool
) -> None:
    stock = VectorStoreIndex([TextNode(text="A page.")], embed_model=MockEmbedding(8)).as_retriever()
    fused = QueryFusionRetriever(
        [HybridMemoryRetriever(memory=told, user="alice"), stock],
        llm=scripted("Who lives in Lisbon?\nWhat does the cat do on the sofa?"),
        mode=mode,
        num_queries=3,
        similarity_top_k=4,
        use_async=use_async,
    )
    found = ask(fused, "Where does my sister live?")
    expected = ["A page.", "My cat sleeps on the sofa.", "My sister lives in Lisbon.", "我妹妹住在里斯本。"]
    assert sorted(texts(found)) == expected
    if mode is FUSION_MODES.RECIPROCAL_RANK:  # one question gives 1/60 at most: what three find is added up
        assert all((one.score or 0) > 3 / 64 - 1e-9 for one in found)


def where(*filters: tuple[str, Any, str], condition: str = "and") -> MetadataFilters:
    made: list[Any] = [
        MetadataFilter(key=key, value=value, operator=FilterOperator(sign)) for key, value, sign in filters
    ]
    return MetadataFilters(filters=made, condition=FilterCondition(condition))


@pytest.mark.parametrize(
    ("filters", "texts"),
    [
        (where(("room", 3, "==")), {"tea in three"}),
        (where(("room", 3, "=="), condition="or"), {"tea in three"}),
        (MetadataFilters(filters=[where(("room", 4, "==")), where(("kind", "turn", "=="))]), {"tea in four"}),
        (where(("at", "2026-05-02T00:00:00+00:00", ">=")), {"tea in four"}),
        (where(("at", "2026-05-02T00:00:00+00:00", "<"), ("origin", ["user"], "in")), {"tea in three"}),
        (where(("origin", "tool", "==")), set()),
    ],
)
def test_the_filters_of_llamaindex_are_those_of_recall(
    store: HybridMemory, filters: MetadataFilters, texts: set[str]
) -> None:
    mine = store.scoped(user="ann", session="s")
    mine.remember("tea in three", metadata={"room": 3}, at=datetime(2026, 5, 1, tzinfo=UTC))
    mine.remember("tea in four", metadata={"room": 4}, at=datetime(2026, 5, 3, tzinfo=UTC))
    found = HybridMemoryRetriever(memory=store, user="ann", filters=filters).retrieve("tea")
    assert {one.text for one in found} == texts


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ({"filters": {"room": 3}}, "MetadataFilters"),
        ({"filters": where(("room", 3, ">"))}, "room >.*retrieve more nodes"),
        ({"filters": where(("room", 3, "=="), ("room", 4, "=="))}, "cannot be 3 and 4"),
        ({"filters": where(("room", 3, "==")), "metadata": {"room": 4}}, "cannot be 4 and 3"),
        ({"filters": where(("room", 3, "=="), ("floor", 4, "=="), condition="or")}, "all hold"),
        ({"filters": where(("room", 3, "=="), condition="not")}, "all hold"),
        ({"filters": where(("at", "soon", ">="))}, "since"),
        ({"filters": where(("kind", "turn", "==")), "kinds": ["fact"]}, "kinds is given twice"),
    ],
)
def test_filters_that_recall_has_not_are_refused_with_what_to_do(
    store: HybridMemory, wrong: dict[str, Any], advice: str
) -> None:
    with pytest.raises(InvalidConfigError, match=advice):
        HybridMemoryRetriever(memory=store, user="ann", **wrong)


Apply = Callable[..., list[NodeWithScore]]

SISTER = "Where does my sister live?"


def shelf() -> list[NodeWithScore]:
    """Three pages, in no good order."""
    return [
        NodeWithScore(node=TextNode(id_="a", text="It rains in Berlin. The train is late."), score=0.9),
        NodeWithScore(
            node=TextNode(
                id_="b",
                text="The hotel has 40 rooms. My sister lives in Lisbon. Breakfast is at 7.",
                metadata={"page": 2, "secret": "x"},
                excluded_llm_metadata_keys=["secret"],
                excluded_embed_metadata_keys=["page", "secret"],
            ),
            score=0.5,
        ),
        NodeWithScore(node=TextNode(id_="c", text="我妹妹喜欢喝茶。今天天气很好。"), score=None),
    ]


@pytest.fixture(params=["sync", "async"])
def apply(request: pytest.FixtureRequest) -> Iterator[Apply]:
    """Lets a postprocessor work on nodes, by default the shelf, which stay as they are; no loop may be blocked."""

    def checked(
        postprocessor: BaseNodePostprocessor, query: str | None, nodes: list[NodeWithScore] | None = None
    ) -> list[NodeWithScore]:
        given = shelf() if nodes is None else nodes
        before = copy.deepcopy(given)
        if request.param == "sync":
            result = postprocessor.postprocess_nodes(given, query_str=query)
        else:
            result = asyncio.run(postprocessor.apostprocess_nodes(given, query_str=query))
        assert given == before
        return result

    if request.param == "async":
        with blockbuster_ctx():
            yield checked
    else:
        yield checked


def ids(nodes: list[NodeWithScore]) -> list[str]:
    return [one.node_id for one in nodes]


def seen(node: BaseNode) -> str:
    return node.get_content(metadata_mode=MetadataMode.LLM)


def test_texts_are_shortened_to_a_budget_that_they_share(store: HybridMemory, apply: Apply) -> None:
    (left,) = apply(CompressionPostprocessor(memory=store, max_tokens=9), SISTER)
    assert (left.text, left.node_id, left.score) == ("My sister lives in Lisbon.", "b", 0.5)
    condensed = store.condense([one.text for one in shelf()], query=SISTER, max_tokens=9)
    assert left.metadata == {
        "page": 2, "secret": "x", "original_tokens": condensed.before[1], "compressed_tokens": condensed.after[1],
    }  # fmt: skip
    assert "My sister lives in Lisbon." in seen(left.node)
    assert "tokens" not in seen(left.node)


@pytest.mark.parametrize("max_tokens", [1, 9, 1000])
def test_every_kind_of_node_is_shortened_and_pictures_stay(store: HybridMemory, apply: Apply, max_tokens: int) -> None:
    text = "The hotel has 40 rooms. My sister lives in Lisbon."
    plain, spoken = (schema.MediaResource(text=text) for _ in range(2))
    kinds: list[BaseNode] = [
        IndexNode(id_="index", text=text, index_id="i"),
        Document(id_="document", text=text),
        schema.Node(id_="node", text_resource=plain),
        schema.Node(id_="film", text_resource=spoken, video_resource=schema.MediaResource(data=b"film")),
        ImageNode(id_="picture", image="aGVsbG8="),
        TextNode(id_="empty", text=" "),
    ]
    shortening = CompressionPostprocessor(memory=store, max_tokens=max_tokens)
    left = apply(shortening, SISTER, [NodeWithScore(node=one) for one in kinds])
    assert {"film", "picture"} <= set(ids(left))
    assert "empty" not in ids(left)
    words = [one.node.get_content(metadata_mode=MetadataMode.NONE) for one in left]
    assert sum(store.condense(words, max_tokens=10**6).before) <= max_tokens
    assert {type(one.node) for one in left} <= {type(one) for one in kinds}
    if max_tokens == 9:
        assert "My sister lives in Lisbon." in words
    if max_tokens == 1000:
        assert ids(left) == ["index", "document", "node", "film", "picture"]
