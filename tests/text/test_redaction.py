"""What is redacted and what stays; offsets, order, idempotence, linear time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text.redaction import KINDS, findings, redact
from tests.doubles import assert_linear
from tests.world import column, rows

MADE = {
    "ghp_" + "a1B2" * 9: "[api key]", "AIza" + "Sy1_-" * 7: "[api key]", "gsk_" + "aB3d" * 13: "[api key]",
    "xai-" + "aB3d" * 20: "[api key]", "r8_" + "aB3d" * 9: "[api key]",
    "SG." + "aB3d_-" * 4 + "." + "aB3d" * 10: "[api key]", "bot 123456789:" + "AAF-x" * 7: "bot [api key]",
    "AccountName=a;AccountKey=" + "aB3/" * 21 + "ab==;Endpoint=x": "AccountName=a;AccountKey=[api key];Endpoint=x",
    "SharedAccessKey=" + "aB3/" * 10 + "a=": "SharedAccessKey=[api key]",
}  # fmt: skip
"""Keys as long as they are, which nobody should take for one that was lost."""

STAYS = column("text/redaction.tsv", "stays")

CASES = [row for row in rows("text/redaction.tsv") if row[0] != "stays"] + [("api key", *made) for made in MADE.items()]


@pytest.mark.parametrize(("kind", "text", "expected"), CASES)
def test_each_kind_is_found_where_it_is_asked_for_and_what_is_around_stays(kind: str, text: str, expected: str) -> None:
    assert redact(text) == redact(text, [kind]) == expected
    assert {found for _, _, found in findings(text)} == {kind}
    assert f"[{kind}]" not in redact(text, [other for other in KINDS if other != kind])
    assert redact(text, ()) == text


@pytest.mark.parametrize("text", STAYS)
def test_versions_dates_orders_ids_and_talk_of_passwords_stay(text: str) -> None:
    assert redact(text) == text


def test_every_kind_has_an_example() -> None:
    assert {kind for kind, *_ in CASES} == set(KINDS)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"there is no rule for 'names': choose from api key, password"):
        redact("text", ["email", "names"])


SECRETS = st.sampled_from(
    "4111111111111111 5555555555554444 11010519491231002X DE89370400440532013000 13812345678 +8619812345678 "
    "li_1@qq.com ann@mail.example.org".split()
)
BENIGN = st.sampled_from(
    ["see you at 10:30", "版本3.11发布了", "我们去爬山吧", "the password is required", "2024-05-01", "价格是1299元"]
)


@given(st.lists(st.tuples(BENIGN, SECRETS), min_size=1, max_size=6), st.sampled_from([" ", "，", "\n", ": "]))
def test_planted_secrets_go_and_everything_else_stays(parts: list[tuple[str, str]], between: str) -> None:
    text = between.join(part for pair in parts for part in pair)
    found = findings(text)
    assert [text[start:end] for start, end, _ in found] == [secret for _, secret in parts]
    left = redact(text)
    for _, _, kind in found:
        left = left.replace(f"[{kind}]", "", 1)
    assert left == between.join(part for benign, _ in parts for part in (benign, ""))


PIECES = st.sampled_from(
    [*(text for _, text, _ in CASES), *STAYS, "[password]", "password is ", "密码是", "电话", *"+-1@: \n"]
)


@given(st.lists(PIECES, max_size=8).map("".join) | st.text(max_size=60))
def test_findings_lie_apart_in_order_and_account_for_every_change(text: str) -> None:
    done, parts = 0, []
    for start, end, kind in findings(text):
        assert done <= start < end <= len(text)
        parts += [text[done:start], f"[{kind}]"]
        done = end
    assert redact(text) == "".join(parts) + text[done:]


@given(st.lists(PIECES, max_size=5).map("\n".join))
def test_redacting_again_finds_nothing(text: str) -> None:
    assert findings(redact(text)) == []


STUTTERS = """a|1|1 |1.|a@|a.|+1 |(010)|:|a:|://a:|-----BEGIN PRIVATE KEY-----|eyJaaaaaaaa.|password is |my |sk-a-b-
AB12 |AB12|call |电话是|bearer |密码|order |13812345678|curl -u a:|SG.a|AccountKey=|my a token is """.replace(
    "\n", "|"
).split("|")


@pytest.mark.parametrize("piece", STUTTERS)
def test_time_grows_with_the_length_alone(piece: str) -> None:
    assert_linear(redact, lambda size: piece * (size // len(piece)), 40_000)
