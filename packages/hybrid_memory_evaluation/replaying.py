"""Replay a transcript with a method: its prompts, their cost and validity, a model's answers, and the journal."""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hybrid_memory import Message, Role
from hybrid_memory.apps.transcripts import Transcript
from hybrid_memory.ports import LanguageModel
from hybrid_memory.text.tokenize import cjk_share
from hybrid_memory.text.tokens import TokenCounter, message_tokens
from hybrid_memory_evaluation.methods.method import Method, Prompt, Replay, Setting, words_of
from hybrid_memory_evaluation.probing.probe import Probe, plain


def replayed(transcript: Transcript, method: Method, probes: Sequence[Probe], setting: Setting) -> dict[str, Any]:
    """The figures of the prompts under ``prompts``, of summaries under ``model``, of probes under ``results``.

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
        # What a prompt must contain for the message to be in it verbatim.
        texts = {
            message.id or "": plain(message.text or " ".join(call.written_arguments for call in message.tool_calls))
            for message in transcript.messages
        }
        results = [_probe_result(replay, probe, texts, setting.count) for probe in probes]
    return {
        "prompts": prompts.as_dict(),
        "model": {name: getattr(meter, name, 0) for name in ("calls", "sent", "written")},
        "results": results,
    }


def _probe_result(replay: Replay, probe: Probe, texts: dict[str, str], count: TokenCounter) -> dict[str, Any]:
    """The prompt for a probe, in OpenAI's format, and what is in it: fields of `Outcome`.

    What can be fetched is read until all keys were there and all sources reached, or nothing more comes.
    """
    prompt = replay.prompt(probe.question)
    shown = prompt.text.removesuffix(probe.question)
    survival, within = probe.share(shown), plain(shown)
    reached = {one for one in probe.sources if texts[one] in within or replay.reaches(prompt, one)}
    tokens, finished = 0, survival == 1
    if not finished or len(reached) < len(probe.sources):
        for fetched in replay.fetch(probe.question, prompt):
            reached |= fetched.sources.intersection(probe.sources)
            if not finished:
                tokens += count(fetched.text)
                shown = f"{shown}\n{fetched.text}"
                finished = probe.share(shown) == 1
    share = len(reached) / len(probe.sources) if probe.sources else 0.0
    return {
        "probe": probe.id,
        "survival": survival,
        "reach": share,
        "tokens": prompt.tokens,
        "fetched": tokens,
        "finished": finished,
        "prompt": list(prompt.messages),
    }


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
    role = Role.USER if message["role"] == "tool" else Role(message["role"])
    return Message(role=role, content="\n".join(filter(None, words_of(message))) or "-")


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
        written = json.dumps(key, ensure_ascii=False, default=str)
        name = hashlib.blake2b(written.encode(), digest_size=12).hexdigest()
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


class Metered:
    """A language model whose calls are counted.

    Attributes:
        calls, sent, written: the number of calls, and the tokens of their messages and answers.
    """

    def __init__(self, model: LanguageModel, count: TokenCounter) -> None:
        self.name = model.name
        self.calls = 0
        self.sent = 0
        self.written = 0
        self._model = model
        self._count = count

    def complete(self, messages: Sequence[Message]) -> str:
        """See `LanguageModel.complete`."""
        self._count_call(messages)
        answer = self._model.complete(messages)
        self.written += self._count(answer)
        return answer

    def structured(self, messages: Sequence[Message], schema: Mapping[str, Any]) -> dict[str, Any]:
        """See `LanguageModel.structured`."""
        self._count_call(messages)
        answer = self._model.structured(messages, schema)
        self.sent += self._count(json.dumps(schema, ensure_ascii=False))
        self.written += self._count(json.dumps(answer, ensure_ascii=False))
        return answer

    def _count_call(self, messages: Sequence[Message]) -> None:
        self.calls += 1
        self.sent += sum(message_tokens(message, self._count) for message in messages)


@dataclass(slots=True)
class Prompts:
    """The prompts during a conversation, one for each call of the model.

    Attributes:
        tokens: the size of each; shares: how much of each, except the last, the next one begins with.
        seconds: the time of each, including storing the messages before it.
        over: how many exceed the budget; invalid: how many a provider would refuse.
    """

    budget: int
    count: TokenCounter
    tokens: list[int] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    over: int = 0
    invalid: int = 0
    _last: str | None = None

    def add(self, prompt: Prompt, seconds: float) -> None:
        """Add a prompt."""
        text = prompt.text
        if self._last is not None:
            common = next((row for row, (a, b) in enumerate(zip(self._last, text, strict=False)) if a != b), None)
            same = text[: min(len(text), len(self._last)) if common is None else common]
            reused = min(self.count(same), prompt.tokens)
            self.shares.append(min(1.0, reused / max(1, self.tokens[-1])))
        self._last = text
        self.tokens.append(prompt.tokens)
        self.seconds.append(seconds)
        self.over += prompt.tokens > self.budget
        self.invalid += len(faults(prompt.messages))

    def as_dict(self) -> dict[str, Any]:
        """The figures as JSON."""
        return {
            "prompts": len(self.tokens),
            "reuse": statistics.fmean(self.shares) if self.shares else None,
            "seconds": self.seconds,
            "over": self.over,
            "invalid": self.invalid,
        }


def faults(prompt: Sequence[Mapping[str, Any]]) -> list[str]:
    """At most one reason why a provider would refuse a prompt in OpenAI's format.

    Every result must answer a call of the assistant message before it, every call must have exactly one result before
    the next message, and the conversation must start with the user and end with the user or with results.
    """
    waiting: list[str] = []
    spoken = [message for message in prompt if message["role"] != "system"]
    for message in prompt:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                return ["a result without its call"]
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return ["a call without its result"]
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if waiting and message["role"] != "assistant":
            return [f"calls by the {message['role']}"]
    if waiting:
        return ["a call without its result"]
    if not spoken or spoken[0]["role"] != "user":
        return ["the first message is not the user's"]
    return [] if spoken[-1]["role"] in ("user", "tool") else ["nothing to answer"]
