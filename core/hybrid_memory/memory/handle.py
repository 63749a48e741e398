"""What every handle of one owner's memory stands on."""

from __future__ import annotations

from dataclasses import replace

from hybrid_memory.log.visible import Horizon
from hybrid_memory.memory.runtime import Runtime
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import Services


class Handle:
    """A memory as one owner sees it, now or as of an earlier time.

    Attributes:
        scope: whose it is.
    """

    def __init__(self, runtime: Runtime, scope: Scope, horizon: Horizon | None = None) -> None:
        self._runtime = runtime
        self._horizon = horizon
        self.scope = scope

    @property
    def _services(self) -> Services:
        services = self._runtime.services
        return services if self._horizon is None else replace(services, horizon=self._horizon)
