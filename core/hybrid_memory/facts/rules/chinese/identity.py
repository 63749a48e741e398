"""Rules of Chinese about who somebody is and where they live."""

from __future__ import annotations

import re

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.chinese.kinds import (
    DATE,
    QUANTITY,
    languages,
    place,
    plausible_name,
    quantity,
    stated_name,
    where,
)
from hybrid_memory.facts.rules.chinese.lexicon import COUNTRIES, LANGUAGES, PLACES, either
from hybrid_memory.facts.rules.chinese.values import whole
from hybrid_memory.facts.rules.chinese.wording import ADVERB, END, KINSMAN, ME, OF_KIN, SUBJECT, rule
from hybrid_memory.facts.rules.rule import When, always

_MARITAL = r"(?:已婚|未婚|单身|离异|离婚|丧偶|结婚|订婚|再婚|新婚)"

NAME = (
    rule("我不叫", "name", rf"^{ME}(?:不叫|的名字不(?:是|叫))(?P<value>.+)", stated_name, "不叫", "名字不",
         stance=Stance.WRONG, confidence=0.9),
    rule("我的名字是", "name", rf"^{ME}的?(?:真名|全名|姓名|大名|名字|中文名)(?:就?[是叫]|：|:)(?P<value>.+)",
         stated_name, "名", confidence=0.95),
    rule("小名", "nickname", rf"^{ME}的?(?:小名|昵称|外号|绰号|网名|笔名|花名)(?:就?[是叫]|：|:)(?P<value>.+)",
         stated_name, "名", "昵称", "外号", "绰号"),
    rule("大家叫我", "nickname", r"^(?:大家|朋友们?|家人|同学们?|同事们?|他们|别人)?(?:都|以后|一般|平时|喜欢|总是|"
         r"习惯|你?可以|就|请|直接)*(?:叫|喊|称呼)(?:我|俺)(?:做|为)?(?P<value>.+)", stated_name,
         "叫我", "喊我", "称呼我", confidence=0.8, guard=lambda found: not re.match(r"(?:去|来|起|帮|一起|吃|回|把|"
              r"别|不|做|要)", found["value"])),
    rule("我叫", "name", rf"^(?:我|本人|俺){ADVERB}名?叫做?(?P<value>.+)", stated_name, "叫", confidence=0.95),
    rule("我是李娜", "name", r"^我是(?P<value>[\u4e00-\u9fff·]{2,16})$", plausible_name, "是", confidence=0.6,
         guard=lambda found: re.search(r"[人的座队员师生家者手长迷控痴货党族类型性岁你我他她它不好这那第]$|"
              r"[的了不很]|主义", found["value"]) is None),
    rule("他叫", "name", r"^(?P<who>[他她])的?(?:名字)?(?:名叫|就?叫做?|名字是)(?P<value>.+)", stated_name, "叫",
         "名字", confidence=0.8),
)  # fmt: skip

