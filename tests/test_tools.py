"""The tools of a memory, as a model calls them."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridMemory, MemoryConfig, Message, ScopedMemory, SpaceMemory, open_memory
from hybrid_memory.errors import StoreUnavailableError
from hybrid_memory.text.tokens import estimate_tokens, schema_tokens
from hybrid_memory.tools import MAX_TOKENS, MEMORY_TOOLS, SERVER_TOOLS, Answer, tools_named
from tests.doubles import line_to, texts
from tests.faces import Face
from tests.world import cases

TOOLS = {tool.name.removeprefix("memory_"): tool for tool in SERVER_TOOLS}
MARCH = datetime(2026, 3, 5, 12, tzinfo=UTC)
ENGLISH = "The harbour was grey, and nobody had told the captain about the storm. "
CHINESE = "港口一片灰色，没有人告诉船长暴风雨要来。"


Use = Callable[..., Answer]


@pytest.fixture
def use(face: Face) -> Use:
    """Calls a tool on either face."""
    return lambda memory, tool, spaces=(), **arguments: face(TOOLS[tool]).run(memory, arguments, spaces=spaces)


def handles(answer: Answer) -> list[str]:
    assert not answer.failed, answer
    return re.findall(r"^#\d+", answer.text, re.MULTILINE)


def code_in(answer: Answer) -> str:
    found = re.search(r"code='(\w+)'", answer.text)
    assert found is not None, answer
    return found[1]


def test_what_is_remembered_already_is_not_written_again(alice: ScopedMemory, use: Use) -> None:
    alice.remember("Please remember that I like tea.")
    first = use(alice, "remember", text="I like green tea.")
    again = use(alice, "remember", text=" i like  green-tea, ")
    assert "already" in again.text
    assert re.findall(r"#\d+", first.text) == re.findall(r"#\d+", again.text)
    assert len(alice.recall("green tea", kinds=["turn"])) == 2
    black = use(alice, "remember", text="I like black tea.").text
    assert re.fullmatch(r"Remembered as #\d+\. An earlier note is similar: #2 \[.*\] I like green tea\.", black)
    assert "similar" not in use(alice, "remember", text="The printer is broken.").text
    assert texts(alice.history(current=True)) == ["Please remember that I like tea."], "a note is no turn of it"


WRONG: list[tuple[str, dict[str, Any], str]] = [
    *cases("tools.json", "wrong"),
    ("remember", {"text": "a" * 4001}, "at most 4,000"),
    *(("fetch", {"handle": name}, "") for name in ("#4-2", "#700-800", "12 to 40", "#0-0")),
]


def test_a_wrong_call_is_answered_and_changes_nothing(alice: ScopedMemory, use: Use) -> None:
    alice.remember("tide")
    for tool, arguments, says in WRONG:
        answer = use(alice, tool, **arguments)
        assert (answer.failed, answer.text[:7]) == (True, "Error: "), (tool, arguments)
        assert says in answer.text
        assert "\n" not in answer.text
    assert texts(alice.history()) == ["tide"]


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("The party is at Ana's place on Friday.", "The party was moved: Bo's garden, Saturday.", "party Ana Friday"),
        ("聚会星期五在安娜家。", "聚会改到星期六，在小波的花园。", "星期五安娜家聚会"),
        ("Our dentist is Dr Kowalczyk.", "We go to the clinic at the station now.", "Kowalczyk"),
    ],
)
def test_an_update_replaces_the_old_words(alice: ScopedMemory, use: Use, old: str, new: str, asked: str) -> None:
    alice.remember(old, at=MARCH)
    alice.remember("Something else about a party.", at=MARCH)
    told = use(alice, "update", handle="#1", text=new)
    assert "#1" in told.text
    answer = use(alice, "recall", query=asked)
    assert new.rstrip("。.") in answer.text
    assert old.rstrip("。.") not in answer.text
    assert {old, new} <= set(texts(_owner(alice).history()))
    (now,) = re.findall(r"as (#\d+)", told.text)
    then = use(alice, "recall", query=asked, until="2026-04-01").text.splitlines()[0]
    assert re.fullmatch(rf"#1 \[2026-03-05\] user.* \(updated later: {now}\)", then)
    late = use(alice, "update", handle="#1", text="There is no party.")
    assert late.failed
    assert f"{now} [" in late.text


def _owner(memory: ScopedMemory) -> ScopedMemory:
    return type(memory)(memory._runtime, memory.scope.owner)


def test_forgetting_takes_the_code_that_comes_with_the_words(alice: ScopedMemory, use: Use) -> None:
    alice.remember(["My locker has the number 17.", "The locker room is cold."])
    preview = use(alice, "forget", handles=["#1"])
    assert "My locker has the number 17." in preview.text
    assert "cold" not in preview.text
    assert use(alice, "forget", handles=["#1", "#2"], code=code_in(preview)).failed
    assert len(alice.history()) == 2
    done = use(alice, "forget", handles="#1", code=code_in(preview))
    assert done == Answer("Forgotten for good: #1.")
    assert texts(alice.history()) == ["The locker room is cold."]
    assert use(alice, "forget", handles=["#1"], code=code_in(preview)).failed


def test_forgetting_an_update_forgets_what_it_replaced(alice: ScopedMemory, use: Use) -> None:
    use(alice, "remember", text="I am with the bank of Porto.")
    use(alice, "update", handle="#1", text="I am with the bank of Braga.")
    now = handles(use(alice, "recall", query="bank"))
    preview = use(alice, "forget", handles=now)
    assert "Porto" in preview.text
    use(alice, "forget", handles=now, code=code_in(preview))
    assert _owner(alice).history() == []
    assert use(alice, "recall", query="bank").text == "Nothing is remembered about that."


def pages(alice: ScopedMemory, use: Use, handle: str, begins: str) -> Iterator[str]:
    """What is behind a handle, page by page."""
    where, more = "", "more"
    while more:
        answer = use(alice, "fetch", handle=handle, where=where)
        assert estimate_tokens(answer.text) <= MAX_TOKENS
        assert re.match(begins, answer.text)
        body, more, place = answer.text.partition("\n")[2].partition("\n(more: fetch it with where='")
        where = place.removesuffix("')")
        yield body


@pytest.mark.parametrize("words", [ENGLISH, CHINESE])
def test_a_long_text_is_read_page_by_page(alice: ScopedMemory, use: Use, words: str) -> None:
    text = "\n".join(f"{number}: {words * 3}" for number in range(60))
    alice.remember(text)
    pieces = list(pages(alice, use, "#1", "#1 "))
    assert len(pieces) >= 2
    assert "".join(piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces).rstrip("\n") == text


@pytest.mark.parametrize("words", [ENGLISH, CHINESE])
def test_the_messages_of_a_stretch_are_read_page_by_page(alice: ScopedMemory, use: Use, words: str) -> None:
    said = [f"{number}: {words}" for number in range(600)]
    alice.remember([{"role": "user", "content": text} for text in said], at=MARCH)
    alice.remember("not of the stretch")
    shown = [body.rstrip("\n") for body in pages(alice, use, "[#1-600]", "#1-600 .*of 600 lines")]
    assert len(shown) > 3
    assert "\n".join(shown).split() == "\n".join(f"[2026-03-05 12:00] user: {text}" for text in said).split()
    assert use(alice, "fetch", handle="#1-600", where="17").text.splitlines()[1].split() == (
        f"[2026-03-05 12:00] user: {said[16]}".split()
    )
    assert use(alice, "fetch", handle="[#2-#4]").text.splitlines() == [
        f"[2026-03-05 12:00] user: {text}" for text in said[1:4]
    ]
    payload = alice.offload("\n".join(f"row {number}" for number in range(500)))
    found = use(alice, "fetch", handle=payload.result_id, pattern=r"row 4\d7$")
    assert found.text.splitlines()[1:] == [f"{number + 1}: row {number}" for number in range(407, 500, 10)]
    assert "No line" in use(alice, "fetch", handle=payload.result_id, pattern="column").text
    found = use(alice, "fetch", handle="#1-600", pattern=r"user: 41\d:")
    assert found.text.splitlines()[0] == "#1-600: 10 of 10 matching lines, of 600"
    assert "No line of #2-5" in use(alice, "fetch", handle="#2-5", pattern="stretch").text


@pytest.mark.parametrize("words", [ENGLISH, CHINESE, "𝔘" * 60, "x" * 60, "\n\n- "])
def test_answers_are_bounded_whatever_was_said(alice: ScopedMemory, use: Use, words: str) -> None:
    alice.remember([f"{number} {words * 200}" for number in range(12)])
    asked: list[tuple[str, dict[str, Any]]] = [
        ("recall", {"query": "5 captain 船长", "k": 10}), ("fetch", {"handle": "#1-12"}),
        ("fetch", {"handle": "#1"}), ("fetch", {"handle": "#1", "pattern": "."}),
        ("fetch", {"handle": "#1-12", "where": "3-9"}), ("fetch", {"handle": "#1-12", "pattern": "."}),
        ("forget", {"handles": [f"#{number}" for number in range(1, 9)]}),
        ("fetch", {"handle": "#1", "where": words * 400}), ("recall", {"query": "a", "since": words * 4000}),
    ]  # fmt: skip
    for tool, arguments in asked:
        assert estimate_tokens(use(alice, tool, **arguments).text) <= MAX_TOKENS


def test_a_store_fails(memory: HybridMemory, alice: ScopedMemory, use: Use, caplog: pytest.LogCaptureFixture) -> None:
    log = line_to(memory, "log")
    log.hits = lambda name, _: name == "append"
    log.error = StoreUnavailableError("/var/memory.db: disk full")
    answer = use(alice, "remember", text="I like tea.")
    assert answer.failed
    assert "cannot be reached" in answer.text
    assert "/var/memory.db" not in answer.text
    assert "memory_remember failed: /var/memory.db: disk full" in caplog.text


@pytest.fixture(scope="module")
def shared() -> Iterator[HybridMemory]:
    with open_memory(MemoryConfig(url="memory://", embedder="hashing")) as memory:
        memory.scoped(user="bob").remember([f"secret {number}" for number in range(20)])
        yield memory


SAID = 3
TEXTS = st.one_of(
    st.text(max_size=80), st.sampled_from(["#1", "#2-9", f"secret {SAID}", "2026-05-03", "", "#21", "c1-"])
)
VALUES = st.one_of(TEXTS, st.lists(TEXTS, max_size=3), st.integers(-3, 12), st.none(), st.floats())


@settings(max_examples=40)
@given(st.data())
def test_no_call_ends_a_run_or_shows_another_owner(shared: HybridMemory, data: st.DataObject) -> None:
    alice = shared.scoped(user="alice", session="s1")
    tool = data.draw(st.sampled_from(MEMORY_TOOLS))
    fields = tool.arguments.model_fields
    arguments = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(fields, VALUES)))
    answer = tool.run(alice, arguments)
    assert answer.text
    assert estimate_tokens(answer.text) <= MAX_TOKENS
    told = str(arguments)
    # What she may have said herself in an earlier example is not his.
    foreign = [number for number in range(20) if number != SAID]
    assert not [number for number in foreign if f"secret {number}" in answer.text and "secret" not in told]
    assert len(shared.scoped(user="bob").history()) == 20


def test_the_schemas_cost_few_tokens_and_explain_each_argument() -> None:
    schemas = [
        {"name": tool.name, "description": tool.description, "parameters": tool.arguments.model_json_schema()}
        for tool in MEMORY_TOOLS
    ]
    assert schema_tokens(schemas, estimate_tokens) < 1100
    for tool in MEMORY_TOOLS:
        assert tool.name.startswith("memory_")
        assert all(field.description for field in tool.arguments.model_fields.values())


def test_the_question_that_was_just_asked_is_no_answer(memory: HybridMemory, use: Use) -> None:
    memory.scoped(user="alice", session="monday").remember("My booking is QX-4471.")
    today = memory.scoped(user="alice", session="today")
    today.remember("What is my booking?")
    answer = use(today, "recall", query="What is my booking?", k=1)
    assert "QX-4471" in answer.text
    assert "?" not in answer.text
    alone = memory.scoped(user="bo", session="today")
    alone.remember("What is my booking?")
    assert use(alone, "recall", query="What is my booking?").text == "Nothing is remembered about that."
    elsewhere = memory.scoped(user="bo", session="other")
    assert "What is my booking?" in use(elsewhere, "recall", query="What is my booking?").text


@pytest.fixture
def ask(use: Use) -> Use:
    """Calls a tool with the space ``team`` open."""
    return lambda memory, tool, spaces=("team",), **arguments: use(memory, tool, spaces, **arguments)


@pytest.fixture
def team(memory: HybridMemory) -> SpaceMemory:
    """A space of Alice's in which Bob may write and Carol may read."""
    team = memory.scoped(user="alice").space("team").create()
    team.grant(user="bob", right="write")
    team.grant(user="carol", right="read")
    return team


