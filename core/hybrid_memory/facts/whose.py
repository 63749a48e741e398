"""Whom a sentence is about, its speaker or somebody else: by its words, and by the sentence judge where it is sure."""

from __future__ import annotations

import re

from hybrid_memory.facts.own import any_case

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

MAYBE_OTHER, SURELY_OTHER = 0.3, 0.85
"""The least probability that a sentence is about somebody else, to take it for that: without the first person and with.
"""

_FIRST_PERSON = any_case(
    r"\b(?:i|i'?m|i'?ve|me|my|mine|we|us|our|yo|mi|mis|me|nos|je|j'|moi|mon|ma|mes|nous|ich|mir|mich|mein\w*|wir|"
    r"io|mio|la mia|miei|ho|noi|eu|meus?|minhas?|tenho|tomo)\b|我|俺|咱|私|僕"
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
_ABOUT_OTHERS = any_case(  # beginnings of sentences whose subject is somebody else
    r"^\W*(?:and |but |so |also |btw |oh )*(?:my (?:\w+ ){0,2}?|our (?:\w+ ){0,2}?|mi |mis |mon |ma |mein\w* |"
    r"(?:il |la )?mi[oa] |(?:o |a )?meu |(?:a )?minha )?"
    rf"(?:{_PEOPLE}|"
    r"(?:he|she|they|he'?s|she'?s)(?!.*\b(?:me|my|i)\b)|elle|il(?!.*\bmi\b)|él|ella|er|sie)\b"
    rf"|^(?:我|俺|咱)(?:家|的)?{_PEOPLE_ZH}|^[他她]"
)

_TOO = any_case(  # says that the same is true of the speaker
    r"\b(?:(?:so|neither|nor) (?:am|do|can|have|must|was) i|me (?:too|neither)|same (?:here|for me)|"
    r"moi (?:aussi|non plus)|(?:ich|mir) auch|yo (?:también|tampoco)|anch'io|eu também)\b|"
    r"^\W*(?:(?:my|our|mi|mon|ma|mein\w*) (?:\w+ )?)?[\w-]+ (?:and|&|y|et|und) (?:i|myself|yo|moi|ich)\b|"
    r"我也|我[和跟与][^，。]{1,8}都|[和跟与]我[都也]"
)

_BORDER = any_case(
    r"[,，]?\s*\b(?:who|que|qui)\b|[,;:，；：—–]|(?<=[说道讲])|(?<=[\u3400-\u9fff\d])\s+(?=[\u3400-\u9fff])|"
    r"\b(?:that|because|since|so|while|but|and|y|et|und|dass|pero|mais|aber)\b"
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
