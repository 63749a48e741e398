from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from html import escape, unescape
from typing import Any
from urllib.parse import unquote, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from hybrid_memory import EventKind, HybridMemory, Scope
from hybrid_memory.errors import InvalidInputError, MissingDependencyError
from hybrid_memory.recall.cache import RecallProjection
from hybrid_memory.store.view import HIDING
from hybrid_memory_inspector.app import PAGES
from hybrid_memory_inspector.guard import visible
from hybrid_memory_inspector.reading import key_of, moment_of, scope_of
from hybrid_memory_inspector.words import KINDS

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
        found += [f"/o/{key_of(owner)}/event?position={event.position}" for event in events]
        found += [f"/o/{key_of(owner)}/prompt?turn={event.position}" for event in events[:9]]
    return found


def words(page: str) -> str:
    """What a page says, without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_no_page_writes_learns_indexes_or_counts_anything(fresh: HybridMemory, browse: Any) -> None:
    # Not read for facts yet, and not indexed.
    fresh.scoped(user="alice", session="new").remember("I work as a pilot now. What was my job?")
    services = fresh._runtime.services
    before = {owner: services.log.read(owner) for owner in fresh.owners()}
    applied = {owner: services.index.applied(owner) for owner in fresh.owners()}
    browser = browse(fresh, writable=True)
    for path in pages_of(fresh):
        assert browser.get(path).status_code == 200, path
    assert {owner: services.log.read(owner) for owner in fresh.owners()} == before
    assert {owner: services.index.applied(owner) for owner in fresh.owners()} == applied
    assert not list(services.state(RecallProjection).uses.counted())


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
    held = {"role": "user", "content": "Held back."}
    drafts = [
        services.draft(kind, held if kind is EventKind.QUARANTINED else {"by": "version 9"}, session=TRIP.session)
        for kind in set(EventKind) - {event.kind for event in memory.scoped(user="alice").events()} - HIDING
    ]
    services.log.append(alice.scope.owner, drafts)
    alice.remember({"content": "I sail to Elba.", "id": "sail"})
    alice.mirror([{"content": "I sail to Capri.", "id": "sail"}])
    alice.rollback(alice.events()[-1].position)


def test_every_page_shows_every_kind_of_event(fresh: HybridMemory, browse: Any) -> None:
    every_kind(fresh)
    browser = browse(fresh, writable=True)
    events = fresh._runtime.services.truth.read(Scope(user="alice"))
    assert {event.kind for event in events} == set(EventKind) == set(KINDS)
    for path in [*pages_of(fresh), *(f"{ALICE}/event?position={event.position}" for event in events)]:
        answer = browser.get(path)
        assert answer.status_code in ({200, 400} if "/event?" in path else {200}), path
        assert not re.search(r"built-in|bound method|object at 0x|<function", unescape(answer.text)), path
    for kind, name in ((kind, name) for kind, name in KINDS.items() if kind not in HIDING):
        assert f'class="kind">{name}<' in browser.get(f"{ALICE}/timeline?kind={kind}").text or kind == "message"


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
    browser, path, seen = browse(memory), "/o/user=bob/timeline", []
    while path:
        page = browser.get(path).text
        seen += [int(number) for number in re.findall(r'class="place" href="[^"]*position=(\d+)', page)]
        older = re.search(r'rel="next" href="([^"]+)"', page)
        path = unescape(older[1]) if older else ""
    assert seen == [event.position for event in reversed(bob.events())]


def test_the_timeline_shows_one_kind_or_one_session(told: HybridMemory, reader: TestClient) -> None:
    claims = told.scoped(user="alice").events(kinds=["claim"])
    page = reader.get(f"{ALICE}/timeline?kind=claim").text
    assert page.count('<li class="entry claim">') == len(claims) == page.count('<li class="entry') > 2
    mine = told.scoped(user="alice", session=TRIP.session).events()
    page = reader.get(f"{SESSION}/timeline").text
    assert page.count('<li class="entry') == min(len(mine), 50)
    assert "A word in a strange place" not in page


def test_the_badges_name_the_turns_that_stand_in_the_prompt(told: HybridMemory, reader: TestClient) -> None:
    alice = told.scoped(user="alice", session=TRIP.session)
    entries = re.findall(r'<li class="entry message">.*?</li>', reader.get(f"{SESSION}/timeline").text, re.DOTALL)
    badged = {int(re.search(r"position=(\d+)", entry)[1]) for entry in entries if "L1 in the prompt" in entry}  # type: ignore[index]
    there = {message.id for message in alice.assemble(max_tokens=5000).messages}
    shown = {event.position for event in alice.events(kinds=["message"]) if event.id in there}
    assert badged == shown
    assert 0 < len(shown) < len(entries)
    assert all("L2 searchable" in entry and "L3" not in entry for entry in entries)


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


@pytest.mark.parametrize("wanted", ["night VIENNA", "乌龙茶", "assistant harbour", "nothing like this"])
def test_a_timeline_holds_the_events_with_all_words(told: HybridMemory, reader: TestClient, wanted: str) -> None:
    page = reader.get(f"{ALICE}/timeline?{urlencode({'q': wanted, 'kind': 'message'})}").text
    shown = {int(number) for number in re.findall(r'class="place" href="[^"]*position=(\d+)', page)}
    events = told.scoped(user="alice").events(kinds=["message"])
    texts = {event.position: f"{event.message.role} {event.message.text}".casefold() for event in events}
    assert shown == {place for place, text in texts.items() if all(word in text for word in wanted.casefold().split())}
    assert bool(shown) == (wanted in {"night VIENNA", "乌龙茶"}) == ("<mark>" in page)


def test_a_filter_goes_on_where_it_stopped(opened: Callable[..., HybridMemory], browse: Any) -> None:
    memory = opened(url="memory://", embedder="none")
    bob = memory.scoped(user="bob", session="s")
    bob.remember([{"role": "user", "content": "needle" if number == 3 else "hay"} for number in range(5100)])
    browser = browse(memory)
    page = browser.get("/o/user=bob/timeline?q=needle").text
    assert '<li class="entry' not in page
    (older,) = re.findall(r'rel="next" href="([^"]+)"', page)
    assert browser.get(unescape(older)).text.count('<li class="entry') == 1


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


def test_why_not_is_a_button_on_every_turn(reader: TestClient) -> None:
    page = reader.get(f"{ALICE}/timeline?kind=message&q=harbour").text
    (link,) = re.findall(r'<a class="ask-why" href="([^"]+)"', page)
    (answer,) = re.findall(r'<section class="panel answer".*?</section>', reader.get(unescape(link)).text, re.DOTALL)
    assert "'harbour'" in words(answer)
    assert "near the harbour" in words(answer)


def test_figures_of_prompts_outlive_the_process(
    tmp_path: Any, opened: Callable[..., HybridMemory], browse: Any
) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    memory = opened(url=url)
    carol = memory.scoped(user="carol", session="s")
    tokens = []
    for number in range(3):
        carol.remember(f"Where do I sail in year {number}?")
        tokens.append(carol.assemble(max_tokens=900).tokens)
        carol.remember("To Elba.", role="assistant")
    memory.close()
    page = words(browse(opened(url=url)).get("/o/user=carol/figures").text)
    assert "Prompts 3 " in page
    assert f"Tokens of a prompt {sorted(tokens)[1]:,} median" in page
    assert all(re.search(rf" {count:,} 900 \d+ Where do I sail", page) for count in tokens)


def test_a_memory_without_a_session_shows_its_summary_and_prompt(
    opened: Callable[..., HybridMemory], browse: Any
) -> None:
    memory = opened(url="memory://")
    for day, text in enumerate(("I decided to sail to Elba.", "I decided to paint the boat green.", "And now?")):
        memory.scoped(user="carol", session=f"day {day}").remember(text)
    carol = memory.scoped(user="carol")
    browser = browse(memory)
    assert "Choose a session" in words(browser.get("/o/user=carol/prompt").text)
    carol.compact(keep=1)
    assert "decided to sail to Elba" in words(browser.get("/o/user=carol/summaries").text)
    prompt = words(browser.get("/o/user=carol/prompt").text)
    assert carol.assemble().tokens > 0
    assert "decided to sail to Elba" in prompt
    assert "And now?" in prompt


def test_a_search_shows_how_sure_each_hit_is_on_one_scale(told: HybridMemory, reader: TestClient) -> None:
    query = "Which train did Alice book to Vienna?"
    hits = told.scoped(user="alice").recall(query, k=5)
    page = reader.get(f"{ALICE}/search?{urlencode({'q': query, 'k': 5})}").text
    assert [f"{hit.confidence:.2f}" for hit in hits] == re.findall(r"confidence (\d\.\d\d)</span>", page)
    for hit, bar in zip(hits, re.findall(r'<svg class="bar whole"(.*?)</svg>', page, re.DOTALL), strict=True):
        drawn = sum(float(width) for width in re.findall(r' width="([\d.]+)"', bar))
        assert drawn == pytest.approx(100 * (hit.score if hit.own is None else hit.own), abs=0.1)


def test_a_search_says_why_a_turn_did_not_come_back(told: HybridMemory, reader: TestClient) -> None:
    expected = told.scoped(user="alice").why("#1", "night train", k=1)
    page = words(reader.get(f"{ALICE}/search?q=night+train&k=1&missing=1").text)
    assert expected.about in page
    assert all(step in page for step in expected.steps)
    assert "has no event with" in words(reader.get(f"{ALICE}/search?q=night+train&missing=%23999999").text)


def test_the_facts_of_an_earlier_time_are_those_of_that_time(told: HybridMemory, reader: TestClient) -> None:
    now, then = (words(reader.get(f"{ALICE}/facts{at}").text) for at in ("", "?at=2026-04-15"))
    assert "Berlin current" in now
    assert "Hamburg superseded" in now
    assert "replaced by Berlin" in now
    assert "Hamburg current" in then
    assert "Berlin" not in then
    assert "Looking at the memory as it was on 2026-04-15" in then
    assert "Back to now" in then
    assert "Back to now" not in now


def test_a_time_that_was_chosen_is_kept_on_every_page_of_the_owner(reader: TestClient) -> None:
    page = reader.get(f"{ALICE}/facts?at=2026-04-15T00:00").text
    links = [unescape(link) for link in re.findall(r'<li><a href="([^"]+)"', page.split("</nav>")[0])]
    assert len(links) == 6
    assert all("at=2026-04-15T00%3A00%3A00Z" in link for link in links)


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


def words_of(text: str) -> str:
    return " ".join(visible(text).split())


def test_the_prompt_of_a_turn_is_the_one_that_was_made_for_it(opened: Callable[..., HybridMemory], browse: Any) -> None:
    memory = opened(url="memory://")
    carol = memory.scoped(user="carol", session="s")
    made = {}
    for number in range(4):
        carol.remember(f"My plan number {number} is to sail to island {number}. Where to sail?", role="user")
        context = carol.assemble(max_tokens=900)
        turn = carol.events(kinds=["message"], limit=1)[0].position
        made[turn] = context
        carol.remember(f"To island {number}.", role="assistant")
    browser = browse(memory)
    for turn, context in made.items():
        page = browser.get(f"/o/user=carol&session=s/prompt?turn={turn}&tokens=900").text
        assert f"{context.tokens} of 900 tokens" in words(page)
        pieces = [words(piece) for piece in re.findall(r'<bdi class="said">(.*?)</bdi>', page, re.DOTALL)]
        assert " ".join(pieces) == " ".join(" ".join(message.text for message in context.messages).split())
        assert page.count('class="breakpoint"') == len(context.breakpoints)


def test_a_prompt_has_its_plan(told: HybridMemory, reader: TestClient) -> None:
    context = told.scoped(user="alice", session=TRIP.session).assemble(max_tokens=300)
    page = reader.get(f"{SESSION}/prompt?tokens=300").text
    table = re.search(r'<table class="plan">(.*?)</table>', page, re.DOTALL)
    assert table
    rows = [words(row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", table[1], re.DOTALL)][1:]
    assert len(rows) == len(context.plan) > 3
    for row, piece in zip(rows, context.plan, strict=True):
        assert row.startswith(piece.section)
        assert row.endswith(f"{piece.tokens:,} {piece.reason}")
        assert piece.handle in row
    lost = sum(not piece.shown for piece in context.plan)
    assert lost
    assert f"{lost} are left out" in words(page)
    assert table[1].count('class="faint"') == lost


def test_a_budget_too_small_is_shown_as_it_is(reader: TestClient) -> None:
    page = words(reader.get(f"{SESSION}/prompt?tokens=50").text)
    assert re.search(r"\d+ of 50 tokens", page)


def test_a_prompt_says_why_it_cannot_be_made(reader: TestClient) -> None:
    refused = reader.get(f"{SESSION}/prompt?tokens=1")
    assert refused.status_code == 400
    assert f'href="{escape(SESSION)}/timeline"' in refused.text


ADDRESSES = st.dictionaries(
    st.sampled_from("at before history k kind missing position q tokens turn".split()),
    st.one_of(st.integers(-5, 90).map(str), st.text(max_size=12), st.sampled_from(["#3", "session", "9" * 30, "２"])),
    max_size=4,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(PAGES)), query=ADDRESSES, owner=st.sampled_from([ALICE, SESSION, "/o/space=team"]))
def test_no_address_breaks_a_page(reader: TestClient, name: str, query: dict[str, str], owner: str) -> None:
    address = urlencode({key: value.encode(errors="replace") for key, value in query.items()})
    assert reader.get(f"{owner}/{name}?{address}").status_code in {200, 400}


NAMES = st.none() | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=30
)


@given(tenant=NAMES, user=NAMES, agent=NAMES, session=NAMES)
def test_any_owner_has_an_address_that_leads_back(
    tenant: str | None, user: str | None, agent: str | None, session: str | None
) -> None:
    if tenant is user is agent is None:
        user = "u"
    scope = Scope(tenant, user, agent, session)
    key = key_of(scope)
    assert re.fullmatch(r"[A-Za-z0-9=&_.~-]+", key)
    assert scope_of(key) == scope_of(unquote(key)) == scope


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("", None), (" ", None), ("12", 12), ("#12", 12),
        ("2026-05-01", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-01 18:00", datetime(2026, 5, 1, 18, tzinfo=UTC)),
        ("2026-05-01T18:00:00+02:00", datetime(2026, 5, 1, 16, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_a_moment_is_a_position_or_an_instant(text: str, moment: object) -> None:
    assert moment_of(text) == moment


@pytest.mark.parametrize("text", ["yesterday", "#", "-1", "12:00"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="neither a position"):
        moment_of(text)


@pytest.mark.parametrize("package", ["jinja2", "starlette", "uvicorn"])
def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package or "_inspector" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=rf"{package} .*\[inspector\]"):
        _ = importlib.import_module("hybrid_memory_inspector").serve


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
    for scope in ("user=dave", "user=dave&session=s"):
        for at in ("", "&at=1400"):
            for page in paths:
                assert browser.get(f"/o/{scope}/{page}{at}").status_code == 200
    assert "have no summary yet" in browser.get("/o/user=dave&session=s/prompt").text
    assert max(sizes) <= 1001
