"""Calls of what the packages for LangChain and LlamaIndex offer."""

import inspect
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import BaseModel, ValidationError

import langchain_hybrid_memory as langchain
import llamaindex_hybrid_memory as llamaindex
from benchmarks.faults._verbs import Call, Verbs
from hybrid_memory import HybridMemory

OURS = ("/hybrid_memory/", "/langchain_hybrid_memory/", "/llamaindex_hybrid_memory/")

OWNED: dict[str, Any] = {"user": "alice"}
IN_SESSION: dict[str, Any] = {"user": "alice", "session": "s1"}

PARTS: list[tuple[Any, dict[str, Any], str]] = [
    (langchain.HybridChatMemory, IN_SESSION, ""),
    (langchain.HybridChatMessageHistory, IN_SESSION, "add_message add_user_message add_ai_message"),
    (langchain.HybridMemoryMiddleware, {}, ""), (langchain.HybridMemoryRetriever, OWNED, "invoke ainvoke"),
    (langchain.HybridMemoryStore, {}, "get put search delete list_namespaces aget aput asearch"),
    (langchain.HybridDocumentCompressor, {}, ""),
    (llamaindex.HybridChatMemory.from_defaults, IN_SESSION, ""),
    (llamaindex.HybridChatStore.from_defaults, OWNED, ""),
    (llamaindex.HybridMemoryBlock.from_defaults, OWNED, "aget aput"),
    (llamaindex.HybridMemoryRetriever, OWNED, "retrieve aretrieve"),
    (llamaindex.HybridMemoryToolSpec, OWNED, "to_tool_list"),
    (llamaindex.CompressionPostprocessor, {}, "postprocess_nodes"),
]  # fmt: skip
"""What is made, with what beside the memory, and methods of the framework's that lead to ours."""

FUNCTIONS: list[Callable[..., Any]] = [
    langchain.namespace, langchain.to_langchain, langchain.from_langchain,
    llamaindex.to_chat_message, llamaindex.from_chat_message,
]  # fmt: skip

THEIRS: list[Callable[[], Any]] = [
    lambda: HumanMessage("hello"), lambda: [HumanMessage("hello"), AIMessage("well")], lambda: {"input": "hello"},
    lambda: AIMessage("", tool_calls=[{"name": "f", "args": {"a": "\ud800"}, "id": "c"}]), lambda: {"output": "well"},
    lambda: ToolMessage("x" * 9000, tool_call_id="c"), lambda: HumanMessage("x", additional_kwargs={"a": object()}),
    lambda: HumanMessage([{"type": "image_url", "image_url": "\x00"}]), lambda: HumanMessage("\ud800", id="\x00"),
    lambda: [Document("a red car", metadata={"at": "yesterday"})], lambda: [Document("\ud800", metadata={"at": 7})],
    lambda: ChatMessage("hello"), lambda: [ChatMessage("hello"), ChatMessage("well", role="assistant")],
    lambda: ChatMessage("\ud800", additional_kwargs={"a": object(), "memory_id": 7}), lambda: QueryBundle("red"),
    lambda: [NodeWithScore(node=TextNode(text="a red car", metadata={"at": 7}))], lambda: QueryBundle("\ud800"),
    lambda: ("app", "notes"), lambda: ("",), lambda: {"messages": [HumanMessage("hello"), AIMessage("well")]},
    lambda: SimpleNamespace(context={"user_id": "alice"}, config={}), lambda: SimpleNamespace(context=7, config=7),
]  # fmt: skip
"""Objects of the frameworks, some of which hold nonsense."""


class Adapters(Verbs):
    """Constructors, methods and tools of both packages."""

    def __init__(self, memory: HybridMemory, *others: Any) -> None:
        super().__init__(memory, *others)
        self.parts = [(kind(memory=memory, **given), extra.split()) for kind, given, extra in PARTS]
        self.tools = langchain.memory_tools(memory, **IN_SESSION)
        self.tools += langchain.memory_tools(memory, **IN_SESSION, paging=True)
        spec = llamaindex.HybridMemoryToolSpec(memory=memory, **IN_SESSION)
        self.called: list[Any] = spec.to_tool_list()

    def one(self) -> Call:
        """The next call."""
        made = self.random.choices((self._made, self._method, self._function, self._tool), (3, 6, 1, 2))[0]()
        return Call(made.name, made.text, made.run, (ValidationError,), OURS)

    def _made(self) -> Call:
        kind, given, _ = self.random.choice([*PARTS, (langchain.memory_tools, IN_SESSION, "")])
        named = getattr(kind, "__self__", kind)
        model = isinstance(named, type) and issubclass(named, BaseModel)
        names = named.model_fields if model else inspect.signature(kind).parameters
        chosen = [name for name in names if name != "url" and self.random.random() < 0.15]  # it would open others
        wrong = {name: self.value(str(names[name].annotation)) for name in chosen}
        return self.call(f"{getattr(kind, '__qualname__', kind)}", kind, {"memory": self.memory} | given | wrong)

    def _method(self) -> Call:
        owner, extra = self.random.choice(self.parts)
        names = sorted(name for name in dir(type(owner)) if not name.startswith("_") and _is_ours(type(owner), name))
        name = self.random.choice([*names, *extra])
        return self.of(owner, name)

    def _function(self) -> Call:
        function = self.random.choice(FUNCTIONS)
        if function is langchain.namespace:
            return self.call("namespace", lambda one: langchain.namespace(one, one), {"one": self.value("str")})
        return self.call(function.__name__, function, dict(self.arguments(function, 0.5)))

    def _tool(self) -> Call:
        if self.random.random() < 0.5:
            tool = self.random.choice(self.tools)
            fields = tool.args
            return self.call(f"invoke {tool.name}", tool.invoke, {"input": self._given(fields)})
        called = self.random.choice(self.called)
        fields = called.metadata.get_parameters_dict()["properties"]
        return self.call(f"call {called.metadata.name}", called.call, self._given(fields))

    def _given(self, fields: dict[str, Any]) -> dict[str, Any]:
        return {name: self.value(str(of)) for name, of in fields.items() if self.random.random() < 0.7}

    def value(self, annotation: str) -> Any:
        """Objects of the frameworks too; nothing without an end, which they would read on and on."""
        value = self.random.choice(THEIRS)() if self.random.random() < 0.25 else super().value(annotation)
        return None if isinstance(value, range) or hasattr(type(value), "__next__") else value


def _is_ours(kind: type, name: str) -> bool:
    method = getattr(kind, name)
    function = inspect.unwrap(method) if isinstance(method, FunctionType) else None
    # LangChain alone calls `apply`, which changes the list that it is given.
    return function is not None and name != "apply" and "hybrid_memory" in function.__module__
