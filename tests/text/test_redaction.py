"""What is redacted and what stays; offsets, order, idempotence, linear time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.errors import InvalidInputError
from hybrid_memory.text.redaction import KINDS, findings, redact
from tests.doubles import assert_linear

FOUND = {
    "email": {
        "write to anna.lee+news@mail.example.co.uk.": "write to [email].",
        "我的邮箱是li_1@163.com谢谢": "我的邮箱是[email]谢谢", "邮箱：ｌｉ＠ｑｑ．ｃｏｍ": "邮箱：[email]",
        "[Ann](mailto:ann@example.org)": "[Ann](mailto:[email])",
    },
    "phone": {
        "call me at 5551234!": "call me at [phone]!", "(555) 123-4567 or 555.123.4567": "[phone] or [phone]",
        "+1 555 123 4567 before 10:30": "[phone] before 10:30", "+44 (0)20 7946 0958": "[phone]",
        "020 7946 0958, 07700 900123": "[phone], [phone]", "(03) 9600 0162": "[phone]",
        "+44 (0)20 7946 0958, 0306-4061": "[phone], 0306-4061", "电话=61408688 61408110": "电话=[phone] 61408110",
        "06 12 34 56 78": "[phone]", "my phone number is 030 1234567": "my phone number is [phone]",
        "fax: 030 1234567 12": "fax: [phone]", "我的手机号是１３８１２３４５６７８。": "我的手机号是[phone]。",
        "+86 138-1234-5678，10:30前": "[phone]，10:30前", "电话：010-84257506转801": "电话：[phone]转801",
        "电话是82291133": "电话是[phone]", "(021)87654321": "[phone]", "01086471035": "[phone]",
    },
    "card": {
        "my card is 4111 1111 1111 1111, exp 12/27": "my card is [card], exp 12/27",
        "3782-822463-10005": "[card]", "卡号5555555555554444": "卡号[card]",
    },
    "iban": {
        "IBAN DE89 3704 0044 0532 0130 00 please": "IBAN [iban] please", "GB29NWBK60161331926819": "[iban]",
        "AT61 1904 3002 3457 3201 BIC BKAUATWW": "[iban] BIC BKAUATWW",
    },
    "id number": {
        "身份证号11010519491231002X": "身份证号[id number]", "身份证是110105491231002": "身份证是[id number]",
        "SSN 123-45-6789": "SSN [id number]",
        "social security number: 123456789": "social security number: [id number]",
    },
    "api key": {
        "use sk-proj-abcDEF1234567890abcDEF123": "use [api key]",
        "sk-ant-api03-abcDEF1234567890abcDEF123": "[api key]", "ghp_" + "a1B2" * 9: "[api key]",
        "AKIAABCDEFGHIJ123456.": "[api key].", "xoxb-123456789012-abcdef": "[api key]",
        "AIza" + "Sy1_-" * 7: "[api key]",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4": "[api key]",
        "-----BEGIN EC PRIVATE KEY-----\nMHcC-A\n-----END EC PRIVATE KEY-----\nthanks": "[api key]\nthanks",
        "OPENAI_API_KEY=abcd1234efgh5678": "OPENAI_API_KEY=[api key]",
        "Authorization: Bearer abc123def456ghi789": "Authorization: Bearer [api key]",
        "密钥是abcd1234efgh5678": "密钥是[api key]", "gsk_" + "aB3d" * 13: "[api key]",
        "xai-" + "aB3d" * 20: "[api key]", "r8_" + "aB3d" * 9: "[api key]",
        "SG." + "aB3d_-" * 4 + "." + "aB3d" * 10: "[api key]", "bot 123456789:" + "AAF-x" * 7: "bot [api key]",
        "AccountName=a;AccountKey=" + "aB3/" * 21 + "ab==;Endpoint=x": "AccountName=a;AccountKey=[api key];Endpoint=x",
        "SharedAccessKey=" + "aB3/" * 10 + "a=": "SharedAccessKey=[api key]",
        "my token is tk7f3a9b": "my token is [api key]",
        "Our deploy token here is abc-123-def.": "Our deploy token here is [api key].",
    },
    "password": {
        "my password is hunter2.": "my password is [password].",
        "The wifi password is: Corr3ct!": "The wifi password is: [password]",
        'password: "swordfish"': 'password: "[password]"',
        "My bank password is swordfish.": "My bank password is [password].",
        "pin is 4321, ok?": "pin is [password], ok?", "DB_PWD=s3cret;": "DB_PWD=[password];",
        "the wifi password here is tulip-9-garden": "the wifi password here is [password]",
        "Authorization: Basic dXNlcjpwYXNz": "Authorization: Basic [password]",
        "curl -sS -u ann:s3cret https://x.org": "curl -sS -u ann:[password] https://x.org",
        "curl https://x.org --user 'ann:s3cret'": "curl https://x.org --user 'ann:[password]'",
        "密码是hunter2，谢谢": "密码是[password]，谢谢", "WiFi密码：88888888": "WiFi密码：[password]",
        "密码改成了abcdef": "密码改成了[password]", "密码是 swordfish 别忘了": "密码是 [password] 别忘了",
        "postgres://bob:s3cr3t@db.example.com/x": "postgres://bob:[password]@db.example.com/x",
    },
    "ip": {
        "http://192.168.1.20:8080/": "http://[ip]:8080/", "10.0.0.0/24": "[ip]/24",
        "2001:db8::8a2e:370:7334": "[ip]",
    },
}  # fmt: skip

STAYS = (
    """
