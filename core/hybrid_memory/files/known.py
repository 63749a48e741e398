"""Facts as files, one line per fact. Added lines state facts, removed lines end them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from hybrid_memory.blocks.edit import Owned
from hybrid_memory.errors import FileError
from hybrid_memory.facts.attributes import ATTRIBUTES, RULE
from hybrid_memory.facts.fact import USER, Category, Claim, Fact
from hybrid_memory.facts.facts import FactsProjection, facts
from hybrid_memory.facts.instructions import applying
from hybrid_memory.facts.profile_schema import profile_fields
from hybrid_memory.facts.profiling import own_facts
from hybrid_memory.facts.stating import carried, ending, may_state, stating, words_of
from hybrid_memory.files.file import File, FileRevision, Revision, checked_file, kept_files
from hybrid_memory.files.free import said
from hybrid_memory.files.owned import (
    RACES,
    Change,
    Place,
    Writing,
    appended,
    kept_changed,
    missing,
    parted,
    raced,
    seen_files,
)
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.origin import Origin, lowest
from hybrid_memory.log.visible import Horizon
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.projection import head
from hybrid_memory.store.remember import stored_text
from hybrid_memory.store.view import in_view, present
from hybrid_memory.validation import shown

PROFILE = "/profile.md"
FOLDER = "/facts"
APART = " · "
"""Separates the subject of a fact from its statement."""

TURNS = 50
"""How many of the session's newest turns may contain what an assistant states."""

_FIELD = re.compile(r"((?:rule: )?[^\s:：][^:：]{0,63}?)\s*(?::\s+|：\s*)(\S.*)")
MAX_WORDS = 4
"""The longest field name; more words before a colon belong to a note."""

