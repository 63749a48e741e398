"""The sheet: what the user said, in their own words, with the day; and `profile`, the same as fields.

Name, safety and standing instructions are in every prompt, before the conversation. Of all other statements those
nearest to the question stand with the question. See docs/decisions/0056 for what it was compared with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

from hybrid_memory.arrays import Array, Floats
from hybrid_memory.facts.attributes import AT_STAKE, is_order
from hybrid_memory.facts.authority import applying
from hybrid_memory.facts.fact import OTHERS, USER, Fact
from hybrid_memory.facts.facts import FactsProjection, Knowledge, is_lasting, knowledge
from hybrid_memory.facts.judge import Judge, judge_of
from hybrid_memory.facts.learn import learn_before_reading
from hybrid_memory.facts.profile import UserProfile
from hybrid_memory.facts.profiling import own_facts, profile_of
from hybrid_memory.facts.statements import unpacked
from hybrid_memory.log.port import LogState
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services
from hybrid_memory.store.view import in_view
from hybrid_memory.text.asking import asks_nothing
from hybrid_memory.text.speakers import is_chinese, within_line
from hybrid_memory.text.tokenize import plain_terms
from hybrid_memory.text.tokens import TokenCounter

HALF = 0.5  # how much the logarithm of a statement's size counts beside its likeness to the question

COMMON = 0.6  # the share of what all statements have in common that is taken from the question, as in recall
SAFETY_RATIO = 0.2
"""The most of the tokens for memories that the user's own name and safety take in front of the conversation.

