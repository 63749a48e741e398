"""Embedding functions of LangGraph, sync or async, as blocking ones."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def blocking(embed: Any) -> Any:
    """What embeds; an async function as one that can be called in any thread, whether or not a loop runs in it."""
    if not inspect.iscoroutinefunction(embed) and not inspect.iscoroutinefunction(type(embed).__call__):
        return embed

    def embed_texts(texts: Sequence[str]) -> Any:
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(lambda: asyncio.run(embed(texts))).result()

    return embed_texts
