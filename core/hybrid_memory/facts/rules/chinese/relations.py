"""Rules of Chinese about who is what to whom."""

from __future__ import annotations

import re

from hybrid_memory.facts.fact import Stance
from hybrid_memory.facts.rules.chinese.kinds import animals, name, names, pet, plausible_name, stated_name
from hybrid_memory.facts.rules.chinese.lexicon import ANIMALS, KIN, either
from hybrid_memory.facts.rules.chinese.values import phrase
from hybrid_memory.facts.rules.chinese.wording import ADVERB, HAN, ME, NAME, rule

_NOUN = rf"(?P<kin>{either(KIN)})"
_NAMED_ONLY = frozenset("relative".split())
_BEHIND = r"(?=$|[，,。是在也今都很喜爱有说和跟与的去来做住会从毕今昨明已最刚养叫给]|工作)"
_COUNT = r"(?:[一两二三四五六七八九几]|\d+)[个位名]"


def relation(found: re.Match[str]) -> str:
    """The attribute of somebody whose relative is named; uncles and cousins are told apart by other rules."""
    attribute = KIN[found["kin"]][0]
    return "" if attribute in _NAMED_ONLY else attribute


def _any(found: re.Match[str]) -> str:
    return KIN[found["kin"]][0]


PETS = (
    rule("宠物不在了", "pet", rf"^{ME}(?:家|们)?的?(?P<value>(?:{ANIMALS}){HAN}{{0,4}}?)(?:前几天|上周|上个月|去年|"
         rf"昨天|今年)*(?:去世|死|走丢|送人|走)了", lambda words: (words,), "去世", "死", "走", "送人", stance=Stance.
         ENDED),
    rule("有只猫叫", "pet", rf"(?P<value>(?:{ANIMALS})[，,]?(?:它)?(?:的?名字)?(?:叫做?|名叫|"
         rf"取名叫?)[^，,。；;]{{1,10}})", pet, "叫", "取名", confidence=0.85,
         guard=lambda found: re.search(r"我|咱|家里", found.string[: found.start()]) is not None),
    rule("叫咪咪的猫", "pet", rf"^{ME}家?里?{ADVERB}(?:有|养了?|养着)[一两]?[只条]?(?:名叫|"
         rf"叫做?)(?P<called>\S{{1,6}}?)的(?P<value>{ANIMALS})", lambda words: (words,), "叫", confidence=0.85),
    rule("养了一只猫", "pet", rf"^{ME}家?里?{ADVERB}(?:有|养了?|养着|养过|领养了?|收养了?|新养了?|买了)(?P<value>.+)",
         animals, "养", "有", "买", confidence=0.8,
         guard=lambda found: "养过" not in found[0] and ("养" in found[0] or re.match(r"[一两二三四五六]", found[
              "value"]) is not None)),
    rule("咪咪是我的猫", "pet", rf"^(?P<value>{HAN}{{1,4}}?)是我(?:们)?家?(?:养?的)?(?P<kind>{ANIMALS})", stated_name,
         "是我", confidence=0.8),
)  # fmt: skip

