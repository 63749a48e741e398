"""How stores and owners are named, and what is said where they are not there."""

from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import MemoryConfig, open_memory
from hybrid_memory.apps.cli.stores import KEY, Owner, open_store
from hybrid_memory.errors import InvalidInputError, WrongKeyError


def test_a_file_a_url_and_a_file_of_settings_name_the_same_store(filled: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text(MemoryConfig(url=f"sqlite:///{filled}", embedder="hashing").to_yaml(), encoding="utf-8")
    for name in (filled, f"sqlite:///{filled}", settings):
        with open_store(str(name), background=False) as memory:
            assert memory.url == f"sqlite:///{filled}"
            assert memory.stats().embedder == "hashing-256"


def test_a_store_that_is_not_there_is_only_made_where_that_is_asked_for(tmp_path: Path, command: Any) -> None:
    path = tmp_path / "new.db"
    with pytest.raises(InvalidInputError, match=r"new\.db: no such store; create one with: hybrid-memory remember"):
        open_store(str(path))
    for line in ("search x", "stats", "check", "export", "rebuild", "remember x"):
        verb, *rest = line.split()
        assert command(verb, path, *rest) == 2
        assert command.err.count("\n") == 1
        assert "no such store" in command.err
    assert not path.exists()
    assert command("stats", tmp_path) == 2
    assert f"{tmp_path} is a folder: name a file in it" in command.err
    with open_store(str(path), create=True, embedder="none", background=False):
        assert path.exists()


def test_vectors_of_an_unknown_embedder_leave_the_words_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "memory.db"

    def lengths(texts: list[str]) -> list[list[float]]:
        return [[1.0, float(len(text))] for text in texts]

    with open_memory(f"sqlite:///{path}", embedder=lengths) as memory:
        memory.scoped(user="alice").remember("The salinity rose.")
        memory.flush()
    with open_store(str(path), background=False) as memory:
        assert [hit.record.text for hit in memory.scoped(user="alice").recall("salinity")] == ["The salinity rose."]
    assert "recall works with words alone" in capsys.readouterr().err


def test_the_key_of_an_encrypted_store_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Any
) -> None:
    pytest.importorskip("sqlcipher3")
    path = tmp_path / "secret.db"
    with open_memory(MemoryConfig(url=f"sqlite:///{path}", embedder="none"), key="open sesame") as memory:
        memory.scoped(user="alice").remember("Nobody may read this.")
    assert command("history", path) == 1
    assert f"environment variable {KEY}" in command.err
    monkeypatch.setenv(KEY, "open sesame")
    assert command("history", path) == 0
    assert "Nobody may read this." in command.out
    assert command("check", path) == 0
    monkeypatch.setenv(KEY, "open barley")
    with pytest.raises(WrongKeyError):
        open_store(str(path))


def test_of_several_owners_one_must_be_named_and_the_error_lists_them(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "m.db"), create=True, embedder="none", background=False) as memory:
        with pytest.raises(InvalidInputError, match=r"is empty: name its owner with --user"):
            Owner().of(memory)
        memory.scoped(user="alice").remember("a")
        memory.scoped(user="alice", agent="coder").remember("b")
        memory.scoped(user="bob", agent="coder", tenant="shop").remember("c")
        with pytest.raises(InvalidInputError, match=r"give --user, --agent or --tenant: .*bob"):
            Owner().of(memory)
        assert str(Owner(user="alice").of(memory, known=True).scope) == "user='alice'"
        assert str(Owner(agent="coder", user="alice").of(memory, known=True).scope) == "user='alice' agent='coder'"
        assert Owner(user="bob").of(memory, known=True).scope.tenant == "shop"
        with pytest.raises(InvalidInputError, match="give --user, --agent or --tenant"):
            Owner(agent="coder").of(memory, known=True)
