"""Rules of Chinese about work, study and technique."""

from __future__ import annotations

import re

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.chinese.kinds import (
    OCCUPATION,
    is_place,
    line_of_work,
    organisation,
    place,
    profession,
    technologies,
)
from hybrid_memory.facts.rules.chinese.lexicon import LANGUAGES, either
from hybrid_memory.facts.rules.chinese.values import phrase, whole
from hybrid_memory.facts.rules.chinese.wording import ADVERB, END, ME, SUBJECT, rule
from hybrid_memory.facts.rules.rule import When, always

_WORKS = r"(?:工作|上班|任职|就职|供职|实习|打工|干活|当差|服役|教书|任教|执教)"
_LATIN = r"(?=[^，,。]{0,30}[A-Za-z])"
_SCHOOL = (
    r"[\u4e00-\u9fffA-Za-z ]{0,14}?(?:大学|学院|中学|小学|高中|初中|职高|技校|附中|一中|二中|实验学校|外国语学校|"
    r"商学院|医学院|音乐学院|电影学院|(?:清华|北大|复旦|交大|浙大|哈佛|牛津|剑桥|斯坦福|MIT)(?!大学))"
)


def _at(found: re.Match[str]) -> str:
    """Where somebody works is a place or an employer."""
    words = re.sub(r"^(?:了|是|在|于)+", "", found["value"]).strip()
    words = re.sub(r"(?:那边|这边|里|呢)+$", "", words)
    return "工作地" if is_place(words) else "employer"


def _workplace(words: str) -> tuple[str, ...]:
    words = re.sub(r"^(?:了|是|在|于)+", "", words)
    return place(words) if is_place(re.sub(r"(?:那边|这边|呢)+$", "", words)) else organisation(words)


PROFESSION = (
    rule("不做了", "profession", rf"^{SUBJECT}{ADVERB}(?:不再?(?:是|当|做|干)|不(?:是|当|做|"
         rf"干))(?:一?[个名位])?(?P<value>.+?)了$", profession, "不", stance=Stance.ENDED),
    rule("以前是", "profession", rf"^{SUBJECT}(?:以前|之前|曾经?|过去|原来|原先|早年|年轻时)(?:还|也|一直)?(?:是|"
         rf"当过?|做过?|干过?|担任过?)(?:一?[个名位]|[几两三]年)?的?(?P<value>.+)", profession, "以前", "之前", "曾",
         "过去", "原", "早年", "年轻", stance=Stance.ENDED,
         confidence=0.8),
    rule("辞去", "profession", rf"^{SUBJECT}{ADVERB}辞(?:去|掉)了?(?P<value>.+?)的?(?:工作|职务|职位)", profession,
         "辞", stance=Stance.ENDED),
    rule("职位是", "职位", rf"^{SUBJECT}的?(?:现在的?|目前的?)?(?:职位|职务|岗位|头衔|职称)(?:就?是|为|：|:|"
         rf"变成了?)(?P<value>.+)", phrase, "职位", "职务", "岗位", "头衔", "职称", single=True, confidence=0.9),
    rule("职业是", "profession", rf"^{SUBJECT}的?(?:职业|工作|本职工作|主业|本职)(?:就?是|为|：|:)(?:一?[个名位]|当|"
         rf"做|干)*(?P<value>.+)", line_of_work, "职业", "工作", "主业", "本职", confidence=0.85,
         guard=lambda found: re.match(r"[^，,。]{1,12}$|[^，,。]{1,12}[，,。]", found["value"]) is not None and not re
         .search(r"负责|帮|让|给|把|为|管|很|太|因", found["value"][:6])),
    rule("转行", "profession", rf"^{SUBJECT}(?:\S{{0,6}}?){ADVERB}(?:转行|改行|转岗|晋升|升职|升|被提拔|跳槽)(?:去|"
         rf"来|到|成|为|做|当|了)*(?P<value>.+)", profession, "转", "改行", "升", "提拔", "跳槽", confidence=0.85,
         when=When.SINCE,
         guard=lambda found: re.search(r"想|要|打算|准备|不|没|希望", found[0]) is None),
    rule("做某工作", "profession", rf"^{SUBJECT}{ADVERB}(?:是)?(?:做|干|搞|"
         rf"从事)(?:的是)?(?P<value>[^，,。]{{2,12}}?)(?:这一?行业?|工作|行业|方面|相关)?的{END}", line_of_work, "做",
         "干", "搞", "从事", confidence=0.8,
         guard=lambda found: "是" in found[0] or re.search(r"工作|行|从事", found[0]) is not None),
    rule("从事", "profession", rf"^{SUBJECT}{ADVERB}从事(?:的是|于|着)?(?P<value>[^，,。]{{2,12}}?)(?:这一?行业?|"
         rf"工作|行业|方面|相关)?(?:的工作|工作)?(?:了|已经|有|多年|\d+年|{END})", line_of_work, "从事",
         confidence=0.85),
    rule("是一名", "profession", rf"^{SUBJECT}(?:也|现在|目前|本身|其实|自己|已经|就|刚刚?|还|只|一直|都|他|她|"
         rf"在\S{{2,12}}?)*(?:是|当|做|担任|成为了?|干|在当|在做)(?:了|着|的是|"
         rf"上了)?(?:一?[个名位])?(?P<value>[^，,。；;]+)", profession,
         "是", "当", "做", "担任", "成为", "干", confidence=0.85, guard=lambda found: re.match(r"[个名位]?不|否",
              found["value"]) is None),
    rule("作为", "profession", r"^(?:我)?(?:作为|身为)(?:一?[个名位])(?P<value>[^，,。；;]+)", profession, "作为",
         "身为", confidence=0.75),
    rule("他是", "profession", rf"^{SUBJECT}(?P<value>(?:资深|高级|初级|首席|副|"
         rf"总)?[\u4e00-\u9fff]{{0,4}}{OCCUPATION})(?:一[名枚个]|一位){END}", profession, "一枚", "一名", "一位",
         "一个", confidence=0.75),
    rule("退休", "profession", rf"^{ME}(?:\S{{0,8}}?){ADVERB}(?P<value>退休)了", always("退休"), "退休",
         confidence=0.8, guard=lambda found: re.search(r"快|要|想|等|没|不", found[0]) is None, when=When.SINCE),
)  # fmt: skip

