"""A long conversation that an agent goes on with, in one run: what of it each call of the model was shown.

    python benchmarks/agent.py                                     a scripted model
    python benchmarks/agent.py --model Qwen2.5 --json out.json     a GGUF file, or the beginning of its name in .models

300 turns with calls of tools are written beforehand; then a dozen go through ``create_agent`` with a model, which for a
GGUF file llama.cpp serves over an OpenAI-compatible endpoint on loopback. The last two ask for what was said in turns 6
and 5. For each call of the model: tokens of the prompt by the memory's count and by the server's, how many of them the
server had read before, whether the prompt begins with the one before, and how often turns were folded until then.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.tools import tool
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from hybrid_memory import HybridMemory, MemoryConfig, Message, Role, ScopedMemory, ToolCall, open_memory
from hybrid_memory.models.tokenizers import token_counter
from hybrid_memory.text.tokens import message_tokens, schema_tokens
from langchain_hybrid_memory import HybridMemoryMiddleware
from langchain_hybrid_memory.messages import from_langchain

MODELS = Path(__file__).resolve().parents[1] / ".models"
TURNS = 300
MAX_TOKENS = 1000
RECALLED = 4
ANSWER_TOKENS = 40
CONTEXT_TOKENS = 8192
USER, SESSION = "marta", "workshop"
BEGINNING = datetime(2026, 1, 5, 8, tzinfo=UTC)
STEP = timedelta(hours=2)
THREAD: RunnableConfig = {"configurable": {"user_id": USER, "thread_id": SESSION}}
IDENTITY = "You keep the stock of a repair workshop. Call the tool for every number, never guess one. Be brief."

FACTS = {
    5: ("The spare key of the cellar hangs behind the map of the Lofoten islands.", "Good, I will remember that."),
    6: ("请记住：老客户陈立航的提琴要用龙血树脂清漆。", "好的，记住了。"),
}
"""What is said in these turns, the first one being 1, and the answer."""

ITEMS = (
    "brass hinges, bicycle chains, lamp sockets, oak dowels, copper wire, leather straps, piano strings, clock springs"
    ", door handles, sewing needles, brake pads, glass beads, steel bolts, felt pads, paint brushes, rubber seals"
).split(", ")
PARTS = (
    "铜合页 自行车链条 灯座 橡木销 铜线 皮带 琴弦 发条 门把手 缝针 刹车片 玻璃珠 钢螺栓 毛毡垫 油漆刷 橡胶圈".split()
)
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()
NAMES = "Ines Tomas Priya Henrik Yusuf Clara Bruno Nadia".split()
CUSTOMERS = "王磊 李娜 张伟 刘洋 赵敏 孙倩".split()
JOBS = "a grandfather clock, a cargo bike, two reading lamps, a cello, a sewing machine, a rocking chair".split(", ")
REMARKS = (
    "The key of the van is with {name} until {day}.",
    "{name} brought in {job}, and would like to have it back by {day}.",
    "It rained into the yard again, so {job} stands in the hall now.",
    "The landlord comes on {day} to look at the cellar stairs with {name}.",
    "{name} paid {number} euros in cash for {job}.",
    "Please write the bill for {job}; {name} asked for it twice.",
)

LIVE: tuple[tuple[str, str | None], ...] = (
    ("How many brass hinges do we have?", "brass hinges"),
    ("And how many oak dowels?", "oak dowels"),
    ("Thanks. The cargo bike of Ines is done, by the way.", None),
    ("铜线还有多少？", "copper wire"),
    ("The bill for the cello goes to Priya.", None),
    ("Henrik needs a new felt pad for his piano. How many felt pads are there?", "felt pads"),
    ("I will be back after lunch.", None),
    ("How many piano strings are left?", "piano strings"),
    ("刹车片够不够？", "brake pads"),
    ("发票明天寄给李娜。", None),
    ("陈立航的提琴要用什么清漆？", None),
    ("Where does the spare key of the cellar hang?", None),
)
"""What the user says to the agent, and the item that is to be looked up for it."""


@tool
def stock(item: str) -> str:
    """How many of an item are in the stock, and on which shelf."""
    return _counted(item)


def _counted(item: str) -> str:
    number = zlib.crc32(item.encode())
    return json.dumps({"item": item, "count": number % 90, "shelf": f"{'ABCDEF'[number % 6]}{number % 7 + 1}"})


def written_beforehand() -> list[Message]:
    """The turns, each with all that was said and done in it; the same every time."""
    # Not for secrets: the same conversation every time.
    chance = random.Random(20260105)  # noqa: S311
    said: list[Message] = []
    for turn in range(1, TURNS + 1):
        messages = (
            _fact(turn) if turn in FACTS else chance.choice((_looked_up, _compared, _chinese, _remark))(turn, chance)
        )
        said += [message.model_copy(update={"at": BEGINNING + turn * STEP}) for message in messages]
    return said


def _fact(turn: int) -> list[Message]:
    told, answer = FACTS[turn]
    return [Message(content=told), Message(role=Role.ASSISTANT, content=answer)]


def _looked_up(turn: int, chance: random.Random) -> list[Message]:
    item, day = chance.choice(ITEMS), chance.choice(DAYS)
    question = f"{chance.choice(NAMES)} comes for {item} on {day}. How many are there?"
    return [Message(content=question), *_tool_round(turn, [item]), _answer(f"There are enough {item} for {day}.")]


def _compared(turn: int, chance: random.Random) -> list[Message]:
    one, other = chance.sample(ITEMS, 2)
    question = f"Of which do we have more, {one} or {other}? I order {chance.randint(10, 80)} of the scarcer one."
    return [Message(content=question), *_tool_round(turn, [one, other]), _answer(f"We are shorter of {other}.")]


def _chinese(turn: int, chance: random.Random) -> list[Message]:
    row = chance.randrange(len(PARTS))
    question = f"{chance.choice(CUSTOMERS)}要{chance.randint(2, 30)}个{PARTS[row]}，库存够吗？"
    return [Message(content=question), *_tool_round(turn, [ITEMS[row]]), _answer(f"{PARTS[row]}的库存够。")]


def _remark(turn: int, chance: random.Random) -> list[Message]:
    words = chance.choice(REMARKS).format(
        name=chance.choice(NAMES), day=chance.choice(DAYS), job=chance.choice(JOBS), number=10 * turn
    )
    return [Message(content=words), _answer("All right, noted.")]


def _tool_round(turn: int, items: Sequence[str]) -> list[Message]:
    ids = [f"t{turn}-{row}" for row in range(len(items))]
    calls = [ToolCall(id=id_, name=stock.name, arguments={"item": item}) for id_, item in zip(ids, items, strict=True)]
    results = [
        Message(role=Role.TOOL, content=_counted(item), tool_call_id=id_) for id_, item in zip(ids, items, strict=True)
    ]
    return [Message(role=Role.ASSISTANT, content="", tool_calls=calls), *results]


def _answer(text: str) -> Message:
    return Message(role=Role.ASSISTANT, content=text)


class Scripted(BaseChatModel):
    """Looks up what the script says, and reads out what it found."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Itself: the script has the calls."""
        del tools, kwargs
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        item = wanted(messages)
        if item is not None:
            answer = AIMessage("", tool_calls=[{"name": stock.name, "args": {"item": item}, "id": f"c{len(messages)}"}])
        else:
            last = messages[-1]
            answer = AIMessage(f"It says: {last.text}" if last.type == "tool" else "Let me see.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


def wanted(prompt: Sequence[BaseMessage]) -> str | None:
    """The item that is to be looked up next; a recalled note may stand in front of the user's words."""
    last = prompt[-1]
    return next((item for said, item in LIVE if last.type == "human" and last.text.endswith(said)), None)


@dataclass(frozen=True)
class Call:
    """A call of the model.

    Attributes:
        turn: of the dozen, from 1.
        prompt: with the system message.
        tokens: of the prompt and the tools, by the memory's count.
        compactions: how often turns were folded until then.
        kept: whether the prompt begins with the one before; so does the first.
        read, reused: tokens of the prompt by the server's count, and those of them that it had from the call before;
            None if nobody counts.
        seconds: that the model took.
        called: how many tools the model asked for.
        answer: its words.
    """

    turn: int
    prompt: Sequence[BaseMessage]
    tokens: int
    compactions: int
    kept: bool
    read: int | None
    reused: int | None
    seconds: float
    called: int
    answer: str


class Recorder(AgentMiddleware[Any, Any, Any]):
    """Notes each call of the model: the prompt that the memory laid out, and what came of it."""

    def __init__(self, scoped: ScopedMemory) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.turn = 0
        self._scoped = scoped
        self._count = token_counter()

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model, and note what it got."""
        compactions = self._scoped.summary().audit.compactions
        started = time.perf_counter()
        response = handler(request)
        self._note(request, response, compactions, time.perf_counter() - started)
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Async twin of `wrap_model_call`."""
        compactions = (await self._scoped.asummary()).audit.compactions
        started = time.perf_counter()
        response = await handler(request)
        self._note(request, response, compactions, time.perf_counter() - started)
        return response

    def _note(self, request: ModelRequest[Any], response: ModelResponse[Any], compactions: int, seconds: float) -> None:
        prompt = [*([request.system_message] if request.system_message else []), *request.messages]
        laid = sum(message_tokens(from_langchain(message, keep_id=False), self._count) for message in prompt)
        answer = response.result[-1]
        usage: Mapping[str, Any] = getattr(answer, "usage_metadata", None) or {}
        self.calls.append(
            Call(
                turn=self.turn,
                prompt=prompt,
                tokens=laid + schema_tokens([convert_to_openai_tool(tool) for tool in request.tools], self._count),
                compactions=compactions,
                kept=not self.calls or begins_with(prompt, self.calls[-1].prompt),
                read=usage.get("input_tokens"),
                reused=usage.get("input_token_details", {}).get("cache_read"),
                seconds=seconds,
                called=len(answer.tool_calls) if isinstance(answer, AIMessage) else 0,
                answer=answer.text,
            )
        )


def begins_with(prompt: Sequence[BaseMessage], before: Sequence[BaseMessage]) -> bool:
    """Whether a provider would see the earlier prompt at the beginning of this one."""
    return [_sent(message) for message in prompt[: len(before)]] == [_sent(message) for message in before]


def _sent(message: BaseMessage) -> tuple[Any, ...]:
    return (message.type, message.content, getattr(message, "tool_calls", None), getattr(message, "tool_call_id", None))


class CallsInText(AgentMiddleware[Any, Any, Any]):
    """Calls of tools for models that write them as JSON into their answer, behind the user's words only.

    Args:
        forced: have the server's grammar write the call that the script wants; else it is the model's to ask for one.
    """

    def __init__(self, *, forced: bool) -> None:
        super().__init__()
        self._forced = forced

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model, and read its call."""
        return self._read(request, handler(self._asked(request)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Async twin of `wrap_model_call`."""
        return self._read(request, await handler(self._asked(request)))

    def _asked(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        if not self._forced or wanted(request.messages) is None:
            return request
        return request.override(model_settings={"extra_body": {"json_schema": CALL}})

    def _read(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> ModelResponse[Any]:
        answer = response.result[-1]
        if request.messages[-1].type != "human" or not isinstance(answer, AIMessage) or answer.tool_calls:
            return response
        call = written_call(answer.text)
        if call is None:
            return response
        asked = answer.model_copy(update={"content": "", "tool_calls": [{**call, "id": f"call-{answer.id}"}]})
        return ModelResponse(result=[*response.result[:-1], asked])


CALL = {
    "type": "object",
    "properties": {"item": {"enum": ITEMS}},
    "required": ["item"],
    "additionalProperties": False,
}
"""The arguments of a call, as a schema for the server."""


def written_call(text: str) -> dict[str, Any] | None:
    """The call of the tool in an answer, with its name or the arguments alone, if it is one."""
    try:
        read = json.loads(text[text.index("{") : text.rindex("}") + 1])
        item = str(read.get("arguments", read)["item"])
    except (ValueError, KeyError, TypeError):
        return None
    return {"name": stock.name, "args": {"item": item}, "type": "tool_call"}


def opened(url: str = "memory://") -> HybridMemory:
    """A memory with the turns that were written beforehand."""
    memory = open_memory(MemoryConfig(url=url, embedder="hashing"), clock=lambda: BEGINNING + (TURNS + 1) * STEP)
    memory.scoped(user=USER, session=SESSION).remember(written_beforehand())
    return memory


def agent_with(
    memory: HybridMemory,
    model: BaseChatModel,
    *,
    max_tokens: int = MAX_TOKENS,
    k: int = RECALLED,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    forced: bool = False,
) -> tuple[Any, Recorder]:
    """An agent with the memory, and what will be noted of its calls."""
    recorder = Recorder(memory.scoped(user=USER, session=SESSION))
    layers = [HybridMemoryMiddleware(memory, max_tokens=max_tokens, k=k), recorder, CallsInText(forced=forced)]
    agent = create_agent(model, [stock], system_prompt=IDENTITY, middleware=layers, checkpointer=checkpointer)
    return agent, recorder


def blocking(agent: Any, given: Any, config: RunnableConfig) -> Any:
    """The state after a run."""
    return agent.invoke(given, config)


def talk(
    memory: HybridMemory,
    agent: Any,
    recorder: Recorder,
    invoke: Callable[..., Any] = blocking,
    *,
    live: Sequence[tuple[str, str | None]] = LIVE,
) -> Sequence[BaseMessage]:
    """Say the live turns, each after a pause, in which turns may be folded.

    Returns:
        The messages of the agent's state after the last one.
    """
    scoped = memory.scoped(user=USER, session=SESSION)
    for turn, (said, _) in enumerate(live, 1):
        recorder.turn = turn
        state = invoke(agent, {"messages": [HumanMessage(said)]}, THREAD)
        scoped.flush()
    messages: Sequence[BaseMessage] = state["messages"]
    return messages


@contextmanager
def served(path: Path) -> Iterator[BaseChatModel]:
    """The model in a GGUF file, behind an OpenAI-compatible endpoint on loopback, on one thread."""
    try:
        llama, openai = import_module("xllamacpp"), import_module("langchain_openai")
    except ImportError:
        raise SystemExit("a model needs xllamacpp: run this with the environment of make test-full") from None
    settings = llama.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    settings.use_jinja = True
    settings.verbosity = 0
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.hostnames, settings.port = ["127.0.0.1"], 0
    server = llama.Server(settings)
    model: BaseChatModel = openai.ChatOpenAI(
        base_url=server.listening_address,
        api_key="none",
        model=path.stem,
        temperature=0,
        max_completion_tokens=ANSWER_TOKENS,
        timeout=600,
    )
    yield model


def show(calls: Sequence[Call]) -> None:
    """Print a line for each call."""
    print(
        f"{'turn':>4}{'messages':>10}{'tokens':>8}{'read':>7}{'reused':>8}{'prefix':>8}{'folded':>8}{'tools':>7}{'s':>7}"
    )
    for call in calls:
        server = f"{'' if call.read is None else call.read:>7}{'' if call.reused is None else call.reused:>8}"
        prefix = "kept" if call.kept else "new"
        row = f"{call.turn:>4}{len(call.prompt):>10}{call.tokens:>8}{server}{prefix:>8}{call.compactions:>8}"
        print(f"{row}{call.called:>7}{call.seconds:>7.1f}")


def main() -> None:
    """Run the script, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a GGUF file, or the beginning of its name in .models; a scripted one else")
    parser.add_argument("--force", action="store_true", help="let the server's grammar write the calls of the tool")
    parser.add_argument("--max-tokens", type=int, default=MAX_TOKENS)
    parser.add_argument("--checkpoints", action="store_true", help="with a checkpointer")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    checkpointer = InMemorySaver() if chosen.checkpoints else None
    with opened() as memory, served(gguf(chosen.model)) if chosen.model else scripted() as model:
        agent, recorder = agent_with(
            memory, model, max_tokens=chosen.max_tokens, checkpointer=checkpointer, forced=chosen.force
        )
        started = time.perf_counter()
        last = talk(memory, agent, recorder)
        seconds = time.perf_counter() - started
    show(recorder.calls)
    print(f"\n{LIVE[-1][0]} {last[-1].text}\n{seconds:.1f} s for {len(LIVE)} turns")
    if chosen.json:
        rows = [{**asdict(call), "prompt": len(call.prompt)} for call in recorder.calls]
        chosen.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")


@contextmanager
def scripted() -> Iterator[BaseChatModel]:
    """A model that is at hand everywhere."""
    yield Scripted()


def gguf(name: str) -> Path:
    """The file: a path, or the beginning of a name in ``.models``."""
    path = Path(name)
    found = [path] if path.is_file() else sorted(MODELS.glob(f"{name}*.gguf"))
    if not found:
        raise SystemExit(f"no GGUF file {name!r}, and none of that name in {MODELS} (make test-full downloads two)")
    return found[0]


if __name__ == "__main__":
    main()
