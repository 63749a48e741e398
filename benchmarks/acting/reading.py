"""Reading: a document, two files side by side, a log that is needed again."""

from collections.abc import Iterator

from benchmarks.acting.policies import Rule
from benchmarks.acting.prompts import Call
from benchmarks.acting.tasks import WORDS, Checks, Host, Language, Say, Task
from benchmarks.acting.texts import lines, report

LOCKERS: dict[Language, dict[str, str]] = WORDS["lockers"]
DEPOSITS = {"207": "12.30", "318": "47.50", "431": "31.20", "542": "63.80"}

PLANS: dict[Language, dict[str, str]] = WORDS["plans"]
RENTS = ("1840", "2215")
"""Of hall 77 in both plans."""

LOGS: dict[Language, dict[str, str]] = WORDS["logs"]


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