AGE = (
    rule("岁", "age", rf"^{SUBJECT}的?{ADVERB}(?:年龄|岁数)?(?:才|快|都|已经|刚满|刚过|正好|刚好|是|满|有|刚|快要|"
         rf"马上|将近|差不多|大概|：|:)*(?P<value>{QUANTITY}\s?(?:周)?岁)"
         r"(?!的?时候?|那年|那会|之前|以前|以后|生日|起|开始|就|[以之]|左右的|的)", quantity, "岁", confidence=0.9),
    rule("年龄是", "age", rf"^{SUBJECT}的?(?:年龄|年纪|岁数)(?:今年|现在)?(?:是|：|:)?(?P<value>{QUANTITY})岁?{END}",
         quantity, "年龄", "年纪", "岁数", confidence=0.9),
    rule("今年28", "age", rf"^{SUBJECT}{ADVERB}今年(?:刚好|正好|已经|都|才)*(?P<value>\d\d)了?{END}", quantity, "今年",
         confidence=0.8),
    rule("生日是", "birthday", rf"^{SUBJECT}的?(?:一个\w{{2}})?(?:的|过)?(?:出生日期|生日)(?:那天)?(?:就?是|在|为|"
         rf"：|:|都?过)*在?(?P<value>{DATE}(?:[，,]?(?:而|并)?不是.+)?)", whole, "生日", "出生日期", confidence=0.95),
    rule("生于", "birthday", rf"^{SUBJECT}{ADVERB}(?:是|出?生于|生在)?在?(?P<value>{DATE})(?:出生|生的|生人|的?生日)?",
         whole, "生", confidence=0.85,
         guard=lambda found: re.search(r"出?生于|生在|出生|生的|生人|生日", found[0]) is not None),
    rule("出生年", "birth_year", rf"^{SUBJECT}{ADVERB}(?:是|出生于|生于)*(?P<value>(?:19|20)\d\d年)(?:出生|生的|"
         rf"生人)?", whole, "生", single=True,
         guard=lambda found: "生" in found[0]),
    rule("性别", "gender", rf"^{SUBJECT}{ADVERB}(?:的?性别)?是?一?个?(?P<value>男生|女生|男孩子?|女孩子?|男性|女性|"
         rf"男人|女人|男的|女的|小伙子)(?:呢)?{END}", whole, "男", "女", "小伙子", confidence=0.8,
         guard=lambda found: "是" in found[0] or "性别" in found[0]),
    rule("身高", "height", rf"^{SUBJECT}的?身高{ADVERB}(?:是|有|才|就|只有|大概|大约|差不多|能到|达到|了|：|"
         rf":)*(?P<value>[\d.一二两三四五六七八九百十零]+\s?(?:厘米|公分|cm|CM|米[\d一二三四五六七八九]*|m))",
         quantity, "身高", confidence=0.95),
    rule("高多少", "height", rf"^{SUBJECT}{ADVERB}(?:有|长到)?(?P<value>(?:一米[\d一二三四五六七八九]{{1,2}}|"
         rf"1米\d{{1,2}}|1\.\d\d?米|1\d\d\s?(?:厘米|公分|cm)))(?:高|的个子)?{END}", quantity, "米", "公分", "cm"),
    rule("体重", "weight", rf"^{SUBJECT}的?体重{ADVERB}(?:是|有|才|只有|大概|大约|差不多|降到了?|到了|：|"
         rf":)*(?P<value>[\d.一二两三四五六七八九百十零]+\s?(?:公斤|斤|千克|kg|KG))", quantity, "体重",
         confidence=0.95),
)  # fmt: skip

