"""Recognizes texts that give orders to an assistant, by set phrases of English and Chinese.

There are few patterns, all explicit: "please call me back" or "you should test it" are not orders to an assistant.
Results are only counted and shown; that other people's words have no authority does not depend on this.
"""

from __future__ import annotations

import re
import unicodedata

from hybrid_memory.text.marks import visible
from hybrid_memory.text.patterns import lazy

MAX_CHARS = 100_000
"""Of a longer text, this much at both ends is read."""

_WE = r"(?:instructions?|prompts?|rules?|guidelines?|directions?|polic(?:y|ies)|safeguards?|restrictions?)"
_ASSISTANT = r"(?:(?:ai|llm|language) (?:assistant|model|agent|system)s?|ai|llms?|assistants?|chat ?bots?|copilots?)"


def _phrase(needs: tuple[str, ...], *parts: str) -> tuple[tuple[str, ...], re.Pattern[str]]:
    return needs, lazy("".join(parts))


_PATTERNS = (
    _phrase(
        ("ignore", "disregard", "forget", "override", "bypass", "skip"),
        r"\b(?:ignore|disregard|forget|override|bypass|skip)\b[^.\n]{0,30}\b",
        rf"(?:previous|prior|above|earlier|preceding|all|any|your|system|other|safety)\b[^.\n]{{0,30}}\b{_WE}\b",
    ),
    _phrase(
        ("system", "security", "developer", "admin", "operator"),
        r"\b(?:system|security|developer|admin\w*|operator) (?:policy|prompt|instructions?|message|notice|override|",
        r"directive|update|command|alert)s?\s?[:!]",
    ),
    _phrase(
        ("assistant", "ai", "llm", "language model", "bot", "copilot"),
        rf"(?:\b{_ASSISTANT}(?: \w+){{0,3}} (?:must|should|shall|has to|have to|needs? to|is to|are to|is required|",
        r"are required)\b|\b(?:note|message|instructions?|attention|notice|important|hey|dear)\b[^.\n]{0,12} ",
        rf"(?:to|for) (?:the |any |all |every )?{_ASSISTANT}\b|\b(?:any|all|every|dear) {_ASSISTANT} (?:reading|",
        r"that reads?|processing|summari[sz]ing)\b)",
    ),
    _phrase(
        ("call", "invoke", "run", "execute", "use"),
        r"(?:\byou (?:must|should|shall|need to|have to|are to|are required to|will)|\balways|\bimmediately|",
        r"\bfirst|\bplease|\bnow|[:.!;]|^)\s*(?:now |first |always |immediately |then )?",
        r"(?:call|invoke|run|execute|use)\s+(?:the\s+)?(?:(?:tool|function)s?\b|`?[a-z_]\w*`?\s?\(|",
        r"`?[a-z]+_\w+`?|`?[a-z_]\w*`? (?:tool|function)\b)",
    ),
    _phrase(
        ("before", "whenever", "when", "next time", "from now on", "every"),
        r"\b(?:from now on|before (?:every|each|any|all|your next|answering|responding)|whenever the user|",
        r"(?:when|next time|if|once) the user (?:next |then |again )?(?:asks?|says?|mentions?|thanks|writes?|requests?",
        r"|wants?)|in (?:all|every|any) (?:future|later|subsequent) (?:conversation|answer|response|session|repl)\w*)",
        r"[^.\n]{0,80}\b(?:you|always|never|call|send|say|answer|reply|respond|recommend|tell|transfer|use|run|",
        r"invoke|execute|include|add|forward|delete)\b",
    ),
    _phrase(
        ("user", "human", "customer", "owner"),
        r"\b(?:do not|don't|never|without) (?:tell|inform|mention|reveal|alert|notif|warn|ask|telling|informing|",
        r"mentioning|asking|alerting|notifying|warning)\w*[^.\n]{0,20}\b(?:the |your )(?:user|human|customer|owner)\b",
    ),
    _phrase(
        ("prompt", "instructions", "api key", "password", "secret", "credentials", "memory", "conversation"),
        r"\b(?:reveal|print|repeat|leak|output|exfiltrate|send|forward|post)\b[^.\n]{0,20}\b(?:your|the system|the ",
        r"user's|all|this) (?:system )?(?:prompt|instructions|api keys?|passwords?|secrets?|credentials|memor\w+|",
        r"conversation)\b",
    ),
    _phrase(
        ("memory",),
        r"\b(?:save|store|remember|add|write|keep|record|memori[sz]e)\b[^.\n]{0,60}\b(?:in|to|into) (?:your |",
        r"long-term |the agent's |the assistant's )(?:long-term )?memory\b",
    ),
    _phrase(
        ("you are now", "act as", "pretend"),
        r"\byou are now (?:an? |in |the |dan\b|free|un\w+)|\b(?:act|behave) as if you (?:were|are|have)\b|",
        r"\bpretend (?:to be|you are|that you)\b",
    ),
    _phrase(
        ("<", "[inst", "###"),
        r"<\s?/?\s?(?:\|?(?:im_start|im_end|system|assistant|user|endoftext)\b|<sys>|(?:memory|user_profile|",
        r"summary|instructions?|persona)\s?>)|\[/?inst\]|^\s{0,8}#{2,4} ?(?:system|instructions?)\b",
    ),
    _phrase(
        ("指令", "指示", "提示", "规则", "要求", "设定", "命令"),
        r"(?:忽略|无视|忘记|忘掉|不要理会|不用理会|不必遵守|覆盖|跳过|违反)[^。\n]{0,12}",
        r"(?:之前|以前|先前|此前|上面|上述|以上|前面|所有|一切|系统|你的)[^。\n]{0,8}(?:指令|指示|提示|规则|要求|设定|命令)",
    ),
    _phrase(
        ("系统", "安全", "管理员", "开发者"),
        r"(?:系统|安全|管理员|开发者)(?:指令|提示词?|消息|公告|策略|政策|通知|覆盖|命令|更新)\s?[:!]",
    ),
    _phrase(
        ("助手", "助理", "ai", "模型", "机器人", "智能体"),
        r"(?:助手|助理|\bai|人工智能|模型|机器人|智能体)(?:们)?(?:都|现在)?(?:必须|应当|应该|务必|需要立即|须|得先|请)",
    ),
    _phrase(
        ("你", "您", "务必", "立即", "必须", "请"),
        r"(?:(?:你|您)(?:现在|都|先)?(?:必须|务必|一定要|要|应该|应当|需要|得)|务必|立即|必须|请(?:先|立即|务必)?)(?:先|立即|马上)?",
        r"(?:调用|执行(?:工具|函数|命令)|转账|汇款|把[^。\n]{1,30}(?:发送|转发|发|转)(?:给|到|至))",
    ),
    _phrase(
        ("从现在", "今后", "以后", "每次", "下次", "当用户", "用户"),
        r"(?:从现在(?:开始|起)|(?:今后|以后|在?每次|下次)[^。\n]{0,10}(?:回答|回复|对话|答复)(?:之?前|时|中|里)?|(?:当|如果|一旦|下次)用户",
        r"[^。\n]{0,16}(?:时|后|就)?)[^。\n]{0,12}(?:调用|必须|务必|都要|都得|发送|转账|转发|推荐|执行|回答|回复说|告诉)",
    ),
    _phrase(
        ("用户", "主人", "客户"),
        r"(?:不要|别|切勿|勿|不得|无需|不必|不用|禁止)(?:再)?(?:告诉|告知|通知|提醒|询问|透露给|让|向)[^。\n]{0,3}(?:用户|主人|客户)",
    ),
    _phrase(
        ("提示词", "系统提示", "密钥", "密码", "记忆"),
        r"(?:泄露|输出|打印|复述|说出|发送|公开)[^。\n]{0,6}(?:你的|系统|用户的)[^。\n]{0,4}(?:提示词?|指令|密钥|密码)|",
        r"(?:(?:记住|保存|记录|存)[^。\n]{0,20}(?:到|在)|[存写记]进|[存写]入)[^。\n]{0,4}(?:长期记忆|你的记忆|记忆库|记忆中)",
    ),
    _phrase(("你现在是", "你将扮演", "请扮演", "假装"), r"你现在是|你将扮演|请扮演|假装(?:你|自己)是"),
)
"""Each pattern, for lower-case text, with hints of which a text must have one to be searched."""

