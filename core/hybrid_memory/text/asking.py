"""What a turn asks or states, about which time, and whether it says anything."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hybrid_memory.arrays import Array, Floats
from hybrid_memory.runtime.caches import kept_by_hash
from hybrid_memory.text import lazy
from hybrid_memory.text.sentences import sentences
from hybrid_memory.text.tokenize import ENGLISH_STOP_WORDS, LETTER, language_of, plain_terms

MAX_CHARS = 4_000  # how much of a turn or a query rules read; of a longer query both ends, where questions are


def ends(query: str, most: int = MAX_CHARS) -> str:
    """A query, or the first and last half of so many characters of a longer one; by default what rules read."""
    half = most // 2
    return query if len(query) <= most else f"{query[:half]}\n{query[-half:]}"


def _cues(*patterns: str) -> re.Pattern[str]:
    return lazy("|".join(patterns), re.IGNORECASE)


_ASKS = _cues(
    r"[?？]\s*$",
    r"\b(?:remember|recall|remind me|earlier|previously|last time|tell me|list|find|show me|recommend|suggest)\b",
    r"^\s*(?:please |now |and |so )?(?:name|list|give|summari[sz]e|describe|explain|state|tell)\b",
    r"^\s*(?:what|when|where|who|whom|whose|which|why|how|did|does|do|have|has|is|are|was|were)\b",
    r"(?<!没)(?<!没有)什么|哪|谁|几|多少|怎么|如何|为什么|吗|呢\s*$|是否|记得|之前|以前|上次|曾经|提到过|列出|说出|说说|总结|告诉我|推荐|建议|帮我",
)
_OWN = _cues(r"\b(?:i|me|my|mine|we|us|our|ours)\b", "我|咱")  # about the speaker

_FORMER = (
    r"\b(?:used to|did .{1,60} use to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|initial(?:ly)?"
    r"|in the past|back then|before|earlier|(?<!how )old|first(?! names?\b))\b"
    "|以前|之前|从前|原来|原先|当初|最初|最早|起初|一开始|上一"
)
_FORMERLY = _cues(_FORMER)  # about how things were before they changed

_BEFORE = _cues(  # about how things were, or a change
    _FORMER,
    r"\b(?:once|no longer|any ?more|last|history|chang(?:e|ed)|\w+ ago)\b",
    "过去|曾经|当时|那时|去年|上个月|上周|历史|变化|改变|第一次",
    r"\b(?:früher|damals|vorher|ehemals|ursprünglich|avant(?!-)|autrefois|auparavant|antes|antiguamente|un tempo"
    r"|antigamente|vroeger|раньше|прежде)\b",
)

_WHEN = _cues(r"\bwhen\b", "什么时候|何时")
_NOW = _cues(  # about how things are
    r"\b(?:current(?:ly)?|now(?:adays)?|these days|latest|at the moment|so far|still)\b",
    "现在|目前|如今|眼下|最新|当前|至今",
    r"\b(?:jetzt|aktuell|derzeit|zurzeit|inzwischen|maintenant|actuellement|en ce moment|ahora|actualmente|hoy en día"
    r"|adesso|attualmente|agora|atualmente|hoje em dia|nu|сейчас|теперь)\b",
)

_OVER = _cues(r"\b(?:did(?:n't)?|was(?:n't)?|were(?:n't)?|had)\b", r"过|了|\d+[月号日]")
"""What was done or said on a day, and no longer changes."""

_HAPPENED = lazy(
    r"\b(?:\w{3,}ed|ate|bought|came|found|gave|got|heard|left|made|met|said|saw|spent|spoke|told|took|went|wrote)\b",
    re.IGNORECASE,
)


def asking_share(text: str) -> float:
    """The share of a turn's characters in sentences that ask for something, in [0, 1].

    A question without content words ("How are you?") asks nothing, unless it is about the speaker ("Who am I?").
    """
    parts = sentences(text[:MAX_CHARS])
    return sum(map(len, filter(asks, parts))) / max(sum(map(len, parts)), 1)


def asks(sentence: str) -> bool:
    """Whether a sentence asks for something, see `asking_share`."""
    asking = _ASKS.search(sentence) or _opens_a_question(sentence)
    return bool(asking and (plain_terms(sentence) or _OWN.search(sentence)))


_OPENINGS = {  # what opens a question or a request for an answer, in a sentence whose words show its language
    "german": "was|wer|wem|wen|wessen|wann|wo|wohin|woher|wie|wieso|warum|weshalb|welche[rsnm]?|wieviel|womit|worüber"
    "|(?:hast|kannst|weißt) du|ha(?:be|b|tte) ich|sag mir|erzähl mir|zeig mir|erklär(?:e)?|nenn(?:e)? mir",
    "french": "qui|que|quoi|quand|où|comment|pourquoi|combien|quel(?:le)?s?|est-ce|c'est (?:quoi|qui|quand|où)|as-tu"
    "|ai-je|peux-tu|sais-tu|(?:à|de|chez|avec|pour) (?:qui|quoi|quel(?:le)?s?)|(?:dis|explique|rappelle)[- ]moi",
    "spanish": "(?:(?:a|de|en|con|por|para) )?(?:qué|quién(?:es)?|cuáles|cuál|cuánt[oa]s?)|cuándo|a?dónde|cómo|dime"
    "|cuéntame|explícame|recuérdame",
    "italian": "(?:(?:a|di|con|per|in) )?(?:chi|che|cosa|quale|quali|quant[oaie])|qual è|quando|dove|dov'è|come|com'è"
    "|perch[ée]|dimmi|spiegami|ricordami",
    "portuguese": "(?:(?:a|de|com|por|para|em) )?(?:quem|que|qual|quais|quant[oa]s?)|o que|quando|a?onde|como|me dig?a"
    "|diga-me|me lembr[ae]|explique",
    "dutch": "wat|wie|wanneer|waar|hoe|waarom|welke?|hoeveel|vertel me|leg uit",
    "russian": "что|кто|когда|где|куда|откуда|как|почему|зачем|какой|какая|какое|какие|сколько|чей|чья|скажи|расскажи",
    "swedish": "vad|vem|när|var|varför|hur|vilken|vilket|vilka|berätta|förklara",
}

_OPENING = {
    language: lazy(rf"^\W*(?:(?:und|et|y|e|en|och|и) )?(?:{words})(?!{LETTER})", re.IGNORECASE)
    for language, words in _OPENINGS.items()
}
_WORD = lazy(rf"{LETTER}+")


def _opens_a_question(sentence: str) -> bool:
    """Whether a sentence in a language of `_OPENINGS` begins as a question does, with or without its mark."""
    language = language_of(_WORD.findall(sentence.lower()))
    return language is not None and _OPENING[language].search(sentence.replace("’", "'")) is not None


def about_now(query: str) -> bool:
    """Whether a question is about how things are, so that of two statements about the same thing the newer counts."""
    query = ends(query)
    return _NOW.search(query) is not None or (_BEFORE.search(query) is None and _OVER.search(query) is None)


def about_what_was(query: str) -> bool:
    """Whether a question is about what happened or how things were."""
    query = ends(query)
    return any(cues.search(query) for cues in (_OVER, _BEFORE, _WHEN, _HAPPENED))


def about_before(query: str) -> bool:
    """Whether a question is about how things were before they changed, so that the older of the two counts."""
    query = ends(query)
    return _NOW.search(query) is None and _FORMERLY.search(query) is not None


MAX_TALK_CHARS = 300  # longer texts are never small talk

_PRAISE = (
    "great|good|nice|cool|fine|perfect|awesome|amazing|wonderful|fantastic|excellent|lovely|brilliant|super|sweet|"
    "impressive|incredible|interesting|exciting|fun|beautiful|funny|hilarious|true|exactly|right|correct|"
    "fair enough|helpful"
)
_DAYTIME = "morning|afternoon|evening|night|day"
_KINDNESS = (
    "(?:(?:(?:all )?(?:your|the) )?(?:help|time|advice|answer|explanation|patience|support|info|information|tips?)"
    "|helping|asking|(?:letting|telling) me(?: know)?|sharing|everything)"
)
_NOTE = "(?:remember(?:ed)?|keep|kept|noted?|saved?|record(?:ed)?|updated?|made? a note of|written|wrote|write)"
_MORE = "(?:any|anything|some|more|other|further|help|questions?|else|to know|i can|do|help|you|with)"
_ENGLISH = rf"""
(?:i hope you )?have an? (?:(?:{_PRAISE}|safe) )?(?:rest of your )?(?:{_DAYTIME}|week|weekend|time|trip|one)
(?:{_PRAISE}|happy) (?:{_DAYTIME}|night's sleep|weekend|job|work|idea|point|question|to know|for you|one)
how(?: (?:are|have|is|was)|'?s) (?:you|things|life|everything|it)(?: (?:all|both))?(?: been| doing| going)?
how(?:'s| is| was) your (?:day|morning|evening|weekend|week)(?: going| been| so far)?
how do you do|what(?:'s| is) (?:up|new|going on|happening)|what have you been up to|anything new|any news
long time no see|(?:nice|great|good|lovely|pleased) to (?:meet|see|hear from|talk to) you
(?:many )?thank(?:s| you)(?: (?:so|very) much| a (?:lot|million|bunch|ton)| again)?(?: for {_KINDNESS})?
(?:i )?(?:really )?appreciate (?:it|that|this|(?:your|the) (?:help|time))
(?:that |this |it )?(?:really )?helps?(?: a lot)?
(?:that |this |it )?(?:sounds|looks|seems)(?: like)?(?: a)?(?: (?:so|very|really))?(?: (?:{_PRAISE}|plan))?
(?:i )?(?:got (?:it|that|you)|see|understand|agree|know|guess so|think so|hope so)|understood|noted|makes sense
(?:i(?:'ll| will|'ve| have)? )?(?:duly )?{_NOTE} (?:that|this|it)(?: (?:in mind|down|for (?:you|later|next time)))?
i(?:'?m| am) (?:doing |so |very |really |all )?(?:fine|good|great|well|ok(?:ay)?|alright|back|here|glad|sorry)
(?:i(?:'m| am) )?(?:glad|happy) (?:i could|to) (?:help|hear (?:it|that|this))
you(?:'re| are) (?:very |so |most )?(?:welcome|right|kind)|my pleasure|any ?time|will do
no (?:problem|worries|thanks?|way)|why not|for sure|of course|go (?:on|ahead)|let's go
let me know if (?:there(?:'s| is)|you (?:need|want|have))(?: {_MORE}){{0,6}}
(?:is there )?anything else(?: (?:that )?i can (?:do|help)(?: (?:for )?you)?(?: with)?)?
(?:how|what) (?:can|may) i (?:do|help|assist)(?: (?:for )?you)?(?: with)?
see you(?: (?:later|soon|tomorrow|around|then|next (?:time|week)))?|talk to you (?:later|soon)|take care|good ?bye|bye
(?:not|nothing) much|same here|me too|oh my|my (?:god|goodness)|welcome|cheers|congrat(?:s|ulations)|sorry|please
hello|hi+|hey+|hiya|howdy|yo|moin|greetings|morning|evening|how(?:'s| is) it going
(?:you're|ur) (?:an? |the )?(?:star|best|legend|{_PRAISE})
thx|ty|yes|yeah|yep|yup|ya|no|nope|nah|ok(?:ay|ey|ie)?|k|kk|alright|sure
absolutely|definitely|certainly|indeed|done|agreed|wow|whoa|oh+|ah+|u+h+|um+|h+m+|m+h+m+|aw+|yay|lol|lmao|rofl|xd|omg
oops|(?:ha|he|hi)(?:ha|he|hi)+h?|well|maybe|perhaps|really|seriously|again|there|everyone|everybody|guys|folks|buddy
friend|dear|bro|dude|assistant|today|tonight|later|tomorrow|{_PRAISE}
"""
_EUROPEAN = r"""
(?:vielen |tausend |herzlichen |lieben )?dank(?:e(?: (?:schön|sehr|dir|ihnen))?)?|bitte(?: (?:schön|sehr))?
gern geschehen
guten (?:morgen|tag|abend)|gute nacht|schönen (?:tag|abend)(?: noch)?|hallo|servus|tschü(?:ss|ß)
bis (?:bald|später|morgen)|auf wiedersehen
wie geht(?: es|'?s)?(?: dir| ihnen)?|mir geht(?: es|'s) gut|und (?:dir|du|ihnen)|alles klar|verstanden|in ordnung
passt|genau|stimmt
ja|nein|nee|jawohl|klar|natürlich|(?:sehr |ganz )?(?:gut|toll|schön|prima|perfekt)
merci(?: (?:beaucoup|bien|à (?:toi|vous)|mille fois))?|mille mercis|de rien|je (?:t'en|vous en) prie
s'il (?:te|vous) plaît|stp|svp
bonjour|bonsoir|salut|coucou|bonne (?:nuit|journée|soirée|fin de journée)|au revoir
à (?:bientôt|demain|plus tard|plus)
(?:comment )?ça va(?: bien)?(?: ce matin| aujourd'hui)?(?:,? et toi)?|et (?:toi|vous)|d'accord|daccord|ça marche
entendu|compris|parfait
t'es (?:top|au top|génial|le meilleur|la meilleure)|oui|ouais|non|(?:très|trop) (?:bien|cool|gentil)|génial
exactement|bien sûr
(?:muchas |mil |muchísimas )?gracias|de nada|por favor|hola|buen(?:os días|as tardes|as noches|as)|adiós
hasta (?:luego|mañana|pronto)
(?:qué tal|cómo (?:estás|está|va))(?: todo)?|y tú|vale|de acuerdo|entendido|perfecto|claro(?: que sí)?|genial|sí
estupendo|muy bien|igualmente
(?:mille |tante )?grazie(?: mille)?|prego|per favore|buon(?:giorno|asera|anotte|a giornata|a serata)|ciao|arrivederci
a (?:presto|dopo|domani)
come (?:stai|sta|va)(?: oggi)?|e tu|va bene|capito|perfetto|certo|sì|benissimo|molto bene|d'accordo|tutto bene
(?:muito )?obrigad[oa]|de nada|por favor|olá|oi|bom dia|boa (?:tarde|noite)|tchau|até (?:logo|amanhã|mais)|tudo bem
como (?:vai|está|você está)
e você|entendi|perfeito|certo|claro|sim|não|muito bem|valeu
dank (?:je|u)(?: wel)?|bedankt|goede(?:morgen|middag|navond)|hoi|doei|tot (?:ziens|morgen|straks)|hoe gaat het|oké
tack(?: så mycket)|hej|god (?:morgon|natt|kväll)|hej då|hur mår du
(?:большое )?спасибо(?: большое)?|пожалуйста|привет|здравствуй(?:те)?|доброе утро|добрый (?:день|вечер)
спокойной ночи|пока|как дела
до (?:свидания|завтра)|да|нет|хорошо|понятно|ладно|отлично|конечно
"""
_CHINESE = r"""
(?:老铁|亲爱的|宝宝?|亲)?(?:早上|上午|中午|下午|晚上|大家|你们|您|你)好[吗嘛]?|谢了|贴心|早安|晚安|早[啊呀]?|嗨|嘿+|哈[喽啰罗]|哈+|呵+|嘻+|喂|在吗
在不在|好久不见|很?高兴(?:认识|见到)[你您]|初次见面|请?多多?关照|有什么新(?:鲜事|消息|闻)|吃了吗|怎么啦?
(?:你|您|最近|今天|近来|过得|一切|都|还|工作|身体){0,6}(?:怎么样|怎样|好不好|好吗|如何)|在(?:干嘛|干什么|做什么|忙什么)
(?:非常|十分|太|真|万分|很|多){0,4}(?:感谢|谢){1,4}(?:[你您](?:的(?:帮助|建议|回答|解答|耐心|分享|时间))?)?
辛苦[你您]?|麻烦[你您]|不(?:用|必)?(?:客气|谢)|别客气|应该的|没(?:事|关系|问题)|不要紧
(?:我|已经?|都|会|帮[你您]){0,6}(?:记住|记下来?|记录|保存|更新|知道|明白|清楚|了解|收到|理解|懂)(?:好|下来)?(?:这一点|这件事)?
再见|拜+|回头见|明天见|下次见|回聊|下次再?聊|祝[你您](?:愉快|周末愉快|今天愉快|好运)|周末愉快
还?有(?:什么|其他|别的|任何){0,3}(?:问题|需要|能|可以){0,3}我?(?:能|可以)?帮(?:到|助|忙)?[你您]?的?
请?随时(?:告诉我|问我|联系我)|(?:很?高兴|乐意)(?:能|为)?(?:帮到?[你您]|[你您](?:效劳|服务))|继续|请(?:说|讲|继续)
我(?:也|很|挺|都|还|真的){0,4}(?:好|不错|是|一样|(?:这么|这样)(?:想|觉得)|没事)|(?:[你您]?能)?帮帮?我(?:一下|个忙)?[吗吧]?
(?:太|真|很|好|挺|非常){0,4}(?:棒|厉害|赞|不错|有意思|有趣|美|酷|开心|可爱|逗)|(?:太|真|很|挺|非常){1,4}好|加油|恭喜
抱歉|对不起|不好意思|打扰|好(?:的|吧|啊|呀|嘞|滴|哒)?|行|可以|没错|对|是的?|嗯+|哦+|噢+|喔+|唔+|额|呃|哇+|天[哪啊]
当然|同意|确实|真的|不(?:是|了|用|要)?|没有|算了|随便
"""
_LINES = [line for phrases in (_ENGLISH, _EUROPEAN) for line in phrases.split("\n")[1:-1]]
_IN_WORDS = rf"(?<!{LETTER})(?:{'|'.join(_LINES)})(?!{LETTER})"
_PHRASES, _ASCII_PHRASES = lazy(rf"{_IN_WORDS}|{'|'.join(_CHINESE.split())}"), lazy(_IN_WORDS)
_HAILED = rf"hi|hello|hey|dear|thanks|thank you|bye|goodbye|welcome|good (?:{_DAYTIME})"
_TITLE = "老师|医生|先生|女士|小姐|[哥姐总叔]|阿姨|经理"
_TO_A_NAME = lazy(
    rf"(?i:\b(?:{_HAILED})),? [A-Z]\w+(?=\s*(?:[^\w\s]|$))"
    rf"|(?:[你您早晚]上?好|谢谢|再见)[，, ]?(?:[小老阿]\w|\w{{1,2}}(?:{_TITLE}))(?=\W|$)"
)
_FACES = lazy(r"[:;=]-?[dpo3]\b", re.IGNORECASE)
_TALK_WORD = lazy(rf"{LETTER}+(?:'{LETTER}+)?|\w")
_PARTICLES = frozenset("啊呀啦呢吧哦哟嘛喔了的吗你您也都就那这还真很太们又再先么哈呐噢诶欸")
_IDLE = ENGLISH_STOP_WORDS - frozenset("i me my mine myself we us our ours".split())


def asks_nothing(text: str) -> bool:
    """Whether a text is a greeting, thanks, "ok" or other small talk, with nothing to look up.

    The same holds for questions of function words alone ("and what about that?"), unless about the asker: "Who am I?".
    """
    if len(text) > MAX_TALK_CHARS:
        return False
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    phrases = _ASCII_PHRASES if text.isascii() else _PHRASES  # in two thirds of the time
    left = phrases.sub(" ", _TO_A_NAME.sub(" ", _FACES.sub(" ", text)).lower())
    return all(word in _PARTICLES or word.split("'")[0] in _IDLE for word in _TALK_WORD.findall(left))


_QUESTION = lazy(
    r"[?？][^\w]*$|吗[^\w]*$"
    r"|^\W*(?:(?:so|and|but|then|now|also|ok|hey) )*(?:what|when|where|who|whom|whose|which|why|how)(?:'s)?\b(?!ever)"
    r"|^\W*(?:can|could|would|will|do|did|does|have|has|is|are|was|were|should|may) (?:you|i|we|it|there|that|this)\b",
    re.IGNORECASE,
)
_DO = "写|翻译|解释|说明|总结|概括|推荐|列举|介绍|讲讲|说说|描述|比较|计算|查找?|找|搜索|改写?|润色|续写|继续|重复"
_REQUEST = lazy(
    r"^\W*(?:(?:please|now|and|then|so|ok|also|just|kindly)\W+)*(?:(?:can|could|would|will) you\W+(?:please\W+)?)?"
    r"(?:tell|show|give|list|explain|describe|summari[sz]e|translate|write|rewrite|rephrase|draft|compose|generate|"
    r"create|suggest|recommend|help|find|look up|search|calculate|compute|compare|continue|repeat|elaborate|proofread|"
    r"convert|define|try again|remind me (?:what|when|where|who|which|how|of))\b(?!:)"
    rf"|^\W*(?:请|麻烦|那|现在|然后|再|能不能|可以|能|你|您)*(?:帮我(?:{_DO})|(?:{_DO})(?=[一下成为这那以：:“]|$)"
    r"|告诉我|给我(?!的)|列出)",
    re.IGNORECASE,
)
_CLAUSE = lazy(r"[,，;；:：—–]|\s-\s|\.{2,}|…")
_HALF = lazy(
    r"^\W*(?:(?:so|and|but|or|hey|also)\W+)*(?:if|when|while|once|since|because|in|on|at|for|as|given|according|based|by|"
    r"besides|instead|speaking|regarding|with|to|maybe|do you|did you|have you|are you|is it|"
    r"如果|要是|假如|当|等|关于|对于|根据|除了|比如|例如|那么|你|您|请问|想问|问一下)",
    re.IGNORECASE,
)
_MINE = lazy(r"\b(?:my|our)\b|我的|我家|我们|咱", re.IGNORECASE)
_KNOWN = lazy(
    r"\b(?:remember|recall|know|what|when|where|who|which|told|said|mentioned)\b|记得|什么|哪|谁|几|多少|知道",
    re.IGNORECASE,
)


@kept_by_hash(16_384)
def is_memory(text: str) -> bool:
    """Whether a turn states something: not only questions, greetings, acknowledgements and requests for an answer.

    "I'm allergic to nuts, what can I eat?" does, and so does a request with its purpose: "Help me plan my trip."
    """
    return len(text) > MAX_CHARS or any(map(_tells, sentences(text)))


def _is_question(sentence: str) -> bool:
    return _QUESTION.search(sentence) is not None or _opens_a_question(sentence)


def _tells(sentence: str) -> bool:
    if asks_nothing(sentence):
        return False
    if _REQUEST.search(sentence):
        if _MINE.search(sentence) and not _KNOWN.search(sentence):
            return True
    elif not _is_question(sentence):
        return True
    # Or a clause before the question states something by itself.
    return any(
        not any(form.search(clause) for form in (_HALF, _QUESTION, _REQUEST))
        and not asks_nothing(clause)
        and len(plain_terms(clause)) > 1
        for clause in _CLAUSE.split(sentence)[:-1]
    )


SHORT_CHARS = 40  # longer turns always count as saying something
SURE = 0.7  # the probability assumed if rules decide
IDLE_CHARS = 100  # longer turns are not acknowledgements or greetings
READ_CHARS = 400  # how much of a turn is read, half at each end

_head = json.loads(Path(__file__).with_name("speech.json").read_text(encoding="utf-8"))
_EMBEDDER: str = _head["embedder"]
_WEIGHTS: Array = np.array(_head["weights"], dtype=np.float64)
_BIAS = float(_head["bias"])
"""A weight for each number of a vector, and a bias, from benchmarks/ranking/speech_acts.py.

They are read at import, as recall runs in event loops.
"""


class Speech(NamedTuple):
    """Properties of turns, as columns of shape (n,).

    Attributes:
        empty: the probability that it says nothing: "Alright.", "Got it, thanks!", 好的，知道了, "Good morning!".
        asks: the share of it that is questions.
    """

    empty: Array
    asks: Array


def speech(texts: Sequence[str], vectors: Floats | None = None, embedder: str = "") -> Speech:
    """The properties of these turns, by rules for English and Chinese, by vectors for short turns of any language.

    Vectors, of shape (n, dim), count only for an embedder with known reference vectors; rows may be zeros, and dim 0
    as long as an owner has no vector.
    """
    read = np.array([*map(speech_act, texts)], dtype=np.float64).reshape(-1, 2)
    empty = read[:, 0]
    if vectors is not None and embedder == _EMBEDDER and vectors.any():
        short = np.array([len(text) <= SHORT_CHARS for text in texts]) & np.any(vectors, axis=1)
        told = emptiness(vectors)
        empty = np.where(short & (told > SURE), np.maximum(empty, told), empty)
    return Speech(empty=empty, asks=read[:, 1])


def says_nothing(text: str) -> bool:
    """Whether the rules consider it an acknowledgement or a greeting."""
    return len(text) <= IDLE_CHARS and asks_nothing(text)


def tells(embedder: str) -> bool:
    """Whether the vectors of this embedder can be used for this."""
    return embedder == _EMBEDDER


def emptiness(vectors: Floats) -> Array:
    """The probability that the short turns with these vectors, embedded without context, say nothing.

    Of vectors of another width, 0.
    """
    if vectors.shape[1:] != _WEIGHTS.shape:
        return np.zeros(len(vectors))
    return np.asarray(1 / (1 + np.exp(-(vectors.astype(np.float64) @ _WEIGHTS + _BIAS))))


@kept_by_hash(16_384)
def speech_act(text: str) -> tuple[float, float]:
    """How empty a turn is, and how much of it asks, by the rules alone; see `Speech`."""
    if says_nothing(text):
        return 1.0, 0.0
    parts = sentences(ends(text, READ_CHARS))
    total = sum(map(len, parts))
    asking = [part for part in parts if _is_question(part) or _REQUEST.search(part)]
    # A sentence that states something before it asks counts half.
    return 0.0, sum(len(part) / (1 + _tells(part)) for part in asking) / total if total else 0.0
