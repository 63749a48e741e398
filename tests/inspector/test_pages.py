import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from hybrid_memory import EventKind, HybridMemory, Message, Origin, Scope
from hybrid_memory.display import visible
from hybrid_memory.recall.cache import RecallProjection
from hybrid_memory.store.view import HIDING
from hybrid_memory_inspector.app import PAGES
from hybrid_memory_inspector.reading import KINDS, key_of

ALICE = "/o/user=alice"
TRIP = Scope(user="alice", session="s/1 & more")
SESSION = f"/o/{key_of(TRIP)}"


def pages_of(memory: HybridMemory) -> list[str]:
    """The address of every page of every owner and session, with something on it."""
    found = ["/", "/?q=alice"]
    for owner in memory.owners():
        events = memory.scoped(user="alice").events() if owner.user == "alice" else []
        sessions = {event.scope.session for event in events}
        for scope in (owner, *(Scope(user="alice", session=name) for name in sessions if name)):
            base = f"/o/{key_of(scope)}"
            found += [f"{base}/{name}" for name in PAGES if name != "event"]
            found += [f"{base}/search?q=note+train&k=20&missing=%233"]
            found += [f"{base}/{name}?at=30" for name in ("timeline", "facts", "summaries", "prompt")]
            found += [f"{base}/facts?at=2026-04-01T00:00:00Z", f"{base}/search?q=Berlin&at=2026-04-01"]
        of_each_kind = {event.kind: event.position for event in events}.values()
        found += [f"/o/{key_of(owner)}/event?position={position}" for position in of_each_kind]
        found += [f"/o/{key_of(owner)}/prompt?turn={event.position}" for event in events[:3]]
    return found


def words(page: str) -> str:
    """What a page says, without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def every_kind(memory: HybridMemory) -> None:
    """Adds to alice's conversation what makes the other kinds of events."""
    alice = memory.scoped(user="alice", session=TRIP.session)
    alice.files().write("/notes/trip.md", "Pack the tent.")
    alice.files().write("/notes/trip.md", "Pack the stove.")
    alice.offload("A long report. " * 200, max_tokens=50)
    gone = alice.remember("Forget this one.").ids[0]
    alice.forget(ids=[gone])
    memory.scoped(user="alice", session="cleared").remember("A word.")
    memory.scoped(user="alice", session="cleared").reset()
    services = memory._runtime.services
    drafts = [
        services.draft(kind, {"by": "version 9"}, session=TRIP.session)
        for kind in set(EventKind) - {event.kind for event in memory.scoped(user="alice").events()} - HIDING
    ]
    services.log.append(alice.scope.owner, drafts)
    alice.remember({"content": "I sail to Elba.", "id": "sail"})
    alice.mirror([{"content": "I sail to Capri.", "id": "sail"}])
    alice.rollback(alice.events()[-1].position)


def test_every_page_shows_every_kind_of_event_and_changes_nothing(fresh: HybridMemory, browse: Any) -> None:
    every_kind(fresh)
    # Not read for facts yet, and not indexed.
    fresh.scoped(user="alice", session="new").remember("I work as a pilot now. What was my job?")
    services, browser = fresh._runtime.services, browse(fresh, writable=True)
    before = {owner: services.truth.read(owner) for owner in fresh.owners()}
    applied = {owner: services.index.status(owner).applied for owner in fresh.owners()}
    events = before[Scope(user="alice")]
    assert {event.kind for event in events} == set(EventKind) == set(KINDS)
    of_each_kind = {event.kind: event.position for event in events}.values()
    for path in [*pages_of(fresh), *(f"{ALICE}/event?position={position}" for position in of_each_kind)]:
        answer = browser.get(path)
        assert answer.status_code in ({200, 404} if "/event?" in path else {200}), path
        assert not re.search(r"built-in|bound method|object at 0x|<function", unescape(answer.text)), path
    for kind, name in ((kind, name) for kind, name in KINDS.items() if kind not in HIDING):
        assert f'class="kind">{name}<' in browser.get(f"{ALICE}/timeline?kind={kind}").text or kind == "message"
    assert "summarised up to" in browser.get(f"{ALICE}/timeline?kind=compaction").text
    assert {owner: services.truth.read(owner) for owner in fresh.owners()} == before
    assert {owner: services.index.status(owner).applied for owner in fresh.owners()} == applied
    assert not list(services.state(RecallProjection).uses.counted())


