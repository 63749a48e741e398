"""Rules of Chinese about standing instructions, the way to speak, and whatever else 我的…是… tells."""

from __future__ import annotations

import re

from hybrid_memory.facts.attributes import RULE
from hybrid_memory.facts.rules.chinese.lexicon import KIN, LANGUAGES, either
from hybrid_memory.facts.rules.chinese.values import tidy, whole
from hybrid_memory.facts.rules.chinese.wording import ADVERB, ME, rule

_SIGNS = r"(?P<token>[\"'`][^\"'`]{1,24}[\"'`]|[A-Za-z_@][A-Za-z0-9_@]*_?|_[A-Za-z0-9_]*)"
_OBJECTS = {
    "方法": "method", "函数": "function", "变量": "variable", "类": "class", "常量": "constant", "模块": "module",
     "文件": "file",
    "分支": "branch", "表": "table", "列": "column", "字段": "field", "测试": "test", "接口": "interface", "参数":
     "function argument",
    "属性": "attribute", "组件": "component", "包": "package", "枚举": "enum", "目录": "directory", "文件夹":
     "directory",
}  # fmt: skip
_OBJECT = rf"(?P<object>{either(_OBJECTS)})的?(?:名称?|名字|命名)?"
_STANDING = (
    r"(?:以后|今后|从现在起|从现在开始|从今以后|从今往后|从今天起|从今天开始|往后|今后都|凡是|一律|始终|默认|"
    r"无论何时)"
)
_STYLE = (
    r"(?:简短|简洁|简明|简单|精简|精炼|扼要|详细|具体|正式|随意|随便|轻松|幽默|风趣|直接|直白|坦率|温柔|友好|礼貌|"
    r"专业|通俗|通俗易懂|口语化|严谨|客观|明了|清楚|清晰|短|长|委婉|活泼|亲切|全面)"
)
_SAY = r"(?:回答|回复|答复|说话|讲话|说|讲|解释|交流|聊天|沟通|表达|写|作答|答|总结|称呼)"
_LIKE_THIS = r"(?:一?[点些]|一点儿|点儿|为主|就好|就行|即可)?"

STYLE = (
    rule("用某语回答", "communication_style", rf"^(?:请|麻烦你?|以后|今后|可以|你?以后都?|一律|都|尽量|最好|只|你|"
         rf"帮我|接下来|从现在起|希望你|我希望你|请你|能)*(?P<value>(?:用|使用|以)(?:{either(LANGUAGES)}|中英双语|"
         rf"大白话|通俗的?语言|简单的?语言|口语|敬语|简体|简体字|繁体|繁体字|列表|要点|表格|markdown|Markdown|表情|"
         rf"{_STYLE}的?(?:语言|语气|方式|口吻|风格|句子|文字|话))(?:的(?:方式|形式))?(?:来|跟我|和我|给我|向我|"
         rf"都)*{_SAY}(?:我|问题|我的问题|一切|所有问题)?)",
         whole, "用", "以", confidence=0.85, guard=lambda found: re.search(r"我(?:会|能|在|想|用|写)", found.string[:
              found.start("value")]) is None and not found.string.startswith("我用") and (found.start("value") > 0 or
                   re.search(r"回答|回复|答复|我$", found[0]) is not None)),
    rule("回答简短", "communication_style", rf"^(?:请|麻烦你?|以后|今后|你?以后都?|希望你?|我希望你?|尽量|最好|你的|"
         rf"你|都|能)*(?P<value>(?:你的)?(?:回答|回复|答案|答复|说话|讲话|解释|语气|表达|回答问题|总结|话|"
         rf"交流)(?:时|的时候)?(?:要|请|尽量|都|能|得|可以|应该|保持|再|更|稍微|一定要|务必|"
         rf"可不可以)*{_STYLE}{_LIKE_THIS})", whole, "回答", "回复", "答", "说话", "讲话", "解释", "语气", "表达",
         "总结", "话", "交流", confidence=0.85),
    rule("简短地回答", "communication_style", rf"^(?:请|麻烦你?|以后|今后|你|都|尽量|最好|希望你|我希望你|"
         rf"能)*(?P<value>(?:尽量|更|再)?{_STYLE}(?:一?[点些])?(?:地|的)?(?:回答|回复|作答|解释|说明|跟我说|"
         rf"告诉我)(?:我|问题|我的问题)?(?:就好|就行|即可)?)", whole, *("简 精 扼 详 具 正 随 轻 幽 风 直 坦 温 友 "
              "礼 专 通 口 严 客 明 清 短 委 活 亲 全".split()), confidence=0.8),
    rule("别用表情", "communication_style", r"^(?:请|麻烦你?|以后|今后|你|都|也|回答时|回复时|跟我说话时?|"
         r"拜托)*(?P<value>(?:不要|别|不用|少|禁止|避免)(?:再)?(?:用|使用|加|发|带|说|讲|写|给我|跟我)?(?:那么多|"
         r"太多|任何|过多的?)?(?:表情符号|表情包?|emoji|Emoji|术语|专业术语|行话|废话|套话|客套话|敬语|英文|英语|"
         r"中文|长篇大论|大道理|啰嗦|啰啰嗦嗦|绕弯子|列表|感叹号|网络用语|脏话|翻译腔|markdown|Markdown|鸡汤))",
         whole, "不要", "别", "不用", "少", "禁止", "避免", confidence=0.85),
    rule("喜欢简短的回答", "communication_style", rf"^{ME}{ADVERB}(?:更|比较)?(?:喜欢|希望|想要|需要|偏好|偏爱|"
         rf"习惯)(?:得到|看到|听到|你的)?(?P<value>(?:{_STYLE}(?:、|和|又|而))?{_STYLE}(?:明了)?的(?:回答|回复|解释|"
         rf"说明|答案|沟通方式|表达|语气|交流方式|风格))", whole, "喜欢", "希望", "想要", "需要", "偏", "习惯",
         confidence=0.85),
    rule("有话直说", "communication_style", r"^(?:请|你|以后|可以|跟我)*(?P<value>(?:有话)?直说(?:就好|就行|即可)?|"
         r"不用(?:跟我)?(?:客气|拐弯抹角)|(?:跟我)?说重点(?:就好|就行)?|直接(?:给|说)(?:我)?(?:结论|答案|代码|"
         r"重点)(?:就好|就行|即可)?)", whole, "直说", "不用", "重点", "直接", confidence=0.75),
)  # fmt: skip