HOME = (
    rule("不住了", "home", rf"^{SUBJECT}{ADVERB}不再?(?:住|生活)在?(?P<value>.+?)了?$", place, "不", stance=Stance.
         ENDED,
         guard=lambda found: found[0].endswith("了") or "不再" in found[0]),
    rule("以前住", "home", rf"^{SUBJECT}(?:以前|之前|曾经?|过去|原来|原先|本来)(?:一直|都)?(?:是)?(?:住|生活|"
         rf"定居)(?:在|过)(?P<value>.+)", place, "以前", "之前", "曾", "过去", "原", "本来", stance=Stance.ENDED,
         confidence=0.8),
    rule("从甲搬到乙", "home", rf"^{SUBJECT}{ADVERB}(?:全家)?从(?P<old>.+?)(?:搬家?|迁|移居)(?:到|去|来|回|"
         rf"至)了?(?P<value>.+)", where, "搬", "迁", "移居", confidence=0.9, when=When.SINCE),
    rule("搬离", "home", rf"^{SUBJECT}{ADVERB}(?:从(?P<value>\S+?)搬(?:走|出来?)了?|搬离了?(?P<other>\S+))$", place,
         "搬", stance=Stance.ENDED),
    rule("搬到", "home", rf"^{SUBJECT}(?:\S{{0,8}}?){ADVERB}(?:要|会|将|打算|准备|想)?(?:搬家?|迁居?|移居|"
         rf"移民)(?:到|去|来|回|至)了?(?P<value>.+)", where, "搬", "迁", "移居", "移民",
         confidence=0.85, when=When.SINCE, guard=lambda found: re.search(r"要|会|将|打算|准备|想|不|没|把|东西|桌|"
              r"椅|箱", found[0][: found.start("value") - found.start()]) is None),
    rule("小区叫", "小区", rf"^{ME}家?(?:现在|目前)?(?:所)?住的?(?:那个|这个)?(?:小区|房子|"
         rf"公寓)[，,]?(?:就?[是叫])(?P<value>.+)", whole, "住", single=True, confidence=0.85),
    rule("住在小区", "小区", rf"^{ME}家?{ADVERB}住在?(?P<value>\S{{2,12}}?)(?:这个|那个|的)?小区(?:里面?)?$", whole,
         "小区", single=True, confidence=0.85),
    rule("住在", "home", rf"^{SUBJECT}家?{ADVERB}(?:住|定居|居住|生活|旅居|租住|落户|安家|常驻)(?:在|于|"
         rf"着在)?(?P<value>.+)", where, "住", "居", "生活", "落户", "安家", "驻", confidence=0.85, when=When.SINCE,
         guard=lambda found: re.search(r"生活(?!在)|居(?:住)?(?!在|于)(?=的)|住(?:了|过|的|不|院|宿|上|一|几|两|三|"
              r"哪|处|址|持|习)", found[0]) is None),
    rule("家在", "home", rf"^{SUBJECT}们?的?(?:家|房子|公寓|住处)(?:就|现在)?(?:是)?(?:在|位于)(?P<value>.+)", place,
         "家", "房子", "公寓", "住处", confidence=0.8),
    rule("老家", "hometown", rf"^{SUBJECT}们?的?(?:老家|家乡|故乡|籍贯|出生地|祖籍|原籍)(?:就?是|在|位于|：|:|"
         rf"也)*(?P<value>.+)", place, "老家", "家乡", "故乡", "籍贯", "出生地", "祖籍", "原籍", confidence=0.9),
    rule("来自", "hometown", rf"^{SUBJECT}{ADVERB}是?(?:来自|出生[在于]|生在|土生土长[在于]|长大[在于]|"
         rf"生长[在于])(?P<value>.+)", place, "来自", "生", "长", confidence=0.85),
    rule("从哪里来", "hometown", rf"^{SUBJECT}{ADVERB}是?(?:在|从)(?P<value>\S+?)(?:来的?|出生的?|长大的?|"
         rf"出生长大的?)$", place, "来", "出生", "长大", confidence=0.8),
    rule("哪国人", "nationality", rf"^{SUBJECT}{ADVERB}是(?:一个|个|一名)?(?:地道的?|"
         rf"土生土长的?)?(?P<value>(?:{either(COUNTRIES)})人)", whole, "人", confidence=0.85),
    rule("哪里人", "hometown", rf"^{SUBJECT}们?(?:他|她)?(?:家)?(?:们)?{ADVERB}(?:是)?(?:一个|个)?(?:地道的?|"
         rf"土生土长的?|老)?(?P<value>(?:{either(PLACES)})(?:省|市)?(?:[\u4e00-\u9fff]{{2,4}}(?:省|市|县))?)(?:人|"
         rf"那边的|本地人|的)(?:了|呢)?{END}", place, "人", "的", confidence=0.8),
    rule("国籍", "nationality", rf"^{SUBJECT}的?国籍(?:是|为|：|:)(?P<value>.+)", whole, "国籍", confidence=0.95),
    rule("地址", "address", rf"^{SUBJECT}的?(?:家庭|详细|收货|通讯|现在的?|新)*(?:地址|住址)(?:变成了?|改成了?|"
         rf"现在)?(?:是|在|为|：|:)(?P<value>.+)", whole, "地址", "住址", confidence=0.9),
    rule("电话", "phone", rf"^{SUBJECT}的?(?:新|联系)?(?:手机|电话|联系方式|座机)(?:号码?)?(?:变成了?|改成了?|"
         rf"换成了?|现在|，|,)*(?:就?是|为|：|:)?(?P<value>[+\d][\d\s-]{{5,18}}\d)", quantity, "手机", "电话",
         "联系方式", "座机", confidence=0.95),
    rule("邮箱", "email", rf"^{SUBJECT}的?(?:新|联系|工作|常用|电子)?(?:邮箱|邮件|email|Email|"
         rf"E-mail)(?:地址)?(?:变成了?|改成了?|换成了?|现在)*(?:就?是|为|：|"
         rf":)?(?P<value>[\w.+'-]+@[\w-]+(?:\.[\w-]+)+)", quantity, "邮", "mail", confidence=0.95),
)  # fmt: skip

