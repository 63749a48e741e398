"""Pieces of Chinese patterns, and how a rule is written with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hybrid_memory.learning.rules.chinese.lexicon import KIN, SURNAMES, either
from hybrid_memory.learning.rules.rule import Rule, Values

HAN = r"[\u4e00-\u9fff]"
ADVERB = (
    r"(?:其实|现在|目前|如今|一直都?|一向|向来|始终|也|还是?|都|就|真的|真心|真是|特别|尤其|非常|很|挺|蛮|超级?|比较|相当|十分|极其|极度|"
    r"平时|平常|平日里?|通常|一般|主要|已经|刚刚?|仍然?|依然|依旧|确实|的确|从小|打小|从小就|只|只是|一个人|独自|最近|近来|这几年|真|可|有点儿?|"
    r"有些|稍微|个人|自己|同样|正在?|长期|天生|当然|反正|毕竟|经常|常常?|总是|老是|格外|无比|深深|由衷|打心底|老|今年|本来|暂时|主业|"
    r"是真的?|周末|业余时间|闲暇时间?|空闲时间?|有空|没事|下班后|一有空|永远|绝对|坚决|严重|轻度|轻微)*"
)
ME = r"(?:我们?(?:本人|自己|个人|两个?|俩|一家人?|全家)?|本人|俺|咱们?)"
_NO_NAME = (
    r"(?!小时|小心|小学|小说|小孩|小区|小组|小猫|小狗|小伙|小姐|小朋友|小吃|小鸟|小小|小型|老是|老师|老家|老板|老人|老公|老婆|老实|老天|老年|阿姨|"
    r"高中|高兴|高考|高级|高铁|高血|方便|方法|方面|方式|方向|文化|文学|文章|文件|文艺|成为|成功|成绩|成本|施工|金融|石头|温柔|温暖|安全|安排|安静|康复|白天|白色|"
    r"黄色|黄金|路上|路过|游泳|游戏|马上|马拉松|江边|万一|严重|严格|关于|关键|关系|向来|向往|齐全|左右|左边|单身|单位|单纯|蓝色|包括|包容|于是|尚未|"
    r"盛大|谷歌|计划|计算|季节|季度|和|向|何|许多|任何|任务|常|时|平|明|万|钱|雷|毛|龙|夏天|秋天|冬天|春天|程序|程度|史上|段时|孔|汤|"
    r"海|花|艾|洪|包|全|水|元|丁点|古典|古代|纪念|苏打|叶子|余下|胡说|曲|甘|祝|柔|凌晨|成都|贵阳|沈阳|洛阳|徐州|苏州|杭州|温州|郑州|"
    r"江苏|江西|石家庄|汪汪|沙|孟买|葛|白|武汉|武术|武器|游|连|路|辛|苗|翻译|章|齐|施|唐朝|宋朝|王者|王子|公|陆|范围|夏|付|顾|"
    r"谢|田|陶|邓丽君的歌)"
)
NAME = (
    rf"{_NO_NAME}(?:(?:欧阳|上官|诸葛|司马|慕容|司徒|皇甫|[{SURNAMES}]){HAN}{{1,2}}|[小阿老]{HAN}{{1,2}}|{HAN}{{1,6}}(?:·{HAN}{{1,6}})+"
    r"|[A-Z][a-z]+(?: [A-Z][a-z]+)?)"
)
KINSMAN = rf"(?:我们?(?:家|的)?|咱)(?:的|那个?|这个?)?(?:一个|一位)?(?:{either(KIN)})"
OF_KIN = rf"{KINSMAN}(?:{NAME}(?=[的是在也今名叫喜爱有]))?"
WHO = rf"(?P<who>{OF_KIN}(?:[他她]们?)?|{either(word for word in KIN if len(word) > 1)}|{NAME}|[他她])"
SUBJECT = rf"(?:{WHO}|{ME})"
"""The speaker, or in the group ``who`` somebody else."""

ONE = r"(?:(?:一|那|这)?[个名位款只条辆台部套种])?"
END = r"(?=$|[，,。.!！;；、])"


def rule(
    name: str,
    attribute: str | Callable[[re.Match[str]], str],
    pattern: str,
    values: Values,
    *cues: str,
    **more: Any,
) -> Rule:
    """A rule of Chinese."""
    return Rule(f"zh: {name}", attribute, re.compile(pattern), values, cues, **more)