def _naming(found: re.Match[str]) -> str:
    part = (
        "suffix"
        if re.search(r"结尾|后缀|收尾", found["value"])
        else "prefix"
        if re.search(r"开头|前缀|打头", found["value"])
        else "case"
    )
    return f"{RULE}{_OBJECTS[found['object']]} name {part}"


def _told(found: re.Match[str]) -> bool:
    """Whether it is told to the listener, and is no tale or promise."""
    return (
        re.search(
            r"[我他她](?:们)?(?:会|以前|之前|曾|习惯|喜欢|将|在|已经|的)|没有|应该是|为什么",
            found.string[: found.start("value")],
        )
        is None
    )


CODE = (
    rule("命名", _naming, rf"(?P<value>(?:所有|全部|每个|新的?|的)*{_OBJECT}(?:都|要|必须|应该|一律|统一|请|得|应|"
         rf"需要?)*(?:以|用|加|加上|使用|带|改用|改成)?(?:以|用)?{_SIGNS}(?:来|作为|为|做|这个)?(?:开头|结尾|前缀|"
         rf"后缀|打头|收尾))", whole, "开头", "结尾", "缀", "打头", "收尾", confidence=0.85, guard=_told),
    rule("命名, 后置", _naming, rf"(?P<value>(?:用|以|给|在){_SIGNS}?(?:给|在|作为|为)*(?:所有|全部|每个|"
         rf"新的?)*{_OBJECT}(?:前|后)?(?:的|都|要|加上?|统一)*{_SIGNS.replace('token', 'other')}?(?:作为|做|为|"
         rf"的)*(?:前缀|后缀|开头|结尾))", whole, "开头", "结尾", "缀", confidence=0.85, guard=_told),
    rule("大小写", _naming, rf"(?P<value>(?:所有|全部|每个)*{_OBJECT}(?:都|要|必须|应该|一律|统一|请|得|应|"
         rf"需要?)*(?:用|使用|采用|改用|改成|写成|是)(?:小|大)?(?:驼峰|蛇形|下划线|短横线|全大写|全小写|大写|小写|"
         rf"camelCase|snake_case|PascalCase|kebab-case)(?:命名法?|风格|格式|形式|写法)?)", whole, "驼峰", "蛇形",
         "下划线", "短横线", "大写", "小写", "case", confidence=0.85, guard=_told),
)  # fmt: skip


def _topic(found: re.Match[str]) -> str:
    """What the instruction is about: the words before 都 and 用, or else its object."""
    words = found["topic"] or ""
    words = re.sub(
        r"^(?:请|你|在|我|给我|帮我|对于|关于|凡是|所有的?|每次|写|的|要|都|一定|务必|跟我|和我|与我|当我|我的|，|"
        r",)+|(?:都|请|要|必须|一定|务必|一律|统一|得|应该|需要|的|时候?|，|,)+$",
        "",
        words,
    )
    if words:
        return RULE + words[:12]
    rest = re.sub(r"^(?:给我|我|一下|上|在|把|的)+", "", found["rest"])
    return RULE + (re.split(r"[，,。]|(?:的时候|时|前|后|里|中|上)", rest)[0][:8] or found["do"])


