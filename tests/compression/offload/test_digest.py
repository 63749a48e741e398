import json
import re
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.context.explain import page
from hybrid_memory.context.shortening import digest
from hybrid_memory.log.media import digest_media, is_media
from tests.world import cases

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
SAMPLES = {"json": ORDERS, "log": LOG, "text": "The committee met on Monday.\nNobody objected.\n会议结束。"}


def thirds(text: str) -> int:
    return len(text) // 3


def full(text: str, max_tokens: int = 2000) -> str:
    return digest(text, handle="#42", max_tokens=max_tokens, count=thirds)


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_last_line_is_a_fetch_that_works(kind: str) -> None:
    first, *_, last = full(SAMPLES[kind]).split("\n")
    assert f"{thirds(SAMPLES[kind]):,}" in first
    fetch = re.fullmatch(r'read on: fetch\("#42", "(.*)"\)', last)
    assert fetch is not None
    assert page(SAMPLES[kind], fetch[1], max_chars=500).text


@given(
    st.one_of(st.sampled_from(list(SAMPLES.values())), st.text(st.sampled_from('ab{}[]",:<>/=-|\n\t Error失败:0'))),
    st.integers(60, 400),
)
def test_a_digest_keeps_its_budget(text: str, max_tokens: int) -> None:
    assert thirds(full(text, max_tokens)) <= max_tokens


def test_what_went_wrong_comes_before_the_rest() -> None:
    rows = full(LOG, 120).split("\n")
    assert any("ERROR job" in row for row in rows)
    assert "Traceback (most recent call last):" in rows
    assert "导入失败：文件不存在" in rows
    assert "2024-03-01 09:00:00 INFO job 0 done" not in rows


def test_an_error_deep_in_json_is_shown() -> None:
    steps = [{"ok": 1, "said": f"step {number} is done"} for number in range(200)]
    text = json.dumps({"steps": [*steps[:100], {"ok": 0, "result": {"error": "disk full"}}, *steps[100:]]})
    assert '"error": "disk full"' in full(text, 200)


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
    assert thirds(full(text, 200)) <= 200


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