def test_a_crafted_text_is_text_on_every_page(told: HybridMemory, browse: Any) -> None:
    browser = browse(told, writable=True)
    note = told.scoped(user="alice").recall("note to self")[0].record.turn
    shown = set()
    for path in [*pages_of(told), f"{ALICE}/forget?position={note}", f"{ALICE}/timeline?at=%1b%e2%80%ae<script>"]:
        page = browser.get(path).text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069\U000e0041]", page), path
        assert not re.search(r"<(script|img|b>|iframe)|href=.javascript|\bon\w+=|style=", unquoted(page)), path
        if "&lt;script&gt;" in page and "⟨U+202E⟩gnp.exe" in page and "⟨U+001B⟩[31m" in page:
            assert "{{ 7 * 7 }}" in page
            shown.update(re.split("[/?]", path)[3:4])
    assert shown >= {*PAGES, "forget"}


def unquoted(page: str) -> str:
    """The page without what its texts say."""
    return re.sub(r"<bdi[^>]*>[^<]*</bdi>|<option[^>]*>[^<]*</option>|<title>[^<]*</title>", "", page).replace(
        "<b>", ""
    )


def test_the_timeline_leads_through_the_whole_log_once(opened: Callable[..., HybridMemory], browse: Any) -> None:
    memory = opened(url="memory://")
    bob = memory.scoped(user="bob", session="s")
    bob.remember([{"role": "user", "content": f"Turn {number}."} for number in range(137)])
    browser, path, seen = browse(memory), "/o/user=bob/timeline?kind=everything", []
    while path:
        page = browser.get(path).text
        seen += [int(number) for number in re.findall(r'class="place" href="[^"]*position=(\d+)', page)]
        older = re.search(r'rel="next" href="([^"]+)"', page)
        path = unescape(older[1]) if older else ""
    assert seen == [event.position for event in reversed(bob.events())]


def test_a_search_shows_the_hits_of_recall_with_points_that_add_up(told: HybridMemory, reader: TestClient) -> None:
    query = "Which train did Alice book to Vienna?"
    hits = told.scoped(user="alice").recall(query, k=5)
    page = reader.get(f"{ALICE}/search?{urlencode({'q': query, 'k': 5})}").text
    found = re.findall(r'<li class="hit">(.*?)</table>(.*?)</li>', page, re.DOTALL)
    assert len(found) == len(hits) == 5
    for hit, (table, rest) in zip(hits, found, strict=True):
        points = [float(number) for number in re.findall(r'<td class="number">([\d.]+)</td></tr>', table)]
        assert points[-1] == pytest.approx(hit.score, abs=0.0006)
        own = hit.score if hit.own is None else hit.own
        signals = points[:-1] if hit.own is None else points[:-2]
        assert sum(signals) == pytest.approx(own, abs=0.0006 * len(points))
        assert hit.own is None or points[-2] == pytest.approx(own, abs=0.0006)
        assert hit.why() in words(rest)
    plan = str(hits[0].plan)
    assert f"{plan[0].upper()}{plan[1:]}." in words(page)


def test_a_turn_leads_to_its_facts_and_lines_and_they_lead_back(told: HybridMemory, reader: TestClient) -> None:
    alice = told.scoped(user="alice", session=TRIP.session)
    fact = next(fact for fact in alice.facts() if "Berlin" in fact.value)
    page = reader.get(f"{ALICE}/event?position={fact.positions[0]}").text
    (link,) = re.findall(rf'href="([^"]+)#fact-{fact.id}"', page)
    facts = reader.get(unescape(link)).text
    assert f'id="fact-{fact.id}"' in facts
    assert f'event?position={fact.positions[0]}"' in facts
    line = alice.summary().lines[0]
    page = reader.get(f"{ALICE}/event?position={line.first}").text
    link, anchor = re.findall(r'href="([^"]+)#(line-[\d-]+)"', page)[0]
    assert f'id="{anchor}"' in reader.get(unescape(link)).text


def test_a_line_of_a_summary_opens_to_the_words_behind_it(told: HybridMemory, reader: TestClient) -> None:
    alice = told.scoped(user="alice", session=TRIP.session)
    summary = alice.summary()
    page = reader.get(f"{SESSION}/summaries").text
    lines = [words(part) for part in re.findall(r'<details class="line"[^>]*>(.*?)</details>', page, re.DOTALL)]
    assert len(lines) == len(summary.lines) > 2
    plain = [" ".join(line.split()) for line in lines]
    for line in summary.lines:
        (shown,) = [text for text in plain if text.startswith(words_of(line.text))]
        assert all(words_of(message.text) in shown for message in alice.expand(line))
    assert all(handle in page for handle in summary.handles)


