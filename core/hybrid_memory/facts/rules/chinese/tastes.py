"""Rules of Chinese about tastes: what somebody likes, prefers, avoids, eats, owns, and does with their time."""

from __future__ import annotations

import re

from hybrid_memory.facts.attributes import FAVOURITES, KINDS
from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.chinese.kinds import ailment, belonging
from hybrid_memory.facts.rules.chinese.values import phrase, things, whole
from hybrid_memory.facts.rules.chinese.wording import ADVERB, END, ME, SUBJECT, WHO, rule
from hybrid_memory.facts.rules.rule import When

_LIKE = (
    r"(?:喜欢(?:上了|上(?![次个面海午班学网课]))?|喜爱|热爱|酷爱|钟爱|爱好|热衷于?|痴迷于?|沉迷于?|迷上了?|爱上了?|"
    r"着迷于|中意|欣赏|享受|爱(?=[吃喝看听玩打唱跑跳读写画逛旅运拍养收穿登集摄烹钓编学做下骑滑攀徒游健瑜爬踢弹拉阅"
    r"泡睡种喂遛刷])|好(?=[吃喝]辣|吃甜))"
)
_HATE = (
    r"(?:(?:不(?:太|怎么|大|是很|是特别|那么|算)?(?:喜欢|爱(?=[吃喝看听玩打唱跑跳读写逛运]))|讨厌|厌恶|反感|厌烦|"
    r"憎恶|痛恨|恨|嫌弃|抵触|排斥|受不了|忍受不了|无法忍受|最烦|最怕|害怕|看不惯|吃不惯|喝不惯))"
)
_GAMES = (
    r"(?:羽毛球|乒乓球|篮球|足球|网球|排球|台球|高尔夫球?|棒球|保龄球|壁球|橄榄球|冰球|麻将|扑克|桥牌|象棋|围棋|"
    r"国际象棋|五子棋|桌游|游戏|电子游戏|太极拳?|拳击|钢琴|吉他|小提琴|大提琴|古筝|二胡|"
    r"架子鼓|贝斯|萨克斯|琵琶|尤克里里|口琴|笛子|长笛|瑜伽|普拉提|跑步|长跑|马拉松|游泳|健身|登山|爬山|徒步|骑行|"
    r"滑雪|滑冰|攀岩|潜水|冲浪|跳舞|街舞|芭蕾|书法|国画|油画|水彩|素描|摄影|钓鱼|"
    r"露营|烘焙|编织|十字绣|集邮|冥想|跆拳道|柔道|武术|击剑|射箭|轮滑|滑板|合唱|唱歌|画画)"
)
_TODAY = re.compile(
    r"今天|今晚|今早|昨天|昨晚|明天|刚才|刚刚|这次|这顿|现在不|早饭|早餐|午饭|晚饭|晚餐|饭$|药|了$|完$|下$|饱"
)
_NOW = re.compile(r"今天|今晚|今早|昨天|昨晚|明天|刚才|这次|这顿")
_ABOUT_YOU = re.compile(r"你|您|(?<![吉其])[他她它](?!们家)|这样|那样|那种感觉|这种感觉")


def favourite(kind: str) -> str:
    """The attribute for a favourite of a kind; the name that English rules give it too, where it is a common one."""
    kind = re.sub(r"^(?:一种|一个|那种)", "", kind.strip("的"))
    if kind in KINDS:
        return FAVOURITES[0] + KINDS[kind]
    general = not kind or kind in {"是", "就是", "事", "事情", "东西", "人", "地方", "还是", "活动"}
    return "likes" if general else FAVOURITES[1] + kind


def _general(found: re.Match[str]) -> bool:
    """Whether the taste is a lasting one: not of today, and not of the listener."""
    before, value = found.string[: found.start("value")], found["value"]
    return not (_TODAY.search(value) or _ABOUT_YOU.search(value) or _NOW.search(before))


