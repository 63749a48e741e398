"""Statements: the user's own sentences, verbatim, judged for what they are about; the default `FactExtractor`.

A value is cut out only where the whole sentence is nothing but the statement, in a form that allows no doubt.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hybrid_memory.arrays import Floats
from hybrid_memory.facts.attributes import AT_STAKE, FAVOURITE_KINDS, FAVOURITES, SAFETY, attribute
from hybrid_memory.facts.fact import OTHERS, Category, Claim
from hybrid_memory.facts.judge import KINDS, LEARNED, MARKS, Judged, asked, judge_of
from hybrid_memory.facts.own import Sentence, own_sentences
from hybrid_memory.facts.whose import is_about_others
from hybrid_memory.log.event import Event
from hybrid_memory.models.port import Embedder
from hybrid_memory.runtime.runners import Runner
from hybrid_memory.store.indexing import embedding
from hybrid_memory.text.asking import says_nothing

_NAME = r"[^\W\d_][\w'’.-]*(?: (?:[A-Z]|von |van |de |da |al-)[\w'’.-]*){0,3}"
_PLACE = r"(?:St\. |the )?[A-Z][\w'’-]*(?:[ -](?:[A-Z][\w'’-]*|upon|on|am|an|der|del|de|la|le|sur)){0,4}"
_DAY = r"(?:the )?\d{1,2}(?:st|nd|rd|th)? (?:of )?[A-Z]\w+|[A-Z]\w+ \d{1,2}(?:st|nd|rd|th)?"
_HAN_PLACE = r"(?![这那哪][里边儿个])[\u4e00-\u9fff]{2,8}?"

_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(form))
    for name, form in (
        ("name", rf"(?:My name is|I am called|Me llamo|Je m'appelle|Ich heiße) ({_NAME})[.!]?"),
        ("name", r"(?:我叫|我的名字(?:是|叫)|本人)(?![他她它你您这那])([\u4e00-\u9fff]{2,4})[。.!！]?"),
        ("name", r"(?:打错了|写错了|更正)[，,]?\s*(?:名字)?(?:应该|应当)?是([\u4e00-\u9fff]{2,4})[。.!！]?"),
        ("home", rf"(?:I (?:now )?live in|Vivo en|J'habite à|Ich wohne in) ({_PLACE})(?: now| since [\w ]+)?[.!]?"),
        ("home", rf"I(?:'ve| have)? moved to ({_PLACE})(?: last \w+| in \w+)?[.!]?"),
        ("home", rf"我(?:现在)?(?:住在?+|搬到了?+|搬去了?+)({_HAN_PLACE})(?:了)?[。.!！]?"),
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
_LABELS = {name: re.compile(words, re.IGNORECASE) for name, words in _LISTED.items()}
_NOTHING = re.compile(r"^(?:none|no|n/a|nil|-+|无|没有|ninguna?|aucune?|keine?)$", re.IGNORECASE)

_FAVOURITES = (
    re.compile(r"My favou?rite (?P<kind>[a-z]+)(?: now)? is (?:now )?(?P<value>[^.,;!?]{1,40}?)(?: now)?[.!]?"),
    re.compile(
        r"我(?:现在)?最喜欢的(?P<kind>[\u4e00-\u9fff]{1,3})(?:现在)?是(?P<value>[^，。,；！]{1,20}?)(?:了)?[。.!！]?"
    ),
)

MANY_WORDS = 4
"""A name or a place of more words is rather a sentence."""


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


EMBED_BATCH = 64
"""Sentences embedded per call, as each call has a time limit."""

MEANT = 0.5
"""The least probability of an attribute, and that the sentence is about its speaker, to go by the judge."""

RISKY, WORDED = 0.15, 0.02
"""The least probability that safety is at stake; the second for a wording of it in what is rather a joke or quoted.

Of 240 everyday sentences in eleven languages that nothing was learned from, they take 186, and 31 of 160 false friends
(benchmarks/sentences); the words alone 45 and 33. They were chosen with these totals in view.
"""

ORDERS, ORDERED = ("instruction", "communication_style"), 0.12
"""The least probability that a sentence states anything, times that of an instruction in it, for one that always holds.