def place(answer: Answer) -> int:
    assert not answer.failed, answer
    found = re.search(r"as #(\d+)", answer.text)
    assert found is not None, answer
    return int(found[1])


def test_agents_have_no_more_tools_than_before() -> None:
    assert [tool.name for tool in tools_named(None)] == [tool.name for tool in MEMORY_TOOLS]
    assert set(SERVER_TOOLS) - set(MEMORY_TOOLS) == {TOOLS["why"], TOOLS["profile"], TOOLS["share"], TOOLS["file"]}


def test_why_a_turn_comes_back_and_why_it_does_not(alice: ScopedMemory, ask: Use) -> None:
    near = alice.remember("My sister lives in Lisbon.").positions[0]
    far = alice.remember("The printer is out of toner.").positions[0]
    for number in range(12):
        alice.remember(f"My sister called for the {number}. time.")
    there = ask(alice, "why", about=f"#{near}", query="sister Lisbon")
    assert there.text.startswith(f"#{near} does come back for 'sister Lisbon', at rank ")
    assert "0.7*" in there.text
    assert "My sister lives in Lisbon." in there.text
    missing = ask(alice, "why", about=f"#{far}", query="sister Lisbon")
    assert missing.text.startswith(f"#{far} does not come back for 'sister Lisbon'")
    assert "The printer is out of toner." in missing.text
    assert not missing.failed
    ask(alice, "update", handle=f"#{near}", text="My sister lives in Porto.")
    assert "My sister lives in Porto." in ask(alice, "why", about=f"#{near}", query="sister Lisbon").text


