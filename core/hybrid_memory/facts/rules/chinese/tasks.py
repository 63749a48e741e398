"""Rules of Chinese about what is to be done, when, what was decided, and what somebody is after."""

from __future__ import annotations

import re

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.chinese.lexicon import EVENTS, PLACES, either
from hybrid_memory.facts.rules.chinese.values import phrase, tidy, whole
from hybrid_memory.facts.rules.chinese.wording import ADVERB, END, ME, SUBJECT, TIME, rule
from hybrid_memory.facts.rules.rule import When

_VERBS = (
    r"(?:预订|预定|预约|订购|订|购买|买|打电话|打给|回电话|回复|回|寄出?|发送|发给|发|提交|交|完成|写完|写|填写|填|"
    r"付|还|缴|续费|续签|续|取|领|拿|接|送|修改|修理|维修|修|洗|打扫|收拾|整理|打印|复印|"
    r"准备|联系|通知|安排|报名|注册|申请|办理|办|更新|升级|备份|部署|上线|发布|合并|测试|检查|审核|审阅|校对|翻译|"
    r"下载|上传|安装|搬|换|退|取消|复习|预习|背|练习|排练|参加|出席|去|看|做|约|见|交接|汇报|报销|转账|汇款|"
    r"存|浇|喂|遛|签|确认|核对|跟进|处理|解决|搞定|重构|迁移|录制|剪辑|拍|画|面试|体检|复查|配|充值|充|加油|带|学完|"
    r"读完|看完|开会|讨论)"
)
_DONE = (
    r"(?:订|买|交|写|做|完成|寄|发|付|还|缴|续|取|领|拿|接|送|修|洗|打扫|收拾|整理|打印|准备|联系|通知|安排|报名|"
    r"注册|申请|办|更新|升级|备份|部署|上线|发布|合并|测试|检查|审|校对|翻译|下载|上传|安装|搬|换|退|预约|预订|"
    r"提交|约|签|确认|处理|解决|搞定|重构|迁移|录|剪|拍|画|改|看|读|填|复习|浇|喂)"
)
_ENDING = r"(?:完成|完毕|完|好|掉|成|到|出去?|过去?|定|妥|齐|清|回来?)"
_OBJECT = r"[^，,。；;的了我你他她它这那]{1,16}?"
_VAGUE = re.compile(r"(?:你|您|他|她|它|我|这|那|东西|什么|一下|事情?|班|家|人|学|课|饭|洗手间|厕所|睡|死|疯|走|了)+$")


def _task(words: str) -> tuple[str, ...]:
    """What is to be done."""
    words = re.sub(
        r"^(?:一下|要|得|去(?=[买取交寄接拿办看参]{1})|记得|别忘了|先|再|把|还|在|于|之前|以前|前|的时候|请|帮我|"
        r"给我|我)+",
        lambda found: "把" if found[0].endswith("把") else "",
        tidy(words).strip("，, "),
    )
    words = tidy(words)
    ok = words[2:] or re.fullmatch(r"(?:交|买|订|取|还|寄|付|洗|修|浇)\S|体检|面试|开会|报名|复查|复习", words)
    return (
        (words,)
        if ok
        and not _VAGUE.fullmatch(words[1:])
        and not re.match(r"(?:说|问|告诉|知道|看看|想|感谢|谢|是|有|不|没|承认|祝|走|睡)", words)
        else ()
    )


def _event(words: str) -> tuple[str, ...]:
    """An event without the words around it."""
    words = re.sub(r"^(?:有|要|去|参加|开|举办|的|一[场个次]|个|场|次|我们?|会|将|到|在|是)+(?=..)", "", tidy(words))
    return phrase(words) or ((words,) if len(words) > 1 and not _VAGUE.fullmatch(words) else ())


def _of_parts(words: str) -> tuple[str, ...]:
    """What was done, as it was to be done: 把机票订好了 is 订机票."""
    found = re.search(rf"把(?P<object>{_OBJECT})(?:给|都|全|全部|已经)*(?P<verb>{_DONE}){_ENDING}?了", words)
    return _task(found["verb"] + found["object"]) if found else ()


