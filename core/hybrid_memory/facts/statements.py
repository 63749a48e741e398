"""Statements: the user's own sentences, verbatim, judged for what they are about; the default `FactExtractor`.

A value is cut out only where the whole sentence is nothing but the statement, in a form that allows no doubt.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.facts.attributes import AT_STAKE, FAVOURITE_KINDS, FAVOURITES, ORDERS, attribute
from hybrid_memory.facts.authority import scope_of
from hybrid_memory.facts.fact import OTHERS, Category, Claim, FactScope
from hybrid_memory.facts.judge import CLAIMS, KINDS, LEARNED, MARKS, Judge, Judged, asked, judge_of
from hybrid_memory.facts.own import Sentence, any_case, asks_for, own_sentences
from hybrid_memory.facts.whose import SURELY_OTHER, clauses, includes_the_speaker, is_about_others, names_the_speaker
from hybrid_memory.log.event import Event
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.indexing import embedding
from hybrid_memory.text.asking import says_nothing

_NAME = r"[^\W\d_][\w'’.-]*(?: (?:[A-Z]|von |van |de |da |al-)[\w'’.-]*){0,3}"
_PLACE = r"(?:St\. |the )?[A-Z][\w'’-]*(?:[ -](?:[A-Z][\w'’-]*|upon|on|am|an|der|del|de|la|le|sur)){0,4}"
_DAY = r"(?:the )?\d{1,2}(?:st|nd|rd|th)? (?:of )?[A-Z]\w+|[A-Z]\w+ \d{1,2}(?:st|nd|rd|th)?"
_ONCE = (
    r"(?:(?:[Ll]ast|[Tt]his|[Ii]n|[Ll]etzten?|[Vv]or|[Ii]m|[Ee]n|[Ll]a|[Ee]l|[Hh]ace|[Ii]l y a|[Aa]u) (?:\w+ ?){1,3}|"
    r"[Yy]esterday|[Rr]ecently|[Gg]estern|[Kk]ürzlich|[Gg]erade|[Aa]yer|[Rr]ecientemente|[Hh]ier|[Rr]écemment)"
)
_HAN_PLACE = r"(?![这那哪][里边儿个]|[^。.!！]*(?:医院|酒店|宾馆|宿舍|[楼层号家]了?[。.!！]?$))[\u4e00-\u9fff]{2,8}?"
_HAN_ONCE = r"(?:[上这前]个?(?:周|星期|礼拜|月)|[去今前]年|[一二三四五六七八九十\d]+月|昨天|前天|最近|刚刚?|已经)"

_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(form))
    for name, form in (
        ("name", rf"(?:My name is|I am called|Me llamo|Je m'appelle|Ich heiße) ({_NAME})[.!]?"),
        ("name", r"(?:我叫|我的名字(?:是|叫)|本人)(?![他她它你您这那])([\u4e00-\u9fff]{2,4})[。.!！]?"),
        ("name", r"(?:打错了|写错了|更正)[，,]?\s*(?:名字)?(?:应该|应当)?是([\u4e00-\u9fff]{2,4})[。.!！]?"),
        ("home", rf"(?:I (?:now )?live in|Vivo en|J'habite à|Ich wohne in) ({_PLACE})(?: now| since [\w ]+)?[.!]?"),
        ("home", rf"(?:{_ONCE},? )?(?:I|[Ww]e)(?:'ve| have)?(?: just)? moved to ({_PLACE})(?: {_ONCE})?[.!]?"),
        ("home", rf"I(?:'ve| have)? recently moved to ({_PLACE})[.!]?"),
        ("home", rf"(?:{_ONCE} )?[Bb]in ich nach ({_PLACE}) (?:um)?gezogen[.!]?"),
        ("home", rf"Ich bin (?:{_ONCE} )?nach ({_PLACE}) (?:um)?gezogen[.!]?"),
        ("home", rf"(?:{_ONCE},? )?[Mm]e (?:he mudado|mudé) (?:{_ONCE} )?a ({_PLACE})(?: {_ONCE})?[.!]?"),
        ("home", rf"(?:{_ONCE},? )?[Jj]'ai (?:{_ONCE} )?déménagé (?:{_ONCE} )?à ({_PLACE})(?: {_ONCE})?[.!]?"),
        ("home", rf"我(?:现在)?住在?+({_HAN_PLACE})(?:了)?[。.!！]?"),
        ("home", rf"(?:{_HAN_ONCE}[，,]?)?我(?:现在|{_HAN_ONCE})?搬家?[到去]了?+({_HAN_PLACE})(?:了)?[。.!！]?"),
        ("employer", r"I (?:now )?work (?:at|for) ((?:[A-Z][\w'’&.-]*)(?: [A-Z&][\w'’&.-]*){0,3})[.!]?"),
        ("age", r"I(?:'m| am) (\d{1,3})(?: years old)?[.!]?"),
        ("age", r"我今年(\d{1,3})岁[。.!！]?"),
        ("email", r"My e-?mail(?: address)? is ([\w.+-]+@[\w-]+(?:\.[\w-]+)+)[.]?"),
        ("phone", r"My (?:phone )?number is (\+?[\d ()/-]{6,20}\d)[.]?"),
        ("birthday", rf"My birthday is (?:on )?({_DAY})[.!]?"),
    )
)  # fmt: skip
"""A sentence of one of these forms, and of nothing else, has its value in the group."""

_LISTED = {
    "name": r"name|full name|nombre|nom|姓名|名字",
    "age": r"age|edad|âge|alter|年龄",
    "home": r"home|city|location|lives in|ciudad|ville|wohnort|住址|现居|城市",
    "email": r"e-?mail|correo|邮箱",
    "phone": r"phone|mobile|tel(?:ephone)?|teléfono|téléphone|电话|手机",
    "allergy": r"allerg(?:y|ies)|alergias?|allergies?|allergien?|过敏",
    "diet": r"diet|dieta|régime|饮食",
    "medicine": r"medications?|medicines?|meds|medicación|médicaments?|medikamente|用药|药物",
    "profession": r"job|profession|occupation|profesión|beruf|职业",
    "birthday": r"birthday|date of birth|dob|cumpleaños|anniversaire|geburtstag|生日",
}
_LINE = re.compile(r"^\W*([^:：\n]{1,30}?)\s*[:：]\s*([^\n]{1,120}?)[.。]?$")
_LABELS = {name: any_case(words) for name, words in _LISTED.items()}
_NOTHING = any_case(r"^(?:none|no|n/a|nil|-+|无|没有|ninguna?|aucune?|keine?)$")

_FAVOURITES = (
    re.compile(r"My favou?rite (?P<kind>[a-z]+)(?: now)? is (?:now )?(?P<value>[^.,;!?]{1,40}?)(?: now)?[.!]?"),
    re.compile(
        r"我(?:现在)?最喜欢的(?P<kind>[\u4e00-\u9fff]{1,3})(?:现在)?是(?P<value>[^，。,；！]{1,20}?)(?:了)?[。.!！]?"
    ),
)

MANY_WORDS = 4  # a name or a place of more words is rather a sentence


def cut_value(sentence: str) -> tuple[str, str] | None:
    """The attribute and the value that the whole sentence states; None if its form leaves any doubt.

    ``"I live in Ghent."`` and ``"Name: Carla"`` have one, ``"I live in Paris, no wait, in Lyon."`` has none.
    """
    plain = sentence.strip()
    listed = _LINE.match(plain)
    if listed is not None:
        label, value = listed[1].strip(), listed[2].strip()
        name = next((name for name, words in _LABELS.items() if words.fullmatch(label)), "")
        return (name, value) if name and not _NOTHING.match(value) else None
    for name, form in _FORMS:
        found = form.fullmatch(plain)
        if found is not None and len(found[1].split()) <= MANY_WORDS:
            return name, found[1].rstrip(".")
    liked = next((found for form in _FAVOURITES if (found := form.fullmatch(plain))), None)
    if liked is None:
        return None
    return f"{FAVOURITES[0]}{FAVOURITE_KINDS.get(liked['kind'], liked['kind'].lower())}", liked["value"]


EMBED_BATCH = 64  # sentences embedded per call, as each call has a time limit
MEANT = 0.5  # the least probability of an attribute, and that the sentence is about its speaker, to go by the judge

RISKY, CLEAR, REQUESTED, SUSPECT = 0.35, 0.45, 0.85, 0.02
"""The least probability that safety is at stake: in a sentence, in one of its clauses, in one that asks for something;
and in a sentence whose clauses are read.