_GONE = (
    rule("不再喜欢", "likes", rf"^{SUBJECT}{ADVERB}(?:不再|再也不|已经不|不(?=[^，,。]*了$))(?:那么|怎么|太|很|"
         rf"是很)?{_LIKE}(?P<value>.+?)了?$", things, "不", stance=Stance.ENDED, confidence=0.85),
    rule("以前喜欢", "likes", rf"^{SUBJECT}(?:以前|之前|曾经?|过去|原来|原先|小时候)(?:特别|非常|很|挺|还|也|一直|"
         rf"最|超)*{_LIKE}(?P<value>.+)", things, "以前", "之前", "曾", "过去", "原", "小时候", stance=Stance.ENDED,
         confidence=0.75),
    rule("没兴趣了", "interest", rf"^{SUBJECT}{ADVERB}(?:已经)?对(?P<value>[^，,。]+?)(?:已经|再也|完全|彻底|"
         rf"都)*(?:不再感兴趣|没有?(?:什么)?兴趣|不感兴趣|失去了?兴趣|失去了?热情)了", things, "兴趣", "热情",
         stance=Stance.ENDED, confidence=0.85),
    rule("不再讨厌", "dislikes", rf"^{SUBJECT}{ADVERB}(?:不再|已经不|不(?=[^，,。]*了$))(?:那么|怎么)?(?:讨厌|反感|"
         rf"排斥|怕|害怕)(?P<value>.+?)了?$", things, "不", stance=Stance.ENDED),
    rule("不再打", "interest", rf"^{SUBJECT}{ADVERB}(?:(?:不再|再也不|已经不|不|没再|早就?不)(?:去|经常|怎么)?(?:打|"
         rf"玩|踢|练|跳|学|弹|拉|下|做|吹|画|唱|游|跑|爬|滑)?|放弃了?|停止了?)(?P<value>{_GAMES}|"
         rf"(?<=[打玩踢练学弹看])[^，,。不了]{{2,10}}?)了?$", phrase, "不", "没再", "放弃", "停止", stance=Stance.
         ENDED,
         confidence=0.85, guard=lambda found: found[0].endswith("了") or re.search(r"不再|放弃|停止|再也", found[0])
         is not None),
    rule("戒", "habit", rf"^{SUBJECT}(?:\S{{0,6}}?){ADVERB}戒(?:掉)?了?(?P<value>[烟酒糖茶]|咖啡|奶茶|甜食|夜宵|"
         rf"熬夜|网购|游戏|碳酸饮料|可乐|辣)(?:瘾)?了?", lambda words: (words,), "戒", stance=Stance.ENDED, confidence
         =0.8,
         guard=lambda found: re.search(r"想|要|打算|准备|没|不", found[0]) is None),
    rule("不抽烟了", "habit", rf"^{SUBJECT}{ADVERB}(?:不再?|再也不|已经不)(?P<value>抽烟|吸烟|喝酒|熬夜|喝咖啡|"
         rf"喝奶茶|吃夜宵|赖床|加班|刷短视频|玩游戏)了$", whole, "不", stance=Stance.ENDED, confidence=0.8),
    rule("不再吃素", "diet", rf"^{SUBJECT}{ADVERB}(?:不再?|已经不|再也不)(?:是)?(?P<value>吃素|素食|素食者|"
         rf"素食主义者?|纯素|生酮)(?:饮食|主义者?)?了?$", whole, "不", stance=Stance.ENDED, confidence=0.85,
         guard=lambda found: found[0].endswith("了") or "不再" in found[0]),
    rule("开始吃", "avoids", rf"^{SUBJECT}{ADVERB}(?:开始|又开始|重新)(?:能|可以)?[吃喝](?P<value>[^，,。]+?)了",
         things, "开始", "重新", stance=Stance.ENDED, confidence=0.65),
    rule("不再过敏", "allergy", rf"^{SUBJECT}{ADVERB}(?:已经)?(?:不再?|已经不)对(?P<value>[^，,。]+?)过敏", things,
         "过敏", stance=Stance.ENDED, confidence=0.85),
    rule("不过敏了", "allergy", rf"^{SUBJECT}{ADVERB}(?:已经)?对(?P<value>[^，,。]+?)(?:已经)?不(?:再)?过敏了", things,
         "过敏", stance=Stance.ENDED, confidence=0.85),
    rule("对某物不过敏", "allergy", rf"^{SUBJECT}{ADVERB}对(?P<value>[^，,。]+?)并?不过敏的?{END}", things, "不过敏",
         stance=Stance.WRONG, confidence=0.85),
)  # fmt: skip