Of 40 instructions and 50 requests for one answer, remarks and others' rules, in five languages, written before this was
chosen: .89 of what it takes is one, and it takes .60 of them.
"""

SAFETY_IMPORTANCE, SURER = 0.95, 0.004
"""The least importance of what concerns safety, and the little that it and an instruction gain if they are certain."""

UNREAL = 0.7
"""From this probability on a sentence is a joke, a story, a wish or a quotation, and no statement."""

UNJUDGED, SURE = 0.6, 0.9
"""The confidence of a statement that nothing has judged, and of a value that is cut out of a whole sentence."""

SCALE = 127
"""Vectors are kept as bytes: 127 times each number of a unit vector."""

_NO_STATEMENTS = list(map(KINDS.index, ("question", "quote", "fiction", "hypothetical", "sarcasm", "translate")))
_OTHER = KINDS.index("other")

_WORDINGS = {
    "allergy": (
        r"\b(?:\w*allerg\w*|al[eé]rg\w*|anaphyla\w*|epi-?pens?|adrenaline? pens?|stylos? d.adrénaline|intoleran\w*|"
        r"unverträg\w*|c(?:o?)eliac|cel[ií]ac\w*|cœliaque|zöliakie)\b|\b(?:(?:digère|tolère)(?:nt)? pas|no tolera\w*|"
        r"vertr[aä]g\w* kein\w*)\b|过敏|不耐受|アレルギー|알레르기|肾上腺素笔|一吃.{0,4}就|吃了就(?:肿|吐|痒|起)|"
        r"\b(?:hospital|emergency room|a&e|ambulance|urgencias|urgences|notaufnahme)\b.{0,20}\bfor me\b|= ?hospital|"
        r"\b(?:put|puts|sent|sends|land(?:s|ed)?) me (?:in|to|into) (?:the )?(?:hospital|a&e|er|emergency)\b|"
        r"\b(?:throat|tongue|lips?|face) (?:swells?|swelled|closes?|closed)\b|\bhives\b|\b(?:can(?:no|')?t|cannot|"
        r"mustn'?t|must not|may not|not allowed to|no puedo|ne peux pas|darf (?:kein|nicht)) (?:\w+ ){0,2}(?:have|eat|"
        r"drink|touch|take(?! (?:her|him|them|it|us|you)\b)|tolerate|comer|tomar|beber|manger|prendre|boire|essen|"
        r"trinken|nehmen)\b|不能[吃喝碰沾]|[吃喝碰打]不[得了]|[没莫](?:得)?法[吃喝碰]|起(?:疹子|包)|喘不上气|皮试阳性|"
        r"忌口|\b(?:can(?:no|')?t|cannot|don'?t) (?:do|handle|digest|stomach) (?:\w+ )?(?:dairy|milk|lactose|gluten|"
        r"wheat|nuts?|eggs?|shellfish|seafood|soya?|alcohol|caffeine)\b|\b(?:nearly|almost) killed (?:me|him|her)\b|"
        r"\breacts? badly to\b|\bp[eé]nic[ií]l+in\w*|青霉素|\b(?:nut|dairy|gluten|egg|lactose)-free (?:house\w*|home|"
        r"kitchen)\b|嘴(?:巴|唇)?就?[麻肿痒]|一[喝闻碰].{1,4}就(?:全身|浑身|喘|晕|吐|咳|痒|头)"
    ),
    "medicine": (
        r"\b(?:medicat\w+|medicine|tablets|tablet (?:a|per|every|each)|pills?|inhal(?:er|ador|ateur)\w*|"
        r"insulin\w*|injections?|blood thinners?|anticoagul\w+|antidepress\w+|statins?|dos(?:e|age)|milligrams?|"
        r"pastillas?|medicament\w*|médicaments?|comprim[ée]s?|tabletten|medikament\w*|blutverdünner|spritze)\b|"
        r"\b\d+\s?(?:mg|mcg|µg|ml)\b|毫克|吃着?药|服药|药[片物量]|胰岛素|"
        r"每[天日].{0,3}[片粒颗]"
    ),
    "condition": (
        r"\b(?:asthma\w*|asma|asthme|diab[eéè]t\w*|[eé]pilep\w*|seizures?|migraines?|migrañas?|arrhythmia|fibrillation|"
        r"pacemaker|angina|pregnan\w+|embarazada|enceinte|schwanger|hypertens\w+|bluthochdruck|high blood pressure|"
        r"heart (?:condition|disease|attack)|kidney(?! beans?)|thyroid\w*|tiroides|cancer|hiv|crohn\w*|parkinson\w*|"
        r"lupus|hemophil\w*|gout|autis\w+|months along|expecting (?:a baby|in)|(?:i['’]?m|am) in recovery|dialysis|"
        r"(?:a|the|my|his|her) stroke(?! of)|dementia|alzheimer\w*|claustrophobi\w+|breast-?feeding|sober|teetotal|"
        r"cpap|(?:bad|dodgy) (?:back|heart|knees?|hip))\b|戒酒|晕[针血]|血就晕|晕[车船机]|透析|中风|痴呆|幽闭|喂奶|"
        r"哺乳|胃出血|[肝肾肺腰胃]不好|起搏器|心脏支架|呼吸机|自闭症|哮喘|糖尿病|癫痫|心脏病|高血压|怀孕|怀着|孕妇|"
        r"痛风|房颤|甲状腺|偏头痛|抑郁症"
    ),
    "diet": (
        r"\b(?:am|i?['’]?m|i?s|['’]s|are|['’]re|been|gone|went|strictly|soy|es|suis|est|bin|ist) (?:(?:an?|now|fully|"
        r"all|both|strictly) )?(?:vegan|vegetarian\w*|végétari\w+|vegetarier\w*|veggie|pescatarian|muslim|hindu|halal|"
        r"kosher)\b|\b(?:eats?|keeps?) (?:halal|kosher)\b|\b(?:no|nothing with) (?:pork|meat|beef)\b|吃素|素食者|清真|"
        r"(?:我|是)回族|不吃[猪牛羊肉荤]"
    ),
    "accessibility": (
        r"\b(?:wheelchairs?|hearing aids?|screen reader|deaf|blind|dyslexi\w+|colou?r-?blind|crutches|step-?free|"
        r"walking frames?|zimmer|rollator|andador|déambulateur|hard of hearing|(?:climb|do) (?:the )?stairs|"
        r"silla de ruedas|fauteuil roulant|malentendant\w*|rollstuhl|gehörlos|schwerhörig)\b|轮椅|助听器|助行器|失明|"
        r"色盲|听障|视障|耳聋|[左右]耳(?:朵?听|聋)|色弱|爬不了楼"
    ),
}
_HARM = {name: re.compile(words, re.IGNORECASE) for name, words in _WORDINGS.items()}
"""Wordings that may be about safety, in five languages: a lower bar than any other statement has."""

_TOPIC = re.compile(
    r"\b(?:allergies|allergy form|alergias|allergien|medications?|medicines?|tablets?|pills?|pastillas?|medicamentos?|"
    r"intoleran(?:ces|cias)|intolérances|unverträglichkeiten|médicaments?|comprim[ée]s|tabletten|medikamente?n?)\b|"
    r"过敏(?=[史信源原])|(?<![\u4e00-\u9fff])过敏(?=[、，：]|$)|吃的药|药物",
    re.IGNORECASE,
)
"""In a request these only name its topic: "a list of my medicines"."""

_TELLS = re.compile(
    r"^\W*(?:(?:and|but|so|then|now that|by the way|before)\W+)*(?:i|we|he|she|it|they)\b"
    r"(?!.*\b(?:you|your|u|answers?|repl(?:y|ies)|responses?)\b)|^我(?!.*[你您别])",
    re.IGNORECASE,
)
"""What tells of somebody and addresses nobody is no instruction by its meaning alone."""

_LIVES = re.compile(
    r"\b(?:live|lives|living|moved?|moving|flat|apartment|house|home|address|viv\w+|mud\w+|piso|casa|habit\w+|"
    r"déménag\w+|wohn\w*|zieh\w*|gezogen)\b|住|搬|(?<![一两几这那每多])家",
    re.IGNORECASE,
)
_WORKS = re.compile(
    r"\b(?:work\w*|job|employ\w*|hired|company|firm|office|boss|colleagues?|team|shift|clients?|interview\w*|promot\w+|"
    r"joined|joining|freelance\w*|self-employed|trabaj\w+|empresa|jefe|travail\w*|boulot|entreprise|poste|arbeit\w*|"
    r"firma|chef)\b|工作|上班|公司|单位|入职|跳槽|老板|同事",
    re.IGNORECASE,
)
_MEANT_BY = {"home": _LIVES, "address": _LIVES, "employer": _WORKS}
"""A place is where the user lives or works only if the sentence says something of living or working."""

_FORMERLY = re.compile(
    r"\b(?:used to|formerly|no longer|grew up|was born|antes|solía|autrefois|früher)\b|以前|曾经|从前|长大",
    re.IGNORECASE,
)
_LEFT_OPEN = re.compile(r"\b(?:what|qué|lo que|ce qu['’e])\W*[^,.;:，。；]{0,20}$", re.IGNORECASE)
_SAYS = re.compile(r"[\w ]{0,12}?\W*(?::|：|\b(?:is|are|es|son|est|c['’]est|sont)\b)", re.IGNORECASE)
"""What a request asks for ("tell them what I can't eat") tells nothing of it, unless it says what that is."""


class Statements:
    """Takes the sentences that are certainly the speaker's own as claims; a `FactExtractor`."""

    name = "statements"

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """The statements of these turns of one session, not judged by meaning."""
        return [claim for sentence in own_sentences(turns, before) for claim in _claims(sentence, None, 0, "")]


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
    texts = [asked(sentence.text, sentence.question) for sentence in own]
    batches = [texts[start : start + EMBED_BATCH] for start in range(0, len(texts), EMBED_BATCH)]
    vectors = np.concatenate([await embedding(run, embedder.embed_documents, batch) for batch in batches])
    judge = await run.call(judge_of, embedder)
    judged = None
    if judge is not None:
        judged = await run.call(judge, [one.text for one in own], [one.question for one in own], vectors)
    return [claim for row, sentence in enumerate(own) for claim in _claims(sentence, judged, row, packed(vectors[row]))]