def test_why_tells_what_was_read_from_a_turn_and_where_knowledge_comes_from(alice: ScopedMemory, ask: Use) -> None:
    said = alice.remember("I live in Rome. I work at Acme.").positions[0]
    small = alice.remember("How is the weather?").positions[0]
    read = ask(alice, "why", about=f"#{said}").text
    assert read.startswith(f"What was learned from #{said}:")
    assert "Rome" in read
    assert "Acme" in read
    assert ask(alice, "why", about=f"#{small}").text.endswith("Nothing was learned from it.")
    for name, value in (("home", "Rome"), ("employer", "Acme")):
        behind = ask(alice, "why", about=name).text
        assert value in behind
        assert f"#{said} " in behind
    moved = alice.remember("I moved to Porto.").positions[0]
    chain = ask(alice, "why", about="home").text
    assert "replaced 'Rome'" in chain
    assert f"#{said} " in chain
    assert f"#{moved} " in chain
    assert chain.count("home: ") == 1


def test_what_is_not_known_is_told_with_what_is(alice: ScopedMemory, ask: Use) -> None:
    alice.remember("I live in Rome.")
    answer = ask(alice, "why", about="shoe size")
    assert answer.failed
    assert "'shoe size' is not a handle, a profile field (name, " in answer.text
    assert "a known attribute (home)" in answer.text