def _of_object(words: str) -> tuple[str, ...]:
    """The same for 机票订好."""
    found = re.fullmatch(
        rf"(?P<object>.+?)(?:已经|终于|都|全部|刚刚?|也|昨天|今天|今早)*(?P<verb>{_DONE}){_ENDING}", words
    )
    return _task(found["verb"] + found["object"]) if found else ()


def _handled(words: str) -> tuple[str, ...]:
    """The same for 房租已经交."""
    found = re.fullmatch(
        r"(?P<object>.+?)(?:已经|终于|都|全部|刚刚?|昨天|今天|今早|上午|早就)+(?P<verb>.+?)(?:好|"
        r"完|掉|出去|过)?",
        words,
    )
    return _task(found["verb"] + found["object"]) if found else ()


def _of_verb(words: str) -> tuple[str, ...]:
    """The same for 订好了机票."""
    found = re.fullmatch(rf"(?P<verb>{_DONE}){_ENDING}?了?(?P<object>(?!好多|很多|几|多少).{{2,}})", words)
    return _task(found["verb"] + found["object"]) if found else ()


def _ahead(found: re.Match[str]) -> bool:
    """Whether the time before lies ahead: it names a coming day, and the verb is about no past."""
    ahead = re.search(
        r"明[天早晚]|后天|下(?:个?(?:周|月|星期|礼拜)|午)|这?周[一二三四五六日末]|今[晚天]|\d+[号日点]|"
        r"[月号][^，,。]{0,4}|星期|年底|月底",
        found["time"],
    )
    words = found.string
    return (
        ahead is not None
        and re.search(
            r"了|过|昨|上(?:周|个)|去年|前天|每|如果|怎么|吧$|吗|想|没|不|它|她|他|带领|还有|天气|聊|再见|见[!！]?$|"
            r"好不好|觉得|的时候|你|您|都是|刚",
            words,
        )
        is None
    )