def packed(vector: Floats) -> str:
    """A unit vector as text of one byte a number."""
    return base64.b64encode(np.rint(vector * SCALE).astype(np.int8).tobytes()).decode("ascii")


def unpacked(text: str) -> Floats:
    """The vector that `packed` wrote, of unit length."""
    row = np.frombuffer(base64.b64decode(text), dtype=np.int8).astype(np.float32)
    return np.asarray(row / max(float(np.linalg.norm(row)), 1e-9), dtype=np.float32)


def _claims(sentence: Sentence, judged: Judged | None, row: int, vector: str) -> list[Claim]:
    """The statement as one claim; none if it is rather a joke, a story or a greeting."""
    text = sentence.text
    asks = sentence.momentary and not sentence.question
    words = _TOPIC.sub(lambda found: " " * len(found[0]), text) if asks else text
    wordings = ((name, found) for name, harms in _HARM.items() if (found := harms.search(words)))
    harm, named = next(wordings, ("", None))
    asked_for = named and asks and _LEFT_OPEN.search(text[: named.start()]) and not _SAYS.match(text[named.end() :])
    if asked_for:
        harm, named = "", None
    value = None if sentence.question else cut_value(text)
    name = harm or ("instruction" if sentence.order and judged is None else "note")
    likely, other, sure = UNJUDGED, 0.0, 0.0
    if judged is not None:
        kinds, claims, sure = judged.kinds[row], float(judged.claims[row]), float(judged.safety[row])
        unreal = float(kinds[_NO_STATEMENTS].sum()) >= UNREAL
        at_stake = (harm and (sure >= WORDED or not unreal)) or (sure >= RISKY and not (sentence.request or asked_for))
        if not (at_stake or sentence.order or value) and unreal:
            return []
        other = float(kinds[_OTHER])
        likely = max(claims, other)
        marks = dict(zip(MARKS, judged.marks[row].tolist(), strict=True))
        best = max(LEARNED, key=marks.__getitem__)
        ordering = claims * max(marks[order] for order in ORDERS)
        harm = (harm or max(AT_STAKE, key=marks.__getitem__)) if at_stake else ""
        name = harm or "note"
        if not harm and ordering >= ORDERED and (sentence.order or not (sentence.momentary or _TELLS.match(text))):
            name, sure = best if best in ORDERS else "instruction", ordering
        elif not harm and best not in ORDERS:
            wording = _MEANT_BY.get(best)
            meant = wording is None or (wording.search(text) and not _FORMERLY.search(text))
            name = best if meant and min(marks[best], claims) >= MEANT else name
    if (says_nothing(text) and not sentence.question) or (sentence.request and not harm and not sentence.order):
        return []
    others = is_about_others(text, named, safety=name in SAFETY, other=other if other == likely else 0.0)
    whole = f"{sentence.question} {text}" if sentence.question else text
    about = attribute(name)
    if others and not (harm or name in ORDERS or about.category is Category.RELATION):
        about = attribute("note")  # their homes and jobs are not the user's
    harm = "" if name == "diet" else harm  # it may change: the newest counts most, however it is worded
    certain = sure if harm or name in ORDERS else 0.0
    claim = Claim(
        OTHERS if others else sentence.owner,
        about.name,
        whole,
        about.category,
        sentence.position,
        confidence=round(likely, 3),
        importance=round((SAFETY_IMPORTANCE if harm else about.importance) + SURER * certain, 4),
        by=Statements.name,
        verbatim=True,
        sentence=whole,
        vector=vector,
        asked=sentence.asked,
    )
    if value is None:
        return [claim]
    about = attribute(value[0])
    return [
        replace(
            claim,
            subject=sentence.owner,
            attribute=value[0],
            value=value[1],
            category=about.category,
            single=about.single,
            importance=max(about.importance, claim.importance),
            verbatim=False,
            confidence=max(likely, SURE),
        )
    ]
