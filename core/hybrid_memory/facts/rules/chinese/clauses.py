"""Splits the assertions of a Chinese sentence into clauses with a subject, and resolves whom they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hybrid_memory.facts.rules.chinese.lexicon import FEMALE, KIN, MALE, either
from hybrid_memory.facts.rules.chinese.values import NAME
from hybrid_memory.facts.rules.rule import OWNER
from hybrid_memory.text.patterns import lazy

WHEN = (
    r"(?:从|自从|到|在)?(?:(?:去|今|明|前|后)年|(?:19|20)\d\d年|上上?个?(?:周|星期|礼拜|月)(?:[一二三四五六日天末])?|"
    r"前几天|前不久|不久前|前天|昨天|刚才|(?:[一两二三四五六七八九十几半]+|\d+)(?:年|个月|周|天|个星期)(?:半)?(?:前|"
    r"以前|之前|来)|毕业后|婚后|退休后|小时候|最近)(?:的)?(?:(?:1[0-2]|[1-9]|十[一二]?|[一二三四五六七八九])月份?)?(?"
    r":\d{1,2}[日号])?(?:[年月]?[初底中末])?(?:起|开始|以来|的时候|时)?"
)
ADVERB = (
    rf"(?:{WHEN}|其实|现在|目前|如今|一直都?|一向|向来|也|还是?|都|就|真的|真是|特别?|尤其|非常|很|挺|蛮|超级?|比较|"
    r"相当|十分|极其|平时|平常|通常|一般|主要|已经|刚刚?|仍然?|依然|确实|的确|从小就?|只是?|一个人|独自|近来|这几年|"
    r"真|可|有点儿?|有些|个人|自己|正在?|天生|当然|毕竟|经常|常常?|总是|老是|今年|暂时|周末|业余时间|闲暇时间?|有空|"
    r"没事|下班后|永远|绝对|坚决|严重|轻微)*"
)
ME = r"(?:我们?(?:本人|自己|个人|两个?|俩|一家人?|全家)?|本人|俺|咱们?)"
KINSMAN = rf"(?:我们?(?:家|的)?|咱)(?:的|那个?|这个?)?(?:一个|一位)?(?:{either(KIN)})"
OF_KIN = rf"{KINSMAN}(?:{NAME}(?=[的是在也今名叫喜爱有]))?"
WHO = rf"(?P<who>{OF_KIN}(?:[他她]们?)?|{either(word for word in KIN if len(word) > 1)}|{NAME}|[他她])"
SUBJECT = rf"(?:{WHO}|{ME})"
"""The speaker or, in the group ``who``, another person."""

_SPACE = lazy(r"(?<=[\u4e00-\u9fff，。])\s+(?=\S)|(?<=\S)\s+(?=[\u4e00-\u9fff，。])")
_QUOTED = lazy(r"\"[^\"]*[我你您咱][^\"]*\"|[「『][^」』]*[我你您咱][^」』]*[」』]")
_WHOLE = lazy(r"^\s*[\"「『]([^\"」』]*)[\"」』]\s*[。！!.]?\s*$")
_SWAP = lazy(r"(?P<lead>并?不是)(?P<wrong>[^，,。；;是]{1,20})[，,]\s*(?:而是|是)(?P<right>[^，,。；;！!]{1,20})")
_CUT = lazy(
    r"[，,；;！!。…~～（）()]+|[：:](?!\d)|\s?--+\s?|——|\.{2,}|(?<=[\u4e00-\u9fff])\s(?=[\u4e00-\u9fff])"
    r"|(?<=.)(?=(?:但是|可是|不过(?!敏)|因为|所以|而且|并且|虽然)[^，,]{2,})"
)
_JOINED = lazy(
    r"[，,](?=\s*(?:(?:而|并|可)?不是[^我你他她它这]|它?(?:的?名字)?(?:叫做?|名叫|取名)|[她他]?的?名字(?:是|叫)|"
    r"[她他](?:名)?叫))"
)
_HEAD_CHARS = 8
_LEAD = lazy(
    r"^(?:[\s\"'“,，.。、·*•\-]+|\d{1,2}[.)、]\s*|嗯+|哦+|噢+|啊+|呃+|唉+|哎呀?|嗨|嘿|哈+|哇+|喂|"
    r"好的?吧?(?=[，,\s]|$)|行(?=[，,])|对了|对啊?(?=[，,]|$)|是的?(?=[，,]|$)|没错|你好[啊呀]?|您好|大家好|那么|"
    r"那(?=我|就)|然后|另外|此外|还有(?=[，,我])|而且|并且|不过(?!敏)|但是?(?!愿)|可是|可惜|只是(?=我)|虽然|因为|"
    r"由于|所以|因此|毕竟|其实|实际上|说实话|老实说|说真的|总之|一般来说|顺便说一句|顺便|话说|更正一下|纠正一下|"
    r"更新一下|我跟你说|告诉你|跟你说|你知道吗?|医生(?:说|告诉我)(?=我)|我觉得|我想说|我说|不好意思|抱歉|对不起|"
    r"谢谢你?|请问|注意|备注|请?记住|帮我记一下|自我介绍一下|首先|其次|反正|当然|确实|真的|特别是|尤其是|比如说?|"
    r"例如|平时|平常|最近|近来|目前|现在|如今|从(?=我)|本来|原来(?=我))[，,：:！!\s]*"
)
_SUPPOSED = lazy(
    r"^(?:如果|要是|假如|假设|倘若|若(?=[你我他有没是])|万一|就算|即使|哪怕|除非|只要|一旦|无论|不管|假装|想象|扮演|"
    r"你是一[个名位]|可能|也许|或许|说不定|大概|好像|仿佛|似乎|恐怕|但愿|希望|梦见|等我|等到|当我)|的话$|^(?:你|您|"
    r"他们?|她们?)?.{0,4}(?:以为|假装)"
)
_ASKING = lazy(
    r"[?？]|(?<![什这那怎多要])[吗么]$|什么|怎么|怎样|哪|谁|为何|多少|几[个岁点号时位]|多大|多久|多远|是否|是不是|"
    r"能不能|可不可以|会不会|要不要|有没有|好不好|喜不喜欢|难道|如何"
)
_FREE = lazy(r"没什么|什么都|什么也|怎么都|谁都|哪都|不怎么|没怎么|无论|不管")
_HEARSAY = lazy(
    r"^(?:.{0,10}(?:你|您|他们?|她们?|它|有人|别人|大家|老师|妈妈?|爸爸?|朋友|同事|老板|[\u4e00-\u9fff]{2,3})(?:"
    r"跟我|对我|又|也|总|还|老)*(?:(?<![小传解学演胡])说过?|问|告诉我|认为|觉得|以为)(?:[:：]|$|我|你)|听说|据说|"
    r"我?(?:昨晚|昨天)?(?:做梦|梦)[到见]|歌词|小说里|电影里|剧里)"
)
_LATE_SUBJECT = lazy(rf"^(?P<when>{WHEN}(?:[，,])?)(?P<who>{OF_KIN}(?:[他她]们?)?|我们?|咱们?|[他她])(?![的们])")
_TOGETHER = lazy(
    rf"^(?:我们?(?:和|跟|与)|[和跟与](?=[^，,。]{{2,8}}住在))(?:我们?的?)?(?:{either(KIN)})(?:{NAME}(?<!住)|"
    r"[\u4e00-\u9fff]{2}(?=住|一起))?(?:一起|都|俩|两个人?)*(?=住|搬|养|决定|打算|在|有|要|想|刚|一直|现在|都)"
)
_KIN = lazy(either(KIN))
_SUBJECT = lazy(rf"^(?P<who>{OF_KIN}(?:[他她]们?)?|我们?|咱们?|本人|[他她])(?!的)")
_ELLIPTIC = lazy(
    rf"^{ADVERB}(?:住在?|来自|出生|毕业|就读|在|家在|是|今年|\d+岁|喜欢|爱|最喜欢|更喜欢|讨厌|不|没有?|从不|从来|搬|"
    r"换|改|学|读|做|当|从事|养|有|想|打算|计划|准备|要|得|用|会|对|患|吃|喝|戒|已婚|未婚|单身|离|结|目标|职业|专业|"
    r"爱好|身高|生日|电话|邮箱|主修|习惯|偏爱|宁愿|受不了|避免|放弃|取消|决定|把|跳槽|入职|加入|辞|退休|转行|订|买|"
    r"领养)"
)
_DROPPED = lazy(
    r"(?:住在|来自|从事|毕业于|就职于|主修|今年?\d+岁|\d+岁(?:了|$)|单身$|已婚|未婚|刚搬[到来]|对[^，,。]{1,8}过敏$"
    r"|不吃|特别喜欢|非常喜欢|很喜欢|最喜欢)"
)
_OWN = lazy(r"^(?:家在|老家|年龄|目标|职业|专业|爱好|兴趣|身高|体重|生日|电话|手机号?|邮箱|名字|工作是|家乡)")
_PRESENTS = lazy(r"(?:有|认识|交了)(?:了)?[一几两]?[个位名](?!月|小时|星期)")
_NAMED = lazy(
    rf"(?:我们?(?:家|的)?|咱)(?:的|那个?|这个?)?(?:一个|一位)?(?P<noun>{either(KIN)})(?P<name>{NAME})?|"
    rf"(?P<bare>{either(KIN)})"
)


def clauses(sentence: str) -> list[str]:
    """The clauses that a sentence's speaker asserts, without introductory words.

    Questions, assumptions, hopes, hearsay and quotations are left out. A clause without a subject takes that of the
    previous one. "不是甲，是乙" becomes "是乙，不是甲".
    """
    found = _WHOLE.match(sentence)
    text = found[1] if found else _QUOTED.sub("…", sentence)
    text = _SWAP.sub(lambda swap: f"是{swap['right']}，不是{swap['wrong']}", _SPACE.sub("", text))
    parts = [bare for part in _cut(text) if (bare := _bare(part))]
    if parts and text.rstrip("\" '」』").endswith(("?", "？")):
        parts[-1] += "？"
    return list(_asserted(parts))


def person(words: str, told: str) -> str:
    """The person that the words refer to, given what the turn said before."""
    words = words.strip()
    if words in {"他", "她"}:
        mentions = [found for found in _NAMED.finditer(told) if found["noun"]]
        means = mentions and _means(words, mentions[-1][0])
        return _of_owner(mentions[-1]) if means else ""
    found = _NAMED.fullmatch(re.sub(r"(?<=.)[他她]们?$", "", words))
    return words if found is None else _of_owner(found)


def _of_owner(found: re.Match[str]) -> str:
    return found["name"] or f"{OWNER}'s {KIN[found['noun'] or found['bare']][1]}"


def _asserted(parts: Sequence[str]) -> Iterator[str]:
    """The clauses that are neither questions nor assumptions, each with its subject; pronouns become relatives."""
    last = relative = ""
    skip = False
    for number, part in enumerate(parts):
        supposed = _SUPPOSED.search(part) is not None
        heard = _HEARSAY.match(part) is not None
        asked = _ASKING.search(part) is not None and not _FREE.search(part)
        if asked or supposed:
            last = ""
        if not (asked or supposed or heard or skip):
            clause = _LATE_SUBJECT.sub(lambda found: found["who"] + found["when"], _TOGETHER.sub("我们", part))
            found = _SUBJECT.match(clause)
            if found is None:
                clause, last = _carried(clause, last, first=number == 0)
            else:
                who = found["who"]
                if who in {"他", "她"} and relative and _means(who, relative):
                    who, clause = relative, relative + clause[1:]
                relative = who if _KIN.search(who) else relative
                last = "" if _PRESENTS.search(clause) else who
            yield clause
        skip = (supposed or heard) and not skip


def _carried(clause: str, last: str, *, first: bool) -> tuple[str, str]:
    """A clause with the previous subject if it has none, and the subject for the next one."""
    if last and _OWN.match(clause):
        return f"{last}的{clause}", last
    if last and _ELLIPTIC.match(clause):
        return last + clause, last
    if first and _DROPPED.match(clause):
        return f"我{clause}", "我"
    return clause, last if _ELLIPTIC.match(clause) else ""


def _means(pronoun: str, mentioned: str) -> bool:
    """Whether the pronoun may refer to that relative."""
    found = _KIN.search(mentioned)
    noun = KIN[found[0]][1] if found else ""
    return noun not in (MALE if pronoun == "她" else FEMALE)


def _cut(text: str) -> Iterator[str]:
    """The parts between punctuation marks, not split where the next part belongs to the one before."""
    start = 0
    for cut in _CUT.finditer(text):
        headed = cut[0][:1] in {"：", ":"} and cut.start() - start <= _HEAD_CHARS
        if not headed and not _JOINED.match(text, cut.start()):
            yield text[start : cut.start()]
            start = cut.end()
    yield text[start:]


def _bare(part: str) -> str:
    before = ""
    while part != before:
        before, part = part, _LEAD.sub("", part)
    return part.strip()