Of 590 sentences that may harm and that nothing was learned from they take 491, and 15 of 410 others
(benchmarks/sentences). Chosen with these totals in view.
"""

ORDERED = 0.3
"""The least probability that a sentence states anything, times that of an instruction in it, for one that always holds.

Chosen on 40 instructions and 50 requests for one answer, remarks and others' rules, in five languages: all 23 that it
takes are such.
"""

SAFETY_IMPORTANCE, SURER = 0.95, 0.004
"""The least importance of what concerns safety, and the little that it and an instruction gain if they are certain."""

UNREAL = 0.7  # from this probability on a sentence is a joke, a story, a wish or a quotation, and no statement

UNJUDGED, SURE = 0.6, 0.9
"""The confidence of a statement that nothing has judged, and of a value that is cut out of a whole sentence."""

SCALE = 127  # vectors are kept as bytes: 127 times each number of a unit vector

_NO_STATEMENTS = list(map(KINDS.index, ("question", "quote", "fiction", "hypothetical", "sarcasm", "translate")))
_CLAIMS, _OTHER = KINDS.index(CLAIMS), KINDS.index("other")

_WORDS = {  # words for harms, where an embedder has no judge
    name: any_case(words)
    for name, words in {
        "allergy": r"\b(?:\w*allerg\w*|al[eé]rg\w*|anaphyla\w*|epi-?pens?|\w*intol[eé]ran\w*|unverträg\w*|co?eliac|"
        r"cel[ií]ac\w*|zöliakie|аллерги\w*|p[eé]nicill?in\w*)|过敏|不耐受|青霉素|アレルギー|알레르기|[吃喝碰]不[得了]|"
        r"不能[吃喝碰沾]",
        "medicine": r"\b(?:medicat\w+|medicines?|tablets|pills|inhal(?:er|ador|ateur)\w*|insulin\w*|blood thinners?|"
        r"anticoagul\w+|antidepress\w+|pastillas|medicament\w*|médicaments?|comprimés|tabletten|\d+ ?mg)\b|吃着?药|"
        r"服药|胰岛素",
        "condition": r"\b(?:asthma\w*|asma|asthme|diab[eéè]t\w*|[eé]pilep\w*|seizures?|migr[aä][iñ]\w+|pacemaker|"
        r"pregnan\w+|embarazada|enceinte|schwanger|hypertens\w+|bluthochdruck|blood pressure|dialysis|dementia|"
        r"cancer)\b|哮喘|糖尿病|癫痫|心脏病|高血压|怀孕|孕妇|痛风|抑郁症",
        "diet": r"\b(?:vegan\w*|vegetar\w*|végétari\w+|halal|kosher|no pork)\b|吃素|素食者|清真|不吃[猪牛羊肉荤]",
        "accessibility": r"\b(?:wheelchairs?|hearing aids?|screen reader|deaf|crutches|step-?free|silla de ruedas|"
        r"fauteuil roulant|rollstuhl|gehörlos|schwerhörig)\b|轮椅|助听器|失明|色盲|听障|视障",
    }.items()
}

_TELLS = any_case(  # what tells of somebody and addresses nobody is no instruction by its meaning alone
    r"^\W*(?:(?:and|but|so|then|now that|by the way|before)\W+)*(?:i|we|he|she|it|they)\b"
    r"(?!.*\b(?:you|your|u|answers?|repl(?:y|ies)|responses?)\b)|^我(?!.*[你您别])"
)

_LIVES = any_case(
    r"\b(?:live|lives|living|moved?|moving|flat|apartment|house|home|address|viv\w+|mud\w+|piso|casa|habit\w+|"
    r"déménag\w+|wohn\w*|zieh\w*|gezogen)\b|住|搬|(?<![一两几这那每多])家"
)
_WORKS = any_case(
    r"\b(?:work\w*|job|employ\w*|hired|company|firm|office|boss|colleagues?|team|shift|clients?|interview\w*|promot\w+|"
    r"joined|joining|freelance\w*|self-employed|trabaj\w+|empresa|jefe|travail\w*|boulot|entreprise|poste|arbeit\w*|"
    r"firma|chef)\b|工作|上班|公司|单位|入职|跳槽|老板|同事"
)
_MEANT_BY = {"home": _LIVES, "address": _LIVES, "employer": _WORKS}
"""A place is where the user lives or works only if the sentence says something of living or working."""

_FORMERLY = any_case(
    r"\b(?:used to|formerly|no longer|grew up|was born|antes|solía|autrefois|früher)\b|以前|曾经|从前|长大"
)


@dataclass(frozen=True, slots=True)
class Harm:
    """What a sentence says that may harm somebody if it is unknown.

    Attributes:
        attribute: one of `AT_STAKE`.
        sure: its probability.
        others: whether it harms somebody else than the speaker.
    """

    attribute: str
    sure: float
    others: bool


class Statements:
    """Takes the sentences that are certainly the speaker's own as claims; a `FactExtractor`."""

    name = "statements"

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """The statements of these turns of one session, not judged by meaning."""
        claims = [_claim(sentence, harm=_worded(sentence)) for sentence in own_sentences(turns, before)]
        return [claim for claim in claims if claim is not None]


