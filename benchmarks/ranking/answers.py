"""Whether a fact stands before what only follows or asks for it: acknowledgements, questions asked before, exchanges.

For each language 14 facts, each with an acknowledgement behind it, in one session; each is asked for in another one.
A Chinese store of 60 facts, every second one asked for before it was told and acknowledged afterwards; 30 questions.
Exchanges: a question in one turn, and an answer in the next that has no word of it. They are asked in
`tests/long/test_exchanges.py`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from hybrid_memory import open_memory

START = datetime(2026, 3, 2, 9, tzinfo=UTC)

ENGLISH = (
    ("The alarm code is 4471.", "Alright.", "What is the alarm code?"),
    ("My sister Ines lives in Turin.", "Oh nice!", "Where does my sister live?"),
    ("The plumber comes on Thursday at four.", "Got it, thanks!", "When does the plumber come?"),
    ("I am allergic to peanuts.", "Okay, noted.", "What am I allergic to?"),
    ("The spare key hangs behind the boiler.", "Good to know.", "Where is the spare key?"),
    ("Our landlord is called Mr Petrov.", "Understood.", "What is our landlord's name?"),
    ("The wifi password is bluegiraffe.", "Perfect, thank you.", "What is the wifi password?"),
    ("I parked the car on level three.", "Sure.", "On which level did I park the car?"),
    ("The dentist appointment costs 85 euros.", "I see.", "How much does the dentist appointment cost?"),
    ("My daughter plays the cello.", "That's great!", "Which instrument does my daughter play?"),
    ("We fly to Lisbon on the ninth of May.", "Sounds good.", "When do we fly to Lisbon?"),
    ("Tom broke the kitchen window.", "Oh no.", "Who broke the kitchen window?"),
    ("The cat eats only salmon.", "Haha, okay.", "What does the cat eat?"),
    ("My locker number is 218.", "I'll remember that.", "What is my locker number?"),
)
CHINESE = (
    ("门的密码是4471。", "好的，知道了。", "门的密码是多少？"),
    ("我姐姐住在杭州。", "真不错！", "我姐姐住在哪里？"),
    ("水管工星期四下午四点来。", "收到，谢谢！", "水管工什么时候来？"),
    ("我对花生过敏。", "好的，记住了。", "我对什么过敏？"),
    ("备用钥匙挂在锅炉后面。", "明白了。", "备用钥匙在哪里？"),
    ("我们的房东姓彭。", "嗯嗯。", "我们的房东姓什么？"),
    ("无线网的密码是蓝色长颈鹿。", "太好了，谢谢。", "无线网的密码是什么？"),
    ("我把车停在地下三层。", "好的。", "我把车停在地下几层？"),
    ("看牙要八百五十块。", "哦，这样啊。", "看牙要多少钱？"),
    ("我女儿拉大提琴。", "太棒了！", "我女儿拉什么琴？"),
    ("我们五月九号飞里斯本。", "听起来不错。", "我们几号飞里斯本？"),
    ("厨房的窗户是小汤打破的。", "天啊。", "厨房的窗户是谁打破的？"),
    ("我家的猫只吃三文鱼。", "哈哈，好吧。", "我家的猫吃什么？"),
    ("我的储物柜是218号。", "没问题，我会记住的。", "我的储物柜是几号？"),
)
EXCHANGES = (
    ("When shall we meet at the station?", "At half past nine.", "When do we meet at the station?"),
    ("What is the name of your physiotherapist?", "Dr Okafor.", "Who is my physiotherapist?"),
    ("Which colour did you choose for the bedroom walls?", "Pale green.", "What colour are the bedroom walls?"),
    ("火车票订在哪一天？", "下周二。", "火车票是哪天的？"),
    ("新来的钢琴老师姓什么？", "姓欧阳。", "钢琴老师姓什么？"),
)
MEETINGS = tuple(
    (f"{name}的{what}{verb}？", f"{answer}。", f"{name}的{what}{verb}")
    for name, rows in {
        "市场部": (("会议", "几点开始", "会议九点半开始"), ("会议", "在哪个房间开", "在三零二房间开会")),
        "财务部": (("报表", "哪天交", "报表二十五号交"), ("会议", "谁主持", "会议由周琳主持")),
        "设计组": (("样稿", "谁来画", "样稿由阿贵来画"), ("评审", "几点开始", "评审下午两点一刻开始")),
        "物流组": (("货车", "几点发车", "货车清晨五点发车"), ("仓库", "在哪条街", "仓库在松江路")),
        "客服部": (("电话", "是多少", "电话是六二八八"), ("培训", "哪天开始", "培训下周三开始")),
        "研发部": (("版本", "什么时候发布", "版本月底发布"), ("服务器", "密码是多少", "服务器密码是青山九")),
        "人事部": (("面试", "几点开始", "面试十点一刻开始"), ("体检", "在哪家医院", "体检在仁和医院")),
        "采购部": (("合同", "谁签字", "合同由老陆签字"), ("打印机", "多少钱", "打印机两千六百块")),
        "法务部": (("律师", "姓什么", "律师姓欧阳"), ("开庭", "在哪天", "开庭在六月三号")),
        "后勤部": (("食堂", "几点关门", "食堂晚上八点关门"), ("班车", "在哪里上车", "班车在东门上车")),
        "质检组": (("抽查", "谁负责", "抽查由小蔡负责"), ("报告", "交给谁", "报告交给吴经理")),
        "宣传部": (("海报", "贴在哪里", "海报贴在电梯口"), ("拍摄", "几点集合", "拍摄七点集合")),
        "销售部": (("目标", "是多少", "目标是三百万"), ("客户", "住哪家酒店", "客户住和平饭店")),
        "档案室": (("钥匙", "在谁那里", "钥匙在郑姐那里"), ("整理", "哪天完成", "整理十二号完成")),
        "实验室": (("仪器", "什么时候到", "仪器周五下午到"), ("值班", "谁来", "值班由阿敏来")),
    }.items()
    for what, verb, answer in [(what, verb, f"{name}的{answer}") for what, verb, answer in rows]
)  # fmt: skip
OTHERS = tuple(
    f"{who}{what}。"
    for who in ("小王", "老李", "张姐", "阿强", "刘工")
    for what in ("昨天换了新手机", "喜欢吃川菜", "周末去爬山了", "养了一只鹦鹉", "搬到了城西", "在学法语")
)
ACKNOWLEDGED = ("好的，知道了。", "收到。", "明白了，谢谢。", "嗯，记住了。", "没问题。")


Said: TypeAlias = list[tuple[str, str]]
Case: TypeAlias = tuple[Said, dict[str, str]]
"""Roles and texts of a conversation, and for each question the text that answers it."""


def pairs(language: Sequence[tuple[str, str, str]]) -> Case:
    """Facts and acknowledgements."""
    said = [one for fact, answer, _ in language for one in (("user", fact), ("assistant", answer))]
    return said, {question: fact for fact, _, question in language}


def meetings() -> Case:
    """60 facts, half of them asked for before; all acknowledged."""
    said: Said = []
    for row, ((asked, fact, _), other) in enumerate(zip(MEETINGS, OTHERS, strict=True)):
        said += [("user", asked), ("assistant", "我还不知道。"), ("user", other), ("assistant", ACKNOWLEDGED[row % 5])]
        said += [("user", fact), ("assistant", ACKNOWLEDGED[(row + 2) % 5])]
    return said, {question: fact for _, fact, question in MEETINGS}


def exchanges() -> Case:
    """Questions of the assistant, and short answers."""
    said = [one for asked, answer, _ in EXCHANGES for one in (("assistant", asked), ("user", answer))]
    return said, {question: answer for _, answer, question in EXCHANGES}


CASES = {
    "English pairs": pairs(ENGLISH),
    "Chinese pairs": pairs(CHINESE),
    "Chinese meetings": meetings(),
    "exchanges": exchanges(),
}


def first_hits(case: Case, embedder: Any = None) -> dict[str, str]:
    """The words of the first hit, by question, where it is not what answers, nor a fact that was read from that."""
    said, answers = case
    ids = {text: f"m{row}" for row, (_, text) in enumerate(said)}
    messages = [
        {"role": role, "content": text, "id": f"m{row}", "at": START + timedelta(minutes=row)}
        for row, (role, text) in enumerate(said)
    ]
    end = START + timedelta(days=2)
    with open_memory("memory://", embedder=embedder, clock=lambda: end) as memory:
        memory.scoped(user="ann", session="before").remember(messages)
        now = memory.scoped(user="ann", session="now")
        now.flush(progress=False)
        found = {question: now.recall(question, k=3) for question in answers}
    right = {
        question: bool(hits) and ids[answers[question]] in hits[0].record.sources for question, hits in found.items()
    }
    return {question: hits[0].record.text if hits else "" for question, hits in found.items() if not right[question]}
