"""How well a record is still remembered."""

from __future__ import annotations

import numpy as np

from hybrid_memory.arrays import Array, Numbers

IMPORTANT = 8.0
"""How many times as slowly what matters most is forgotten as what does not matter."""


def retention(age_seconds: Array, importance: Array, uses: Numbers, half_life_seconds: float) -> Array:
    """``0.5 ** (age / (half_life * 8 ** importance * (1 + uses)))``, in (0, 1]: 1 now, and for what lies ahead.

    After a half-life 0.5 is left of what has no importance and was never used. The age counts from the last use, so
    that a use both refreshes and strengthens. Exponential forgetting over a strength is the model of Woźniak et al.
    1995 for Ebbinghaus' curve; that the half-life grows exponentially with what speaks for a memory is that of Settles
    and Meeder 2016, and a strength that every use raises by one that of MemoryBank (Zhong et al. 2023).
    """
    strength = IMPORTANT**importance * (1.0 + uses)
    left = np.exp2(-np.maximum(age_seconds, 0.0) / (half_life_seconds * strength))
    return np.asarray(np.maximum(left, np.finfo(np.float64).tiny))
