"""What a margin learner may be: its solver, and its public map."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dplit.features import HadamardProjection

LinearMap = HadamardProjection | NDArray[np.float64]

Solver = Literal["accelerated", "noisy_gradient", "phased"]