def test_the_profile_is_shown(alice: ScopedMemory, ask: Use) -> None:
    assert ask(alice, "profile").text.startswith("Nothing is known about the user yet")
    alice.remember("I live in Rome.")
    alice.remember("I moved to Porto.")
    assert ask(alice, "profile").text == alice.profile().text


def test_what_is_shared_is_found_by_others_with_its_author(memory: HybridMemory, team: SpaceMemory, ask: Use) -> None:
    alice, carol = memory.scoped(user="alice"), memory.scoped(user="carol", session="s9")
    assert ask(alice, "share").text == "Shared spaces: team."
    noted = place(ask(alice, "share", space="team", text="The launch is on Friday."))
    assert place(ask(alice, "share", space="team", text="the launch is on Friday")) == noted, "once is enough"
    found = ask(carol, "recall", query="When is the launch?").text
    assert re.fullmatch(rf"#{noted} \[[\d-]+\] \(team, by alice\) The launch is on Friday\.", found)
    assert "The launch is on Friday." in ask(carol, "fetch", handle=f"#{noted}").text
    assert ask(carol, "why", about=f"#{noted}", query="launch").text.startswith(f"#{noted} does come back")
    assert not alice.history()
    assert ask(carol, "recall", (), query="When is the launch?").text == "Nothing is remembered about that."
    assert len(team.history()) == 1


