"""German, French, Spanish, Italian and Portuguese time expressions: a table of words each, and one reader."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache

from hybrid_memory.text.dates.calendar import (
    Found,
    Kind,
    Language,
    Moment,
    Part,
    Reading,
    Rule,
    Which,
    weekday_of,
    year_of,
)
from hybrid_memory.text.dates.english import DAYS, MONTHS, NUMBERS, WEEKDAYS, WHICH
from hybrid_memory.text.languages import language_of
from hybrid_memory.text.patterns import lazy

_UNITS = ("day", "week", "weekend", "month", "year")
_SEASONS = ("spring", "summer", "autumn", "winter")


@dataclass(frozen=True, slots=True)
class Words:
    """The words for times of a language, as patterns; "_" stands for a blank, and "|" parts the forms of one thing.

    Attributes:
        days: each with how many days it lies ahead.
        weekdays, months, seasons: in order, from Monday, January and spring on.
        units: day, week, weekend, month, year; numbers: from one on; ordinals: from first to fourth, and last.
        last, current, next: what says which one, before or after it.
        ago, ahead, lasting: with {} for a number and its unit; the last is "for three weeks", until now.
        parts: first half, second half, start, middle, end; due: what before them says that something is due by then.
        of: what may come between a part of a period and the period.
        past, future: words that show the tense of a sentence.
    """

    days: str
    weekdays: str
    months: str
    seasons: str
    units: str
    numbers: str
    ordinals: str
    last: str
    current: str
    next: str
    ago: str
    ahead: str
    lasting: str
    since: str
    parts: str
    due: str
    of: str
    past: str
    future: str


WORDS = {
    "german": Words(
        days="vorgestern:-2 gestern:-1 heute:0 übermorgen:2 "
        r"(?<!heute\s)(?<!gestern\s)(?<!am\s)(?<!guten\s)(?<!jeden\s)(?<!diesen\s)morgen:1",
        weekdays="montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
        months="januars?|jänner februars? märz aprils? mais? junis? julis? augusts? septembers? oktobers? novembers? "
        "dezembers?",
        seasons="frühling|frühjahr sommer herbst winter",
        units="tag(?:en?|es)? wochen? wochenenden? monat(?:en?|s)? jahr(?:en?|es)?",
        numbers="eine[mnrs]?|ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        ordinals="erste[nrms]? zweite[nrms]? dritte[nrms]? vierte[nrms]? letzte[nrms]?",
        last="(?:vor)?letzte[nmrs]?|vergangene[nmrs]?|vorige[nmrs]?",
        current="diese[nmrs]?",
        next="nächste[nmrs]?|kommende[nmrs]?",
        ago="vor_{}",
        ahead="in_{}",
        lasting="seit_{}",
        since="seit(?:_de[mr])?",
        parts="erste[nr]?_hälfte zweite[nr]?_hälfte anfang mitte ende",
        due="bis(?:_zum)?|vor|spätestens",
        of="de[srm]|vom|von|im|in",
        past=r"war\w*|hatte\w*|hab(?:e|en|t)?|hast|hat|wurde\w*|ging\w*|kam\w*|gab|sagte\w*|geschah|passiert|ge\w{3,}t",
        future=r"werden?|wird|wirst|will|wollen|soll\w*|muss|müssen|termin|fällig",
    ),
    "french": Words(
        days="avant-hier:-2 hier_soir|hier:-1 après-demain:2 demain:1 aujourd['’]hui|ce_matin|ce_soir|cet_après-midi:0",
        weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
        months="janvier février|fevrier mars avril mai juin juillet août|aout "
        "septembre octobre novembre décembre|decembre",
        seasons=r"printemps (?<=l['’])été|(?<=d['’])été|(?<=cet\s)été|(?<=en\s)été|été(?=\s(?:derni|proch|\d)) "
        "automne hiver",
        units="jour(?:née)?s? semaines? week-?ends? mois (?:an|année)s?",
        numbers="une? deux trois quatre cinq six sept huit neuf dix onze douze",
        ordinals="premi(?:er|ère) deuxième|second troisième quatrième derni(?:er|ère)",
        last="derni(?:er|ère)s?|passée?s?|précédente?s?",
        current="cet(?:te)?|ces?",
        next="prochaine?s?|qui_vient",
        ago="il_y_a_{} ya_{}",
        ahead="dans_{}",
        lasting="depuis_{} ça_fait_{}",
        since="depuis(?:_les?|_la|_l['’])?",
        parts="première_(?:moitié|quinzaine) (?:seconde|deuxième)_(?:moitié|quinzaine) début milieu|mi fin",
        due="avant|d['’]ici|pour|jusqu['’]à",
        of="de|du|d['’]|la|le|l['’]|cet(?:te)?",
        past=r"ai|as|avons|avez|ont|avai\w+|étai\w+|suis_\w+é|es_\w+é|est_\w+é|sont_\w+s|été|passée?s?|(?:s['’]|m['’])est",
        future=r"vais|va|vas|allons|allez|vont|sera\w*|dois|doit|devons|rendez-vous|\w{3,}(?:rai|ras|rons|rez|ront)",
    ),
    "spanish": Words(
        days="anteayer|antes_de_ayer|antier:-2 ayer|anoche:-1 hoy|esta_mañana|esta_tarde:0 pasado_mañana:2 "
        r"(?<!la\s)(?<!esta\s)(?<!una\s)(?<!cada\s)mañana:1",
        weekdays="lunes martes mi[ée]rcoles jueves viernes s[áa]bado domingo",
        months="enero febrero marzo abril mayo junio julio agosto sep?tiembre octubre noviembre diciembre",
        seasons="primavera verano otoño invierno",
        units="d[íi]as? semanas? fin(?:es)?_de_semana|finde mes(?:es)? años?",
        numbers="una?|un dos tres cuatro cinco seis siete ocho nueve diez once doce",
        ordinals="primera?|primer segund[oa] tercera?|tercer cuart[oa] [úu]ltim[oa]",
        last="pasad[oa]s?|[úu]ltim[oa]s?|anterior(?:es)?",
        current="est[ea]|este",
        next="pr[óo]xim[oa]s?|que_viene|siguiente",
        ago="hace_{} {}_atrás",
        ahead="dentro_de_{} en_{}",
        lasting="desde_hace_{} llevo_{}",
        since="desde(?:_el|_la)?(?:_mes_de)?",
        parts="primera_(?:mitad|quincena) segunda_(?:mitad|quincena) "
        "principios?|comienzos? mediados fin(?:al|ales|es)?",
        due="antes_de(?:l)?|para|hasta|a_más_tardar",
        of="del?|el|la|este",
        past=r"fui|fue\w*|era\w*|estuv\w+|tuv\w+|hic\w+|hizo|dij\w+|he|has|ha|hemos|han|había\w*|"
        r"\w{3,}(?:é|ó|aste|iste|aron|ieron|imos)",
        future=r"(?:voy|vas|va|vamos|van)_a|\w{3,}(?:ré|rás|rá|remos|rán)|tengo_que|debo|hay_que|quiero|cita",
    ),
    "italian": Words(
        days="l['’]altro_ieri|ieri_l['’]altro|altroieri|avantieri:-2 ieri:-1 oggi|stamattina|stamani|questa_mattina:0 "
        "dopodomani:2 domani:1",
        weekdays="luned[ìi] marted[ìi] mercoled[ìi] gioved[ìi] venerd[ìi] sabato domenica",
        months="gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        seasons="primavera estate autunno inverno",
        units="giorn[oi]|d[ìi] settiman[ae] fine_settimana|weekend mes[ei] ann[oi]",
        numbers="un[oa]?|un['’] due tre quattro cinque sei sette otto nove dieci undici dodici",
        ordinals="prim[oa] second[oa] terz[oa] quart[oa] ultim[oa]",
        last="scors[oaei]|passat[oaei]|ultim[oaei]|precedente",
        current="quest[oa]|quest['’]",
        next="prossim[oaei]|che_viene|entrante",
        ago="{}_fa {}_or_sono",
        ahead="(?:tra|fra)_{}",
        lasting="da_{}",
        since="(?:fin_)?(?:dallo|dalla|dall['’]|dal|da)",
        parts="prima_(?:metà|quindicina) seconda_(?:metà|quindicina) inizio|inizi metà fine",
        due="entro(?:_la|_l['’])?|prima_della|per_la",
        of="di|del|della|dello|dell['’]|d['’]",
        past=r"ho|hai|ha|abbiamo|avete|hanno|ero|era|eri|eravamo|erano|successo|stat[oaie]|(?:sono|sei|è|siamo)_\w+[ts][oaie]",
        future=r"\w{2,}(?:rò|rai|rà|remo|ranno)|devo|deve|dobbiamo|voglio|appuntamento",
    ),
    "portuguese": Words(
        days="anteontem:-2 ontem:-1 hoje|esta_manhã:0 depois_de_amanhã:2 amanhã:1",
        weekdays=" ".join(
            rf"{name}(?:-feira|(?=\s(?:passad|que\svem|próxim))|(?<=na\s{name})|(?<=última\s{name}))"
            for name in "segunda terça quarta quinta sexta".split()
        )
        + " s[áa]bado domingo",
        months="janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        seasons="primavera verão outono inverno",
        units="dias? semanas? fi(?:m|ns)_de_semana m[êe]s(?:es)? anos?",
        numbers="uma?|um dois|duas três|tres quatro cinco seis sete oito nove dez onze doze",
        ordinals="primeir[oa] segund[oa] terceir[oa] quart[oa] [úu]ltim[oa]",
        last="passad[oa]s?|[úu]ltim[oa]s?|anterior",
        current="(?:n|d)?est[ea]|(?:n|d)?ess[ea]",
        next="próxim[oa]s?|que_vem|seguinte",
        ago="há_{} faz_{} {}_atrás",
        ahead="daqui_a_{} dentro_de_{} em_{}",
        lasting="desde_há_{} há_{}_que",
        since="desde(?:_o|_a)?(?:_mês_de)?",
        parts="primeira_(?:metade|quinzena) segunda_(?:metade|quinzena) "
        "início|começo|princípio meados|meio fi(?:m|nal|ns)",
        due="até(?:_o|_ao)?|antes_do|para_o",
        of="d[eoa]|dest[ea]|o|a",
        past=r"fui|foi|fomos|foram|era\w*|estava\w*|estive|tinha\w*|tive|teve|fiz|fez|fizemos|disse\w*|"
        r"\w{2,}(?:ei|ou|aste|este|aram|eram|iram|amos)",
        future=r"(?:vou|vai|vamos|vão)_\w+r|\w{3,}(?:rei|rá|remos|rão)|preciso|devo|tenho_que|quero|consulta",
    ),
}

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ENGLISH_WORDS = frozenset(
    (*MONTHS, *WEEKDAYS, *WHICH, *DAYS, *_UNITS, *(f"{unit}s" for unit in _UNITS), *_SEASONS, *NUMBERS, "ago", "mars")
)
"""With the planet, so that its name alone is no month."""

_BLANK = r"(?:\s{1,3}|(?<=['’]))"
_DAY = r"(?P<date>3[01]|[12]\d|0?[1-9])"
_YEAR = r"(?P<number>(?:19|20)\d\d)(?![:/-]?\d)"


def _named(prefix: str, table: str) -> str:
    """A pattern for the words of a table, each in a group of the prefix and its place."""
    forms = [f"(?P<{prefix}{place}>{words})" for place, words in enumerate(table.split())]
    return f"(?:{'|'.join(forms)})"


def _place(match: re.Match[str], prefix: str) -> int | None:
    """The place in its table of the word that matched, if any."""
    groups = match.groupdict()
    return next(
        (int(name[len(prefix) :]) for name, words in groups.items() if words and re.fullmatch(rf"{prefix}\d+", name)),
        None,
    )


def _steps(match: re.Match[str]) -> int | None:
    """Which one of a unit is meant: -1 for the last, 0 for the current, 1 for the next."""
    place = _place(match, "which")
    place = _place(match, "after") if place is None else place
    return None if place is None else place - 1


_WHICH = {-1: Which.LAST, 0: Which.THIS, 1: Which.NEXT}


def _which(match: re.Match[str], otherwise: Which = Which.LATEST) -> Which:
    steps = _steps(match)
    return otherwise if steps is None else _WHICH[steps]


def _unit(match: re.Match[str]) -> str:
    return _UNITS[_place(match, "unit") or 0]


def _count(match: re.Match[str]) -> int | None:
    """How many; None is a few."""
    if match["few"]:
        return None
    return int(match["figures"]) if match["figures"] else (_place(match, "n") or 0) + 1


def _month(match: re.Match[str]) -> int:
    return (_place(match, "m") or 0) + 1


def _year(match: re.Match[str]) -> int | None:
    return int(match["number"]) if match["number"] else None


def _of_same_day(match: re.Match[str], moment: Moment) -> Found | None:
    count = _count(match)
    return None if count is None else Found(Kind.DAY, moment.same_day(-count, _unit(match)))


def _of_unit(match: re.Match[str], moment: Moment) -> Found | None:
    unit, steps = _unit(match), _steps(match)
    if steps is None:
        weekend = moment.pick(moment.near, lambda step: moment.unit(unit, step)) if unit == "weekend" else None
        return Found(Kind.RANGE, weekend or moment.unit(unit), weak=weekend is None)
    if match.group(0).lower().startswith("vorletzt"):
        steps -= 1
    return Found(Kind.RANGE, moment.unit(unit, steps))


def _of_weekday(match: re.Match[str], moment: Moment) -> Found:
    day = _place(match, "w") or 0
    which = _which(match, Which.LAST if moment.past else Which.NEXT)
    if which is Which.NEXT and _steps(match) is not None:
        return Found(Kind.WEEKDAY, moment.weekday(day, 1))
    which = moment.near if which is Which.THIS else which
    return Found(Kind.WEEKDAY, moment.pick(which, lambda steps: moment.weekday(day, steps)))


def _of_month_and_year(match: re.Match[str], moment: Moment) -> Found | None:
    steps = _steps(match)
    known = steps is not None and _unit(match) == "year"
    return Found(Kind.RANGE, moment.month(_month(match), moment.now.year + (steps or 0))) if known else None


def _of_date(match: re.Match[str], moment: Moment) -> Found:
    groups = match.groupdict()
    month = int(groups["month"]) if groups.get("month") else _month(match)
    return Found(Kind.DAY, moment.date(month, int(match["date"]), _year(match)))


def _of_ordinal(match: re.Match[str], moment: Moment) -> Found:
    number, weekday = (0, 1, 2, 3, -1)[_place(match, "o") or 0], _place(match, "w") or 0
    day = moment.of_month(_month(match), lambda whole: weekday_of(whole, weekday, number), _year(match))
    return Found(Kind.DAY, day)


_FEW = (
    "einige[nrm]?|ein_paar|mehrere[nr]?|quelques|plusieurs|un[oa]s|algun[oa]s|vari[oae]s?|qualche|alcun[ei]|poch[ie]|algumas"
    "|alguns"
)
_DUE_ARTICLE = r"(?:l[aeo]s?_|el_|[ao]_|der_|dem_|l['’])?"
_EACH = "".join(
    rf"(?<!{word}\s)" for word in "jeden jede jedes chaque les cada los las ogni todo toda todos todas".split()
)
_LED = (
    r"(?P<led>(?:in|en|em|nel|de|del|di|im_jahre?|von|bis)_|(?<=seit\s)|(?<=depuis\s)|(?<=desde\s)|(?<=dal\s)"
    r"|(?<=l['’]an\s))?"
)


def _pattern(written: str) -> str:
    return rf"(?<![^\W_])(?:{written.replace('_', _BLANK)})"


def _rule(written: str, read: Reading) -> Rule:
    return Rule(("",), lazy(rf"{_pattern(written)}(?![^\W_])", re.IGNORECASE), read)


@cache
def european(name: str) -> Language:
    """The rules of a language of `WORDS`; "german" for example."""
    words = WORDS[name]
    sides = f"{words.last} {words.current} {words.next}"
    before, after = f"(?:{_named('which', sides)}_)?", f"(?:_{_named('after', sides)})?"
    unit, month, weekday = _named("unit", words.units), _named("m", words.months), _named("w", words.weekdays)
    season, ordinal = _named("s", words.seasons), _named("o", words.ordinals)
    of = f"(?:_?(?:{words.of}))*_"
    number = rf"(?:(?P<few>{_FEW})|(?P<figures>\d{{1,3}})|{_named('n', words.numbers)})"
    in_year = f"(?:,?{of}{_YEAR})?"
    due = f"(?:(?P<due>{words.due})_{_DUE_ARTICLE})?"
    days = [day.rpartition(":") for day in words.days.split()]
    today = next(forms for forms, _, steps in days if steps == "0")
    rules = [
        _rule(forms, lambda _, moment, steps=int(steps): Found(Kind.DAY, moment.unit("day", steps)))  # type: ignore[misc]
        for forms, _, steps in days
    ]
    for form in words.ago.split():
        ago = form.format(f"{number}_{unit}")
        rules.append(_rule(ago, lambda match, moment: moment.back(_count(match), _unit(match))))
        rules += [_rule(each, _of_same_day) for each in (f"{ago},?_(?:{today})", f"(?:{today}),?_{ago}")]
    for form in words.ahead.split():
        ahead = form.format(f"{number}_{unit}")
        rules.append(_rule(ahead, lambda match, moment: moment.ahead(_count(match), _unit(match))))
    lasting = [form.format(f"{number}_{unit}") for form in words.lasting.split()]
    lasting += [f"(?:{words.last})_{number}_{unit}", f"{number}_(?:{words.last})_{unit}"]
    rules += [
        _rule(form, lambda match, moment: Found(Kind.RANGE, moment.stretch(-(_count(match) or 5), _unit(match))))
        for form in lasting
    ]
    rules += [
        _rule(f"{_EACH}{before}{unit}{after}", _of_unit),
        _rule(f"{_EACH}{before}{weekday}{after}", _of_weekday),
        _rule(f"{ordinal}_{weekday}{of}{month}{in_year}", _of_ordinal),
        _rule(rf"{_DAY}(?:\.|er|º|ª|°)?{of}{month}{in_year}", _of_date),
        _rule(rf"(?<![.\d]){_DAY}([./-])(?P<month>1[0-2]|0?[1-9])[./-]{_YEAR}", _of_date),
        _rule(r"(?P<number>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<date>\d\d)", _of_date),
        _rule(
            f"{before}{month}{after}{in_year}",
            lambda match, moment: Found(Kind.RANGE, moment.month(_month(match), _year(match), _which(match))),
        ),
        _rule(f"{month}{of}{before}{unit}{after}", _of_month_and_year),
        _rule(
            f"{_EACH}{before}{season}{after}{in_year}",
            lambda match, moment: Found(
                Kind.RANGE, moment.season(_SEASONS[_place(match, "s") or 0], _year(match), _which(match))
            ),
        ),
        _rule(
            rf"{_LED}(?<![\d.,$€£:/-]){_YEAR}",
            lambda match, _: Found(Kind.RANGE, year_of(int(match["number"])), weak=match["led"] is None),
        ),
    ]
    parts = "|".join(
        f"(?P<{part}>{forms.replace('_', _BLANK)})" for part, forms in zip(Part, words.parts.split(), strict=True)
    )
    return Language(
        rules=tuple(rules),
        link=lazy(r"[\s,]{0,3}(?:(?:den|dem|le|el|il|o|dia)\s)?", re.IGNORECASE),
        to=lazy(r"\s{0,3}(?:bis(?: zum)?|à|au|jusqu['’](?:à|en)|ao?|al|hasta|fino a|até|-|–|—)\s{0,3}", re.IGNORECASE),
        since=lazy(f"{_pattern(f'(?:{words.since})_')}$", re.IGNORECASE),
        part=lazy(f"{_pattern(f'{due}(?:PARTS)(?:-|{of})').replace('PARTS', parts)}$", re.IGNORECASE),
        past=lazy(rf"{_pattern(f'(?:{words.past})')}(?!\w)", re.IGNORECASE),
        future=lazy(rf"{_pattern(f'(?:{words.future})')}(?!\w)", re.IGNORECASE),
    )


@lru_cache(maxsize=4096)
def languages_of(word: str) -> frozenset[str]:
    """The languages of `WORDS` in which a word in lower case is one for times."""
    return frozenset(name for name in WORDS if _signs(name).fullmatch(word))


@cache
def _signs(name: str) -> re.Pattern[str]:
    words = WORDS[name]
    tables = (re.sub(r":-?\d", "", words.days), words.weekdays, words.months, words.seasons, words.units, words.numbers)
    return lazy(re.sub("[ _]", "|", "|".join((*tables, words.last, words.next, words.parts))), re.IGNORECASE)


def language_of_times(text: str) -> Language | None:
    """The rules for a text in one of these languages, by its function words and its words for times; else None.

    Where the same word means a time in one language only ("hier"), the others decide.
    """
    words = set(_WORD.findall(text.lower()))
    also = defaultdict[str, set[str]](set)
    for word in words:
        for name in languages_of(word):
            also[name].add(word)
    language = language_of(words, 1, {**also, "english": _ENGLISH_WORDS})
    return european(language) if language in WORDS else None
