"""Interior points for the dual of hinge and pinball loss with few features and many records."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dplit._checks import Array
from dplit._numerics.rows import Rows, row_parts

#: Rounds without a smaller gap; repeated records make some fifteen short steps before long ones.
_PATIENCE = 25


class _State:
    """A strictly interior point p, q = 1 - p, their multipliers, and the Newton system there."""

    def __init__(self, features: Rows, linear: Array, scale: float) -> None:
        self.features, self.linear, self.scale = features, linear, scale
        count = len(linear)
        self.p, self.q = np.full(count, 0.5), np.full(count, 0.5)
        self.low, self.high = np.ones(count), np.ones(count)

    def factorise(self) -> None:
        """Factor the d x d system that stands for (s A A' + D) and compute the residual."""
        A = self.features
        self.residual = self.scale * (A @ (A.T @ self.p)) - self.linear - self.low + self.high
        self.diagonal = self.low / self.p + self.high / self.q
        small = np.zeros((A.shape[1],) * 2)
        for part, block in row_parts(A):
            small += block.T @ (block / self.diagonal[part, None])
        small.flat[:: A.shape[1] + 1] += 1.0 / self.scale
        self.factor = cho_factor(small, check_finite=False)

    def complementarity(self) -> float:
        """Mean product of the variables and their multipliers."""
        total = self.low @ self.p + self.high @ self.q
        return float(total) / (2 * len(self.p))

    def steps(self, to_low: Array, to_high: Array) -> tuple[Array, Array, Array]:
        """Newton steps of p and the multipliers that change the two products by the arguments."""
        A, p, q = self.features, self.p, self.q
        right = (-self.residual + to_low / p - to_high / q) / self.diagonal
        dp = right - A @ cho_solve(self.factor, A.T @ right, check_finite=False) / self.diagonal
        return dp, (to_low - self.low * dp) / p, (to_high + self.high * dp) / q

    def length(self, dp: Array, d_low: Array, d_high: Array) -> float:
        """Largest common step, at most 1, of p and of the multipliers that keeps all positive."""

        def room(value: Array, change: Array) -> float:
            falling = change < 0
            return float((value[falling] / -change[falling]).min()) if falling.any() else 1.0

        return min(
            1.0, room(self.p, dp), room(self.q, -dp), room(self.low, d_low), room(self.high, d_high)
        )

    def advance(self) -> None:
        """Predict with the plain Newton step, then correct and move."""
        self.factorise()
        p, q, low, high, mu = self.p, self.q, self.low, self.high, self.complementarity()
        dp, dl, dh = self.steps(-low * p, -high * q)
        a = self.length(dp, dl, dh)
        ahead = (low + a * dl) @ (p + a * dp) + (high + a * dh) @ (q - a * dp)
        target = mu * min(1.0, float(ahead) / (2 * len(p) * mu)) ** 3
        dp, dl, dh = self.steps(target - low * p - dp * dl, target - high * q + dp * dh)
        a = 0.995 * self.length(dp, dl, dh)
        self.p, self.q = p + a * dp, q - a * dp
        self.low, self.high = low + a * dl, high + a * dh


def interior_point_box_qp(
    features: Rows,
    linear: Array,
    *,
    scale: float,
    gap: Callable[[Array], float],
    tol: float,
    max_iter: int = 100,
) -> Array:
    r"""Minimise :math:`\frac s2\|A^\top p\|^2-q^\top p` over :math:`0\le p\le1` by interior points.

    Mehrotra's predictor and corrector. Each step solves (s A A' + D) x = r with a diagonal D by the
    d x d system of Woodbury's identity (Ferris and Munson, SIAM J. Optim. 13, 2002): of order m d^2
    operations, 20 to 50 times. One step length serves p and the multipliers: with two the residual
    of a quadratic problem can grow. Returns the point with the least gap that was met.
    """
    state = _State(features, linear, scale)
    best, best_gap, stalled = state.p, gap(state.p), 0
    for _ in range(max_iter):
        if best_gap <= tol or stalled > _PATIENCE:
            break
        try:
            state.advance()
        except LinAlgError:  # as near to the edge of the box as rounding allows
            break
        now = gap(np.clip(state.p, 0.0, 1.0))
        stalled = 0 if now < 0.9 * best_gap else stalled + 1
        if now < best_gap:
            best, best_gap = np.clip(state.p, 0.0, 1.0), now
    return best
