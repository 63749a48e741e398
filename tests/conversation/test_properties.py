"""Random conversations: what holds for every prompt, every summary and every owner."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import Context, HybridMemory, MemoryConfig, Message, Role, Scope, ScopedMemory, ToolCall, open_memory
from hybrid_memory.context.queue import load
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.runtime.runners import InlineRunner, drive
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import estimate_tokens, message_tokens, schema_tokens
from tests.context.conftest import assert_accepted
from tests.world import column

OWNERS = count()
TOOLS = [{"type": "function", "function": {"name": "look_up", "description": "Find a booking by its number."}}]
COMPACTION = {"rounds": 6, "keep_rounds": 3, "keep_least": 2, "offload_tokens": 120}

SENTENCES = column("conversation/properties.tsv", "said")


@st.composite
def words(draw: st.DrawFn) -> str:
    said = draw(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3))
    return " ".join([*said, f"Item {draw(st.integers(0, 999))}."]) * draw(st.sampled_from([1, 1, 1, 1, 30]))


NAMES = st.sampled_from(["a", "b", "c", None])


@st.composite
def exchanges(draw: st.DrawFn) -> list[Message]:
    """Parallel calls, and their results in any order; some of them missing, given twice, or of another call."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3))
    calls = [ToolCall(name="look_up", arguments={"number": draw(words())}, id=name) for name in names]
    results = [Message(role=Role.TOOL, content=draw(words()), tool_call_id=name) for name in names]
    if draw(st.booleans()):
        results = draw(st.permutations(results))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        results.insert(draw(st.integers(0, len(results))), Message(role=Role.TOOL, tool_call_id=draw(NAMES)))
    missing = draw(st.sampled_from([0, 0, 0, 1]))
    return [Message(role=Role.ASSISTANT, tool_calls=calls), *results[missing:]]


def said_by(role: Role) -> st.SearchStrategy[list[Message]]:
    return words().map(lambda text: [Message(role=role, content=text)])


def joined(parts: Iterable[list[Message]]) -> list[Message]:
    return [message for part in parts for message in part]


ANSWERS = said_by(Role.ASSISTANT) | exchanges()
ROUNDS = st.tuples(said_by(Role.USER), st.lists(ANSWERS, min_size=1, max_size=2).map(joined)).map(joined)
ASIDES = st.one_of(
    said_by(Role.USER),
    said_by(Role.ASSISTANT),
    exchanges(),
    st.sampled_from(SENTENCES[:4]).map(lambda text: [Message(role=Role.SYSTEM, content=text)]),
    NAMES.map(lambda name: [Message(role=Role.TOOL, content="late", tool_call_id=name)]),
)


@dataclass(frozen=True)
class Assemble:
    query: str | None
    max_tokens: int
    tools: bool = False
    reader: str | None = None


Compact = dict[str, Any]
Reset = tuple[int, ...]
"""Rows of the messages that are kept."""
Step = list[Message] | Assemble | Compact | Reset
ASSEMBLES = st.builds(
    Assemble, words() | st.none(), st.integers(150, 3000), st.booleans(), reader=st.sampled_from([None, "look_up"])
)
COMPACTS = st.fixed_dictionaries(
    {"strategy": st.sampled_from(["anchored", "recursive", "window"]), "keep": st.integers(1, 3)}
)
RESETS = st.lists(st.integers(0, 9), max_size=3).map(tuple)
SAYS = st.one_of(ROUNDS, ROUNDS, ROUNDS, ASIDES)
STEPS: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(SAYS, SAYS, SAYS, ASSEMBLES, ASSEMBLES, COMPACTS), min_size=3, max_size=14
)
CHAPTERS = st.tuples(st.lists(SAYS, min_size=1, max_size=4), st.one_of(COMPACTS, COMPACTS, COMPACTS, RESETS))
FOLDS: st.SearchStrategy[list[Step]] = st.lists(CHAPTERS, min_size=1, max_size=5).map(
    lambda chapters: [step for says, fold in chapters for step in (*says, fold)]
)

