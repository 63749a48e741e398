"""Whose words a turn holds: the sentences that are certainly the speaker's own.

Mails, chat logs, quotations, code and documents that a user pastes say nothing about the user, and neither does what
they hand over to work on, a story, or a role. What is not certainly theirs teaches nothing; it stays in the log.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from hybrid_memory.facts.fact import USER
from hybrid_memory.log.event import Event, EventKind
from hybrid_memory.log.message import Role
from hybrid_memory.text.sentences import blocks, sentences
from hybrid_memory.text.speakers import person_named, voice, without_blocks

STANDING = "standing_instruction"  # in the metadata of a message: its sentences say how to work, always
MAX_CHARS = 4_000  # how much of a turn is read
MAX_SENTENCES = 60  # of a turn; a longer one is a document rather than its speaker's words
MAX_SENTENCE_CHARS = 600
QUOTED_CHARS = 60  # a quotation that is longer, or that holds a sentence, is somebody's text
PARAGRAPH_CHARS = 280  # a paragraph of this length after a short first line is a text that was handed over
ASIDE_CHARS = 20  # so short a text before a forwarded one only announces it
REQUEST_CHARS = 60  # a longer request to work on a text may say more than that
QUESTION_CHARS = 120  # a longer question lends its sense to no answer, and neither does one to a longer answer
HANDED_LINES = 4  # so many further lines after a request about a text are that text
any_case = partial(re.compile, flags=re.IGNORECASE)  # compiles a form that counts in capitals and small letters

_LABEL = any_case(  # labels in front of a statement, which name nobody
    r"^\W*(?:(?:important|importante|wichtig|note|nota|notez|ps|p\.s\.|psa|fyi|btw|by the way|remember|reminder|"
    r"heads[- ]up|corrections?|corrección|korrektur|(?:other |more )?info(?:rmation)?|about me|profile|bio|"
    r"background|context|sobre mí|à propos de moi|über mich|更正|纠正|关于我|个人信息|简介|背景|"
    r"update|news|good news|for the record|just so you know|tl;?dr|edit|重要|切记|记住|注意|提醒|备注|好消息|坏消息|"
    r"更新|说明|补充|附)(?:\s*[:：]\s*|\s+[-–—]\s+)|(?:btw|fyi|ps|psa)[\s,]+)+"
)

_MAIL = any_case(
    r"^\W{0,3}(?:from|to|cc|bcc|sent|date|subject|reply-to|von|an|betreff|gesendet|de|para|asunto|enviado|objet|à|"
    r"envoyé|发件人|收件人|抄送|主题|发送时间|日期)\s?[:：]\s*\S"
)
_FORWARDED = any_case(
    r"^\W*(?:-{2,}\s*)?(?:forwarded message|original message|begin forwarded|fwd?:|转发|原始邮件|mensaje reenviado|"
    r"message transféré|weitergeleitete nachricht)|\b(?:wrote|schrieb|a écrit|escribió)\s?:\s*$|写道[:：]\s*$"
)
_GREETING = any_case(
    r"^\W*(?:(?:dear|hi|hello|hey|good (?:morning|afternoon|evening)|to whom|sehr geehrte\w*|liebe\w?|hallo|"
    r"querid[oa]s?|estimad[oa]s?|hola|cher\w*|chère\w*|bonjour|madame|monsieur)\b|尊敬的|亲爱的|各位|大家好)"
    r"[^.!?。！？\n]{0,60}[,，:：!！]?\s*$"
)
_CLOSING = any_case(
    r"^\W*(?:(?:kind|best|warm|many)? ?regards|yours (?:sincerely|faithfully|truly)|sincerely|all the best|cheers|"
    r"with love|mit freundlichen grüßen|viele grüße|un saludo|saludos|atentamente|cordialement|bien à vous)\b|"
    r"^\W*(?:此致|敬礼|顺颂商祺|祝好\W*$)"
)
_LOG = re.compile(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d?:\d\d(?::\d\d)?\]?\s|(?:INFO|DEBUG|WARN(?:ING)?|ERROR|FATAL|"
    r"TRACE)\b|"
    r"Traceback|File \"|\s+at \S+\(|[$#>]\s?\S|\|.*\||[-+*=_]{4,}\s*$|https?://\S+\s*$|\d+\s*[,;\t]\s*\S+\s*[,;\t])"
)
_QUOTED_LINE = re.compile(r"^\s*(?:>|»)")
_CODE = re.compile(
    r"^\s*(?:def |class |import |from \S+ import|function |const |let |var |return\b|SELECT |INSERT |<\w+[ >/]|"
    r"#include|public |private |\{|\}|[\w.]+\(.*\)\s*[;{]?\s*$|[\w.]+\s*=\s*\S+\s*;?\s*$)"
)

_TEXT = (
    r"(?:text|mail|e-?mail|message|letter|note|reply|email|review|paragraph|essay|cover letter|cv|abstract|post|draft|"
    r"sentence|article|speech|poem|report|transcript|thread|chat|log|notes?|ad|advert|listing|statement|this|these|it|"
    r"following|below)"
)
_HANDOVER = any_case(
    rf"\b(?:translate|proof-?read|rewrite|paraphrase|rephrase|summari[sz]e|correct(?!ion)|edit|polish|shorten|improve|"
    rf"tidy(?: up)?|clean up|tl;?dr|reword|grammar|spell-?check|turn (?:this|it)|continue|transcribe|"
    rf"(?:roast|critique) (?:my|this)|"
    rf"check (?:the|my|his|her|their|this)|fix (?:the|my|his|her|this|grammar|spelling)|"
    rf"make (?:this|it|that) (?:\w+ )?(?:short|long|nic|polit|clear|formal|sound|read|friendl|punch|warm|professional))"
    rf"|\b(?:here(?:'s| is| are)|this is|below is|got|received|pasting|paste|forwarding|copied|it'?s from|its from|"
    rf"from (?:the|my|our)) .{{0,40}}\b{_TEXT}\b.{{0,30}}$"
    r"|\b(?:what (?:do you|would you|does|should i) .{0,40}(?:this|reply|answer|say))\b.{0,40}[:?]\s*$"
    r"|\b(?:thoughts|opinion|reply to|answer to|respond to|what's (?:he|she|it|this)|is this (?:ok|fine|"
    r"a scam))\b.{0,30}$"
    r"|\b(?:wrote|sent|texted|e-?mailed) (?:to )?(?:me|us)(?: this)?\s*:|^\W*this is from [\w ]{1,20}:\s*$"
    r"|(?:下面|以下|这)是.{0,12}(?:发|写|寄|转)(?:给我|来)的"
    r"|翻译|翻成|译成|校对|点评|吐槽一?下|润色|改写|缩写|续写|改成|概括|总结一下|帮我看[看下]?|看一下|看看这|改一下|改改|这段|"
    r"下面这|以下是|回一?下|怎么回|转发|病句|语法|写得|通顺"
    r"|\b(?:traduc\w*|corr[ií]ge\w*|corrig\w*|resum\w*|résum\w*|reescrib\w*|mejora\w*|acorta\w*|revis[ae]\w*|relis\w*|"
    r"reformul\w*|raccourci\w*|adapta\w*|te pego|me (?:ha )?escri\w+|voici|je te colle|übersetz\w*|korrigier\w*|"
    r"kürz\w*|fass\w* .{0,20}zusammen|schreib\w* .{0,20}um)\b"
)
"""A request to work on a text, or the announcement of one; what follows on new lines or behind a colon is that text."""

_FICTION = any_case(
    r"\b(?:role-?play|let'?s (?:play|pretend)|pretend (?:that )?(?:i|you|we)|(?:you(?:'re| are)|i(?:'m| am)|i'll be|"
    r"be) "
    r"(?:now )?(?:playing|in character|the narrator)|in character|act as|write (?:me )?(?:a|the|another) (?:\w+ ){0,3}"
    r"(?:story|poem|scene|novel|song|dialogue|monologue)|(?:opening|first) line of (?:my|the) (?:novel|story)|"
    r"my (?:novel|story|character|screenplay)|play(?:ing)? a game|improv)\b|once upon a time|"
    r"扮演|角色扮演|演一个|来玩个?游戏|玩个游戏|假装|编个?故事|接着编|写[一个篇段]*(?:小说|故事|剧本|诗)|小说里|"
    r"\b(?:juguemos|hagamos como|haz de|cuento|personaje|jeu de rôle|jouons|on joue|joue le rôle|fais semblant|"
    r"histoire de|invente|rollenspiel|spielen wir|tu sois|sois un)\b"
)
_END_OF_FICTION = any_case(
    r"\b(?:(?:game|role-?play|story|scene) (?:over|done)|end of (?:the )?(?:game|story|role-?play|scene)|stop (?:the )?"
    r"(?:game|role-?play|playing|pretending)|back to (?:reality|normal|work|business|me)|serious(?:ly)? now|out of "
    r"character|ok(?:ay)?,? real|for real|in real life|fin du jeu|fin de la historia|ya en serio|en serio ahora|"
    r"sérieusement|im ernst)\b|不玩了|不演了|游戏结束|说正经的|回到正题|言归正传|好了.{0,4}正经"
)
_REQUEST = any_case(
    r"^\W*(?:(?:and|so|ok|okay|now|then|also|please|pls|hey|right|well)\W+)*(?:(?:can|could|would|"
    r"will) you\W+(?:please\W+)?)?"
    r"(?:write|draft|compose|make me|give me|show me|tell me|find|list|suggest|recommend|plan|book|help me|explain|"
    r"describe|create|generate|calculate|compare|remind me|look up|do me|add|put|fill (?:in|out|up)|prepare|"
    r"organi[sz]e|set up|type up|get (?:me|us)|arrange|make (?:an?|the|up)|"
    r"(?:sign|order|bake|cook|buy|pack|design|build|reserve|schedule|cancel) (?:me|us|my|our|the|this|an?|some|lunch|"
    r"dinner)|let['’]?s (?:write|make|do|draft|plan)|work out (?:how|what|the|my)|"
    r"(?:sort|check|update|print|send|turn) (?:out|if|whether|me|my|the|this|these|it|a)|"
    r"i(?: need| want|['’]d like| would like) (?:you to|(?:an?|the|some) (?:[\w-]+ ){0,4}(?:(?:check)?list|card|table|"
    r"form|note|letter|e-?mail|message|summary|overview|plan|template|sheet|draft)))\b"
    r"|^\W*(?:请|麻烦|那|再|能不能|可以|能)*(?:你|您)?(?:帮(?:我|忙|他|她)?|替我|给我)(?!.*(?:记住|记得|以后))"
    r"|^\W*(?:推荐|讲讲|说说|解释|介绍|查一?下|列[个一出]|写[个一篇段张]|填一?[个下张份表]|整理[一我]|订[个一张]|"
    r"做[个一张份]*(?:表|清单|卡|计划|方案|总结)|麻烦|提醒我|把.{1,14}(?:写成|列出|整理|翻译|做成)|"
    r"给.{1,5}[填写做订]|我(?:要|想要|需要)一?[份张个].{0,12}(?:清单|表|卡|邮件|信|总结|计划))"
    r"|^\W*(?:(?:y|pues|oye|et|bon|alors|sinon|dis(?: voir| moi)?|und|dann)\W+)*(?:escr[ií]be(?:me)?|dame|hazme|"
    r"redacta|prepara|busca|haz|dime|puedes|podrías|rellena\w*|completa|organízame|ayúdame|recomiéndame|sugiéreme|"
    r"explícame|cuéntame|recuérdame|mándame|ponme|pásame|"
    r"(?:necesito|quiero|quisiera) (?:que me|un[ao]? (?:\w+ ){0,3}(?:lista\w*|tarjeta|tabla|ficha|correo|carta|nota|"
    r"resumen|formulario|plan))|"
    r"écris|rédige|donne|fais|refais|propose|prépare|trouve|explique|remplis|complète|aide[- ]moi|rappelle[- ]moi|"
    r"recommande|mets|passe[- ]moi|prévois|(?:j['’]ai besoin d['’]une?|il me faut \w+|"
    r"je (?:veux|voudrais) une?) (?:\w+ ){0,3}(?:liste|carte|tableau|fiche|mail|lettre|note|résumé|plan)|"
    r"dis moi|tu peux|tu pourrais|peux-tu|pouvez-vous|schreib|gib mir|mach (?:mir|eine?n?)|kannst du|könntest du|"
    r"können sie|füll\w*|hilf mir|erinner\w* mich|stell mir|erstell\w*|zeig mir|such mir|"
    r"ich (?:brauche|möchte|hätte gern\w*) (?:eine?n?|die|den) (?:\w+ ){0,3}"
    r"(?:liste|karte|tabelle|übersicht|mail|zusammenfassung|vorlage)|erklär\w*)\b"
)
_ASKING = any_case(  # a question without its mark
    r"^\W*(?:(?:and|but|so|ok|hey|btw|y|pero|oye|et|mais|bon|au fait|dis(?: voir| moi)?|und|aber|sag mal)\W+)*"
    r"(?:(?:what|where|when|who)(?:['’]s| (?:is|are|was|were|do|does|did|should))|"
    r"how (?:do|does|did|much|many|long|often|can|should)|why (?:is|are|do|does|did)|(?:can|could|should|do) i|"
    r"pourquoi|comment|combien|est-ce qu\w*|qu['’]?est-ce|"
    r"c['’ ]?(?:est )?quoi|quel(?:le)?s?|"
    r"qué|cómo|cuánt[oa]s?|cuándo|dónde|por qué|cuál(?:es)?|warum|wieso|wie (?:viel|lange|oft|kann|soll)|"
    r"was (?:ist|sind|kann|soll))\b"
    r"|\b(?:combien|lequel|laquelle)\W*$|\bc['’]est quoi\b|\b(?:faut|dois|doit)\b.{1,20}\bquoi\b"
    r"|^\W*(?:怎么|为什么|为啥|有没有.*的|多少|哪[里个些]|什么时候)"
)

_CLAUSES = re.compile(r"[,，;；]|(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])")
_TELLS = any_case(  # what a clause beside a request or an unmarked question has if it tells something
    r"\b(?:i|we|he|she|they|my|our|is|are|has|have|can['’]?t|cannot|don['’]?t|doesn['’]?t|soy|es|está|tengo|tiene|voy|"
    r"va|ella|je|j|il|elle|on|nous|est|suis|ich|wir|er|ist|bin|hat|habe|sitzt|mein\w*)\b|(?<![帮给替醒诉教])我|[她他咱是]|[爸妈]"
)

_MINE = any_case(  # what a request has that may name a harm of its speaker
    r"\b(?:i|my|our|mis?|soy|tengo|je|j|mon|ma|mes|notre|ich|mein\w*|unser\w*|remind me|recuérdame|"
    r"rappelle[- ]moi|erinner\w* mich)\b|(?<![帮给替诉教])我|[:：]"
)

_HOW_TO_WORK = any_case(  # a request about how to work, which is lasting
    r"\b(?:always|never|from now on|in future|every time|whenever|any ?time|by default|as a rule|each time|call me|"
    r"don'?t ever|no more|stop (?:using|calling|adding)|keep (?:it|your|answers|them)|please (?:use|don'?t|answer|"
    r"reply))\b|以后|今后|从现在|每次|总是|永远|一律|不要再|别再|别给|叫我|称呼我"
    r"|\b(?:siempre|nunca|jamás|a partir de ahora|de ahora en adelante|cada vez|toujours|jamais|désormais|"
    r"à partir de maintenant|dorénavant|chaque fois|immer|niemals?|ab jetzt|künftig|in zukunft|jedes mal)\b"
)

_QUESTION = re.compile(r"[?？]\W*$|[吗呢][。.!！]?$")
_TOLD_FIRST = any_case(
    r"^(?!\W*(?:(?:if|when|what|why|how|who|which|where|suppos\w*|assum\w*|imagine|let['’]?s|say|since when|do|does|"
    r"did|is|are|can|could|should|would|will|have|has|was|were|si|cuando|quand|wenn|falls|como si)\b|"
    r"如果|要是|假如|假设|万一|你|您|为什么|什么|怎么|谁|哪))(?P<told>"
    r"(?!.*(?:\b(?:question|wonder\w*|ask\w*|know|curious|thinking|not sure|unsure|says?|said|"
    r"told|thinks|claims?|pretend\w*|pregunt\w*|demand\w*|frag\w*|perdu\w*|perdid\w*)\b|"
    r"[想请]问|问一下|知道|如果|要是|听说|觉得|[看听]到|懂|明白|清楚|确定|疑问|问题))"
    r"[^?？]*(?:\bI(?:['’]m| am|['’]ve| have| take| can['’]?t| cannot| don['’]?t| never| only)\b|"
    r"\b(?:soy|tengo|estoy|tomo|no puedo|je suis|j['’]ai|je prends|je ne|ich bin|ich habe|ich nehme|ich vertrage)\b|"
    r"我(?:[爸妈爷奶姥]+|老婆|老公|女儿|儿子|孩子|[妹弟姐哥]+|朋友|同事|室友)?(?:也|还|都|现在|最近|一直|从小|刚|就|已经)*"
    r"(?:是|有|对(?!象)|不|在|吃|得|住|怀|没))"
    r"[^?？]{2,}?)(?:\s*[,:;，：；]|\s+[-–—])\s*(?:(?:so|and|but|then|y|et|und|那|那么|所以)\s*)?"
    r"(?=(?:what|how|which|where|who|can|could|should|would|any)\b.{12,}|"
    r"(?:¿|que\b|qu['’]|quel|comment|où|puis-je|was|wie|wo|welche|kann|darf|soll).{6,}|"
    r"[^，。,]{0,16}(?:什么|怎么|能不能|可不可以|可以|哪|该|吗|呢|多少|要不要|好不好).{0,20}[?？]?$)"
)
"""A question after what its speaker says about themselves: "I'm allergic to nuts, what could I cook tonight?"."""

_BARE = any_case(  # answers that say nothing by themselves
    r"(?:(?:no|nope|nah|none|nothing|yes|yep|yeah|yup|sure|u+m+|u+g*h+|h+m+|oh|well|okay|ok|k|right|really|what|huh|"
    r"wow|so|"
    r"and|but|thanks|ta|much|better|worse|fine|great|grand|not bad|perfect|done|good|lol|ha+|haha\w*|sí|si|vale|oui|"
    r"non|merci|gracias|ja|nein|danke|没有?|有的?|是的?|不是?|嗯+|呃|额|哦|啊|对|好的?|好嘞|好多了|还行|不错|行|什么|哈+)[\s.,!?…。，！？~]*)+$"
)

_OFFER = any_case(  # a question that only offers help: what follows answers nothing
    r"\b(?:what|how) (?:can|may|could) I\b|\banything (?:else )?I can (?:do|help)\b|"
    r"\b(?:que|en quoi|comment) puis-je|\b(?:qué|en qué|cómo) (?:te |le )?puedo|"
    r"\b(?:was|wie|womit) kann ich|\b(?:cosa|come) posso|\bcomo posso|"
    r"(?:可以|能|要我?|需要我?).{0,4}帮.{0,3}(?:什么|吗|忙|您|你)"
)

_YES_NO = any_case(r"\W*(?:yes|no|yep|nope|yeah|sí|oui|non|ja|nein|是的?|不是|没有|有)\W*$")
_ASKS_YOU = any_case(  # a question about the user, which a bare yes or no answers
    r"\b(?:(?:are|were|do|did|have|can) you|(?:eres|tienes|es usted|tiene|es-tu|as-tu|êtes-vous|avez-vous|bist du|"
    r"hast du|sind sie|haben sie))\b|[你您]"
)

_OWN_SENTENCE = any_case(  # a first clause that says something whatever was asked; "I am" does not
    r"^\W*(?:i|we|my|our|he|she|they|his|her|their|ich|wir|mein\w*|er|sie|je|j['’]|nous|mon|ma|mes|il|elle|"
    r"yo|mi|mis|nosotros|él|ella|soy|tengo|quiero|voy)\b(?!\W*(?:am|are|is|do|does|have|has|did|was|can|will|"
    r"bin|habe|suis|sí|no|oui|non|ja|nein)?(?:\s+not|n['’]t)?\W*$)"
)

_LETTERS = re.compile(r"[^\W\d_]{2}|[\u3040-\u30ff\u3400-\u9fff]")
_QUOTE = re.compile(r"[\"“「『«]([^\"”」』»\n]{2,})[\"”」』»]")
_SPEAKER = re.compile(
    r"^\s*(?:\[[^\]]{3,25}\]\s*|\(?\d\d?:\d\d\)?\s*)?([^\s:：，。,.!?？！\d][^:：，。,.!?？！\n]{0,24}?)\s?(?:\(\d[^)]*\)|"
    r"\d\d?:\d\d)?\s?[:：]\s*\S"
)
_FIELD = re.compile(r"^\s*[-*•]?\s*[^:：\n]{1,32}[:：]\s*\S")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the speaker's own.

    Attributes:
        owner: the subject of what it says about its speaker; empty if they can say nothing about themselves.
        text: verbatim, without a label or the mark of a list item in front.
        question: the question that it answers, asked by another speaker right before; mostly empty.
        asked: the id of the turn that asked it.
        order: whether it says how to work, always; standing: whether its turn is marked as saying so.
        momentary: whether it asks for something now or answers a question: no instruction by its meaning alone.
        request: whether it only asks for something: a statement only if it names what may harm somebody.
    """

    owner: str
    text: str
    question: str
    position: int
    order: bool = False
    momentary: bool = False
    asked: str = ""
    request: bool = False
    standing: bool = False


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn with its speaker and words; owner is the subject of what they say about themselves."""

    owner: str
    speaker: str
    words: str
    id: str

    @property
    def question(self) -> str:
        """The last sentence, if it asks something and does not only offer help."""
        last = " ".join("".join(sentences(self.words[-400:])[-1:]).split())
        return last if len(last) <= QUESTION_CHARS and _QUESTION.search(last) and not _OFFER.search(last) else ""


def spoken(event: Event) -> Spoken | None:
    """The speaker and the words of a turn; None if no person speaks."""
    if event.kind is not EventKind.MESSAGE or event.message.role not in {Role.USER, Role.ASSISTANT}:
        return None
    message = event.message
    content = message.content
    if not isinstance(content, str):  # the text of attached files may be anybody's
        content = "\n".join(str(block.get("text") or "") for block in content if block.get("type") not in _FILES)
    text = without_blocks(content)[:MAX_CHARS].strip()
    if message.role is Role.USER and message.name is None and _chat(text.split("\n")):
        return Spoken("", message.role.value, text, event.id)
    name, words = ("", text) if _LABEL.match(text) or _MAIL.match(text) else voice(text)
    person = person_named(message) or (name if message.role is Role.USER else "")
    owner = person or (USER if message.role is Role.USER else "")
    return Spoken(owner, person or message.role.value, words if person else text, event.id)


_FILES = ("attachment", "document", "file", "input_file")
"""Types of content blocks that hold what somebody else may have written."""


@dataclass(frozen=True, slots=True)
class Own:
    """What somebody says of their own in a turn: nothing quoted, pasted, handed over or played.

    Attributes:
        turn: the whole turn.
        asking: what another speaker said right before.
        lines: the sentences, verbatim; requests and questions among them.
    """

    event: Event
    turn: Spoken
    asking: Spoken | None
    lines: Sequence[str]


def asks_for(clause: str) -> bool:
    """Whether a clause begins as a request."""
    return _REQUEST.search(clause) is not None


def own_sentences(turns: Sequence[Event], before: Sequence[Event]) -> list[Sentence]:
    """The sentences that are their speakers' own, of the turns of one session, in order."""
    taken: list[Sentence] = []
    for own in own_turns(turns, before):
        made: list[Sentence] = []
        asking, question = own.asking, own.asking.question if own.asking is not None else ""
        marked = bool(own.event.message.metadata.get(STANDING))
        for number, text in enumerate(own.lines):
            plain = _LABEL.sub("", _ITEM.sub("", text), count=1).strip() or text
            if len(plain) <= MAX_SENTENCE_CHARS and _QUESTION.search(plain) and (first := _TOLD_FIRST.match(plain)):
                plain = first["told"].strip()
            clauses = _CLAUSES.split(plain)
            independent = _OWN_SENTENCE.match(clauses[0]) or _ASKING.search(plain) or any(map(asks_for, clauses))
            answer = question if number == 0 and len(plain) <= QUESTION_CHARS and not independent else ""
            standing = marked and not _QUESTION.search(plain)
            order = standing or _HOW_TO_WORK.search(f"{answer} {plain}") is not None
            telling = _LETTERS.search(plain) or (answer and any(map(str.isdigit, plain)))
            bare = _BARE.match(plain) and not (_ASKS_YOU.search(answer) and _YES_NO.match(plain))
            if bare or len(plain) > MAX_SENTENCE_CHARS or not telling:
                continue
            wants = _REQUEST.search(plain)
            asks = wants or (_ASKING.search(plain) and not answer and plain[-1] not in ".!。！")
            request = bool(asks) and not any(map(_TELLS.search, clauses[1:]))
            if not order and (_QUESTION.search(plain) or (request and not (wants and _MINE.search(plain)))):
                continue
            asked = asking.id if asking is not None and answer else ""
            momentary = bool(answer or asks or _HANDOVER.search(plain))
            position = own.event.position
            made.append(Sentence(own.turn.owner, plain, answer, position, order, momentary, asked, request, standing))
        taken += made[:MAX_SENTENCES] if len(made) <= 2 * MAX_SENTENCES else []
    return taken


