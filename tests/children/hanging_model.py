"""Leaves two calls of a model hanging, and ends."""

from datetime import timedelta

from hybrid_memory import Message
from hybrid_memory.errors import ModelError
from hybrid_memory.models.language import as_language_model
from hybrid_memory.testing import FaultyModel

model = as_language_model(FaultyModel("hangs"), timeout=timedelta(milliseconds=50))
for _ in range(2):
    try:
        model.complete([Message(content="hello")])
    except ModelError as error:
        print(type(error).__name__)  # noqa: T201 - the test reads it
