"""The judge of sentences that any embedder gets: fitted once, never where somebody waits, and kept."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hybrid_memory import HybridMemory, Message
from hybrid_memory.facts.sentences import fitting, judges
from hybrid_memory.facts.sentences.examples import CLAIMS, Example, parsed
from hybrid_memory.facts.sentences.judge import calibrated
from hybrid_memory.models.embedders import HashingEmbedder
from hybrid_memory.ports import Floats
from hybrid_memory.testing.models import FaultyEmbedder
from tests.doubles import PATIENCE, wait_until
from tests.faces import Face, Open

CHILD = Path(__file__).parents[1] / "children" / "fitter.py"
KINDS = ("chat", "question", "quote")
TAUGHT = 2 * (30 + 11 * len(KINDS))
"""Examples of the two languages."""


class Telling:
    """Vectors of noise, the first number of which tells whether the text has the word "truly"."""

    def __init__(self, name: str = "telling", dim: int = 64, tells: float = 1.0) -> None:
        self.name, self.dim, self.tells = name, dim, tells
        self.texts: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        self.texts += texts
        self.entered.set()
        self.gate.wait(PATIENCE)
        return np.stack([self._row(text) for text in texts])

    def embed_query(self, text: str) -> Floats:
        row: Floats = self.embed_documents([text])[0]
        return row

    @property
    def taught(self) -> int:
        """Examples that it was asked for."""
        return sum("example" in text for text in self.texts)

    def _row(self, text: str) -> Floats:
        seed = hashlib.blake2b(f"{self.tells}{text}".encode(), digest_size=8).digest()
        row = np.random.default_rng(list(seed)).normal(size=self.dim)
        row[0] = self.tells * (8 if "truly" in text else -8)
        return np.asarray(row / np.linalg.norm(row), dtype=np.float32)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where judges are kept: an empty folder, and examples of two languages to fit them to."""
    folder = tmp_path / "examples"
    folder.mkdir()
    for language in ("en", "de"):
        claims = [f"likes=jazz\tI truly like jazz, example {number} {language}" for number in range(30)]
        traps = [f"-{kind}\tI like jazz, example {number} {kind} {language}" for number in range(11) for kind in KINDS]
        (folder / f"{language}.tsv").write_text("\n".join(claims + traps), encoding="utf-8")
    monkeypatch.setattr(judges, "EXAMPLES", folder)
    monkeypatch.setattr(fitting, "BATCH", 32)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    restart(monkeypatch)
    yield tmp_path / "cache" / "hybrid-agent-memory"
    judges._prefix.cache_clear()


def restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has fitted nothing."""
    monkeypatch.setattr(judges, "_made", defaultdict(list))
    judges._prefix.cache_clear()


def say(memory: HybridMemory, *words: str, user: str = "alice") -> None:
    memory.scoped(user=user, session="s").remember([Message(content=word) for word in words])


def told(memory: HybridMemory, user: str = "alice") -> list[str]:
    return [fact.value for fact in memory.scoped(user=user).facts()]


def test_an_embedder_is_taught_with_learn_and_then_judges(opened: Open, face: Face) -> None:
    embedder = Telling()
    memory = opened(embedder=embedder)
    say(memory, "I'm vegan.", "Whatever rain does, it truly moves me.")
    assert face(memory.scoped(user="alice")).learn().learned
    assert embedder.taught == TAUGHT
    # Rules find nothing in the second; of the first they do, and are overruled by a judge that is sure.
    assert told(memory) == ["Whatever rain does, it truly moves me"]


def test_what_is_asked_for_teaches_nothing(opened: Open, face: Face) -> None:
    embedder = Telling()
    memory = opened(embedder=embedder, learning={"background": False})
    say(memory, "I'm vegan.")
    alice = face(memory.scoped(user="alice", session="s"))
    alice.recall("what do I eat?")
    alice.assemble("what do I eat?", max_tokens=500)
    assert [fact.value for fact in alice.facts()] == ["vegan"], "rules read meanwhile"
    assert not embedder.taught


def test_a_prompt_leaves_turns_to_the_background_that_teaches_first(opened: Open, face: Face) -> None:
    memory = opened(embedder=Telling(), learning={"background": True, "delay": "1h"})
    say(memory, "I'm vegan.", "Whatever rain does, it truly moves me.")
    face(memory.scoped(user="alice", session="s")).assemble("Hello", max_tokens=500)
    memory.scoped(user="alice").learn()
    assert told(memory) == ["Whatever rain does, it truly moves me"]


def test_what_rules_read_meanwhile_is_read_again_with_the_judge(opened: Open, face: Face) -> None:
    embedder = Telling()
    memory = opened(embedder=embedder)
    say(memory, "I'm vegan.", "Whatever rain does, it truly moves me.")
    assert told(memory) == ["vegan"]
    face(memory.scoped(user="alice")).learn(again=True)
    assert told(memory) == ["Whatever rain does, it truly moves me"]


@pytest.mark.parametrize("embedder", [HashingEmbedder(), Telling(dim=63)])
def test_no_examples_for_those_that_tell_nothing(opened: Open, embedder: HashingEmbedder | Telling) -> None:
    watched = FaultyEmbedder(embedder)
    memory = opened(embedder=watched)
    say(memory, "I'm vegan.")
    memory.scoped(user="alice").learn()
    assert len(watched.calls) == (0 if isinstance(embedder, HashingEmbedder) else 1), "its width"
    assert told(memory) == ["vegan"]


def test_vectors_of_chance_are_tried_once_with_few_examples(
    opened: Open, monkeypatch: pytest.MonkeyPatch, kept: Path
) -> None:
    monkeypatch.setattr(fitting, "PROBES", 1)
    embedder = Telling("chance", tells=0.0)
    memory = opened(embedder=embedder)
    for word in ("I'm vegan.", "I live in York."):
        say(memory, word)
        memory.scoped(user="alice").learn()
    assert embedder.taught == fitting.BATCH
    assert told(memory) == ["vegan", "York"]
    assert not list(kept.glob("*"))


def test_one_that_fails_is_taught_later_and_rules_read_meanwhile(opened: Open, face: Face) -> None:
    inner = Telling()
    embedder = FaultyEmbedder(inner)
    memory = opened(embedder=embedder)
    alice = face(memory.scoped(user="alice"))
    say(memory, "I'm vegan.")
    with embedder.failing(ConnectionError("no line")):
        alice.learn()
        assert [fact.value for fact in alice.facts()] == ["vegan"]
    say(memory, "Whatever rain does, it truly moves me.")
    alice.learn()
    assert told(memory) == ["vegan", "Whatever rain does, it truly moves me"]


def test_what_was_fitted_is_kept_for_the_next_process(
    opened: Open, monkeypatch: pytest.MonkeyPatch, kept: Path
) -> None:
    judges.fit(Telling())
    assert [file.suffix for file in kept.iterdir()] == [".npz"]
    restart(monkeypatch)
    embedder = Telling()
    memory = opened(embedder=embedder)
    say(memory, "Whatever rain does, it truly moves me.")
    assert told(memory) == ["Whatever rain does, it truly moves me"], "judged at once"
    assert not embedder.taught


@pytest.mark.parametrize("damage", ["garbage", "half", "other"])
def test_a_file_that_is_no_judge_is_made_anew(damage: str, monkeypatch: pytest.MonkeyPatch, kept: Path) -> None:
    judges.fit(Telling())
    (file,) = kept.iterdir()
    whole = file.read_bytes()
    if damage == "other":
        with np.load(file) as stored:
            np.savez(file, **{name: stored[name] for name in stored.files if name != "0.1"})
    else:
        file.write_bytes(b"PK\x03\x04garbage" if damage == "garbage" else whole[: len(whole) // 2])
    restart(monkeypatch)
    embedder = Telling()
    assert judges.judge_of(embedder) is None
    judges.fit(embedder)
    assert embedder.taught == TAUGHT
    restart(monkeypatch)
    assert judges.judge_of(Telling()) is not None, "the file is whole again"


def test_another_model_of_the_same_name_gets_its_own(monkeypatch: pytest.MonkeyPatch, kept: Path) -> None:
    models = [Telling("embed"), Telling("embed", tells=-1.0), Telling("embed", dim=96)]
    for model in models:
        judges.fit(model)
        assert model.taught == TAUGHT
    assert len(list(kept.iterdir())) == 3
    restart(monkeypatch)
    found = [judges.judge_of(Telling("embed", tells=tells)) for tells in (1.0, -1.0)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].network.mean[0] < 0 < found[1].network.mean[0], "each the one of its own vectors"


def test_a_folder_that_cannot_be_written_costs_the_next_process_the_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "no folder"
    file.write_text("")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(file))
    judges.fit(Telling())
    assert "cannot be saved" in caplog.text
    again = Telling()
    assert judges.judge_of(again) is not None
    assert not again.taught, "this process has it"


def test_one_thread_teaches_and_no_other_owner_waits_for_it(opened: Open) -> None:
    embedder = Telling()
    memory = opened(embedder=embedder)
    say(memory, "Whatever rain does, it truly moves me.")
    embedder.gate.clear()
    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(memory.scoped(user="alice").learn) for _ in range(2)]
        try:
            assert embedder.entered.wait(PATIENCE)
            runtime = memory._runtime
            wait_until(lambda: judges.being_fitted(runtime.services.embedder))  # type: ignore[arg-type]
            runtime._learn(memory.scoped(user="bob").scope)  # comes back at once
        finally:
            embedder.gate.set()
        assert sum(job.result(PATIENCE).learned for job in jobs) == 1
    assert embedder.taught == TAUGHT


def test_two_processes_at_once(tmp_path: Path, kept: Path) -> None:
    command = [sys.executable, str(CHILD), str(tmp_path / "examples"), str(kept.parent)]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]  # noqa: S603
    assert [child.communicate(timeout=PATIENCE)[0].strip() for child in children] == ["True", "True"]
    assert [file.suffix for file in kept.iterdir()] == [".npz"], "whole, and nothing beside it"
    assert judges.judge_of(Telling()) is not None


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_a_calibration_is_found_however_large_the_logits_are(scale: float) -> None:
    chance = np.random.default_rng(0)
    logits = chance.normal(size=2_000)
    right = (chance.random(2_000) < 1 / (1 + np.exp(-(2 * logits - 1)))).astype(np.float64)
    slope, bias = calibrated(np.clip(scale * logits, -16, 16), right)
    assert slope > 0
    share = (0.5 * (1 + np.tanh(0.5 * (slope * np.clip(scale * logits, -16, 16) + bias)))).mean()
    assert share == pytest.approx(right.mean(), abs=1e-3)


def test_the_choice_is_fixed_and_has_all_languages_kinds_and_attributes() -> None:
    known: list[Example] = [
        parsed(f"{label}\t{number} {label} {language}", language)
        for language, count in (("en", 400), ("zh", 400), ("ko", 16))
        for label in ("likes=like", "age=age", "-chat", "-quote")
        for number in range(count if label in {"likes=like", "-chat"} else count // 8)
    ]
    picked = fitting.chosen(known, 600)
    assert picked == fitting.chosen(known[::-1], 600)
    assert len(picked) <= 600
    languages = Counter(one.language for one in picked)
    assert languages["ko"] == 36, "all of the rarest"
    assert languages["en"] == languages["zh"] > 200
    kinds = Counter(one.kind for one in picked if one.language == "en")
    assert min(kinds.values()) == 50, "all of the rare kind"
    assert Counter(one.own[0].attribute for one in picked if one.kind == CLAIMS and one.language == "en")["age"] == 50