_TODO = (
    rule("不用做了", "todo", rf"^(?:{ME})?{ADVERB}(?:不用|不需要|不必|没必要|用不着|不打算|决定不|不准备|"
         rf"不想)(?:再)?(?:去)?(?P<value>{_VERBS}[^，,。]{{1,20}}?)了$", _task, "不", "没必要", stance=Stance.DROPPED,
         confidence=0.75),
    rule("不提醒", "todo", r"^(?:不用|别|不要|不必)(?:再)?提醒我(?P<value>.+?)了?$", _task, "提醒", stance=Stance.
         DROPPED),
    rule("提醒我", "todo", r"^.{0,14}?(?:提醒(?:一下)?我|叫我记得|帮我记(?:得|着|一下)?|让我记得|别让我忘了)(?:一下|"
         r"到时候|，|：|:)*(?P<value>.+)", _task, "提醒", "记", "忘", confidence=0.9, when=When.DUE, guard=lambda
         found: re.search(r"不用|别提醒|不要提醒|谢谢|感谢|[你他她]总|经常提醒", found.string[: found.start("value")].
              replace("别让我忘", "")) is None),
    rule("待办", "todo", r"^(?:我的)?(?:待办(?:事项)?|今日待办|TODO|todo|To-do|to-do|代办)(?:是|有|：|:|，|里加上|"
         r"加一条|添加|增加)*(?P<value>.+)", _task, "办", "todo", "to-do", confidence=0.85, when=When.DUE),
    rule("加到清单", "todo", r"^(?:请|帮我)?把(?P<value>[^，,。]+?)(?:加到|加入|加进|放进|写进|列入|"
         r"添加到)(?:我的)?(?:待办|清单|购物清单|日程|任务列表|列表|备忘录)", phrase, "待办", "清单", "日程", "列表",
         "备忘", confidence=0.85, when=When.DUE),
    rule("别忘了", "todo", r"^(?:我(?=要|得|可|不能|千万|别))?(?:要|得|千万|一定要?|请)*(?:记得|别忘了?|"
         r"不要忘记?了?|不能忘记?了?|可别忘了?)(?:要|得|在|去|把|给|帮我)*(?P<value>.+)", _task, "记得", "忘",
         confidence=0.75, when=When.DUE,
         guard=lambda found: re.match(rf"(?:\S{{0,14}}?){_VERBS}", found["value"]) is not None and re.search(
              r"你说|上次|那次|曾|小时候|当时|以前|之前我|[了过吗的]$", found["value"]) is None),
    rule("得做", "todo", rf"^(?:{TIME})?(?:之?前)?{ME}(?:{TIME}|还|也|先|就|都|又|今天|周末)*(?:必须|"
         rf"得(?![到了意知])|需要|要(?![求是不么])|应该|该(?!死)|还有)(?:记得|先)*(?P<value>[^，,。]+)", _task, "必须",
         "得", "需要", "要", "应该", "该", confidence=0.65, when=When.APPOINTED,
         guard=lambda found: re.match(rf"(?:{TIME}|在|之前|以前|前|去|给[^，,。]{{1,6}}|跟[^，,。]{{1,6}}|"
              rf"和[^，,。]{{1,6}}|把[^，,。]{{1,8}}?)*{_VERBS}", found["value"]) is not None
         and re.search(r"你|您|[他她它]|想|感谢|推荐|不要|没|怎么|去年|昨天|了$|的时候|如果|就要|重要|只要|需要的|"
              r"要的|要求|快要|希望|过|找|征兆|问题|景点|餐馆|酒店", found[0]) is None),
    rule("还得做", "todo", rf"^{ME}(?:还|也|先|都|又)*(?:必须|得(?![到了意知])|需要)(?:记得|先|"
         rf"去)*(?P<value>{_VERBS}[^，,。]+)", _task, "必须", "得", "需要", confidence=0.65, when=When.DUE,
         guard=lambda found: re.search(r"你|您|[他她它]|想|感谢|推荐|不|没|怎么|了$|的时候|如果|希望|过|找|问题|"
              r"景点|餐馆|酒店", found[0]) is None),
    rule("截止", "todo", r"^(?:我的|我们的|这个|那个)?(?P<value>[\u4e00-\u9fffA-Za-z]{2,14}?)(?:的)?(?:截止(?:日期|"
         r"时间)?|最晚|最迟|deadline|ddl|DDL|Deadline)(?:改)?(?:就?是|在|到|为|改到|：|:)*(?P<rest>.+)", phrase,
         "截止", "最晚", "最迟", "ddl", "deadline", confidence=0.8, when=When.APPOINTED),
    rule("某时前得做", "todo", rf"^(?:{ME})?(?P<time>{TIME})(?<=前)(?:{ME})?(?:就|都|还|也)*(?:必须|"
         rf"得(?![到了意知])|需要|要(?![求是不么])|应该)(?P<value>[^，,。]+)", _task, "前", confidence=0.75, when=When
         .APPOINTED, guard=lambda found: re.search(r"你|您|[他她它]|不|没", found[0]) is None),
    rule("之前要交", "todo", rf"^(?P<value>(?:我的|我们的)?[\u4e00-\u9fffA-Za-z]{{2,12}}?)(?:最晚|"
         rf"最迟)?(?P<time>{TIME})(?<=前)(?:必须|得|要|需要|就要)(?:{_DONE})", phrase, "前", confidence=0.7, when=When
         .APPOINTED),
)  # fmt: skip

