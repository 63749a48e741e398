"""What every handle of one owner's memory stands on."""

from __future__ import annotations

from dataclasses import replace

from hybrid_memory.flows.world import World
from hybrid_memory.memory.house import House
from hybrid_memory.tiers.episodic import Horizon
from hybrid_memory.types import Scope


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
