"""Whether means that were simulated again agree with archived ones, within the errors of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats


def parted(
    again: Any, kept: Any, errors: tuple[Any, Any], *, trials: int, alarm: float = 1e-5
) -> np.ndarray:
    """Return where means part by more than Student's law of their difference allows.

    ``errors`` are the standard errors of both, of ``trials`` trials each; ``alarm`` is the
    probability that one of the numbers is accused wrongly, if deviations are normal. Where both
    have no error, equal to four digits is asked.
    """
    one, other = (np.asarray(part, dtype=float) for part in (again, kept))
    spread = np.hypot(*(np.asarray(part, dtype=float) for part in errors))
    known = np.isfinite(one) & np.isfinite(other)
    limit = stats.t(2 * (trials - 1)).isf(alarm / max(known.sum(), 1) / 2)
    room = np.maximum(limit * spread, 1e-4 * np.abs(other) + 1e-4)
    return np.flatnonzero((known & (np.abs(one - other) > room)) | (known != np.isfinite(one)))
