from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridMemory, Message, Role, ScopedMemory, ToolCall
from hybrid_memory.adapters import PutItem
from hybrid_memory.errors import AccessDeniedError, InvalidInputError
from hybrid_memory.log.exchanges import OWN_TOOLS, is_echo
from hybrid_memory.store.keepout import MASK, distinctive, term_of
from hybrid_memory.tools import SERVER_TOOLS
from hybrid_memory_paging import PAGING_FUNCTIONS
from hybrid_memory_paging.functions import SEND
from tests.doubles import texts
from tests.faces import Face, Open
from tests.world import exchange, stored, user

both = pytest.mark.in_pairs("face", "memory")

PIN = "The PIN of the gate is 44089917."


def shows(memory: ScopedMemory, session: ScopedMemory) -> str:
    """Everything that the verbs of a memory return."""
    memory.flush()
    memory.learn()
    parts = [
        memory.history(), memory.events(), memory.facts(history=True), memory.profile(), memory.blocks(),
        session.summary(), [(hit.record.text, hit.why()) for hit in memory.recall("the pin of the gate")],
        session.assemble("What is the PIN of the gate?").text, memory.files().read("/notes/gate.md"),
    ]  # fmt: skip
    return "\n".join(map(str, parts))


@both
@pytest.mark.parametrize("how", ["query", "ids"])
def test_what_is_repeated_does_not_come_back(face: Face, memory: HybridMemory, how: str) -> None:
    alice, session = memory.scoped(user="alice"), memory.scoped(user="alice", session="s1")
    first = session.remember([PIN, "The gate is green, and I like it."]).ids[0]
    query, ids = ("44089917", None) if how == "query" else (None, first)
    receipt = face(alice).forget(query=query, ids=ids, keep_out=True)
    assert (receipt.kept_out, receipt.erased["turns"]) == (1, 1)
    session.remember("44089917 stays deleted. The gate is still green.")
    session.remember(Message(role=Role.ASSISTANT, content="Noted.", metadata={"pin": "44089917"}))
    session.mirror([user("The gate opens with ４４０８９９１７.", "m1"), user("门禁密码是44089917。", "m2")])
    alice.block("gate").put("opens with 44089917")
    alice.files().write("/notes/gate.md", "The gate opens with 44089917, as before.")
    page = session.offload("The gate: 44089917, and more. " * 50)
    session.compact(keep=1)
    text = shows(alice, session) + str(session.fetch(page.result_id))
    assert "44089917" not in text
    assert "４４０８９９１７" not in text
    assert f"{MASK} stays deleted. The gate is still green." in text
    assert "I like it" in text


