"""Models with real weights."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import xllamacpp

from hybrid_memory.models.language import as_language_model
from hybrid_memory.ports import LanguageModel
from tests.full import weights


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks the big model takes longest: begun first, it does not leave a core idle at the end."""
    items.sort(key=lambda item: "local_model" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def smollm2() -> str:
    """A folder with SmolLM2-135M-Instruct as transformers reads it."""
    return str(weights.smollm2())


@pytest.fixture(scope="session")
def qwen() -> Path:
    """The file of Qwen2.5-Coder-1.5B-Instruct in 4 bit."""
    return weights.qwen()


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
