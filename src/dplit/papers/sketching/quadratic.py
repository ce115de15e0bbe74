r"""Sums of quadratic features :math:`(\omega_j^\top x)^2` on the unit ball.

An ascent gives lower bounds of their sensitivities; a calibration needs the upper ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, check_rng
from dplit.sketching._checks import symmetric_columns

_MOST_SIGNS = 20  # 2^19 eigenproblems

_BLOCK = 4096


class _S4Search(NamedTuple):
    """The best value of an ascent, its record, and the share of the starts that reached it."""

    value: float
    x: Array
    share: float


def replace_l1_exact(frequencies: ArrayLike) -> float:
    r"""Return the exact :math:`\ell_1` replace-one sensitivity, by all sign vectors.

    At most 20 frequencies; the last sign is fixed, because -s exchanges the records.
    """
    columns = symmetric_columns(frequencies)
    m = columns.shape[1]
    if m > _MOST_SIGNS:
        raise ValueError(f"frequencies must have at most {_MOST_SIGNS} columns, got {m}")
    codes, best = np.arange(2 ** (m - 1)), 0.0
    for start in range(0, len(codes), _BLOCK):
        bits = (codes[start : start + _BLOCK, None] >> np.arange(m)) & 1
        spectra = np.linalg.eigvalsh(((1.0 - 2.0 * bits)[:, None, :] * columns) @ columns.T)
        spread = np.maximum(spectra[:, -1], 0.0) - np.minimum(spectra[:, 0], 0.0)
        best = max(best, float(spread.max()))
    return best


def s4_ascent(
    frequencies: ArrayLike,
    *,
    rng: np.random.Generator,
    n_starts: int = 50,
    max_iter: int = 500,
    tolerance: float = 1e-6,
) -> _S4Search:
    r"""Return the largest :math:`(\sum_j(\omega_j^\top x)^4)^{1/2}` found: no calibration.

    :math:`x\leftarrow\Omega(\Omega^\top x)^3`, normalised, never decreases the convex quartic. A
    start succeeds if it ends within ``tolerance`` (relative) of the best.

    >>> round(s4_ascent(np.eye(3), rng=np.random.default_rng(0)).value, 9)
    1.0
    """
    columns = symmetric_columns(frequencies)
    n_starts, max_iter = check_integer("n_starts", n_starts), check_integer("max_iter", max_iter)
    x = check_rng(rng).standard_normal((n_starts, columns.shape[0]))
    value = np.zeros(n_starts)
    for _ in range(max_iter):
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(float).tiny)
        inner = x @ columns
        before, value = value, np.sqrt(np.sum(inner**4, axis=1))
        if np.all(value <= before * (1 + 1e-11)):
            break
        x = inner**3 @ columns.T
    best = int(value.argmax())
    share = float(np.mean(value >= value[best] * (1 - tolerance)))
    return _S4Search(float(value[best]), x[best] / max(np.linalg.norm(x[best]), 1e-300), share)
