"""Multi-document question answering: more documents than fit the window, one of which has the wanted fact.

Documents are entries of a fair's daybook, in English and Chinese, written with a fixed seed. Many share persons, places
and deeds; person, place and deed together stand in one alone. The answer is right if it holds the thing.
"""

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.paging.lookup import SEED, noted
from benchmarks.paging.policies import Reader
from benchmarks.paging.runs import MAX_TOKENS, count, opened, paged, windowed
from benchmarks.tables import Table
from benchmarks.vectors import KeptVectors
from hybrid_memory import Message

SIZES = (20, 100, 400)
QUESTIONS = 10
"""Of each language and number of documents."""


@dataclass(frozen=True, slots=True)
class Language:
    """The words of documents and questions; things are given away once each."""

    people: Sequence[str]
    places: Sequence[str]
    deeds: Sequence[str]
    materials: Sequence[str]
    things: Sequence[str]
    thing: str
    fact: str
    question: str
    frames: Sequence[str]


ENGLISH = Language(
    people="Mara Lindqvist,Tobias Okoro,Ines Carvalho,Yusuf Demir,Clara Novak,Henrik Dahl,Priya Raman,Bruno Keller"
    ",Nadia Haddad,Samuel Ortiz".split(","),
    places="Harrow,Elmford,Kestrel Bay,Old Mill,Thornby,Saltmarsh,Quarry Hill,Westgate".split(","),
    deeds="borrowed,painted,repaired,ordered,planted,weighed".split(","),
    materials="brass,oak,copper,velvet,ivory,willow,marble,pewter,walnut,amber,slate,silver".split(","),
    things="sextant,lantern,barometer,cradle,weathervane,mandolin,sundial,saddle,birdcage,kettle,globe,anvil".split(
        ","
    ),
    thing="{material} {thing}",
    fact="{person} {deed} the {thing} at {place}.",
    question="{person}: what was {deed} at {place}?",
    frames=(
        "It was a slow day at {place}, and {person} arrived before the gates were opened.",
        "{other} asked {person} about the road to {elsewhere}.",
        "The clerk at {place} wrote that nothing was {undone} and that the ledger was closed at noon.",
    ),
)
CHINESE = Language(
    people="林岚 陈立航 赵敏 孙倩 周立 王峰 李雪 张曼婷 刘洋 吴桐".split(),
    places="临河镇 青石桥 南浦 云台村 白鹭洲 梅岭 望江亭 柳溪".split(),
    deeds="借走 油漆 修理 订购 种下 称量".split(),
    materials="黄铜 橡木 紫铜 天鹅绒 象牙 柳条 大理石 锡制 胡桃木 琥珀 石板 银制".split(),
    things="六分仪 灯笼 气压计 摇篮 风向标 曼陀林 日晷 马鞍 鸟笼 水壶 地球仪 铁砧".split(),
    thing="{material}{thing}",
    fact="{person}在{place}{deed}了{thing}。",
    question="{person}: 在{place}{deed}了什么？",
    frames=(
        "{place}这一天很清静，{person}在开门之前就到了。",
        "{other}向{person}打听去{elsewhere}的路。",
        "{place}的书记写道，没有东西被{undone}，账本中午就合上了。",
    ),
)
LANGUAGES = {"English": ENGLISH, "Chinese": CHINESE}


@dataclass(frozen=True, slots=True)
class Entry:
    """A document, a question that it alone answers, and the answer."""

    text: str
    question: str
    answer: str


def entries(language: Language, number: int, seed: int = SEED) -> list[Entry]:
    """So many documents, no two of which have person, place and deed in common."""
    # Not for secrets: the same documents every time.
    chance = random.Random(seed)  # noqa: S311
    facts = list(itertools.product(language.people, language.places, language.deeds))
    chance.shuffle(facts)
    made = []
    for person, place, deed in facts[:number]:
        thing = language.thing.format(material=chance.choice(language.materials), thing=chance.choice(language.things))
        words = {
            "person": person,
            "place": place,
            "deed": deed,
            "thing": thing,
            "other": chance.choice([name for name in language.people if name != person]),
            "elsewhere": chance.choice([name for name in language.places if name != place]),
            "undone": chance.choice([name for name in language.deeds if name != deed]),
        }
        sentences = [frame.format(**words) for frame in (language.fact, *language.frames)]
        chance.shuffle(sentences)
        made.append(Entry(" ".join(sentences), language.question.format(**words), thing))
    return made


def run() -> Table:
    """The share of right answers, by the number of documents."""
    table = Table(
        "multi-document question answering: right answers",
        ("documents", "in", "questions", "paged", "window", "tokens"),
        note=f"tokens: of all documents together; the window has {MAX_TOKENS}",
    )
    embedder = KeptVectors()
    for number in SIZES:
        for name, language in LANGUAGES.items():
            row = _asked(language, number, embedder)
            table.rows.append({"documents": str(number), "in": name} | row)
    return table


def _asked(language: Language, number: int, embedder: KeptVectors) -> dict[str, Any]:
    documents = entries(language, number)
    history = [Message(content=entry.text, id=f"document-{row}") for row, entry in enumerate(documents)]
    policy = Reader("archival_memory_search")
    asked = documents[:: max(1, number // QUESTIONS)][:QUESTIONS]
    right: Counter[str] = Counter()
    with opened(embedder) as memory:
        noted(memory, [entry.text for entry in documents])
        memory.flush(progress=False)  # on a busy machine a question would not wait for all vectors
        for row, entry in enumerate(asked):
            answered = paged(memory, policy, entry.question, session=f"question {row}")
            right["paged"] += entry.answer in answered
            window = windowed(history, policy, entry.question)
            right["window"] += entry.answer in window
    return {
        "questions": len(asked),
        "paged": right["paged"] / len(asked),
        "window": right["window"] / len(asked),
        "tokens": sum(count(entry.text) for entry in documents),
    }
