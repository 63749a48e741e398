"""Whose memory it is, and in which store: the same for all that LlamaIndex holds as plain data; and its models."""

import importlib
import pickle
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.tools.types import BaseTool
from pydantic import Field

import llamaindex_hybrid_memory
from hybrid_memory import HybridMemory, Message, Role
from hybrid_memory.models.language import as_language_model
from llamaindex_hybrid_memory import HybridChatMemory, HybridChatStore, HybridMemoryBlock
from llamaindex_hybrid_memory.bound import Bound
from tests.llamaindex.conftest import user, words

CODE = "The code of the safe is 4711."
KINDS: list[type[Bound]] = [HybridChatMemory, HybridChatStore, HybridMemoryBlock]


def made(kind: type[Bound], **whose: Any) -> Any:
    session: dict[str, Any] = {"session": "s1"} if kind is HybridChatMemory else {}
    return kind.from_defaults(**{"user": "alice", **session, **whose})


async def put(one: Any, text: str) -> None:
    if isinstance(one, HybridChatMemory):
        await one.aput(user(text))
    elif isinstance(one, HybridChatStore):
        await one.add_message("s1", user(text))
    else:
        await one.aput([user(text)], from_short_term_memory=True, session_id="s1")


async def read(one: Any, question: str = "What is the code of the safe?") -> str:
    if isinstance(one, HybridChatMemory):
        return "\n".join(words(await one.aget(input=question)))
    if isinstance(one, HybridChatStore):
        return "\n".join(words(await one.get_messages("s1", None)))
    return str(await one.aget([user(question)], session_id="s1"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", [{"user": "bob"}, {"tenant": "t"}, {"agent": "a"}], ids=str)
async def test_nobody_else_sees_it(store: HybridMemory, kind: type[Bound], other: dict[str, str]) -> None:
    await put(made(kind, memory=store), CODE)
    assert await read(made(kind, memory=store, **other)) == ""


@pytest.mark.parametrize("kind", KINDS)
async def test_it_travels_as_ids_and_a_url(
    kind: type[Bound], travel: Callable[[Any], Any], sqlite: HybridMemory
) -> None:
    one = made(kind, memory=sqlite)
    await put(one, CODE)
    await read(one)
    assert CODE.encode() not in pickle.dumps(one)
    assert CODE not in one.model_dump_json()
    there = travel(one)
    assert there.model_dump() == one.model_dump()
    assert "4711" in await read(there)
    await put(there, "The safe is red.")
    assert "red" in await read(one, "Which colour is the safe?")


@pytest.mark.parametrize("kind", KINDS)
async def test_the_first_use_of_a_url_does_not_block_the_loop(config: str, kind: type[Bound]) -> None:
    one = made(kind, url=config)
    with blockbuster_ctx():
        await put(one, CODE)
        assert "4711" in await read(one)


Scripted = Callable[..., Any]

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
QUESTION = [Message(content="我住在里斯本。 Where do I live?")]
LISBON = {"city": "里斯本"}
IN_TEXT = '{"city": "里斯本"}'
BRACED = [
    Message(role=Role.SYSTEM, content='Answer like {"city": "..."}, {{so}}, {message1} or {0}.'),
    Message(content="The code is f'{user!r}' and {city}; \\1 \\g<0> {}"),
]


def call_of(arguments: Any, name: str = "answer", times: int = 1) -> ChatMessage:
    call = ToolCallBlock(tool_call_id="c1", tool_name=name, tool_kwargs=arguments)
    return ChatMessage(role="assistant", blocks=[call] * times)


def shown(llm: Any) -> list[list[tuple[str, str]]]:
    return [[(message.role.value, message.content or "") for message in messages] for messages in llm.seen]


@pytest.fixture
def caller(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """A model with a script that calls tools; what it was offered stands in ``offered``, what it refuses raises."""
    kind = type(scripted("x"))
    prepare = kind._prepare_chat_with_tools

    class Caller(kind):  # type: ignore[misc, valid-type]
        offered: list[dict[str, Any]] = Field(default_factory=list)
        refuses: bool = False

        def _prepare_chat_with_tools(self, tools: Sequence[BaseTool], *args: Any, **kwargs: Any) -> dict[str, Any]:
            self.offered += [tool.metadata.to_openai_tool()["function"] for tool in tools]
            if self.refuses:
                raise RuntimeError("400: this model does not support tools")
            return prepare(self, tools, *args, **kwargs)  # type: ignore[no-any-return]

    def make(*replies: str | ChatMessage, **fields: Any) -> Any:
        return Caller(replies=scripted(*replies).replies, **fields)

    return make


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ([call_of(LISBON)], 1), (["You live in Lisbon.", f"Sure:\n```json\n{IN_TEXT[:-1]},}}\n```"], 2),
        ([call_of(LISBON, name="Answer"), IN_TEXT], 2), ([call_of({}), IN_TEXT], 2),
        ([call_of(LISBON, times=2), IN_TEXT], 2), (["Lisbon.", "Lisbon!", f"<think>{{}}</think>{IN_TEXT}"], 3),
    ],
    ids=["call", "no call", "another tool", "empty", "twice", "third time"],
)  # fmt: skip
def test_a_structured_answer_is_found_however_it_comes(
    caller: Scripted, answers: list[str | ChatMessage], asked: int
) -> None:
    llm = caller(*answers)
    wrapped = as_language_model(llm)
    assert wrapped.structured(QUESTION, SCHEMA) == LISBON
    assert len(llm.seen) == asked
    (tool,) = llm.offered
    assert (tool["name"], tool["description"]) == ("answer", "The answer.")
    assert tool["parameters"] == SCHEMA
    first, *later = shown(llm)
    assert first == [("user", QUESTION[0].text)]
    assert all("JSON schema" in str(messages) for messages in later)


@pytest.mark.parametrize("answers", [[call_of(LISBON)], ["no call", IN_TEXT]], ids=["tools", "text"])
def test_braces_reach_the_model_as_they_were_written(caller: Scripted, answers: list[str | ChatMessage]) -> None:
    llm = caller(*answers)
    assert as_language_model(llm).structured(BRACED, SCHEMA) == LISBON
    first, *later = shown(llm)
    assert first == [("system", BRACED[0].text), ("user", BRACED[1].text)]
    for system, asked in later:
        assert system == ("system", BRACED[0].text)
        assert asked[1].startswith(BRACED[1].text)
    assert as_language_model(caller("ok")).complete(BRACED) == "ok"


ROOT = Path(__file__).parents[2]
HUB = tomllib.loads((ROOT / "packages/llama-index-memory-hybrid/pyproject.toml").read_text(encoding="utf-8"))
SHIM = "llama_index.memory.hybrid"


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A folder that holds the memory of somebody else's distribution."""
    package = tmp_path / "other" / "llama_index" / "memory" / "other"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("class OtherMemory: ...\n", encoding="utf-8")
    return tmp_path / "other"


def test_the_shared_folders_are_nobodys() -> None:
    assert [path.name for path in (ROOT / "llama_index").rglob("__init__.py")] == ["__init__.py"]
    assert (ROOT / "llama_index/memory/hybrid/__init__.py").is_file()
    assert (ROOT / "llama_index/memory/hybrid/py.typed").is_file()


def test_it_stands_beside_another_integration_installed_editable(beside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(beside)
    theirs = importlib.import_module("llama_index.memory.other")
    assert Path(str(theirs.__file__)).is_relative_to(beside)
    ours = importlib.reload(importlib.import_module(SHIM))
    assert Path(str(ours.__file__)).is_relative_to(ROOT)
    assert issubclass(ours.HybridChatMemory, importlib.import_module("llama_index.core.memory").BaseMemory)


def test_it_has_the_public_names_and_no_others() -> None:
    shim = importlib.import_module(SHIM)
    assert dir(shim) == dir(llamaindex_hybrid_memory) == sorted(shim.__all__)
    for name in llamaindex_hybrid_memory.__all__:
        assert getattr(shim, name) is getattr(llamaindex_hybrid_memory, name)
    names: dict[str, object] = {}
    exec(f"from {SHIM} import *", names)  # noqa: S102 - as a user would
    assert set(shim.__all__) <= set(names)
    with pytest.raises(AttributeError, match="Nonsense"):
        shim.Nonsense  # noqa: B018 - reading it is the point


def test_llamahub_is_told_where_it_is() -> None:
    hub = HUB["tool"]["llamahub"]
    module = importlib.import_module(hub["import_path"])
    for name in hub["class_authors"]:
        assert isinstance(getattr(module, name), type)
