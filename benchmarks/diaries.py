"""How well recall keeps to the time that a question names: a diary of 75 days, in English and in Chinese.

The diary is made here: three to five entries a day on what recurs in anybody's days, so that what was done yesterday
was also done three weeks ago. It is kept once in one session and once in a session a day, and asked 28 questions with a
time in each language, half of which name nothing but the time. What counts is whether the first hit lies in the range
that the question means; the ranges are written down by hand, not read from the words. Six more questions
ask for what was talked of last, and for the first or the last time of something.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hybrid_memory import MemoryConfig, Message, ScopedMemory, open_memory

NOW = datetime(2026, 5, 20, 21, 30, tzinfo=UTC)
"""A Wednesday."""

DAYS = 75
DAY = timedelta(days=1)
Entry = tuple[datetime, str]
LAYOUTS = ("one session", "a session a day")

ENGLISH = {
    "food": [
        "Cooked {} for dinner and ate too much of it.|Tried a new recipe for {}, it came out rather well.",
        "lentil soup|mushroom risotto|pea curry|onion tart|fish pie|tomato pasta|pancakes|fried rice|a bean stew",
    ],
    "sport": [
        "Went {} before breakfast, my legs are tired.|Went {} for an hour and felt better afterwards.",
        "running along the river|swimming|cycling to the lake|climbing in the hall|rowing|to the gym|to yoga",
    ],
    "people": [
        "Met {} for a long talk over coffee.|{} came by and stayed the whole evening.|Had a long call with {}.",
        "Ines|Oskar|my aunt|Piotr|the neighbours|Lucia|my cousin|Hanne",
    ],
    "work": [
        "At work we spent the whole day on {}.|Long meeting about {}, nothing was decided.|Finished {} at last.",
        "the budget|the new website|the hiring plan|the yearly report|a broken printer|the office move|two contracts",
    ],
    "leisure": [
        "Read a few chapters of {}.|Watched {} on the sofa.|Listened to {} and fell asleep.",
        "a novel about a lighthouse|a film about whales|a radio play|a book on bridges|an old western|a crime series",
    ],
    "errands": [
        "Bought {} in town.|Had to take {} back to the shop.|Spent far too much on {}.",
        "a rain coat|flower pots|a desk lamp|shoes for the summer|a birthday card|a kettle|paint for the fence",
    ],
    "feeling": [
        "Felt {} all day.|Woke up {}, went to bed the same.",
        "restless|calm and content|a bit ill|homesick|full of energy|worn out",
    ],
}  # fmt: skip
CHINESE = {
    "food": [
        "晚饭做了{}，吃得太撑了。|照着新菜谱做{}，味道还不错。",
        "番茄炒蛋|红烧排骨|麻婆豆腐|清蒸鱼|土豆炖牛肉|饺子|蘑菇汤|炒米粉|咖喱鸡",
    ],
    "sport": ["早饭前去{}，腿有点酸。|去{}了一个小时，舒服多了。", "河边跑步|游泳|骑车|攀岩|划船|健身房锻炼|练瑜伽"],
    "people": [
        "和{}喝咖啡，聊了很久。|{}来家里坐了一晚上。|跟{}打电话，说起以前的事。",
        "小梅|老郑|姑姑|阿强|邻居|表妹|大学同学|房东",
    ],
    "work": [
        "在公司一整天都在弄{}。|开会讨论{}，什么也没定下来。|总算把{}弄完了。",
        "预算|新网站|招聘计划|年度报告|坏掉的打印机|办公室搬迁|两份合同",
    ],
    "leisure": [
        "看了几页{}。|窝在沙发上看{}。|听着{}睡着了。",
        "讲灯塔的小说|鲸鱼纪录片|广播剧|讲桥的书|老武侠片|侦探剧",
    ],
    "errands": ["在街上买了{}。|把{}拿回店里退掉。|花了太多钱买{}。", "雨衣|花盆|台灯|凉鞋|生日贺卡|水壶|刷栅栏的漆"],
    "feeling": ["一整天都觉得{}。|醒来就{}，睡前还是这样。", "心神不宁|平静满足|有点不舒服|想家|精力充沛|累坏了"],
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the range that it means, half-open."""

    text: str
    since: datetime
    until: datetime


def _asked(lines: str) -> list[Question]:
    """Questions, one a line: the first and the last day that is meant (month-day), and the words."""
    asked = []
    for line in lines.strip().splitlines():
        first, last, text = line.strip().split(maxsplit=2)
        begin, end = (datetime.strptime(f"2026-{day}", "%Y-%m-%d").replace(tzinfo=UTC) for day in (first, last))
        asked.append(Question(text, begin, end + DAY))
    return asked