Owner = Callable[[str], ScopedMemory]
ENGINES = st.sampled_from(["sqlite", "memory"])


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    """Handles of users whom nobody has heard of before, on an engine."""
    path: Path = tmp_path_factory.mktemp("conversations") / "memory.db"
    memories: dict[str, HybridMemory] = {}

    def fresh(engine: str) -> ScopedMemory:
        # The log in memory is read from its beginning, so that a long one is slow.
        if engine not in memories or engine == "memory":
            url = f"sqlite:///{path}" if engine == "sqlite" else "memory://"
            config = {"url": url, "embedder": "none", "power_safe": False, "compaction": COMPACTION}
            memories[engine] = open_memory(MemoryConfig.of(config), token_counter=estimate_tokens)
        return memories[engine].scoped(user=f"user {next(OWNERS)}", session="s")

    yield fresh
    for memory in memories.values():
        memory.close()


def run(handle: ScopedMemory, step: Step) -> Context | None:
    if isinstance(step, list):
        handle.remember(step)
    elif isinstance(step, dict):
        handle.compact(**step)
    elif isinstance(step, tuple):
        there = handle.history(current=True)
        handle.reset(keep=[str(there[row].id) for row in step if row < len(there)])
    else:
        tools = TOOLS if step.tools else []
        return handle.assemble(
            step.query, max_tokens=step.max_tokens, identity="You are a guide.", tools=tools, reader=step.reader,
        )  # fmt: skip
    return None


def tokens_of(messages: list[Message] | tuple[Message, ...], handle: ScopedMemory, *, tools: bool) -> int:
    tally = handle._runtime.services.count
    return (
        sum(message_tokens(message, tally) for message in messages) + (schema_tokens(TOOLS, tally) if tools else 0) + 3
    )


def must_fit(handle: ScopedMemory, step: Assemble) -> bool:
    """Whether all system messages and the question, with what was done for it so far, need no more than the budget."""
    said = handle.history(current=True)
    system = [message for message in said if message.role is Role.SYSTEM]
    latest = max((row for row, message in enumerate(said) if message.role is Role.USER), default=len(said))
    asked = [message for message in said[latest:] if message.role is not Role.SYSTEM]
    same = step.query in [None, *(one.text for one in asked[:1])]
    question = asked if same else [Message(content=step.query or "")]
    head = [Message(role=Role.SYSTEM, content="You are a guide."), *system]
    return bool(question) and tokens_of([*head, *question], handle, tools=step.tools) <= step.max_tokens


@pytest.mark.parametrize("opening", [Role.USER, Role.SYSTEM])
def test_a_late_result_takes_no_question_away(owner: Owner, opening: Role) -> None:
    text = "My name is Nora Winter and I live at 12 Elm Street. Item 0."
    for row, between in enumerate(product([Role.USER, Role.ASSISTANT, Role.SYSTEM], repeat=3)):
        handle = owner("memory" if row % 2 else "sqlite")
        handle.remember([Message(role=role, content=text) for role in (opening, between[0])])
        handle.remember(Message(role=Role.ASSISTANT, tool_calls=[ToolCall(name="look_up", arguments={"what": text})]))
        handle.remember([Message(role=role, content=text) for role in between[1:]])
        handle.remember(Message(role=Role.TOOL, content="late"))
        step = Assemble(None, 150, tools=True)
        if must_fit(handle, step):
            context = run(handle, step)
            assert context is not None
            assert context.tokens <= step.max_tokens


@settings(max_examples=20)
@given(ENGINES, STEPS, ASSEMBLES)
def test_every_prompt_is_accepted_and_in_budget(owner: Owner, engine: str, steps: list[Step], last: Assemble) -> None:
    handle = owner(engine)
    for step in [*steps, last]:
        before = handle.history() if isinstance(step, Assemble) else []
        try:
            context = run(handle, step)
        except InvalidInputError:
            assert isinstance(step, Assemble)
            assert step.query is None
            assert not any(message.role is Role.USER for message in handle.history(current=True))
            continue
        if context is None or not isinstance(step, Assemble):
            continue
        assert handle.history() == before
        assert_accepted(context.messages)
        assert context.tokens == tokens_of(context.messages, handle, tools=step.tools)
        assert context.tokens <= step.max_tokens or not must_fit(handle, step)
        assert context.max_tokens == step.max_tokens
        said = handle.history(current=True)
        order = [message.id for message in said]
        shown = [order.index(message.id) for message in context.messages if message.id]
        assert len(shown) == len(set(shown)), "nothing twice"
        # A late result stands behind its call, before what was said in between.
        spoken = [row for row in shown if said[row].role is not Role.TOOL]
        assert spoken == sorted(spoken), "in order"


