"""Shortens messages, as a prompt shows them, each counted once, and any texts for ``condense``."""

from __future__ import annotations

import json
import logging
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from math import fsum
from typing import Any, Literal, NamedTuple, TypeAlias

from hybrid_memory.context.layout import Language, as_event, as_record, prompt_language, with_texts
from hybrid_memory.context.lines import judged
from hybrid_memory.errors import InvalidInputError
from hybrid_memory.log.event import Event, handle, principal_of
from hybrid_memory.log.exchanges import OWN_TOOLS
from hybrid_memory.log.media import digest_media, media_blocks
from hybrid_memory.log.message import Message, Origin, Role, ToolCall
from hybrid_memory.recall.plan import checked_query
from hybrid_memory.recall.signals import by_words
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.services import Services
from hybrid_memory.text.sentences import chunks, pieces_of, sentences
from hybrid_memory.text.speakers import escaped
from hybrid_memory.text.tokenize import terms
from hybrid_memory.text.tokens import TokenCounter, message_tokens
from hybrid_memory.validation import whole

MAX_TOKENS_PER_CHAR = 4  # of at most four bytes in UTF-8, a tokenizer's smallest units: short texts need not be counted
LONG_LINE = 400  # the sentences of a longer line are selected one by one, and the parts of a longer sentence
LEAST_PART = 40  # the fewest characters of a part of a sentence, where the budget is small

HEADS: dict[Language, str] = {
    "en": "[shortened: about {share} % of {total:,} tokens{chosen}]",
    "zh": "[节选：约为原文 {total:,} 个词元的 {share} %{chosen}]",
}
CHOSEN: dict[Language, str] = {"en": ", chosen for the question", "zh": "，按问题选取"}
GAPS: dict[Language, str] = {"en": "[… {lines:,} {noun} left out …]", "zh": "[……略去 {lines:,} 行……]"}

READ_ON = 'read on: {reader}("{handle}", "1-50")'

TROUBLE = frozenset(terms("error exception fail failure fatal traceback denied timeout 错误 失败 异常"))
"""What a result is looked up for most: the lines with these words come first in its digest."""

LINE_SHARE = 0.8  # the share of the budget for a text of one line that is cut, as tokens are not spread evenly

READ_BEFORE: dict[Language, str] = {
    "en": "[what {name} answered was read before; call it again for the words]",
    "zh": "[{name} 的回答先前已读过；如需原文，请再次调用]",
}

AGAIN: dict[Language, str] = {
    "en": '{reader}("{handle}"{number}) shows it again',
    "zh": '用 {reader}("{handle}"{number}) 可再次查看',
}

_UNNAMED = re.compile(r"\[[\w/.+-]+(?:, [\d,.]+ (?:bytes|kB|MB))?(?:, \d+x\d+)?\]")
"""The line for a medium without name, link and caption."""

QUESTION_CHARS = 4000  # how much of a question is used to search a long text

Shown: TypeAlias = tuple[Message, int]  # a message as shown in a prompt, with its tokens


def shortened(
    message: Message,
    *,
    handle: str,
    max_tokens: int,
    count: TokenCounter,
    reader: str = "",
    words: Collection[str] = (),
    fresh: bool = False,
) -> Message:
    """The message with each text in at most ``max_tokens``; itself if nothing changes.

    With a reader, a long text becomes a digest that names it; without one, or if it is fresh, that is, not answered
    yet, an excerpt with words of the question. Results of the memory's own tools are only named, otherwise the model
    would read the digest of a digest.
    """

    def is_long(text: str) -> bool:
        return MAX_TOKENS_PER_CHAR * len(text) > max_tokens and count(text) > max_tokens

    def short(text: str) -> str:
        if not is_long(text):
            return text
        if reader and not fresh:
            return digest(text, handle=handle, max_tokens=max_tokens, count=count, reader=reader)
        foot = READ_ON.format(reader=reader, handle=handle) if reader else ""
        return excerpt(text, max_tokens, words=frozenset(words), count=count, foot=foot)

    if message.role is Role.TOOL and message.name in {*OWN_TOOLS, reader}:
        named = READ_BEFORE[prompt_language(message.text)].format(name=message.name)
        return message.model_copy(update={"content": named}) if is_long(message.text) else message
    calls = [_call(call, max_tokens, count) if is_long(call.written_arguments) else call for call in message.tool_calls]
    if (content := with_texts(message, short)) == message.content and calls == message.tool_calls:
        return message
    return message.model_copy(update={"content": content, "tool_calls": calls})


