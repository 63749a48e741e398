"""The rules for Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hybrid_memory.facts.attributes import FAVOURITES, KINDS
from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.chinese.clauses import ADVERB, ME, SUBJECT
from hybrid_memory.facts.rules.chinese.lexicon import ANIMALS, EVENTS, KIN, LANGUAGES, either
from hybrid_memory.facts.rules.chinese.values import (
    DATE,
    HAN,
    NAME,
    OCCUPATION,
    QUANTITY,
    ailment,
    languages,
    name,
    names,
    organisation,
    pet,
    phrase,
    place,
    profession,
    stated_name,
    technologies,
    things,
    tidy,
    where,
    whole,
    work,
)
from hybrid_memory.facts.rules.rule import Pattern, Rule, Values, When

_DAY = (
    r"(?:(?:今|明|后|大后)(?:天|日|晚|早)|(?:下下|下|这|本)?个?(?:周|星期|礼拜)[一二三四五六日天末](?!次)|(?:下下|下|"
    r"这|本)个?(?:周|星期|礼拜|月)|(?:下个?月|本月|这个月)?(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号]|"
    r"(?:\d{1,2}|[一二三四五六七八九十]{1,2})月(?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号]?|"
    r"\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}日?|[一两二三四五六七八九十\d]{1,2}(?:天|周|个星期|个月)(?:之?后|"
    r"以后)|月底|年底)"
)
_CLOCK = r"(?:(?:\d{1,2}|[一二两三四五六七八九十]{1,3})(?:点(?:半|钟|一刻|三刻|[\d一二三四五十]{1,3}分?)?|[:：]\d\d))"
_PART = r"(?:凌晨|早上|早晨|上午|中午|下午|傍晚|晚上|晚)"
TIME = rf"(?:{_DAY}的?{_PART}?的?{_CLOCK}?|{_PART}{_CLOCK}|{_CLOCK})(?:左右|前后|之前|以前|前)?"
END = r"(?=$|[，,。.!！;；、])"
_BE = r"(?:就?是|为|：|:)"
_MARITAL = r"(?:已婚|未婚|单身|离异|离婚|丧偶|结婚|订婚|再婚)"
_NOUN = rf"(?P<kin>{either(KIN)})"
_WORKS = r"(?:工作|上班|任职|就职|实习|打工|教书|任教)"
_LATIN = r"(?=[^，,。]{0,30}[A-Za-z])"
_LIKE = r"(?:喜欢上了?|喜欢|喜爱|热爱|酷爱|迷上了?|爱上了?|爱(?=[吃喝看听玩打唱跑跳读写画逛旅养做下骑爬踢弹]))"
_HATE = r"(?:不(?:太|怎么|大|是很)?(?:喜欢|爱(?=[吃喝看听玩]))|讨厌|厌恶|反感|受不了|最烦|最怕|害怕)"
_VERBS = (
    r"(?:预订|预定|预约|订购|订|购买|买|打电话|打给|回复|回|寄|发|提交|交|完成|写|填|付|还|缴|续|取|领|拿|接|送|修|"
    r"洗|打扫|收拾|整理|打印|准备|联系|通知|安排|报名|申请|办|更新|升级|备份|部署|上线|发布|测试|检查|翻译|安装|搬|"
    r"换|退|取消|复习|参加|去|看|做|约|见|浇|喂|签|确认|处理|配|充|面试|体检|复查|开会)"
)
_DONE = (
    r"(?:预约|预订|提交|完成|打扫|收拾|整理|打印|准备|联系|通知|安排|报名|注册|申请|更新|升级|备份|部署|上线|发布|"
    r"合并|测试|检查|翻译|安装|确认|处理|解决|搞定|订|买|交|写|做|寄|发|付|还|缴|续|取|领|拿|接|送|修|洗|办|搬|换|退|"
    r"约|签|改|看|读|填|浇|喂)"
)
_ENDING = r"(?:完成|完毕|完|好|掉|成|到|出去?|过去?|定|妥|齐|清|回来?)"
_STYLE = r"(?:简短|简洁|简单|精简|详细|具体|正式|随意|轻松|幽默|直接|温柔|友好|专业|通俗|口语化|清楚|短|长)"
_NOT_MEANT = re.compile(r"不|没|如果|想|打算|准备|希望|你|您")
_TODAY = re.compile(
    r"今天|今晚|昨天|昨晚|明天|刚才|这次|这顿|早饭|午饭|晚饭|药$|了$|完$|饱|你|您|[他她它](?!们家)|这样|那样|感觉"
)
_HEADS = (
    r"(?:手机|电脑|笔记本|车|冰箱|密码|账号|用户名|学号|工号|车牌号?|身份证号?|护照号?|微信号?|QQ号?|网站|端口|版本|"
    r"分支|服务器|房间号?|座位号?|航班号?|车次|订单号|血型|鞋码|尺码|英文名|导师|房东|部门|项目|预算|工资|房租|时区|"
    r"幸运数字|纪念日|成绩)"
)


def rule(name: str, attribute: str | Callable[[re.Match[str]], str], pattern: str, values: Values, **more: Any) -> Rule:
    """A rule of Chinese."""
    return Rule(f"zh: {name}", attribute, Pattern(pattern), values, **more)


def _lasting(found: re.Match[str]) -> bool:
    """Whether the taste is a lasting one: not just today's, and not the listener's."""
    before = found.string[: found.start("value")]
    return not (_TODAY.search(found["value"]) or re.search(r"今天|今晚|昨天|昨晚|刚才|这次", before))


def _meant(found: re.Match[str]) -> bool:
    """Whether it is a fact, not a wish, a denial or an assumption."""
    return _NOT_MEANT.search(found[0]) is None


def _relation(found: re.Match[str]) -> str:
    return KIN[found["kin"]][0]


def favourite(kind: str) -> str:
    """The attribute for a favourite of a kind; for common ones the same name as in English rules."""
    if kind in KINDS:
        return FAVOURITES[0] + KINDS[kind]
    return "likes" if kind in {"", "事", "事情", "东西", "人", "地方"} else FAVOURITES[1] + kind


def _task(words: str) -> tuple[str, ...]:
    """The task."""
    words = re.sub(
        r"^(?:一下|要|得|去(?=[买取交寄接拿办看参])|记得|别忘了|先|再|还|在|于|之?前|以前|请|帮我|给我|我)+",
        "",
        tidy(words),
    )
    vague = re.fullmatch(r".(?:你|您|[他她它]|我|这|那|东西|什么|一下|事情?|班|家|人|学|课|饭|走|了)+", words)
    short = re.fullmatch(r"(?:交|买|订|取|还|寄|付|洗|修|浇)\S|体检|面试|开会|报名|复查", words)
    return (
        (words,) if (words[2:] or short) and not vague and not re.match(r"说|问|知道|想|谢|是|有|不|没", words) else ()
    )


def _done(words: str) -> tuple[str, ...]:
    """What was done, worded as the task: 机票订好, 把机票订好 and 订好机票 are all 订机票."""
    words = re.sub(r"^(?:我们?的?|把|终于|已经)+|了$", "", words)
    when = r"(?:给|都|全部|全|已经|终于|刚刚?|昨天|今天|今早|也)*"
    found = re.fullmatch(rf"(?P<verb>{_DONE}){_ENDING}?了?(?P<object>(?!{_ENDING}$|很多|几|多少|了).{{2,}})", words)
    found = found or re.fullmatch(rf"(?P<object>.+?){when}(?P<verb>{_DONE}){_ENDING}?", words)
    return _task(found["verb"] + found["object"]) if found else ()


def _event(words: str) -> tuple[str, ...]:
    """An event without the words around it."""
    words = re.sub(r"^(?:有|要|去|参加|开|的|一[场个次]|个|场|次|我们?|将|在|是)+(?=..)", "", tidy(words))
    return (words,) if re.fullmatch(EVENTS, words) else phrase(words)


def _exact(found: re.Match[str]) -> bool:
    """Whether the value is a name, a number or a code, not a remark."""
    value = tidy(found["value"])
    remark = re.match(
        r"什么|因为|[不很太真非特我你他她它这那好最更没在要会能被对从比越有还都已坏]|.*(?:不错|挺好|的时候)", value
    )
    return len(value) <= 24 and remark is None and re.search(r"\d|[A-Za-z]|^[\u4e00-\u9fff·]{2,14}$", value) is not None  # noqa: PLR2004


IDENTITY = (
    rule("我不叫", "name", rf"^{ME}(?:不叫|的名字不(?:是|叫))(?P<value>.+)", stated_name, stance=Stance.WRONG,
         confidence=0.9),
    rule("我叫", "name", rf"^{ME}的?(?:(?:真名|全名|姓名|大?名字?)(?:就?[是叫]|：|:)|{ADVERB}名?叫做?)(?P<value>.+)",
         stated_name, confidence=0.95),
    rule("大家叫我", "nickname", r"^(?:(?:大家|朋友们?|家人|同学们?|同事们?)?(?:都|以后|一般|平时|你?可以|就|请|"
         rf"直接)*(?:叫|称呼)我|{ME}的?(?:小名|昵称|外号)(?:就?[是叫]))(?P<value>(?![去来起帮一吃回把别不做要]).+)",
         stated_name),
    rule("岁", "age", rf"^{SUBJECT}的?{ADVERB}(?:年龄)?(?:才|快|都|已经|刚满|刚过|是|满|有|刚|：|"
         rf":)*(?P<value>{QUANTITY}\s?周?岁)(?!的|时|那|之|以|生日|起|开始|就)", whole, confidence=0.9),
    rule("生日是", "birthday", rf"^{SUBJECT}的?(?:出生日期|生日)(?:就?是|在|为|：|:)*(?P<value>{DATE}(?:[，,]?而?不是."
         r"+)?)", whole, confidence=0.95),
    rule("电话", "phone", rf"^{SUBJECT}的?(?:新|联系)?(?:手机|电话|联系方式)(?:号码?)?(?:改成了?|换成了?|"
         rf"现在)*{_BE}?(?P<value>[+\d][\d\s-]{{5,18}}\d)", whole, confidence=0.95),
    rule("邮箱", "email", rf"^{SUBJECT}的?(?:新|工作|电子)?(?:邮箱|邮件|[Ee]-?mail)(?:地址)?(?:改成了?|换成了?|"
         rf"现在)*{_BE}?(?P<value>[\w.+'-]+@[\w-]+(?:\.[\w-]+)+)", whole, confidence=0.95),
    rule("地址", "address", rf"^{SUBJECT}的?(?:家庭|收货|现在的?|新)*(?:地址|住址)(?:改成了?|现在)?(?:在|"
         rf"{_BE})(?P<value>.+)", whole, confidence=0.9),
    rule("会说", "language", rf"^{SUBJECT}{ADVERB}(?:(?:会|能|可以)?流?利?地?(?:说|讲|懂|精通)|会|"
         rf"的?母语{_BE})一?[口点些]?流?利?的?(?P<value>(?:{either(LANGUAGES)}).*)", languages, confidence=0.85),
    rule("婚姻", "marital_status", rf"^{SUBJECT}{ADVERB}是?(?P<value>{_MARITAL})的?了?(?:\S{{0,3}}年了?)?{END}", whole,
         when=When.SINCE, guard=lambda found: re.search(r"不|没|想|要|快", found[0]) is None and (found["value"] not in
         {"结婚", "订婚"} or found[0].endswith(("了", "年")))),
)  # fmt: skip

HOME = (
    rule("不住了", "home", rf"^{SUBJECT}(?:{ADVERB}不再?(?:住|生活)在?(?P<value>.+?)了?|(?:以前|之前|曾经?|过去|"
         r"原来)(?:一直)?(?:住|生活)[在过](?P<other>.+))$", place, stance=Stance.ENDED),
    rule("从甲搬到乙", "home", rf"^{SUBJECT}{ADVERB}(?:全家)?从(?P<old>.+?)(?:搬家?|移居)[到去来回至]了?(?P<value>.+)",
         where, confidence=0.9, when=When.SINCE),
    rule("搬到", "home", rf"^{SUBJECT}\S{{0,8}}?(?:搬家?|移居|移民)[到去来回至]了?(?P<value>.+)", where,
         confidence=0.85, when=When.SINCE, guard=lambda found: re.search(r"[想要会把没不]|打算|准备|东西", found[0][:
         found.start("value")]) is None),
    rule("住在", "home", rf"^{SUBJECT}家?{ADVERB}(?:(?:住|定居|居住|生活)(?:在|于)|住(?![了过的不院宿上一几两三哪处址"
         r"到])|们?的?(?:家|房子)[就现在]*在)(?P<value>.+)", where, confidence=0.85, when=When.SINCE),
    rule("老家", "hometown", rf"^{SUBJECT}(?:们?的?(?:老家|家乡|籍贯|祖籍)(?:就?是|[在：:])|{ADVERB}是?(?:来自|"
         r"出生[在于]))(?P<value>.+)", place, confidence=0.9),
)  # fmt: skip

WORK = (
    rule("不做了", "profession", rf"^{SUBJECT}(?:{ADVERB}不再?(?:是|当|做|干)一?[个名位]?(?P<value>.+?)了|(?:以前|"
         r"之前|曾经?|过去|原来)(?:是|当过?|做过?)(?:一?[个名位])?(?P<other>.+))$", profession, stance=Stance.ENDED),
    rule("职业是", "profession", rf"^{SUBJECT}(?:的?(?:职业|工作){_BE}(?:当|做)?(?P<value>[^，,。]{{1,12}})|"
         rf"{ADVERB}(?:是)?(?:做|干|搞|从事)(?P<other>[^，,。]{{2,12}}?)(?:工作|行业)?的{END})", work, guard=lambda
         found: "是" in found[0] or "从事" in found[0]),
    rule("是一名", "profession", rf"^{SUBJECT}(?:也|{ADVERB}|在\S{{2,12}}?)(?:是|当|做|担任|成为)[了着]?(?:一?[个名位]"
         r")?(?P<value>(?!不)[^，,。；;]+)", profession, confidence=0.85),
    rule("不在那里工作", "employer", rf"^{SUBJECT}{ADVERB}(?:不再?在(?P<value>.+?)(?:{_WORKS}|做|干)了?|"
         r"从(?P<other>[^，,。]+?)(?:离职|辞职|被裁|退休)了?)$", organisation, stance=Stance.ENDED, guard=lambda found:
         not re.search(r"想|要|打算|准备|没", found[0])),
    rule("从甲跳到乙", "employer", rf"^{SUBJECT}{ADVERB}从(?P<old>[^，,。]+?)(?:跳槽|跳)[到去来]了?(?P<value>[^，,。]+"
         r")", organisation, confidence=0.85, when=When.SINCE, guard=_meant),
    rule("在哪里工作", "employer", rf"^{SUBJECT}(?:{ADVERB}(?:是)?在(?P<value>[^，,。；;]{{2,24}}?)(?:{_WORKS}(?![室人"
         rf"狂狗])|(?:当|做|担任)(?=\S{{0,8}}{OCCUPATION}))|{ADVERB}(?:跳槽|入职|加入|就职)(?:到|去|了|于)+(?P<other>["
         rf"^，,。]+?(?<![群会])){END})", organisation, when=When.SINCE, guard=lambda found: re.search(
         r"想|要|打算|准备|不|没|希望|以前|曾", found[0]) is None),
    rule("换了工作", "employer", r"(?:换了?个?新?工作|跳槽|换公司)了?[，,。 ]*我?(?:现在|目前|如今)?是?在"
         r"(?P<value>[^，,。；;]{2,12}?)(?:做|干|搞|当|写)", organisation, confidence=0.85, when=When.SINCE,
         sentence=True, guard=_meant),
    rule("不用了", "technology", rf"^{ME}{ADVERB}(?:不再用|不再使用|不用|弃用了?|停用了?)(?P<value>{_LATIN}[^，,。]+?)"
         r"了?$", technologies, stance=Stance.ENDED, guard=lambda found: found.string.endswith("了") or "不再" in
         found[0]),
    rule("从甲换到乙", "technology", rf"^(?:{ME}|后端|前端|项目|数据库)\S{{0,4}}?{ADVERB}[从把](?P<old>{_LATIN}[^，,。"
         rf"]+?)(?:换|改|迁移?|切换?|转|升级)[成到为用至]了?(?P<value>{_LATIN}[^，,。]+)", technologies,
         when=When.SINCE, guard=_meant),
    rule("用技术", "technology", rf"^(?:{ME}|{ME}?的?(?:后端|前端|数据库|项目|系统|服务|网站|代码|技术栈|"
         rf"编辑器))(?:后端|前端)?{ADVERB}(?:用的?是?|使用的?是?|会写?|熟悉|擅长|精通|掌握|是用|是)(?P<value>{_LATIN}["
         r"^，,。]*)", technologies, guard=_meant),
)  # fmt: skip

PEOPLE = (
    rule("我妻子叫", _relation, rf"^(?:我们?|咱)(?:家|的)?(?:有)?(?:一[个位名])?{_NOUN}[他她]?的?(?:(?:名字)?(?:就?叫"
         rf"做?|名叫)|名字{_BE})(?P<value>.+)", stated_name, confidence=0.95, guard=lambda found: _relation(found) !=
         "relative"),
    rule("有个哥哥叫", _relation, rf"^{ME}家?{ADVERB}(?:有|认识|生了)(?:[一两二三四五\d]?[个位名])?{_NOUN}[，,]?[他她]"
         r"?(?:分别)?(?:叫做?|名叫)(?P<value>.+)", names, confidence=0.9),
    rule("我妻子小丽", _relation, rf"(?:^|[，,和跟与])我们?(?:家|的)?{_NOUN}(?P<value>{NAME})(?=$|"
         r"[，,。是在也今都很喜爱有说和跟与的去来做住会从最刚养叫给])", name, confidence=0.75, guard=lambda found: not
         re.search(r"[是在也都很喜爱有说去来做住会最刚养叫给今这那什了着吃想要]$", found["value"])),
    rule("小丽是我妻子", _relation, rf"^(?P<value>{NAME})(?:就|也)?是我们?的?(?:最好的|亲)?{_NOUN}(?=$|"
         r"[，,。了啊呢吧])", name, confidence=0.85),
    rule("有两个孩子", _relation, rf"^{ME}家?{ADVERB}(?:有|生了)(?P<value>[一两二三四五\d][个对]?(?:双胞胎|"
         r"\d+岁的)?(?P<kin>孩子|儿子|女儿|哥哥|弟弟|姐姐|妹妹))(?=$|[，,。和了])", whole, confidence=0.75),
    rule("有只猫叫", "pet", rf"(?P<value>(?:{ANIMALS})[，,]?它?(?:的?名字)?(?:叫做?|名叫|取名叫?)[^，,。；;]{{1,10}})",
         pet, guard=lambda found: re.search(r"我|咱|家里", found.string[: found.start()]) is not None),
    rule("养了一只猫", "pet", rf"^{ME}家?里?{ADVERB}(?:有|养了?|领养了?)(?P<value>[一两二三四五\d][只条匹]\S{{0,4}}?(?"
         rf":{ANIMALS}))", whole),
)  # fmt: skip

HEALTH = (
    rule("不再过敏", "allergy", rf"^{SUBJECT}{ADVERB}(?:(?:不再?|已经不)对(?P<value>[^，,。]+?)过敏|对(?P<other>[^，,"
         r"。]+?)已?经?不再?过敏了)", things, stance=Stance.ENDED, confidence=0.85),
    rule("不过敏", "allergy", rf"^{SUBJECT}{ADVERB}对(?P<value>[^，,。]+?)并?不过敏的?{END}", things,
         stance=Stance.WRONG, confidence=0.85),
    rule("对某物过敏", "allergy", rf"^{SUBJECT}{ADVERB}(?:对(?P<value>[^，,。；;不没]+?)(?:都|会|有点|非常|严重|"
         rf"也)*过敏(?!性)|(?:有|是)?(?P<other>{HAN}{{2,6}}?(?<![对会肤])(?<!容易))过敏{END})", things, confidence=0.9,
         guard=lambda found: re.search(r"不|没|怕", found[0]) is None),
    rule("吃药", "medicine", rf"^{SUBJECT}{ADVERB}(?:每天|天天|每晚|需要|要|得|在)*(?:吃|服用|打|注射)(?P<value>[^，,"
         r"。；;了过]{0,6}(?:药(?!店|房)|胰岛素|双胍|地平|他汀|洛尔|沙坦|普利))", phrase, confidence=0.85, guard=lambda
         found: not re.search(r"没|不|感冒药|今|昨|刚", found[0])),
    rule("有病", "condition", rf"^{SUBJECT}{ADVERB}(?:有|患有?|得了|被?(?:确诊|诊断)[为出了是]*|患上了?|"
         r"查出[来了有]*)?(?P<value>.+)", ailment, confidence=0.85, guard=lambda found: re.search(
         r"没|不是|朋友|预防|怕|药|如果", found[0]) is None and len(found[0]) <= 20), # noqa: PLR2004,
    rule("不再吃素", "diet", rf"^{SUBJECT}{ADVERB}(?:不再?|已经不)(?P<value>吃素|素食|纯素|生酮)了?$", whole,
         stance=Stance.ENDED),
    rule("吃素", "diet", rf"^{SUBJECT}{ADVERB}(?:(?:是|在|坚持|改|开始|成为|只)*)(?:一?[个名位])?(?P<value>吃素|"
         r"素食者|素食主义者|纯素|生酮饮食|清真饮食|低碳饮食)的?了?", whole, confidence=0.85, when=When.SINCE,
         guard=_meant),
    rule("不吃", "avoids", rf"^{SUBJECT}{ADVERB}(?:(?:从来?|几乎|都|完全)*(?:不能|不会|不)(?:再|敢|太能|"
         r"太)?[吃喝碰](?P<value>(?![了下饱完惯起得到]).+)|(?:会|要|想|得|尽量)*避免(?P<other>.+))", things,
         guard=lambda found: found["value"] is None or _lasting(found)),
)  # fmt: skip

TASTES = (
    rule("不再喜欢", "likes", rf"^{SUBJECT}{ADVERB}(?:(?:不再|再也不|已经不|不(?=[^，,。]*了$))(?:那么|太|"
         rf"很)?{_LIKE}(?P<value>.+?)了?$|(?:以前|之前|曾经?|小时候)(?:很|最)?{_LIKE}(?P<other>.+))", things,
         stance=Stance.ENDED, confidence=0.85),
    rule("没兴趣了", "interest", rf"^{SUBJECT}{ADVERB}对(?P<value>[^，,。]+?)已?经?(?:没有?|失去了?|不再?感)兴趣了",
         things, stance=Stance.ENDED),
    rule("最喜欢的某是", lambda found: favourite(found["kind"]), rf"^{SUBJECT}{ADVERB}最(?:喜欢|爱)[吃喝看听玩]?的(?P<"
         rf"kind>{HAN}{{0,6}}?)(?:就|一直|还)*{_BE}(?P<value>.+)", things, single=True, confidence=0.85),
    rule("是我最喜欢的", lambda found: favourite(found["kind"] or ""), r"^(?P<value>(?![这那它他她你我其不])[^，,。是"
         rf"]{{2,20}}?)(?:就|一直|也)?是{ME}(?:最(?:喜欢|爱)[吃喝看听玩]?的(?P<kind>{HAN}{{1,6}})?|的最爱){END}",
         things, single=True, confidence=0.75),
    rule("更喜欢", "prefers", rf"^(?:(?:比起|相比|和)[^，,。我]{{1,12}}?(?:相比|比)?)?{SUBJECT}{ADVERB}(?:更加?|"
         rf"还是更?|相对更?)(?:喜欢|爱|偏爱|愿意|习惯)(?P<value>.+)|^{ME}{ADVERB}(?:偏爱|偏好|倾向于?|宁愿|"
         r"宁可)(?P<other>.+)", things, confidence=0.85),
    rule("讨厌", "dislikes", rf"^{SUBJECT}{ADVERB}(?:{_HATE}(?P<value>(?!的[是就人话时]|得|自己|过).+)|"
         r"对(?P<other>[^，,。]+?)(?:完全|一点|都|也|没什么|没有?|不太|不)+(?:感兴趣|兴趣)$)", things, guard=lambda
         found: found["value"] is None or _lasting(found)),
    rule("兴趣", "interest", rf"^{SUBJECT}(?:的?(?:业余|主要)?(?:兴趣爱好|爱好|兴趣)(?:主要|一直)*(?:{_BE}|有|"
         rf"包括)(?P<value>(?!不|什么|很|没|多).+)|{ADVERB}对(?P<other>[^，,。]+?)(?:很|非常|特别|比较|都|最|有|"
         r"不)*感兴趣)", things, guard=lambda found: "不感" not in found[0] and "没" not in found[0]),
    rule("喜欢", "likes", rf"^{SUBJECT}{ADVERB}(?:会|最)*{_LIKE}(?P<value>(?!的|过|上你|得|人$|一个人$).+)", things,
         guard=_lasting),
)  # fmt: skip

TASKS = (
    rule("不用做了", "todo", rf"^(?:{ME})?{ADVERB}(?:(?:不用|不需要|不必)(?:再)?(?:去)?(?P<value>{_VERBS}[^，,。]{{1,2"
         r"0}?)了|(?:不用|别|不要)再?提醒我(?P<other>.+?)了?)$", _task, stance=Stance.DROPPED, confidence=0.75),
    rule("取消了", "appointment", rf"^(?:{ME})?{ADVERB}(?:(?:取消|推掉|退掉)了(?P<value>[^，,。]*?{EVENTS})|"
         rf"(?P<other>[^，,。我]*?{EVENTS})(?:已经|被|都|临时)*(?:取消|推掉|泡汤|不开|不去)了)", _event,
         stance=Stance.DROPPED, confidence=0.85),
    rule("做好了", "todo", rf"^(?:{ME})?{ADVERB}(?P<value>把(?![^，,。]*从)[^，,。；;的了]{{1,16}}?{_DONE}{_ENDING}?了"
         rf"|(?:已经|终于|刚刚?|总算)*{_DONE}{_ENDING}了[^，,。了的是这那们]{{2,10}}?|(?![你他她都才每这那])[^，,。了"
         rf"我]{{2,10}}?(?:{_DONE}{_ENDING}|(?:已经|都)(?:交|付|还|寄|发|买|订|办|缴|提交|完成))了)了?{END}", _done,
         stance=Stance.DONE, confidence=0.75, guard=lambda found: re.search(r"[吃喝想听说爱不没会能要搬]|准备好|看到|"
         r"买到|换成|改成|变|人|书|电影|剧", found["value"]) is None),
    rule("提醒我", "todo", r"^.{0,14}?(?:提醒(?:一下)?我|帮我记(?:得|着|一下)|别让我忘了|待办[：:]?|(?:要|一定要?|"
         r"请)*(?:记得|别忘了?|不要忘记?了?))(?:要|在|到时候|，|：|:)*(?P<value>.+)", _task, confidence=0.9,
         when=When.DUE, guard=lambda found: re.search(r"不用|谢|[你他她]|经常|上次|以前|过$", found.string[:
         found.start("value")].replace("别让我忘", "")) is None and re.search(r"你说|上次|[过吗的]$|谁", found["value"])
         is None),
    rule("加到清单", "todo", r"^(?:请|帮我)?把(?P<value>[^，,。]+?)(?:加到|加进|放进|写进)(?:我的)?(?:待办|清单|"
         r"购物清单|日程|列表)", phrase, when=When.DUE),
    rule("得做", "todo", rf"^(?:{TIME})?之?前?{ME}?(?:{TIME}|还|也|先|就|都)*(?:必须|得(?![到了意知])|需要|"
         rf"要(?![求是不么]))(?P<value>(?:{TIME}|在|前|去|[给跟和把][^，,。]{{1,6}}?)*{_VERBS}[^，,。]+)", _task,
         confidence=0.65, when=When.DUE, guard=lambda found: re.search(r"你|您|[他她它]|想|推荐|不|没|怎么|昨天|了$|"
         r"如果|希望|过|问题", found[0]) is None and (re.search(TIME, found[0]) is not None or re.search(
         r"得|必须|需要", found[0]) is not None)),
    rule("改期", "appointment", rf"^(?:我们?的?|那个)?(?P<value>[^，,。我]{{0,12}}?{EVENTS})(?:已经|被|又|临时|"
         r"时间)*(?:改|推迟|延期|提前|挪|调整|定)[到至为成在]了?(?P<time>.+)", _event, confidence=0.85,
         when=When.APPOINTED),
    rule("有个安排", "appointment", rf"^(?:{ME})?(?P<time>{TIME})(?:{ME})?(?:还|也|就|要|会|得)*(?:(?:[和跟与][^，,。]"
         rf"{{1,8}}?)?(?:有|开|约了?|预约了?|订了?|参加)了?(?:一?[个场次])?(?P<value>[^，,。]{{0,14}}?{EVENTS}){END}|"
         r"(?P<other>(?:[和跟与陪][^，,。]{1,8})?(?:去|看|见|面试|考|开|接|送|出差|搬家|出发|参加|拔)[^，,。]{1,24}))",
         _event, confidence=0.7, when=When.APPOINTED, guard=lambda found: re.search(r"没|不|了$|过$|如果|昨|上[周个]|"
         r"去年|每|刚|你|怎么|吧$|想|天气|觉得|再见|好", found.string) is None),
    rule("决定", "decision", rf"^(?:{ME}|团队|全家|最后|最终){ADVERB}(?:最终|最后|终于)?(?:决定(?:好)?|商定|"
         r"选定)[了要去用选是]*(?P<value>[^，,。]+)", whole, confidence=0.75, guard=lambda found: re.search(
         r"还没|没有|这|那|怎么|哪|什么|是否|[你他她]", found[0]) is None),
    rule("放弃了", "goal", rf"^{ME}{ADVERB}(?:放弃了?|不再?打算|不再?想)(?P<value>.+?)(?:的(?:目标|梦想|计划))?了?$",
         whole, stance=Stance.DROPPED, guard=lambda found: re.search(r"了$|目标|梦想|计划", found[0]) is not None),
    rule("目标是", "goal", rf"^{SUBJECT}的?(?:今年的?|最大的?|新的?|人生)*(?:目标|梦想|理想|愿望)(?:就|"
         rf"一直)*{_BE}(?:能|想|要)*(?P<value>.+)", whole, confidence=0.85),
    rule("想成为", "goal", rf"^我{ADVERB}(?:想要?|希望|梦想|立志|打算|计划|要)(?:能|将来)*(?P<value>(?:明年|今年|"
         r"下个?月)?(?:成为|当上?|考[研博公上]|学会|开一[家个]|创业|留学|移民|减肥|减到|跑完|攒|存够|买房|买车|戒|"
         r"搬到)[^，,。]*)", whole, confidence=0.75, guard=lambda found: re.search(r"不|没|如果|你", found[0]) is None),
)  # fmt: skip

INSTRUCTIONS = (
    rule("回答简短", "communication_style", rf"^(?:请|以后|今后|{ME}?希望你?|你的?|都|能|尽量)*(?P<value>(?:用(?:"
         rf"{either(LANGUAGES)}|大白话|列表|{_STYLE}的?(?:语言|语气|句子))来?(?:回答|回复|说|解释|交流)我?|(?:回答|"
         rf"回复|答案|说话|解释|语气)(?:要|请|尽量|再|更)*{_STYLE}一?[点些]?|{_STYLE}[点地](?:回答|回复|解释)|说重点|"
         r"有话直说|(?:不要|别)再?(?:用|加|说)?(?:表情符号|表情|emoji|术语|废话|客套话|长篇大论))(?:就好|就行)?)$",
         whole, confidence=0.85),
    rule("以后都", "instruction", r"^(?:请|记住)?(?:以后|今后|从现在起|从今天起|一律)[，,]?(?:请|你)*(?P<value>[^，,"
         r"。我]{0,14}?(?:都|请|要|必须|一律|统一|不要|别)*(?:用|使用|加|附上|按)[^，,。]{1,30})$", whole),
    rule("我的某是", lambda found: found["about"], rf"^{ME}家?的?(?P<about>{_HEADS})(?:现在|目前)*(?:{_BE}|叫|换成了?|"
         r"改成了?)(?P<value>[^，,。]+)", lambda words: (re.sub(r"的$", "", tidy(words)),), single=True,
         confidence=0.75, guard=_exact),
)  # fmt: skip

_NO = r"(?!没|不|无|你|什么|这|那|还没|暂时)"
_VALUE = r"(?P<value>[^，,。！!？?]+?)"


def _answer(name: str, attribute: Any, question: str, answer: str, values: Values, **more: Any) -> Rule:
    """A rule for a short answer, whose meaning depends on the question before it."""
    lead = (
        r"^(?:(?:嗯+|哦|啊|呃|好的?|是的?|有的?|对|其实|目前|现在|我|我的|就|大概|最|叫|住在?|在|来自|老家在?|是)"
        r"[，,！!\s]*)*"
    )
    asked = Pattern(rf"(?:{question})[^。！？?!]{{0,12}}[？?]\W*$")
    return rule(f"answer, {name}", attribute, f"{lead}{answer}", values, after=asked, **more)


ANSWERS = (
    _answer("名字", "name", r"你(?:的名字)?叫什么|怎么称呼|你的名字|贵姓", rf"{_NO}{_VALUE}{END}", stated_name,
            guard=lambda found: "叫我" not in found[0]),
    _answer("住处", "home", r"你(?:现在)?住(?:在)?(?:哪|什么地方)|你(?:现在)?在哪(?:个城市|里住|座城市)",
            rf"{_NO}{_VALUE}{END}", where),
    _answer("老家", "hometown", r"你(?:是)?(?:哪里人|哪儿人|来自哪|从哪)|你的?老家在?哪", rf"{_NO}{_VALUE}[人的]?{END}",
            where),
    _answer("职业", "profession", r"你(?:是)?做什么(?:工作|的|职业)?|你的(?:职业|工作)是|什么工作",
            rf"{_NO}(?:做|当)?(?:一?[个名位])?{_VALUE}{END}", work),
    _answer("年龄", "age", r"你(?:今年)?多大|你几岁|你的年龄", rf"(?:今年)?(?P<value>{QUANTITY}岁?)(?=$|[，,。！!了])",
            whole),
    _answer("生日", "birthday", r"你的?生日|你(?:是)?(?:什么时候|哪天)(?:出生|过生日)", rf"(?P<value>{DATE})", whole),
    _answer("爱好", "interest", r"(?:什么|哪些)(?:兴趣|爱好)|平时(?:都)?喜欢做什么", rf"{_NO}(?:喜欢|爱)*(?P<value>[^"
            r"。！!？?]+)", things),
    _answer("最喜欢的", lambda asked: favourite(asked["kind"]), r"你最(?:喜欢|爱)[吃喝看听玩]?的(?P<kind>[\u4e00-\u9f"
            r"ff]{1,6}?)是(?:什么|哪|谁)", rf"{_NO}{_VALUE}{END}", things, single=True),
    _answer("过敏", "allergy", r"对什么.{0,6}过敏|过敏(?:的东西|史|源)?吗", rf"{_NO}(?:对)?{_VALUE}(?:过敏)?{END}",
            things),
)  # fmt: skip

RULES = (*ANSWERS, *INSTRUCTIONS, *TASKS, *PEOPLE, *IDENTITY, *HOME, *WORK, *HEALTH, *TASTES)
