"""Nodes of any retriever, ranked and shortened."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import pickle
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeWithScore,
    TextNode,
)
from pydantic import ValidationError

from hybrid_memory import HybridMemory, MemoryConfig, Weights, open_memory
from hybrid_memory.adapters import close_all
from hybrid_memory.errors import InvalidConfigError, InvalidInputError
from hybrid_memory.models.embedders import HashingEmbedder
from llamaindex_hybrid_memory import (
    CompressionPostprocessor,
    HybridScorePostprocessor,
)

Apply = Callable[..., list[NodeWithScore]]
Scripted = Callable[..., Any]

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


def test_nodes_are_ranked_and_say_why(store: HybridMemory, apply: Apply) -> None:
    ranked = apply(HybridScorePostprocessor(memory=store), SISTER)
    expected = store.score(SISTER, [one.text for one in shelf()])
    assert ids(ranked) == ["abc"[one.row] for one in expected]
    assert [one.score for one in ranked] == [one.score for one in expected]
    assert ids(ranked)[0] == "b"
    assert ranked[0].metadata == {
        "page": 2,
        "secret": "x",
        "score": pytest.approx(1),
        "why": expected[0].why(),
        "signals": asdict(expected[0].signals),
    }
    assert json.loads(json.dumps(ranked[0].metadata)) == ranked[0].metadata


def test_neither_model_reads_the_arithmetic(store: HybridMemory, apply: Apply) -> None:
    (best,) = apply(HybridScorePostprocessor(memory=store, top_n=1), SISTER)
    assert seen(best.node) == seen(shelf()[1].node)
    assert best.node.get_content(metadata_mode=MetadataMode.EMBED) == shelf()[1].text


def test_the_metadata_that_a_node_embeds_is_scored(store: HybridMemory, apply: Apply) -> None:
    titled = [
        NodeWithScore(node=TextNode(id_="plain", text="It is late.")),
        NodeWithScore(node=TextNode(id_="titled", text="It is late.", metadata={"title": "Lisbon"})),
        NodeWithScore(
            node=TextNode(
                id_="hidden", text="It is late.", metadata={"title": "Lisbon"}, excluded_embed_metadata_keys=["title"]
            )
        ),
    ]
    ranked = apply(HybridScorePostprocessor(memory=store), "Lisbon", titled)
    assert ids(ranked)[0] == "titled"
    assert ranked[1].score == ranked[2].score


@pytest.mark.parametrize("query", [None, "", " \n"])
def test_without_a_question_the_order_stays(store: HybridMemory, apply: Apply, query: str | None) -> None:
    assert ids(apply(HybridScorePostprocessor(memory=store, top_n=2), query)) == ["a", "b"]


def test_the_embeddings_of_nodes_are_taken(store: HybridMemory, apply: Apply) -> None:
    embedder = HashingEmbedder()
    nodes = shelf()
    nodes[0].node.embedding = [
        3 * float(number) for number in embedder.embed_query(SISTER)
    ]  # it need not be of length 1
    meaning = Weights(vector=1, text=0)
    assert ids(apply(HybridScorePostprocessor(memory=store, weights=meaning), SISTER, nodes))[0] == "a"
    ignoring = HybridScorePostprocessor(memory=store, weights=meaning, use_embeddings=False)
    assert ids(apply(ignoring, SISTER, nodes))[0] == "b"


@pytest.mark.parametrize("embedding", [[1.0, 0.0], [float("nan")] * 256])
def test_embeddings_of_another_model_are_refused_with_advice(
    store: HybridMemory, apply: Apply, embedding: list[float]
) -> None:
    def strange() -> list[NodeWithScore]:
        nodes = shelf()
        nodes[1] = nodes[1].model_copy(update={"node": nodes[1].node.model_copy(update={"embedding": embedding})})
        return nodes

    nodes = strange()
    with pytest.raises(InvalidInputError, match=r"vectors\[1\].*use_embeddings=False"):
        apply(HybridScorePostprocessor(memory=store), SISTER, nodes)
    kept = HybridScorePostprocessor(memory=store, use_embeddings=False).postprocess_nodes(nodes, query_str=SISTER)
    assert ids(kept)[0] == "b"


def test_a_recency_reads_the_time_of_a_node(store: HybridMemory, apply: Apply) -> None:
    times = {"old": "2020-01-01T00:00:00+00:00", "new": "2026-01-01", "odd": "no time", "none": None}
    nodes = [
        NodeWithScore(
            node=TextNode(id_=name, text="The meeting.", metadata={"date": at}, excluded_embed_metadata_keys=["date"])
        )
        for name, at in times.items()
    ]
    weights = Weights(vector=0, text=0.1, recency=0.9)
    ranker = HybridScorePostprocessor(memory=store, weights=weights, time_key="date")
    ranked = apply(ranker, "meeting", nodes)
    assert ids(ranked) == ["new", "old", "odd", "none"]
    assert [one.metadata["signals"]["recency"] > 0 for one in ranked] == [True, True, False, False]
    elsewhere = HybridScorePostprocessor(memory=store, weights=weights)
    assert ids(apply(elsewhere, "meeting", nodes)) == list(times)


def test_texts_are_shortened_to_a_budget_that_they_share(store: HybridMemory, apply: Apply) -> None:
    (left,) = apply(CompressionPostprocessor(memory=store, max_tokens=9), SISTER)
    assert (left.text, left.node_id, left.score) == ("My sister lives in Lisbon.", "b", 0.5)
    condensed = store.condense([one.text for one in shelf()], query=SISTER, max_tokens=9)
    assert left.metadata == {
        "page": 2,
        "secret": "x",
        "original_tokens": condensed.before[1],
        "compressed_tokens": condensed.after[1],
    }
    assert "My sister lives in Lisbon." in seen(left.node)
    assert "tokens" not in seen(left.node)


@pytest.mark.parametrize("query", [None, "", SISTER])
def test_what_fits_stays_word_for_word(store: HybridMemory, apply: Apply, query: str | None) -> None:
    left = apply(CompressionPostprocessor(memory=store), query)
    assert [(one.node_id, one.text, one.score) for one in left] == [
        (one.node_id, one.text, one.score) for one in shelf()
    ]


def test_an_embedding_goes_with_the_words_that_it_was_of(store: HybridMemory, apply: Apply) -> None:
    nodes = shelf()
    for one in nodes:
        one.node.embedding = [1.0, 0.0]
    (short,) = apply(CompressionPostprocessor(memory=store, max_tokens=9), SISTER, nodes)
    assert short.node.embedding is None
    assert apply(CompressionPostprocessor(memory=store), SISTER, nodes)[0].node.embedding == [1.0, 0.0]


@pytest.mark.parametrize("max_tokens", [1, 9, 1000])
def test_every_kind_of_node_is_shortened_and_pictures_stay(store: HybridMemory, apply: Apply, max_tokens: int) -> None:
    text = "The hotel has 40 rooms. My sister lives in Lisbon."
    kinds: list[BaseNode] = [
        IndexNode(id_="index", text=text, index_id="i"),
        Document(id_="document", text=text),
        Node(id_="node", text_resource=MediaResource(text=text)),
        Node(id_="film", text_resource=MediaResource(text=text), video_resource=MediaResource(data=b"film")),
        ImageNode(id_="picture", image="aGVsbG8="),
        TextNode(id_="empty", text=" "),
    ]
    left = apply(
        CompressionPostprocessor(memory=store, max_tokens=max_tokens),
        SISTER,
        [NodeWithScore(node=one) for one in kinds],
    )
    assert {"film", "picture"} <= set(ids(left))
    assert "empty" not in ids(left)
    words = [one.node.get_content(metadata_mode=MetadataMode.NONE) for one in left]
    assert sum(store.condense(words, max_tokens=10**6).before) <= max_tokens
    assert {type(one.node) for one in left} <= {type(one) for one in kinds}
    if max_tokens == 9:
        assert "My sister lives in Lisbon." in words
    if max_tokens == 1000:
        assert ids(left) == ["index", "document", "node", "film", "picture"]


def test_what_is_wrong_is_refused(store: HybridMemory) -> None:
    with pytest.raises(InvalidConfigError, match="not both"):
        HybridScorePostprocessor(memory=store, url="sqlite:///other.db")
    wrong: list[tuple[type[Any], str, Any]] = [
        (HybridScorePostprocessor, "top_n", 0),
        (HybridScorePostprocessor, "diversity", 2),
        (HybridScorePostprocessor, "topn", 3),
        (CompressionPostprocessor, "max_tokens", 0),
        (CompressionPostprocessor, "how", "magic"),
    ]
    for kind, name, value in wrong:
        with pytest.raises(ValidationError, match=name):
            kind(memory=store, **{name: value})


MADE: list[Callable[[str], BaseNodePostprocessor]] = [
    lambda url: HybridScorePostprocessor(url=url, top_n=2, weights=Weights.plain(), diversity=0.1, time_key="t"),
    lambda url: CompressionPostprocessor(url=url, max_tokens=9, weights=Weights(vector=0, text=1)),
]


@pytest.mark.parametrize("make", MADE, ids=["score", "compression"])
def test_settings_and_url_are_serialised_and_data_is_not(
    config: str, apply: Apply, make: Callable[[str], BaseNodePostprocessor]
) -> None:
    first = make(config)
    expected = apply(first, SISTER)
    data = json.loads(first.to_json())
    assert (data["url"], "memory" in data, data["class_name"]) == (config, False, type(first).__name__)
    assert apply(type(first).from_dict(data), SISTER) == expected
    close_all()
    assert apply(pickle.loads(pickle.dumps(make(config))), SISTER) == expected  # noqa: S301 - our own


@pytest.mark.parametrize("kind", [HybridScorePostprocessor, CompressionPostprocessor])
def test_a_store_in_memory_is_found_again_in_its_process(
    store: HybridMemory, apply: Apply, kind: type[Any], caplog: pytest.LogCaptureFixture
) -> None:
    first = kind(memory=store)
    with caplog.at_level(logging.WARNING):
        copies = [pickle.loads(pickle.dumps(first)), copy.deepcopy(first), copy.copy(first), first.model_copy()]  # noqa: S301
        copies.append(kind.from_dict(first.to_dict()))
    assert [copied.memory is store for copied in copies] == [True] * 5
    assert caplog.records == []
    assert "hybrid" not in repr(first).lower().replace(kind.__name__.lower(), "")


def test_without_a_store_one_in_memory_serves(monkeypatch: pytest.MonkeyPatch, apply: Apply) -> None:
    opened: list[str] = []

    def open_one(url: str) -> HybridMemory:
        opened.append(url)
        return open_memory(MemoryConfig(url=url, embedder="hashing"))

    close_all()
    monkeypatch.setattr("hybrid_memory.memory.opening.open_memory", open_one)
    assert ids(apply(HybridScorePostprocessor(), SISTER))[0] == "b"
    assert ids(apply(CompressionPostprocessor(max_tokens=9), SISTER)) == ["b"]
    assert opened == ["memory://"]
    close_all()


@pytest.mark.parametrize("face", ["query", "aquery"])
async def test_they_work_behind_a_stock_retriever(store: HybridMemory, scripted: Scripted, face: str) -> None:
    index = VectorStoreIndex([one.node for one in shelf()], embed_model=MockEmbedding(8))
    llm = scripted("In Lisbon.")
    engine = RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=3),
        llm=llm,
        node_postprocessors=[
            HybridScorePostprocessor(memory=store, top_n=2),
            CompressionPostprocessor(memory=store, max_tokens=9),
        ],
    )
    answer = engine.query(SISTER) if face == "query" else await engine.aquery(SISTER)
    (source,) = answer.source_nodes
    assert (source.node_id, source.text) == ("b", "My sister lives in Lisbon.")
    shown = "\n".join(str(message) for message in llm.seen[-1])
    assert "My sister lives in Lisbon." in shown
    assert not [word for word in ("why", "signals", "tokens", "40 rooms", "Berlin") if word in shown]
