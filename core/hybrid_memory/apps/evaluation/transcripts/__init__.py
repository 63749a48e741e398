"""``read_transcript``: read conversations recorded by other programs into one form."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from hybrid_memory.apps.evaluation.transcripts.agents import MINI_SWE_AGENT, SWE_AGENT
from hybrid_memory.apps.evaluation.transcripts.documents import Reader, Record, records
from hybrid_memory.apps.evaluation.transcripts.frameworks import LANGCHAIN, LLAMA_INDEX, OPENAI
from hybrid_memory.apps.evaluation.transcripts.products import CHATGPT, CLAUDE_CODE
from hybrid_memory.apps.evaluation.transcripts.transcript import Transcript, paired
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.validation import shown

Form: TypeAlias = Literal["openai", "langchain", "llama-index", "claude-code", "chatgpt", "swe-agent", "mini-swe-agent"]
"""The program that wrote a file."""

MAX_LOOKED_AT = 20
"""The number of lines within which a file must show its form."""


# A trajectory of mini-swe-agent is a conversation in OpenAI's form as well; the first that fits counts.
_READERS: dict[Form, Reader] = {
    "mini-swe-agent": MINI_SWE_AGENT,
    "openai": OPENAI,
    "langchain": LANGCHAIN,
    "llama-index": LLAMA_INDEX,
    "claude-code": CLAUDE_CODE,
    "chatgpt": CHATGPT,
    "swe-agent": SWE_AGENT,
}
_ANY = ("*.json", "*.jsonl", "*.traj")


def read_transcript(path: str | Path, *, form: Form | Literal["auto"] = "auto") -> list[Transcript]:
    """The conversations in a file, or in all files of a folder and its subfolders, by name.

    It keeps roles, names, texts, content blocks, tool calls with results, and times; it skips thinking and empty
    messages. Calls without an id, or with the id of an earlier call, get a new one, and so do their results. A
    conversation is named after its file, plus a key or number if the file contains several. Conversations without
    messages are skipped.

    Args:
        path: JSON or JSONL in UTF-8; JSONL is read line by line.
        form: the program that wrote it; ``auto`` detects it. In a folder a given form reads only files with its names:
            ``*.traj`` for ``swe-agent``, ``*.traj.json`` for ``mini-swe-agent``, ``*.jsonl`` for ``claude-code``,
            ``conversations*.json`` for ``chatgpt``.

    Raises:
        InvalidInputError: the file does not exist, a line is invalid, the form is unknown, or there are no messages.
    """
    if form != "auto" and form not in _READERS:
        raise InvalidInputError(f"unknown format {shown(form)}: choose auto, {_known()}")
    path = Path(path)
    if not path.exists():
        raise InvalidInputError(f"{path}: no such file or folder")
    results: list[Transcript] = []
    if path.is_dir():
        for file in _files(path, form):
            results += _transcripts(file, file.relative_to(path).as_posix(), form)
    else:
        results = _transcripts(path, path.name, form)
    if not results:
        raise InvalidInputError(f"{path} holds no messages")
    return results


def _files(folder: Path, form: Form | Literal["auto"]) -> list[Path]:
    patterns = _ANY if form == "auto" else _READERS[form].files
    files = {file for pattern in patterns for file in folder.rglob(pattern)}
    named = sorted(file for file in files if file.is_file() and not file.name.startswith("."))
    if not named:
        raise InvalidInputError(f"{folder} has no file named {' or '.join(patterns)}")
    return named


def _transcripts(file: Path, name: str, form: Form | Literal["auto"]) -> list[Transcript]:
    values = records(file)
    if form == "auto":
        form, values = _detected(values)
    said = [(chat.name, paired(chat.messages)) for chat in _READERS[form].read(values) if chat.messages]
    single = len(said) == 1 and not said[0][0]
    return [
        Transcript.of(messages, name=name if single else f"{name}#{key or number}", form=form, key=key)
        for number, (key, messages) in enumerate(said, 1)
    ]


def _detected(values: Iterator[Record]) -> tuple[Form, Iterator[Record]]:
    """The form, detected from the first values, and all values."""
    looked_at: list[Record] = []
    for record in islice(values, MAX_LOOKED_AT):
        looked_at.append(record)
        form = next((form for form, reader in _READERS.items() if reader.fits(record.value)), None)
        if form is not None:
            return form, chain(looked_at, values)
    raise looked_at[0].refused(
        f"not a known transcript format: {shown(looked_at[0].value)}; there are {_known()}. Give form= if it is one of "
        "them; in a folder that skips files of other names"
    )


def _known() -> str:
    return ", ".join(get_args(Form))