_STATE = (
    rule("取消了", "appointment", rf"^(?:{ME})?(?:\S{{0,4}}?){ADVERB}(?:把)?(?:取消|推掉|退掉|"
         rf"退订)了(?P<value>[^，,。]*?{EVENTS}[^，,。]{{0,4}})$", _event, "取消", "推掉", "退", stance=Stance.DROPPED,
         confidence=0.85),
    rule("被取消了", "appointment", rf"^(?:我们?的?|那个|这个|原定的?)?(?P<value>[^，,。我]*?{EVENTS})(?:已经|被|又|"
         rf"都|临时|全部|突然)*(?:取消|推掉|黄|泡汤|作废|不开|不办|不去|没)了", _event, "取消", "推掉", "黄", "泡汤",
         "作废", "不", stance=Stance.DROPPED, confidence=0.8),
    rule("放弃了", "todo", rf"^{ME}(?:\S{{0,4}}?){ADVERB}(?:取消了|放弃了|不做了?|砍掉了|"
         rf"搁置了)(?P<value>[^，,。]{{2,20}}?)(?:的?(?:计划|打算|任务|安排|想法|项目))?$", phrase, "取消", "放弃",
         "砍掉", "搁置", stance=Stance.DROPPED, confidence=0.7),
    rule("改期", "appointment", rf"^(?:我们?的?|那个|这个|原定的?)?(?P<value>[^，,。我]*?{EVENTS})(?:已经|被|又|"
         rf"临时|时间)*(?:(?:改|推迟|延期|延|提前|挪|调整|顺延|推)(?:到|至|为|成|在)|定[在于]|安排在|"
         rf"约在)了?(?P<time>.+)", _event, "改", "推", "延", "提前", "挪", "调整", "定", "安排在", "约在",
         confidence=0.85, when=When.APPOINTED),
    rule("把某事做了", "todo", rf"^{ME}(?:\S{{0,6}}?){ADVERB}把(?P<object>(?![^，,。]*从){_OBJECT})(?:给|都|全|全部|"
         rf"已经)*(?P<verb>{_DONE}){_ENDING}?了", _of_parts, "把", stance=Stance.DONE, confidence=0.8),
    rule("某事做好了", "todo", rf"^(?:我们?(?:的|把|终于|已经)?)?(?P<value>(?!已经|终于|我|你|他|她|都|就|才|刚|每|"
         rf"什么|一切|这|那)[\u4e00-\u9fffA-Za-z]{{2,12}}?(?:已经|终于|都|全部|刚刚?|也|昨天|今天|"
         rf"今早)*{_DONE}{_ENDING})了{END}", _of_object, "了", stance=Stance.DONE, confidence=0.75,
         guard=lambda found: re.search(r"[吃喝想听说爱不没会能要]|准备好|做好了准备|看好|看到|买到|见到|换成|改成|"
              r"打扮|身体|心情|天气|关系|变|病|一切|人|生活|快|(?:书|电影|剧|视频|小说|文章|节目|歌).*[看听]完$",
              found["value"]) is None),
    rule("某事已经办了", "todo", rf"^(?:我们?(?:的|把)?)?(?P<value>(?P<object>(?!已经|终于|我|你|他|她|都|就|才|刚|"
         rf"每|什么|一切|这|那)[\u4e00-\u9fffA-Za-z]{{2,8}}?)(?:已经|终于|都|全部|刚刚?|昨天|今天|今早|上午|"
         rf"早就)+(?P<verb>交|付|还|寄|发|买|订|办|缴|取|退|续|签|洗|修|约|预约|提交|报名|完成|搞定|处理|上线|发布|"
         rf"部署)(?:好|完|掉|出去|过)?)了{END}", _handled, "了", stance=Stance.DONE, confidence=0.7,
         guard=lambda found: re.search(r"[吃喝想听说爱不没会能要]|人|朋友|同学|同事", found["object"]) is None),
    rule("任务取消了", "todo", r"^(?:我们?的?|那个|这个|原定的?)?(?P<value>[\u4e00-\u9fffA-Za-z]{2,12}?(?:任务|计划|"
         r"订单|安排|项目|行程|预约|预订|活动))(?:已经|被|又|都|临时|全部|突然)*(?:取消|作废|泡汤|搁置|砍掉|黄)了",
         phrase, "取消", "作废", "泡汤", "搁置", "砍掉", "黄", stance=Stance.DROPPED, confidence=0.75),
    rule("已经做了", "todo", rf"^(?:{ME})?(?:\S{{0,6}}?)(?:已经|终于|刚刚?|都|也|今天|昨天|早就|总算|顺利|"
         rf"成功)+(?P<value>{_DONE}(?:{_ENDING})?了?(?!班|家)[^，,。了的是个这那得们]{{2,10}}?)了?$", _of_verb, "已经",
         "终于", "刚", "早就", "总算", "今天", "昨天", "顺利", "成功", stance=Stance.DONE, confidence=0.75,
         guard=lambda found: re.search(rf"{_ENDING}了?|了", found["value"]) is not None and re.search(
              r"[你他她]|一部|一本|电影|朋友|过|到了|看了|读了|画了|拍了|想|要|着|发现|发生|做了一|换了|搬|改变|"
              r"接触|拿到|感|买了一", found["value"]) is None),
    rule("完成了", "todo", rf"^(?:{ME})?(?:\S{{0,4}}?){ADVERB}(?:终于|顺利|按时|成功)*(?:完成|搞定|做完|办完|处理完|"
         rf"交完|写完)了(?P<value>[^，,。]{{2,20}})", lambda words: phrase(re.sub(r"^(?:我的|我们的|所有的?|全部的?)",
              "", words)), "完成", "搞定", "完", stance=Stance.DONE, confidence=0.75),
)  # fmt: skip


