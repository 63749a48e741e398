"""English, German, French, Spanish, Italian and Portuguese time expressions: a table of words each, and one reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from hybrid_memory.text import lazy
from hybrid_memory.text.dates.calendar import (
    DAY,
    SPRING,
    Language,
    Moment,
    Part,
    Range,
    Reading,
    Rule,
    Which,
    date_of,
    nth,
    part_of,
    shift,
    whole_of,
    year_of,
)


@dataclass(frozen=True, slots=True)
class Words:
    """The words for times of a language, as patterns; "_" stands for a blank, and "|" parts the forms of one thing.

    Tables have their entries in a fixed order, with "-" for what the language has no word for.
    """

    day: str  # the day before yesterday, yesterday, today, tomorrow, the day after tomorrow
    weekday: str  # from Monday on
    month: str
    season: str  # from spring on
    unit: str  # day, week, weekend, month, year, quarter, decade, hour, minute
    number: str  # a few, a half, then from one to twenty, and thirty
    ordinal: str  # from first to fourth, and last
    which: str  # before last, last, this, next, after next, coming
    each: str  # before what happens again and again
    away: str  # for so long until now, ago, ahead, with {} for a number and its unit
    since: str
    part_of: str  # before a part of a period; as "due" it says that something is due by then
    parts: str  # first half, second half, start, middle, end
    of: str  # between a part of a period and the period
    past: str  # words that show the tense of a sentence
    future: str
    # What only English has.
    doubtful: str = ""  # months that may be verbs or names
    context: str = ""  # months as they are read beside other words only, such as those of "led"
    led: str = ""  # before a month or season
    behind: str = ""  # as "which", after its noun, if not the same
    the: str = ""  # before a unit that stands alone
    article: str = ""  # before an ordinal
    within: str = ""  # as "of", between an ordinal's unit and the period
    plural: str = ""  # of a unit after a number
    about: str = "(?!)"  # before a number
    half: str = "(?!)"  # after a number
    counted: str = ","  # between a number of units and the day from which they are counted
    day_first: bool = True  # in figures


WORDS = {
    "english": Words(
        day="(?:the_)?day_before_yesterday yesterday|last_(?:morning|afternoon|evening|night) "
        "today|this_(?:morning|afternoon|evening|night) tomorrow (?:the_)?day_after_tomorrow",
        weekday=" ".join(
            rf"{name}|(?-i:{short})(?:(?<=(?:on|by|xt|st|is)\s...)|(?=[.,]?\s{{1,3}}(?:\d|at\b)))"
            for name, short in zip(
                "monday tuesday wednesday thursday friday saturday sunday".split(),
                "Mon Tues? Wed Thu(?:rs?)? Fri Sat Sun".split(),
                strict=True,
            )
        ),
        month="january february - - - - july - september october november december",
        doubtful="- - (?-i:March) april (?-i:May) june - august - - - -",
        context=r"jan\.? feb\.? mar\.?|march apr\.? may jun\.? jul\.? aug\.? sept?\.? oct\.? nov\.? dec\.?",
        season="spring summer autumn|fall winter",
        led=r"(?:in|for(?!_(?:the|spring|summer|autumn|fall|winter)\b)|over|during|through(?:out)?|all(?!_ma)|early|mid"
        r"|late|(?P<due>until|till|by))_|(?<=since\s)",
        unit=r"(?<!this\s)day week weekend month year quarter decade hour minute",
        plural="s?",
        number="(?:a_)?few|several|some half_an? one|an? two|(?:a_)?couple(?:_of)? three four five six seven "
        "eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty",
        about="about|around|roughly",
        half="and_a_half",
        ordinal="first|1st second|2nd third|3rd fourth|4th last",
        which="- last|previous|past this|current next - coming|upcoming",
        behind="before_last - - - after_next -",
        each="every each other most",
        the="the_",
        away=r"- {}_ago|{}_back\b(?!_(?:to|from|in|at|on|home)\b) "
        r"(?<!once\s)(?<!twice\s)(?<!times\s)in(?!_\w+_(?!and_)\w+_(?:a|per)_)_{}|{}_from_now",
        counted=",|on|this|(?P<counted>from|after)(?:_this)?",
        article="(?:on_)?(?:the_)?",
        since="(?:ever_)?since",
        part_of="(?:(?P<due>by|until|till|before|due(?:_at|_by)?)_)?(?:(?:at|in|from)_)?(?:the_)?(?:very_)?",
        parts="first_half (?:second|other|latter)_half start|beginning middle end",
        of="of|the",
        within="of|in|the",
        day_first=False,
        past=r"(?-i:happened|changed|started|finished|visited|moved|been|was|were|did|didn't|had|went|got|took|came|saw"
        r"|met|made|said|told|bought|ate|left|began|gave|felt|heard|quit|lost|found|won|sold|ran|flew|drove|spent|wrote"
        r"|became|grew|broke|fell|kept|paid|sent|slept|spoke|taught|woke|born|ago|just|already"
        r"|(?:I|we|he|she|they|you|[A-Z][a-z]+)\s(?:\w{2,9}ly\s)?\w{3,}ed)",
        future="will|won't|going_to|gonna|shall|must|needs?_to|ha(?:ve|s)_to|wants?|plans?|hope|remind|let's|should|can"
        "|could|would|might|due|deadline|am|is|are|see_you|'(?:ll|m|d|s)",
    ),
    "german": Words(
        day="vorgestern gestern heute "
        r"(?<!heute\s)(?<!gestern\s)(?<!am\s)(?<!guten\s)(?<!jeden\s)(?<!diesen\s)morgen übermorgen",
        weekday="montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
        month="januars?|jänner februars? märz aprils? mais? junis? julis? augusts? septembers? oktobers? novembers? "
        "dezembers?",
        season="frühling|frühjahr sommer herbst winter",
        unit="tag(?:en?|es)? wochen? wochenenden? monat(?:en?|s)? jahr(?:en?|es)?",
        number="einige[nrm]?|ein_paar|mehrere[nr]? - eine[mnrs]?|ein zwei drei vier fünf sechs sieben acht "
        "neun zehn elf zwölf",
        ordinal="erste[nrms]? zweite[nrms]? dritte[nrms]? vierte[nrms]? letzte[nrms]?",
        which="vorletzte[nmrs]? letzte[nmrs]?|vergangene[nmrs]?|vorige[nmrs]? diese[nmrs]? "
        "nächste[nmrs]?|kommende[nmrs]? übernächste[nmrs]?",
        each="jeden jede jedes",
        away="seit_{} vor_{} in_{}",
        since="seit(?:_de[mr])?",
        part_of="(?:(?P<due>bis(?:_zum)?|vor|spätestens)_(?:de[mr]_)?)?",
        parts="erste[nr]?_hälfte zweite[nr]?_hälfte anfang mitte ende",
        of="de[srm]|vom|von|im|in",
        past=r"war\w*|hatte\w*|hab(?:e|en|t)?|hast|hat|wurde\w*|ging\w*|kam\w*|gab|sagte\w*|geschah|passiert|ge\w{3,}t",
        future=r"werden?|wird|wirst|will|wollen|soll\w*|muss|müssen|termin|fällig",
    ),
    "french": Words(
        day="avant-hier hier_soir|hier aujourd['’]hui|ce_matin|ce_soir|cet_après-midi demain après-demain",
        weekday="lundi mardi mercredi jeudi vendredi samedi dimanche",
        month="janvier février|fevrier mars avril mai juin juillet août|aout "
        "septembre octobre novembre décembre|decembre",
        season=r"printemps (?<=l['’])été|(?<=d['’])été|(?<=cet\s)été|(?<=en\s)été|été(?=\s(?:derni|proch|\d)) "
        "automne hiver",
        unit="jour(?:née)?s? semaines? week-?ends? mois (?:an|année)s?",
        number="quelques|plusieurs - une? deux trois quatre cinq six sept huit neuf dix onze douze",
        ordinal="premi(?:er|ère) deuxième|second troisième quatrième derni(?:er|ère)",
        which="- derni(?:er|ère)s?|passée?s?|précédente?s? cet(?:te)?|ces? prochaine?s?|qui_vient",
        each="chaque les",
        away="depuis_{}|ça_fait_{} il_y_a_{}|ya_{} dans_{}",
        since="depuis(?:_les?|_la|_l['’])?",
        part_of="(?:(?P<due>avant|d['’]ici|pour|jusqu['’]à)_(?:l[ae]s?_|l['’])?)?",
        parts="première_(?:moitié|quinzaine) (?:seconde|deuxième)_(?:moitié|quinzaine) début milieu|mi fin",
        of="de|du|d['’]|la|le|l['’]|cet(?:te)?",
        past=r"ai|as|avons|avez|ont|avai\w+|étai\w+|suis_\w+é|es_\w+é|est_\w+é|sont_\w+s|été|passée?s?|(?:s['’]|m['’])est",
        future=r"vais|va|vas|allons|allez|vont|sera\w*|dois|doit|devons|rendez-vous|\w{3,}(?:rai|ras|rons|rez|ront)",
    ),
    "spanish": Words(
        day="anteayer|antes_de_ayer|antier ayer|anoche hoy|esta_mañana|esta_tarde "
        r"(?<!la\s)(?<!esta\s)(?<!una\s)(?<!cada\s)mañana pasado_mañana",
        weekday="lunes martes mi[ée]rcoles jueves viernes s[áa]bado domingo",
        month="enero febrero marzo abril mayo junio julio agosto sep?tiembre octubre noviembre diciembre",
        season="primavera verano otoño invierno",
        unit="d[íi]as? semanas? fin(?:es)?_de_semana|finde mes(?:es)? años?",
        number="un[oa]s|algun[oa]s|alguns|vari[oa]s - una?|un dos tres cuatro cinco seis siete ocho nueve diez "
        "once doce",
        ordinal="primera?|primer segund[oa] tercera?|tercer cuart[oa] [úu]ltim[oa]",
        which="- pasad[oa]s?|[úu]ltim[oa]s?|anterior(?:es)? est[ea]|este pr[óo]xim[oa]s?|que_viene|siguiente",
        each="cada los las todo toda todos todas",
        away="desde_hace_{}|llevo_{} hace_{}|{}_atrás dentro_de_{}|en_{}",
        since="desde(?:_el|_la)?(?:_mes_de)?",
        part_of="(?:(?P<due>antes_del?|para|hasta|a_más_tardar)_(?:el_|l[ao]s?_|a_)?)?",
        parts="primera_(?:mitad|quincena) segunda_(?:mitad|quincena) "
        r"principios?|comienzos? mediados fin(?:al|ales|es)?(?!\sde\ssemana)",
        of="del?|el|la|este",
        past=r"fui|fue\w*|era\w*|estuv\w+|tuv\w+|hic\w+|hizo|dij\w+|he|has|ha|hemos|han|había\w*|"
        r"\w{3,}(?:é|ó|aste|iste|aron|ieron|imos)",
        future=r"(?:voy|vas|va|vamos|van)_a|\w{3,}(?:ré|rás|rá|remos|rán)|tengo_que|debo|hay_que|quiero|cita",
    ),
    "italian": Words(
        day="l['’]altro_ieri|ieri_l['’]altro|altroieri|avantieri ieri oggi|stamattina|stamani|questa_mattina "
        "domani dopodomani",
        weekday="luned[ìi] marted[ìi] mercoled[ìi] gioved[ìi] venerd[ìi] sabato domenica",
        month="gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        season="primavera estate autunno inverno",
        unit="giorn[oi]|d[ìi] settiman[ae] fine_settimana|weekend mes[ei] ann[oi]",
        number="qualche|alcun[ei]|poch[ie]|vari - un[oa]?|un['’] due tre quattro cinque sei sette otto "
        "nove dieci undici dodici",
        ordinal="prim[oa] second[oa] terz[oa] quart[oa] ultim[oa]",
        which="- scors[oaei]|passat[oaei]|ultim[oaei]|precedente quest[oa]|quest['’] prossim[oaei]|che_viene|entrante",
        each="ogni",
        away="da_{} {}_fa|{}_or_sono (?:tra|fra)_{}",
        since="(?:fin_)?(?:dallo|dalla|dall['’]|dal|da)",
        part_of="(?:(?P<due>entro(?:_la|_l['’])?|prima_della|per_la)_(?:l[ao]_|l['’])?)?",
        parts=r"prima_(?:metà|quindicina) seconda_(?:metà|quindicina) inizio|inizi metà fine(?!\ssettimana)",
        of="di|del|della|dello|dell['’]|d['’]",
        past=r"ho|hai|ha|abbiamo|avete|hanno|ero|era|eri|eravamo|erano|successo|stat[oaie]|(?:sono|sei|è|siamo)_\w+[ts][oaie]",
        future=r"\w{2,}(?:rò|rai|rà|remo|ranno)|devo|deve|dobbiamo|voglio|appuntamento",
    ),
    "portuguese": Words(
        day="anteontem ontem hoje|esta_manhã amanhã depois_de_amanhã",
        weekday=" ".join(
            rf"{name}(?:-feira|(?=\s(?:passad|que\svem|próxim))|(?<=na\s{name})|(?<=última\s{name}))"
            for name in "segunda terça quarta quinta sexta".split()
        )
        + " s[áa]bado domingo",
        month="janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        season="primavera verão outono inverno",
        unit="dias? semanas? fi(?:m|ns)_de_semana mês|mes|meses anos?",
        number="algun[oa]s|algumas|alguns|vári[oa]s - uma?|um dois|duas três|tres quatro cinco seis sete oito nove "
        "dez onze doze",
        ordinal="primeir[oa] segund[oa] terceir[oa] quart[oa] [úu]ltim[oa]",
        which="- passad[oa]s?|[úu]ltim[oa]s?|anterior (?:n|d)?est[ea]|(?:n|d)?ess[ea] próxim[oa]s?|que_vem|seguinte",
        each="cada todo toda todos todas",
        away=r"desde_há_{}|há(?=_\w+_\w+_que\b)_{} há_{}|faz_{}|{}_atrás daqui_a_{}|dentro_de_{}|em_{}",
        since="desde(?:_o|_a)?(?:_mês_de)?",
        part_of="(?:(?P<due>até(?:_o|_ao)?|antes_do|para_o)_(?:[ao]_)?)?",
        parts="primeira_(?:metade|quinzena) segunda_(?:metade|quinzena) "
        r"início|começo|princípio meados|meio fi(?:m|nal|ns)(?!\sde\ssemana)",
        of="d[eoa]|dest[ea]|o|a",
        past=r"fui|foi|fomos|foram|era\w*|estava\w*|estive|tinha\w*|tive|teve|fiz|fez|fizemos|disse\w*|"
        r"\w{2,}(?:ei|ou|aste|este|aram|eram|iram|amos)",
        future=r"(?:vou|vai|vamos|vão)_\w+r|\w{3,}(?:rei|rá|remos|rão)|preciso|devo|tenho_que|quero|consulta",
    ),
}

_UNITS = ("day", "week", "weekend", "month", "year", "quarter", "decade", "hour", "minute")
_MEANT: dict[str, Sequence[Any]] = {  # what the entries of a table mean, in their order
    "day": (-2, -1, 0, 1, 2),
    "weekday": range(7),
    **dict.fromkeys(("month", "doubtful", "context"), range(1, SPRING)),
    "season": range(SPRING, SPRING + 4),
    **dict.fromkeys(("unit", "part"), _UNITS),
    "number": (None, 0.5, *range(1, 21), 30),
    "ordinal": (0, 1, 2, 3, -1),
    **dict.fromkeys(("which", "behind", "inner", "weekwhich", "weekbehind", "yearwhich", "yearbehind"), tuple(Which)),
    **dict.fromkeys(("before", "after"), ("lasting", "ago", "ahead")),
}

_STEPS: dict[Which | None, Any] = dict(zip([*Which, None], (-2, -1, 0, 1, 2, 1, 0, None), strict=True))

_BLANK = r"(?:\s{1,3}|(?<=['’]))"
_DAY = r"(?P<date>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th|er|[ºª°])?"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?![:/-]?\d)"
_YEAR_LED = (
    r"(?:(?:in|of|during|by|until|till|around|year|early|mid|late|en|em|nel|del?|di|im_jahre?|von|bis)_"
    r"|(?<=since\s)|(?<=seit\s)|(?<=depuis\s)|(?<=desde\s)|(?<=dal\s)|(?<=l['’]an\s))"
)
_LINK = r"[\s,-]{0,3}(?:(?:at|on|by|around|about|from|in the|of|in|den|dem|le|el|il|o|dia)\s{1,3})?"
_TO = r"\s{0,3}(?:to|until|till|through|bis(?: zum)?|à|au|jusqu['’](?:à|en)|ao?|al|hasta|fino a|até|-|–|—)\s{0,3}"
_VAGUE = re.compile(r"\(\?<?[=!](?:[^()]|\([^()]*\))*\)|\([^()]*\)\?|\[[^\]]*\]")


def _meant(match: re.Match[str], *tables: str) -> Any:
    """What the word means that matched of the first of these tables that has one; None if none has."""
    for table in tables:
        for name, words in match.groupdict().items():
            if words and name.startswith(table) and name[len(table) :].isdecimal():
                return _MEANT[table][int(name[len(table) :])]
    return None


def _which(match: re.Match[str], noun: str = "") -> Any:
    return _meant(match, f"{noun}which", f"{noun}behind")


def _period(match: re.Match[str]) -> Any:
    return _meant(match, "month", "doubtful", "context", "season")


def _year(match: re.Match[str], moment: Moment) -> int | None:
    which = _which(match, "year")
    return int(match["year"]) if match["year"] else None if which is None else moment.now.year + _STEPS[which]


def _count(match: re.Match[str]) -> float | None:
    """How many; None is a few."""
    number = float(match["figures"]) if match["figures"] else _meant(match, "number")
    return None if number is None else number + (0.5 if match["half"] else 0)


def _of_amount(match: re.Match[str], moment: Moment) -> Range | None:
    """Two weeks ago, in two weeks, for two weeks, the last two weeks."""
    count, unit, direction = _count(match), _meant(match, "unit"), _meant(match, "after", "before")
    if direction in {"ago", "ahead"}:
        return moment.away(count, unit, -1 if direction == "ago" else 1)
    which = _meant(match, "which", "inner")
    if direction is None and which is None:
        return None
    ahead = which in {Which.NEXT, Which.AFTER_NEXT, Which.COMING}
    return moment.stretch((count or 5) * (1 if ahead else -1), unit)


def _of_day_away(match: re.Match[str], moment: Moment) -> Range | None:
    """A week from Friday, two weeks ago today, today two weeks ago."""
    unit, weekday, back = _meant(match, "unit"), _meant(match, "weekday"), _meant(match, "after", "before") == "ago"
    if not (back or match.groupdict().get("counted")) or unit in {"weekend", "hour", "minute"}:
        return None
    if weekday is None:
        begin = moment.unit("day", _meant(match, "day") or 0)[0]
    else:
        begin = moment.pick(Which.LAST if back else Which.NEXT, partial(moment.weekday, weekday))[0]
    begin = shift(begin, unit, whole_of(_count(match)) * (-1 if back else 1))
    return begin, begin + DAY


def _of_unit(match: re.Match[str], moment: Moment) -> Range | None:
    unit, which = _meant(match, "unit"), _which(match)
    if unit == "day" and which is not Which.THIS:
        return None  # the last day is that of a story
    return moment.unit(unit, _STEPS[which]) if which or unit == "weekend" else None


def _of_part(match: re.Match[str], moment: Moment) -> Range:
    """The end of the month: of this one."""
    return part_of(moment.unit(_meant(match, "unit")), Part.named_by(match), last_day=True)


def _of_weekday(match: re.Match[str], moment: Moment) -> Range:
    weekday, which, week = partial(moment.weekday, _meant(match, "weekday")), _which(match), _which(match, "week")
    if week is not None or which in {None, Which.NEXT, Which.AFTER_NEXT}:
        return weekday(_STEPS[week or which])
    return moment.pick(moment.near if which is Which.THIS else which, weekday)


def _of_ordinal(match: re.Match[str], moment: Moment) -> Range:
    """The first Tuesday of November, the last week of the year."""
    number, period, part = _meant(match, "ordinal"), _period(match), _meant(match, "part")
    part = _meant(match, "weekday") if part is None else part
    if period is None:
        return nth(moment.unit(_meant(match, "unit"), _STEPS[_which(match)]), part, number)
    return moment.nth_of(period, part, number, _year(match, moment))


def _of_first_few(match: re.Match[str], moment: Moment) -> Range | None:
    """The first two weeks of October, the last three days of May."""
    number, unit, count = _meant(match, "ordinal"), _meant(match, "unit"), whole_of(_count(match))
    if number > 0 or unit not in {"day", "week"}:
        return None
    begin, end = moment.period(_period(match), _year(match, moment))
    return (begin, shift(begin, unit, count)) if number == 0 else (shift(end, unit, -count), end)


def _of_date(match: re.Match[str], moment: Moment) -> Range:
    return moment.date(_period(match), int(match["date"]), _year(match, moment))


def _of_figures(match: re.Match[str], _: Moment, *, day_first: bool) -> Range:
    """After the year the month; before it the day or month, as is usual or else as can be, and before dots the day."""
    month, day = int(match["one"]), int(match["two"])
    usual = day_first or match["sign"] == "."
    if match.start("year") > match.start("one") and (month > 12 or (day <= 12 and usual)):  # noqa: PLR2004 - months
        month, day = day, month
    return date_of(int(match["year"]), month, day)


def _of_period(match: re.Match[str], moment: Moment, *, alone: bool) -> Range | None:
    """A month or season; where it does not count alone, a month by its full name does."""
    which, year = _which(match), _year(match, moment)
    if which is None and year is None and not alone and _meant(match, "month") is None:
        return None
    due = match.groupdict().get("due") and not moment.past
    return moment.period(_period(match), year, which or (Which.COMING if due else Which.LATEST))


def _rule(cues: Iterable[str], written: str, read: Reading, *, weekday: bool = False) -> Rule:
    """Of words that are not within others, or within a name like "due_today"."""
    pattern = rf"(?<![a-z0-9À-ɏ])(?<!\w_)(?:{written.replace('_', _BLANK)})(?![a-z0-9À-ɏ]|_\w)"
    return Rule(tuple(cues), lazy(pattern, re.IGNORECASE), read, weekday)


def _named(table: str, written: str) -> str:
    """A pattern for the words of a table, each in a group of the table's name and its place."""
    forms = [f"(?P<{table}{place}>{words})" for place, words in enumerate(written.split()) if words != "-"]
    return f"(?:{'|'.join(forms) or '(?!)'})"


