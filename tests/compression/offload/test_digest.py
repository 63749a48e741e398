import json
import re
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.context.payloads import digest, page
from hybrid_memory.log.media import digest_media, is_media
from tests.world import cases, rows

PNG = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(100)).decode()
JPEG = b64encode(b"\xff\xd8\xff\xe0" + bytes(99)).decode()
WAV = b64encode(b"RIFF\x00\x00\x00\x00WAVEfmt " + bytes(30)).decode()

ORDERS = json.dumps(
    {
        "customer": {"name": "王芳", "tier": "gold"},
        "total": 3,
        "orders": [{"order_id": f"A-{n}", "items": [{"sku": f"S{n}"}], "paid": n % 2 == 0} for n in range(60)],
    },
    ensure_ascii=False,
)
LOG = "\n".join(
    [
        *(f"2024-03-01 09:00:{n:02} INFO job {n} done" for n in range(40)),
        *(f"2024-03-01 09:01:{n:02} ERROR job {n} lost its lease" for n in range(5)),
        "Traceback (most recent call last):", '  File "run.py", line 3, in main', "    go()", "queue.Empty",
        "导入失败：文件不存在", "没有错误", "0 errors, 12 passed", "finished",
    ]
)  # fmt: skip
CODE = '''import os


class Store(Base):
    """Keeps things."""

    def get(self, key):
        raise KeyError(key)


async def main() -> None:
    store = Store()
'''
SAMPLES = {
    "json": ORDERS,
    "json lines": '{"id": 1, "ok": true}\n{"id": 2, "ok": false}\n',
    "log": LOG,
    "source code": CODE,
    "text": "The committee met on Monday.\nNobody objected.\n会议结束。",
}


def thirds(text: str) -> int:
    return len(text) // 3


def full(text: str) -> str:
    return digest(text, result_id="42", max_tokens=2000, count=thirds)


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_first_line_tells_kind_size_and_handle_and_the_last_is_a_fetch_that_works(kind: str) -> None:
    text = SAMPLES[kind]
    lines = len(text.removesuffix("\n").split("\n"))
    first, *_, last = full(text).split("\n")
    assert first == f"[{kind}, {len(text):,} characters, {lines:,} line{'s' * (lines > 1)}; result_id=42]"
    fetch = re.fullmatch(r'read on: fetch\("42", (".*")\)', last)
    assert fetch is not None
    assert page(text, json.loads(fetch[1]), max_chars=500).text


@given(
    st.one_of(st.sampled_from(list(SAMPLES.values())), st.text(st.sampled_from('ab{}[]",:<>/=-|\n\t Error失败:0'))),
    st.integers(0, 400),
    st.sampled_from([len, thirds]),
)
def test_a_digest_keeps_its_budget_or_is_its_first_line_alone(text: str, max_tokens: int, count: Any) -> None:
    short = digest(text, result_id="42", max_tokens=max_tokens, count=count)
    assert short == digest(text, result_id="42", max_tokens=max_tokens, count=count)
    head = full(text).split("\n")[0]
    assert short.startswith(head)
    assert count(short) <= max_tokens or short == head


def test_json_is_told_by_shape_values_and_identifiers() -> None:
    rows = full(ORDERS).split("\n")
    assert rows[1] == "$: object with 3 keys"
    assert 'customer: {"name": "王芳", "tier": "gold"}' in rows
    assert "total: 3" in rows
    assert "orders: [60 × {order_id: string, items: [1 × {sku: string}], paid: boolean}]" in rows
    assert any(row.startswith('$.orders[*].order_id: "A-0", "A-1", "A-2",') and "20 more items" in row for row in rows)
    assert any(row.startswith('$.orders[0]: {"order_id": "A-0"') for row in rows)
    assert re.fullmatch(r'read on: fetch\("42", "c1-\d+"\)', rows[-1])


def test_an_error_deep_in_json_is_told_with_its_path() -> None:
    text = json.dumps({"steps": [{"ok": 1, "error": None}, {"ok": 0, "result": {"error": "disk full"}}]})
    assert '$.steps[1].result.error: "disk full"' in full(text)


def test_the_errors_of_a_log_come_first_each_kind_once() -> None:
    rows = full(LOG).split("\n")
    assert rows[1:5] == [
        "errors (7 lines):",
        "41: 2024-03-01 09:01:00 ERROR job 0 lost its lease (×5)",
        "49: queue.Empty",
        "50: 导入失败：文件不存在",
    ]
    assert "53: finished" in rows
    assert "1: 2024-03-01 09:00:00 INFO job 0 done" in rows


@pytest.mark.parametrize(("kind", "line"), rows("compression/offload/errors.tsv"))
def test_a_line_that_tells_of_an_error_is_named_and_one_that_only_speaks_of_errors_is_not(kind: str, line: str) -> None:
    shown = full(f"starting\nworking on it\n{line}\nand so on\n").split("\n")
    named = ["errors (1 line):", f"3: {' '.join(line.split())}"]
    assert (shown[1:3] == named) is (kind == "error")
    assert any("errors (" in row for row in shown) is (kind == "error")


def test_code_is_told_by_its_definitions() -> None:
    assert full(CODE).split("\n")[1:5] == [
        "3 definitions:", "4: class Store(Base):", "7:     def get(self, key):", "11: async def main() -> None:",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        *(" " * 300_000, "\n" * 300_000, "[" * 300_000, "<a " * 100_000, "a," * 150_000, "int f(" * 50_000),
        *("Traceback (most recent call last)\n " * 8000, "a|b\n" + "|--" * 100_000 + "x\nq"),
        *("Error " * 50_000, "x: error\n" * 30_000, "A" * 300_000 + "!", "A" * 50 + "\n" + "A" * 300_000 + "-"),
    ],
    ids=lambda text: repr(text[:8] + text[-3:]),
)
def test_no_payload_hangs(text: str) -> None:
    assert len(digest(text, result_id="42", max_tokens=200, count=thirds)) < 700


def held(block: Any) -> Any:
    """The block with the media that are named in it."""
    return json.loads(re.sub("<(PNG|JPEG|WAV)>", lambda named: globals()[named[1]], json.dumps(block)))


@pytest.mark.parametrize(("block", "told"), cases("compression/offload/digest.json", "media"))
def test_a_media_block_is_told_by_type_and_size(block: dict[str, Any], told: str) -> None:
    assert is_media(held(block))
    assert digest_media(held(block)) == f"[{told}]"


@pytest.mark.parametrize("block", cases("compression/offload/digest.json", "none"))
def test_other_blocks_are_no_media(block: dict[str, Any]) -> None:
    assert not is_media(block)
