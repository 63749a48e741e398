"""What every handle of one owner's memory stands on."""

from __future__ import annotations

from dataclasses import replace

from hybrid_memory.log.visible import Horizon
from hybrid_memory.memory.house import House
from hybrid_memory.scope import Scope
from hybrid_memory.store.services import World


class Handle:
    """A memory as one owner sees it, now or as of an earlier time.

    Attributes:
        scope: whose it is.
    """

    def __init__(self, house: House, scope: Scope, horizon: Horizon | None = None) -> None:
        self._house = house
        self._horizon = horizon
        self.scope = scope

    @property
    def _world(self) -> World:
        world = self._house.world
        return world if self._horizon is None else replace(world, horizon=self._horizon)
