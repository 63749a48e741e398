"""The language of a text by its function words, for languages that separate words by spaces."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet

ENGLISH_STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between
    both but by can could d did do does doing down during each few for from further had has have having he her
    here hers herself him himself his how i if in into is it its itself just ll m may me might more most must
    my myself no nor not now of off on once only or other our ours ourselves out over own re s same shall she
    should so some such t than that the their theirs them themselves then there these they this those through
    to too under until up us ve very was we were what when where which while who whom whose why will with
    would you your yours yourself yourselves aren couldn didn doesn don hadn hasn haven id im isn ive shouldn
    wasn weren won wouldn""".split()
)

_WORDS = {
    "german": """
        aber alle als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem
        den der des dich die dies diese diesem diesen dieser dieses dir doch du ein eine einem einen einer
        eines er es etwas euch euer für gibt habe haben hat hatte hatten hast hier ich ihm ihn ihr ihre im
        immer in ist ja jetzt kann kein keine können mal man mehr mein meine meinem meinen meiner mich mir
        mit muss nach nein nicht noch nur ob oder ohne schon sehr sein seine sich sie sind so soll über um
        und uns unser unsere unter vom von vor war waren warum was weil weiß welche welchem welchen welcher
        welches wem wen wenn wer werden wie wieder wir wird wo wohin woher wurde zu zum zur zwischen wann
        wegen sagte
    """,
    "french": """
        ai aux au avec avait avez avoir c ça ce ces cet cette ceux chez comme comment d dans de des donc du
        elle elles en est et étais était être eu fait faut il ils j je juste l la là le les leur leurs lui m
        ma mais me même mes moi mon n ne nos notre nous on ont ou où par pas plus pour pourquoi qu quand que
        quel quelle quelles quels qui quoi s sa sans se ses si son sont suis sur t ta tes te toi ton tous
        tout toute toutes très tu un une va vos votre vous y à as a avons combien déjà encore
    """,
    "spanish": """
        a al algo algún alguna ante antes aquí así aunque bien cada como cómo con cuál cuáles cuando cuándo
        cuánto cuántos cuántas de del desde donde dónde dos e el él ella ellas ellos en entre era eran eres
        es esa ese eso esta está están estaba estoy este esto estos fue fui ha hace han has hasta hay he
        hemos la las le les lo los más me mi mis mucho muy nada ni no nos nosotros nuestra nuestro o os otra
        otro para pero poco por porque pues que qué quién quien quiénes se sé ser si sí sin sobre solo son
        soy su sus también tan te tengo ti tiene todo todos tu tú tus un una uno unos y ya yo
    """,
    "italian": """
        a abbiamo ad ai al alla alle allo anche ancora avete aveva avevo c che chi ci ciò come con cosa cui
        d da dal dalla dalle dei del della delle dello di dove dopo dov e è ed era erano ero fa fatto fra
        gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia mie miei mio molto ne nei nel
        nella nelle no noi non nostra nostro o ogni per perché perchè più poi poco prima qual quale quali
        quando quanta quanti quanto quel quella quello quest questa queste questi questo qui se sei senza si
        sì siamo solo sono sta stato su sua sue sui sul sulla suo suoi te ti tra tu tua tuo tutti tutto un
        una uno vi voi
    """,
    "portuguese": """
        a à ao aos aquele aquela aqui as às até com como da das de dela desde dele deles depois do dos e é
        ela elas ele eles em entre era eram essa esse esta está estão estava estou este eu faz foi fui foram
        há isso isto já lá lhe mais mas me mesmo meu meus mim minha minhas muito na não nas nem no nos nós
        nossa nosso num numa o onde os ou para pela pelo por porque pra qual quais quando quanto quanta
        quantos quantas que quê quem se sem ser seu seus só sua suas sobre são também te tem tenho ter teu
        tinha tua tudo um uma você vocês
    """,
    "dutch": """
        aan al alles als altijd bij ben bent daar dan dat de der deze die dit doen door dus een en er ge
        geen geweest haar had heb hebben heeft hem het hier hij hoe hun iets ik in is ja je jij jou jouw kan
        komt maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat ons onze ook op over
        te toch toen tot u uit uw van veel voor waar waarom wanneer waren was wat we wel welke wie wij wil
        wordt zal ze zei zelf zich zij zijn zo zonder zou
    """,
    "russian": """
        а без более был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если
        есть еще ещё же за здесь и из или им их к как какая какие какой какую каком какого
        когда кто ли меня мне мой моя мои
        моё может мы на нас наш не него нет ни но ну о об он она они оно от очень по под после потому почему
        при с сейчас себя со так также там тебя тебе то тоже только ты у уже чего чем что чтобы эта эти это
        этот я сколько куда откуда
    """,
    "swedish": """
        alla allt att av bara blev blir då de dem den denna det detta dig din ditt du där efter eller en ett
        för från ha hade han hans har här hennes hon hur i inte ja jag kan kom kunde man med mig min mina
        mitt mot mycket många när nej ni nu någon något några och också om oss på samma sedan sig sin ska
        skulle som så till under upp ut utan vad var varför vem vi vid vilka vilken vilket vill är åt över
    """,
}
STOP_WORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
"""By the name of the language's Snowball stemmer."""

_MOST_WORDS = 40
"""In a text of more different words, function words are no longer a quarter."""

_NONE: frozenset[str] = frozenset()
_FOREIGN = _NONE.union(*STOP_WORDS.values()) - ENGLISH_STOP_WORDS


def language_of(
    words: Collection[str], least: int = 2, also: Mapping[str, AbstractSet[str]] | None = None
) -> str | None:
    """The language of words in lower case, a key of `STOP_WORDS`; None if it is English, or not to be told.

    A language needs ``least`` function words that English does not have; all of its function words together must be a
    quarter of the words, and more than English has. Of two languages with as many, the first. Those in ``also`` count
    too, with "english" for English; single letters do not.
    """
    if (also is None or also.keys() <= {"english"}) and len(_FOREIGN.intersection(words)) < least:
        return None
    unique, also = frozenset(word for word in words if len(word) > 1), also or {}
    counts = {name: len(unique & (known | also.get(name, _NONE))) for name, known in STOP_WORDS.items()}
    best = max(counts, key=counts.__getitem__)
    english = len(unique & (ENGLISH_STOP_WORDS | also.get("english", _NONE)))
    enough = min(len(unique), _MOST_WORDS) / 4
    own = len(unique & ((STOP_WORDS[best] - ENGLISH_STOP_WORDS) | also.get(best, _NONE)))
    return best if own >= least and counts[best] >= enough and counts[best] > english else None
