"""The attributes of facts: which hold one value at a time, what they are called, and how important they are."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_memory.facts.fact import USER, Category, Claim
from hybrid_memory.text.tokenize import cjk_share

RULE = "rule: "  # the prefix of standing instructions about the thing that follows; they hold one value
ORDERS = ("instruction", "communication_style")  # attributes that, like rules, tell the assistant how to work
FAVOURITES = ("favorite_", "最喜欢的")  # prefixes of attributes for a favourite of a kind; they hold one value

FAVOURITE_KINDS = {  # kinds of favourites in Chinese, with their names in attributes
    "颜色": "color", "食物": "food", "菜": "dish", "水果": "fruit", "饮料": "drink", "电影": "movie", "书": "book",
    "歌": "song", "歌手": "singer", "乐队": "band", "演员": "actor", "作家": "author", "运动": "sport",
    "季节": "season", "动物": "animal", "城市": "city", "游戏": "game", "数字": "number", "花": "flower",
    "科目": "subject", "餐厅": "restaurant", "音乐": "music",
}  # fmt: skip

MOSTLY = 0.5  # a value with at least this share of Chinese characters counts as Chinese


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of facts.

    Attributes:
        name: in snake case; english, chinese: as shown to readers.
        single: whether it holds one value at a time.
        importance: in [0, 1].
        aliases: names of profile fields with the same meaning.
    """

    name: str
    category: Category
    single: bool
    importance: float
    english: str
    chinese: str
    aliases: tuple[str, ...] = ()


_PREFERENCE, _TASK, _KNOWLEDGE, _RELATION = Category

ATTRIBUTES: dict[str, Attribute] = {
    attribute.name: attribute
    for attribute in (
        Attribute("name", _KNOWLEDGE, True, 0.95, "name", "名字", ("full_name", "first_name")),
        Attribute("nickname", _KNOWLEDGE, False, 0.6, "nickname", "昵称"),
        Attribute("age", _KNOWLEDGE, True, 0.8, "age", "年龄"),
        Attribute("birthday", _KNOWLEDGE, True, 0.8, "birthday", "生日", ("birth_date", "date_of_birth")),
        Attribute("gender", _KNOWLEDGE, True, 0.6, "gender", "性别"),
        Attribute("height", _KNOWLEDGE, True, 0.4, "height", "身高"),
        Attribute("weight", _KNOWLEDGE, True, 0.4, "weight", "体重"),
        Attribute("home", _KNOWLEDGE, True, 0.85, "lives in", "住在", ("city", "location", "residence", "lives_in")),
        Attribute("hometown", _KNOWLEDGE, True, 0.6, "comes from", "来自", ("origin", "birthplace", "place_of_birth")),
        Attribute("nationality", _KNOWLEDGE, True, 0.6, "nationality", "国籍", ("country",)),
        Attribute("address", _KNOWLEDGE, True, 0.9, "address", "地址"),
        Attribute("phone", _KNOWLEDGE, True, 0.9, "phone", "电话", ("phone_number",)),
        Attribute("email", _KNOWLEDGE, True, 0.9, "e-mail", "邮箱", ("mail", "email_address")),
        Attribute("profession", _KNOWLEDGE, True, 0.85, "profession", "职业", ("job", "occupation", "role")),
        Attribute("employer", _KNOWLEDGE, True, 0.75, "works at", "工作单位", ("company", "workplace")),
        Attribute("school", _KNOWLEDGE, False, 0.6, "school", "学校", ("education", "university")),
        Attribute("field_of_study", _KNOWLEDGE, False, 0.5, "field of study", "专业", ("major", "degree")),
        Attribute("language", _KNOWLEDGE, False, 0.5, "speaks", "会说", ("languages",)),
        Attribute("religion", _KNOWLEDGE, True, 0.5, "religion", "信仰"),
        Attribute("marital_status", _KNOWLEDGE, True, 0.6, "marital status", "婚姻状况"),
        Attribute("possession", _KNOWLEDGE, False, 0.4, "has", "拥有"),
        Attribute("condition", _KNOWLEDGE, False, 0.8, "health", "健康状况", ("health", "conditions")),
        Attribute("allergy", _KNOWLEDGE, False, 0.95, "allergic to", "过敏", ("allergies",)),
        Attribute("diet", _PREFERENCE, True, 0.8, "diet", "饮食"),
        Attribute("medicine", _KNOWLEDGE, False, 0.95, "takes", "服用", ("medication", "medications", "medicines")),
        Attribute("accessibility", _KNOWLEDGE, False, 0.95, "accessibility", "无障碍需要", ("disability",)),
        Attribute("likes", _PREFERENCE, False, 0.6, "likes", "喜欢", ("favourites", "favorites")),
        Attribute("prefers", _PREFERENCE, False, 0.7, "prefers", "偏好", ("preferences",)),
        Attribute("dislikes", _PREFERENCE, False, 0.7, "dislikes", "不喜欢"),
        Attribute("avoids", _PREFERENCE, False, 0.75, "avoids", "避免"),
        Attribute("interest", _PREFERENCE, False, 0.55, "interested in", "兴趣", ("interests", "hobbies", "hobby")),
        Attribute("technology", _KNOWLEDGE, False, 0.6, "works with", "使用技术", ("technical_stack", "tech_stack")),
        Attribute("communication_style", _PREFERENCE, False, 0.85, "wants to be spoken to", "沟通方式"),
        Attribute("goal", _TASK, False, 0.75, "goal", "目标", ("goals",)),
        Attribute("project", _KNOWLEDGE, False, 0.65, "works on", "正在做", ("projects",)),
        Attribute("habit", _KNOWLEDGE, False, 0.45, "habit", "习惯", ("habits",)),
        Attribute("partner", _RELATION, True, 0.8, "partner", "伴侣", ("spouse",)),
        Attribute("mother", _RELATION, True, 0.7, "mother", "母亲"),
        Attribute("father", _RELATION, True, 0.7, "father", "父亲"),
        Attribute("parent", _RELATION, False, 0.65, "parent", "父母"),
        Attribute("child", _RELATION, False, 0.75, "child", "孩子", ("children",)),
        Attribute("sibling", _RELATION, False, 0.65, "sibling", "兄弟姐妹", ("siblings",)),
        Attribute("relative", _RELATION, False, 0.5, "relative", "亲戚"),
        Attribute("friend", _RELATION, False, 0.5, "friend", "朋友", ("friends",)),
        Attribute("colleague", _RELATION, False, 0.45, "colleague", "同事", ("colleagues",)),
        Attribute("boss", _RELATION, True, 0.5, "boss", "上司"),
        Attribute("neighbour", _RELATION, False, 0.4, "neighbour", "邻居"),
        Attribute("roommate", _RELATION, False, 0.5, "roommate", "室友"),
        Attribute("pet", _RELATION, False, 0.65, "pet", "宠物", ("pets",)),
        Attribute("todo", _TASK, False, 0.75, "to do", "待办"),
        Attribute("appointment", _TASK, False, 0.8, "appointment", "约定"),
        Attribute("decision", _TASK, False, 0.8, "decided", "决定"),
        Attribute("instruction", _PREFERENCE, False, 0.85, "wants", "要求", ("instructions",)),
        Attribute("experience", _KNOWLEDGE, False, 0.5, "experience", "经历", ("experiences",)),
        Attribute("note", _KNOWLEDGE, False, 0.6, "note", "备注", ("notes",)),
    )
}  # fmt: skip

