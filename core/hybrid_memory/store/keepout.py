"""What was forgotten does not come back: a message under its id, and words that are kept out; known only by hashes.

A term is one or more units: a word or number of a script that separates them, or a single character of one that does
not. What is appended to the log of the owner has ``[kept out]`` in place of each term, so nothing derived can have it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Literal, Self, TypeAlias
from urllib.parse import unquote

from hybrid_memory.errors import InvalidInputError, OutdatedError
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Message, Role
from hybrid_memory.log.port import Appended, Draft, EventLog
from hybrid_memory.log.views import DelegatingLog
from hybrid_memory.runtime.caches import LruCache
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.erasure import APART, SAID, is_encoded, plain, stream, texts_of
from hybrid_memory.store.remember import changed, with_words
from hybrid_memory.store.services import Services
from hybrid_memory.text.tokenize import LETTER, is_known, terms
from hybrid_memory.validation import shown

KEPT_OUT = "kept_out"  # the field of the log's note on what was erased
FORGOTTEN = "tombstones"  # its field with the digests of forgotten messages

MASK = "[kept out]"

OWNERS = 1024  # for how many owners the digests are cached

LEAST_DIGITS, LEAST_CODE, LEAST_STEM = 3, 4, 5
"""Shorter numbers and words with digits are everyday ones; of shorter stems the list of known words lacks many."""

Term: TypeAlias = tuple[str, ...]

_UNIT = re.compile(
    r"\d{1,3}(?:[,'’]\d{3})+(?!\d)"  # a number in groups is the same number without them
    rf"|(?:(?![\u0e00-\u109f\u1780-\u17ff]){LETTER}[\u00ad\u0300-\u036f\u200b-\u200f\u2060\ufeff]*)+"
    r"|[^\W_]"
)
_CODE = re.compile(rf"{LETTER}+(?:[-_./:@+#]{LETTER}+)+")
_NAME = re.compile(r"(?<![\w'’-])[A-Z][\w-]+(?: [A-Z][\w-]+)*")
_INSIDE = re.compile(r"[^\W_][ ,;:(]+$")
_YEAR = re.compile(r"(?:19|20)\d\d")
_MEASURE = re.compile(r"\d+(?:[ap]m|st|nd|rd|th|h|min|k?g|[kcm]?m|ms|px|gb|mb|kb|k)")
_CALENDAR = frozenset(
    """i monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december today tomorrow yesterday""".split()
)


def units_of(text: str) -> list[tuple[int, int, str]]:
    """The units of a text, in order: start, end, and the unit without case, width and invisible characters."""
    return [(one.start(), one.end(), re.sub("[,'’]", "", plain(one[0]))) for one in _UNIT.finditer(text)]


def term_of(text: str) -> Term:
    """The units of the whole text."""
    return tuple(unit for *_, unit in units_of(text))


def distinctive(text: str) -> set[Term]:
    """What identifies a text: numbers, codes and their parts, names within sentences, words that no dictionary has."""
    found: set[Term] = {term_of(code[0]) for code in _CODE.finditer(text) if any(map(str.isdigit, code[0]))}
    for match in _NAME.finditer(text):
        words = match[0]
        inside = _INSIDE.search(text[max(0, match.start() - 9) : match.start()]) is not None
        if not terms(words.partition(" ")[0]):  # "The Granite Mutual"
            words, inside = words.partition(" ")[2], True
        name = term_of(words)
        # At its beginning any word of a sentence is capitalised.
        if name and not words.isupper() and not _CALENDAR.intersection(name) and (inside or len(name) > 1):
            found |= {name} if inside or len(name) == 2 else {name, name[1:]}  # noqa: PLR2004 - a name and its end
    for start, end, unit in units_of(text):
        digits = sum(map(str.isdigit, unit))
        if digits == len(unit):
            keeps = digits >= LEAST_DIGITS and not _YEAR.fullmatch(text[start:end])
        elif digits:
            keeps = len(unit) >= LEAST_CODE and not _MEASURE.fullmatch(unit)
        else:
            keeps = unit.isascii() and any(len(stem) >= LEAST_STEM and not is_known(stem) for stem in terms(unit))
        if keeps:
            found.add((unit,))
    return found


@dataclass(frozen=True, slots=True)
class KeepOut:
    """What an owner keeps out, up to a position in the log.

    Attributes:
        position: of the last event about what was erased.
        key: of the hashes, random for each owner, kept in the store.
        digests: of the terms, with their sizes in units.
        forgotten: digests of the owner's forgotten messages.
    """

    position: int = 0
    key: str = ""
    digests: Mapping[str, int] = field(default_factory=dict)
    forgotten: frozenset[str] = frozenset()

    def after(self, notes: Iterable[Event]) -> Self:
        """With those of these notes."""
        known, position, key, forgotten = dict(self.digests), self.position, self.key, set(self.forgotten)
        for note in notes:
            position = note.position
            forgotten.update(note.payload.get(FORGOTTEN, ()))
            change = note.payload.get(KEPT_OUT, {})
            key = change.get("key", key)
            known |= change.get("terms", {})
            known = {digest: size for digest, size in known.items() if digest not in change.get("lifted", ())}
        return type(self)(position, key, known, frozenset(forgotten))

    def has_forgotten(self, owner: Scope, draft: Draft) -> bool:
        """Whether a draft has the id and the words of a forgotten message, whatever role spoke them."""
        roles = (None, *Role) if draft.fixed_id else ()  # payloads do not state the default
        return any(digest_of(owner, draft.id, {**draft.payload, "role": role}) in self.forgotten for role in roles)

    def digest(self, term: Term) -> str:
        """The keyed hash of a term."""
        return blake2b("\x1f".join(term).encode(), key=bytes.fromhex(self.key), digest_size=10).hexdigest()

    def masked(self, text: str) -> str:
        """The text with `MASK` in place of each term, the longest first; in an address also where it is encoded."""
        if not self.digests or is_encoded(text):
            return text
        units = units_of(text)
        hidden: list[tuple[int, int]] = []
        for size in sorted(set(self.digests.values()), reverse=True):
            for row in range(len(units) - size + 1):
                start, end = units[row][0], units[row + size - 1][1]
                free = all(end <= first or start >= last for first, last in hidden)
                if free and self.digest(tuple(unit for *_, unit in units[row : row + size])) in self.digests:
                    hidden.append((start, end))
        for start, end in sorted(hidden, reverse=True):
            text = f"{text[:start]}{MASK}{text[end:]}"
        decoded = unquote(text) if "%" in text else text
        return text if decoded == text or (clear := self.masked(decoded)) == decoded else clear

    def stored(self, message: Message) -> Message:
        """The message as it is stored."""
        return changed(message, self.masked) if self.digests else message


def digest_of(owner: Scope, name: str, payload: Mapping[str, Any]) -> str:
    """Of a message, with its words, as files without ids number their messages, and may have grown since."""
    said = [str(owner.owner), name, *(payload.get(key) for key in ("role", "content", "tool_calls"))]
    return blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=8).hexdigest()


class KeepOuts:
    """What each owner keeps out, cached; a write that is refused as outdated brings it up to date."""

    def __init__(self) -> None:
        self._known: LruCache[Scope, KeepOut] = LruCache(OWNERS)

    def known(self, log: EventLog, owner: Scope) -> KeepOut:
        """What the owner keeps out; the log is read the first time."""
        return self._known.get(owner) or self.read(log, owner)

    def cached(self, owner: Scope) -> KeepOut:
        """The same, as far as it was read."""
        return self._known.get(owner) or KeepOut()

    def read(self, log: EventLog, owner: Scope) -> KeepOut:
        """The same, read anew."""
        known = KeepOut().after(log.read(owner, kinds=(EventKind.ERASED,)))
        self._known.put(owner, known)
        return known


class KeepingOutLog(DelegatingLog):
    """A log to which no forgotten message is appended, and nothing with a kept-out term in it.

    It costs no further access: an append that other processes' notes outdate is refused by the log, and repeated.
    """

    def __init__(self, log: EventLog, keeping: KeepOuts) -> None:
        super().__init__(log)
        self._keeping = keeping

    def append(self, owner: Scope, drafts: Sequence[Draft], *, seen: int | None = None) -> list[Appended]:
        known = self._keeping.cached(owner.owner)
        while True:
            clean = drafts
            if known.forgotten:
                clean = [one for one in clean if not known.has_forgotten(owner, one)]
            if known.digests:
                clean = [replace(one, payload=with_words(one.kind, one.payload, known.masked)) for one in clean]
            upto = known.position if seen is None else min(seen, known.position)
            try:
                return self._log.append(owner, clean, seen=upto)
            except OutdatedError:
                newer = self._keeping.read(self._log, owner.owner)
                if newer.position <= known.position or (seen is not None and newer.position > seen):
                    raise
                known = newer


async def kept_out(run: Runner, services: Services, owner: Scope) -> KeepOut:
    """What the owner keeps out."""
    return await run.call(services.state(KeepOuts).known, services.truth, owner.owner)


async def keep(run: Runner, services: Services, owner: Scope, new: Collection[Term]) -> int:
    """Keep these terms out from now on; returns how many were not kept out before."""
    known = await run.call(services.state(KeepOuts).read, services.truth, owner)
    known = known if known.key else replace(known, key=secrets.token_hex(16))
    digests = {known.digest(term): len(term) for term in new if term}
    if fresh := {digest: size for digest, size in digests.items() if digest not in known.digests}:
        await _note(run, services, owner, {"key": known.key, "terms": fresh})
    return len(fresh)


async def lift(run: Runner, services: Services, owner: Scope, words: str | Literal[True]) -> int:
    """Let these words, or all, be stored again; returns how many terms are still kept out."""
    known = await run.call(services.state(KeepOuts).read, services.truth, owner)
    lifted = list(known.digests)
    if words is not True:
        named = {known.digest(term) for term in {term_of(words), *distinctive(words)}} if known.key else set()
        lifted = [digest for digest in lifted if digest in named]
        if not lifted:
            raise InvalidInputError(f"{shown(words)} is not kept out: give the words as they were forgotten")
    if lifted:
        await _note(run, services, owner, {"lifted": lifted})
    return len(known.digests) - len(lifted)


async def _note(run: Runner, services: Services, owner: Scope, change: dict[str, Any]) -> None:
    draft = services.draft(EventKind.ERASED, {"positions": [], KEPT_OUT: change}, author=services.author)
    await run.call(services.truth.erase, owner, [], {}, draft)
    await run.call(services.state(KeepOuts).read, services.truth, owner)


async def unsaid(run: Runner, services: Services, owner: Scope, candidates: Collection[Term]) -> set[Term]:
    """Those of these terms that nothing contains any more: what others say too is no secret, but an everyday word."""
    left = set(candidates)
    async for events in stream(run, services.truth, owner, kinds=SAID):
        left -= await run.call(within, left, APART.join(map(texts_of, events)))
    return left


def within(candidates: Collection[Term], text: str) -> set[Term]:
    """Those of these terms that a text has."""
    units = term_of(text)
    sizes = {len(term) for term in candidates}
    grams = (units[row : row + size] for size in sizes for row in range(len(units) - size + 1))
    return {gram for gram in grams if gram in candidates}


async def notes_of(run: Runner, services: Services, owner: Scope) -> dict[int, dict[str, Any]]:
    """The notes about kept-out terms without them, by position, for an owner who is forgotten whole."""
    notes = await run.call(services.truth.read, owner, kinds=(EventKind.ERASED,))
    return {
        note.position: {name: value for name, value in note.payload.items() if name != KEPT_OUT}
        for note in notes
        if KEPT_OUT in note.payload
    }
