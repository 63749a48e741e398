"""Chinese values: what is kept of the words that a rule found."""

from __future__ import annotations

import re

MAX_CHARS = 60
_LIST_CHARS = 9
_END = re.compile(
    r"(?:[，,]?(?:因为|由于|所以|但是|但|不过|可是|可惜|虽然|尽管|而且|并且|然后|如果|要是|的话|的时候|这样|"
    r"所有这些|之类|等等|什么的|啥的)|[。！？!?；;…~～\n]|"
    r"[，,](?:我|你|您|他|她|它|这|那|真|很|非常|特别|尤其|就是|所以|感觉|觉得|希望|请|谢谢|可以|能|会|让|每|有|是|"
    r"也|都|不|只|最|更|却|还|已|一|在|从|对|给|被|把|比|"
    r"到|去|又|再|好|大家|今天|昨天|明天|现在|以后|以前|平时|有时)|——|--| - ).*$",
    re.DOTALL,
)
_LAST = re.compile(
    r"(?:[\s，,、。.!！?？:：;；\"'~～…（(]|了呢|呢|啊|呀|吧|哦|啦|嘛|哈|呗|噢|喔|哟|哎|吖|(?<=.)了|而已|来着|一样|"
    r"等|之类的?)+$"
)
FIRST = re.compile(
    r"^(?:[\s，,、:：\"'（(）)]|(?:是|到)(?=\S{2})|个(?![人性体别])|(?:一|某|几)(?:个|名|位|只|款|条|辆|台|部|套|种|"
    r"些|家|所|件|本|首|双|瓶|道|座|间|幢|栋|门|项|份|点儿?)"
    r"(?!人|月|星期|小时)|各种(?:各样的?)?|所有的?|许多|很多|一切)+"
)
NOTHING = re.compile(
    r"(?:我|你|您|他|她|它|这|那|此|其|自己|别人|人家|大家|咱|谁|什么|啥|哪|怎|如何|为什么|多少|几|一下|一些|一点|"
    r"东西|事情|事|地方|时候|样子|感觉|意思|"
    r"问题|办法|原因|人|有人|没有|没|不|很|太|真|非常|特别|最|更|越|比|跟|和|与|把|被|让|给|对|从|向|按|用来|得|着|"
    r"过|了|吗|呢|吧|啊|但|而|就|才|又|再|"
    r"要|会|能|可以|应该|必须|一起|一样|同样|刚|已经|正在|上述|以下|如下|前者|后者|其他|其它|另|任何|每个人|某|全部|"
    r"都)"
)
_ONLY_NOTHING = re.compile(rf"(?:{NOTHING.pattern}|的|了|吧|呢)+")
_BETWEEN = re.compile(
    r"[、，,/]|以及|还有|(?<=[\u4e00-\u9fffA-Za-z])(?:和|跟|与|及)(?![平谐睦服尚解气声室弦牌田其])|"
    r"(?<![柔温平饱祥暖缓])和(?=[\u4e00-\u9fff]{2})"
)
_CONTEXT = re.compile(r"(?:吃|喝|看|听|玩|去)?(?:这|那|上次|下次|刚才|此|该|上面|前面)")
_VERBAL = re.compile(r"[是有在被把让给]|因为|觉得|朋友一起|家人一起")


def tidy(words: str) -> str:
    """The words without marks around them and without what hangs on behind."""
    words = _LAST.sub("", _END.sub("", words.strip()))
    for mark in "\"'":
        if words.count(mark) == 1:
            words = words.replace(mark, "")
    words = words.strip(" ，,、。:：")
    return words.strip("\"'") if words[:1] == words[-1:] and words[:1] in {'"', "'"} else words


def phrase(words: str) -> tuple[str, ...]:
    """A noun or a verb phrase, without a classifier in front."""
    words = FIRST.sub("", tidy(words))
    if not words[1:] or len(words) > MAX_CHARS or NOTHING.match(words) or _ONLY_NOTHING.fullmatch(words):
        return ()
    return (words,)


def whole(words: str) -> tuple[str, ...]:
    """A phrase as it was said."""
    words = tidy(words)
    return (words,) if 1 < len(words) <= MAX_CHARS and not _ONLY_NOTHING.fullmatch(words) else ()


def things(words: str) -> tuple[str, ...]:
    """Phrases; a list of short ones is taken apart. What only this conversation knows (那个故事) is none."""
    if _CONTEXT.match(words):
        return ()
    if words.startswith("《"):
        return tuple(re.findall(r"《[^》]{1,40}》", words))
    cut = _END.sub("", words)
    parts = [part.strip() for part in _BETWEEN.split(tidy(cut)) if part and part.strip()]
    if len(parts) > 1 and all(len(part) <= _LIST_CHARS and not _VERBAL.search(part) for part in parts):
        return tuple(dict.fromkeys(value for part in parts for value in _thing(part)))
    first = re.split(r"[，,]", cut)[0]
    return _thing(first)


def _thing(words: str) -> tuple[str, ...]:
    """One thing; a single character is one too: 猫."""
    if re.search(r"的?[这那][个种些]$", tidy(words)):
        return ()
    plain = FIRST.sub("", tidy(words))
    plain = re.sub(r"^(?:的|去|在)+(?=..)", "", plain)
    words = re.sub(r"(?<=..)的[。，\s]*$", "", words)
    if re.fullmatch(r"[猫狗鱼茶酒肉雪海雨辣书花蛇鸟马糖鸡甜]", plain):
        return (plain,)
    return phrase(words)