def _cues(*tables: str) -> list[str]:
    """Letters of which any text with a word of the tables has some: of each form the most that it always has."""
    forms = re.split(r"[\s|]", _VAGUE.sub(" ", " ".join(tables)).lower())
    letters = (re.findall(r"[^\W_]+(?![?])", form) for form in forms)
    cues = {re.sub(r"\d", "0", max(each, key=len)) for each in letters if each}
    return [cue for cue in cues if not any(other in cue for other in cues - {cue})]


@cache
def european(name: str) -> Language:
    """The rules of a language of `WORDS`; "german" for example."""
    words = WORDS[name]
    parts = "|".join(f"(?P<{part}>{forms})" for part, forms in zip(Part, words.parts.split(), strict=True))
    part, of = f"{words.part_of}(?:{parts})", f"(?:_(?:{words.of}))*_"

    def spaced(written: str) -> re.Pattern[str]:
        return lazy(written.replace("_", _BLANK), re.IGNORECASE)

    return Language(
        rules=(*(_ENGLISH if name == "english" else ()), *_rules(words, part, of)),
        link=spaced(_LINK),
        to=spaced(_TO),
        since=spaced(rf"(?<!\w)(?:{words.since})_$"),
        part=spaced(rf"(?<!\w){part}(?:-|{of})$"),
        past=spaced(rf"\b(?:{words.past})\b"),
        future=spaced(rf"(?:\b|(?='))(?:{words.future})\b"),
    )


