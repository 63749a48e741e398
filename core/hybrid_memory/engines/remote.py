"""Calls that may fail or hang: failures as the library's errors, and no calls for a while after a slow one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from hybrid_memory.errors import MemoryClosedError, StoreUnavailableError
from hybrid_memory.runtime.breaker import Breaker
from hybrid_memory.runtime.tasks import ENGINE_SECONDS
from hybrid_memory.urls import cleaned

Result = TypeVar("Result")

CONNECT_SECONDS = 2
PROBE_SECONDS = 0.5


class Remote(ABC):
    """A server, or an engine that runs like one, as one object for all threads.

    Args:
        place: its name in errors.
        advice: what errors say to do.
        secrets: what no error may contain.
        engine_timeout: seconds that a read may take while a caller waits; see `OrchestrationConfig.engine_timeout`.

    Attributes:
        failures: the exceptions of the client, which become `StoreUnavailableError`.
    """

    failures: ClassVar[tuple[type[Exception], ...]]

    def __init__(
        self, place: str, advice: str, secrets: Sequence[str | None], *, engine_timeout: float = ENGINE_SECONDS
    ) -> None:
        self.place = place
        self._advice = advice
        self._secrets = secrets
        self._engine_timeout = engine_timeout
        self._breaker = Breaker(place)
        self._closed = False

    def check_open(self) -> None:
        if self._closed:
            raise MemoryClosedError

    def attempt(self, verb: str, run: Callable[[], Result]) -> Result:
        """The result of the call; errors say that it was to ``verb`` the place."""
        self.check_open()
        return self._breaker.call(
            lambda: self._tried(verb, run),
            probe=self._probe,
            answered=lambda error: error.__cause__ is not None and self._is_answer(error.__cause__),
        )

    def _tried(self, verb: str, run: Callable[[], Result]) -> Result:
        try:
            return run()
        except self.failures as error:
            reason = self._reason(cleaned(error, self._secrets))
            self.check_open()  # it may have been closed under the call
            raise StoreUnavailableError(f"cannot {verb} {self.place}: {reason}; {self._advice}") from error

    def _reason(self, error: Exception) -> str:
        return str(error)

    @abstractmethod
    def _probe(self) -> None:
        """Check quickly, on a connection of its own, that there is an answer."""

    @abstractmethod
    def _is_answer(self, error: BaseException) -> bool:
        """Whether a failure is an answer."""
