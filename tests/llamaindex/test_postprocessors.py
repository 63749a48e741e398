"""Nodes of any retriever, shortened."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator

import pytest
from blockbuster import blockbuster_ctx
from llama_index.core.postprocessor.types import BaseNodePostprocessor
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

from hybrid_memory import HybridMemory
from llamaindex_hybrid_memory import CompressionPostprocessor

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
        "page": 2,
        "secret": "x",
        "original_tokens": condensed.before[1],
        "compressed_tokens": condensed.after[1],
    }
    assert "My sister lives in Lisbon." in seen(left.node)
    assert "tokens" not in seen(left.node)


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
