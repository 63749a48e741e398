from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.embeddings import MultiModalEmbedding

from hybrid_memory import (
    Hit,
    HybridMemory,
    MemoryConfig,
    Message,
    Record,
    RecordKind,
    ScopedMemory,
    open_memory,
)
from hybrid_memory import media as flow
from hybrid_memory.engines.in_memory import InMemoryIndex
from hybrid_memory.engines.sqlite import Database, SqliteIndex
from hybrid_memory.errors import EmbedderMismatchError, InvalidInputError, ModelError
from hybrid_memory.index.record import Where
from hybrid_memory.log.media import Media, media_of
from hybrid_memory.models.media import PROBES, as_media_embedder
from hybrid_memory.ports import Floats, SemanticIndex
from hybrid_memory.runtime.runners import INLINE, drive
from hybrid_memory.testing.images import COLOURS, ColourEmbedder, picture
from tests.doubles import texts
from tests.faces import Face, Open

pytestmark = pytest.mark.in_pairs("face", "gallery")
RED, GREEN, BLUE, MIXED = picture("red"), picture("green"), picture("blue"), picture("red", "blue")
LINK = {"type": "image_url", "image_url": {"url": "https://example.org/red.png"}}


class Eyes(ColourEmbedder):
    """Sees colours, and can be struck blind."""

    def __init__(self) -> None:
        super().__init__()
        self.blind = self.mute = False

    def embed_images(self, images: Sequence[bytes]) -> Floats:
        if self.blind:
            raise ConnectionError("no light")
        return super().embed_images(images)

    def embed_image_query(self, text: str) -> Floats:
        if self.mute:
            raise ConnectionError("no words")
        return super().embed_image_query(text)


class EyesAndEars(Eyes):
    """Hears how loud something is as well, as one more colour."""

    def embed_audio(self, sounds: Sequence[bytes]) -> Floats:
        return np.array([[len(sound) % 7 == 0, 0, 0, 0, 0, 1] for sound in sounds], dtype=np.float32)


def image(data: bytes, **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(data).decode()}"}, **more}


def sound(data: bytes) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": b64encode(data).decode(), "format": "wav"}}


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def said(*blocks: dict[str, Any], **fields: Any) -> Message:
    return Message(content=list(blocks), **fields)


class Gallery:
    """Opens memories that embed media, on one engine."""

    def __init__(self, opened: Open, folder: Path | None) -> None:
        self.opened, self.folder = opened, folder
        self.eyes = Eyes()
        self.databases: list[Database] = []

    def index(self) -> SemanticIndex:
        if self.folder is None:
            return InMemoryIndex()
        database = Database(self.folder / "memory.db.media.db")
        self.databases.append(database)
        return SqliteIndex(database)

    def open(self, embedder: Any = None, **named: Any) -> HybridMemory:
        url = {"url": "memory://"} if self.folder is None else {}
        memory: HybridMemory = self.opened(embedder="none", **url, **named)
        services = memory._runtime.services
        services.media = self.index()
        services.media_embedder = as_media_embedder(embedder or self.eyes)
        return memory


@pytest.fixture(params=["sqlite", "memory"])
def gallery(request: pytest.FixtureRequest, opened: Open, tmp_path: Path) -> Iterator[Gallery]:
    gallery = Gallery(opened, tmp_path if request.param == "sqlite" else None)
    yield gallery
    for database in gallery.databases:
        database.close()


@pytest.fixture
def alice(gallery: Gallery) -> ScopedMemory:
    return gallery.open().scoped(user="alice", session="s1")


def media(handle: ScopedMemory) -> SemanticIndex:
    index = handle._runtime.services.media
    assert index is not None
    return index


def records(handle: ScopedMemory) -> list[Record]:
    index = media(handle)
    return index.get(sorted(index.latest(Where(handle.scope.owner), 1000).tolist()))


def places(hits: list[Hit]) -> list[tuple[str, int]]:
    return [(hit.record.metadata["handle"], hit.record.metadata["block"]) for hit in hits]


