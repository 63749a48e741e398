"""A language model that reads claims from turns, beside the rules."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_memory.errors import ModelError
from hybrid_memory.facts.fact import Claim
from hybrid_memory.facts.port import FactExtractor
from hybrid_memory.facts.reader.answers import read
from hybrid_memory.facts.reader.asking import Field, prompt, question, schema, spans
from hybrid_memory.log.event import Event
from hybrid_memory.models.port import LanguageModel


class ModelExtractor:
    """A `FactExtractor` that asks a language model what the rules did not find, and which of their findings are wrong.

    One call for as many turns as a question has room for. A model may read a turn otherwise beside other turns, so its
    claims, unlike those of rules, depend on how turns are cut into calls.

    Args:
        model: what is asked.
        rules: what it is told to go beyond; their claims are not returned.
        fields: of the profile, that it is asked for beside the attributes that everybody has.
    """

    def __init__(self, model: LanguageModel, rules: FactExtractor, fields: Sequence[Field] = ()) -> None:
        self.name = f"model {model.name}"
        self._model = model
        self._rules = rules
        self._fields = tuple(fields)

    def extract(self, turns: Sequence[Event], before: Sequence[Event]) -> list[Claim]:
        """What the turns have the words for of what the model says; no call where nobody speaks.

        Raises:
            ModelError: the model failed, or answered nothing that could be read.
        """
        claims: list[Claim] = []
        earlier = list(before)
        for span in spans(turns):
            claims.extend(self._claims(span, earlier))
            earlier += span
        return claims

    def _claims(self, span: Sequence[Event], earlier: Sequence[Event]) -> list[Claim]:
        asked = question(span, earlier, self._rules.extract(span, earlier), self._fields)
        if not asked.numbered:
            return []
        try:
            return read(self._model.structured(prompt(asked), schema(asked)), asked, self.name)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"no facts by {self.name}: {type(error).__name__}: {error}") from error