_HEALTH = (
    rule("对某物过敏", "allergy", rf"^{SUBJECT}{ADVERB}(?:好像|可能)?对(?P<value>[^，,。；;]+?)(?:都|会|有些|有点|"
         rf"非常|特别|严重|轻微|也|是)*过敏(?!性)", things, "过敏", confidence=0.9, guard=lambda found: not re.search(
              r"不|没", found["value"] + found[0][-4:])),
    rule("某物过敏", "allergy", rf"^{SUBJECT}{ADVERB}(?:有|是|患有)?(?:严重的?|轻微的?|"
         rf"季节性)?(?P<value>[\u4e00-\u9fff]{{2,6}}?)过敏(?!性|原|反应|了)(?:症|体质)?{END}", things, "过敏",
         confidence=0.85, guard=lambda found: not re.search(r"不|没|对|会|皮肤|怕|容易", found["value"])),
    rule("过敏源", "allergy", rf"^{SUBJECT}的?过敏(?:原|源|的东西|的食物)(?:主要)?(?:是|有|包括)(?P<value>.+)", things,
         "过敏", confidence=0.9),
    rule("吃药", "medicine", rf"^{SUBJECT}{ADVERB}(?:每天|天天|每晚|需要|要|得|在)*(?:吃|服用|服|打|注射)(?P<value>"
         rf"[^，,。；;了过]{{0,6}}(?:药(?!店|房|膳)|胰岛素|双胍|地平|他汀|洛尔|沙坦|普利|西林|拉唑))", phrase, "吃",
         "服", "打", "注射", confidence=0.85, guard=lambda found: not re.search(r"没|不|感冒药|今|昨|刚", found[0])),
    rule("坐轮椅", "accessibility", rf"^{SUBJECT}{ADVERB}(?:需要|要|得)?(?P<value>(?:坐|用|使用|戴|佩戴|拄|"
         rf"靠)(?:着)?(?:轮椅|助听器|拐杖?|盲杖|导盲犬|人工耳蜗|读屏软件|假肢|助行器))", whole, "轮椅", "助听器", "拐",
         "盲", "耳蜗", "读屏", "假肢", "助行器", confidence=0.85),
    rule("有病", "condition", rf"^{SUBJECT}(?:\S{{0,6}}?){ADVERB}(?:有|患有?|得了|被?(?:确诊|诊断)(?:为|出|了|是|"
         rf"出了|患有)*|患上了?|查出(?:来)?(?:了|有)?|是|一直有)(?:\S{{0,5}}?的)?(?P<value>.+)", ailment, "有", "患",
         "得", "诊", "查出", "是", confidence=0.85,
         guard=lambda found: re.search(r"没有?|不是|有一本|有个朋友|预防|怕", found[0]) is None),
    rule("恐高", "condition", rf"^{SUBJECT}{ADVERB}(?:有)?(?:轻微的?|轻度的?|严重的?|重度的?|一?点儿?|"
         rf"一?些)*(?P<value>恐高|晕车|晕船|晕机|晕血|晕针|失眠|近视|远视|散光|色盲|色弱|怀孕|贫血|耳背|社恐|便秘|"
         rf"低血糖|高血压|乳糖不耐受|左撇子)了?", whole, "恐高", "晕", "失眠", "视", "散光", "色", "怀孕", "贫血",
         "耳背", "社恐", "便秘",
         "血", "乳糖", "左撇子", confidence=0.8, guard=lambda found: not re.match(r"(?:药|的人|怎么)", found.string[
              found.end() :])),
    rule("是左撇子", "condition", rf"^{SUBJECT}{ADVERB}是(?:一?个)?(?P<value>左撇子|色盲|聋人|盲人|孕妇|糖尿病患者|"
         rf"高血压患者|敏感肌|油皮|干皮|易过敏体质|过敏体质)", whole, "是", confidence=0.85),
)  # fmt: skip