def _amounts(words: Words, unit: str) -> tuple[str, str]:
    """An amount, and one with the words before or after it that say where it lies."""
    # Which reach until now or from now on: the last two weeks, not these two.
    sides = words.which.replace(words.which.split()[2], "-")
    number = rf"(?:(?:{words.about})_)?(?:(?P<figures>\d{{1,3}}(?:\.5)?)|{_named('number', words.number)})"
    inner = _named("inner", "" if words.behind else sides)  # in English not "40 last month"
    amount = f"{number}(?P<half>_(?:{words.half}))?_(?:{inner}_)?{unit}{words.plural}"
    forms = [re.split(r"\|(?![^(]*\))", each) for each in words.away.split()]
    before = " ".join("|".join(form[:-3] for form in each if form.endswith("_{}")) or "-" for each in forms)
    after = " ".join("|".join(form[3:] for form in each if form.startswith("{}_")) or "-" for each in forms)
    before = f"(?:(?:{_named('before', before)}|{_named('which', sides)})_)?"
    return amount, f"{before}{amount}(?:_{_named('after', after)})?"


def _rules(words: Words, part: str, of: str) -> Iterator[Rule]:
    """In an order: of two that match the same words the first counts."""
    tables = ("day", "weekday", "month", "doubtful", "context", "season", "unit", "ordinal", "which")
    day, weekday, *named, season, unit, ordinal, which = (_named(table, getattr(words, table)) for table in tables)
    behind, months, units = _named("behind", words.behind or words.which), "|".join(named), words.unit.split()
    period = f"(?:{months}|{season})"
    some_of = f"(?:_(?:{words.within}))+_" if words.within else of
    each = "".join(rf"(?<!{word}\s)" for word in words.each.split())

    def meant(noun: str) -> str:  # last week, la semaine dernière
        either = f"(?:{which}_NOUN|NOUN_{behind})".replace("NOUN", units[_UNITS.index(noun)])
        return re.sub("P<(?=which|behind)", f"P<{noun}", either)

    year = f",?{of}(?:{_YEAR}|{meant('year')})"
    in_year = f"(?:{year})?"
    calendar_unit = _named("unit", " ".join(units[:7]))  # none of the day
    unit_cues, ordinal_cues = _cues(words.unit), _cues(words.ordinal)
    period_cues = _cues(words.month, words.doubtful, words.context, words.season)

    amount, away = _amounts(words, unit)
    today = words.day.split()[2]

    # Days, and amounts of units.
    yield _rule(_cues(words.day), day, lambda match, moment: moment.unit("day", _meant(match, "day")))
    yield _rule(unit_cues, away, _of_amount)
    yield _rule(_cues(today), f"(?:{today}),?_{away}", _of_day_away)
    yield _rule(unit_cues, f"{away}(?:_?(?:{words.counted}))?_(?:{day}|{weekday})", _of_day_away)

    # Units, weekdays, and what is counted of them.
    yield _rule(unit_cues, f"{each}(?:{which}_|{words.the}){calendar_unit}(?:_{behind})?", _of_unit)
    yield _rule(unit_cues, f"{part}{some_of}{unit}", _of_part)
    of_week = f"{each}(?:{which}_)?{weekday}(?:{of}{meant('week')}|_{behind})?"
    yield _rule(_cues(words.weekday), of_week, _of_weekday, weekday=True)
    one = f"(?:{weekday}|{_named('part', ' '.join(units[:3]))})"
    whole = f"(?:{period}{in_year}|(?:{which}_)?{unit}(?:_{behind})?)"
    yield _rule(ordinal_cues, f"{each}{words.article}{ordinal}_{one}{some_of}{whole}", _of_ordinal)
    first = f"(?:{words.led})?{words.article}{ordinal}_{amount}{some_of}{period}{in_year}"
    yield _rule(period_cues, first, _of_first_few)

    # Dates.
    yield _rule(period_cues, rf"(?:{words.the})?{_DAY}\.?{of}{period}{in_year}", _of_date)
    if not words.day_first:
        yield _rule(period_cues, f"{period}_{_DAY}{in_year}", _of_date)
    figures = ("0-0", "0/0", "0.0")
    of_figures = partial(_of_figures, day_first=words.day_first)
    year_first = r"(?<![A-Za-z0-9_.])(?P<year>(?:19|20)\d\d)(?P<sign>[-/.])(?P<one>\d\d?)(?P=sign)(?P<two>\d\d?)(?!\d)"
    yield Rule(figures, lazy(year_first), of_figures)
    year_last = rf"(?<!\d\.)(?P<one>\d\d?)(?P<sign>[/.-])(?P<two>\d\d?)(?P=sign){_YEAR}(?!\.\d)"
    yield _rule(figures, year_last, of_figures)

    # Months, seasons, years.
    alone = "" if words.day_first else r"(?!,?_\d)"
    of_period = f"{each}(?:{which}_)?{period}(?:{year}|_{behind}|{alone})"
    if words.led:
        led = rf"(?:{words.led})(?:{months}|(?:the_)?{season})(?!{year}|,?{of}\d)"
        yield _rule(period_cues, led, partial(_of_period, alone=True))
        doubtful = f"(?P<weak>){_named('doubtful', words.doubtful)}(?!{year})"
        yield _rule(period_cues, doubtful, partial(_of_period, alone=True))
    yield _rule(period_cues, of_period, partial(_of_period, alone=not words.context))
    of_year = rf"(?:{_YEAR_LED}|(?P<weak>))(?<![\d.,$€£:/-]){_YEAR}"
    yield _rule(("0000",), of_year, lambda match, _: year_of(int(match["year"])))


_ENGLISH = (  # what only English has
    _rule(
        ("end",),
        f"(?:(?:by|at|before)_)?(?:the_)?{_named('unit', '- - - month year')}(?:['’]s)?(?:_|-)(?P<end>end)",
        _of_part,
    ),
    _rule(
        ("last",),
        f"(?:today|this_day),?_last_{_named('unit', '- week - month year')}",
        lambda match, moment: moment.same_day(-1, _meant(match, "unit")),
    ),
    _rule(
        ("past",),
        f"(?:the_)?past_{_named('unit', '- week - month year quarter decade')}",
        lambda match, moment: moment.stretch(-1, _meant(match, "unit")),
    ),
    _rule(
        ("0st", "0nd", "0rd", "0th"),
        r"(?:(?:on|by|until|before|since)_)?the_(?P<date>3[01]|[12]\d|[1-9])(?:st|nd|rd|th)"
        rf"(?:_of_{_named('which', '- last this next')}_month|(?=\s?(?:[.,;!?)]|$|(?:at|and|about)\b)))",
        lambda match, moment: moment.day_of_month(int(match["date"]), _STEPS[_meant(match, "which")]),
    ),
)