QUESTIONS: Mapping[str, Sequence[Question]] = {
    "English": _asked("""
        5-19 5-19 What did I do yesterday?
        5-18 5-18 What did I do the day before yesterday?
        5-20 5-20 What happened today?
        5-11 5-17 What did I do last week?
        5-18 5-20 What have I done this week?
        5-16 5-17 What did I do last weekend?
        5-15 5-15 How was last Friday?
        5-18 5-18 What did I write on Monday?
        5-17 5-17 What did I do three days ago?
        5-10 5-10 What was going on ten days ago?
        5-4 5-10 What did I do two weeks ago?
        4-1 4-30 Tell me about last month.
        4-1 4-30 What did I do in April?
        5-3 5-3 What did I do on 3 May?
        5-8 5-8 What did I cook on May 8th?
        5-19 5-19 What did I eat yesterday?
        5-11 5-17 Which sport did I do last week?
        5-11 5-17 Whom did I meet last week?
        5-16 5-17 What did I read at the weekend?
        4-1 4-30 What did I buy in April?
        5-14 5-14 How did I feel last Thursday?
        5-12 5-12 What was the meeting on the 12th about?
        5-15 5-20 What did I work on in the last five days?
        3-9 3-31 What did I watch in March?
        5-1 5-20 How often did I go swimming this month?
        4-28 4-28 What did we talk about at work on 2026-04-28?
        4-1 4-10 What did I do in early April?
        4-27 5-3 Who came by three weeks ago?
    """),
    "Chinese": _asked("""
        5-19 5-19 我昨天做了什么？
        5-18 5-18 前天我干了什么？
        5-20 5-20 今天发生了什么事？
        5-11 5-17 上周我做了什么？
        5-18 5-20 这周我都做了些什么？
        5-16 5-17 上个周末我做了什么？
        5-15 5-15 上周五过得怎么样？
        5-18 5-18 星期一我写了什么？
        5-17 5-17 三天前我做了什么？
        5-10 5-10 十天前发生了什么？
        5-4 5-10 两周前我在干什么？
        4-1 4-30 说说上个月的事。
        4-1 4-30 四月我做了什么？
        5-3 5-3 5月3日我做了什么？
        5-8 5-8 5月8号晚饭做了什么菜？
        5-19 5-19 昨天我吃了什么？
        5-11 5-17 上周我做了什么运动？
        5-11 5-17 上星期我见了谁？
        5-16 5-17 上周末我看了什么书？
        4-1 4-30 四月份我买了什么？
        5-14 5-14 上周四我感觉怎么样？
        5-12 5-12 5月12日开会讨论了什么？
        5-15 5-20 最近五天我在忙什么工作？
        3-9 3-31 三月我看了什么片子？
        5-1 5-20 这个月我去游泳了几次？
        4-28 4-28 2026年4月28日在公司做了什么？
        4-1 4-10 四月上旬我做了什么？
        4-27 5-3 三周前谁来过我家？
    """),
}
ORDERED: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "English": (
        ("What did we talk about last?", "", "last"),
        ("What did we talk about last time?", "", "last"),
        ("When was the first time that I went swimming?", "swimming", "first"),
        ("When did I first meet Oskar?", "Oskar", "first"),
        ("When was the last time that I met Lucia?", "Lucia", "last"),
        ("When did I last cook fish pie?", "fish pie", "last"),
    ),
    "Chinese": (
        ("我们上次聊了什么？", "", "last"),
        ("我们最后一次聊了什么？", "", "last"),
        ("我第一次去游泳是什么时候？", "游泳", "first"),
        ("我第一次见到老郑是什么时候？", "老郑", "first"),
        ("我最后一次见小梅是什么时候？", "小梅", "last"),
        ("我上一次做清蒸鱼是什么时候？", "清蒸鱼", "last"),
    ),
}
"""A question, a word of the entries that it is about (empty: any of the last day before today), and which it wants."""


def diary(language: str, days: int = DAYS) -> Iterator[Entry]:
    """The entries, oldest first: three to five a day, today included."""
    kinds = list((ENGLISH if language == "English" else CHINESE).values())
    sides = [[part.split("|") for part in kind] for kind in kinds]
    number = 0
    for day in range(days):
        begin = (NOW - (days - 1 - day) * DAY).replace(hour=8, minute=0)
        for entry in range(3 + day * 7 % 3):
            number += 1
            forms, things = sides[(number * 3 + day) % len(sides)]
            text = forms[number % len(forms)].format(things[(number * 5 + day // 7) % len(things)])
            yield begin + entry * timedelta(hours=3), text[0].upper() + text[1:]


@dataclass(frozen=True, slots=True)
class Counts:
    """What was found.

    Attributes:
        asked: questions with a time; first: of these, with the first hit in range.
        ordered: questions for the first or last time whose first hit is that.
        missed: those whose first hit is wrong.
    """

    asked: int
    first: int
    ordered: int
    missed: tuple[str, ...]


def asked(memory: ScopedMemory, language: str, entries: Sequence[Entry]) -> Counts:
    """All questions of a language, put to a diary."""
    first = ordered = 0
    missed = []
    for question in QUESTIONS[language]:
        within = [question.since <= hit.record.at < question.until for hit in memory.recall(question.text, k=1)]
        first += any(within)
        if not any(within):
            missed.append(question.text)
    for text, word, which in ORDERED[language]:
        about = [at for at, entry in entries if word in entry]
        wanted = about[0] if which == "first" else about[-1]
        hits = memory.recall(text, k=1)
        if hits and hits[0].record.at == wanted:
            ordered += 1
        else:
            missed.append(text)
    return Counts(len(QUESTIONS[language]), first, ordered, tuple(missed))


def measured(language: str, layout: str, config: MemoryConfig) -> Counts:
    """The counts for a diary in one language and layout."""
    entries = list(diary(language))
    with open_memory(config, clock=lambda: NOW) as memory:
        sessions: dict[str, list[Message]] = {}
        for at, text in entries:
            session = "diary" if layout == LAYOUTS[0] else str(at.date())
            sessions.setdefault(session, []).append(Message(content=text, at=at))
        for session, said in sessions.items():
            memory.scoped(user="me", session=session).remember(said)
        mine = memory.scoped(user="me")
        mine.flush(progress=False)
        return asked(mine, language, entries)
