"""Probes about work: files, commands and test runs from the ledger, and next steps."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hybrid_memory import Message, Role
from hybrid_memory.analysis import FileState, Operation, actions, errors, outcome, prose, refused
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import terms
from hybrid_memory_evaluation.probing.probe import History, Probe, ProbeKind, is_result, shortened, trimmed

_GROUPS = {
    Operation.CREATED: ("Which files were created, and are still there?", "创建了哪些文件（现在仍然存在）？"),
    Operation.MODIFIED: ("Which files that existed before were modified?", "修改了哪些原有的文件？"),
    Operation.DELETED: ("Which files were deleted?", "删除了哪些文件？"),
    Operation.RENAMED: ("Which files were renamed, and to what?", "哪些文件被重命名了？新名字是什么？"),
}
_ODD = re.compile(r"[*?$<>{}|\\\s]|\A/dev/|\A\W*\Z")
_COUNTS = re.compile(
    r"\d+ (?:passed|failed|errors?|passing|failing|tests?|skipped)|(?:failures|errors)=\d+|FAILED \([^)]*\)"
)


def artifact_probes(history: History) -> Iterator[Probe]:
    """Probes for each kind of change to files, and the last test run."""
    for operation in _GROUPS:
        yield from _group(history, operation)
    for run in history.ledger.tests[-1:]:  # as counted in its output
        keys = tuple(key for key in _COUNTS.findall(run.outcome) if any(history.says(by, key) for by in run.sources))
        failing = f" ({', '.join(run.failing)})" if run.failing else ""
        asked = ("What was the outcome of the last test run?", "最后一次运行测试的结果是什么？")[history.in_chinese]
        if keys:
            yield Probe("", ProbeKind.ARTIFACT, asked, run.outcome + failing, keys, run.sources, by="ledger")


def _group(history: History, operation: Operation) -> Iterator[Probe]:
    files = [file for file in history.ledger.files if file.operation is operation and not _ODD.search(file.path)]
    if operation is Operation.DELETED:
        moved = {file.moved_from for file in history.ledger.files}
        files = [file for file in files if file.path not in moved]
    named = [(file, _spelled(history, file)) for file in files]
    if not named or not all(path for _, path in named):
        return
    paths, comma = [path for _, path in named], "、" if history.in_chinese else ", "
    if operation is Operation.RENAMED:
        gold = comma.join(f"{file.moved_from} -> {path}" for file, path in named)
        keys = [*paths, *(file.moved_from or "" for file, _ in named)]
    else:
        gold, keys = comma.join(paths), paths
    sources = tuple(source for file, _ in named for source in file.sources)
    question = _GROUPS[operation][history.in_chinese]
    yield Probe("", ProbeKind.ARTIFACT, question, gold, tuple(dict.fromkeys(keys)), sources, by="ledger")


def _spelled(history: History, file: FileState) -> str:
    """The path, or as much of its end as a message contains; empty if that could be another file."""
    parts = file.path.split("/")
    others = [other.path for other in history.ledger.files if other.path != file.path]
    for start in range(len(parts)):
        end = "/".join(parts[start:])
        if any(history.says(source, end) for source in file.sources):
            return "" if start and any(f"/{path}".endswith(f"/{end}") for path in others) else end
    return ""


MAX_FAILING = 8
MIN_GOAL_TERMS = 4
MAX_GOAL_CHARS = 240
OPENING = 3
"""How many sentences are searched for the user's goal."""

LABELLED = re.compile(r"[A-Z]{3,}:")
"""A part of a template, such as an example for an agent."""

_OPEN = re.compile(
    r"\b(?:TODO:?|to-do:?|(?:still|also) (?:need|have) to|(?:remaining|left|next step)s?(?: is| are)?(?: to)?"
    r"|follow[- ]up|remind me to|later (?:I|we)(?:'ll| will))\b (?P<what>.+)"
    r"|(?:待办|下一步|接下来|还需要?|还要|还得|提醒我|以后再|稍后再?|回头)[:：，]?(?P<zh>[^，。；！？]+)"
)
_WANTS = re.compile(
    r"\b(?:I(?:'d| would)? (?:want|like|need)(?: you)? to|(?:and|I) need(?: to)?|I want|please|can you|could you"
    r"|help me|your task is to|the (?:task|goal) is to|I'm (?:trying|looking|planning|thinking)(?: of| to| for)?)"
    r"\b (?P<what>.+)"
    r"|(?:我想要?|我需要|我要|(?:请[您你]?)?帮我们?|请(?!问)|麻烦[您你]?|希望|任务是|目标是)(?P<zh>[^，。；！？]+)",
    re.IGNORECASE,
)


