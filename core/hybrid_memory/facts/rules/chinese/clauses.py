"""What a Chinese sentence asserts, cut into clauses that have their subject."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hybrid_memory.facts.rules.chinese.lexicon import FEMALE, KIN, MALE, either
from hybrid_memory.facts.rules.chinese.wording import ADVERB, HAN, NAME, OF_KIN, WHEN

_SPACE = re.compile(r"(?<=[\u4e00-\u9fff，。])\s+(?=\S)|(?<=\S)\s+(?=[\u4e00-\u9fff，。])")
_QUOTED = re.compile(r"\"[^\"]*[我你您咱][^\"]*\"|[「『][^」』]*[我你您咱][^」』]*[」』]")
_WHOLE = re.compile(r"^\s*[\"「『]([^\"」』]*)[\"」』]\s*[。！!.]?\s*$")
_SWAP = re.compile(
    r"(?P<lead>并?不是)(?P<wrong>[^，,。；;是]{1,20})[，,]\s*(?:而是|"
    r"是)(?P<right>[^，,。；;！!]{1,20})"
)

_CUT = re.compile(
    r"[，,；;！!。…~～（）()]+|[：:](?!\d)|\s?--+\s?|——|\.{2,}|(?<=[\u4e00-\u9fff])\s(?=[\u4e00-\u9fff])"
    r"|(?<=.)(?=(?:但是|可是|不过(?!敏)|因为|所以|而且|并且|虽然)[^，,]{2,})"
)
_JOINED = re.compile(
    r"[，,](?=\s*(?:(?:而|并|可)?不是[^我你他她它这]|它?(?:的?名字)?(?:叫做?|名叫|取名)|[她他]?的?名字(?:是|叫)|"
    r"[她他](?:名)?叫|以(?:及|后用)|改成|换成|现在改|到时候))"
)
_HEAD_CHARS = 8
_LISTS = re.compile(r"[^，,。]{2,26}的(?:主要)?内容[是为：:]")
_LEAD = re.compile(
    r"^(?:[\s\"'“,，.。、·*•\-]+|\d{1,2}[.)、]\s*|嗯+|恩+|哦+|噢+|啊+|呃+|额+|唉+|哎呀?|哎|嗨|嘿|哈+|哇+|喂|"
    r"好的?吧?(?=[，,\s]|$)|行(?=[，,])|"
    r"对了|对啊?(?=[，,]|$)|是的?(?=[，,]|$)|没错|当然了?(?=[，,])|你好[啊呀]?|您好|大家好|朋友们?(?=[，,！!])|那么|"
    r"那(?=我|就)|然后|接着|另外|此外|还有(?=[，,我])|"
    r"而且|并且|不过(?!敏)|但是?(?!愿)|可是|可惜|只是(?=我)|虽然|尽管|因为|由于|所以|因此|毕竟|其实|实际上|事实上|"
    r"说实话|老实说|坦白说|坦白讲|说真的|讲真|不瞒你说|"
    r"总之|总的来说|总体来说|一般来说|基本上|顺便说一下|顺便说一句|顺便|话说|补充一下|更正一下|纠正一下|更新一下|"
    r"我跟你说|我告诉你|告诉你|跟你说|你知道吗?|"
    r"你知道的|如你所知|医生(?:说|告诉我|诊断)(?=我)|我觉得|我知道(?!你)|我想说|我说|我认为|我感觉|不好意思|抱歉|"
    r"对不起|谢谢你?|感谢你?|没关系|请问|请注意|注意|备注|记住|请记住|记一下|帮我记一下|"
    r"自我介绍一下|介绍一下|首先|其次|第[一二三]|一方面|再说|反正|当然|确实|的确|真的|特别是|尤其是|比如说?|例如|"
    r"也就是说|平时|平常|最近|近来|目前|"
    r"现在|如今|如果可以的话|从(?=我)|同时|同样|本来|原本|原来(?=我))[，,：:！!\s]*"
)
_SUPPOSED = re.compile(
    r"^(?:如果|要是|假如|假设|倘若|若是|若(?=[你我他有没])|万一|就算|即使|即便|哪怕|除非|只要|一旦|要不是|无论|不管|"
    r"假装|想象|扮演|你是一[个名位]|可能|也许|或许|说不定|大概|"
    r"好像|仿佛|似乎|估计|恐怕|但愿|希望|梦见|等我|等到|当我)|的话$|^(?:你|您|他们?|她们?)?.{0,4}(?:以为|假装)"
)
_ASKING = re.compile(
    r"[?？]|(?<![什这那怎多要])[吗么]$|什么|怎么|怎样|咋|哪|谁|为何|为什么|多少|几[个岁点号时位]|多大|多久|多远|"
    r"是否|是不是|能不能|可不可以|会不会|要不要|"
    r"有没有|好不好|对不对|行不行|知不知道|喜不喜欢|难道|何时|如何"
)
_LATE_SUBJECT = re.compile(rf"^(?P<when>{WHEN}(?:[，,])?)(?P<who>{OF_KIN}(?:[他她]们?)?|我们?|咱们?|[他她])(?![的们])")
_TOGETHER = re.compile(
    rf"^(?:我们?(?:和|跟|与)|[和跟与](?=[^，,。]{{2,8}}住在))(?:我们?的?)?(?:{either(KIN)})"
    rf"(?:{NAME}(?<!住)|{HAN}{{2}}(?=住|一起))?(?:一起|都|俩|两个人?)*(?=住|"
    rf"搬|养|决定|打算|计划|在|有|要|想|刚|一直|现在|都)"
)
_FREE = re.compile(r"没什么|什么都|什么也|怎么都|谁都|哪都|哪里都|不怎么|没怎么|无论|多少有|不管")
_HEARSAY = re.compile(
    r"^(?:.{0,10}(?:你|您|他们?|她们?|它|有人|别人|大家|老师|妈妈?|爸爸?|朋友|同事|老板|"
    r"[\u4e00-\u9fff]{2,3})(?:跟我|对我|和我|曾经?|刚才?|又|也|总|还|老)*(?:(?<![小传解学演胡])说过?|问|告诉我|"
    r"认为|觉得|以为)"
    r"(?:[:：]|$|我|你)|听说|据说|传说|我?(?:昨晚|昨天|刚才)?(?:做梦|梦)[到见]|书里|歌词|小说里|电影里|剧里)"
)
_KIN = re.compile(either(KIN))
_SUBJECT = re.compile(rf"^(?P<who>{OF_KIN}(?:[他她]们?)?|我们?|咱们?|本人|[他她])(?!的)")
_ELLIPTIC = re.compile(
    rf"^{ADVERB}(?:住在?|定居|来自|出生|毕业|就读|在|家在|老家|是|今年|\d+岁|喜欢|爱|热爱|最爱|最喜欢|更喜欢|讨厌|"
    rf"不|没有?|从不|从来|搬|换|改|学|读|做|当|从事|任职|就职|养|有|想|"
    r"打算|计划|准备|要|得|用|会|每天|每周|对|患|得了|吃|喝|戒|平时|业余|已婚|未婚|单身|离|结|目标|职业|专业|爱好|"
    r"兴趣|身高|体重|生日|电话|邮箱|工作|主修|擅长|习惯|偏爱|倾向|宁愿|宁可|"
    r"反感|受不了|避免|放弃|取消|决定|把|跳槽|入职|加入|辞|退休|转行|订|买|收养|领养)"
)
_DROPPED = re.compile(
    r"(?:正?在学习?(?![校术生科期业会位历前年者习])|住在|来自|从事|毕业于|就职于|任职于|就读于|主修|今年?\d+岁|"
    r"\d+岁(?:了|$)|单身$|已婚|未婚|刚搬[到来]|对[^，,。]{1,8}过敏$|从小(?:就)?喜欢|不吃|特别喜欢|非常喜欢|很喜欢|"
    r"最喜欢|平时喜欢)"
)
_CALLED = re.compile(
    rf"^(?:(?P<who>[\u4e00-\u9fff·]{{2,8}}|[A-Z][a-z]+)是我们?的?(?:{either(KIN)})$|"
    rf"我.{{0,8}}参加的(?P<what>[^，,。]{{3,24}})$)"
)
_ITS = re.compile(r"^(?:其|它的)(?=[\u4e00-\u9fff])")
_PRESENTS = re.compile(r"(?:有|认识|交了)(?:了)?[一几两]?[个位名](?!月|小时|星期)")
_OWN = re.compile(
    r"^(?:家在|老家|年龄|目标|职业|专业|爱好|兴趣|身高|体重|生日|电话|手机号?|邮箱|名字|性别|工作是|星座|学历|母语|"
    r"血型|籍贯|家乡|国籍)"
)


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that its speaker asserts, without what leads to them.

    What is asked, supposed, hoped, heard or quoted is left out. A clause without a subject gets that of the one before.
    "不是甲，是乙" becomes "是乙，不是甲".
    """
    whole = _WHOLE.match(sentence)
    text = whole[1] if whole else _QUOTED.sub("…", sentence)
    text = _SWAP.sub(lambda found: f"是{found['right']}，不是{found['wrong']}", _SPACE.sub("", text))
    parts = [bare for part in _cut(text) if (bare := _bare(part))]
    if parts and text.rstrip("\" '」』").endswith(("?", "？")):
        parts[-1] += "？"
    return list(_asserted(parts))


