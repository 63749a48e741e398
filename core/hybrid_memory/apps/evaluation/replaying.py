"""A transcript under a method: a prompt for each call that the model got, then one for each probe."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from hybrid_memory.apps.evaluation.measures import Metered, Prompts
from hybrid_memory.apps.evaluation.methods.method import Method, Replay, Setting
from hybrid_memory.apps.evaluation.probing.matching import plain
from hybrid_memory.apps.evaluation.probing.probe import Probe
from hybrid_memory.apps.evaluation.transcripts.transcript import Transcript
from hybrid_memory.log.message import Message, Role
from hybrid_memory.text.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class Found:
    """What the prompt for a probe holds.

    Attributes:
        probe: its id.
        survival: share of the probe's keys that stand literally in the prompt, the question aside; in [0, 1].
        reach: share of its sources that stand in the prompt word by word, that a name in the prompt leads to, or that
            can be fetched by looking for the question.
        tokens: of the prompt; fetched: of what was fetched beside it until all keys were there, or nothing more came.
        finished: all keys were in the prompt, or in what was fetched.
        prompt: its messages in the OpenAI form, for a model to answer.
    """

    probe: str
    survival: float
    reach: float
    tokens: int
    fetched: int
    finished: bool
    prompt: Sequence[Any]


def replayed(transcript: Transcript, method: Method, probes: Sequence[Probe], setting: Setting) -> dict[str, Any]:
    """The figures of the prompts under ``prompts``, of summaries under ``model``, and what was `Found` under ``found``.

    A prompt is asked for wherever the assistant spoke. Time is that of writing what was said and of making the prompt.
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
        found = [_found(replay, probe, texts, setting.count) for probe in probes]
    return {
        "prompts": prompts.as_dict(),
        "model": {"calls": meter.calls, "sent": meter.sent, "written": meter.written, "seconds": meter.seconds}
        if meter
        else {"calls": 0, "sent": 0, "written": 0, "seconds": 0.0},
        "found": [asdict(one) for one in found],
    }


def _found(replay: Replay, probe: Probe, texts: dict[str, str], count: TokenCounter) -> Found:
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
    return Found(probe.id, survival, share, prompt.tokens, tokens, finished, list(prompt.messages))


def _words(message: Message) -> str:
    """What must stand in a prompt for the message to be in it word by word."""
    return plain(message.text or " ".join(call.written_arguments for call in message.tool_calls))