_DO = (
    r"(?:用|使用|采用|加上?|添加|写上?|附上?|包含|带上?|检查|运行|测试|提交|推送|删除|修改|改|询问|确认|提醒|称呼|"
    r"推荐|回答|回复|给出|列出|说明|解释|总结|翻译|保留|省略|跳过|标注|注明|引用|遵循|按|按照|以|先|放|发|订|安排|"
    r"假设|"
    r"优先|避免|生成|输出|格式化|排序|换算|写)"
)

INSTRUCTIONS = (
    rule("以后都", _topic, rf"^(?:请|麻烦你?|记住|你|，|,)*{_STANDING}(?:，|,)?(?:请|你|请你|我希望你|"
         rf"麻烦)*(?P<value>(?P<topic>(?:(?!不|别)[^，,。]){{0,16}})(?:都|请|要|必须|一定要?|务必|一律|统一|得|应该|"
         rf"需要|就|只)*(?P<no>不要再?|别再?|不准|不许|禁止|不得|不能|不用再?|"
         rf"无需)?(?P<do>{_DO})(?P<rest>[^，,。]{{1,30}}))", whole, "以后", "今后", "从", "往后", "每次", "凡是",
         "一律", "始终", "永远", "默认", confidence=0.75,
         guard=lambda found: (re.search(r"请|都|要|别|必须|一律|统一|务必|不准|不许|禁止|不得", found[0][: found.start
              ("do") - found.start()]) is not None or found["do"] in {"用", "使用", "以", "按", "按照", "采用"})
         and re.search(r"叫我|称呼我|^(?:以后|今后|接下来|之后)?(?:我|我们|他|她|咱)|我(?:会|要|想|打算|将|就|准备|"
              r"都|再|可以|能)|我们|有机会|再聊|再说|见|聊天|吧$|了$|如果|去(?!掉)|怎么|找|帮我(?!写)|推荐", found.
              string) is None),
    rule("记住要", _topic, rf"^(?:请|你)(?:务必|一定要?|始终|总是|永远|都|每次都?|记得)(?P<value>(?P<topic>(?:(?!不|"
         rf"别|再|得)[^，,。]){{0,16}}?)(?:都|要|必须)*(?P<no>不要|别|不准)?(?P<do>{_DO})(?P<rest>[^，,。]{{2,30}}))",
         whole, "务必", "一定", "始终", "总是", "永远", "每次", "都", confidence=0.7,
         guard=lambda found: re.search(r"我(?:会|要|想)|了$|推荐一|吧$|怎么|帮我推荐|给我推荐|注意", found.string) is
         None),
)  # fmt: skip

_HEADS = (
    r"(?:手机|电脑|笔记本|平板|相机|车|座驾|汽车|自行车|洗衣机|冰箱|电视机?|空调|净水器|吸尘器|扫地机器人|电饭煲|"
    r"空气净化器|净化器|洗碗机|微波炉|烤箱|家电|口红|唇膏|护肤品|化妆品|美妆产品?|香水|面霜|精华|鞋|运动鞋|跑鞋|"
    r"手表|耳机|键盘|鼠标|显示器|"
    r"密码|账号|用户名|学号|工号|车牌号?|身份证号?码?|护照号?码?|银行卡号?|微信号?|QQ号?|微博|网站|博客|域名|端口|"
    r"版本|分支|服务器|IP|房间号?|门牌号|座位号?|航班号?|车次|订单号|快递单号|会员号|星座|血型|属相|生肖|民族|"
    r"政治面貌|视力|鞋码|尺码|衣服尺码|"
    r"偶像|座右铭|口头禅|英文名|日文名|曾用名|导师|班主任|主治医生|家庭医生|教练|经纪人|律师|房东|部门|团队|小组|"
    r"项目|论文题目|研究方向|课题|预算|工资|月薪|年薪|薪资|房租|房贷|存款|作息|时区|班次|航空公司|品牌|银行|健身房|"
    r"幸运数字|纪念日|结婚纪念日|"
    r"成绩|平均分|绩点|分数|配速|心率|血压|血糖|最好成绩|小区|商场|公园|景区|医院)"
)
_MAX_EXACT_CHARS = 24
_EXACT = re.compile(r"\d|[A-Za-z]|[\"《'「]|^[\u4e00-\u9fff·]{2,14}$")
_NO_VALUE = re.compile(
    r"(?:什么|因为|不|很|太|真|非常|特别|我|你|他|她|它|这|那|好|最|更|怎么|谁|没|一直|在|要|会|能|被|为了|用来|对|"
    r"从|比[较我你他她它]|越|有|还|都|已|刚|新买|坏)|.*(?:不错|挺好|很好|太|的时候)"
)
_KNOWN = {"微信号": "微信", "QQ号": "QQ", "英文名": "英文名"}