version 1.2.3.4|Chrome/120.0.0.0|v10.2.3.4|版本 1.2.3.4|Python 3.11.4|127.0.0.1:8000|0.0.0.0|255.255.255.0|999.1.1.1
2024-05-01 10:30:15|1.5.2024|call 20240501|call me on 01.05.2024|2024年5月1日13点|1714563000|1714563000123|10:30:15
order number 13812345678|订单号：13812345678|order #4111111111111111|tracking no. 555-123-4567|运单编号是13812345678
550e8400-e29b-41d4-a716-446655440000|12345678-1234-1234-1234-123456789012|00:1a:2b:3c:4d:5e|std::vector|a::b
pi is 3.14159265358979|$1,234,567.89|x = 1300000000 + 1|there are 12345678 people|+100 points|200 or 300 items
4111 1111 1111 1112|110105194912310021|DE88370400440532013000|000-12-3456|ISBN 978-0-306-40615-7|0306-4061
the password is required.|your password is incorrect.|password is too short|password: str|password: "string"
password = get_password()|password=os.environ['PW']|password: ${DB_PASSWORD}|password: ****|the pin is on the map
密码是什么？|密码错误|密码长度为8-16位|密码为8-16位|密码学Python|@anna how are you|git@github.com:a/b.git
lodash@4.17.21|sk-learn-contrib-something-long-name|risk-assessment-of-many-things-1|disk-abcdefghijklmnopqrstu1
commit 3f786850e387550fdab836ed7e6dc881de23001b|access token required for authentication|user@host
密码是required for login|my token is expired|the token is a JWT|our secret is that we cook|Basic HTML5 course
curl -u ann https://example.org|run it with -u 1000:1000|my secret was out|AccountKey=none|time 12345678:30
""".replace("\n", "|")
    .strip("|")
    .split("|")
)

CASES = [(kind, text, expected) for kind, cases in FOUND.items() for text, expected in cases.items()]


@pytest.mark.parametrize(("kind", "text", "expected"), CASES)
def test_each_kind_is_found_where_it_is_asked_for_and_its_surroundings_stay(
    kind: str, text: str, expected: str
) -> None:
    assert redact(text) == redact(text, [kind]) == expected
    assert {found for _, _, found in findings(text)} == {kind}
    assert f"[{kind}]" not in redact(text, [other for other in KINDS if other != kind])
    assert redact(text, ()) == text


@pytest.mark.parametrize("text", STAYS)
def test_versions_dates_orders_ids_and_talk_of_passwords_stay(text: str) -> None:
    assert redact(text) == text


def test_every_kind_has_an_example() -> None:
    assert set(FOUND) == set(KINDS)


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
