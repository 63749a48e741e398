import re
import sys
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.testclient import TestClient

from hybrid_memory import HybridMemory
from hybrid_memory.display import visible
from hybrid_memory.errors import InvalidInputError
from hybrid_memory_inspector import application
from hybrid_memory_inspector.app import PAGES
from hybrid_memory_inspector.guard import HEADERS, form_token
from tests.world import cases

PATHS = [
    "/", "/static/inspector.css", "/static/icon.svg", "/static/nothing", "/nothing",
    "/o/user=alice/forget?position=1", *(f"/o/user=alice/{name}" for name in PAGES),
]  # fmt: skip
TOKEN = "the-token-of-this-session"  # noqa: S105 - of a test
ADDRESS = "http://127.0.0.1:8123"
COOKIE = "hybrid-memory-inspector-8123"


def stranger(memory: HybridMemory, **headers: str) -> TestClient:
    app = application(memory, token=TOKEN, writable=True)
    return TestClient(app, base_url=ADDRESS, headers=headers, follow_redirects=False, raise_server_exceptions=False)


def test_the_paths_of_these_tests_are_all_that_there_are(bare: HybridMemory) -> None:
    app: Starlette = application(bare, token=TOKEN)
    routes = {getattr(route, "path", "") for route in app.routes}
    assert routes == {
        re.sub("/static/.*|/nothing", "/static", path.split("?")[0]).replace("user=alice", "{key}") for path in PATHS
    }


@pytest.fixture
def bare(opened: Callable[..., HybridMemory]) -> HybridMemory:
    memory = opened(url="memory://")
    memory.scoped(user="alice", session="s1").remember("I live in Hamburg.")
    return memory


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "PUT", "OPTIONS"])
def test_nothing_is_answered_without_the_token(bare: HybridMemory, method: str) -> None:
    browser = stranger(bare)
    for path in PATHS:
        answer = browser.request(method, path)
        assert answer.status_code == 401, path
        assert "alice" not in answer.text, path


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer wrong"}, {"authorization": f"Basic {TOKEN}"}, {"authorization": "Bearer "},
        {"authorization": f"Bearer {TOKEN}x"}, {"cookie": f"{COOKIE}=wrong"},
        {"cookie": f"hybrid-memory-inspector-9999={TOKEN}"}, {"cookie": f"token={TOKEN}"}, {"cookie": "\x00;;=;"},
    ],
)  # fmt: skip
def test_a_wrong_token_is_none(bare: HybridMemory, headers: dict[str, str]) -> None:
    assert stranger(bare, **headers).get("/").status_code == 401


def test_the_link_sets_a_cookie_and_leads_to_an_address_without_the_token(bare: HybridMemory) -> None:
    browser = stranger(bare)
    answer = browser.get(f"/o/user=alice/timeline?kind=claim&token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/o/user=alice/timeline?kind=claim")
    cookie = answer.headers["set-cookie"].lower()
    assert COOKIE in cookie
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert browser.get(answer.headers["location"]).status_code == 200
    assert stranger(bare).get("/?token=wrong").status_code == 401
    assert stranger(bare).post(f"/o/user=alice/forget?token={TOKEN}").status_code == 401


@pytest.mark.parametrize("path", ["//elsewhere.example/x", "/\\elsewhere.example", "///elsewhere.example"])
def test_the_link_never_leads_elsewhere(bare: HybridMemory, path: str) -> None:
    answer = stranger(bare).get(f"{ADDRESS}{path}?token={TOKEN}")
    assert re.match(r"/(?![/\\])", answer.headers["location"])


@pytest.mark.parametrize(
    "host",
    [
        "elsewhere.example", "127.0.0.1.elsewhere.example:8123", "0.0.0.0:8123", "192.168.1.2", "", "localhost.:1",
        "x@127.0.0.1",
    ],
)  # fmt: skip
def test_another_host_name_is_refused_even_with_the_token(bare: HybridMemory, host: str) -> None:
    answer = stranger(bare, host=host, authorization=f"Bearer {TOKEN}").get("/")
    assert answer.status_code == 400
    assert "alice" not in answer.text