ORIGIN = (
    rule("会说", "language", rf"^{SUBJECT}{ADVERB}(?:会|能|可以)?(?:流利地?)?(?:说|讲|懂|精通)(?:一口|一点|一些|"
         rf"流利的?|基本的?)*(?P<value>.+)", languages, *LANGUAGES, confidence=0.85,
         guard=lambda found: "不" not in found[0] and "没" not in found[0]),
    rule("会某语", "language", rf"^{SUBJECT}{ADVERB}会(?P<value>(?:{either(LANGUAGES)}).*)", languages, *LANGUAGES,
         confidence=0.8),
    rule("母语", "language", rf"^{SUBJECT}的?(?:母语|第一语言|第二语言|第二外语)(?:是|为|：|:)(?P<value>.+)",
         languages, "母语", "语言", "外语", confidence=0.9),
    rule("流利", "language", rf"^{SUBJECT}的?(?P<value>{either(LANGUAGES)})(?:说得?|讲得?)?{ADVERB}(?:流利|不错|"
         rf"很好|好|地道)", languages, "流利", "不错", "好", "地道", confidence=0.75),
    rule("信仰", "religion", rf"^{SUBJECT}{ADVERB}(?:信仰?|信奉|皈依了?|是一?[个名位]?(?:虔诚的)?)(?P<value>佛教徒?|"
         rf"基督教徒?|基督徒|天主教徒?|伊斯兰教|穆斯林|道教徒?|犹太教徒?|印度教徒?|无神论者?)", whole, "教", "徒",
         "穆斯林", "无神论"),
    rule("和谁结婚", "partner", rf"^{ME}{ADVERB}(?:和|跟|与)(?P<value>{{NAME}}){ADVERB}(?:结婚|订婚|在一起|交往|"
         rf"谈恋爱)".replace("{NAME}", r"[\u4e00-\u9fff·]{2,8}?"), stated_name, "婚", "在一起", "交往", "恋爱",
         guard=lambda found: not re.search(r"[他她你我它家人女男住]|朋友|离|一起长", found["value"]) and
         plausible_name(found["value"]) != ()),
    rule("不再单身", "marital_status", rf"^{ME}{ADVERB}(?:不再|已经不)是?(?P<value>{_MARITAL})了?", whole, "不",
         stance=Stance.ENDED),
    rule("离婚", "marital_status", rf"^{SUBJECT}{ADVERB}(?:和.{{1,6}}|跟.{{1,6}})?(?:已经?|刚|去年|今年|"
         rf"上个月)*(?:离了?婚|离异)了?{END}", always("离异"), "离", confidence=0.85, when=When.SINCE),
    rule("婚姻", "marital_status", rf"^(?:(?P<who>{OF_KIN}|[他她])|{ME})(?:去年|今年|上个?[周月]|前年|最近|"
         rf"前几天)?{ADVERB}(?:是|还是|仍然|已经|恢复)?(?P<value>{_MARITAL})(?:状态|人士|"
         rf"的)?了?(?:\S{{0,3}}年了?)?{END}", whole, "婚", "单身", "丧偶", "离异", confidence=0.8, when=When.SINCE,
         guard=lambda found: re.search(r"不|没|想|要|快|能|保持|朋友|打算|准备|纪念|那天|就要", found[0]) is None and
              (found["value"] not in {"结婚", "订婚"} or found[0].rstrip().endswith(("了", "年")))),
    rule("星座", "星座", rf"^{SUBJECT}{ADVERB}是(?P<value>(?:白羊|牡羊|金牛|双子|巨蟹|狮子|处女|天秤|天平|天蝎|射手|"
         rf"摩羯|魔羯|水瓶|双鱼)座)", whole, "座", single=True),
    rule("属相", "属相", rf"^{SUBJECT}(?:是)?属(?P<value>[鼠牛虎兔龙蛇马羊猴鸡狗猪])的?{END}", lambda words: (words,),
         "属", single=True),
)  # fmt: skip

KIN_NAMES = (
    rule("家人的名字", "name", rf"^(?P<who>{KINSMAN}(?:[他她]们?)?)的?(?:名字|姓名)?(?:就?叫做?|名叫|就?是|：|"
         rf":)(?P<value>.+)", stated_name, "名", "叫", confidence=0.9,
         guard=lambda found: "叫" in found[0] or "名" in found[0]),
)  # fmt: skip

RULES = NAME + AGE + HOME + ORIGIN + KIN_NAMES