_DATES = (
    rule("将要参加", "appointment", rf"^{ME}[^，,。]{{0,12}}?(?:将要?|即将|要|会|准备|打算|计划|报名了?|将会|"
         rf"约好了?|答应了?)(?:去)?(?:参加|出席|观看|赴)(?P<value>[^，,。]+)", _event, "参加", "出席", "观看", "赴",
         confidence=0.85, when=When.DUE,
         guard=lambda found: re.search(r"不|没|如果|你|一些|各种|更多|过", found[0]) is None),
    rule("有个安排", "appointment", rf"^(?:{ME})?(?P<time>{TIME})(?:{ME})?(?:还|也|就|要|会|又|都|得|将)*(?:(?:和|"
         rf"跟|与)[^，,。]{{1,8}}?)?(?:有|开|约了?|预约了?|安排了?|定了?|订了?|"
         rf"去?参加)(?:了)?(?:一?[个场次节顿])?(?P<value>[^，,。]{{0,14}}?{EVENTS}){END}", _event, "有", "开", "约",
         "安排", "定", "订", "参加", confidence=0.8, when=When.APPOINTED,
         guard=lambda found: re.search(r"没|不|了$|过$|如果|机会|昨|上周|上个|去年|前天|每|刚", found[0]) is None),
    rule("约好", "appointment", rf"^{ME}(?:{ADVERB}(?:和|跟|与)[^，,。]{{1,8}}?)?{ADVERB}(?:约好?|说好|约定|"
         rf"定好)了?(?:在|于)?(?P<time>{TIME})(?:一起)?(?P<value>[^，,。]{{2,20}})", _event, "约", "说好", "定好",
         confidence=0.75, when=When.APPOINTED),
    rule("约会对象", "appointment", rf"^(?:{ME})?(?P<time>{TIME})(?:{ME})?(?:还|也|就|要|会|得|将|准备|打算|计划|"
         rf"约好|约了|一起)*(?P<value>(?:(?:和|跟|与|陪|约|带)[^，,。]{{1,8}})?(?:去|看|见|做|打|飞|坐|赶|拔|洗|"
         rf"体检|面试|考|开|接|送|拜访|出差|搬家|出发|回|办|交|报到|领|取|吃|参加|聚|喝|爬|逛|学|上(?=课|班|"
         rf"学))[^，,。]{{0,24}})", _event, "去", "看", "见", "做", "打", "飞", "坐", "赶", "拔", "洗", "体检", "面试",
         "考", "开", "接", "送",
         "拜访", "出差", "搬", "出发", "回", "办", "交", "报到", "领", "取", "吃", "参加", "聚", "喝", "爬", "逛",
         "学", "上", confidence=0.6, when=When.APPOINTED, guard=_ahead),
    rule("活动时间", "时间", r"^(?P<who>[^，,。的我你他她这那]{3,24}?)的(?:举办|开始|举行|活动|具体)?时间(?:定在|"
         r"就?是|为|在|改到了?|：|:)+(?P<value>.+)", whole, "时间", single=True, confidence=0.85, guard=lambda found:
         re.search(r"大部分|大量|很多|更多|所有|一段|营业|空闲", found[0]) is None),
    rule("活动的某项", lambda found: found["about"], r"^(?P<who>(?![在对从])[^，,。、的我你他她这那]{3,24}?)的"
         r"(?P<about>地点|主题|主要内容|内容|规模|持续时间|时长|主办方|举办方|费用|票价|门票|主讲人|嘉宾|口号|预算|"
         r"人数)(?:定在|就?是|为|在|有|：|:)+(?P<value>.+)", whole, "地点", "主题", "内容", "规模", "时", "方", "费用",
         "票", "主讲", "嘉宾", "口号", "预算", "人数", single=True, confidence=0.8,
         guard=lambda found: re.search(r"大部分|很多|所有|他们|景点|餐馆|酒店|这|那|想|找|希望|游玩|请|帮|有|要",
              found["who"]) is None),
)  # fmt: skip