EMPLOYER = (
    rule("不在那里工作", "employer", rf"^{SUBJECT}{ADVERB}不再?在(?P<value>.+?)(?:{_WORKS}|做|干)了?$", organisation,
         "不", stance=Stance.ENDED, confidence=0.9),
    rule("离职", "employer", rf"^{SUBJECT}(?:\S{{0,6}}?){ADVERB}(?:从(?P<value>[^，,。]+?)(?:离职|辞职|离开|跳槽|"
         rf"被裁|退休)|离开了(?P<gone>[^，,。]+?(?:公司|集团|银行|医院|学校)))", organisation, "离", "辞职", "跳槽",
         "被裁", stance=Stance.ENDED,
         guard=lambda found: found["value"] is not None and not re.search(r"想|要|打算|准备|没", found[0])),
    rule("以前在", "employer", rf"^{SUBJECT}(?:以前|之前|曾经?|过去|原来|原先)(?:还|也|"
         rf"一直)?(?:是)?在(?P<value>[^，,。]+?)(?:{_WORKS}|做|当|任)", organisation, "以前", "之前", "曾", "过去",
         "原", stance=Stance.ENDED, confidence=0.8),
    rule("从甲跳到乙", "employer", rf"^{SUBJECT}(?:\S{{0,6}}?){ADVERB}从(?P<old>[^，,。]+?)(?:跳槽|跳|转|换)(?:到|"
         rf"去|来)了?(?P<value>[^，,。]+)", organisation, "跳", "转", "换", confidence=0.85, when=When.SINCE,
         guard=lambda found: not is_place(found["value"]) and not re.search(r"想|打算|准备|专业|频道|话题", found[0])),
    rule("单位是", "employer", rf"^.{{0,4}}?{SUBJECT}(?:们)?的?(?:那个|现在的?|工作的?)?(?:单位|公司|工作单位|"
         rf"上班的地方|工作的地方|东家|雇主|医院|学校|律所|工作室|店)(?:的?名字|名称)?(?:就?叫做?|就?是|名为|为|：|"
         rf":)(?P<value>.+)", organisation,
         "单位", "公司", "地方", "东家", "雇主", "医院", "学校", "律所", "工作室", "店", confidence=0.85, guard=lambda
         found: re.search(r"不错|很|最|非常|好的|上市|全国", found["value"]) is None),
    rule("跳槽到", "employer", rf"^{SUBJECT}(?:\S{{0,6}}?){ADVERB}(?:跳槽|入职|加入|应聘|就职|任职|供职|受雇|"
         rf"换工作)(?:到|去|来|了|于|在)+(?P<value>[^，,。]+)", organisation, "跳槽", "入职", "加入", "应聘", "任职",
         "就职", "供职", "受雇", confidence=0.8, when=When.SINCE,
         guard=lambda found: re.search(r"想|要|打算|准备|不|没|希望|过|群|队伍|会员|俱乐部|社团", found[0]) is None),
    rule("在哪里工作", _at, rf"^{SUBJECT}(?:\S{{0,4}}?){ADVERB}(?:是)?在(?P<value>[^，,。；;]{{2,24}}?){_WORKS}(?!室"
         rf"|人|狂|狗|坊|量)", _workplace, "工作", "上班", "职", "实习", "打工", "服役", "教", confidence=0.85,
         when=When.SINCE,
         guard=lambda found: re.search(r"找|想|要|打算|准备|不|没|希望|如果|是否|以前|曾|完|过", found[0]) is None),
    rule("工作地", "工作地", rf"^{SUBJECT}的?(?:工作地点?|工作的?地方|上班的?地方|办公地点)(?:就?是|在|为|：|"
         rf":)*(?P<value>.+)", place, "地", single=True, confidence=0.9),
    rule("在那里当", "employer", rf"^{SUBJECT}{ADVERB}(?:是)?在(?P<value>[^，,。；;]{{2,20}}?)(?:当|做|担任|"
         rf"任)(?=[^，,。；;]{{0,12}}{OCCUPATION})", organisation, "在", confidence=0.8,
         guard=lambda found: re.search(r"家|一起|曾|以前|想", found["value"]) is None or found["value"].endswith("家")),
)  # fmt: skip