def test_pages_begin_with_what_is_newest_said_and_current(fresh: HybridMemory, browse: Any) -> None:
    alice, browser = fresh.scoped(user="alice", session="today"), browse(fresh)
    alice.remember(["Where do I live?", {"role": "assistant", "content": "In Berlin."}, "And which train did I book?"])
    context = alice.assemble(max_tokens=400)
    pages = {name: browser.get(f"{ALICE}/{name}").text for name in ("prompt", "timeline", "search", "facts")}
    assert f"{context.tokens} of 400 tokens" in pages["prompt"]
    assert '<article class="panel lead"><bdi class="said">And which train did I book?' in pages["prompt"]
    assert pages["prompt"].count('<details class="message">') == len(context.messages)
    own = '<span class="first"><bdi>And which train did I book?</bdi></span> <span class="tag">memories'
    assert own in pages["prompt"]
    assert not re.search(r"<details[^>]* open", pages["prompt"])
    assert set(re.findall(r'<li class="entry (\w+)"', pages["timeline"])) == {"message"}
    marks = [re.findall(r'class="tier (\w+)"', row) for row in pages["timeline"].split('<li class="entry ')[1:]]
    assert {tuple(mark) for mark in marks} == {(), ("semantic",)}, (
        "of what is in a prompt too, and of what is summarised"
    )
    fresh.scoped(user="bo").remember(Message(content="I like tea.", origin=Origin.ASSISTANT))
    assert "Nobody has asked anything here" in browser.get("/o/user=bo/prompt").text, "a note asks nothing"
    assert f'/search?{urlencode({"q": "And which train did I book?"})}">' in pages["search"]
    alice.resolve(next(fact for fact in alice.facts() if fact.value == "Berlin"), value="Potsdam")
    for address, states in (("facts", set()), ("facts?history=1", {"ended", "superseded"}), ("facts?q=potsdam", set())):
        page = browser.get(f"{ALICE}/{address}").text
        assert set(re.findall(r'class="state (\w+)"', page)) == states
        assert "Potsdam" in words(page)


def test_what_is_not_there_has_one_page(reader: TestClient) -> None:
    for path in ("/nothing", "/o/user=alice", "/o/user=nobody/facts", f"{ALICE}/event?position=999", "/static/x"):
        answer = reader.get(path)
        assert (answer.status_code, "<h1>Not found" in answer.text) == (404, True)


def words_of(text: str) -> str:
    return " ".join(visible(text).split())


ADDRESSES = st.dictionaries(
    st.sampled_from("at before history k kind missing position q tokens turn".split()),
    st.one_of(st.integers(-5, 90).map(str), st.text(max_size=12), st.sampled_from(["#3", "session", "9" * 30, "２"])),
    max_size=4,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(PAGES)), query=ADDRESSES, owner=st.sampled_from([ALICE, SESSION, "/o/space=team"]))
def test_no_address_breaks_a_page(reader: TestClient, name: str, query: dict[str, str], owner: str) -> None:
    address = urlencode({key: value.encode(errors="replace") for key, value in query.items()})
    assert reader.get(f"{owner}/{name}?{address}").status_code in {200, 400, 404}


def test_no_page_of_an_owner_reads_a_long_log_as_a_whole(
    opened: Callable[..., HybridMemory], browse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened(url="memory://", embedder="none")
    dave = memory.scoped(user="dave", session="s")
    dave.remember([{"role": "user", "content": f"Is turn {number} one of many?"} for number in range(1500)])
    memory.flush(progress=False)
    log, sizes = memory._runtime.services.log, [0]
    read = log.read

    def counted(*args: Any, **kwargs: Any) -> Any:
        events = read(*args, **kwargs)
        sizes.append(len(events))
        return events

    monkeypatch.setattr(log, "read", counted)
    browser = browse(memory)
    paths = "timeline?before=900 event?position=900 search?q=turn facts?q= summaries?q= prompt?q=".split()
    for scope, at in (("user=dave", "&at=1400"), ("user=dave&session=s", "")):
        for page in paths:
            assert browser.get(f"/o/{scope}/{page}{at}").status_code == 200
    assert "have no summary yet" in browser.get("/o/user=dave&session=s/prompt").text
    assert max(sizes) <= 1001
