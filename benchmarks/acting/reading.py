"""Reading: a document, two files side by side, a log that is needed again."""

from collections.abc import Iterator

from benchmarks.acting.policies import Rule
from benchmarks.acting.prompts import Call
from benchmarks.acting.tasks import Checks, Host, Language, Say, Task
from benchmarks.acting.texts import lines, report

LOCKERS: dict[Language, dict[str, str]] = {
    "en": {
        "fact": "The deposit for locker {number} is {amount} EUR.",
        "ask": "Read stock.txt. What is the deposit for locker 318?", "when": r"deposit for locker 318\?",
        "find": r"locker 318 is ([\d.]+) EUR", "seek": "locker 318",
        "again": "And for locker 542, according to the same file?", "again_when": r"for locker 542, according",
        "again_find": r"locker 542 is ([\d.]+) EUR", "again_seek": "locker 542",
    },
    "zh": {
        "fact": "{number}号储物柜的押金是{amount}欧元。", "ask": "请读 stock.txt。318号储物柜的押金是多少？",
        "when": "318号储物柜的押金是多少？", "find": r"318号储物柜的押金是([\d.]+)欧元", "seek": "318号储物柜",
        "again": "同一个文件里，542号储物柜的呢？", "again_when": "542号储物柜的呢",
        "again_find": r"542号储物柜的押金是([\d.]+)欧元", "again_seek": "542号储物柜",
    },
}  # fmt: skip
DEPOSITS = {"207": "12.30", "318": "47.50", "431": "31.20", "542": "63.80"}

PLANS: dict[Language, dict[str, str]] = {
    "en": {
        "line": "Rent of hall {hall}: {rent} EUR a month.",
        "ask": "Read plan_a.txt and plan_b.txt. What is the rent of hall 77 in each of them?",
        "when": "rent of hall 77 in each",
        "find": r"hall 77: ({rent}) EUR",
        "answer": "Plan A {0} EUR, plan B {1} EUR.",
    },
    "zh": {
        "line": "{hall}号厅的租金：每月{rent}欧元。",
        "ask": "请读 plan_a.txt 和 plan_b.txt。两份方案里77号厅的租金各是多少？",
        "when": "77号厅的租金各是多少",
        "find": "77号厅的租金：每月({rent})欧元",
        "answer": "方案A是{0}欧元，方案B是{1}欧元。",
    },
}
RENTS = ("1840", "2215")
"""Of hall 77 in both plans."""

LOGS: dict[Language, dict[str, str]] = {
    "en": {
        "run": "Run the tests. How many failed?", "run_when": r"^Run the tests", "count": "3 of 1480 tests failed",
        "detail": "test_ledger_rounding passed in 812 ms", "again": "How long did test_ledger_rounding take?",
        "again_when": "did test_ledger_rounding take",
    },
    "zh": {
        "run": "运行测试。有几个失败了？", "run_when": "^运行测试", "count": "1480个测试中有3个失败",
        "detail": "test_ledger_rounding passed in 812 ms", "again": "test_ledger_rounding 用了多长时间？",
        "again_when": "test_ledger_rounding 用了多长",
    },
}  # fmt: skip


def document(language: Language, host: Host, tokens: int, max_tokens: int | None = None) -> Task:
    """Read a file and answer; then something else from it, which must not be read again from the disk."""
    words = LOCKERS[language]
    facts = [words["fact"].format(number=number, amount=amount) for number, amount in DEPOSITS.items()]
    return Task(
        "document", language, host, variant=f"{tokens // 1000}k" + (f"-in-{max_tokens}" if max_tokens else ""),
        script=[Say(words["ask"], Checks("47.50")), Say(words["again"], Checks("63.80"))],
        rules=[
            Rule(
                words["when"], first=[Call("read_file", {"path": "stock.txt"})], find=[words["find"]],
                seek=[words["seek"]], answer="{0}",
            ),
            Rule(words["again_when"], find=[words["again_find"]], seek=[words["again_seek"]], answer="{0}"),
        ],
        tools=["read_file"], texts={"stock.txt": report(language, tokens, facts)}, max_tokens=max_tokens,
    )  # fmt: skip


def comparison(language: Language, host: Host, tokens: int) -> Task:
    """Read two files in one step and hold them beside each other."""
    words = PLANS[language]
    texts = {
        f"plan_{name}.txt": report(language, tokens, [words["line"].format(hall=77, rent=rent)], seed)
        for seed, (name, rent) in enumerate(zip("ab", RENTS, strict=True))
    }
    rule = Rule(
        words["when"], first=[Call("read_file", {"path": path}) for path in texts],
        find=[words["find"].replace("{rent}", rent) for rent in RENTS],
        seek=["hall 77" if language == "en" else "77号厅"] * 2, answer=words["answer"],
    )  # fmt: skip
    return Task(
        "compare", language, host, variant=f"{tokens // 1000}k", rules=[rule], tools=["read_file"], texts=texts,
        script=[Say(words["ask"], Checks(f"{RENTS[0]}.*{RENTS[1]}"))],
    )  # fmt: skip


def rereading(language: Language, host: Host) -> Task:
    """A log of 150 lines, one of which is asked for in the next turn; the tests must not run twice."""
    words = LOGS[language]
    log = [f"test {row} passed: {line}" for row, line in enumerate(lines(language, 6_000))][:148]
    log[90:90] = [words["detail"]]
    return Task(
        "reread", language, host, tools=["run_tests"], texts={"log": "\n".join([*log, words["count"]])},
        done=[Call("run_tests")],
        script=[Say(words["run"], Checks("3")), Say(words["again"], Checks("812"))],
        rules=[
            Rule(words["run_when"], first=[Call("run_tests")], find=[f"({words['count']})"], answer="{0}"),
            Rule(
                words["again_when"], find=[r"test_ledger_rounding passed in (\d+) ms"], seek=["test_ledger_rounding"],
                answer="{0}",
            ),
        ],
    )  # fmt: skip


def tasks() -> Iterator[Task]:
    """Of all hosts with tools."""
    for language in ("en", "zh"):
        for tokens in (2_000, 10_000, 60_000):
            yield document(language, "agent", tokens)
        yield document(language, "agent", 10_000, max_tokens=4_000)
        yield comparison(language, "agent", 9_000)
        yield rereading(language, "agent")
    yield document("en", "function", 2_000)
    yield document("zh", "function", 10_000)
    yield comparison("en", "function", 9_000)
    yield rereading("zh", "function")
    yield rereading("en", "function")
