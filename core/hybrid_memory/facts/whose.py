"""Whom a sentence is about, its speaker or somebody else: by its words, and by the sentence judge where it is sure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from hybrid_memory.facts.grounding import KIN
from hybrid_memory.text.speakers import SURNAMES

MAYBE_OTHER, SURELY_OTHER = 0.3, 0.85
"""The least probability that a sentence is about somebody else, to take it for that: without the first person and with.
"""

_FIRST_PERSON = re.compile(
    r"\b(?:i|i'?m|i'?ve|me|my|mine|we|us|our|yo|mi|mis|me|nos|je|j'|moi|mon|ma|mes|nous|ich|mir|mich|mein\w*|wir|"
    r"io|mio|la mia|miei|ho|noi|eu|meus?|minhas?|tenho|tomo)\b|我|俺|咱|私|僕",
    re.IGNORECASE,
)
_PEOPLE = (
    r"(?:gf|bf|mate|gran|grandm\w+|grandf\w+|(?:step|god|grand)(?:son|daughter|child|mother|father|mum|mom|dad)|"
    r"[\w]+-in-law|boy|girl|lad|man|woman|guy|guest|lodger|student|pupil|intern|landlord|landlady|au pair|"
    r"mujer|marido|novi[oa]|madre|padre|hij[oa]|herman[oa]|amig[oa]|abuel[oa]|suegr[oa]|cuñad[oa]|yerno|nuera|t[ií][oa]|"
    r"prim[oa]|sobrin[oa]|niet[oa]|niñ[oa]|chic[oa]|bebé|alumn[oa]|vecin[oa]|compañer[oa]|"
    r"femme|mari|(?:grand-|belle-|beau-)?(?:mère|père|fils|fille|frère|sœur)|amie?|oncle|tante|cousine?|neveu|nièce|"
    r"enfant|petite?(?![ -]d)|gamine?|bébé|élève|voisine?|collègue|stagiaire|"
    r"frau|mann|(?:groß|schwieger)?(?:mutter|vater|sohn|tochter|bruder|schwester)|schwager|schwägerin|oma|opa|onkel|"
    r"neffe|nichte|enkel(?:in)?|kind|junge|mädchen|freund(?:in)?|nachbar(?:in)?|kolleg(?:e|in)|schüler(?:in)?|"
    r"praktikant(?:in)?|"
    r"marito|moglie|figli[oa]|fratello|sorella|nonn[oa]|zi[oa]|suocer[oa]|cognat[oa]|nipote|amic[oa]|bambin[oa]|ragazz[oa]|"
    r"esposa|filh[oa]|irmão?|mãe|pai|av[óô]|sogr[oa]|cunhad[oa]|net[oa]|menin[oa]|vizinh[oa]|colega|"
    rf"{'|'.join(word for word, (name, _) in KIN.items() if word.isascii() and name != 'pet')})"
)
_PEOPLE_ZH = (
    rf"(?:{'|'.join(word for word in KIN if not word.isascii() and ' ' not in word)}|"
    "爷|(?<![牛羊酸喝])奶(?![粉油茶酪])|爹|娘|娃|姨|舅|姑|婶|伯|岳|侄|老公|那口子|导师|老师|学生|客人|客户|实习生|房东|同桌|姑娘|大爷|大妈)"
)
_ABOUT_OTHERS = re.compile(
    r"^\W*(?:and |but |so |also |btw |oh )*(?:my (?:\w+ ){0,2}?|our (?:\w+ ){0,2}?|mi |mis |mon |ma |mein\w* |"
    r"(?:il |la )?mi[oa] |(?:o |a )?meu |(?:a )?minha )?"
    rf"(?:{_PEOPLE}|"
    r"(?:he|she|they|he'?s|she'?s)(?!.*\b(?:me|my|i)\b)|elle|il(?!.*\bmi\b)|él|ella|er|sie)\b"
    r"(?!['’]?s? (?:and i|et moi|y yo|und ich)\b)"
    rf"|^(?:我|俺|咱)(?:家|的)?{_PEOPLE_ZH}|^[他她]",
    re.IGNORECASE,
)
"""Beginnings of sentences whose subject is somebody else."""

_BORDER = re.compile(
    r"(?P<who>[,，]?\s*\b(?:who|que|qui)\b|,\s*(?:der|die|das)\b)|[,;:，；：—–]|(?<=[说道讲])|"
    r"(?<=[\u3400-\u9fff\d])\s+(?=[\u3400-\u9fff])|"
    r"\b(?:that|because|since|so|while|but|and|y|et|und|dass|pero|mais|aber)\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    rf"\b(?:i|i['’]?m|i['’]?ve|we|we['’]?re|yo|soy|tengo|estoy|tomo|je|suis|ich|habe|bin|wir|io|ho|sono|prendo|eu|sou|"
    rf"tenho|me|mich|mir)\b|\b[jm]['’]|\bmi h(?:a|anno)\b|"
    rf"(?:我|俺|咱)(?!(?:们|家|的|那个?|[大二三四小老])*{_PEOPLE_ZH}|们?(?:家|班|组|公司|单位|部门))|"
    rf"\b(?:my|our|mi|mon|ma|meine?|meu|minha)\s+(?!{_PEOPLE})",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    rf"\b(?:{_PEOPLE}|dog|cat)s?\b|^\s*(?:he|she|they|(?:he|she|they)['’]\w+|hes|shes|theyre|elle|il|él|ella|er|sie)\b|"
    rf"{_PEOPLE_ZH}|^\s*(?:然后|但是?|不过|结果|所以|因为)?[他她]|^\s*(?:[^，。]{{1,4}}的|隔壁)?(?:"
    r"(?!天天|常常|刚刚|慢慢|渐渐|偏偏|明明|好好|早早|往往|时时|稍稍|微微|仅仅|年年|月月|夜夜|顿顿|样样)([\u4e00-\u9fff])\1|"
    r"(?!小[时心腿肠便孩学区龙麦米虾葱番吃]|老[是毛样早觉寒胃了]|阿[莫司奇托普])[小老阿][\u4e00-\u9fffA-Z]|"
    rf"[{SURNAMES}](?:姐|哥|总|姨|叔|婶|工|经理|师傅|阿姨|老师))(?!.{{0,6}}[说讲劝让叫给开])",
    re.IGNORECASE,
)
"""Words for the speaker and for somebody else, among them names at the beginning of a Chinese clause: one character
twice, one of a few before another, or a surname with a title."""


class Clause(NamedTuple):
    """A clause of a sentence; relative if a pronoun joins it to somebody named before."""

    text: str
    relative: bool


def clauses(text: str) -> list[Clause]:
    """The clauses of a sentence, in order."""
    parts, start, relative = [], 0, False
    for border in _BORDER.finditer(text):
        parts.append(Clause(text[start : border.start()].strip(), relative))
        start, relative = border.end(), border["who"] is not None
    parts.append(Clause(text[start:].strip(), relative))
    return [part for part in parts if part.text]


def is_about_others(text: str, upto: Sequence[Clause], other: float) -> bool:
    """Whether the sentence is about somebody else.

    Args:
        text: the sentence.
        upto: its clauses up to the one that says what harms somebody; empty if it says nothing such.
        other: the judge's probability of that, 0 if it takes it rather for a claim about the speaker.
    """
    doubtful = other > MAYBE_OTHER
    for clause in reversed(upto):
        own, somebody = _OWN.search(clause.text), _OTHERS.search(clause.text)
        if own or somebody:
            return not own or (somebody is not None and doubtful)
        if clause.relative and clause is upto[-1]:
            return True
    if _ABOUT_OTHERS.search(text):
        return True
    # With the first person the judge has to be sure.
    return other > SURELY_OTHER if _FIRST_PERSON.search(text) else doubtful