def own_turns(turns: Sequence[Event], before: Sequence[Event]) -> list[Own]:
    """What the speakers of the turns of one session say of their own, without what belongs to a story or a role."""
    made: list[Own] = []
    earlier: Spoken | None = None
    fiction = False
    for number, event in enumerate([*before, *turns]):
        turn = spoken(event)
        if turn is None:
            continue
        asking = earlier if earlier is not None and earlier.speaker != turn.speaker else None
        earlier = turn
        if not turn.owner:
            continue
        words, begins = turn.words, _FICTION.search(turn.words) is not None
        if fiction and not begins:  # what asks for something else ends a story or a role
            fiction = not (_REQUEST.search(words) or _HOW_TO_WORK.search(words) or len(words) > MAX_SENTENCE_CHARS)
        plays = fiction and _END_OF_FICTION.search(words) is None
        fiction = plays or (begins and _QUESTION.search(words) is None)
        if number >= len(before) and not plays:
            lines = takewhile(lambda text: _FICTION.search(text) is None, _own_lines(words))
            made.append(Own(event, turn, asking, tuple(lines)))
    return made


def _own_lines(words: str) -> list[str]:
    """The sentences of the lines that are not quoted, pasted, forwarded, code, or handed over."""
    lines = "\n".join(block for fenced, block in blocks(words) if not fenced).split("\n")
    if _chat(lines):
        return []
    own: list[str] = []
    for number, line in enumerate(lines):
        rest = [each for each in lines[number + 1 :] if each.strip()]
        if not line.strip():
            if not own or not rest:
                continue
            letter = _GREETING.match(rest[0]) or _MAIL.match(rest[0]) or any(map(_CLOSING.match, rest))
            listed = len(rest) < HANDED_LINES or all(map(_FIELD.match, rest))
            if letter or not listed or max(map(len, rest)) >= PARAGRAPH_CHARS:  # the words before hand it over
                break
        elif (
            _MAIL.match(line)
            or _FORWARDED.search(line)
            or (_GREETING.match(line) and rest and (own or any(map(_CLOSING.match, rest))))
        ):  # a mail or a letter by somebody begins
            return [text for text in own if len(text) > ASIDE_CHARS]
        elif own and len(line) >= PARAGRAPH_CHARS:
            break
        elif not (_QUOTED_LINE.match(line) or _LOG.match(line) or _CODE.match(line)):
            texts, handed = _of_line(line, rest)
            own += texts
            if handed:
                break
    return own


def _of_line(line: str, rest: Sequence[str]) -> tuple[list[str], bool]:
    """The sentences of a line up to a text that it hands over, and whether it does."""
    own: list[str] = []
    for text in sentences(line):
        # Mainly a quotation of a whole sentence or more.
        if any(len(part) >= QUOTED_CHARS or 2 * len(part) > len(text) > ASIDE_CHARS for part in _QUOTE.findall(text)):
            return own, True
        if _HANDOVER.search(text):
            head, _, tail = text.partition(":" if ":" in text else "：")
            if tail.strip() or rest:
                plain = head if tail.strip() else text
                return own + [plain] * (len(plain) > REQUEST_CHARS), True
        own.append(text)
    return own, False


def _chat(lines: Sequence[str]) -> bool:
    """Whether these are lines of a chat: names in front that repeat, or several with a time."""
    names = [found[1] for line in lines if (found := _SPEAKER.match(line)) and not _LABEL.match(line)]
    full = sum(1 for line in lines if line.strip())
    return len(names) >= 3 and 2 * len(names) >= full and max(Counter(names).values()) >= 2  # noqa: PLR2004
