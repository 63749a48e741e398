"""A local model that reads facts, in this process."""

from __future__ import annotations

import threading
from importlib import import_module
from pathlib import Path
from typing import Any

MODELS = Path(__file__).resolve().parents[2] / ".models"
MAX_ANSWER_TOKENS = 700
CONTEXT_TOKENS = 8192


def local_model(name: str) -> LlamaCpp:
    """The model in a GGUF file: a path, or the beginning of a name in ``.models``."""
    path = Path(name)
    if not path.is_file():
        found = sorted(MODELS.glob(f"{name}*.gguf"))
        if not found:
            raise SystemExit(f"no GGUF file {name!r}, and none of that name in {MODELS} (make test-full downloads one)")
        path = found[0]
    return LlamaCpp(path)


class LlamaCpp:
    """A chat model on one thread; the same answer every time."""

    def __init__(self, path: Path) -> None:
        try:
            llama = import_module("xllamacpp")
        except ImportError:
            raise SystemExit("a model needs xllamacpp: run this with the environment of make test-full") from None
        self.name = path.stem
        settings = llama.CommonParams()
        settings.model.path = str(path)
        settings.n_ctx = CONTEXT_TOKENS
        settings.n_parallel = 1
        settings.use_jinja = True
        settings.verbosity = 0
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
        settings.hostnames, settings.port = ["127.0.0.1"], 0
        self._server = llama.Server(settings)
        self._lock = threading.Lock()

    def __call__(self, messages: list[dict[str, str]]) -> str:
        """The answer."""
        asked = {"messages": messages, "temperature": 0, "max_tokens": MAX_ANSWER_TOKENS}
        with self._lock:
            response: dict[str, Any] = self._server.handle_chat_completions(asked)
        if "choices" not in response:
            raise RuntimeError(str(response))
        answer: str = response["choices"][0]["message"]["content"]
        return answer