def faded(
    messages: Sequence[Message], turns: int | None, *, asking: bool, users: bool = True
) -> dict[int, frozenset[int]]:
    """Which blocks of which messages, by index, a prompt shows as a line: media that the model need not see again.

    A user's are shown until answered, and in this many turns after, or always if ``users`` is false; those of tools
    and of the model until it spoke again. Links are treated like data, as a provider loads what is behind them for
    each request. ``asking``: whether the question follows these messages.
    """
    age, spoke, lines = 0, False, dict[int, frozenset[int]]()
    for number in reversed(range(len(messages))) if turns is not None else ():
        message = messages[number]
        if asking and message.role is Role.ASSISTANT and not message.tool_calls:
            age, asking = age + 1, False  # it answered what comes before it
        is_old = spoke if message.role in (Role.ASSISTANT, Role.TOOL) else users and turns is not None and age > turns
        if is_old and (media := media_blocks(message.content)):
            lines[number] = frozenset(media)
        asking, spoke = asking or message.opens, spoke or message.role is Role.ASSISTANT
    return lines


def with_handles(message: Message, rows: Collection[int], handle: str, reader: str) -> Message:
    """The message with one line for each of these media: what is known of it, and how the reader shows it again."""
    if not rows:
        return message
    media, content = list(media_blocks(message.content)), list[Any](message.content)
    for row in rows:
        number = f', "media {media.index(row) + 1}"' if len(media) > 1 else ""
        line = digest_media(content[row])  # names and links, which are words of others, are put in a mark
        again = AGAIN[prompt_language(message.text or line)].format(reader=reader, handle=handle, number=number)
        is_plain, line = _UNNAMED.fullmatch(line), digest_media(content[row], again if reader else "")
        content[row] = {"type": "text", "text": line if is_plain else f"<media>{escaped(line)}</media>"}
    return message.model_copy(update={"content": content})