def test_every_answer_forbids_scripts_framing_and_caching(told: HybridMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = stranger(told, authorization=f"Bearer {TOKEN}")
    paths = {path: inside.get(path) for path in PATHS}
    paths["400"] = stranger(told, host="elsewhere.example").get("/")
    paths["401"] = stranger(told).get("/")
    paths["405"] = inside.delete("/")
    paths["bad input"] = inside.get("/o/user=alice/timeline?at=nonsense")
    monkeypatch.setitem(PAGES, "timeline", lambda _: 1 / 0)
    paths["500"] = inside.get("/o/user=alice/timeline")
    assert paths["500"].status_code == 500
    assert "ZeroDivisionError" in paths["500"].text
    for path, answer in paths.items():
        assert HEADERS.items() <= dict(answer.headers).items(), path
        assert "script" not in answer.headers["content-security-policy"]
        assert "style=" not in answer.text, path
        assert "<script" not in answer.text, path


def test_a_page_that_only_reads_cannot_forget(told: HybridMemory) -> None:
    events = len(told.scoped(user="alice").events())
    reader = TestClient(application(told, token=TOKEN), base_url=ADDRESS, headers={"authorization": f"Bearer {TOKEN}"})
    form = {"form_token": form_token(TOKEN), "confirmed": "yes", "position": "1"}
    assert reader.get("/o/user=alice/forget?position=1").status_code == 403
    assert reader.post("/o/user=alice/forget", data=form).status_code == 403
    for page in ("timeline", "event?position=1", "search?q=train"):
        text = reader.get(f"/o/user=alice/{page}").text
        assert "forget" not in text.lower()
        assert "read-only" in text
    assert len(told.scoped(user="alice").events()) == events


@pytest.mark.parametrize(
    ("form", "headers", "status"),
    [*cases("inspector/guard.json", "forms"), ({"form_token": TOKEN}, {}, 403), ({"more": "x" * 200_000}, {}, 413)],
)
def test_a_form_that_is_not_ours_or_not_confirmed_forgets_nothing(
    told: HybridMemory, writer: TestClient, form: dict[str, object], headers: dict[str, str], status: int
) -> None:
    events = told.scoped(user="alice").events()
    ours = {"form_token": form_token(TOKEN), "confirmed": "yes", "position": "1"}
    answer = writer.post("/o/user=alice/forget", data={**ours, **form}, headers=headers)
    assert answer.status_code == status
    assert told.scoped(user="alice").events() == events


def test_the_form_of_the_page_forgets_what_it_showed(fresh: HybridMemory, browse: Any) -> None:
    alice, writer = fresh.scoped(user="alice"), browse(fresh, writable=True)
    events = alice.events()
    assert '/forget?position=1"' in writer.get("/o/user=alice/event?position=1").text
    asked = writer.get("/o/user=alice/forget?position=%231")
    assert "Northwind" in asked.text
    assert alice.events() == events
    expected = alice.forget(ids="#1", dry_run=True)
    for name, count in expected.erased.items():
        assert f"<dt>{name}</dt><dd>{count}</dd>" in asked.text
    fields = dict(re.findall(r'name="(form_token|position)" value="([^"]+)"', asked.text))
    answer = writer.post("/o/user=alice/forget", data={**fields, "confirmed": "yes"}, headers={"origin": ADDRESS})
    assert (answer.status_code, answer.headers["location"]) == (303, "/o/user=alice/timeline")
    with pytest.raises(InvalidInputError, match="has no event with"):
        alice.expand("#1")
    assert "Northwind" not in writer.get("/o/user=alice/timeline?kind=message").text


def test_facts_are_approved_corrected_and_rejected_on_their_page(fresh: HybridMemory, browse: Any) -> None:
    alice, writer = fresh.scoped(user="alice"), browse(fresh, writable=True)
    assert "form_token" not in browse(fresh).get("/o/user=alice/facts").text
    page = writer.get("/o/user=alice/facts").text
    (token, *_) = re.findall(r'name="form_token" value="([^"]+)"', page)
    home = next(fact for fact in alice.facts() if fact.value == "Berlin")
    name, train = (fact for word in ("Northwind", "NJ 491") for fact in alice.facts() if word in fact.text)
    for fact, does, value in ((home, "correct", "Potsdam"), (name, "approve", ""), (train, "reject", "")):
        assert f'name="fact" value="{fact.id}"' in page
        form = {"form_token": token, "fact": str(fact.id), "does": does, "value": value}
        assert writer.post("/o/user=alice/facts", data=form, headers={"origin": "http://evil"}).status_code == 403
        answer = writer.post("/o/user=alice/facts?history=1", data=form, headers={"origin": ADDRESS})
        assert (answer.status_code, answer.headers["location"]) == (303, "/o/user=alice/facts?history=1")
    assert "Potsdam" in writer.get("/o/user=alice/facts").text
    facts = {fact.id: fact for fact in alice.facts(history=True)}
    assert [fact.value for fact in alice.facts(attribute="home")] == ["Potsdam"]
    assert [facts[each.id].reviewed for each in (home, name, train)] == [True] * 3
    assert [facts[each.id].current for each in (home, name, train)] == [False, True, False]
    for form in ({"fact": "0", "does": "approve"}, {"fact": str(name.id), "does": "drop"}):
        answer = writer.post("/o/user=alice/facts", data={**form, "form_token": token}, headers={"origin": ADDRESS})
        assert answer.status_code == 400
    assert browse(fresh).post("/o/user=alice/facts", data={"form_token": token}).status_code == 403


SEEN = {"\n", "\t", "\u200c", "\u200d"}
"""Line breaks, and the joiners that Persian and emoji are made of."""


FILLERS = set("\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Letters and marks by name, which nobody sees."""


def test_no_control_format_or_private_character_is_left_invisible() -> None:
    unseen = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    hidden = [char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(char) in unseen]
    wanted = [char for char in hidden if char not in SEEN]
    assert len(wanted) > 100_000
    assert visible("".join(wanted)) == "".join(f"⟨U+{ord(char):04X}⟩" for char in wanted)
    assert visible("".join(SEEN)) == "".join(SEEN)


@given(st.text(st.characters(categories=["L", "M", "N", "P", "S", "Zs"])))
def test_what_is_seen_stays_as_it_is(text: str) -> None:
    assert all(
        char == shown or char in FILLERS or char >= "\U000e0000"
        for char, shown in zip(text, map(visible, text), strict=True)
    )
