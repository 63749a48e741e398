"""Two statements about the same thing, the later with another value: which comes first, now and for a question about the past?

    python benchmarks/newest.py [--topics ...] [--misses]

204 pairs in English and Chinese, six topics, none of them about the user. One memory a language and distance holds all
pairs: the later statements follow in the same session, a week later behind 20 turns of other talk, or five months later
behind 300. ``newest``: the later statement is the first hit; ``none older``: the earlier one is not above it; ``past``:
a question about the past has the earlier one first. Beside recall, in the same stores: the nearest vectors and words
(BM25) alone.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hybrid_memory import HybridMemory, open_memory
from hybrid_memory.config import MemoryConfig, OrchestrationConfig, RecallConfig
from hybrid_memory.config.memory import Weights

START = datetime(2026, 2, 3, 9, tzinfo=UTC)
DISTANCES = {"same session": (0, timedelta(minutes=5)), "a week": (20, timedelta(days=7)), "months": (300, timedelta(days=150))}

Attribute = tuple[str, str, str, str, str]
"""First and second wording of a statement, the question, the question about the past, and values by commas."""

TOPICS: dict[str, tuple[str, tuple[Attribute, ...]]] = {
    "projects": ("Orion,Halcyon,Bluebird,Kestrel,Maple,Quartz", (
        ("The deadline of {s} is {v}.", "{s} has to be handed in by {v}.", "When is {s} due?", "What was the original deadline of {s}?",
         "3 May,17 May,30 June,2 August,11 September,5 October,8 November"),
        ("{v} leads {s}.", "The lead of project {s} is {v}.", "Who is leading {s}?", "Who led {s} before that?",
         "Priya,Tomasz,Ingrid,Malik,Chen,Rosa,Dmitri"),
        ("We have {v} euros for {s}.", "The budget of {s} is {v} euros.", "How much money does {s} have?", "What was the budget of {s} at first?",
         "40000,55000,72000,18000,96000,61000,33000"),
    )),
    "places": ("Café Lumen,the Harbour Gym,Bakery Roth,the Elm Street library,the tool shop,Cinema Rex", (
        ("{s} opens at {v}.", "You can get into {s} from {v} on.", "What time does {s} open?", "When did {s} use to open?",
         "seven,eight,nine,ten,eleven,half past seven,half past nine"),
        ("{s} is on {v}.", "The address of {s} is {v}.", "Where is {s}?", "Where was {s} previously?",
         "Mill Road,Castle Street,Linden Avenue,Dock Lane,Park Row,Abbey Square,Station Road"),
        ("{s} is run by {v}.", "The manager of {s} is {v}.", "Who manages {s}?", "Who was running {s} originally?",
         "Mrs Okoye,Mr Lind,Ms Ferrara,Mr Baptiste,Mrs Novak,Ms Haddad,Mr Quist"),
    )),
    "organisations": ("Norvik,Astergate,Pellucid Labs,the Verdane Union,Tarnhelm,Osprey Air", (
        ("The chief executive of {s} is {v}.", "{s} has {v} as its CEO.", "Who is the CEO of {s}?", "Who was the previous CEO of {s}?",
         "Lena Brandt,Omar Siddiqui,Grace Liu,Pavel Horak,Ann Doyle,Luis Prado,Mei Tan"),
        ("{s} has its headquarters in {v}.", "The head office of {s} is in {v}.", "In which city are the headquarters of {s}?",
         "In which city were the headquarters of {s} before?", "Oslo,Lyon,Tallinn,Porto,Graz,Leeds,Gdansk"),
        ("The working language of {s} is {v}.", "At {s} the official language is {v}.", "What is the official language at {s}?",
         "What was the official language at {s} originally?", "English,French,German,Danish,Polish,Spanish,Dutch"),
    )),
    "household": ("upstairs,the garage,the kitchen,the garden house,the cellar,the guest room", (
        ("The wifi password {in_}{s} is {v}.", "For wifi {in_}{s} use {v}.", "What is the wifi password {in_}{s}?",
         "What was the first wifi password {in_}{s}?", "bluegiraffe,redpanda7,silverfox,oldowl22,greenmoth,tealheron,graywolf9"),
        ("The cleaner does {s} on {v}.", "Cleaning day for {s} is {v}.", "On which day is {s} cleaned?", "On which day was {s} cleaned before that?",
         "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"),
        ("The walls of {s} are {v}.", "{s} is painted {v}.", "What colour is {s}?", "What colour was {s} originally?",
         "pale green,cream,dark blue,terracotta,lilac,light grey,mustard"),
    )),
    "people": ("Bettina,Farouk,Sunniva,old Mr Pike,Cousin Dario,Nurse Adeyemi", (
        ("{s} works as a {v}.", "By profession {s} is a {v}.", "What does {s} do for a living?", "What was {s}'s earlier job?",
         "baker,welder,translator,bus driver,florist,surveyor,tailor"),
        ("{s} lives in {v}.", "The home of {s} is in {v}.", "Where does {s} live?", "Where did {s} live before?",
         "Bristol,Cork,Ghent,Malmo,Turin,Brno,Split"),
        ("{s} drives a {v}.", "The car of {s} is a {v}.", "Which car does {s} have?", "Which car did {s} have originally?",
         "Volvo,Fiat,Skoda,Mazda,Renault,Seat,Honda"),
    )),
    "systems": ("the billing service,the search service,the mail gateway,the staging server,the data warehouse,the login page", (
        ("{s} runs on {v}.", "{v} is what {s} is built on.", "What does {s} run on?", "What did {s} run on originally?",
         "Rust,Java,Elixir,Go,Python,Kotlin,Scala"),
        ("{s} listens on port {v}.", "The port of {s} is {v}.", "Which port does {s} use?", "Which port did {s} use before?",
         "8081,9000,7443,5050,6112,8800,4021"),
        ("On call for {s} is {v}.", "If {s} fails, call {v}.", "Who is on call for {s}?", "Who was on call for {s} previously?",
         "Sven,Amira,Kofi,Judit,Paolo,Nadia,Erik"),
    )),
    "项目": ("猎户座项目,翠鸟项目,枫叶项目,石英项目,白鹭项目,青松项目", (
        ("{s}的截止日期是{v}。", "{s}要在{v}之前交。", "{s}什么时候截止？", "{s}最初的截止日期是哪天？",
         "5月3号,5月17号,6月30号,8月2号,9月11号,10月5号,11月8号"),
        ("{v}负责{s}。", "{s}的负责人是{v}。", "{s}由谁负责？", "之前是谁负责{s}？", "周琳,阿贵,陆明,欧阳静,郑涛,蔡敏,彭飞"),
        ("{s}有{v}块钱。", "{s}的预算是{v}元。", "{s}的预算是多少？", "{s}一开始的预算是多少？", "四万,五万五,七万二,一万八,九万六,六万一,三万三"),
    )),
    "地方": ("光明咖啡馆,海港健身房,老罗面包店,榆树街图书馆,五金店,大都会影院", (
        ("{s}{v}开门。", "{v}起可以进{s}。", "{s}几点开门？", "{s}以前几点开门？", "七点,八点,九点,十点,十一点,七点半,九点半"),
        ("{s}在{v}。", "{s}的地址是{v}。", "{s}在哪里？", "{s}原来在哪里？", "磨坊路,城堡街,菩提大道,码头巷,公园路,修道院广场,车站路"),
        ("{s}是{v}开的。", "{s}的老板是{v}。", "{s}的老板是谁？", "{s}原先的老板是谁？", "吴太太,林先生,何女士,白先生,倪太太,郝女士,秦先生"),
    )),
    "机构": ("北维集团,星门公司,明澈实验室,绿原联盟,塔恩银行,鱼鹰航空", (
        ("{s}的总裁是{v}。", "{v}担任{s}的总裁。", "谁是{s}的总裁？", "{s}的上一任总裁是谁？", "李娜,马俊,刘洁,何帕,杜安,卢毅,谭梅"),
        ("{s}的总部在{v}。", "{s}把总部设在{v}。", "{s}的总部在哪个城市？", "{s}的总部以前在哪个城市？", "苏州,青岛,成都,厦门,大连,合肥,宁波"),
        ("{s}的工作语言是{v}。", "在{s}，官方语言是{v}。", "{s}的官方语言是什么？", "{s}最初的官方语言是什么？", "英语,法语,德语,丹麦语,波兰语,西班牙语,荷兰语"),
    )),
    "家里": ("楼上,车库,厨房,花园小屋,地下室,客房", (
        ("{s}的无线网密码是{v}。", "{s}的无线网用{v}登录。", "{s}的无线网密码是多少？", "{s}最早的无线网密码是什么？",
         "蓝色长颈鹿,红熊猫七,银狐,老猫头鹰,绿蛾,青鹭,灰狼九"),
        ("保洁{v}打扫{s}。", "{s}的打扫日是{v}。", "{s}哪天打扫？", "{s}之前是哪天打扫的？", "周一,周二,周三,周四,周五,周六,周日"),
        ("{s}的墙是{v}的。", "{s}刷成了{v}。", "{s}是什么颜色的？", "{s}原来是什么颜色的？", "浅绿色,奶油色,深蓝色,砖红色,淡紫色,浅灰色,芥末黄"),
    )),
    "人物": ("小贝,法鲁克,苏妮,老派克,表哥达里,护士阿德", (
        ("{s}是{v}。", "{s}的职业是{v}。", "{s}做什么工作？", "{s}以前做什么工作？", "面包师,焊工,翻译,公交司机,花匠,测量员,裁缝"),
        ("{s}住在{v}。", "{s}的家在{v}。", "{s}住哪里？", "{s}之前住哪里？", "布里斯托,科克,根特,马尔默,都灵,布尔诺,斯普利特"),
        ("{s}开一辆{v}。", "{s}的车是{v}。", "{s}开什么车？", "{s}原来开什么车？", "沃尔沃,菲亚特,斯柯达,马自达,雷诺,西雅特,本田"),
    )),
    "系统": ("计费服务,搜索服务,邮件网关,测试服务器,数据仓库,登录页面", (
        ("{s}用{v}写的。", "{s}的语言是{v}。", "{s}是用什么语言写的？", "{s}最初是用什么语言写的？", "Rust,Java,Elixir,Go,Python,Kotlin,Scala"),
        ("{s}监听{v}端口。", "{s}的端口是{v}。", "{s}用哪个端口？", "{s}以前用哪个端口？", "8081,9000,7443,5050,6112,8800,4021"),
        ("{s}由{v}值班。", "{s}出问题就找{v}。", "{s}谁值班？", "{s}上一个值班的是谁？", "阿宏,艾米,小柯,朱迪,保罗,娜娜,小林"),
    )),
}  # fmt: skip

TALK = {
    "en": ("The film on {a} was {b}, better than the last one.", "I cooked {b} soup for {a} people, nobody complained.",
           "My knee is {b} again after the walk on {a}.", "The bus was {b} and full of {a} tourists.", "It rained {a} hours, so we played {b} cards."),
    "zh": ("{a}看的电影很{b}，比上次好。", "给{a}个人煮了{b}的汤，没人抱怨。", "{a}散步以后膝盖又{b}了。", "公交车很{b}，坐了{a}个游客。", "下了{a}个小时雨，我们打了{b}的牌。"),
}  # fmt: skip
A = {"en": ("Sunday", "six", "Friday", "forty", "three", "Monday", "twelve"), "zh": ("周日", "六", "周五", "四十", "三", "周一", "十二")}
B = {"en": ("strange", "slow", "lovely", "sour", "long", "loud", "cold"), "zh": ("怪", "慢", "好", "酸", "长", "吵", "冷")}


@dataclass(frozen=True, slots=True)
class Pair:
    """Earlier and later statement of one thing, with the questions."""

    topic: str
    earlier: str
    later: str
    question: str
    past: str


def pairs(topic: str) -> Iterator[Pair]:
    """17 of a topic; wordings alternate, and no two subjects of an attribute share a change of values."""
    subjects, attributes = TOPICS[topic]
    made = 0
    for number, (first, second, question, past, values) in enumerate(attributes):
        of = values.split(",")
        for row, subject in enumerate(subjects.split(",")):
            in_ = "" if subject == "upstairs" else "in "
            one, other = of[row], of[(row + 1 + number) % len(of)]
            wordings = (first, second, first)[row % 2 :]
            lines = [wordings[0].format(s=subject, v=one, in_=in_), wordings[1].format(s=subject, v=other, in_=in_)]
            lines = [line[0].upper() + line[1:] for line in lines]
            if made < 17:
                yield Pair(topic, *lines, question.format(s=subject, in_=in_), past.format(s=subject, in_=in_))
            made += 1


def chatter(language: str, count: int) -> list[str]:
    """Other talk, no line twice."""
    lines = [form.format(a=a, b=b) for form in TALK[language] for a in A[language] for b in B[language]]
    return [lines[row * 61 % len(lines)] + (" " + lines[row * 37 % len(lines)] if row >= len(lines) else "") for row in range(count)]


def remember(memory: HybridMemory, language: str, told: Sequence[Pair], between: int, apart: timedelta) -> None:
    """All earlier statements, other talk, all later ones in another order."""
    answer = {"en": "Noted.", "zh": "好的。"}[language]
    later = [told[row * 41 % len(told)].later for row in range(len(told))]
    session = "one"
    for place, texts in enumerate(([pair.earlier for pair in told], chatter(language, between), later)):
        start = START + (apart * place / 2 if between else timedelta(hours=place))
        for row, text in enumerate(texts):
            session = f"{place}-{row // 12}" if between else session
            at = start + timedelta(seconds=90 * row)
            said = [{"role": "user", "content": text, "at": at}, {"role": "assistant", "content": answer, "at": at + timedelta(seconds=9)}]
            memory.scoped(user="ann", session=session).remember(said)


def main() -> None:
    """Print the shares, by topic and by distance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", nargs="+", choices=list(TOPICS), default=list(TOPICS))
    parser.add_argument("--distances", nargs="+", choices=list(DISTANCES), default=list(DISTANCES))
    parser.add_argument("--misses", action="store_true", help="print what came first where it is wrong")
    options = parser.parse_args()
    ways = {"recall": None, "vectors": Weights(**dict.fromkeys(Weights.__dataclass_fields__, 0.0) | {"vector": 1.0}),
            "words": Weights(**dict.fromkeys(Weights.__dataclass_fields__, 0.0) | {"text": 1.0})}  # fmt: skip
    scores: dict[tuple[str, str], dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for distance in options.distances:
        between, apart = DISTANCES[distance]
        for language in ("en", "zh"):
            topics = [topic for topic in options.topics if topic.isascii() == (language == "en")]
            told = [pair for topic in topics for pair in pairs(topic)]
            if not told:
                continue
            end = START + apart + timedelta(days=1)
            config = MemoryConfig(url="memory://", recall=RecallConfig(count_uses=False), orchestration=OrchestrationConfig(background=False))
            with open_memory(config, clock=lambda end=end: end) as memory:
                remember(memory, language, told, between, apart)
                now = memory.scoped(user="ann", session="now")
                now.flush(progress=False)
                for way, weights in ways.items():
                    for pair in told:
                        for kind, question in (("now", pair.question), ("past", pair.past)):
                            hits = [hit.record.text for hit in now.recall(question, k=10, weights=weights)]
                            place = {text: hits.index(text) if text in hits else 99 for text in (pair.earlier, pair.later)}
                            of = scores[way, distance], scores[way, pair.topic], scores[way, "all"]
                            if kind == "past":
                                results = {"past": place[pair.earlier] == 0, "past, not later": place[pair.earlier] < place[pair.later]}
                            else:
                                results = {"newest": place[pair.later] == 0, "none older": place[pair.later] <= place[pair.earlier]}
                            for name, right in results.items():
                                for each in of:
                                    each[name].append(right)
                            if options.misses and way == "recall" and not all(results.values()):
                                print(f"{distance}: {question}  ->  {' | '.join(hits[:3])}")
    names = ("newest", "none older", "past", "past, not later")
    print(f"{'':28}" + "".join(f"{name:>18}" for name in names))
    for (way, part), of in scores.items():
        print(f"{way:<10}{part:<18}" + "".join(f"{sum(of[name]) / len(of[name]):>18.3f}" for name in names))


if __name__ == "__main__":
    main()
