"""Shapes of numbers: float32 unit rows, ids of records, columns of signals."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ids: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float32]

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