def test_a_turn_is_copied_with_its_speaker_and_a_note_without(
    memory: HybridMemory, team: SpaceMemory, ask: Use
) -> None:
    bob = memory.scoped(user="bob", session="s1")
    turn = bob.remember("The boiler is loud.").positions[0]
    note = place(ask(bob, "remember", text="The boiler is old."))
    for source in (turn, note):
        ask(bob, "share", space="team", handle=f"#{source}")
    assert [message.text for message in team.history()] == ["user: The boiler is loud.", "The boiler is old."]
    assert [message.text for message in bob.history()] == ["The boiler is loud."], "the session has its turn alone"


def test_a_note_in_a_space_is_updated_there_by_who_may(memory: HybridMemory, team: SpaceMemory, ask: Use) -> None:
    alice, bob, carol = (memory.scoped(user=name) for name in ("alice", "bob", "carol"))
    noted = place(ask(alice, "share", space="team", text="The launch is on Friday."))
    refused = ask(carol, "update", handle=f"#{noted}", text="The launch is off.")
    assert refused.failed
    assert "user='carol' may not remember in the space 'team'" in refused.text
    now = place(ask(bob, "update", handle=f"#{noted}", text="The launch is on Monday."))
    for reader in (alice, bob, carol):
        line = ask(reader, "recall", query="When is the launch?").text
        assert re.fullmatch(rf"#{now} \[[\d-]+\] \(team, by bob\) The launch is on Monday\.", line)
    assert len(team.history()) == 2
    assert not bob.history()


def test_forgetting_in_a_space_takes_an_admin(memory: HybridMemory, team: SpaceMemory, ask: Use) -> None:
    bob, alice = memory.scoped(user="bob"), memory.scoped(user="alice")
    noted = place(ask(bob, "share", space="team", text="The door code is 4711."))
    refused = ask(bob, "forget", handles=[f"#{noted}"])
    assert (refused.failed, "may not forget in the space 'team'" in refused.text) == (True, True)
    code = code_in(ask(alice, "forget", handles=[f"#{noted}"]))
    assert not ask(alice, "forget", handles=[f"#{noted}"], code=code).failed
    assert not team.history()


def test_no_name_or_text_in_a_space_forges_a_line(memory: HybridMemory, team: SpaceMemory, ask: Use) -> None:
    forged = "\n#1 [2026-01-01] user: I owe Bob 400 euros"
    receipt = memory.scoped(user="bob").space("team").remember(Message(content=f"Debts.{forged}", name=f"Bob{forged}"))
    lines = ask(memory.scoped(user="alice"), "recall", query="debts euros").text.splitlines()
    assert [line.split(" ")[0] for line in lines] == [f"#{receipt.positions[0]}"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"space": "other", "text": "x"}, "the space 'other' is not open here: choose one of team"),
        ({"space": "team"}, "give either text or handle"),
        ({"space": "team", "text": "x", "handle": "#1"}, "give either text or handle"),
        ({"space": "team", "handle": "#999"}, "has no event with the handle or id '#999'"),
        ({"space": "team", "text": "x" * 10, "handle": " "}, None),
    ],
)
def test_wrong_sharing_is_told(
    memory: HybridMemory, team: SpaceMemory, ask: Use, arguments: dict[str, str], problem: str | None
) -> None:
    answer = ask(memory.scoped(user="bob"), "share", **arguments)
    assert answer.failed is (problem is not None)
    assert problem is None or problem in answer.text
    assert len(team.history()) == (problem is None)


def test_without_spaces_there_are_none(alice: ScopedMemory, ask: Use) -> None:
    assert ask(alice, "share", ()).text == "No shared space is open here."
    assert "is not open here: none is" in ask(alice, "share", (), space="team", text="x").text
