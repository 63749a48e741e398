"""Grounding: a language model's claims count only if the turn's words support them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hybrid_memory.text.asking import asking_share
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import CHINESE_STOP_WORDS, ENGLISH_STOP_WORDS, plain_terms

KIN: dict[str, tuple[str, str]] = {
    word.replace("_", " "): (attribute, noun.replace("_", " "))
    for attribute, entries in {
        "partner": """wife,妻子,老婆,太太,媳妇 husband,丈夫,老公 partner,爱人,对象,伴侣,另一半,配偶 spouse
            girlfriend,女朋友,女友 boyfriend,男朋友,男友 fiancé,fiance,未婚夫 fiancée,fiancee,未婚妻""",
        "mother": "mother,mom,mum,mama,mommy,妈妈,母亲,老妈,妈咪,妈",
        "father": "father,dad,papa,daddy,爸爸,父亲,老爸,爸",
        "parent": "parent parents=父母,爸妈",
        "child": """son,儿子 daughter,女儿,闺女 child,kid,baby,toddler,孩子,小孩,宝宝 stepson stepdaughter
            older_son=大儿子 younger_son=小儿子 older_daughter=大女儿 younger_daughter=小女儿""",
        "sibling": """brother sister sibling stepbrother stepsister half-brother half-sister
            older_brother=哥哥,哥,大哥 younger_brother=弟弟,弟 older_sister=姐姐,姐,大姐 younger_sister=妹妹,妹
            twin_brother=双胞胎哥哥,双胞胎弟弟 twin_sister=双胞胎姐姐,双胞胎妹妹""",
        "relative": """grandmother,grandma,granny,nana,奶奶 grandfather,grandpa,granddad,爷爷 grandson,孙子,外孙
            granddaughter,孙女,外孙女 uncle,叔叔,叔父 aunt,auntie,姑姑,姑妈 cousin nephew,侄子,外甥
            niece,侄女,外甥女 mother-in-law,岳母,婆婆,丈母娘 father-in-law,岳父,公公,老丈人 brother-in-law
            sister-in-law son-in-law,女婿 daughter-in-law,儿媳,儿媳妇 stepmother,stepmom stepfather,stepdad
            maternal_grandfather=外公,姥爷 maternal_grandmother=外婆,姥姥 older_uncle=伯伯,大伯,伯父
            maternal_uncle=舅舅 uncle_by_marriage=姑父,姨父,姑丈 maternal_aunt=姨妈,阿姨,小姨,大姨
            aunt_by_marriage=婶婶,婶子,伯母 maternal_uncle's_wife=舅妈,舅母 older_male_cousin=表哥,堂哥
            younger_male_cousin=表弟,堂弟 older_female_cousin=表姐,堂姐 younger_female_cousin=表妹,堂妹
            older_brother's_wife=嫂子 older_sister's_husband=姐夫 younger_sister's_husband=妹夫""",
        "friend": """friend,buddy,pal,bestie,朋友,好友,哥们 best_friend=闺蜜,死党,发小,最好的朋友,好朋友
            classmate=同学 schoolmate=校友""",
        "colleague": "colleague,coworker,co-worker,teammate,同事,搭档 subordinate=下属,手下,助理",
        "boss": "boss,manager,supervisor,上司,老板,领导,主管",
        "neighbour": "neighbour,neighbor,邻居",
        "roommate": "roommate,flatmate,housemate,室友,舍友",
        "pet": """dog,puppy cat,kitten parrot hamster rabbit,bunny goldfish horse pony turtle tortoise budgie
            canary ferret lizard snake gecko parakeet""",
    }.items()
    for entry in entries.split()
    for noun in [re.split("[,=]", entry)[0]]
    for word in entry.removeprefix(f"{noun}=").split(",")
}
"""Words for relatives, friends and pets, each with its attribute and the English noun used in a subject.

The noun stands first; before an equals sign it is no such word itself.
"""

MAX_VALUE_CHARS = 120
MAX_NAME_CHARS = 40
"""The longest subject or attribute."""

SUPPORTED = 0.7
"""Share of a value's terms that its turn must contain."""

