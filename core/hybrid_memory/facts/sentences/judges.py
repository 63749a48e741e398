"""The judge of each embedder: a shipped one, or one fitted once and kept in the cache folder."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.display import Progress
from hybrid_memory.errors import ModelError
from hybrid_memory.facts.sentences.cues import cues
from hybrid_memory.facts.sentences.examples import KINDS, MARKS, SHIPPED, examples
from hybrid_memory.facts.sentences.fitting import LEAST_DIM, embedded, fitted_judge
from hybrid_memory.facts.sentences.judge import SHIPPED as SHIPPED_JUDGE
from hybrid_memory.facts.sentences.judge import Judge
from hybrid_memory.models.port import Embedder

EXAMPLES = SHIPPED
"""The examples for fitting judges."""

BLIND = "hashing-"
"""Prefixes of names of embedders known not to capture meaning."""

PROOF = ("I moved to Lisbon last year.", "Could you make it shorter?", "我对花生过敏。")
"""Sentences whose vectors distinguish a model from another one with the same name."""

ALIKE = 0.98
"""Their least cosine for the same model."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """A judge, and the vectors of `PROOF` from when it was fitted."""

    judge: Judge
    proof: Floats

    def fits(self, proof: Floats) -> bool:
        if self.proof.shape != proof.shape:
            return False
        lengths = np.linalg.norm(self.proof, axis=1) * np.linalg.norm(proof, axis=1)
        return bool(((self.proof * proof).sum(axis=1) >= ALIKE * lengths).all())


_fitting = threading.Lock()
_decided: WeakKeyDictionary[Embedder, Judge | None] = WeakKeyDictionary()
_failed: WeakSet[Embedder] = WeakSet()
_made: defaultdict[str, list[_Kept]] = defaultdict(list)


def judge_of(embedder: Embedder) -> Judge | None:
    """The judge for an embedder's vectors; None if there is none, or none yet: see `fit`."""
    if embedder.name == _shipped().embedder:
        return _shipped()
    return _decided[embedder] if _is_decided(embedder) else None


def awaited(embedder: Embedder) -> bool:
    """Whether a judge must still be fitted for it; False if that failed."""
    return embedder not in _failed and not _is_decided(embedder)


def being_fitted(embedder: Embedder) -> bool:
    """Whether `fit` would wait for another thread."""
    return _fitting.locked() and awaited(embedder)


def fit(embedder: Embedder, progress: Progress | None = None) -> None:
    """Fit a judge to the embedder, if possible; takes minutes with a slow one.

    If the embedder fails, it has no judge until a later call succeeds.
    """
    if _is_decided(embedder):
        return
    with _fitting:
        if _is_decided(embedder):  # another thread was faster
            return
        try:
            _fit(embedder, progress)
            _failed.discard(embedder)
        except ModelError as error:
            _failed.add(embedder)
            _log.warning("%s; rules alone extract facts until %r has a sentence judge", error, embedder.name)


def _fit(embedder: Embedder, progress: Progress | None) -> None:
    proof = embedded(embedder, PROOF)
    judge = fitted_judge(embedder, examples(EXAMPLES), progress) if proof.shape[1] >= LEAST_DIM else None
    if judge is not None:
        prefix = _prefix(embedder.name)
        _made[prefix].append(_Kept(judge, proof))
        _save(judge, proof, prefix)
    _decided[embedder] = judge


def _is_decided(embedder: Embedder) -> bool:
    """Whether it is known which judge it has, if any; loads a cached one."""
    if embedder.name == _shipped().embedder or embedder in _decided:
        return True
    if embedder.name.startswith(BLIND) or not EXAMPLES.is_dir():
        _decided[embedder] = None
        return True
    if (kept := _found(embedder)) is None:
        return False
    _decided[embedder] = kept.judge
    return True


def _found(embedder: Embedder) -> _Kept | None:
    """The cached result for this model, from this process or an earlier one; calls the model only if there is one."""
    prefix = _prefix(embedder.name)
    made, files = _made[prefix], _files(prefix)
    if not made and not files:
        return None
    try:
        proof = embedded(embedder, PROOF)
    except ModelError:
        return None
    kept = next((one for one in chain(made, _loaded(files, embedder.name)) if one.fits(proof)), None)
    if kept is not None and kept not in made:
        made.append(kept)
    return kept


@lru_cache
def _shipped() -> Judge:
    return Judge.load(SHIPPED_JUDGE)


@lru_cache
def _prefix(name: str) -> str:
    """The prefix of judge files for embedders with this name; it changes with the shipped judge and code version."""
    digest = hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=16)
    for file in (SHIPPED_JUDGE, *sorted(EXAMPLES.glob("*.tsv"))):
        digest.update(hashlib.blake2b(file.read_bytes()).digest())
    return f"judge-{digest.hexdigest()}"


def cache_folder() -> Path:
    """The user's cache folder; raises RuntimeError for a user without a home."""
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hybrid-agent-memory"


def _files(prefix: str) -> list[Path]:
    try:
        return sorted(cache_folder().glob(f"{prefix}-*.npz"))
    except (OSError, RuntimeError):
        return []


def _loaded(files: Sequence[Path], embedder: str) -> Iterator[_Kept]:
    for file in files:
        try:
            kept = _Kept(Judge.load(file), _proof(file))
            _check(kept, embedder)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, another one can be fitted
            _log.warning("%s is not a valid sentence judge (%s): it is fitted again", file, error)
            with suppress(OSError):
                file.unlink()
        else:
            yield kept


def _proof(file: Path) -> Floats:
    with file.open("rb") as content, np.load(content, allow_pickle=False) as stored:
        return np.asarray(stored["proof"], dtype=np.float32)


def _check(kept: _Kept, embedder: str) -> None:
    """Raise ValueError for a judge in a format unknown to this code."""
    judge, wide = kept.judge, kept.proof.shape[1] + cues([""], [False]).shape[1]
    outputs = judge.network(np.zeros((1, wide), dtype=np.float32))
    if judge.embedder != embedder or outputs.shape != (1, len(KINDS) + len(MARKS)):
        raise ValueError("it is for another embedder")
    if not np.isfinite([*outputs[0], judge.slope, judge.bias]).all():
        raise ValueError("it holds no finite numbers")


def _save(judge: Judge, proof: Floats, prefix: str) -> None:
    """Save it for other processes, atomically."""
    name = f"{prefix}-{hashlib.blake2b(proof.tobytes(), digest_size=8).hexdigest()}.npz"
    try:
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f".{os.getpid()}-{name}"
        try:
            judge.save(temporary, proof=proof)
            temporary.replace(folder / name)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:
        _log.warning("the sentence judge cannot be saved (%s): the next process fits it again", error)
