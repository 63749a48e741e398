"""The model of a setting, as LangChain's memories ask for one."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from hybrid_memory.ports import LanguageModel, TokenCounter
from langchain_hybrid_memory.messages import from_langchain


class WritingModel(BaseChatModel):
    """A chat model over a `LanguageModel`.

    What it was asked before it answers as before: each question of an evaluation folds the same turns, and a model
    would be paid for every one.
    """

    _model: LanguageModel = PrivateAttr()
    _count: TokenCounter = PrivateAttr()
    _answers: dict[tuple[str, ...], str] = PrivateAttr(default_factory=dict)

    def __init__(self, model: LanguageModel, count: TokenCounter) -> None:
        super().__init__()
        self._model = model
        self._count = count

    @property
    def _llm_type(self) -> str:
        return "hybrid-memory"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        asked = [from_langchain(message, keep_id=False) for message in messages]
        key = tuple(f"{message.role}: {message.text}" for message in asked)
        if key not in self._answers:
            self._answers[key] = self._model.complete(asked)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self._answers[key]))])

    def get_num_tokens(self, text: str) -> int:
        """As the setting counts; LangChain would ask for the tokenizer of GPT-2."""
        return self._count(text)
