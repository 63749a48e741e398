"""Terms for the text index: stems, n-grams of Chinese, Japanese and Korean, spelling variants; a text's language.

``known_words.bin`` is a Bloom filter over half a million stems of English, German, Spanish, French, Portuguese, Italian
and Dutch, including inflected forms and many names. ``benchmarks/ranking/known_words.py`` makes it;
``known_words.txt`` names the sources of the word lists.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from pathlib import Path

import Stemmer
from rapidfuzz import process
from rapidfuzz.distance import OSA

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
    "german": """aber alle als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein deine dem den
        der des dich die dies diese diesem diesen dieser dieses dir doch du ein eine einem einen einer eines er es etwas
        euch euer für gibt habe haben hat hatte hatten hast hier ich ihm ihn ihr ihre im immer in ist ja jetzt kann kein
        keine können mal man mehr mein meine meinem meinen meiner mich mir mit muss nach nein nicht noch nur ob oder
        ohne schon sehr sein seine sich sie sind so soll über um und uns unser unsere unter vom von vor war waren warum
        was weil weiß welche welchem welchen welcher welches wem wen wenn wer werden wie wieder wir wird wo wohin woher
        wurde zu zum zur zwischen wann wegen sagte""",
    "french": """ai aux au avec avait avez avoir c ça ce ces cet cette ceux chez comme comment d dans de des donc du
        elle elles en est et étais était être eu fait faut il ils j je juste l la là le les leur leurs lui m ma mais me
        même mes moi mon n ne nos notre nous on ont ou où par pas plus pour pourquoi qu quand que quel quelle quelles
        quels qui quoi s sa sans se ses si son sont suis sur t ta tes te toi ton tous tout toute toutes très tu un une
        va vos votre vous y à as a avons combien déjà encore""",
    "spanish": """a al algo algún alguna ante antes aquí así aunque bien cada como cómo con cuál cuáles cuando cuándo
        cuánto cuántos cuántas de del desde donde dónde dos e el él ella ellas ellos en entre era eran eres es esa ese
        eso esta está están estaba estoy este esto estos fue fui ha hace han has hasta hay he hemos la las le les lo los
        más me mi mis mucho muy nada ni no nos nosotros nuestra nuestro o os otra otro para pero poco por porque pues
        que qué quién quien quiénes se sé ser si sí sin sobre solo son soy su sus también tan te tengo ti tiene todo
        todos tu tú tus un una uno unos y ya yo""",
    "italian": """a abbiamo ad ai al alla alle allo anche ancora avete aveva avevo c che chi ci ciò come con cosa cui d
        da dal dalla dalle dei del della delle dello di dove dopo dov e è ed era erano ero fa fatto fra gli ha hai hanno
        ho i il in io l la le lei li lo loro lui ma me mi mia mie miei mio molto ne nei nel nella nelle no noi non
        nostra nostro o ogni per perché perchè più poi poco prima qual quale quali quando quanta quanti quanto quel
        quella quello quest questa queste questi questo qui se sei senza si sì siamo solo sono sta stato su sua sue sui
        sul sulla suo suoi te ti tra tu tua tuo tutti tutto un una uno vi voi""",
    "portuguese": """a à ao aos aquele aquela aqui as às até com como da das de dela desde dele deles depois do dos e é
        ela elas ele eles em entre era eram essa esse esta está estão estava estou este eu faz foi fui foram há isso
        isto já lá lhe mais mas me mesmo meu meus mim minha minhas muito na não nas nem no nos nós nossa nosso num numa
        o onde os ou para pela pelo por porque pra qual quais quando quanto quanta quantos quantas que quê quem se sem
        ser seu seus só sua suas sobre são também te tem tenho ter teu tinha tua tudo um uma você vocês""",
    "dutch": """aan al alles als altijd bij ben bent daar dan dat de der deze die dit doen door dus een en er ge geen
        geweest haar had heb hebben heeft hem het hier hij hoe hun iets ik in is ja je jij jou jouw kan komt maar me
        meer men met mij mijn moet na naar niet niets nog nu of om omdat ons onze ook op over te toch toen tot u uit uw
        van veel voor waar waarom wanneer waren was wat we wel welke wie wij wil wordt zal ze zei zelf zich zij zijn zo
        zonder zou""",
    "russian": """а без более был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если есть
        еще ещё же за здесь и из или им их к как какая какие какой какую каком какого когда кто ли меня мне мой моя мои
        моё может мы на нас наш не него нет ни но ну о об он она они оно от очень по под после потому почему при с
        сейчас себя со так также там тебя тебе то тоже только ты у уже чего чем что чтобы эта эти это этот я сколько
        куда откуда""",
    "swedish": """alla allt att av bara blev blir då de dem den denna det detta dig din ditt du där efter eller en ett
        för från ha hade han hans har här hennes hon hur i inte ja jag kan kom kunde man med mig min mina mitt mot
        mycket många när nej ni nu någon något några och också om oss på samma sedan sig sin ska skulle som så till
        under upp ut utan vad var varför vem vi vid vilka vilken vilket vill är åt över""",
}
STOP_WORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
"""By the name of the language's Snowball stemmer."""

