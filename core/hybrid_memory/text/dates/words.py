"""The words for times of English, German, French, Spanish, Italian and Portuguese: a table of each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """The words for times of a language, as patterns; "_" stands for a blank, and "|" parts the forms of one thing.

    Tables have their entries in a fixed order, with "-" for what the language has no word for.
    """

    days: str  # the day before yesterday, yesterday, today, tomorrow, the day after tomorrow
    weekdays: str  # from Monday on
    months: str
    seasons: str  # from spring on
    units: str  # day, week, weekend, month, year, quarter, decade, hour, minute
    numbers: str  # a few, a half, then from one to twenty, and thirty
    ordinals: str  # from first to fourth, and last
    which: str  # before last, last, this, next, after next, coming
    each: str  # before what happens again and again
    ago: str  # with {} for a number and its unit
    ahead: str
    lasting: str  # for three weeks, until now
    since: str
    part_of: str  # before a part of a period; as "due" it says that something is due by then
    parts: str  # first half, second half, start, middle, end
    of: str  # between a part of a period and the period
    past: str  # words that show the tense of a sentence
    future: str
    # What only English has.
    context: str = ""  # months as they are read beside other words only, such as those of "led"
    led: str = ""  # before a month or season
    doubtful: str = "(?!)"  # months that may be something else when they stand alone
    behind: str = ""  # as "which", after its noun, if not the same
    the: str = ""  # before a unit that stands alone
    ordinal: str = ""  # before an ordinal
    within: str = ""  # as "of", between an ordinal's unit and the period
    plural: str = ""  # of a unit after a number
    about: str = "(?!)"  # before a number
    half: str = "(?!)"  # after a number
    counted: str = ","  # between a number of units and the day from which they are counted
    day_first: bool = True  # in figures


WORDS = {
    "english": Words(
        days="(?:the_)?day_before_yesterday yesterday|last_(?:morning|afternoon|evening|night) "
        "today|this_(?:morning|afternoon|evening|night) tomorrow (?:the_)?day_after_tomorrow",
        weekdays=" ".join(
            rf"{name}|(?-i:{short})(?:(?<=(?:on|by|xt|st|is)\s...)|(?=[.,]?\s{{1,3}}(?:\d|at\b)))"
            for name, short in zip(
                "monday tuesday wednesday thursday friday saturday sunday".split(),
                "Mon Tues? Wed Thu(?:rs?)? Fri Sat Sun".split(),
                strict=True,
            )
        ),
        months="january february (?-i:March) april (?-i:May) june july august september october november december",
        context="jan feb mar(?:ch)? apr may jun jul aug sept? oct nov dec",
        seasons="spring summer autumn|fall winter",
        led=r"(?:in|for|over|during|through(?:out)?|all(?!_ma)|early|mid|late|(?P<due>until|till|by))_|(?<=since\s)",
        doubtful="march|april|may|june|august",
        units=r"(?<!this\s)day week weekend month year quarter decade hour minute",
        plural="s?",
        numbers="(?:a_)?few|several|some half_an? one|an? two|(?:a_)?couple(?:_of)? three four five six seven eight nine ten eleven twelve "
        "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty",
        about="about|around|roughly",
        half="and_a_half",
        ordinals="first|1st second|2nd third|3rd fourth|4th last",
        which="- last|previous|past this|current next - coming|upcoming",
        behind="before_last - - - after_next -",
        each="every each other most",
        the="the_",
        ago=r"{}_ago {}_back\b(?!_(?:to|from|in|at|on|home)\b)",
        ahead=r"(?<!once\s)(?<!twice\s)(?<!times\s)in(?!_\w+_(?!and_)\w+_(?:a|per)_)_{} {}_from_now",
        lasting="-",
        counted=",|on|this|(?P<counted>from|after)(?:_this)?",
        ordinal="(?:on_)?(?:the_)?",
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
        future="will|won't|going to|gonna|shall|must|needs? to|have to|has to|want|wants|plans?|hope|remind|let's|should"
        "|can|could|would|might|due|deadline|am|is|are|see you|'(?:ll|m|d|s)",
    ),
    "german": Words(
        days="vorgestern gestern heute "
        r"(?<!heute\s)(?<!gestern\s)(?<!am\s)(?<!guten\s)(?<!jeden\s)(?<!diesen\s)morgen übermorgen",
        weekdays="montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
        months="januars?|jänner februars? märz aprils? mais? junis? julis? augusts? septembers? oktobers? novembers? "
        "dezembers?",
        seasons="frühling|frühjahr sommer herbst winter",
        units="tag(?:en?|es)? wochen? wochenenden? monat(?:en?|s)? jahr(?:en?|es)?",
        numbers="einige[nrm]?|ein_paar|mehrere[nr]? - eine[mnrs]?|ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        ordinals="erste[nrms]? zweite[nrms]? dritte[nrms]? vierte[nrms]? letzte[nrms]?",
        which="vorletzte[nmrs]? letzte[nmrs]?|vergangene[nmrs]?|vorige[nmrs]? diese[nmrs]? "
        "nächste[nmrs]?|kommende[nmrs]? übernächste[nmrs]?",
        each="jeden jede jedes",
        ago="vor_{}",
        ahead="in_{}",
        lasting="seit_{}",
        since="seit(?:_de[mr])?",
        part_of="(?:(?P<due>bis(?:_zum)?|vor|spätestens)_(?:de[mr]_)?)?",
        parts="erste[nr]?_hälfte zweite[nr]?_hälfte anfang mitte ende",
        of="de[srm]|vom|von|im|in",
        past=r"war\w*|hatte\w*|hab(?:e|en|t)?|hast|hat|wurde\w*|ging\w*|kam\w*|gab|sagte\w*|geschah|passiert|ge\w{3,}t",
        future=r"werden?|wird|wirst|will|wollen|soll\w*|muss|müssen|termin|fällig",
    ),
    "french": Words(
        days="avant-hier hier_soir|hier aujourd['’]hui|ce_matin|ce_soir|cet_après-midi demain après-demain",
        weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
        months="janvier février|fevrier mars avril mai juin juillet août|aout "
        "septembre octobre novembre décembre|decembre",
        seasons=r"printemps (?<=l['’])été|(?<=d['’])été|(?<=cet\s)été|(?<=en\s)été|été(?=\s(?:derni|proch|\d)) "
        "automne hiver",
        units="jour(?:née)?s? semaines? week-?ends? mois (?:an|année)s?",
        numbers="quelques|plusieurs - une? deux trois quatre cinq six sept huit neuf dix onze douze",
        ordinals="premi(?:er|ère) deuxième|second troisième quatrième derni(?:er|ère)",
        which="- derni(?:er|ère)s?|passée?s?|précédente?s? cet(?:te)?|ces? prochaine?s?|qui_vient",
        each="chaque les",
        ago="il_y_a_{} ya_{}",
        ahead="dans_{}",
        lasting="depuis_{} ça_fait_{}",
        since="depuis(?:_les?|_la|_l['’])?",
        part_of="(?:(?P<due>avant|d['’]ici|pour|jusqu['’]à)_(?:l[ae]s?_|l['’])?)?",
        parts="première_(?:moitié|quinzaine) (?:seconde|deuxième)_(?:moitié|quinzaine) début milieu|mi fin",
        of="de|du|d['’]|la|le|l['’]|cet(?:te)?",
        past=r"ai|as|avons|avez|ont|avai\w+|étai\w+|suis_\w+é|es_\w+é|est_\w+é|sont_\w+s|été|passée?s?|(?:s['’]|m['’])est",
        future=r"vais|va|vas|allons|allez|vont|sera\w*|dois|doit|devons|rendez-vous|\w{3,}(?:rai|ras|rons|rez|ront)",
    ),
    "spanish": Words(
        days="anteayer|antes_de_ayer|antier ayer|anoche hoy|esta_mañana|esta_tarde "
        r"(?<!la\s)(?<!esta\s)(?<!una\s)(?<!cada\s)mañana pasado_mañana",
        weekdays="lunes martes mi[ée]rcoles jueves viernes s[áa]bado domingo",
        months="enero febrero marzo abril mayo junio julio agosto sep?tiembre octubre noviembre diciembre",
        seasons="primavera verano otoño invierno",
        units="d[íi]as? semanas? fin(?:es)?_de_semana|finde mes(?:es)? años?",
        numbers="un[oa]s|algun[oa]s|alguns|vari[oa]s - una?|un dos tres cuatro cinco seis siete ocho nueve diez once doce",
        ordinals="primera?|primer segund[oa] tercera?|tercer cuart[oa] [úu]ltim[oa]",
        which="- pasad[oa]s?|[úu]ltim[oa]s?|anterior(?:es)? est[ea]|este pr[óo]xim[oa]s?|que_viene|siguiente",
        each="cada los las todo toda todos todas",
        ago="hace_{} {}_atrás",
        ahead="dentro_de_{} en_{}",
        lasting="desde_hace_{} llevo_{}",
        since="desde(?:_el|_la)?(?:_mes_de)?",
        part_of="(?:(?P<due>antes_del?|para|hasta|a_más_tardar)_(?:el_|l[ao]s?_|a_)?)?",
        parts="primera_(?:mitad|quincena) segunda_(?:mitad|quincena) "
        "principios?|comienzos? mediados fin(?:al|ales|es)?",
        of="del?|el|la|este",
        past=r"fui|fue\w*|era\w*|estuv\w+|tuv\w+|hic\w+|hizo|dij\w+|he|has|ha|hemos|han|había\w*|"
        r"\w{3,}(?:é|ó|aste|iste|aron|ieron|imos)",
        future=r"(?:voy|vas|va|vamos|van)_a|\w{3,}(?:ré|rás|rá|remos|rán)|tengo_que|debo|hay_que|quiero|cita",
    ),
    "italian": Words(
        days="l['’]altro_ieri|ieri_l['’]altro|altroieri|avantieri ieri oggi|stamattina|stamani|questa_mattina "
        "domani dopodomani",
        weekdays="luned[ìi] marted[ìi] mercoled[ìi] gioved[ìi] venerd[ìi] sabato domenica",
        months="gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        seasons="primavera estate autunno inverno",
        units="giorn[oi]|d[ìi] settiman[ae] fine_settimana|weekend mes[ei] ann[oi]",
        numbers="qualche|alcun[ei]|poch[ie]|vari - un[oa]?|un['’] due tre quattro cinque sei sette otto nove dieci undici dodici",
        ordinals="prim[oa] second[oa] terz[oa] quart[oa] ultim[oa]",
        which="- scors[oaei]|passat[oaei]|ultim[oaei]|precedente quest[oa]|quest['’] prossim[oaei]|che_viene|entrante",
        each="ogni",
        ago="{}_fa {}_or_sono",
        ahead="(?:tra|fra)_{}",
        lasting="da_{}",
        since="(?:fin_)?(?:dallo|dalla|dall['’]|dal|da)",
        part_of="(?:(?P<due>entro(?:_la|_l['’])?|prima_della|per_la)_(?:l[ao]_|l['’])?)?",
        parts="prima_(?:metà|quindicina) seconda_(?:metà|quindicina) inizio|inizi metà fine",
        of="di|del|della|dello|dell['’]|d['’]",
        past=r"ho|hai|ha|abbiamo|avete|hanno|ero|era|eri|eravamo|erano|successo|stat[oaie]|(?:sono|sei|è|siamo)_\w+[ts][oaie]",
        future=r"\w{2,}(?:rò|rai|rà|remo|ranno)|devo|deve|dobbiamo|voglio|appuntamento",
    ),
    "portuguese": Words(
        days="anteontem ontem hoje|esta_manhã amanhã depois_de_amanhã",
        weekdays=" ".join(
            rf"{name}(?:-feira|(?=\s(?:passad|que\svem|próxim))|(?<=na\s{name})|(?<=última\s{name}))"
            for name in "segunda terça quarta quinta sexta".split()
        )
        + " s[áa]bado domingo",
        months="janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        seasons="primavera verão outono inverno",
        units="dias? semanas? fi(?:m|ns)_de_semana mês|mes|meses anos?",
        numbers="algun[oa]s|algumas|alguns|vári[oa]s - uma?|um dois|duas três|tres quatro cinco seis sete oito nove dez onze doze",
        ordinals="primeir[oa] segund[oa] terceir[oa] quart[oa] [úu]ltim[oa]",
        which="- passad[oa]s?|[úu]ltim[oa]s?|anterior (?:n|d)?est[ea]|(?:n|d)?ess[ea] próxim[oa]s?|que_vem|seguinte",
        each="cada todo toda todos todas",
        ago="há_{} faz_{} {}_atrás",
        ahead="daqui_a_{} dentro_de_{} em_{}",
        lasting=r"desde_há_{} há(?=_\w+_\w+_que\b)_{}",
        since="desde(?:_o|_a)?(?:_mês_de)?",
        part_of="(?:(?P<due>até(?:_o|_ao)?|antes_do|para_o)_(?:[ao]_)?)?",
        parts="primeira_(?:metade|quinzena) segunda_(?:metade|quinzena) "
        "início|começo|princípio meados|meio fi(?:m|nal|ns)",
        of="d[eoa]|dest[ea]|o|a",
        past=r"fui|foi|fomos|foram|era\w*|estava\w*|estive|tinha\w*|tive|teve|fiz|fez|fizemos|disse\w*|"
        r"\w{2,}(?:ei|ou|aste|este|aram|eram|iram|amos)",
        future=r"(?:vou|vai|vamos|vão)_\w+r|\w{3,}(?:rei|rá|remos|rão)|preciso|devo|tenho_que|quero|consulta",
    ),
}