_ASCII_PATTERNS = tuple(one for one in _PATTERNS if any(word.isascii() for word in one[0]))

_ALIKE = str.maketrans("аеіјоорсухѕԁһԛԝɡοανρτυικ", "aeijoopcyxsdhqwgoavptuik")
"""Letters of other scripts that look like Latin ones."""

_LATIN_WORD = lazy(r"[a-z]*(?:[a-z][а-яѐ-џԀ-ԯα-ωɡ]|[а-яѐ-џԀ-ԯα-ωɡ][a-z])[a-zа-яѐ-џԀ-ԯα-ωɡ]*")


def suspicious(text: str) -> bool:
    """Whether a text gives orders to an assistant, as only the operator and the user may."""
    if len(text) > 2 * MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n{text[-MAX_CHARS:]}"
    plain = unicodedata.normalize("NFKC", visible(text)).lower().replace("\u200c", "").replace("\u200d", "")
    if plain.isascii():
        return any(_stands(needs, pattern, plain) for needs, pattern in _ASCII_PATTERNS)
    plain = _LATIN_WORD.sub(lambda word: word[0].translate(_ALIKE), plain)
    return any(_stands(needs, pattern, plain) for needs, pattern in _PATTERNS)


def _stands(needs: tuple[str, ...], pattern: re.Pattern[str], plain: str) -> bool:
    for word in needs:  # this runs for every pattern on every text; a generator takes twice as long
        if word in plain:
            return pattern.search(plain) is not None
    return False
