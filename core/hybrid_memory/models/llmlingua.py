"""Text compression by LLMLingua: a small language model determines which words carry little information.

LLMLingua: Jiang et al. 2023, arXiv:2310.05736.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from difflib import SequenceMatcher
from types import SimpleNamespace
from typing import Any

from hybrid_memory.errors import InvalidInputError, MissingDependencyError, ModelError
from hybrid_memory.text.sentences import pieces_of

TOLERANCE = 0.1  # the share by which a result may exceed the limit, since the library misses its target by a few tokens
MIN_FREE_TOKENS = 8  # shorter text between two protected parts is not compressed: it means nothing to a model by itself

MAX_WINDOW = 1000
"""How many tokens are read at once, even if the model could read more: the memory for scores is 0.2 GB at 1,000."""

MAX_PART = 200  # how many tokens LLMLingua shortens at once; later ones are judged by the words that remain

_WORD = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff]")
_UNITS = re.compile(rf"{_WORD.pattern}+(?:[-'’.@/+]{_WORD.pattern}+)*|\S")
"""Words; single characters in Chinese and Japanese; marks of punctuation."""

_NAMES = re.compile(r"(?:(?<=[a-z,;] )|(?<=[\u3400-\u9fff]))(?!I\b)[A-Z][A-Za-z'’-]*|\b[A-Za-z]\w*(?= v?\d+\.\d)")
"""Capitals inside a sentence, and what has a version."""

_IDENTIFIER = re.compile(r"\d|[a-z][A-Z]|\w_\w|[A-Z]{2}")
_CLOSING = frozenset(",.;:!?)]}")


class LlmLinguaCompressor:
    """A `TextCompressor` that removes words which a small language model could have predicted.

    Code, paths, URLs, ids, numbers with their units, dates, JSON keys and quoted strings are kept unchanged, and so are
    names; other words stay or go as a whole. Tokens are the model's own. Callable from any thread; the calls run one
    after the other.

    Args:
        model: the folder or hub name of a causal language model.
        device: the device to run on, in PyTorch's notation.

    Raises:
        MissingDependencyError: llmlingua is not installed.
        ModelError: the model cannot be loaded.
    """

    def __init__(self, model: str, *, device: str = "cpu") -> None:
        self._model = model
        self._library = _loaded(model, device)
        self._window = min(MAX_WINDOW, self._library.max_position_embeddings)
        self._lock = threading.Lock()

    def compress(self, text: str, *, max_tokens: int) -> str:
        """The text in at most 1.1 times ``max_tokens``, including all protected parts; unchanged if it fits.

        Raises:
            ModelError: the protected parts alone are too long, the result is still too long after a second, harder
                try, nothing is left, or the library fails.
        """
        if max_tokens < 1:
            raise InvalidInputError(f"max_tokens must be at least 1, got {max_tokens}")
        try:
            with self._lock:
                return self._compressed(text, max_tokens)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"LLMLingua with {self._model!r} failed: {error!r}") from error

    def _compressed(self, text: str, max_tokens: int) -> str:
        if self._count(text) <= max_tokens:
            return text
        pieces = [
            (piece, tokens, protected or tokens < MIN_FREE_TOKENS or not piece.strip())
            for piece, protected in pieces_of(text, self._count, self._window)
            for tokens in [self._count(piece)]
        ]
        kept = sum(tokens for _, tokens, keep in pieces if keep)
        free = sum(tokens for _, tokens, keep in pieces if not keep)
        room = max_tokens - kept
        if room <= 0 or not free:
            raise ModelError(f"the protected parts alone take {kept} of {max_tokens} tokens")
        rate = room / free
        for _ in range(2):
            result = "".join(piece if keep else self._shortened(piece, rate * tokens) for piece, tokens, keep in pieces)
            reached = self._count(result)
            if result.strip() and reached <= max_tokens * (1 + TOLERANCE):
                return result
            rate *= 0.9 * room / max(reached - kept, room)
        raise ModelError(f"LLMLingua with {self._model!r} gave {reached} tokens where {max_tokens} were asked for")

    def _shortened(self, piece: str, tokens: float) -> str:
        """The piece in about this many tokens, with its surrounding spaces."""
        core = piece.strip()
        length = self._count(core)
        result = self._library.compress_prompt(
            [core],
            target_token=max(1, round(tokens)),
            use_context_level_filter=False,
            force_tokens=[],
            # In equal parts: the library leaves as it is what remains behind the last whole part.
            iterative_size=length // -(-length // MAX_PART),
        )["compressed_prompt"].strip()
        begin, left = piece.index(core), _left_of(core, result)
        # The original's surrounding spaces, or a space if punctuation parted it from its neighbour.
        before = piece[:begin] or (" " if _WORD.match(left[:1]) and not core[0].isalnum() else "")
        after = piece[begin + len(core) :] or (" " if _WORD.match(left[-1:]) and not core[-1].isalnum() else "")
        return f"{before}{left}{after}"

    def _count(self, text: str) -> int:
        return len(self._library.oai_tokenizer.encode(text))


def _left_of(core: str, result: str) -> str:
    """The words of the original that the result keeps, in whole: those of which it has half, and every name."""
    units, left = list(_UNITS.finditer(core)), _UNITS.findall(result)
    words, names = [unit.group() for unit in units], {found.start() for found in _NAMES.finditer(core)}
    kept = {row for row, unit in enumerate(units) if unit.start() in names or _IDENTIFIER.search(words[row])}
    for tag, first, end, other, other_end in SequenceMatcher(None, words, left, autojunk=False).get_opcodes():
        if tag == "equal":
            kept.update(range(first, end))
        elif tag == "replace":  # the model drops pieces of words, which would join what remains
            there, pieces = "".join(words[first:end]), "".join(left[other:other_end])
            blocks = SequenceMatcher(None, there, pieces, autojunk=False).get_matching_blocks()
            places = {place for block in blocks for place in range(block.a, block.a + block.size)}
            start = 0
            for row in range(first, end):
                stop = start + len(words[row])
                if 2 * len(places.intersection(range(start, stop))) >= stop - start:
                    kept.add(row)
                start = stop
    text, last = "", 0
    for row in sorted(kept):
        between = core[last : units[row].start()] if text else ""
        joins = _WORD.match(text[-1:]) and _WORD.match(words[row])
        if (any(map(str.isspace, between)) or (between and joins)) and words[row] not in _CLOSING:
            text += "\n" if "\n" in between else " "
        text, last = text + words[row], units[row].end()
    return text


def _loaded(model: str, device: str) -> Any:
    """The library's compressor, without its constructor.

    The constructor downloads a token table, seeds the process's random numbers, and runs code from the model.
    """
    try:
        from llmlingua import PromptCompressor  # noqa: PLC0415 - optional
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, DynamicCache  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError("llmlingua", extra="llmlingua") from error
    try:
        config = AutoConfig.from_pretrained(model)
        tokenizer = AutoTokenizer.from_pretrained(model)
        kind = "float32" if device == "cpu" else "auto"
        network = AutoModelForCausalLM.from_pretrained(model, dtype=kind).to(device).eval()
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(f"cannot load {model!r} for LLMLingua: {error}") from error

    def with_tuples(input_ids: Any, *, past_key_values: Any = None, **options: Any) -> Any:
        # The library expects the cache as (key, value) for each layer; transformers 5 returns an object.
        cache = DynamicCache() if past_key_values is None else DynamicCache(past_key_values)
        response = network(input_ids, past_key_values=cache, **options)
        response.past_key_values = [(layer.keys, layer.values) for layer in response.past_key_values.layers]
        return response

    compressor = PromptCompressor.__new__(PromptCompressor)
    vars(compressor).update(
        model_name=model,
        use_llmlingua2=False,
        model=with_tuples,
        tokenizer=tokenizer,
        # The model's own tokens, instead of the library's token table.
        oai_tokenizer=SimpleNamespace(
            encode=lambda text: tokenizer(text, add_special_tokens=False, verbose=False).input_ids
        ),
        device=device,
        max_position_embeddings=getattr(config, "max_position_embeddings", MAX_WINDOW),
        cache_bos_num=10,
        prefix_bos_num=100,
        context_idxs=[],
    )
    compressor.get_ppl = _by_characters(compressor.get_ppl, tokenizer)
    return compressor


def _by_characters(losses: Callable[..., Any], tokenizer: Any) -> Callable[..., Any]:
    """The library's token losses, made equal within a character of several tokens, as in rare Chinese characters."""

    def cut(tokens: list[int]) -> bool:
        return "\ufffd" in tokenizer.decode(tokens)

    def call(
        text: str, granularity: str, input_ids: Any, *args: Any, past_key_values: Any = None, **options: Any
    ) -> Any:
        loss, cache = losses(text, granularity, input_ids, *args, past_key_values=past_key_values, **options)
        start = 0 if past_key_values is None else past_key_values[0][0].shape[2]
        tokens = input_ids[0, start : start + len(loss)].tolist()
        at = 0
        while at < len(tokens):
            end = at + 1
            while end < len(tokens) and cut(tokens[at:end]) and cut(tokens[end : end + 1]):
                end += 1
            loss[at:end] = loss[at:end].max()
            at = end
        return loss, cache

    return call