_MOST_WORDS = 40  # in a text of more different words, function words are no longer a quarter

_NONE: frozenset[str] = frozenset()
_FOREIGN = _NONE.union(*STOP_WORDS.values()) - ENGLISH_STOP_WORDS

CHINESE_STOP_WORDS = frozenset(
    """的 了 吗 呢 吧 啊 呀 嘛 么 是 在 有 和 与 或 就 都 也 还 很 不 我 你 您 他 她 它 们 这 那 哪 谁 啥
    什么 怎么 怎样 如何 哪里 哪儿 哪个 哪些 哪位 多少 几个 是谁 我们 你们 他们 她们 它们 我的 你的 他的 她的 它的
    这个 那个 这些 那些 一个 一些 一下 是否 以及 因为 所以 但是 可以 没有 不是 就是""".split()
)

_CJK = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
LETTER = rf"[^\W_{_CJK}]"  # a pattern for a letter or digit of a script that separates words by spaces

_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:'[^\W_{_CJK}]+)?")
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)?")
_MARKUP = re.compile(r"<[^<>]*>")


def terms(text: str) -> list[str]:
    """The terms of a text in order, with repetitions; the same function is used for indexing and for queries.

    Text is normalised to NFKC and lower case. A run of CJK characters gives its characters and adjacent pairs; any
    other word gives its English stem, without the stop words of English and Chinese. In a text whose function words
    show another language, words also give their stem in that language where it is another, its stop words are left
    out too, and what an apostrophe joins ("l'école") are two words. A text too short to show its language shares the
    English stems with these.
    """
    text = text.replace("’", "'")
    if text.isascii():  # most texts, in a third of the time
        words = _ASCII_WORD.findall(text.lower())
        language = language_of(words)
        return [stem for word in words if (stem := _stem(word))] if language is None else _foreign(words, language)
    runs = _RUN.findall(unicodedata.normalize("NFKC", text).lower().replace("’", "'"))
    language = language_of(runs)
    found: list[str] = []
    for run in runs:
        if _is_cjk(run[0]):
            found.extend(_grams(run))
        elif language is not None:
            found.extend(_foreign([run], language))
        elif stem := _stem(run):
            found.append(stem)
    return found


def plain_terms(text: str) -> list[str]:
    """The terms of a text without regard to its language, so that those of a part of it are among its own."""
    if text.isascii():
        return [stem for word in _ASCII_WORD.findall(text.lower()) if (stem := _stem(word))]
    runs = _RUN.findall(unicodedata.normalize("NFKC", text.replace("’", "'")).lower().replace("’", "'"))
    return [term for run in runs for term in (_grams(run) if _is_cjk(run[0]) else [_stem(run)]) if term]


def _grams(run: str) -> list[str]:
    grams = [run[i : i + 2] for i in range(len(run) - 1)] + list(run)
    return [gram for gram in grams if gram not in CHINESE_STOP_WORDS]


def _foreign(words: Iterable[str], language: str) -> list[str]:
    """The stems of words in English and, where it is another, in their language."""
    parts = (part for word in words for part in word.split("'") if part not in STOP_WORDS[language])
    return [stem for part in parts for stem in dict.fromkeys((_stem(part), _stem(part, language))) if stem]