def continuation_probes(history: History) -> Iterator[Probe]:
    """Probes about the user's goal, announced steps that were not taken, and the tests that failed last."""
    yield from _goal(history)
    yield from _announced_steps(history)
    for run in history.ledger.tests[-1:]:
        if 0 < len(run.failing) <= MAX_FAILING:
            asked = ("Which tests failed in the last test run?", "最后一次运行测试时哪些测试失败了？")[
                history.in_chinese
            ]
            gold, sources = ", ".join(run.failing), run.sources
            yield Probe("", ProbeKind.CONTINUATION, asked, gold, run.failing, sources, by="ledger")


def _goal(history: History) -> Iterator[Probe]:
    first = next((row for row, said in enumerate(history.past) if said.role is Role.USER and not is_result(said)), None)
    if first is None:
        return
    message = history.messages[first]
    said = [" ".join(sentence.split()) for sentence in sentences(prose(message))]
    said = [
        sentence
        for sentence in said
        if len(set(terms(sentence))) >= MIN_GOAL_TERMS
        and len(sentence) <= MAX_GOAL_CHARS
        and not sentence.endswith((":", "："))
        and not LABELLED.match(sentence)
    ]
    # Further down stand rules and examples of a template.
    wanted = next((sentence for sentence in said[:OPENING] if _WANTS.search(sentence)), said[0] if said else "")
    match = _WANTS.search(wanted)
    if match is None and not history.ledger.commands:
        return  # small talk; an agent is given a task, however that is worded
    key = shortened((match["what"] or match["zh"]) if match else wanted)
    chinese = history.chinese((message.id or "",))
    question = "用户一开始想要什么？" if chinese else "What did the user ask for at the beginning?"
    if len(set(terms(key))) > 1:
        yield Probe("", ProbeKind.CONTINUATION, question, wanted, (key,), (message.id or "",), by="next steps")


def _announced_steps(history: History) -> Iterator[Probe]:
    """Announced steps that are never mentioned again."""
    for line in history.lines:
        message = history.events[line.first - 1].message
        match = _OPEN.search(history.spoken(line))
        if line.first > history.truncated or match is None or actions(message) or history.advises(line):
            continue
        what = trimmed(match["what"] or match["zh"])
        key = shortened(what)
        if len(set(terms(key))) <= 1:
            continue
        words, later = set(terms(what)), history.messages[line.first :]
        # It was taken up if a later message contains half of its words.
        if any(2 * len(words & set(terms(message.text[:20_000]))) >= len(words) for message in later):
            continue
        said = history.spoken(line)
        rest = trimmed(said.replace(what, "…"))
        question = f"What was left to be done where it was said: “{rest}”?"
        if history.chinese(line.sources):
            question = f"说到“{rest}”，具体还有什么事要做？"
        yield Probe("", ProbeKind.CONTINUATION, question, said, (key,), line.sources, by="next steps")


def error_probes(history: History) -> Iterator[Probe]:
    """A probe about the first error that came up."""
    for message in history.past:
        if is_result(message) and (result := _failures(message)):
            question = "最先出现的错误是什么？" if history.in_chinese else "What was the first error that came up?"
            yield _error(result[0], question, message)
            return


def _failures(message: Message) -> list[str]:
    """The errors of a result that reports a failure, rather than only containing such words."""
    result = outcome(message.text)
    failed = result.exit_code not in {None, 0} or "Traceback (" in result.text or refused(result) or result.complaints()
    return [error for error in errors(result) if not error.startswith("exit ")] if failed else []


def _error(error: str, question: str, message: Message) -> Probe:
    whole = error.rsplit(" ", 1)[0] if error.endswith("…") else error
    name, _, said = whole.partition(": ")
    keys = [name, shortened(said, words=8, characters=20)] if re.fullmatch(r"(?:\w+\.)*[A-Z]\w+", name) else [whole]
    return Probe("", ProbeKind.RECALL, question, error, tuple(filter(None, keys)), (message.id or "",), by="ledger")
