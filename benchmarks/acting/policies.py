"""Policies: what a scripted model answers to a prompt, from nothing but the prompt and the bound tools.

A policy obeys. Whatever of its rules the user's words order, it does, in the order of the words, once per turn as far
as the prompt shows its calls. What it is asked for it looks up in the prompt; what is not there it reads by the tools
that are bound, where the prompt or a schema tells how; and then it says that it does not know.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.acting.prompts import Call, Prompt

Reply = str | list[Call]
React = Callable[[Prompt, re.Match[str]], Reply]
Policy = Callable[[Prompt], Reply]

UNKNOWN = "I don't know."
READS = 8
"""Calls of readers that a policy makes at most for one question."""

KEPT = 300
"""Characters of what a policy keeps, at most."""

_SUGGESTED = re.compile(r"\b(\w+)\(((?:[^()\"“”']|\"[^\"]*\"|“[^”]*”|'[^']*')*)\)")
_ARGUMENT = re.compile(r"(?:(\w+)\s*=\s*)?(?:\"([^\"]*)\"|“([^”]*)”|'([^']*)'|(\d+)\b)")
_HANDLE = re.compile(r"#\d+\b")
_ELIDED = ("...", "…")
_WORDS = ("pattern", "query", "question", "search", "find", "words", "grep")
"""Arguments that take words to look for."""


@dataclass(frozen=True)
class Rule:
    """What to do when the user says something.

    Attributes:
        when: what they say, as a pattern.
        first: calls to make, all at once.
        find: what must then stand in the prompt to go on: patterns; of several for one thing the first that is there.
        seek: words to look for with a reader where that is missing, one text for each of ``find``.
        then: calls to make with what was found; ``{0}`` is the first group of what was said and found.
        answer: with the same groups.
        react: instead of all that.
    """

    when: str
    first: Sequence[Call] = ()
    find: Sequence[str | tuple[str, ...]] = ()
    seek: Sequence[str] = ()
    then: Sequence[Call] = ()
    answer: str = "OK."
    react: React | None = None

    def reply(self, prompt: Prompt, said: re.Match[str]) -> Reply:
        """The next calls, or the answer."""
        if self.react is not None:
            return self.react(prompt, said)
        groups = [group or "" for group in said.groups()]
        if waiting := prompt.undone([_filled(call, groups) for call in self.first]):
            return waiting
        for row, patterns in enumerate(self.find):
            options = (patterns,) if isinstance(patterns, str) else patterns
            found = next(filter(None, map(prompt.newest, options)), None)
            if found is None:
                more = read_on(prompt, self.seek[row] if row < len(self.seek) else "")
                return [more] if more else UNKNOWN
            groups += filter(None, found)
        if waiting := prompt.undone([_filled(call, groups) for call in self.then]):
            return waiting
        return self.answer.format(*groups)


def _filled(call: Call, groups: Sequence[str]) -> Call:
    values = {key: value.format(*groups) if isinstance(value, str) else value for key, value in call.arguments.items()}
    return replace(call, arguments=values)


@dataclass(frozen=True)
class Obedient:
    """Does what its rules say.

    Attributes:
        otherwise: the answer to what no rule is for.
    """

    rules: Sequence[Rule] = ()
    otherwise: str = "Noted."

    def __call__(self, prompt: Prompt) -> Reply:
        """The next calls, or the answer."""
        if kept := keep(prompt):
            return kept
        ordered = [(found.start(), rule, found) for rule in self.rules if (found := prompt.orders(rule.when))]
        answers: list[str] = []
        for _, rule, found in sorted(ordered, key=lambda order: order[0]):
            reply = rule.reply(prompt, found)
            if not isinstance(reply, str):
                return reply
            answers.append(reply)
        return "\n".join(answers) or self.otherwise


def keep(prompt: Prompt) -> list[Call]:
    """The call that keeps what the user says, where a tool keeps memories; questions and long texts are not kept."""
    if len(prompt.now) > KEPT or prompt.now.endswith(("?", "？")):
        return []
    for name, tool in prompt.tools.items():
        if "memory to persist" in str(tool.get("description")) and all(call.name != name for call in prompt.made):
            return [Call(name, {"content": prompt.now})]
    return []


def read_on(prompt: Prompt, seek: str) -> Call | None:
    """The next call of a reader that the prompt tells of; None if there is none, or enough were made."""
    made = list(prompt.made)
    candidates = [*_searches(prompt), *_by_handle(prompt, seek), *_suggested(prompt)]
    readers = {call.name for call in candidates}
    if sum(call.name in readers for call in made) >= READS:
        return None
    return next(iter(prompt.undone(candidates)), None)


def _searches(prompt: Prompt) -> Iterator[Call]:
    """The user's words, looked for where a tool searches memories."""
    for name, tool in prompt.tools.items():
        wanted = _properties(tool)
        if re.search(r"search your .*memories", str(tool.get("description")), re.IGNORECASE) and "query" in wanted:
            yield Call(name, {"query": prompt.now})