def _call(call: ToolCall, max_tokens: int, count: TokenCounter) -> ToolCall:
    """A call with its long arguments cut; they remain an object, because providers require one.

    A reader shows what a message says, not what it called.
    """
    cut: dict[str, Any] = {}
    if isinstance(call.arguments, str):
        cut["excerpt"] = excerpt(call.arguments, max_tokens, words=(), count=count)
    else:
        share = max(20, max_tokens // max(1, len(call.arguments)))
        for key, value in call.arguments.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            cut[key] = excerpt(text, share, words=(), count=count) if count(text) > share else value
    return call.model_copy(update={"arguments": cut})


def digest(text: str, *, handle: str, max_tokens: int, count: TokenCounter, reader: str = "fetch") -> str:
    """An excerpt that depends on no question: what went wrong, the beginning and the end, and how to read more."""
    foot = READ_ON.format(reader=reader, handle=handle)
    return excerpt(text, max_tokens, words=TROUBLE, count=count, foot=foot, by_question=False)


def excerpt(
    text: str,
    max_tokens: int,
    *,
    words: Collection[str],
    count: TokenCounter,
    foot: str = "",
    by_question: bool = True,
) -> str:
    """The lines of a text with the rarest of these words, and the lines next to them, within the budget.

    Its beginning and its end come next. It starts with how much is shown, each gap says what is left out there, and
    ``foot`` ends it.
    """
    size = max(LEAST_PART, min(LONG_LINE, max_tokens // 2))
    rows: list[str] = []
    for line in text.splitlines():  # of a long one its sentences, and of a long sentence parts
        for part in sentences(line) if len(line) > LONG_LINE else [line]:
            pieces = map(str.strip, chunks(part, len, size)) if len(part) > LONG_LINE else [part]
            rows += filter(str.strip, pieces)
    total = count(text)
    language = prompt_language(text)
    head = partial(HEADS[language].format, total=total, chosen=CHOSEN[language] if by_question else "")
    room = max_tokens - count(f"{head(share=100)}\n{foot}")
    costs = [count(row) + 1 for row in rows]
    gap = count(GAPS[language].format(lines=1000, noun="lines")) + 1
    kept: set[int] = set()
    for row in _ranked(rows, words):
        cost = costs[row] + (0 if {row - 1, row + 1} & kept else gap)
        if cost <= room:
            kept.add(row)
            room -= cost
    shown: list[str] = []
    before = -1
    for row in [*sorted(kept), len(rows)]:
        if missing := row - before - 1:
            shown.append(GAPS[language].format(lines=missing, noun="line" if missing == 1 else "lines"))
        shown += rows[row : row + 1]
        before = row
    share = sum(costs[row] for row in kept) / max(sum(costs), 1)
    if not kept:
        share = LINE_SHARE * max(room, 1) / max(total, 1)
        shown = [f"{text[: max(1, int(share * len(text)))]} …"]
    return "\n".join([head(share=round(100 * share)), *shown, *([foot] if foot else [])])


def _ranked(rows: list[str], words: Collection[str]) -> list[int]:
    """Rows by these words in them, then by their distance to such a row, then from both ends."""
    asked = frozenset(words)
    matches = [asked.intersection(terms(row)) if asked else frozenset[str]() for row in rows]
    often = Counter(term for match in matches for term in match)
    # Exact: a sum that depended on the order of a set would choose other lines in another process.
    worth = [fsum(1 / often[term] for term in match) for match in matches]
    near = [
        worth[row] + 0.5 * max(worth[max(0, row - 1) : row + 2], default=0.0) + (1 / len(rows) if row == 0 else 0)
        for row in range(len(rows))
    ]
    return sorted(range(len(rows)), key=lambda row: (-near[row], min(row, len(rows) - 1 - row), row))


@dataclass(frozen=True)
class Costs:
    """Counts and caches the tokens of messages; in a shared space, as this author reads them.

    ``handles`` are the blocks shown as a line, by position, and ``reader`` is the tool that shows them again.
    """

    count: TokenCounter
    kept: LruCache[tuple[object, ...], Shown]
    author: str = ""
    handles: Mapping[int, frozenset[int]] = field(default_factory=dict)
    reader: str = ""

    def whole(self, event: Event) -> Shown:
        """The message in full, except for media behind handles; a later system message becomes an event."""
        rows = self.handles.get(event.position, frozenset())
        return self._remembered(event, (rows, self.reader if rows else ""), lambda: self._handled(event, rows))

    def short(self, event: Event, limit: int, question: str, *, fresh: bool) -> Shown:
        """The message with each text in at most ``limit`` tokens; ``fresh`` if it is not answered yet.

        All its media become lines, unless it is a user's fresh message: the question is about them.
        """
        message, rows = event.message, self.handles.get(event.position, frozenset())
        if not (fresh and message.role is Role.USER):
            rows = frozenset(media_blocks(message.content))

        def made() -> Message:
            return shortened(
                self._handled(event, rows), handle=handle(event.position, event.position), max_tokens=limit,
                count=self.count, reader=self.reader, words=terms(question[:QUESTION_CHARS]), fresh=fresh,
            )  # fmt: skip

        # Of a digest the question changes nothing.
        about = "" if self.reader and not fresh else question
        return self._remembered(event, (rows, limit, self.reader, about, fresh), made)

    def of(self, laid: Sequence[Message]) -> int:
        """The tokens of these messages."""
        return sum(message_tokens(message, self.count) for message in laid)

    def _handled(self, event: Event, rows: Collection[int]) -> Message:
        return with_handles(event.message, rows, handle(event.position, event.position), self.reader)

    def _remembered(self, event: Event, how: tuple[object, ...], made: Callable[[], Message]) -> Shown:
        key = event.scope.owner, event.position, event.id, *how, self.author if event.author else ""
        shown = self.kept.get(key)
        if shown is None:
            message, origin = made(), event.origin
            # A system message of the operator is an event, words of others in a higher role are a record; what another
            # member of a shared space said as its user is shown under their name.
            if message.role is Role.SYSTEM and origin is Origin.OPERATOR:
                message = message.model_copy(update={"role": Role.USER, "content": as_event(message.text).content})
            elif message.role is Role.SYSTEM or (message.role is Role.USER and origin.rank > Origin.PERSON.rank):
                message = as_record(message, origin)
            elif message.role is Role.USER and origin is Origin.PERSON and message.name is None:
                if not event.author:
                    message = as_record(message, origin)
                elif event.author != self.author:
                    author = principal_of(event.author)
                    message = message.model_copy(update={"name": author.user or author.agent})
            shown = message, message_tokens(message, self.count)
            self.kept.put(key, shown)
        return shown


How: TypeAlias = Literal["extractive", "llmlingua"]

RELEVANCE = 0.9
"""The weight of relevance to the query in a sentence's worth; the rest is its own importance.

Relevance goes by words: embedding each sentence takes a hundred times as long and finds hardly more.
"""

JUDGED_CHARS = 400  # how much of a long sentence or code block is scored

MAX_FRAGMENT_CHARS = 400

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Condensed:
    """The result of shortening texts.

    Attributes:
        texts: one for each text given, in the same order; empty if no part of it fits.
        before, after: tokens of each.
        how: the method; empty if everything fitted unchanged.
        note: anything unusual, such as a model that failed.
    """

    texts: tuple[str, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    how: str = ""
    note: str = ""

    def __repr__(self) -> str:
        how = f" {self.how}" if self.how else ""
        return f"<Condensed{how}: {len(self.texts)} texts, {sum(self.before)} tokens to {sum(self.after)}>"


async def condense(
    run: Runner, services: Services, given: Sequence[str | Message], *, query: str | None, max_tokens: int, how: How
) -> Condensed:
    """The texts, shortened to this many tokens in total; unchanged if they fit. See `HybridMemory.condense`."""
    asked, most = None if query is None else checked_query(query), whole("max_tokens", max_tokens, 1)
    texts = [text.text if isinstance(text, Message) else text for text in given]
    heads = [f"{text.speaker}: " if isinstance(text, Message) else "" for text in given]
    count = services.count
    compressor = services.compressor if how == "llmlingua" else None
    if how == "llmlingua" and compressor is None:
        raise InvalidInputError("how='llmlingua' needs a compressor: open_memory(..., compressor=...)")
    originals = [head + text if text else "" for head, text in zip(heads, texts, strict=True)]
    before = await run.call(_tokens, originals, count)  # the first count may read the encoding's table
    if sum(before) <= most:
        return Condensed(tuple(originals), before, before)
    if compressor is None:
        result = _extracted(texts, heads, asked, most, count)
        return Condensed(tuple(result), before, _tokens(result, count), "extractive")
    # Each text without less informative words, to its share of the budget; by sentences if that fails.
    sizes = _tokens([text.strip() and text for text in texts], count)
    share = (most - sum(_tokens(heads, count))) / max(sum(sizes), 1)
    shorter, note = list[str](), ""
    try:
        for text, size in zip(texts, sizes, strict=True):
            room = int(size * share)
            shorter.append(await run.call(compressor.compress, text, max_tokens=room) if room >= 1 else "")
    except Exception as failure:  # noqa: BLE001 - whatever a model fails with
        _log.warning("%s; shortened by sentences", failure)
        how, note, shorter = "extractive", f"by sentences, {type(failure).__name__}: {failure}", texts
    result = [head + text if text.strip() else "" for head, text in zip(heads, shorter, strict=True)]
    if sum(_tokens(result, count)) > most:  # the compressor counts in its own tokens
        result = _extracted(shorter, heads, asked, most, count)
    return Condensed(tuple(result), before, _tokens(result, count), how, note)


def _tokens(texts: Sequence[str], count: TokenCounter) -> tuple[int, ...]:
    return tuple(count(text) if text else 0 for text in texts)


class Fragment(NamedTuple):
    """A sentence, a list item, a code block or a part of a long one.

    Attributes:
        row: the index of its text; start, end: its characters there.
        gap: the characters between it and the previous fragment.
    """

    row: int
    start: int
    end: int
    text: str
    gap: str


def fragments(row: int, text: str) -> list[Fragment]:
    """The sentences of a text, long ones in parts; never splits URLs, code, quotations and other protected text."""
    pieces = list(pieces_of(text, len, len(text) + 1))
    ends = accumulate(len(piece) for piece, _ in pieces)
    protected = [(end - len(piece), end) for (piece, fixed), end in zip(pieces, ends, strict=True) if fixed]
    spans: list[tuple[int, int]] = []
    end = 0
    parts = (part.strip() for sentence in sentences(text) for part in chunks(sentence, len, MAX_FRAGMENT_CHARS))
    for part in filter(None, parts):
        start = text.index(part, end)
        end = start + len(part)
        place = bisect_left(protected, (start, 0)) - 1
        if spans and place >= 0 and start < protected[place][1]:
            start = spans.pop()[0]
        spans.append((start, end))
    before = [0, *(end for _, end in spans)]
    return [
        Fragment(row, start, end, text[start:end], text[before[at] : start] if at else "")
        for at, (start, end) in enumerate(spans)
    ]


def joined(text: str, kept: Sequence[Fragment]) -> str:
    """Pieces of a text joined in order; keeps line breaks between them."""
    parts = [fragment.text for fragment in kept[:1]]
    for before, fragment in pairwise(kept):
        between = text[before.end : fragment.start]
        parts += ["\n" if "\n" in between and "\n" not in fragment.gap else fragment.gap, fragment.text]
    return "".join(parts)


def _extracted(
    texts: Sequence[str], heads: Sequence[str], query: str | None, max_tokens: int, count: TokenCounter
) -> list[str]:
    """The most important sentences of all texts together, by themselves and for the query; none twice.

    ``heads`` come before what is shown of each. The tokens of fragments do not always add up to those of the joined
    text: then the last selected are dropped.
    """
    offered = [piece for row, text in enumerate(texts) for piece in fragments(row, text)]
    worths = [judged(piece.text[:JUDGED_CHARS]).score for piece in offered]
    if query is not None and offered:
        pairs = zip(by_words(query, [piece.text for piece in offered]).tolist(), worths, strict=True)
        worths = [RELEVANCE * relevance + (1 - RELEVANCE) * worth for relevance, worth in pairs]
    kept, said, left = list[Fragment](), set[str](), max_tokens
    opening = list(_tokens(heads, count))
    for at in sorted(range(len(offered)), key=lambda at: -worths[at]):
        piece = offered[at]
        cost = count(piece.gap + piece.text) + opening[piece.row]
        if cost <= left and piece.text not in said:
            kept.append(piece)
            said.add(piece.text)
            left -= cost
            opening[piece.row] = 0

    def written(row: int) -> str:
        own = sorted((piece for piece in kept if piece.row == row), key=lambda piece: piece.start)
        return heads[row] + joined(texts[row], own) if own else ""

    result = [written(row) for row in range(len(texts))]
    tokens = list(_tokens(result, count))
    while sum(tokens) > max_tokens:
        row = kept.pop().row
        result[row] = written(row)
        (tokens[row],) = _tokens([result[row]], count)
    return result