async def stated_in(
    run: Runner, embedder: Embedder | None, turns: Sequence[Event], before: Sequence[Event]
) -> list[Claim]:
    """The statements of these turns of one session, with their vectors, judged if the embedder has a judge.

    Raises:
        ModelError: the embedder failed; the turns are read again later.
    """
    own = own_sentences(turns, before)
    if embedder is None or not own:
        return Statements().extract(turns, before)
    texts, questions = [sentence.text for sentence in own], [sentence.question for sentence in own]
    vectors = await _embedded(run, embedder, list(map(asked, texts, questions)))
    judge = await run.call(judge_of, embedder)
    if judge is None:
        claims = [_claim(one, None, _worded(one), packed(row)) for one, row in zip(own, vectors, strict=True)]
    else:
        judged = await run.call(judge, texts, questions, vectors)
        harms = await _harms(run, embedder, judge, own, judged)
        claims = [_claim(one, judged[row], harms.get(row), packed(vectors[row])) for row, one in enumerate(own)]
    return [claim for claim in claims if claim is not None]


async def _embedded(run: Runner, embedder: Embedder, texts: Sequence[str]) -> Floats:
    batches = [texts[start : start + EMBED_BATCH] for start in range(0, len(texts), EMBED_BATCH)]
    return np.concatenate([await embedding(run, embedder.embed_documents, batch) for batch in batches])


