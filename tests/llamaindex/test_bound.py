"""Whose memory it is, and in which store: the same for all that LlamaIndex holds as plain data; and its models."""

import importlib
import pickle
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

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


def shown(llm: Any) -> list[list[tuple[str, str]]]:
    return [[(message.role.value, message.content or "") for message in messages] for messages in llm.seen]


def test_a_structured_answer_is_found_however_it_comes(scripted: Scripted) -> None:
    llm = scripted("You live in Lisbon.", f"<think>{{}}</think>Sure:\n```json\n{IN_TEXT[:-1]},}}\n```")
    assert as_language_model(llm).structured(QUESTION, SCHEMA) == LISBON
    assert len(llm.seen) == 2
    assert all("JSON schema" in str(messages) for messages in shown(llm))


def test_braces_reach_the_model_as_they_were_written(scripted: Scripted) -> None:
    llm = scripted(IN_TEXT)
    assert as_language_model(llm).structured(BRACED, SCHEMA) == LISBON
    ((system, asked),) = shown(llm)
    assert system == ("system", BRACED[0].text)
    assert asked[1].startswith(BRACED[1].text)


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