def _asserted(parts: Sequence[str]) -> Iterator[str]:
    """Those that are no question and no supposition, each with its subject."""
    subjects = _Subjects()
    skip = False
    for number, part in enumerate(parts):
        supposed = _SUPPOSED.search(part) is not None
        heard = _HEARSAY.match(part) is not None
        asked = _ASKING.search(part) is not None and not _FREE.search(part)
        if asked or supposed:
            subjects.last = ""
        if not (asked or supposed or heard or skip):
            yield subjects.given(part, first=number == 0)
        skip = (supposed or heard) and not skip


@dataclass(slots=True)
class _Subjects:
    """Of whom the clauses before were.

    Attributes:
        last: the subject of the clause before, as it was said.
        relative: who was last called by what they are to the speaker.
        named: who or what was last called by name.
    """

    last: str = ""
    relative: str = ""
    named: str = ""

    def given(self, clause: str, *, first: bool) -> str:
        """The clause with its subject in front, before a time; he and she by what they are to the speaker."""
        clause = _TOGETHER.sub("我们", clause)
        clause = _LATE_SUBJECT.sub(lambda found: found["who"] + found["when"], clause)
        if self.named and _ITS.match(clause):
            return self.named + _ITS.sub("的", clause)
        called = _CALLED.match(clause)
        self.named = (called["who"] or called["what"]) if called else self.named
        found = _SUBJECT.match(clause)
        if found is None:
            return self._carried(clause, first=first)
        who = found["who"]
        if who in {"他", "她"} and self.relative and _means(who, self.relative):
            self.last = self.relative
            return self.relative + clause[1:]
        if _KIN.search(who):
            self.relative = who
        self.last = "" if _PRESENTS.search(clause) else who
        return clause

    def _carried(self, clause: str, *, first: bool) -> str:
        if self.last and _OWN.match(clause):
            return f"{self.last}的{clause}"
        if self.last and _ELLIPTIC.match(clause):
            return self.last + clause
        if first and _DROPPED.match(clause):
            self.last = "我"
            return f"我{clause}"
        if not _ELLIPTIC.match(clause):
            self.last = ""
        return clause


def _means(pronoun: str, mentioned: str) -> bool:
    """Whether he or she may be that relative."""
    found = _KIN.search(mentioned)
    noun = KIN[found[0]][1] if found else ""
    return noun not in (MALE if pronoun == "她" else FEMALE)


def _cut(text: str) -> list[str]:
    """The parts between marks; a mark is no cut where what follows belongs to what stands before."""
    if _LISTS.match(text):
        return [text]
    parts: list[str] = []
    start = 0
    for cut in _CUT.finditer(text):
        headed = cut[0][:1] in {"：", ":"} and cut.start() - start <= _HEAD_CHARS
        if headed or _JOINED.match(text, cut.start()):
            continue
        parts.append(text[start : cut.start()])
        start = cut.end()
    parts.append(text[start:])
    return parts


def _bare(part: str) -> str:
    before = ""
    while part != before:
        before = part
        part = _LEAD.sub("", part)
    return part.strip()
