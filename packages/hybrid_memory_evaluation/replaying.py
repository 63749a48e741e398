"""Replay a transcript with a method: its prompts, a model's answers, and the journal of results."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hybrid_memory import Message, Role
from hybrid_memory.apps.transcripts import Transcript
from hybrid_memory.ports import LanguageModel
from hybrid_memory.text.tokenize import cjk_share
from hybrid_memory.text.tokens import TokenCounter
from hybrid_memory_evaluation.measures import Metered, Prompts
from hybrid_memory_evaluation.methods.method import Method, Replay, Setting
from hybrid_memory_evaluation.probing.probe import Probe, plain


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The prompt for a probe and what it contains.

    Attributes:
        probe: the probe's id.
        survival: the share of the probe's keys that are literally in the prompt, apart from the question; in [0, 1].
        reach: the share of its sources that are verbatim in the prompt, that a handle in the prompt leads to, or that a
            search for the question can fetch.
        tokens: the size of the prompt; fetched: the tokens fetched in addition, until all keys were there or nothing
            more came.
        finished: whether all keys were in the prompt or in what was fetched.
        prompt: the messages in OpenAI's format, for a model to answer.
    """

    probe: str
    survival: float
    reach: float
    tokens: int
    fetched: int
    finished: bool
    prompt: Sequence[Any]


def replayed(transcript: Transcript, method: Method, probes: Sequence[Probe], setting: Setting) -> dict[str, Any]:
    """The figures of the prompts under ``prompts``, of summaries under ``model``, `ProbeResult` under ``results``.

    There is a prompt for every message of the assistant. The time covers storing the messages and making the prompt.
    """
    meter = None if setting.model is None else Metered(setting.model, setting.count)
    prompts = Prompts(setting.max_tokens, setting.count)
    with method.replay(replace(setting, model=meter)) as replay:
        spent, waiting = 0.0, False
        for message in transcript.messages:
            if message.role is Role.ASSISTANT and waiting:
                started = time.perf_counter()
                prompt = replay.prompt()
                prompts.add(prompt, spent + time.perf_counter() - started)
                spent = 0.0
            started = time.perf_counter()
            replay.say(message)
            spent += time.perf_counter() - started
            waiting = message.role in (Role.USER, Role.TOOL)
        texts = {message.id or "": _words(message) for message in transcript.messages}
        results = [_probe_result(replay, probe, texts, setting.count) for probe in probes]
    return {
        "prompts": prompts.as_dict(),
        "model": {name: getattr(meter, name, 0) for name in ("calls", "sent", "written")},
        "results": [asdict(one) for one in results],
    }


def _probe_result(replay: Replay, probe: Probe, texts: dict[str, str], count: TokenCounter) -> ProbeResult:
    prompt = replay.prompt(probe.question)
    shown = prompt.text.removesuffix(probe.question)
    survival, within = probe.found(shown), plain(shown)
    reached = {one for one in probe.sources if texts[one] in within or replay.reaches(prompt, one)}
    tokens, finished = 0, survival == 1
    if not finished or len(reached) < len(probe.sources):
        for fetched in replay.fetch(probe.question, prompt):
            reached |= fetched.sources.intersection(probe.sources)
            if not finished:
                tokens += count(fetched.text)
                shown = f"{shown}\n{fetched.text}"
                finished = probe.found(shown) == 1
    share = len(reached) / len(probe.sources) if probe.sources else 0.0
    return ProbeResult(probe.id, survival, share, prompt.tokens, tokens, finished, list(prompt.messages))


def _words(message: Message) -> str:
    """The text that a prompt must contain for the message to be in it verbatim."""
    return plain(message.text or " ".join(call.written_arguments for call in message.tool_calls))


_ENGLISH = "Answer from the conversation above, briefly and exactly. If it does not tell, say that you don't know."
_CHINESE = "只根据上面的对话回答，简短而准确。如果对话里没有，就说不知道。"


def answered(model: LanguageModel, prompt: Sequence[Mapping[str, Any]], question: str) -> str:
    """The model's answer to the prompt, whose last message ends with the question.

    Raises:
        ModelError: the model failed, or returned an empty answer.
    """
    said = [_spoken(message) for message in prompt]
    wanted = _CHINESE if cjk_share(question) > 0.5 else _ENGLISH  # noqa: PLR2004 - the larger part
    last = said[-1].model_copy(update={"content": f"{said[-1].text}\n\n{wanted}"})
    return model.complete([*said[:-1], last])


def _spoken(message: Mapping[str, Any]) -> Message:
    """The message as text: calls become words and results become user messages, so that any model accepts them."""
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
    calls = [f"{call['function']['name']}({call['function']['arguments']})" for call in message.get("tool_calls") or ()]
    role = Role.USER if message["role"] == "tool" else Role(message["role"])
    return Message(role=role, content="\n".join(part for part in (text, *calls) if part) or "-")


class Journal:
    """A journal of results by key; each is written before it is used.

    Args:
        file: a JSON Lines file, created if missing; None keeps nothing.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._kept: dict[str, Any] = {}
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    self._kept[entry["key"]] = entry["value"]
                except (ValueError, KeyError, TypeError):  # a line that was cut off when the process was killed
                    continue
            with file.open("a", encoding="utf-8") as end:
                end.write("\n")
        elif file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)

    def done(self, *key: Any, by: Callable[[], Any], final: Callable[[Any], bool] = lambda _: True) -> Any:
        """The result under this key, computed now if there is none.

        Args:
            key: JSON values that determine the result.
            by: computes the result, as JSON values.
            final: whether to keep the result; otherwise it is computed again next time.
        """
        name = _digest(key)
        if name in self._kept:
            return self._kept[name]
        value = by()
        if not final(value):
            return value
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as end:
                end.write(json.dumps({"key": name, "value": value}, ensure_ascii=False) + "\n")
        self._kept[name] = value
        return value


def _digest(key: tuple[Any, ...]) -> str:
    return hashlib.blake2b(json.dumps(key, ensure_ascii=False, default=str).encode(), digest_size=12).hexdigest()