STUDY = (
    rule("毕业于", "school", rf"^{SUBJECT}(?:\S{{0,8}}?){ADVERB}是?(?:毕业于|就读于|考上了?|考入了?|考进了?|读的是|"
         rf"上的是|念的是|保送到?了?|被录取到?|从|在)(?P<value>{_SCHOOL})(?P<rest>.*)", whole, "大学", "学院", "中学",
         "小学", "高中", "初中", "学校", "清华", "北大", "复旦", "交大", "浙大", "哈佛", "牛津", "剑桥",
         "斯坦福", "MIT", "附中", "一中", confidence=0.8, guard=lambda found: re.search(
              r"毕业于|就读|考[上入进]|[读上念]的是|保送|录取", found[0][: found.start("value")]) is not None
         or re.match(r"(?:\S{0,6}?)(?:毕业|读书|上学|念书|学习|读研|读博|读本科|留学|攻读|念|读|深造)", found["rest"])
         is not None),
    rule("大学的学生", "school", rf"^{SUBJECT}{ADVERB}是(?P<value>{_SCHOOL})(?:的|大[一二三四])?\S{{0,8}}?(?:学生|"
         rf"研究生|博士生|本科生|毕业的?)", whole, "学生", "生", "毕业", confidence=0.85),
    rule("学历", "学历", rf"^{SUBJECT}的?(?:最高)?学历{ADVERB}(?:就?是|为|：|:)?(?P<value>高中|中专|大专|专科|本科|"
         rf"学士|硕士|博士|博士后|初中|小学|研究生)", whole, "学历", single=True, confidence=0.9),
    rule("学历是", "学历", rf"^{SUBJECT}{ADVERB}(?:就|只|才|大学)*(?:念到|读到|上到|上的是|读的是|念的是|是|有|"
         rf"大学)?(?:了|个)?(?P<value>高中|中专|大专|专科|本科|硕士|博士|博士后|初中|小学)(?:毕业|学历|"
         rf"生)?(?:的)?{END}", whole, "上的", "读的", "念", "学历", "念到", "读到", "上到", "学历", "毕业", "博士",
         "硕士", "本科", single=True, confidence=0.8),
    rule("专业", "field_of_study", rf"^{SUBJECT}的?(?:大学|本科|研究生|硕士|博士)?的?(?:专业|主修|所学专业)(?:的是|"
         rf"是|为|：|:)(?P<value>.+)", phrase, "专业", "主修", confidence=0.9),
    rule("学某专业", "field_of_study", rf"^{SUBJECT}(?:\S{{0,10}}?){ADVERB}(?:主修|攻读|辅修|学的?是?|读的?是?|"
         rf"念的?是?)(?:了|的是)?(?P<value>[^，,。不]{{2,12}}?)(?:的)?(?:专业|系)", phrase, "专业", "系",
         confidence=0.8,
         guard=lambda found: re.search(r"什么|想|要|打算|换|转|联系|关系|体系|系[统列]", found.string) is None),
    rule("是学", "field_of_study", rf"^{SUBJECT}(?:大学|本科|研究生|读研)?{ADVERB}(?:时|期间)?(?:主修的?是?|是学|"
         rf"学的是|读的是|念的是|攻读)(?P<value>[^，,。]{{2,10}}?)的?{END}", phrase, "学", "修", "读", "念",
         confidence=0.75, guard=lambda found: re.search(r"生|校|大学$", found["value"][:2]) is None),
)  # fmt: skip