_DIETS = (
    rule("吃素", "diet", rf"^{SUBJECT}(?:从?(?:去年|今年|上个?[周月]|\d+年|前年)(?:起|开始)?)?{ADVERB}(?:是|在|坚持|"
         rf"改|开始|成为|变成|只|改为|奉行)*(?:一?[个名位])?(?P<value>吃素|素食者|素食主义者|素食|纯素食?者?|蛋奶素|"
         rf"鱼素|生酮饮食|低碳饮食|低碳水饮食|低脂饮食|无麸质饮食|地中海饮食|清真饮食|轻断食|间歇性断食|低盐饮食|"
         rf"无糖饮食)(?:的)?(?:饮食)?了?",
         whole, "素", "饮食", "断食", confidence=0.85, when=When.SINCE, guard=lambda found: re.search(
              r"不|没|想|打算|喜欢|朋友|准备|考虑", found[0]) is None),
    rule("不吃", "avoids", rf"^{SUBJECT}{ADVERB}(?:从来?|几乎|基本|尽量|都|也|完全|一点|绝)*(?:不能|不可以|不会|不|"
         rf"没法|戒了)(?:再|敢|怎么|太能|大|太|爱)?(?:吃|喝|碰|沾)(?P<value>.+)", things, "不", "没法", "戒",
         confidence=0.8,
         guard=lambda found: _general(found) and not re.match(r"(?:了|下|饱|完|惯|起|得|到|过|着|多|太多|亏|苦头?$|"
              r"醋$|香$|消|透|准|任何东西$)", found["value"])),
    rule("忌口", "avoids", rf"^{SUBJECT}的?(?:忌口|忌)(?:的)?(?:是|：|:)?(?P<value>[^，,。]+)", things, "忌",
         confidence=0.85),
    rule("避免", "avoids", rf"^{SUBJECT}{ADVERB}(?:会|要|想|得|需要|尽量|必须|喜欢|都|应该)*(?:避免|避开|远离|拒绝|"
         rf"回避|抵制|拒绝使用)(?:去|用|在|使用)?(?P<value>.+)", things, "避", "远离", "拒绝", "抵制", confidence=0.75,
         guard=lambda found: _general(found) and re.search(r"了", found["value"]) is None),
    rule("从不", "avoids", rf"^{SUBJECT}{ADVERB}(?:从来?不|绝不|坚决不|一概不)(?:会|肯|"
         rf"愿意)?(?P<value>[\u4e00-\u9fffA-Za-z][^，,。]{{1,20}})", phrase, "从不", "从来", "绝不", "坚决不",
         "一概不", confidence=0.75, guard=lambda found: _general(found) and not re.match(
              r"(?:是|知道|觉得|认为|想|怀疑|后悔|介意|担心|怕|会|曾|过|错)|.*过$|.*过", found["value"])),
    rule("不看", "avoids", rf"^{SUBJECT}{ADVERB}(?:从来?|几乎|基本|都|也)*不(?:太|怎么|大|爱)?(?:看|听|玩|穿|坐|逛|"
         rf"抽)(?![了见懂到出起来清惯上下得完过好中])(?P<value>[^，,。]{{2,12}})$", things, "不", confidence=0.7,
         guard=lambda found: _general(found) and re.search(r"了$|这|那", found["value"]) is None),
)  # fmt: skip

