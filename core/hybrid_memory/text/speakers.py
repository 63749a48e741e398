"""Whose words a text is: its speaker, as shown and as transcripts write it, and marked places for words of others.

Marked words can neither close their place, open one, nor look like a turn: all renderers pass texts through `escaped`.
The start of a tag becomes ``‹``: unlike an entity it survives decoding, and unlike a full-width bracket normalisation.
"""

from __future__ import annotations

import re

from hybrid_memory.log.event import Event
from hybrid_memory.log.message import MARKED, Message, Origin, Role
from hybrid_memory.text import lazy
from hybrid_memory.text.tokenize import cjk_share

MOST_CHARS = 64  # the longest speaker name
CHINESE_SHARE = 0.25
"""A text with at least this share of Chinese characters is Chinese: names and code in it are often Latin."""

_CHINESE = {Origin.PERSON: "他人", Origin.TOOL: "工具", Origin.WEB: "网页", Origin.IMPORTED: "导入"}

_ROLES = frozenset("user assistant system tool operator developer human ai memory 用户 助手 系统 操作员".split())
_KANA = lazy("[\u3040-\u30ff\uac00-\ud7af]")


def is_chinese(text: str) -> bool:
    """Whether a text is Chinese, rather than English, Japanese or Korean."""
    return cjk_share(text) >= CHINESE_SHARE and 5 * len(_KANA.findall(text)) <= len(text)


def origin_name(origin: Origin, words: str) -> str:
    """The name of the origin, in the language of these words."""
    return _CHINESE[origin] if origin in _CHINESE and is_chinese(words) else origin.value


def speaker(origin: Origin, name: str, words: str) -> str:
    """The speaker of these words, on one line: by name; tools, pages and imports by what they are.

    Nobody can be shown under another role, whatever they call themselves.
    """
    name = " ".join(visible(name).split())[:MOST_CHARS]
    taken = name.casefold() in _ROLES
    if origin in MARKED:
        return origin_name(origin, words) + ("" if taken else f" ({name})")
    return origin_name(origin, words) if taken and origin in (Origin.PERSON, Origin.ASSISTANT) else name


def person_named(message: Message) -> str:
    """The person whose name a message has; empty if that is the name of a role, or of an agent, which says so."""
    agent = message.role is Role.ASSISTANT and message.origin is Origin.ASSISTANT
    return "" if agent or (message.name or "").strip().casefold() in _ROLES else message.name or ""


def speaker_of(event: Event) -> str:
    """The speaker of a message."""
    return speaker(event.origin, event.message.speaker, event.message.text)


# A speaker in front of a turn, in at most three words or six Chinese characters: not every clause before a colon.
_WORD = r"[^\W\d_\u2e80-\u9fff][\w.'’-]{0,23}"
_NAMED = lazy(rf"({_WORD}(?: {_WORD}){{0,2}}|[\u4e00-\u9fff·]{{2,6}})[:：](?!(?<=\d.)\d)\s*(?=\S)")

# "Speaker 2" and "Anna K." are names, "to do" is none, and what holds 我 or 的 is a phrase.
_PART = r"[^\W\d_a-z\u2e80-\u9fff][\w.'’-]{0,23}"
_HAN_NAME = r"(?:(?![我你他她请的是了吗这那一问帮])[\u4e00-\u9fff·]){2,6}(?<![说问道想写诉])"
_VOICE = lazy(rf"({_PART}(?: (?:{_PART}|\d{{1,3}})){{0,2}}|{_HAN_NAME})[:：](?!(?<=\d.)\d)\s*(?=\S)")
_LABELS = frozenset(
    """a address age agenda allergies also answer answers ask assistant background bad basically birthday bonus bot
    budget calculate caption caveat cc city clarification comment compare conclusion context convert correct
    correction corrections date deadline decision decisions define definition describe diet disclaimer draft
    edit edited email error eta example examples explain fact facts first fix format from fyi goal goals good
    hint hobbies idea imho imo important improve info input instruction instructions interests issue job
    language languages later likes link list location log me message name names next nickname no note notes now
    occupation ok okay option options output p.s. phone plan plans preference preferences problem profession
    prompt proofread ps question questions q quick quote re reason recap recipe remember reminder rephrase reply
    request requirement requirements result results rewrite rule rules second short so solve sorry source
    spoiler status step steps story subject summarise summarize summary system task tasks thanks thing things
    third time tip title tl;dr tldr to today todo todos tomorrow tool topic translate translation true update
    updates url user version warning well why write yes yesterday 一句话 一点 上午 下午 中午 主题 事项 今天 任务
    例如 例子 偏好 公司 其实 其次 内容 决定 助手 原因 喜欢 备注 姓名 定义 年龄 建议 待办 性别 总之 总结 户籍
    所以 技术栈 提示 提醒 摘要 放松 方案 日期 日程 时间 明天 昨天 更新 最后 标题 比如 注意 用户 电话 疑问 目标
    目的 答案 系统 结果 结论 翻译 职业 背景 补充 要求 譬如 计划 订正 记住 译文 说明 请问 输入 输出 还有 选项
    通知 邮箱 重点 链接 错误 问题 附言 首先 默认""".split()
)