@settings(max_examples=20)
@given(ENGINES, st.one_of(STEPS, FOLDS, FOLDS))
def test_what_was_folded_and_the_queue_are_the_conversation(owner: Owner, engine: str, steps: list[Step]) -> None:
    handle = owner(engine)
    for step in steps:
        try:
            run(handle, step)
        except InvalidInputError:
            continue
        session = drive(load(InlineRunner(), handle._runtime.services, handle.scope))
        folded = [message for name in handle.summary().handles for message in handle.expand(name)]
        queue = [
            event.message
            for unit in (*session.queue.instructions, *session.queue.units)
            for event in unit.events
            if event.position != session.state.anchor
        ]
        everything = handle.history(current=True)
        assert len({message.id for message in folded}) == len(folded), "no turn is folded twice"
        assert not {message.id for message in folded} & {message.id for message in queue}
        assert sorted([*folded, *queue], key=lambda message: str(message.id)) == sorted(
            everything, key=lambda message: str(message.id)
        )
        assert handle.expand(handle.summary()) == folded


@settings(max_examples=15)
@given(ENGINES, FOLDS)
def test_a_line_leads_to_the_words_that_it_was_made_from(owner: Owner, engine: str, steps: list[Step]) -> None:
    handle = owner(engine)
    for step in [*steps, {"strategy": "anchored", "keep": 1}]:
        try:
            run(handle, step)
        except InvalidInputError:
            continue
        for line in handle.summary():
            messages = handle.expand(line)
            words = {term for message in messages for term in terms(f"{message.speaker} {message.text}")}
            missing = set(terms(line.text)) - words
            assert len(missing) <= line.text.count("…"), f"{missing} of {line}"
            assert set(line.sources) <= {str(message.id) for message in messages}


@settings(max_examples=10)
@given(ENGINES, st.lists(st.tuples(st.integers(0, 3), STEPS.map(lambda steps: steps[:5])), min_size=2, max_size=5))
def test_no_verb_shows_words_of_other_owners(owner: Owner, engine: str, turns: list[tuple[int, list[Step]]]) -> None:
    first = owner(engine)
    users = [first.scope.user, f"{first.scope.user} or so"]
    handles = [ScopedMemory(first._runtime, Scope(user=users[row // 2], session=f"s{row % 2}")) for row in range(4)]
    for row, steps in turns:
        for step in [[Message(content=f"Secret{row // 2} of {row}.")], *steps]:
            if isinstance(step, list):
                step = [said.model_copy(update={"content": f"Secret{row // 2} {said.text}"}) for said in step]  # noqa: PLW2901
            try:
                run(handles[row], step)
            except InvalidInputError:
                continue
    for row, handle in enumerate(handles):
        foreign = f"Secret{1 - row // 2}"
        seen: list[Any] = [
            handle.history(), handle.history(current=True), handle.summary(), handle.recall("Secret Item", k=50),
        ]  # fmt: skip
        seen += [handle.expand(name) for name in handle.summary().handles]
        try:
            seen.append(handle.assemble("What is the secret item?", max_tokens=2000).text)
        except InvalidInputError as error:
            seen.append(error)
        assert foreign not in repr(seen)
        others = {message.id: message for message in handles[(row + 2) % 4].history()}
        own = {said.id for other in handles if other.scope.owner == handle.scope.owner for said in other.history()}
        for name in sorted(map(str, others.keys() - own))[:3]:
            with pytest.raises(InvalidInputError):
                handle.expand(name)
            with pytest.raises(InvalidInputError):
                handle.fetch(name)