_LIKING = (
    rule("最喜欢的某是", lambda found: favourite(found["kind"]), rf"^{SUBJECT}(?:一直|个人|一直以来|从小|平时|现在|"
         rf"目前|如今|还是)*最(?:喜欢|喜爱|爱|爱吃|爱喝|爱看|爱听|欣赏|钟爱|崇拜|常用|中意|想去|"
         rf"拿手)(?:[吃喝看听玩读去用做打]{{0,1}})的(?:那个|一[个种首本部位道款]|"
         rf")?(?P<kind>[\u4e00-\u9fff]{{0,8}}?)(?:就|应该|一直|当然|肯定|还|永远|其实)*(?:是|：|:)(?P<value>.+)",
         things, "最", single=True, confidence=0.85, guard=lambda found: _ABOUT_YOU.search(found["value"]) is None),
    rule("是我最喜欢的", lambda found: favourite(found["kind"] or ""), rf"^(?P<value>[^，,。是]{{2,20}}?)(?:就|一直|"
         rf"一直都|永远|也|都|绝对|才|算)*是{ME}(?:个人)?最(?:喜欢|喜爱|爱|爱吃|爱喝|爱看|爱听|钟爱|拿手|"
         rf"欣赏)(?:[吃喝看听玩读去]{{0,1}})的(?P<kind>[\u4e00-\u9fff]{{1,6}})?(?:之一)?(?:了)?{END}", things,
         "是我最", single=True, confidence=0.75,
         guard=lambda found: re.match(r"[这那它他她你我其不]|现在|以前|今天", found["value"]) is None),
    rule("是我很喜欢的", "likes", rf"^(?P<value>[^，,。是]{{2,20}}?)(?:就|一直|也|都|才|算)*是{ME}(?:一直|很|特别|"
         rf"非常|挺|超|比较)+(?:喜欢|喜爱|爱|中意)的(?:一[款个种部本首道])?[\u4e00-\u9fff]{{0,5}}{END}", things,
         "是我", confidence=0.75, guard=lambda found: re.match(r"[这那它他她你我其不]", found["value"]) is None),
    rule("喜欢的事是", "likes", rf"^{SUBJECT}(?:最|特|特别|很|非常|比较|一直)*(?:喜欢|爱|热爱|感兴趣)(?:做|"
         rf"干)?的(?:事情?儿?|活动|运动|东西|消遣)(?:就|一直|主要|还)*是(?P<value>.+)", things, "喜欢", "爱", "感兴趣",
         confidence=0.8),
    rule("是我的最爱", "likes", rf"^(?P<value>[^，,。是]{{2,20}}?)(?:就|一直|永远|也|都|绝对|才)*是{ME}的(?:最爱|"
         rf"心头好|大爱|本命|菜)", things, "是我的", confidence=0.75, guard=lambda found: re.match(
              r"[这那它他她你我其不]", found["value"]) is None),
    rule("更喜欢", "prefers", rf"^(?:(?:比起|相比|相较于|与|跟|和)(?P<less>[^，,。我]{{1,12}}?)(?:相比|"
         rf"比)?)?{SUBJECT}{ADVERB}(?:更|还是更|更加|还是|相对更?)(?:喜欢|爱|偏爱|喜爱|倾向于?|愿意|享受|习惯于?|"
         rf"中意)(?P<value>.+)", things, "更", "还是", "相对", confidence=0.85,
         guard=_general),
    rule("偏爱", "prefers", rf"^{SUBJECT}{ADVERB}(?:偏爱|偏好|偏向于?|倾向于?|宁愿|宁可|首选)(?P<value>.+)", things,
         "偏", "倾向", "宁", "首选", confidence=0.85, guard=_general),
    rule("粉丝", "likes", rf"^{SUBJECT}{ADVERB}是(?:一?[个名位]|一枚)?(?:忠实的?|资深的?|铁杆|骨灰级的?|狂热的?|"
         rf"超级|的)*(?P<value>[^，,。的]{{2,12}}?)(?:的)?(?:忠实|铁杆|资深|骨灰级|超级|的)*(?:粉丝|迷|爱好者|"
         rf"发烧友|控|铁粉|球迷|歌迷|影迷|戏迷|达人)(?:了)?{END}", things, "粉", "迷", "爱好者", "发烧友", "控",
         "达人", confidence=0.8, guard=lambda found: _ABOUT_YOU.search(found["value"]) is None),
    rule("爱好是", "interest", rf"^{SUBJECT}的?(?:业余|最大的?|主要的?|个人|唯一的?|平时的?|课余|一大)*(?:兴趣爱好|"
         rf"爱好|兴趣|业余生活|消遣)(?:就|主要|一直|现在|还|都)*(?:是|有|包括|在于|：|:|广泛[，,])(?P<value>.+)",
         things, "爱好", "兴趣", "业余生活", "消遣", confidence=0.85, guard=lambda found: re.match(
              r"(?:不|什么|很|没|多|更)", found["value"]) is None),
    rule("感兴趣", "interest", rf"^{SUBJECT}{ADVERB}对(?P<value>[^，,。]+?)(?:这方面|方面|一直|也|很|非常|特别|比较|"
         rf"挺|都|更|最|十分|有着|有|产生了?|充满|还|是|极其|浓厚的|极大的|强烈的|很大的|很感|了)*(?:感兴趣|"
         rf"感到兴趣|兴趣|着迷|热情|情有独钟)", things, "兴趣", "着迷", "热情", "情有独钟", confidence=0.85,
         guard=lambda found: _general(found) and re.search(r"不|没|失去", found.string[found.end("value") :]) is None),
    rule("喜欢", "likes", rf"^{SUBJECT}(?:平时|业余|闲暇|有空|周末|空闲|放假|下班后|没事)*(?:的?时候?|"
         rf"时间)?{ADVERB}(?:就|会|都|最)*{_LIKE}(?P<value>.+)", things, "喜欢", "爱", "迷", "热衷", "中意", "欣赏",
         "享受", "好", confidence=0.8,
         guard=lambda found: _general(found) and not re.match(r"(?:的|过|了我|上你|得|不|人$|和我|跟我|一个人$|情|"
              r"人家|护|面子)", found["value"])),
    rule("迷上", "interest", rf"^{SUBJECT}{ADVERB}(?:迷上了?|爱上了?|入坑了?|喜欢上了|开始学习?|"
         rf"在学习?(?![校术生科期业会位历前年者习])|报名学习?|坚持(?!不))(?P<value>.+)", things, "上", "入坑", "学",
         "坚持", confidence=0.7, guard=lambda found: _general(found) and re.search(r"想|不|没|老师|同学|方面|过程|"
              r"[上中里]$|这|那", found[0]) is None),
    rule("擅长", "interest", rf"^{SUBJECT}{ADVERB}(?:擅长|拿手的是|精于|善于)(?P<value>.+)", things, "擅长", "拿手",
         "精于", "善于", confidence=0.65, guard=lambda found: _general(found) and "不" not in found[0]),
)  # fmt: skip