def cjk_share(text: str) -> float:
    """The share of a text that is Chinese, Japanese or Korean, in [0, 1]; markup in angle brackets does not count.

    ``c / (c + 1.5 * w)`` for c characters of these scripts and w other words: a Chinese word has 1.5 characters on
    average.
    """
    characters = words = 0
    for run in _RUN.findall(_MARKUP.sub(" ", text)):
        if _is_cjk(run[0]):
            characters += len(run)
        else:
            words += 1
    return characters / max(characters + 1.5 * words, 1)


def _is_cjk(character: str) -> bool:
    return character >= "\u2e80" and re.match(f"[{_CJK}]", character) is not None


@lru_cache(maxsize=65536)
def _stem(word: str, language: str = "english") -> str:
    """The stem in this language; of a possessive or a contraction, that of the first part.

    Nothing for a stop word of English, which may be a word of the language too.
    """
    word = word.split("'", maxsplit=1)[0]
    if word in ENGLISH_STOP_WORDS:
        return ""
    if word[-1:].isdigit():  # has no ending; the stemmer is slow, and a text may be full of such
        return word
    # A stemmer of its own for each word: it holds the word while it works, and another thread would change it.
    stem: str = Stemmer.Stemmer(language).stemWord(word)
    return stem


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


LEAST_CHARS = 4
LONG_CHARS = 8


def allowed_edits(term: str) -> int:
    """How many edits a misspelling may have: none below 4 letters, 1 up to 7, 2 above; none in other scripts.

    In a shorter word one edit makes another word, and a Chinese term is only one or two characters long.
    """
    if len(term) < LEAST_CHARS or not term.isascii() or not term.isalpha():
        return 0
    return 1 if len(term) < LONG_CHARS else 2


def close_terms(term: str, vocabulary: Iterable[str], k: int) -> list[str]:
    """At most k terms of the vocabulary within `allowed_edits` of this one; none if it is a term itself.

    By optimal string alignment distance: an edit adds, removes or replaces a letter, or swaps two adjacent ones. The
    first letter must match. Nearest first, then in alphabetical order.
    """
    most = allowed_edits(term)
    if not most:
        return []
    near = [other for other in vocabulary if other[0] == term[0] and abs(len(other) - len(term)) <= most]
    found = process.extract(term, near, scorer=OSA.distance, score_cutoff=most, limit=None)
    ranked = sorted((distance, other) for other, distance, _ in found)
    return [] if ranked and ranked[0][0] == 0 else [other for _, other in ranked[:k]]


HASHES = 5
FOREIGN = "~"  # the prefix, in the filter, of words that are not English
_BITS = Path(__file__).with_name("known_words.bin").read_bytes()  # read at import, as recall runs in event loops

_NAME = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]+")
_ENGLISH = re.compile(
    r"\b(?:the|what|when|where|who|whose|which|how|why|did|does|is|are|my|your|our|and|with|have|been|about|for|that|this)\b",
    re.IGNORECASE,
)


def doubtful(query: str) -> list[str]:
    """The terms of a query that may be misspelt, in order: neither a known word nor a short name.

    In an English sentence, words of other languages do not count as known. A capitalised word within a sentence is a
    name; short names differ by one letter anyway.
    """
    names = {term for name in _NAME.findall(query) for term in plain_terms(name)}
    english = _ENGLISH.search(query) is not None
    return [
        term
        for term in dict.fromkeys(plain_terms(query))
        if allowed_edits(term)
        and (len(term) >= LONG_CHARS or term not in names)
        and not is_known(term)
        and (english or not is_known(FOREIGN + term))
    ]


def is_known(term: str) -> bool:
    """Whether a term, as `hybrid_memory.text.tokenize.terms` makes them, is a known word; false positives are 3 %."""
    return all(_BITS[place >> 3] >> (place & 7) & 1 for place in places(term, 8 * len(_BITS)))


def places(term: str, size: int) -> Iterator[int]:
    """The bits of a term in a filter of this size."""
    digest = hashlib.blake2b(term.encode(), digest_size=16).digest()
    first, step = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little") | 1
    for number in range(HASHES):
        yield (first + number * step) % size