_DECISIONS = (
    rule("决定", "decision", rf"^(?:{ME}|团队|公司|全家|大家|最后|最终|终于|已经|"
         rf"我们?最[终后])(?:\S{{0,6}}?){ADVERB}(?:最终|最后|终于)?(?:决定(?:好)?|商定|说好|敲定|拍板|确定(?=用|选|"
         rf"采用|去)|达成一致|定下来|选定|议定)(?:了|要|去|用|采用|选|选择|使用|是|下来)*(?P<value>[^，,。]+)", whole,
         "决定", "商定", "说好", "敲定", "拍板", "确定", "一致", "定", confidence=0.75,
         guard=lambda found: re.search(r"还没|没有决定|这|那|到这|不确定|不能确定|无法|没法|怎么|哪|什么|是否|"
              r"能确定|[你他她]", found[0]) is None),
    rule("就用", "decision", r"^(?:那|我们?|咱们?|最后|最终|还是|最后还是)*(?:就|还是)(?:决定)?(?:选择|用|选|订|定|"
         r"买|采用|(?=去))(?P<value>[^，,。]{2,20}?)(?:吧|了|好了|就行|啦)$", phrase, "用", "选", "订", "定", "买",
         "采用", "去", confidence=0.65,
         guard=lambda found: re.search(r"这|那$|那[个家种里儿边]|它|他|她|哪|你|去(?:睡|吃|休息|看看|试试)$|不", found
              ["value"]) is None),
    rule("决定是", "decision", r"^(?:我们?的|最终|最后的?|团队的)*(?:决定|决议)(?:就?是|：|:)(?P<value>.+)", whole,
         "决定", "结论", "决议", confidence=0.75, guard=lambda found: "错误" not in found[0] and "正确" not in found[
              "value"]),
    rule("最后选了", "decision", rf"^(?:{ME})?(?:最后|最终|终于)(?:还是)?(?:选择?了|选定了|订了|买了|用了|采用了|"
         rf"挑了)(?P<value>[^，,。]+)", phrase, "选", "订", "买", "用", "挑", confidence=0.75),
    rule("改用", "decision", rf"^(?:{ME})?(?:\S{{0,4}}?){ADVERB}(?:改用|换成|换用|改成用|转用|"
         rf"采用)了(?P<value>[^，,。]+)", phrase, "改用", "换", "改成用", "转用", "采用", confidence=0.65,
         guard=lambda found: "没" not in found[0]),
)  # fmt: skip

