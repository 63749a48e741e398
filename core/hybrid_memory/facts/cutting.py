"""Values that can be cut out of a sentence without a doubt: where the whole sentence is nothing but the statement."""

from __future__ import annotations

import re

from hybrid_memory.facts.attributes import FAVOURITES, KINDS

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
    "home": r"home|city|lives in|ciudad|ville|wohnort|住址|现居|城市",
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
    return f"{FAVOURITES[0]}{KINDS.get(liked['kind'], liked['kind'].lower())}", liked["value"]