@both
def test_a_host_that_repeats_its_history_changes_nothing(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice", session="s1")
    memory.scoped(user="alice").forget(query="44089917", keep_out=True)
    told = [Message(id="m1", content=PIN), Message(id="m2", role=Role.ASSISTANT, content="Thanks.")]
    for _ in range(2):
        face(alice).mirror(told)
        assert [message.text for message in alice.history()] == [f"The PIN of the gate is {MASK}.", "Thanks."]
    face(alice).mirror([Message(content=PIN), Message(role=Role.ASSISTANT, content="Thanks.")])
    assert len(alice.history()) == 2
    assert face(alice).assemble(PIN).text.count(MASK) == 2, "asked again, as it is stored"


@both
def test_only_what_identifies_is_kept_out(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    alice.remember("Project Maple goes well.")
    told = alice.remember(
        "For Maple the customer is Granite Mutual, with token mp_stg_4R2N-K8QM-7T1C for 1,900 USD."
    ).ids
    face(alice).forget(ids=told, keep_out=True)
    alice.remember(
        "For Maple the customer of granite mutual pays 1900 USD; mp_stg_4R2N and mp_stg_6Q4N, June 2026, 12 mutual."
    )
    wanted = f"For Maple the customer of {MASK} pays {MASK} USD; mp_stg_{MASK} and mp_stg_6Q4N, June 2026, 12 mutual."
    assert alice.history()[-1].text == wanted


def test_what_identifies_a_text() -> None:
    everyday = "We met on Friday at 10am in May 2026, got 12 kg of apples, and OK, the CEO liked it. 今天我们去公园。"
    assert distinctive(everyday) == set()
    assert distinctive("他的号码是138-0013-8000，朋友叫 Kowalczyk。") == {
        ("138", "0013", "8000"), ("138",), ("0013",), ("8000",), ("kowalczyk",)
    }  # fmt: skip
    assert term_of("王小明 Granite\u200b Mutual’s") == ("王", "小", "明", "granite", "mutual", "s")


@both
def test_names_in_chinese_are_kept_out_by_query(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    alice.remember("客户是王小明。")
    assert face(alice).forget(query="王小明", keep_out=True).kept_out == 1
    alice.remember("我昨天见了王小明，小明说你好。")
    assert [message.text for message in alice.history()] == [f"我昨天见了{MASK}，小明说你好。"]


@both
def test_other_separators_are_the_same_words(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    alice.remember(["My room is TC-204 seat B7.", "My seat is by the window."])
    face(alice).forget(query="TC-204, seat B7", keep_out=True)
    assert [message.text for message in alice.history()] == ["My seat is by the window."]


@both
def test_it_is_counted_and_lifted(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice")
    assert face(alice).kept_out() == 0
    assert face(alice).forget(query="44089917", keep_out=True).kept_out == 1
    assert face(alice).forget(query="44089917", keep_out=True).kept_out == 0, "it is already"
    face(alice).forget(query="Granite Mutual", keep_out=True)
    assert face(alice).kept_out() == 2
    with pytest.raises(InvalidInputError, match="'4409' is not kept out"):
        face(alice).kept_out(lift="4409")
    alice.remember(PIN)
    assert face(alice).kept_out(lift="44089917") == 1
    alice.remember(PIN)
    assert [message.text for message in alice.history()] == [f"The PIN of the gate is {MASK}.", PIN]
    assert face(alice).kept_out(lift=True) == 0
    assert memory.scoped(user="bob").kept_out() == 0


@both
def test_bad_requests_change_nothing(face: Face, memory: HybridMemory) -> None:
    alice = memory.scoped(user="alice", session="s1")
    alice.remember(PIN)
    for named, problem in (
        ({"expired": True}, "needs ids= or query="),
        ({"query": "44089917"}, "reaches all sessions"),
        ({"query": "the"}, "needs a rare word"),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match=problem):
            face(alice).forget(**named, keep_out=True)
    assert face(memory.scoped(user="alice")).forget(query="44089917", keep_out=True, dry_run=True).dry_run
    assert (len(alice.history()), alice.kept_out()) == (1, 0)
    plain = alice.remember("We go to the park.").ids[0]
    assert "no rare word" in face(alice).forget(ids=plain, keep_out=True).note


@both
def test_in_a_space_it_holds_for_every_member(face: Face, memory: HybridMemory) -> None:
    team = memory.scoped(user="alice").space("team").create()
    team.grant(user="bob", right="write")
    team.grant(user="eve", right="write")
    team.remember(PIN)
    bob = memory.scoped(user="bob").space("team")
    with pytest.raises(AccessDeniedError):
        face(bob).forget(query="44089917", keep_out=True)
    with pytest.raises(AccessDeniedError):
        face(bob).kept_out()
    face(team).forget(query="44089917", keep_out=True)
    bob.remember("Is it 44089917?")
    memory.scoped(user="eve").space("team").remember("44089917!")
    assert [message.text for message in team.history()] == [f"Is it {MASK}?", f"{MASK}!"]


def test_no_bytes_of_the_words_remain(tmp_path: Path, opened: Open) -> None:
    url = f"sqlite:///{tmp_path}/memory.db"
    with opened(url=url) as memory:
        alice = memory.scoped(user="alice")
        alice.remember("My customer is Granite Mutual, with token mp-77Q4.")
        alice.flush()
        alice.forget(query="Granite Mutual", keep_out=True)
        alice.remember("Granite Mutual is gone.")
        alice.flush()
    files = stored(tmp_path)
    assert b"ranite" not in files
    assert b"Mutual" not in files
    with opened(url=url) as memory:  # another process
        memory.scoped(user="alice").remember("It was Granite Mutual.")
        assert memory.scoped(user="alice").history()[-1].text == f"It was {MASK}."
        memory.scoped(user="alice").forget(user="alice")
        assert not [event for event in memory.scoped(user="alice").events() if "kept_out" in event.payload]
        memory.scoped(user="alice").remember("It was Granite Mutual.")
        assert memory.scoped(user="alice").history()[-1].text == "It was Granite Mutual."


def test_another_process_that_did_not_hear_of_it_is_refused_by_the_log(tmp_path: Path, opened: Open) -> None:
    url = f"sqlite:///{tmp_path}/memory.db"
    with opened(url=url) as one, opened(url=url) as other:
        other.scoped(user="alice").remember("The gate is green.")
        one.scoped(user="alice").forget(query="44089917", keep_out=True)
        other.scoped(user="alice").remember(PIN)
        assert one.scoped(user="alice").history()[-1].text == f"The PIN of the gate is {MASK}."


def test_a_copy_keeps_out_the_same(opened: Open) -> None:
    with opened(url="memory://") as source, opened(url="memory://") as copy:
        source.scoped(user="alice").forget(query="44089917", keep_out=True)
        source.scoped(user="alice").remember("The gate is green.")
        source.migrate(copy)
        copy.scoped(user="alice").remember(PIN)
        assert copy.scoped(user="alice").history()[-1].text == f"The PIN of the gate is {MASK}."


def test_the_tools_are_all_known() -> None:
    assert {tool.name for tool in (*SERVER_TOOLS, *PAGING_FUNCTIONS) if tool is not SEND} == OWN_TOOLS


def test_a_call_beside_another_tools_is_no_echo() -> None:
    both = [ToolCall(name="memory_recall", id="1"), ToolCall(name="weather", id="2")]
    assert not is_echo(Message(role=Role.ASSISTANT, tool_calls=both))


def test_what_is_forgotten_is_forgotten_in_its_echoes_too(alice: ScopedMemory, face: Face) -> None:
    first = face(alice).remember('My code is "zircon 4711".').positions[0]
    other = face(alice).remember("I like tea.").positions[0]
    excerpt = f"#{other} user: I like tea.\n#{first} user: an excerpt of zircon"
    alice.remember(
        [
            *exchange("c", f"Remembered as #{first}.", "memory_remember", text='My code is "zircon 4711".'),
            *exchange("c", f"#{other} user: I like tea.", "memory_recall", query="tea"),
            *exchange("c", excerpt, "memory_recall", query="code"),
        ]
    )
    planned = face(alice).forget(ids=[f"#{first}"], dry_run=True)
    assert planned.erased["tool messages rewritten"] == 3
    assert "zircon" in alice.history()[-1].text
    face(alice).forget(ids=[f"#{first}"])
    told = texts(alice.history())
    assert not any("zircon" in text for text in told)
    assert told[-3:] == [f"#{other} user: I like tea.", 'memory_recall {"query": "code"}', "(forgotten)"]


MAIL, CARD = "ann.quokka@example.org", "4111 1111 1111 1111"
SECRET = f"My email is {MAIL}, and my card is {CARD}."


def file_block(memory: HybridMemory) -> None:
    file = {"filename": f"{MAIL}.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}
    memory.scoped(user="u").remember({"content": [{"type": "file", "file": file}, {"type": "text", "text": SECRET}]})


def question(memory: HybridMemory) -> None:
    alice = memory.scoped(user="u", session="s")
    alice.remember("The cat sleeps.")
    memory.scoped(user="u", session="t").assemble(f"The cat? {SECRET}")


def items(memory: HybridMemory) -> None:
    value = {"about": SECRET, "nested": [{"mail": MAIL}]}
    memory.items("agent").batch([PutItem(("people",), "ann", value, texts=(SECRET,))])


def block(memory: HybridMemory) -> None:
    block = memory.scoped(user="u").block("notes")
    block.put(SECRET, description=MAIL)
    block.edit(append=f"And {SECRET}")
    block.edit(old="And My", new=f"For {MAIL} my")
    block.edit(value=SECRET)


WRITES: dict[str, Callable[[HybridMemory], Any]] = {
    "text": lambda memory: memory.scoped(user="u").remember(SECRET),
    "name": lambda memory: memory.scoped(user="u").remember({"content": "Hi", "name": MAIL}),
    "metadata": lambda memory: memory.scoped(user="u").remember("Hi", metadata={"mail": MAIL, "card": CARD}),
    "extra": lambda memory: memory.scoped(user="u").remember({"content": "Hi", "extra": {"raw": {"text": [SECRET]}}}),
    "call": lambda memory: memory.scoped(user="u").remember(
        {"role": "assistant", "tool_calls": [{"id": "1", "name": "send", "arguments": {"to": [MAIL]}}]}
    ),
    "file block": file_block,
    "offload": lambda memory: memory.scoped(user="u").offload(f"{SECRET} " * 30),
    "question": question,
    "item": items,
    "block": block,
    "file": lambda memory: memory.scoped(user="u").files().write("/notes/ann.md", SECRET),
    "mirror": lambda memory: memory.scoped(user="u", session="s").mirror([Message(content=SECRET, name=MAIL, id="1")]),
}  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
def test_no_byte_of_it_is_stored(opened: Open, tmp_path: Path, write: str) -> None:
    with opened(redaction={"kinds": ["email", "card"]}) as memory:
        WRITES[write](memory)
        memory.flush()
        assert memory.stats().events
    for file in tmp_path.iterdir():
        assert b"quokka" not in file.read_bytes(), file.name
        assert CARD.encode() not in file.read_bytes(), file.name


def test_what_is_written_again_is_recognized(opened: Open) -> None:
    memory = opened(redaction={"kinds": ["email"]})
    alice = memory.scoped(user="u", session="s")
    said = [Message(content=SECRET, name=MAIL, metadata={"mail": MAIL}, id="1"), Message(content="And now?", id="2")]
    for _ in range(2):
        assert alice.mirror(said) == ["1", "2"]
    assert alice.remember(said).duplicates == ("1", "2")
    assert len(alice.history()) == 2


def test_ids_and_pictures_stay(opened: Open) -> None:
    memory = opened(url="memory://", redaction={"kinds": ["email", "phone", "api key"]})
    alice = memory.scoped(user=MAIL)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "AKIAABCDEFGHIJ123456/" * 20}}
    alice.remember(Message(content=[picture], id="ann@example.org"))
    (message,) = alice.history()
    assert (message.id, message.content) == ("ann@example.org", [picture])
