"""The words for times of English, German, French, Spanish, Italian and Portuguese: a table of each."""

from __future__ import annotations

from dataclasses import dataclass


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
