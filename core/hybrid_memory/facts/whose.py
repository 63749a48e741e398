"""Whom a sentence is about, its speaker or somebody else: by its words, and by the sentence judge where it is sure."""

from __future__ import annotations

import re

from hybrid_memory.facts.grounding import KIN

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
    rf"|^(?:我|俺|咱)(?:家|的)?{_PEOPLE_ZH}|^[他她]",
    re.IGNORECASE,
)
"""Beginnings of sentences whose subject is somebody else."""

_TOO = re.compile(
    r"\b(?:(?:so|neither|nor) (?:am|do|can|have|must|was) i|me (?:too|neither)|same (?:here|for me)|"
    r"moi (?:aussi|non plus)|(?:ich|mir) auch|yo (?:también|tampoco)|anch'io|eu também)\b|"
    r"^\W*(?:(?:my|our|mi|mon|ma|mein\w*) (?:\w+ )?)?[\w-]+ (?:and|&|y|et|und) (?:i|myself|yo|moi|ich)\b|"
    r"我也|我[和跟与][^，。]{1,8}都|[和跟与]我[都也]",
    re.IGNORECASE,
)
"""Says that the same is true of the speaker."""

_BORDER = re.compile(
    r"[,，]?\s*\b(?:who|que|qui)\b|[,;:，；：—–]|(?<=[说道讲])|(?<=[\u3400-\u9fff\d])\s+(?=[\u3400-\u9fff])|"
    r"\b(?:that|because|since|so|while|but|and|y|et|und|dass|pero|mais|aber)\b",
    re.IGNORECASE,
)


def clauses(text: str) -> list[str]:
    """The clauses of a sentence, in order."""
    return [part for part in map(str.strip, _BORDER.split(text)) if part]


def names_the_speaker(clause: str) -> bool:
    """Whether a clause has the first person, or a possession of it."""
    return _FIRST_PERSON.search(clause) is not None


def includes_the_speaker(text: str) -> bool:
    """Whether what is said of somebody is said of the speaker too: "my sister is celiac and so am I"."""
    return _TOO.search(text) is not None


def is_about_others(text: str, other: float = 0.0) -> bool:
    """Whether the sentence is about somebody else.

    ``other`` is the judge's probability of that, 0 if it takes it rather for a claim about the speaker.
    """
    if includes_the_speaker(text):
        return False
    if _ABOUT_OTHERS.search(text):
        return True
    # With the first person the judge has to be sure.
    return other > (SURELY_OTHER if names_the_speaker(text) else MAYBE_OTHER)
