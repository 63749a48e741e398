"""A model of a GGUF file, which llama.cpp serves over an OpenAI-compatible endpoint on loopback."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from langchain_core.language_models import BaseChatModel

MODELS = Path(__file__).resolve().parents[1] / ".models"
ANSWER_TOKENS = 40
CONTEXT_TOKENS = 8192


def gguf(name: str) -> Path:
    """The file: a path, or the beginning of a name in ``.models``."""
    path = Path(name)
    found = [path] if path.is_file() else sorted(MODELS.glob(f"{name}*.gguf"))
    if not found:
        raise SystemExit(f"no GGUF file {name!r}, and none of that name in {MODELS} (make test-full downloads two)")
    return found[0]


@contextmanager
def served(path: Path) -> Iterator[BaseChatModel]:
    """The model in a GGUF file, behind an OpenAI-compatible endpoint on loopback, on one thread."""
    try:
        llama, openai = import_module("xllamacpp"), import_module("langchain_openai")
    except ImportError:
        raise SystemExit("a model needs xllamacpp: run this with the environment of make test-full") from None
    settings = llama.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    settings.use_jinja = True
    settings.verbosity = 0
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.hostnames, settings.port = ["127.0.0.1"], 0
    server = llama.Server(settings)
    model: BaseChatModel = openai.ChatOpenAI(
        base_url=server.listening_address, api_key="none", model=path.stem, temperature=0,
        max_completion_tokens=ANSWER_TOKENS, timeout=600,
    )  # fmt: skip
    yield model