SAFETY = ("allergy", "medicine", "condition", "accessibility")  # attributes of what may harm somebody if it is unknown
AT_STAKE = (*SAFETY, "diet")  # these and what somebody never eats, which may change


def attribute(name: str, *, single: bool = False) -> Attribute:
    """The attribute with this name; one that is not in the table counts as knowledge, under its own name."""
    known = ATTRIBUTES.get(name)
    if known is not None:
        return known
    if name.startswith(RULE):
        about = name.removeprefix(RULE)
        return Attribute(name, Category.PREFERENCE, True, 0.8, f"rule for {about}", f"{about}的规则")
    words = name.replace("_", " ")
    if name.startswith(FAVOURITES):
        kind = name.removeprefix(FAVOURITES[0])
        chinese = next(
            (f"{FAVOURITES[1]}{known}" for known, english in FAVOURITE_KINDS.items() if english == kind), words
        )
        return Attribute(name, Category.PREFERENCE, True, 0.6, words, chinese)
    return Attribute(name, Category.KNOWLEDGE, single, 0.5, words, words)


_LIKED, _DISLIKED = ("likes", "prefers", "interest", "habit"), ("dislikes", "avoids")
_TO_DO, _THINGS = ("todo", "appointment", "goal"), ("possession", "pet")
_KIN = {name: group for group in (_LIKED, _DISLIKED, _TO_DO, _THINGS) for name in group}


def kin(name: str) -> tuple[str, ...]:
    """The attributes, including this one, that a retraction's words cannot tell apart."""
    return _KIN.get(name, (name,))


def is_order(name: str) -> bool:
    """Whether facts with this attribute tell the assistant how to work."""
    return name in ORDERS or name.startswith(RULE)


_WORDED = {  # how to word a value in a list of several attributes, if prefixing its name would not read well
    "allergy": ("allergic to {}", "对{}过敏"),
    "employer": ("works at {}", "在{}工作"),
    **dict.fromkeys(("diet", "condition", "accessibility", "marital_status"), ("{}", "{}")),
}


def worded(name: str, value: str, *, chinese: bool) -> str:
    """A value with the name of its attribute, as shown in a list of several attributes."""
    about = attribute(name)
    colon = name.startswith((RULE, *FAVOURITES))
    english = f"{about.english}: {{}}" if colon else f"{about.english} {{}}"
    forms = _WORDED.get(name, (english, f"{about.chinese}：{{}}" if colon else f"{about.chinese}{{}}"))
    if not chinese:
        return forms[False].format(value)
    before, _, after = forms[True].rpartition("{}")
    # A space parts Chinese characters from Latin letters or digits.
    left = " " if before[-1:].isalpha() and value[:1].isascii() else ""
    right = " " if after[:1].isalpha() and value[-1:].isascii() else ""
    return f"{before}{left}{value}{right}{after}"


def statement(claim: Claim) -> str:
    """A claim as one line, in the language of its value; recall searches and shows it."""
    about = attribute(claim.attribute)
    if cjk_share(claim.value) > MOSTLY:
        subject = "用户" if claim.subject == USER else claim.subject
        return f"{subject} {about.chinese}：{claim.value}"
    return f"{claim.subject} {about.english}: {claim.value}"