async def _harms(
    run: Runner, embedder: Embedder, judge: Judge, own: Sequence[Sentence], judged: Judged
) -> dict[int, Harm]:
    """The harms that the sentences tell of, by row.

    Suspects are read clause by clause: the vector of a sentence hardly shows one fact among others, and what a request
    asks for tells nothing.
    """
    parts = {row: clauses(one.text) for row, one in enumerate(own) if judged.safety[row] >= SUSPECT}
    texts = [text for each in parts.values() for text in each]
    if not texts:
        return {}
    read = await run.call(judge, texts, [""] * len(texts), await _embedded(run, embedder, texts))
    harms, end = {}, 0
    for row, each in parts.items():
        asks, start, end = own[row].request, end, end + len(each)
        least = [REQUESTED if asks and asks_for(clause) else CLEAR for clause in each]
        sure = read.safety[start:end] - least
        place, whole = int(np.argmax(sure)), judged.safety[row] * (not asks)
        if whole >= RISKY or sure[place] >= 0:
            part = read[start + place]
            marks = judged.marks[row] if whole > part.safety else part.marks
            name = AT_STAKE[int(np.argmax(marks[[MARKS.index(name) for name in AT_STAKE]]))]
            # Whose harm it is, another clause of the sentence may say.
            kinds = judged.kinds[row]
            named = kinds[_OTHER] > (SURELY_OTHER if names_the_speaker(each[place]) else kinds[_CLAIMS])
            of_others = bool(named or part.kinds[_OTHER] > part.kinds[_CLAIMS])
            others = of_others and not includes_the_speaker(own[row].text)
            harms[row] = Harm(name, float(max(whole, part.safety)), others)
    return harms