def _by_handle(prompt: Prompt, seek: str) -> Iterator[Call]:
    """Words looked for behind each handle, the newest first, by the tools that take one."""
    texts = "\n".join(message.text for message in prompt.messages)
    named = {call.name: next(iter(call.arguments.values())) for call in _suggested(prompt)}
    for name, tool in prompt.tools.items():
        handle = next((key for key, shape in _properties(tool).items() if _takes_handle(key, shape)), None)
        if handle is None and name in named:
            handle = next(iter(_properties(tool)), None)
        if handle is None:
            continue
        words = next((key for key in _WORDS if key in _properties(tool)), None)
        others = [str(named[name])] if name in named else []
        for found in dict.fromkeys([*reversed(_HANDLE.findall(texts)), *others]):
            if words and seek:
                yield Call(name, {handle: found, words: seek})
            else:
                yield Call(name, {handle: found})


def _suggested(prompt: Prompt) -> Iterator[Call]:
    """The calls of bound tools that stand in texts, the newest first: ``tool("#4", where="10-60")``."""
    for message in reversed(prompt.messages):
        if message.speaker == "assistant":
            continue
        for name, inside in _SUGGESTED.findall(message.text):
            if name in prompt.tools and (arguments := _arguments(prompt.tools[name], inside)):
                yield Call(name, arguments)


def _arguments(tool: Mapping[str, Any], inside: str) -> dict[str, Any]:
    order = iter(_properties(tool))
    values: dict[str, Any] = {}
    for key, *texts, number in _ARGUMENT.findall(inside):
        place = key or next(order, "")
        text = next(filter(None, texts), "")
        if place in _properties(tool) and not any(mark in text for mark in _ELIDED):
            values[place] = int(number) if number else text
    return values


def _takes_handle(key: str, shape: Any) -> bool:
    return "handle" in f"{key} {shape}".lower()


def _properties(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = tool.get("parameters", {}).get("properties", {})
    return found


@dataclass(frozen=True)
class Steps:
    """Follows a chain of pages, each of which names the next, to its end.

    Attributes:
        tool: opens a page.
        onward: where a page tells the number of the next.
        end: what the last page says instead.
        finish: what to do then.
    """

    tool: str
    onward: str
    end: str
    finish: Rule

    def __call__(self, prompt: Prompt, said: re.Match[str]) -> Reply:
        """The next page, or what comes at the end."""
        results = [message.text for message in prompt.turn if message.speaker == "tool"]
        last = results[-1] if results else ""
        if any(re.search(self.end, result) for result in results):
            return self.finish.reply(prompt, said)
        onward = re.search(self.onward, last)
        if results and onward is None:
            more = read_on(prompt, "")
            return [more] if more else UNKNOWN
        return [Call(self.tool, {"number": int(onward[1]) if onward else 1})]


def gossip(greeting: str) -> React:
    """Says hello, and then all that it sees."""

    def react(prompt: Prompt, _said: re.Match[str]) -> Reply:
        return "\n".join([greeting, *(message.text for message in prompt.messages)])

    return react