def named(text: str) -> tuple[str, str]:
    """The name before a colon at the beginning of a text, if any, and the words after it."""
    found = _NAMED.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def voice(text: str) -> tuple[str, str]:
    """Like `named`, if the text before the colon looks like a person's name, not like a heading."""
    found = _VOICE.match(text)
    if found is None or not _LABELS.isdisjoint(found[1].lower().split()):
        return "", text
    return found[1], text[found.end() :]


SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔"
    "钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤温康施文牛樊葛邢"
    "安齐伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳"
)

COMPOUND_SURNAMES = "欧阳 司马 上官 诸葛 司徒 夏侯 皇甫 尉迟 公孙 慕容 长孙 令狐".split()

ESCAPED = "‹"

_LESS = (
    r"(?:[<＜﹤]|&(?:lt|LT);?|&#0*(?:60|65124|65308)(?:;|(?!\d))"
    r"|&#[xX]0*(?:3[cC]|[fF][eE]64|[fF]{2}1[cC])(?:;|(?![\da-fA-F])))"
)
_ALIKE = "[〈〈⟨‹«《⟪❮❰⦑⧼˂ᐸ≺⋖◁]"

_TAG = lazy(rf"{_LESS}(?=\s*(?:[A-Za-z_/|!?&]|[^\x00-\x7f‹]))")
"""The beginning of anything that could be read as a tag, in any script, if it is closed somewhere."""

_CLOSING = lazy(rf"(?:{_LESS}|{_ALIKE})(?=\s*(?:[/／⁄∕⧸\\]|&#|&sol))")

_ENDS = (">", "＞", "﹥", "&gt", "&GT", "&#")
_NEWLINES = lazy("\r\n?|[\x0b\x0c\x85\u2028\u2029]")

_UNSEEN = lazy(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Control characters, direction marks and zero-width characters, but not the joiners in emoji and some scripts."""

_TURN = lazy(  # a line that looks like the start of a turn in a model's chat format
    r"^(?=[ \t]*(?:[#*_]{1,6}[ \t]*)?(?:"
    r"(?:system|developer|human|user|assistant|ai|tool)(?:[ \t]+(?:prompt|message|instructions?|notice|override))?"
    r"[ \t]*[*_]{0,3}[ \t]*[:：]|系统(?:提示词?|指令|消息|通知)?[*_]{0,3}[:：]|(?:开发者|用户|人类|助手)[*_]{0,3}[:：]"
    r"|\[/?(?:inst|sys|system)\b)"
    r"|[ \t]*#{1,6}[ \t]*(?:system|instructions?|human|assistant|user|response|系统|指令|用户|助手)\b)",
    re.IGNORECASE | re.MULTILINE,
)

_RECORD = lazy(r"^(?=[ \t]*(?:- |#\d+ )?\[\d{4}-\d)", re.MULTILINE)
"""A line that looks like the start of a memory, or of a message with its time."""


def visible(text: str) -> str:
    """The text without invisible characters, with uniform line ends."""
    return _UNSEEN.sub("", _NEWLINES.sub("\n", text))


def escaped(text: str) -> str:
    """The text, safe to put into a marked place; escaping twice changes nothing more.

    A tag begins with ``‹``, a line that looks like a turn with ``> ``; invisible characters are removed. A ``<`` that
    nothing closes, as in ``if a < b:``, does not count as a tag.
    """
    text = visible(text)
    end = max(map(text.rfind, _ENDS)) + 1
    return _TURN.sub("> ", _TAG.sub(ESCAPED, text[:end]) + _CLOSING.sub(ESCAPED, text[end:]))


def marked(name: str, text: str, **named: str) -> str:
    """The text between ``<name>`` and ``</name>``, with these attributes; empty for an empty text."""
    if not text:
        return ""
    name = re.sub(r"[^\w.-]", "_", name) or "_"
    values = "".join(f' {key}="{attribute(value)}"' for key, value in named.items())
    return f"<{name}{values}>\n{escaped(text)}\n</{name}>"


_BLOCK = lazy(r"<(user_profile|summary|memory)>\n.*?\n</\1>\n*", re.DOTALL)


def without_blocks(text: str) -> str:
    """The text without what a prompt had added to it: such words, sent back, are a copy of a memory and nobody's."""
    return _BLOCK.sub("", text) if "\n</" in text else text


def attribute(value: str) -> str:
    """The words on one line, safe to put between quotes."""
    return re.sub(r'["\'<>&＜＞﹤﹥＂＇＆]', "_", " ".join(visible(value).split()))


def within_record(text: str) -> str:
    """The literal text, changed only where a line would look like the start of another record."""
    first, line, rest = text.partition("\n")
    return first + line + _RECORD.sub("> ", rest)


def within_line(text: str) -> str:
    """A multi-line text as a list entry: later lines are indented, and cannot start an entry."""
    first, *rest = visible(text).split("\n")
    return "\n".join([first, *(f"  {line}" for line in _RECORD.sub("> ", "\n".join(rest)).split("\n") if line.strip())])