_DISLIKING = (
    rule("对某事没兴趣", "dislikes", rf"^{SUBJECT}{ADVERB}对(?P<value>[^，,。]+?)(?:一点|完全|根本|都|也|真的|实在|"
         rf"从来|并|并且|一直|毫|就|没什么|没有?什么?|不太|不怎么|不大|不)+(?:感兴趣|兴趣|感冒|感)", things, "兴趣",
         "感冒", confidence=0.8,
         guard=lambda found: re.search(r"不|没|毫", found[0][found.end("value") - found.start() :]) is not None and
         not found[0].endswith("了")),
    rule("讨厌", "dislikes", rf"^{SUBJECT}{ADVERB}(?:最|就|会|都)*{_HATE}(?P<value>.+)", things, "不", "讨厌", "厌",
         "反感", "恨", "嫌", "抵触", "排斥", "烦", "怕", "看不惯", confidence=0.8,
         guard=lambda found: _general(found) and not re.match(r"(?:的(?:是|就|人|话|时候)|得|自己|过|一个人$|了$)",
              found["value"]) and not re.search(r"怕.*(?:会|要|没|不)", found[0])),
    rule("让我受不了", "dislikes", r"^(?P<value>[^，,。]{2,12}?)(?:让我|令我|使我)(?:很|非常|特别|感到|"
         r"觉得)*(?:反感|受不了|厌恶|讨厌|恶心)", things, "让我", "令我", "使我", confidence=0.65, guard=lambda found:
         re.match(r"[这那它他她你我]", found["value"]) is None),
)  # fmt: skip