TECHNIQUE = (
    rule("不用了", "technology", rf"^{ME}(?:\S{{0,6}}?){ADVERB}(?:不再用|不再使用|不用|弃用了?|放弃了?|停用了?|"
         rf"淘汰了?)(?P<value>{_LATIN}[^，,。]+?)(?:了|$)", technologies, "不", "弃", "停用", "淘汰", stance=Stance.
         ENDED,
         guard=lambda found: "不用" not in found[0] or found[0].endswith("了") or "不再" in found[0]),
    rule("从甲换到乙", "technology", rf"^(?:{ME}|后端|前端|项目|数据库|团队|公司)(?:\S{{0,8}}?){ADVERB}(?:已经?|刚|"
         rf"都)?(?:从|把)(?P<old>{_LATIN}[^，,。]+?)(?:换|改|迁移?|切换?|转|升级|替换|重写)(?:成|到|为|用|"
         rf"至)了?(?P<value>{_LATIN}[^，,。]+)", technologies,
         "换", "改", "迁", "切", "转", "升级", "重写", confidence=0.85, guard=lambda found: re.search(
              r"想|打算|准备|考虑|要不|能", found[0]) is None, when=When.SINCE),
    rule("用技术", "technology", rf"^(?:{ME}|{ME}?的?(?:后端|前端|数据库|项目|系统|服务|网站|应用|公司|团队|代码|"
         rf"技术栈|技术|主力语言|编辑器|博客|服务器))(?:[\u4e00-\u9fff]{{0,8}}?){ADVERB}(?:用的?是?|使用的?是?|"
         rf"采用的?是?|运行在|跑在|部署在|写|会写?|学会了?|熟悉|擅长|精通|熟练|掌握|搞|做|基于|搭的?是?|"
         rf"是用|换成了?|改用了?|切到了?|迁移到了?|切换到了?|转用|开发|以|靠|玩|是|有|"
         rf"包括)(?P<value>{_LATIN}[^，,。]*)", technologies, "用", "写", "会", "熟", "擅长", "精通", "掌握", "搞",
         "做", "基于", "跑在", "运行", "部署", "换成", "切", "迁移", "开发", "玩", "栈", "是", "以", confidence=0.8,
         guard=lambda found: re.search(r"不[用会熟喜想]|没|想|打算|准备|考虑|能不能|要不要|帮|给我|如果|听说|问题|"
              r"报错", found[0]) is None),
    rule("在学编程", "technology", rf"^{ME}{ADVERB}(?:在)?(?:学|学习|自学|研究)(?:了|着|一下|"
         rf"用)?(?P<value>{_LATIN}[^，,。]+)", technologies, "学", "研究", confidence=0.7, guard=lambda found: "想"
         not in found[0]),
    rule("在学语言", "interest", rf"^{ME}{ADVERB}(?:在|开始|刚开始)?(?:学|学习|自学|报班学)(?:习|了|"
         rf"着)?(?P<value>{either(LANGUAGES)})", whole, "学", confidence=0.75, guard=lambda found: re.search(
              r"想|打算|过|不|没|要", found[0]) is None),
)  # fmt: skip

RULES = PROFESSION + EMPLOYER + STUDY + TECHNIQUE