CODED = b64encode(RED).decode()
READABLE: list[tuple[dict[str, Any], Media]] = [
    (image(RED), Media("image", "image/png", RED)),
    ({"type": "image_url", "image_url": f"data:image/png;base64,{CODED}"}, Media("image", "image/png", RED)),
    ({"type": "image_url", "image_url": {"url": "data:image/svg+xml,%3Csvg/%3E"}},
     Media("image", "image/svg+xml", b"<svg/>")),
    ({"type": "input_image", "image_url": f"data:;base64,{CODED}"}, Media("image", "image/png", RED)),
    (sound(RED), Media("audio", "audio/wav", RED)),
    ({"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": CODED}},
     Media("image", "image/jpeg", RED)),
    ({"type": "image", "base64": CODED, "mime_type": "image/webp"}, Media("image", "image/webp", RED)),
    ({"type": "image", "base64": urlsafe_b64encode(RED).decode().rstrip("=")}, Media("image", "image/png", RED)),
    ({"block_type": "image", "image": CODED, "url": None}, Media("image", "image/png", RED)),
    ({"type": "media", "data": CODED, "mime_type": "audio/mpeg"}, Media("audio", "audio/mpeg", RED)),
    ({"type": "file", "file": {"file_data": f"data:application/pdf;base64,{CODED}"}},
     Media("file", "application/pdf", RED)),
    ({"type": "file", "file": {"file_data": f"data:image/png;base64,{CODED}", "filename": "a"}},
     Media("image", "image/png", RED, "a")),
    ({"type": "document", "data": CODED}, Media("image", "image/png", RED)),
]  # fmt: skip
UNREADABLE: list[dict[str, Any]] = [
    LINK, {"type": "image", "url": "https://example.org/red.png"},
    *({"type": "image", "base64": text} for text in
      ("https://example.org/red.png", "not base64 at all!", "QUJDR", "红", "=")),
    {"type": "image", "file_id": "file-7"}, {"type": "image"}, words(f"data:image/png;base64,{CODED}"),
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}, {},
]  # fmt: skip


def test_a_block_gives_its_bytes_and_says_what_they_are() -> None:
    for block, found in READABLE:
        assert media_of(block) == found, block
    for block in UNREADABLE:
        assert media_of(block) is None, block


@given(st.binary(min_size=1, max_size=60), st.booleans(), st.booleans(), st.sampled_from(["", "\n", "\r\n"]))
def test_every_way_to_write_base64_is_read(data: bytes, safe: bool, padded: bool, end: str) -> None:
    text = (urlsafe_b64encode if safe else b64encode)(data).decode()
    text = end.join(re.findall(".{1,8}", text if padded else text.rstrip("=")))
    found = media_of({"type": "image", "base64": text, "mime_type": "image/x"})
    assert found is not None
    assert found.data == data


def wrapped(model: Any) -> Any:
    embedder = as_media_embedder(model)
    assert embedder is not None
    return embedder


