"""Calls that may fail or hang: failures as the library's errors, and no calls for a while after a slow one."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar
from urllib.parse import parse_qsl, unquote

from hybrid_memory.errors import InvalidConfigError, MemoryClosedError, StoreUnavailableError
from hybrid_memory.runtime.breaker import Breaker
from hybrid_memory.runtime.tasks import ENGINE_SECONDS
from hybrid_memory.urls import ENCODE, cleaned, parts_of, shown_url

Result = TypeVar("Result")

CONNECT_SECONDS = 2
PROBE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a server's URL, user and password decoded; ``name`` is the value of its only option."""

    scheme: str
    host: str
    port: int
    path: str
    name: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @classmethod
    def read(
        cls, url: str, kind: str, ports: Mapping[str, int], forms: str, *, option: str, default: str, pattern: str
    ) -> Address:
        """The address in a URL with one of these schemes, which have these ports.

        Raises:
            InvalidConfigError: it is none of these ``forms``, or the value of the option does not match the pattern.
        """
        if (parts := parts_of(url)) is None:
            problem = f"it is not a {kind} URL"
        else:
            options = dict(parse_qsl(parts.query, keep_blank_values=True))
            name = options.pop(option, default)
            if parts.scheme not in ports:
                problem = f"a {kind} URL begins with one of {', '.join(ports)}, not {parts.scheme!r}"
            elif options or parts.fragment:
                problem = f"its only option is {option}"
            elif not re.fullmatch(pattern, name):
                problem = f"its {option} is a name of letters, digits and underscores that matches {pattern}"
            else:
                user, password = unquote(parts.username or ""), unquote(parts.password or "")
                port = parts.port or ports[parts.scheme]
                return cls(parts.scheme, parts.hostname or "", port, parts.path, name, user, password)
        raise InvalidConfigError(f"cannot read the URL {shown_url(url)!r}: {problem}; write {forms}; {ENCODE}")


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

    def ask(self, verb: str, run: Callable[[], Result]) -> Result:
        """The result of the call; errors say that it was to ``verb`` the place."""
        self.check_open()
        return self._breaker.call(
            lambda: self._tried(verb, run),
            probe=self._probe,
            answered=lambda error: error.__cause__ is None or self._is_answer(error.__cause__),
        )

    def _tried(self, verb: str, run: Callable[[], Result]) -> Result:
        try:
            return run()
        except self.failures as error:
            self.check_open()  # it may have been closed under the call
            reason = self._reason(cleaned(error, self._secrets))
            raise StoreUnavailableError(f"cannot {verb} {self.place}: {reason}") from error

    def _reason(self, error: Exception) -> str:
        """Why it failed, and what to do."""
        return f"{error}; {self._advice}"

    @abstractmethod
    def _probe(self) -> None:
        """Check quickly, on a connection of its own, that there is an answer."""

    @abstractmethod
    def _is_answer(self, error: BaseException) -> bool:
        """Whether a failure is an answer."""