RELATIVES = (
    rule("我妻子叫", relation, rf"^(?:我们?|咱)(?:家|的)?(?:有)?(?:一[个位名])?(?:那个)?{_NOUN}[他她]?的?(?:名字|"
         rf"姓名)?(?:就?叫做?|名叫|名字(?:就?[是叫]))(?P<value>.+)", stated_name, "叫", "名字", confidence=0.95),
    rule("名字是", relation, rf"^(?:我们?|咱)(?:家|的)?{_NOUN}的?(?:名字|姓名|大名)(?:就?是|：|:)(?P<value>.+)",
         stated_name, "名", confidence=0.95),
    rule("有个哥哥叫", relation, rf"^{ME}家?{ADVERB}(?:有|认识|交了|生了|结识了)(?:{_COUNT}|"
         rf"个)?(?:\S{{0,4}}的)?{_NOUN}[，,]?[他她]?(?:的名字)?(?:就?叫做?|名叫)(?P<value>.+)", stated_name, "叫",
         confidence=0.9),
    rule("两个孩子叫", relation, rf"^{ME}家?{ADVERB}有{_COUNT}{_NOUN}[，,]?(?:分别)?(?:叫|是)(?P<value>.+)", names,
         "叫", "分别", confidence=0.85, guard=lambda found: "叫" in found[0]),
    rule("我妻子小丽", relation, rf"(?:^|[，,和跟与])我们?(?:家|的)?(?:一个|那个)?{_NOUN}(?P<value>{NAME}){_BEHIND}",
         name, "我", confidence=0.75,
         guard=lambda found: found["value"][1:] != "" and not re.search(r"[是在也都很喜爱有说的去来做住会从最刚养叫"
              r"给今这那什了着吃想要]$", found["value"])),
    rule("和妻子小丽住", relation, rf"(?:^|[，,我们])[和跟与](?:我们?的?)?{_NOUN}(?P<value>{NAME}|{HAN}{{2}})(?=(?:"
         rf"一起|一块儿?)?住在)", plausible_name, "住在", confidence=0.75, sentence=True,
         guard=lambda found: re.search(r"[俩都现一两们]", found["value"]) is None),
    rule("小丽是我妻子", relation, rf"^(?P<value>{HAN}[\u4e00-\u9fff·]{{1,15}}?|[A-Z][a-z]+)(?:就|也|一直|"
         rf"还)?是我(?:们)?(?:的)?(?:最好的|亲)?{_NOUN}(?:之一)?(?=$|[，,。了啊呢吧])", plausible_name, "是我",
         confidence=0.85,
         guard=lambda found: re.match(r"(?:你|您|他|她|它|我|这|那|谁|大家|不|也|就|都|可|真|而|昨|今|明|对|因|所|"
              r"只|曾|其|那个|人|上帝|是|老人|孩子|第|作|如)", found["value"]) is None and not re.search(
                   r"[的们人个位么]$|[你我他她的不也都在]", found["value"])),
    rule("李雷是我舅舅", "name", rf"^(?P<value>{HAN}[\u4e00-\u9fff·]{{1,15}}?)是(?P<who>我们?的?(?:"
         rf"{either(word for word, (kind, _) in KIN.items() if kind == 'relative')}))(?=$|[，,。了啊呢吧])",
         plausible_name, "是我", confidence=0.85),
    rule("这是我朋友", relation, rf"^(?:这|那|这位|那位)(?:就)?是我(?:们)?(?:的)?{_NOUN}[，,]?(?P<value>{NAME}|"
         rf"[\u4e00-\u9fff]{{1,4}}·[\u4e00-\u9fff]{{1,5}})(?=$|[，,。])", stated_name, "是我", confidence=0.85),
    rule("有两个孩子", _any, rf"^{ME}家?{ADVERB}(?:有|生了|育有)(?P<value>(?:(?:[一两二三四五六七八九]|\d+)(?:个|位|"
         rf"名|对)?)(?:可爱的|亲|双胞胎|上小学的|上中学的|\d+岁的|大|小)*{_NOUN})(?=$|[，,。和了])", phrase, "有",
         "生了", "育有", confidence=0.75,
         guard=lambda found: KIN[found["kin"]][0] in {"child", "sibling", "partner"}),
    rule("分手", "partner", rf"^{ME}{ADVERB}(?:和|跟|与)(?P<value>[\u4e00-\u9fff·]{{2,8}}?){ADVERB}(?:分手|离婚|"
         rf"分开)了?", stated_name, "分手", "离婚", "分开", stance=Stance.ENDED,
         guard=lambda found: re.search(r"[他她你我它]|朋友|女友|男友|对象|妻|夫|老[公婆]", found["value"]) is None),
)  # fmt: skip

RULES = PETS + RELATIVES