def test_media_and_texts_become_unit_rows_of_one_space() -> None:
    embedder = wrapped(EyesAndEars())
    assert (embedder.name, embedder.dim, embedder.kinds) == ("colours", 6, {"image", "audio"})
    rows = embedder.embed_media([RED, MIXED, GREEN], "image")
    assert (rows.shape, rows.dtype) == ((3, 6), np.float32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    for name in COLOURS:
        assert embedder.embed_query(name) @ embedder.embed_media([picture(name)], "image")[0] == pytest.approx(1)
    assert embedder.embed_query("一辆红色的车") @ rows[0] == pytest.approx(1)
    assert embedder.embed_media([], "image").shape == (0, 6)
    assert embedder.embed_media([b"1234567"], "audio").shape == (1, 6)


class Plain:
    """Has no query of its own for images, and no unit rows."""

    def embed_images(self, images: list[bytes]) -> list[list[float]]:
        return [[3.0, 4.0] for _ in images]

    def embed_query(self, text: str) -> list[float]:
        return [0.0, 5.0]


def test_the_query_of_a_model_serves_images_too() -> None:
    embedder = wrapped(Plain())
    assert embedder.name == "Plain"
    np.testing.assert_allclose(embedder.embed_query("a"), [0, 1])
    np.testing.assert_allclose(embedder.embed_media([RED], "image"), [[0.6, 0.8]])
    assert as_media_embedder(wrapped(embedder)) is embedder


class OfLlamaIndex(MultiModalEmbedding):
    def _get_image_embedding(self, img_file_path: Any) -> list[float]:
        assert isinstance(img_file_path, BytesIO)
        row: list[float] = Eyes().embed_images([img_file_path.read()])[0].tolist()
        return row

    async def _aget_image_embedding(self, img_file_path: Any) -> list[float]:
        return self._get_image_embedding(img_file_path)

    def _get_text_embedding(self, text: str) -> list[float]:
        raise NotImplementedError

    def _get_query_embedding(self, query: str) -> list[float]:
        row: list[float] = Eyes().embed_image_query(query).tolist()
        return row

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def test_a_multi_modal_embedding_of_llamaindex_embeds_images() -> None:
    embedder = wrapped(OfLlamaIndex(model_name="clip"))
    assert (embedder.name, embedder.kinds) == ("OfLlamaIndex/clip", {"image"})
    rows = embedder.embed_media([RED, BLUE], "image")
    np.testing.assert_allclose(rows @ embedder.embed_query("blue"), [0, 1], atol=1e-6)


@pytest.mark.parametrize("rows", [[[1.0, float("nan")]] * 2, "rows", [[[1.0]]] * 2, None], ids=str)
def test_rows_that_are_none_are_refused(rows: Any) -> None:
    model = Plain()
    model.embed_images = lambda images: rows  # type: ignore[method-assign]
    with pytest.raises(ModelError, match="'Plain'"):
        wrapped(model).embed_media([RED, BLUE], "image")


def test_what_cannot_be_read_is_a_row_of_zeros_while_the_model_works() -> None:
    eyes = Eyes()
    embedder = wrapped(eyes)
    good = embedder.embed_media([RED, BLUE], "image")
    mixed = embedder.embed_media([RED, b"heic", BLUE, b""], "image")
    np.testing.assert_array_equal(mixed, [good[0], np.zeros(6), good[1], np.zeros(6)])
    np.testing.assert_array_equal(embedder.embed_media([b"heic"], "image"), np.zeros((1, 6)))
    eyes.blind = True
    with pytest.raises(ModelError, match="'colours' failed: ConnectionError: no light"):
        embedder.embed_media([RED, BLUE], "image")


def test_pictures_are_found_by_what_they_show(alice: ScopedMemory, face: Face) -> None:
    alice.remember([said(words("我的新车"), image(RED)), said(image(BLUE), image(MIXED)), "Nothing to see."])
    for query, order in (
        ("something red", [("#1", 1), ("#2", 1), ("#2", 0)]),
        ("蓝色的东西", [("#2", 0), ("#2", 1), ("#1", 1)]),
        (RED, [("#1", 1), ("#2", 1), ("#2", 0)]),
        (image(BLUE), [("#2", 0), ("#2", 1), ("#1", 1)]),
    ):
        hits = face(alice).recall_media(query)
        assert places(hits) == order
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert places(face(alice).recall_media(query, k=1)) == order[:1]


def test_words_around_a_picture_count_three_tenths(alice: ScopedMemory, face: Face) -> None:
    alice.remember([said(words("The car that I bought."), image(RED)), said(words("A fire engine."), image(RED))])
    alice.remember(said(image(BLUE, filename="harbour.png")))
    best, other, *_ = face(alice).recall_media("red car")
    assert [best.record.text, other.record.text] == ["The car that I bought.", "A fire engine."]
    assert [best.score, other.score] == pytest.approx([1.0, 0.7])
    assert best.why().startswith("1.000 = 0.7*1.00 vector + 0.3*1.00 text; from ")
    (named,) = [hit for hit in face(alice).recall_media("harbour") if hit.signals.text]
    assert named.record.text == "harbour.png"
    near, *_ = face(alice).recall_media(RED)
    assert [near.score, near.signals.text] == pytest.approx([1.0, 0]), "an example counts by nearness alone"
    assert near.why().startswith("1.000 = 1*1.00 vector; from ")
    assert [(hit.record.text, hit.record.kind) for hit in alice.recall("car", k=1)] == [
        ("The car that I bought.", RecordKind.TURN)
    ]
    assert alice.recall("car", kinds=["media"]) == []


def test_a_handle_leads_from_a_hit_to_the_picture(alice: ScopedMemory, face: Face) -> None:
    alice.remember([said(words("Look at this:"), image(RED), name="Ann"), "Nice."])
    (hit,) = face(alice).recall_media("red")
    record = hit.record
    assert (record.kind, record.category, record.speaker, record.turn) == (RecordKind.MEDIA, "image", "Ann", 1)
    assert record.metadata == {"media": "image/png", "bytes": len(RED), "block": 1, "handle": "#1"}
    assert record.sources == (alice.history()[0].id,)
    for what in (hit, record, record.metadata["handle"], record.sources[0]):
        (message,) = face(alice).expand(what)
        assert message.content[record.metadata["block"]] == image(RED)
    assert face(alice).fetch(record.metadata["handle"]).text == "Look at this:"
    assert "image/png" in str(hit.as_metadata())
    assert b64encode(RED).decode() not in repr((hit, record, hit.as_metadata(), hit.why()))
    (turn,) = face(alice).why(hit).turns
    assert turn[0] == "#1"


def test_the_same_picture_is_embedded_once(gallery: Gallery, alice: ScopedMemory) -> None:
    alice.remember([said(image(RED), image(RED)), said(image(RED))])
    assert len(alice.recall_media("red")) == 3
    alice.remember(said(image(RED)))
    assert len(alice.recall_media(RED)) == 4
    assert gallery.eyes.seen == [RED]
    alice.recall_media(GREEN)
    alice.recall_media(GREEN)
    assert gallery.eyes.seen == [RED, GREEN], "an example too, which leaves no record"
    assert media(alice).size().records == 4


def test_what_has_no_data_or_no_sense_gives_no_record(alice: ScopedMemory, face: Face) -> None:
    table = {"type": "file", "file": {"file_data": f"data:text/csv;base64,{b64encode(RED).decode()}"}}
    alice.remember(
        [
            said(words("Links and noise."), *UNREADABLE[:7]),
            said(sound(RED), table),
            said(image(RED), role="system"),
            said(image(RED), role="tool", name="memory_recall", tool_call_id="1"),
            "Only words.",
        ]
    )
    assert drive(flow.MediaIndex().follow(INLINE, alice._runtime.services, alice.scope)) == 0
    assert face(alice).recall_media("red") == []
    assert face(alice).flush().embedded == 0


def test_sounds_and_images_are_told_apart(gallery: Gallery, face: Face) -> None:
    alice = gallery.open(EyesAndEars()).scoped(user="alice")
    alice.remember([said(image(RED)), said(sound(b"1234567")), said(sound(PROBES["audio"]))])
    assert len(face(alice).recall_media("red")) == 3
    assert places(face(alice).recall_media("red", kinds=["image"])) == [("#1", 0)]
    heard = face(alice).recall_media("red", kinds={"audio"})
    assert places(heard) == [("#2", 0), ("#3", 0)]
    assert {(hit.record.category, hit.record.metadata["media"]) for hit in heard} == {("audio", "audio/wav")}
    assert places(face(alice).recall_media(b"7654321", kinds=["audio"]))[0] == ("#2", 0)
    with pytest.raises(InvalidInputError, match="are these bytes audio or image"):
        face(alice).recall_media(b"7654321")


ASKED: list[tuple[Any, dict[str, Any], str]] = [
    ("", {}, "query is empty"), (b"", {}, "ask with a text"), (7, {}, "query must be text"),
    (["red"], {}, "query must be text"), (LINK, {}, "no data that can be decoded"),
    (words("red"), {}, "no data that can be decoded"), (sound(RED), {}, "'colours' embeds image, not audio"),
    (b"an odd picture", {}, "'colours' cannot read this example"),
    ("red", {"kinds": ["video"]}, "'colours' embeds image, not video"),
    ("red", {"kinds": "image"}, "kinds must be a collection"), ("red", {"kinds": [7]}, "kinds must be a collection"),
    ("red", {"k": 0}, "k must be 1 or more"), ("red", {"scope": "tenant"}, "scope must be"),
    ("red", {"since": datetime(2026, 1, 1)}, "since needs a time zone"),  # noqa: DTZ001 - naive on purpose
]  # fmt: skip


def test_what_cannot_be_asked_is_refused(opened: Open, face: Face) -> None:
    alice = Gallery(opened, None).open().scoped(user="alice")
    alice.remember(said(image(RED)))
    for query, named, told in ASKED:
        with pytest.raises(InvalidInputError, match=told):
            face(alice).recall_media(query, **named)
    without = opened(url="memory://", embedder="none").scoped(user="alice")
    without.remember(said(image(RED)))
    with pytest.raises(InvalidInputError, match=r"embed_images.*embed_audio.*MultiModalEmbedding"):
        face(without).recall_media("red")
    assert face(without).flush().indexed == 0


def test_a_picture_waits_for_an_embedder_that_failed(gallery: Gallery, alice: ScopedMemory, face: Face) -> None:
    alice.remember([said(words("My car."), image(RED)), said(words("The sea."), image(BLUE))])
    gallery.eyes.blind = gallery.eyes.mute = True
    for mute in (True, False):
        gallery.eyes.mute = mute
        (hit,) = face(alice).recall_media("the car")
        assert (hit.record.text, hit.signals.vector) == ("My car.", 0)
        assert hit.note.startswith("embedder 'colours' failed: ConnectionError: no ") or mute
    assert media(alice).size().pending == 2
    for ask in (lambda: face(alice).flush(), lambda: face(alice).recall_media(RED)):
        with pytest.raises(ModelError, match="no light"):
            ask()
    gallery.eyes.blind = False
    receipt = face(alice).flush()
    assert (receipt.indexed, receipt.embedded, gallery.eyes.seen) == (0, 2, [RED, BLUE])
    first, second = face(alice).recall_media("blue")
    assert (places([first, second]), first.note) == ([("#2", 1), ("#1", 1)], "")
    gallery.eyes.mute = True
    (hit,) = face(alice).recall_media("sea")
    assert (hit.record.text, hit.score) == ("The sea.", 1.0)
    assert "; words alone, embedder 'colours' failed: ConnectionError: no words; " in hit.why()


def test_a_picture_that_nobody_can_read_holds_up_none(alice: ScopedMemory, face: Face) -> None:
    odd = [image(b"odd %d" % number) for number in range(flow.EMBED_BATCH + 3)]
    alice.remember([said(words("From my phone."), *odd), said(image(RED))])
    assert places(face(alice).recall_media("red"))[0] == ("#2", 0)
    assert media(alice).size().pending == 0
    assert len([hit for hit in face(alice).recall_media("phone", k=50) if hit.signals.text]) == len(odd)
    with pytest.raises(InvalidInputError, match="cannot read this example"):
        face(alice).recall_media(image(b"odd 0"))


def test_vectors_of_another_embedder_are_not_compared(gallery: Gallery, face: Face) -> None:
    memory = gallery.open()
    alice = memory.scoped(user="alice")
    alice.remember(said(image(RED)))
    alice.recall_media("red")
    memory._runtime.services.media_embedder = as_media_embedder(Plain())
    for query in ("red", RED):
        with pytest.raises(EmbedderMismatchError):
            face(alice).recall_media(query)


def test_forgetting_during_indexing_wins(gallery: Gallery, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = gallery.open()
    alice = memory.scoped(user="alice")
    alice.remember([said(image(RED)), said(image(BLUE))])
    index = media(alice)
    upsert, stored = index.upsert, []

    def slow(*args: Any, **named: Any) -> bool:
        monkeypatch.setattr(index, "upsert", upsert)
        alice.forget(ids="#1")
        stored.append(upsert(*args, **named))
        return stored[0]

    monkeypatch.setattr(index, "upsert", slow)
    drive(flow.MediaIndex().follow(INLINE, memory._runtime.services, alice.scope))
    assert stored == [False]
    assert [record.turn for record in records(alice)] == [2]


PICTURES = [RED, GREEN, BLUE, MIXED]
STEP = st.one_of(
    st.tuples(st.just("say"), st.lists(st.integers(-2, 3), min_size=1, max_size=3)),
    st.tuples(st.just("forget"), st.integers(0, 12)),
    st.tuples(st.sampled_from(["follow", "flush"]), st.just(0)),
)


@settings(max_examples=30)
@given(st.lists(STEP, max_size=16), st.integers(1, 4))
def test_following_in_steps_equals_following_at_once(steps: list[tuple[str, Any]], batch: int) -> None:
    with pytest.MonkeyPatch.context() as patch, open_memory(MemoryConfig(url="memory://", embedder="none")) as memory:
        patch.setattr(flow.MediaIndex, "batch", batch)
        patch.setattr(flow, "STRETCHES", batch)
        patch.setattr(flow, "ERASE_BATCH", batch)
        services, alice = memory._runtime.services, memory.scoped(user="alice")
        services.media, services.media_embedder = InMemoryIndex(), wrapped(ColourEmbedder())
        for verb, what in steps:
            if verb == "say":
                alice.remember(said(*[image(PICTURES[n]) if n >= 0 else words(f"word {n}") for n in what]))
            elif verb == "follow":
                drive(flow.MediaIndex().follow(INLINE, services, alice.scope))
            elif verb == "flush":
                memory.flush()
            elif said_so_far := alice.history():
                alice.forget(ids=said_so_far[what % len(said_so_far)].id)
        memory.flush()
        step_by_step = state(alice)
        services.media = InMemoryIndex()
        memory.flush()
        assert state(alice) == step_by_step
        there = [(block["image_url"]["url"]) for m in alice.history() for block in m.content if "image_url" in block]  # type: ignore[index]
        assert len(step_by_step[0]) == len(there)


def state(handle: ScopedMemory) -> tuple[list[Record], list[float]]:
    found, index = records(handle), media(handle)
    ids = np.array([record.id for record in found], dtype=np.int64)
    return found, index.similar(np.arange(6, dtype=np.float32), handle.scope, ids).tolist()


def test_forgetting_a_turn_destroys_its_pictures(gallery: Gallery, alice: ScopedMemory, face: Face) -> None:
    alice.remember([said(words("The zanzibar photo."), image(RED), image(BLUE)), said(image(RED))])
    (hit, *_) = alice.recall_media("zanzibar blue")
    vector = media(alice).known([flow.media_key("colours", "image", BLUE)])
    assert len(vector) == 1
    if gallery.folder:
        assert b"zanzibar" in files(gallery.folder)
    assert face(alice).forget(ids=hit, dry_run=True).erased == {"turns": 1}
    assert len(records(alice)) == 3
    assert face(alice).forget(ids=hit).erased == {"turns": 1, "records": 3}  # a turn and two pictures
    assert [record.turn for record in records(alice)] == [2]
    assert media(alice).known([flow.media_key("colours", "image", BLUE)]) == {}
    assert places(face(alice).recall_media("zanzibar blue")) == [("#2", 0)]
    with pytest.raises(InvalidInputError):
        face(alice).expand(hit)
    if gallery.folder:
        left = files(gallery.folder)
        assert b"zanzibar" not in left
        assert next(iter(vector.values())).tobytes() not in left


def files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


@pytest.mark.parametrize("engine", ["sqlite", "memory"])
def test_an_embedder_that_sees_is_enough(engine: str, tmp_path: Path) -> None:
    url = "memory://" if engine == "memory" else f"sqlite:///{tmp_path / 'memory.db'}"
    with open_memory(url, embedder=ColourEmbedder()) as memory:
        alice = memory.scoped(user="alice", session="s1")
        alice.remember(said(words("my car"), image(picture("red"))))
        alice.remember(said(words("the sea"), image(picture("blue"))))
        assert alice.recall_media("blue", k=1)[0].record.text == "the sea"
        assert alice.recall_media(picture("red"), k=1)[0].record.text == "my car"
        assert memory.rebuild(progress=False).indexed == 4
        assert alice.recall_media("red", k=1)[0].record.text == "my car"
        alice.forget(query="car")
        assert texts(alice.recall_media("red")) == ["the sea"]
    if engine == "sqlite":
        words_left = [file.name for file in tmp_path.rglob("*") if file.is_file() and b"my car" in file.read_bytes()]
        assert words_left == []
        with open_memory(MemoryConfig(url=url, embedder="none")) as memory:
            alice = memory.scoped(user="alice", session="s1")
            alice.forget(query="sea")
        with open_memory(url, embedder=ColourEmbedder()) as memory:
            assert memory.scoped(user="alice").recall_media("blue") == [], (
                "forgetting reaches media without an embedder"
            )