def dynamic(found: re.Match[str]) -> str:
    """The noun of 我的…是…."""
    about = found["about"]
    return "" if about in KIN else _KNOWN.get(about, about)


def _model(words: str) -> tuple[str, ...]:
    words = re.sub(r"(?:的|那款|这款)+$", "", tidy(words))
    return (words,) if words.isdecimal() else whole(words)


def _exact(found: re.Match[str]) -> bool:
    """Whether the value is a name, a figure or a code, and no remark."""
    value = tidy(found["value"])
    return len(value) <= _MAX_EXACT_CHARS and _EXACT.search(value) is not None and _NO_VALUE.match(value) is None


_OWNED = (
    rf"^{ME}(?:家里?|手头|手里)?(?:现在|目前|平时|刚刚?|刚才)?(?:新买|刚买|上班|常|在)?(?:用|使用|开|穿|骑|戴|背|买|"
    rf"拥有|路过|经过|参观|逛|去|去逛|去参观|喜欢)?了?(?:的|这|那|手上)*(?:一?[个款台部辆双种只支瓶]|家)?"
)

DYNAMIC = (
    rule("从甲换成乙", dynamic, rf"^(?:{ME}|公司|团队|"
         rf"项目)?{ADVERB}(?:已经)?(?:把)?(?:我?的)?(?P<about>[\u4e00-\u9fffA-Za-z]{{2,8}}?)(?:已经)?从(?P<old>[^，,"
         rf"。的]{{1,12}}?)(?:换|改|变|升级|调整|涨|降|提高|增加|减少|迁移)(?:成|到|为|"
         rf"至)了?(?P<value>[^，,。的]{{1,12}}?)了?$", whole, "从", single=True, confidence=0.8,
         guard=lambda found: re.match(r"(?:我|你|他|她|它|从|这|那|要|让|其|大家|已经|今|昨|想|打算|把|就|也|都|是|"
              r"搬|走|回)", found["about"]) is None and re.search(r"想|打算|准备|计划|如果|能不能|搬", found[0]) is
         None),
    rule("换成", dynamic, rf"^(?:{ME}的?)?(?:\S{{0,4}}?)(?P<about>{_HEADS})(?:已经|现在|刚刚?|最近|都)*(?:换成|改成|"
         rf"改为|变成|换到|升级到|升级成)了?(?P<value>[^，,。]{{1,20}})", whole, "换", "改", "变成", "升级",
         single=True, confidence=0.75, guard=_exact),
    rule("我的某是", dynamic, rf"{_OWNED}(?P<about>{_HEADS})(?:牌子|型号|品牌|名字|的名字)?(?:现在|目前|一直|，|"
         rf",)*(?:是|叫做?|为|：|:|用的是)(?:一?[款台部辆个家])?(?P<value>[^，,。]+)", _model, "是", "叫", "为", "：",
         ":", single=True, confidence=0.75, guard=_exact),
    rule("用的是", dynamic, rf"^{ME}(?:家里?|手头|手里|平时|现在|目前|一直|一般)*(?:用|使用|开|穿|骑|"
         rf"戴)的(?:是)?(?P<value>[^，,。]{{2,18}}?)(?:的|这款|那款|牌的?)?(?P<about>{_HEADS})$", _model, "的", single
         =True, confidence=0.75, guard=_exact),
    rule("正在用", dynamic, rf"^{ME}(?:现在|目前|平时|一直|正)*在?(?:用|使用|开|穿|骑|戴)(?:着|"
         rf"的是)?(?P<value>[^，,。的]{{2,18}}?)(?:这|那)(?:一?[款台部辆双种只支瓶个])(?P<about>{_HEADS})", _model,
         "这", "那", single=True, confidence=0.75, guard=_exact),
    rule("用的是某物", "possession", rf"^{ME}(?:家里?|手头|手里|平时|现在|目前|一直|一般)*(?:用|使用|开|"
         rf"骑)的是(?P<value>[^，,。]{{3,18}})$", _model, "的是", confidence=0.6, guard=lambda found: _exact(found)
         and re.search(r"方法|办法|方式|[A-Za-z]{2,}(?:写|做)|语|软件|框架", found["value"]) is None),
    rule("我的某是什么", dynamic, r"^我的(?P<about>[\u4e00-\u9fff]{2,6}?)(?:现在)?(?:是|叫|：|"
         r":)(?P<value>[^，,。]*(?:\d|[A-Za-z]{2}|《)[^，,。]*)", whole, "我的", single=True, confidence=0.6,
         guard=lambda found: _exact(found) and re.search(r"问题|要求|需求|意思|想法|感觉|建议|看法|心情|错|朋友|"
              r"一生|生活|原因|重点|观点|回答|答案", found["about"]) is None),
)  # fmt: skip

RULES = STYLE + CODE + INSTRUCTIONS