_ORDER = {name: row for row, name in enumerate(ATTRIBUTES)}


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of such a file, and the facts it states."""

    text: str
    facts: tuple[Fact, ...]


class KnownFiles(Place):
    """``/profile.md``, what is known about the user, and ``/facts/<category>.md``, all current facts."""

    def holds(self, path: str) -> bool:
        return path in (PROFILE, FOLDER) or path.startswith(f"{FOLDER}/")

    async def files(self, run: Runner, owned: Owned) -> list[File]:
        known = await _facts(run, owned)
        paths = [PROFILE, *(f"{FOLDER}/{category}.md" for category in sorted(Category))]
        found = [_file(owned, path, _lines(owned, path, known)) for path in paths]
        return [file for file in found if file.size]

    async def text(self, run: Runner, owned: Owned, path: str) -> str | None:
        if not _is_known(owned, path):
            return None
        return _written(_lines(owned, path, await _facts(run, owned))) or None

    async def change(self, run: Runner, owned: Owned, path: str, change: Change, writing: Writing) -> File:
        services = present(owned.services)
        if not _is_known(owned, path):
            names = ", ".join(f"{FOLDER}/{category}.md" for category in sorted(Category))
            raise FileError("path", f"facts are in {names}, got {shown(path)}: write free text below /notes/")
        spoken = await _spoken(run, owned, writing)
        for _ in range(RACES):
            seen = await head(run, services, owned.scope)
            number = 1 + (await kept_files(run, services, owned.scope)).number(path)
            kept = await seen_files(run, owned)
            if writing.call and any(made.call == writing.call for made in kept.histories.get(path, ())):
                break
            lines = _lines(owned, path, await _facts(run, owned))
            text = stored_text(services, checked_file(change(_written(lines) or None)))
            claims = _claims(path, lines, text)
            if not claims:
                break
            _check(owned, claims, writing, spoken)
            made = [
                parted(services, owned, writing.message(services, words_of(claim), path, carried(claim)))
                for claim in claims
            ]
            parts = tuple(part for part, _ in made)
            revision = Revision(
                path, number, writing.change, services.clock(), parts, writing.origin, services.author,
                call=writing.call, base=number,
            )  # fmt: skip
            if await appended(run, owned, [revision], [draft for _, draft in made], seen=seen):
                break
        else:
            raise raced(path)
        return _file(owned, path, _lines(owned, path, await _facts(run, owned)))

    async def history(self, run: Runner, owned: Owned, path: str) -> list[FileRevision]:
        found = (await seen_files(run, owned)).histories.get(path)
        if not found:
            raise missing(path)
        return [
            FileRevision(
                path, one.number, await self._then(run, owned, one), one.change, one.at, one.author, one.origin
            )
            for one in found
        ]

    async def _then(self, run: Runner, owned: Owned, made: Revision) -> str:
        """The text after an earlier change."""
        then = replace(owned, services=replace(owned.services, horizon=Horizon(upto=made.position)))
        return await self.text(run, then, made.path) or ""

    async def undo(self, run: Runner, owned: Owned, path: str) -> File | None:
        services = present(owned.services)
        for _ in range(RACES):
            seen = await head(run, services, owned.scope)
            number = 1 + (await kept_files(run, services, owned.scope)).number(path)
            found = (await seen_files(run, owned)).counted(path)
            if found is None:
                raise FileError("missing", f"there is no change of {shown(path)} to undo")
            current, before = found
            base = 0 if before is None else before.number
            made = Revision(path, number, "undo", services.clock(), author=services.author, base=base)
            gone = kept_changed(services, await said(run, owned, current.ids))
            if await appended(run, owned, [made], gone, seen=seen):
                lines = _lines(owned, path, await _facts(run, owned))
                return _file(owned, path, lines) if lines else None
        raise raced(path)


def _is_known(owned: Owned, path: str) -> bool:
    if path == PROFILE:
        return owned.scope.space is None
    return path.removeprefix(f"{FOLDER}/").removesuffix(".md") in tuple(Category) and path.endswith(".md")


async def _facts(run: Runner, owned: Owned) -> list[Fact]:
    """The facts that apply in all sessions, grouped by subject, the user first."""
    known = applying(await facts(run, owned.services, owned.scope), None)
    return sorted(known, key=lambda fact: (fact.subject != USER, fact.subject, *_rank(fact.attribute), fact.id))


def _rank(attribute: str) -> tuple[int, str]:
    return _ORDER.get(attribute, len(_ORDER)), attribute


def _lines(owned: Owned, path: str, known: Sequence[Fact]) -> list[_Line]:
    by_text: dict[str, list[Fact]] = {}
    if path == PROFILE:
        fields = profile_fields(owned.services.state(FactsProjection).profile)
        own = own_facts(known, [owned.scope.user] if owned.scope.user else [])
        for field in fields if owned.scope.space is None else ():
            for fact in own:
                if field.takes(fact.attribute):
                    by_text.setdefault(f"{fact.attribute}: {_plain(fact.value)}", []).append(fact)
    else:
        for fact in known:
            if path == f"{FOLDER}/{fact.category}.md":
                by_text.setdefault(f"{fact.subject}{APART}{fact.attribute}: {_plain(fact.value)}", []).append(fact)
    return [_Line(text, tuple(dict.fromkeys(one))) for text, one in by_text.items()]


def _plain(value: str) -> str:
    return " ".join(value.split())


def _written(lines: Iterable[_Line]) -> str:
    return "".join(f"- {line.text}\n" for line in lines)


def _file(owned: Owned, path: str, lines: Sequence[_Line]) -> File:
    services = owned.services
    times = [fact.valid_from for line in lines for fact in line.facts]
    fixed = services.read_only or services.horizon is not None
    return File(path, len(_written(lines).encode()), max(times, default=None), read_only=fixed)


def _claims(path: str, lines: Sequence[_Line], text: str) -> list[Claim]:
    """The claims that a new text removes and adds compared with the lines; removals come first."""
    wanted = dict.fromkeys(bare for line in text.splitlines() if (bare := _bare(line)))
    there = {line.text: line for line in lines}
    new = [_claim(path, bare) for bare in wanted if bare not in there]
    replaced = {(claim.subject, claim.attribute) for claim in new if claim.single}
    gone = [
        ending(fact)
        for line in lines
        if line.text not in wanted
        for fact in line.facts
        if (fact.subject, fact.attribute) not in replaced
    ]
    return [*gone, *new]


def _bare(line: str) -> str:
    """The statement in a line; empty for headings and blank lines."""
    plain = _plain(line)
    if plain.startswith("#"):
        return ""
    return re.sub(r"^[-*+] ", "", plain)


def _claim(path: str, bare: str) -> Claim:
    """The claim that a line states; a line without a field is a note."""
    subject, category = USER, None
    if path != PROFILE:
        category = path.removeprefix(f"{FOLDER}/").removesuffix(".md")
        about, apart, rest = bare.partition(APART)
        subject, bare = (about.strip(), rest.strip()) if apart and about.strip() else (USER, bare)
    field = _FIELD.fullmatch(bare)
    name = "" if field is None else field[1].strip()
    if field is None or (len(name.split()) > MAX_WORDS and not name.startswith(RULE)):
        return stating(subject, "note", bare, category)
    named = _attributes().get(name.casefold()) or (name if name.startswith(RULE) else "_".join(name.casefold().split()))
    return stating(subject, named, field[2], category)


@cache
def _attributes() -> dict[str, str]:
    """Attributes by all of their names."""
    found: dict[str, str] = {}
    for about in ATTRIBUTES.values():
        for name in (*about.aliases, about.chinese, about.english):
            found.setdefault(name.casefold(), about.name)
    return found | {name: name for name in ATTRIBUTES}


async def _spoken(run: Runner, owned: Owned, writing: Writing) -> list[Event]:
    """Turns in which the user may have said what an assistant states: those of the session, and the edit's sources."""
    if writing.origin is not Origin.ASSISTANT:
        return []
    view = await in_view(run, owned.services, owned.scope)
    events = await run.call(view.log.get, owned.scope.owner, list(writing.sources)) if writing.sources else []
    if owned.scope.session is not None:
        events += await run.call(view.log.read, owned.scope, kinds=(EventKind.MESSAGE,), limit=TURNS, newest=True)
    return [event for event in events if event.kind is EventKind.MESSAGE]


def _check(owned: Owned, claims: Iterable[Claim], writing: Writing, spoken: Sequence[Event]) -> None:
    """Reject claims that words of this origin may not state."""
    services, shared = owned.services, owned.scope.space is not None
    origin = lowest((writing.origin, services.speaks))
    origin = lowest((origin, Origin.PERSON)) if shared else origin
    for claim in claims:
        if why := may_state(claim, origin, spoken, services.config.learning.origins, shared=shared):
            raise FileError(
                "read_only", f"{shown(words_of(claim))} was not written, {why}: keep it in a file below /notes/"
            )