_GOALS = (
    rule("不打算了", "goal", rf"^{ME}{ADVERB}(?:不再?|已经不|不(?=[^，,。]*了$))(?:打算|计划|准备|想(?=考|成为|当|"
         rf"学|买|去[\u4e00-\u9fff]{{2}}|搬|创业|留学|减肥))(?:要|再)?(?P<value>[^，,。]{{2,20}}?)了$", whole, "不",
         stance=Stance.DROPPED, confidence=0.8),
    rule("目标实现", "goal", rf"^{ME}(?:\S{{0,6}}?){ADVERB}(?:实现|达成|完成|"
         rf"达到)了(?:我的)?(?P<value>[^，,。]+?)的?(?:目标|梦想|愿望|心愿)", phrase, "目标", "梦想", "愿望", "心愿",
         stance=Stance.DONE, confidence=0.85),
    rule("目标是", "goal", rf"^{SUBJECT}(?:们)?的?(?:今年的?|明年的?|最大的?|短期的?|长期的?|近期的?|终极|人生|职业|"
         rf"学习|下一个|新的?|年度|小|最终|一个|减肥|健身|这个月的?|一直以来的?|儿时的?|从小的?)*(?:目标|梦想|理想|"
         rf"愿望|心愿|志向|追求)(?:就|一直|一直都|现在|之一|依然|仍然)*(?:是|：|:)(?:能够?|可以|想|要|"
         rf"希望)*(?P<value>.+)", whole, "目标", "梦想", "理想", "愿望", "心愿", "志向", "追求", confidence=0.85,
         guard=lambda found: re.search(r"什么|你", found["value"]) is None),
    rule("想成为", "goal", rf"^我{ADVERB}(?:想要?|希望(?:能够?|可以)?|梦想(?:着)?|立志要?|渴望|打算|要(?!提|掌|通|"
         rf"进|加|完|挑)|期待|努力|志在|向往|一心想|将来想|以后想)(?:着|能|能够|将来|以后|早日|"
         rf"自己)*(?P<value>(?:成为|当上?|做一[个名位]|考(?:上|取|过)|考[研博公级]|考(?:驾照|雅思|托福|"
         rf"[\u4e00-\u9fff]{{0,4}}证)|学会|学好|开一[家个]|开自己|创业|出国|留学|移民|写一[本部]|出版|减肥|减掉|"
         rf"减到|减重|瘦到?|跑完|跑一[次场]|攒钱|攒够|存够|存钱|买房|买一套|买车|"
         r"环游|环球|提高|提升|掌握|拿到|通过|进入|加入|转行|转岗|晋升|升职|退休|搬到|搬去|定居|完成一|挑战|"
         r"参加马拉松|戒)[^，,。]*)", whole, "想", "希望", "梦想", "立志", "渴望", "打算", "要", "期待", "努力",
         "志在", "向往", confidence=0.75,
         guard=lambda found: re.search(r"不|没|如果|你|您|他|她", found[0]) is None),
    rule("打算", "goal", rf"^{ME}(?:\S{{0,10}}?){ADVERB}(?:打算|计划|正?准备(?=去|考|参加|搬|买|学|报|换|写|开|申请|"
         rf"跳槽|辞|创业|结婚|移民|出国)|在计划|正在计划|筹划|在筹划|立志|备战|在备考|备考)(?:要|着|将来|以后|"
         rf"一下)*(?P<value>[^，,。]{{2,30}})", whole, "打算", "计划", "准备", "筹划", "立志", "备", confidence=0.65,
         guard=lambda found: re.search(r"不|没|如果|你|您|[他她]|找|计程车|评分|门票|景点|住处|[住玩]$|游玩|路线|"
              r"请人|去(?:一个|个)|查|订|呼叫|打车|出租|地铁|[坐乘搭打]车|住下|住宿|用餐|餐馆|酒店|这|它|周边|附近|"
              r"只|吃晚?饭|午饭|早饭|睡|休息|下班|出门|的计划|准备好|准备了|准备的|好了|计划[的是书]|今晚|今天|现在",
              found[0]) is None and re.match(r"(?:工作|的|了|是|好|中|一个$)", found["value"]) is None),
    rule("想去", "goal", rf"^{ME}(?:一直|很|特别|非常|好|超级?|"
         rf"真的)*想(?P<value>去(?:{either(PLACES)})[^，,。]{{0,14}})", whole, "想去", confidence=0.55, guard=lambda
         found: re.search(r"不|没|酒店|餐|宾馆|景点|那|这|店", found[0]) is None),
    rule("一直想", "goal", rf"^{ME}(?:一直|从小就?|很早就|做梦都|将来|以后|未来|明年|今年|总有一天|毕业后|"
         rf"退休后)(?:都|很|非常|特别|就|还)*(?:想要?|希望(?:能够?)?|梦想)(?:着|能)*(?P<value>[^，,。]{{2,24}})",
         whole, "想", "希望", "梦想", confidence=0.7, guard=lambda found: re.search(r"不|没|如果|你|您|他|她|知道|"
              r"告诉|说|问|象", found[0]) is None),
)  # fmt: skip

RULES = _STATE + _TODO + _DATES + _GOALS + _DECISIONS