MARKS = " \t\r\n\"'“”‘’「」『』《》()（）.,;:!?，。；：！？、*_`"
NOTHING = (
    ENGLISH_STOP_WORDS
    | CHINESE_STOP_WORDS
    | frozenset(
        """something anything nothing everything someone somebody anyone everyone thing things stuff one ones user
        speaker assistant unknown none null 东西 事情 这样 那样 这里 那里 这事 那事 某人 有人 大家 自己 用户 助手
        未知""".split()
    )
)
"""Words that name no person and no value."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b"
)
_NUMBER = re.compile(rf"(?P<digits>\d{{1,15}})|{_MONTH}", re.IGNORECASE)
_TIMED = re.compile(
    r"\d|[一二两三四五六七八九十][点号日月年周天]|[今明昨后前去][天年晚早]|[上下本这]个?[周月]|周[一二三四五六日末]|星期|年初|年底"
    r"|\b(?:to(?:day|night|morrow)|yesterday|ago|since|noon|midnight|weekend|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    rf"|weeks?|months?|years?|decades?|spring|summer|autumn|fall|winter|next|last)\b|{_MONTH}",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？][\"'”’」）)]*\s*$|吗[。！!]*\s*$")
_REQUESTS = re.compile(
    r"\b(?:can|could|would|will) you\b|\bplease\b|\bremind\b|[能可]不[能可]|[能可][以否]?(?:帮|请|提醒|记)"
    r"|请|帮我|提醒|以后",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:i|my|we|our)\b|我|咱", re.IGNORECASE)
_SELF = frozenset("i me my myself mine we us user speaker self 我 我们 本人 自己 用户 说话人".split()) | {
    "the user",
    "the speaker",
}
_OF = re.compile(r"(?:(?P<owner>.+?)(?:'s|’s|的)\s*|(?:my|our)\s+|我们?(?=.))(?P<noun>.+)", re.IGNORECASE)
_LETTER = r"[^\W\u2e80-\u9fff]"
_TASTES = frozenset(("likes", "prefers", "dislikes", "avoids"))
_TASTE = re.compile(
    r"\b(?:dis)?lik(?:e[sd]?|ing)\b|\b(?:lov|ador|enjoy|hat|despis|detest|avoid|prefer|appreciat)\w*|\bfavou?rites?\b"
    r"|\b(?:fans?|fond|keen|into|passion\w*|obsess\w*|crazy|aversion|stand|bear|never|only|always|rather|refus\w*)\b"
    r"|\b(?:best|worst|sick of|tired of|afraid|fear|bother\w*|annoy\w*|sensitive)\b"
    r"|喜|(?<!可)爱|迷|偏|宁|倾向|讨厌|烦|恨|厌|嫌|怕|避免|受不了|不了|不想|从不|绝不|只|总|最|热衷|享受|欣赏|感兴趣|控",
    re.IGNORECASE,
)
"""Words of which the turn must have one, so that a thing mentioned is not taken for a thing liked."""

_ALSO = {
    "partner": ("married", "dating", "engaged", "结婚", "订婚", "嫁", "娶"),
    "parent": ("mother", "mom", "mum", "father", "dad", "妈", "爸"),
    "pet": ("bird", "fish", "宠物", "狗", "猫", "鸟", "鱼", "兔", "龟", "鼠", "鹦鹉"),
}
_CALLED = {
    name: frozenset([name, *_ALSO.get(name, ()), *(word for word, (attribute, _) in KIN.items() if attribute == name)])
    for name in {attribute for attribute, _ in KIN.values()}
}
"""For each attribute, words of which one must occur."""

_NAMED = r"(?:\b(?:name|called?|named|i['’]m|i am|this is|me)\b|叫|名字?|我是|[昵姓]称?)(?: is|['’]s|是|为)?\W{0,3}"
_NAMES = frozenset(("name", "nickname"))


@dataclass(frozen=True, slots=True)
class Ground:
    """A turn against which claims are checked.

    Attributes:
        speaker: the subject of the first person.
        words: the turn's words that assert or request something.
        context: all turns up to its end, with the speakers' names, in lower case.
    """

    position: int
    at: datetime
    speaker: str
    words: str
    context: str

    def subject(self, given: Any) -> str:
        """The subject of a fact, if the turns name it; empty for pronouns and people not mentioned."""
        text = " ".join(given.split()).strip(MARKS) if isinstance(given, str) else ""
        plain = text.casefold()
        if len(text) > MAX_NAME_CHARS:
            return ""
        if not text or plain in _SELF or plain == self.speaker.casefold():
            return self.speaker
        if found := _OF.fullmatch(text):
            return self._person(found["owner"], found["noun"])
        if plain.split()[0] in KIN:
            return self._person(None, text)
        return text if plain not in NOTHING and plain_terms(text) and occurs(plain, self.context) else ""

    def _person(self, owner: str | None, noun_phrase: str) -> str:
        """Someone described by a relation ("Tom's boss"), or by the name in it."""
        first, _, name = noun_phrase.partition(" ")
        if first.casefold() in KIN and name:
            return self.subject(name)
        whose, given = self.subject(owner), KIN.get(noun_phrase.casefold(), ("", noun_phrase))[1]
        words = {word: noun for word, (_, noun) in KIN.items() if noun == given or noun.endswith(f" {given}")}
        called = max((word for word in words if occurs(word, self.context)), key=len, default="")
        noun = words.get(called) or (given if occurs(given.casefold(), self.context) else "")
        return f"{whose}'s {noun}" if whose and noun else ""

    def speaks_of(self, attribute: str) -> bool:
        """Whether the turns mention such people, or express a taste; True if the attribute concerns neither."""
        if attribute in _TASTES:
            return _TASTE.search(self.words) is not None
        return attribute not in _CALLED or any(occurs(word, self.context) for word in _CALLED[attribute])

    def value(self, given: str, attribute: str) -> str:
        """The value as the turn writes it, without punctuation; empty if the turn does not contain it."""
        value = " ".join(given.split()).strip(MARKS)
        if not value or len(value) > MAX_VALUE_CHARS:
            return ""
        if attribute in _NAMES and not re.search(_NAMED + re.escape(value), self.words, re.IGNORECASE):
            return ""
        if value.isupper() and len(value) > 1 and value.isascii():  # "US" and "IT" are stop words in lower case
            return value if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", self.words) else ""
        wanted = _numbers(value)
        if value.casefold() in NOTHING or not wanted <= _numbers(self.words):
            return ""
        words = [term for term in plain_terms(value) if not term.isdecimal()]
        known = set(plain_terms(self.words))
        if sum(term in known for term in words) < SUPPORTED * len(words) or not (words or wanted):
            return ""
        written = re.search(re.escape(value), self.words, re.IGNORECASE)
        return written[0] if written else value

    def instant(self, given: Any) -> datetime | None:
        """A date or time in ISO format, by default in the turn's time zone; None if it or the turn names no time."""
        if not isinstance(given, str) or not _TIMED.search(self.words):
            return None
        try:
            instant = datetime.fromisoformat(given.strip())
            return (instant if instant.tzinfo else instant.replace(tzinfo=self.at.tzinfo)).astimezone(UTC)
        except (ValueError, OverflowError):
            return None


def asserted(words: str) -> str:
    """The words without mere questions: asking whether someone likes jazz does not state it."""
    kept = []
    for sentence in sentences(words):
        if not _ASKS.search(sentence) or _REQUESTS.search(sentence):
            kept.append(sentence)
            continue
        parts = re.split(r"[,;，；—–]", sentence)
        kept += [part for part in parts[:-1] if _OWN.search(part) and not asking_share(part)]
    return " ".join(kept)


def occurs(word: str, text: str) -> bool:
    """Whether a text contains the word or its plural, as a whole word where spaces separate words; both lower case."""
    if word not in text or not word.isascii():
        return word in text
    return re.search(rf"(?<!{_LETTER}){re.escape(word)}(?:e?s|ren)?(?!{_LETTER})", text) is not None


def _numbers(text: str) -> frozenset[int]:
    found = _NUMBER.finditer(unicodedata.normalize("NFKC", text))
    return frozenset(int(one["digits"] or _MONTHS.index(one[0][:3].lower()) + 1) for one in found)