_DOING = (
    rule("每天", "habit", rf"^(?:{WHO}|我)(?!们)(?:现在|平时|一般|基本上?|几乎|都|习惯|总是|通常|一直|"
         rf"差不多)*(?P<value>(?:每(?:天|周|月|年|个?星期|个月|晚|早|逢|隔)|天天|"
         rf"周[一二三四五六日天末]都)[^，,。]{{2,30}})", whole, "每", "天天", "周", confidence=0.7,
         guard=lambda found: re.search(r"[他她你]|(?<!冥)想|希望|应该|要是|能不能|今天|了$", found["value"]) is None
         and re.search(r"[吃喝跑走练写读看听做打游健去起睡冥学画骑遛喂背锻洗泡散早记弹唱玩刷通上]", found["value"]) is
         not None),
    rule("习惯", "habit", rf"^{SUBJECT}{ADVERB}(?:习惯于?(?!了|用的|的是)(?P<value>[^，,。]{{2,24}}?)){END}", phrase,
         "习惯", confidence=0.75,
         guard=_general),
    rule("有习惯", "habit", rf"^{SUBJECT}{ADVERB}(?:有|养成了|保持着?)(?P<value>[^，,。]{{2,16}}?)的好?习惯", phrase,
         "习惯", confidence=0.75, guard=lambda found: "没有" not in found[0]),
    rule("没事就", "interest", rf"^{SUBJECT}(?:平时|业余(?:时间)?|闲暇(?:时间?|时候)?|空闲(?:时间?|时候)?|"
         rf"有空(?:的时候|时)?|周末|没事|一有空|下班后?)(?:我|就|都|会|经常|常常?|常去|通常|一般|也|总是|"
         rf"喜欢)*(?P<value>(?:去)?(?:{_GAMES}|(?:[看读听写画玩打弹唱跑骑逛做练爬钓养种]|去)[\u4e00-\u9fff]{{1,8}}))",
         things, "平时", "业余", "闲暇", "空闲", "有空", "周末", "没事", "下班", confidence=0.65,
         guard=lambda found: _general(found) and re.search(r"了|想|打算|准备|这个|上个|下个|转一转|看一看|看看|走走|"
              r"事|这|那", found[0]) is None),
    rule("经常", "habit", rf"^(?:{WHO}|我)(?!们)(?:现在|平时|也|还)*(?P<value>(?:经常|常常|时常|有时会)(?!会|觉得|"
         rf"感到|感觉|想|在想|听|说|被|因|有|是|不|忘|生)[^，,。]{{2,20}})", whole, "经常", "常常", "时常", "总是",
         "有时会", confidence=0.6, guard=lambda found: re.search(r"[他她你]|了$|这|那", found["value"]) is None),
    rule("有某物", "possession", rf"^{ME}(?:家里?)?{ADVERB}(?:有|拥有|买了|新买了|入手了|换了|"
         rf"刚买了)(?P<value>(?:[一两二三四五六七八九几]|\d+)[辆台部套只把架间栋艘顶双块].+)", belonging, "有", "买",
         "入手", "换", confidence=0.75, guard=lambda found: "没有" not in found[0]),
)  # fmt: skip

RULES = _GONE + _HEALTH + _DIETS + _DISLIKING + _LIKING + _DOING