What does not fit is picked for the question, like all else. With twice as much, twenty lives have up to .02 of their
questions and tasks answered less.
"""

ORDERS_RATIO = 0.1  # the most of the tokens for memories that standing instructions take in front of the conversation
OTHERS_RATIO = 0.05  # the same for other people's allergies and illnesses
FEW_TOKENS = 450
"""Of fewer tokens for memories the three take more, up to twice their share: small prompts need an allergy too."""

SENTENCES = " / "  # between two sentences of one day
DAY_TOKENS = 8  # tokens of a day in front of its sentences

_HEADINGS = {
    "en": (
        "How the user wants you to work; follow it as far as the system message allows:",
        "About the user:",
        "About others:",
    ),
    "zh": ("用户对你的要求，在系统消息允许的范围内请照做：", "关于用户：", "关于其他人："),
}


async def profile(run: Runner, services: Services, scope: Scope, *, names: Collection[str] = ()) -> UserProfile:
    """The user's profile in this session, or in any, with the fields of the profile's type."""
    await learn_before_reading(run, services, scope)
    view = await in_view(run, services, scope)
    known = await knowledge(run, view)
    mine = [*names, *([view.owner.user] if view.owner.user else [])]
    if view.owner.space is None and len(known.speakers) == 1:
        mine += known.speakers - {""}
    own = own_facts(applying(filter(is_lasting, known.facts), scope.session), mine)
    return profile_of(own, services.state(FactsProjection).profile)


@dataclass(frozen=True, eq=False)
class Sheet:
    """The statements of an owner, oldest first, as arrays.

    Attributes:
        facts: the statements.
        vectors: of shape (n, dim), zeros for those without one.
        size: the logarithm of the number of their words, of shape (n,).
        judge: of the embedder, if it has one; outlines: what it sees in them, of shape (n, outputs).
        withdrawn: sentences that somebody rejected or corrected, and instructions for other sessions.
    """

    facts: Sequence[Fact]
    vectors: Floats
    size: Array
    judge: Judge | None = None
    outlines: Floats | None = None
    withdrawn: Sequence[Fact] = ()

    @cached_property
    def always(self) -> list[Fact]:
        """Those that every prompt has, see `always`."""
        return always(self.facts)

    @cached_property
    def words(self) -> list[str]:
        """Each as a prompt shows it, see `spoken_words`."""
        return [spoken_words(fact) for fact in self.facts]

    @cached_property
    def common(self) -> Floats:
        """The part of each vector that is of all, which `nearness` leaves out; shape (dim,)."""
        common: Floats = COMMON * self.vectors.mean(axis=0)
        return common

    @cached_property
    def rows_of(self) -> dict[str, list[int]]:
        """The rows of each source."""
        rows = defaultdict[str, list[int]](list)
        for row, fact in enumerate(self.facts):
            for source in fact.sources:
                rows[source].append(row)
        return dict(rows)

    def nearness(self, vector: Floats | None) -> Array:
        """How much each statement is worth showing for a question, of shape (n,); only differences mean something.

        By its likeness to the question, its size, and how much the question needs statements of its kind. ``vector`` is
        of the question; None without an embedder.
        """
        score = HALF * self.size
        if vector is not None and self.vectors.shape[1] == len(vector):
            like = (self.vectors @ (vector - self.common)).astype(np.float64)
            score = score + (like - like.mean()) / max(float(like.std()), 1e-9)
            if self.judge is not None and self.outlines is not None:
                score = score + self.outlines @ self.judge.needed(vector)
        return np.asarray(score)


async def sheet(run: Runner, services: Services, scope: Scope, state: LogState | None = None) -> Sheet:
    """The statements of the owner that apply in this session; new turns are read first, some in the background.

    ``state`` is that of the owner's log with the kinds of `knowledge` and of what was learned, if known.
    """
    view = await in_view(run, services, scope)
    if view.horizon is None:
        wait = services.config.orchestration.model_timeout if services.config.learning.background else None
        state = None if await learn_before_reading(run, services, scope, state=state, wait=wait) else state
    known = await knowledge(run, view, state)
    key = known.last, scope.session if scope.session in known.passing else None
    made: Sheet | None = known.sheets.get(key)
    if made is None:
        made = await run.call(_sheet_of, known, scope.session, services.embedder)
        known.sheets.put(key, made)
    return made


def _sheet_of(known: Knowledge, session: str | None, embedder: Embedder | None) -> Sheet:
    statements = known.statements()
    applies = {fact.id for fact in applying((fact for fact, _ in statements), session)}
    rows = [(fact, vector) for fact, vector in statements if fact.id in applies]
    rejected = (fact for fact in known.facts if fact.reviewed and fact.valid_to == fact.valid_from and fact.text)
    withdrawn = [*rejected, *(fact for fact, _ in statements if fact.id not in applies)]
    vectors = [unpacked(text) if text else None for _, text in rows]
    dim = max((len(vector) for vector in vectors if vector is not None), default=0)
    table = np.zeros((len(rows), dim), dtype=np.float32)
    for row, vector in enumerate(vectors):
        if vector is not None and len(vector) == dim:
            table[row] = vector
    size = size_of([fact.text for fact, _ in rows])
    judge, outlines = None if embedder is None else judge_of(embedder), None
    if judge is not None and judge.needs.shape[1] == dim + 1:  # vectors of an earlier embedder may have another width
        new = [row for row, (_, text) in enumerate(rows) if text not in known.outlines]
        known.outlines.update(zip((rows[row][1] for row in new), judge.outlines(table[new]), strict=True))
        outlines = np.array([known.outlines[text] for _, text in rows])
    return Sheet([fact for fact, _ in rows], table, size, judge, outlines, withdrawn)


def size_of(texts: Iterable[str]) -> Array:
    """The logarithm of the number of words of each."""
    return np.asarray(np.log1p([1.5 * len(set(plain_terms(text))) for text in texts]))


def is_safety(fact: Fact) -> bool:
    """Whether it may harm the user, or somebody near them, if it is unknown; what they never eat is counted in."""
    return fact.attribute in AT_STAKE


def always(facts: Iterable[Fact]) -> list[Fact]:
    """The statements that every prompt has: name, safety and standing instructions, the surest, then newest first."""
    chosen = [
        fact for fact in facts if is_order(fact.attribute) or is_safety(fact) or fact.attribute in {"name", "nickname"}
    ]
    named = {fact.id for fact in chosen if fact.attribute == "name" and not fact.verbatim and fact.subject != OTHERS}
    return sorted(chosen, key=lambda fact: (fact.id in named, fact.importance, fact.confidence, fact.id), reverse=True)


def standing_text(
    facts: Sequence[Fact], turns: Sequence[str], max_tokens: int, count: TokenCounter
) -> tuple[str, list[Fact]]:
    """The text of name, safety and instructions, by day, and which these are.

    Each part has a share of ``max_tokens``, a larger one of few; the surest, then the newest come first. While the
    user's ``turns`` of this conversation are all greetings and the like, their illnesses are nobody's business.
    """
    chosen = always(facts)
    if any(turns) and all(map(asks_nothing, turns)):
        chosen = [fact for fact in chosen if not is_safety(fact)]
    orders = [fact for fact in chosen if is_order(fact.attribute)]
    # A user who gives their name speaks under it; so does each of several who share one memory.
    others = [fact for fact in chosen if fact.subject == OTHERS and not is_order(fact.attribute)]
    own = [fact for fact in chosen if fact.subject != OTHERS and not is_order(fact.attribute)]
    kept: dict[str, Fact] = {}
    shared = max(max_tokens, min(2 * max_tokens, FEW_TOKENS))
    for part, ratio in ((own, SAFETY_RATIO), (orders, ORDERS_RATIO), (others, OTHERS_RATIO)):
        room, days = ratio * shared, set[date]()
        for fact in part:
            if fact.text not in kept and (tokens := line_tokens(fact, days, count)) <= room:
                kept[fact.text] = fact
                days.add(fact.valid_from.date())
                room -= tokens
    groups = [[fact for fact in part if kept.get(fact.text) is fact] for part in (orders, own, others)]
    headings = _HEADINGS["zh" if is_chinese("".join(kept)) else "en"]
    parts = ["\n".join([heading, *by_day(group)]) for heading, group in zip(headings, groups, strict=True) if group]
    return "\n".join(parts), [*kept.values()]


def by_day(facts: Iterable[Fact]) -> list[str]:
    """A line for each day with its statements, oldest first."""
    days: dict[date, list[str]] = {}
    for fact in sorted(facts, key=lambda fact: (fact.valid_from, fact.id)):
        days.setdefault(fact.valid_from.date(), []).append(spoken_words(fact))
    return [f"[{day}] {SENTENCES.join(texts)}" for day, texts in days.items()]


def line_tokens(fact: Fact, days: Collection[date], count: TokenCounter) -> int:
    """The tokens of a statement, with its day unless that is among these days already."""
    return count(spoken_words(fact) + SENTENCES) + (0 if fact.valid_from.date() in days else DAY_TOKENS)


def spoken_words(fact: Fact) -> str:
    """The sentence on one line, after the name of a speaker other than the user."""
    who = "" if fact.subject in (USER, OTHERS) else f"{fact.subject}: "
    return within_line(f"{who}{' '.join(fact.text.split())}")