def _worded(sentence: Sentence) -> Harm | None:
    """What a sentence says of a harm in so many words."""
    for clause in clauses(sentence.text):
        name = next((name for name, words in _WORDS.items() if words.search(clause)), None)
        if name and not (sentence.request and asks_for(clause)):
            return Harm(name, 0.0, is_about_others(sentence.text))
    return None


def packed(vector: Floats) -> str:
    """A unit vector as text of one byte a number."""
    return base64.b64encode(np.rint(vector * SCALE).astype(np.int8).tobytes()).decode("ascii")


def unpacked(text: str) -> Floats:
    """The vector that `packed` wrote, of unit length."""
    row = np.frombuffer(base64.b64decode(text), dtype=np.int8).astype(np.float32)
    return np.asarray(row / max(float(np.linalg.norm(row)), 1e-9), dtype=np.float32)


def _claim(
    sentence: Sentence, judged: Judged | None = None, harm: Harm | None = None, vector: str = ""
) -> Claim | None:
    """The statement as a claim; None if it is rather a joke, a story or a greeting."""
    text = sentence.text
    if (says_nothing(text) and not sentence.question) or (sentence.request and not harm and not sentence.order):
        return None
    value = None if sentence.question else cut_value(text)
    name = "instruction" if sentence.order and judged is None else "note"
    likely, other, certain = UNJUDGED, 0.0, 0.0
    if judged is not None:
        if not (harm or sentence.order or value) and float(judged.kinds[_NO_STATEMENTS].sum()) >= UNREAL:
            return None
        other = float(judged.kinds[_OTHER])
        likely = max(float(judged.claims), other)
        name, certain = _topic(sentence, judged)
    if harm is not None:
        name, certain = harm.attribute, harm.sure
    others = harm.others if harm else is_about_others(text, other if other == likely else 0.0)
    about = attribute(name)
    if others and not (harm or name in ORDERS or about.category is Category.RELATION):
        about = attribute("note")  # their homes and jobs are not the user's
    lasting = harm is not None and name != "diet"  # that one may change: the newest counts most, however it is worded
    importance = round((SAFETY_IMPORTANCE if lasting else about.importance) + SURER * certain, 4)
    whole = f"{sentence.question} {text}" if sentence.question else text
    if value is not None:
        about = attribute(value[0])
    return Claim(
        OTHERS if others and value is None else sentence.owner,
        about.name,
        whole if value is None else value[1],
        about.category,
        sentence.position,
        single=value is not None and about.single,
        confidence=round(likely, 3) if value is None else max(likely, SURE),
        importance=importance if value is None else max(about.importance, importance),
        by=Statements.name,
        verbatim=value is None,
        sentence=whole,
        vector=vector,
        asked=sentence.asked,
    )


def _topic(sentence: Sentence, judged: Judged) -> tuple[str, float]:
    """The attribute of a sentence that harms nobody; of an instruction also how likely it is one."""
    marks = dict(zip(MARKS, judged.marks.tolist(), strict=True))
    claims, best = float(judged.claims), max(LEARNED, key=marks.__getitem__)
    ordering = claims * max(marks[order] for order in ORDERS)
    if best in ORDERS and marks[best] >= MEANT and scope_of(sentence.text) is FactScope.SESSION:
        ordering = max(ordering, ORDERED)  # "for this chat" is momentary, and an order as long as it lasts
    ordering = max(ordering, MEANT * sentence.standing)
    if ordering >= ORDERED and (sentence.order or not (sentence.momentary or _TELLS.match(sentence.text))):
        return best if best in ORDERS else "instruction", ordering
    wording = _MEANT_BY.get(best)
    meant = wording is None or (wording.search(sentence.text) and not _FORMERLY.search(sentence.text))
    return best if best not in ORDERS and meant and min(marks[best], claims) >= MEANT else "note", 0.0
