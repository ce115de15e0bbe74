r"""Newton steps, coordinates and interior points behind the minimisers, and duality gaps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from dplit._checks import Array
from dplit._numerics.rows import Rows, row_parts
from dplit.erm.losses import _fenchel_young, _gram_rows

# Interior points for the dual of hinge and pinball loss with few features and many records.


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
    features: Rows, linear: Array, *, scale: float, gap: Callable[[Array], float], tol: float,
    max_iter: int = 100,
) -> Array:  # fmt: skip
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


# Minimum of :math:`\frac12c^\top Kc-y^\top c` over a box: the dual of hinge and pinball loss, for
# moderate Gram matrices; exact steps at the end, warm starts.


def _sweep(K: Array, c: Array, gradient: Array, low: Array, high: Array) -> None:
    """One pass of exact coordinate descent, in place; ``gradient`` is K c - y throughout."""
    diagonal = K.diagonal()
    for i in np.flatnonzero(((gradient < 0) & (c < high)) | ((gradient > 0) & (c > low))):
        g = gradient[i]
        if diagonal[i] > 0.0:
            new = min(max(c[i] - g / diagonal[i], low[i]), high[i])
        else:
            new = high[i] if g < 0 else low[i]
        step = new - c[i]
        if step != 0.0:
            c[i] = new
            gradient += step * K[i]


def _subspace_step(K: Array, c: Array, gradient: Array, low: Array, high: Array) -> bool:
    """Newton step on the free coordinates, cut at the box; says whether nothing was cut."""
    free = np.flatnonzero((c > low) & (c < high))
    if free.size == 0:
        return False
    block = K[np.ix_(free, free)]
    jitter = 1e-14 * float(block.diagonal().max())
    for _ in range(4):
        try:
            factor = cho_factor(block + jitter * np.eye(free.size), check_finite=False)
            break
        except LinAlgError:
            jitter *= 100.0
    else:
        return False
    direction = -cho_solve(factor, gradient[free], check_finite=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(direction > 0, high[free] - c[free], low[free] - c[free]) / direction
    room = np.where(direction == 0.0, np.inf, room)
    slope = float(gradient[free] @ direction)
    curvature = float(direction @ block @ direction)
    best = np.inf if curvature <= 0.0 else -slope / curvature
    step = min(float(room.min()), best)
    if slope >= 0.0 or not np.isfinite(step):
        return False
    cut = step == float(room.min())
    new = np.clip(c[free] + step * direction, low[free], high[free])
    if cut:
        stopped = room <= step
        new[stopped] = np.where(direction > 0, high[free], low[free])[stopped]
    gradient += K[:, free] @ (new - c[free])
    c[free] = new
    return not cut


def coordinate_box_qp(
    K: Array, y: Array, low: Array, high: Array, *, start: Array,
    gap: Callable[[Array, Array], float], tol: float, max_iter: int = 5000,
) -> Array:  # fmt: skip
    """Minimise by coordinate descent with Newton steps on the free coordinates.

    Coordinate descent converges from everywhere; once it has found which coordinates sit on the
    box, one linear system gives the solution to rounding. It ends two rounds after ``gap(c, K c)``
    is at most ``tol``, or when a hundred rounds have not lowered it by a hundredth.
    """
    c = np.clip(start, low, high)
    gradient = K @ c - y
    best, best_gap, reached, falling = c.copy(), np.inf, 0, 0
    for iteration in range(max_iter):
        _sweep(K, c, gradient, low, high)
        for _ in range(50):
            if _subspace_step(K, c, gradient, low, high):
                break
        if iteration % 10 == 9:
            gradient = K @ c - y
        now = gap(c, gradient + y)
        falling = iteration if now < 0.99 * best_gap else falling
        if now < best_gap:
            best, best_gap = c.copy(), now
        if best_gap <= tol:
            reached += 1
        if reached > 2 or best_gap == 0.0 or iteration - falling >= 100:
            break
    return best


#: Interior points that rounding stopped early are finished on the Gram matrix up to this size.
_POLISHED = 1000

#: Larger Gram matrices of low rank are first solved by interior points on their factor.
_FACTORED = 500


def dual_box(loss: str, y: Array, penalty: float, tau: float) -> tuple[Array, Array]:
    """Box of the coefficients for hinge and pinball loss; ``penalty`` is 2 lambda m."""
    if loss == "hinge":
        return np.minimum(y, 0.0) / penalty, np.maximum(y, 0.0) / penalty
    return np.full(len(y), (tau - 1.0) / penalty), np.full(len(y), tau / penalty)


def duality_gap(loss: str, y: Array, c: Array, f: Array, penalty: float, tau: float) -> float:
    """Gap of coefficients c with predictions f = K c; ``penalty`` is 2 lambda m."""
    slopes = -penalty * c
    if loss in ("hinge", "logistic"):  # into the domain of the conjugate, against rounding
        slopes = -y * np.clip(-y * slopes, 0.0, 1.0)
    elif loss == "pinball":
        slopes = np.clip(slopes, -tau, 1.0 - tau)
    return float(_fenchel_young(loss, f, y, slopes, tau).mean())


def primal_dual_gap(
    phi: Rows, y: Array, weights: Array, c: Array, loss: str, regularization: float, tau: float
) -> float:
    """Primal objective of any weights minus dual objective of coefficients c."""
    penalty = 2.0 * regularization * len(y)
    apart = weights - phi.T @ c
    terms = duality_gap(loss, y, c, phi @ weights, penalty, tau)
    return terms + regularization * float(apart @ apart)


def logistic_coefficients(K: Array, y: Array, penalty: float, start: Array, tol: float) -> Array:
    """Damped Newton iteration for 2 lambda m c = y sigma(-y K c)."""
    m, c = len(y), start
    for _ in range(100):
        f = K @ c
        value = np.logaddexp(0.0, -y * f).sum() + 0.5 * penalty * float(c @ f)
        if duality_gap("logistic", y, c, f, penalty, 0.5) <= tol:
            break
        pull, weight = y * expit(-y * f), expit(f) * expit(-f)
        root = np.sqrt(weight / penalty)
        right = (weight * f + pull) / penalty
        B = np.eye(m) + root[:, None] * K * root
        inner = cho_solve(cho_factor(B, check_finite=False), root * (K @ right))
        step, length = right - root * inner - c, 1.0
        change = K @ step
        slope = float((penalty * c - pull) @ change)
        while length > 1e-8:
            g = f + length * change
            new = c + length * step
            if np.logaddexp(0.0, -y * g).sum() + 0.5 * penalty * float(new @ g) <= (
                value + 1e-4 * length * slope + 1e-14 * abs(value)
            ):
                break
            length *= 0.5
        c = c + length * step
        if np.abs(step).max() <= 1e-16 * max(1.0, np.abs(c).max()):
            break
    return c


def logistic_weights(
    phi: Rows, y: Array, regularization: float, tol: float, start: Array | None = None
) -> Array:
    """Damped Newton iteration on the primal objective, from ``start`` or from 0."""
    m, w = len(y), np.zeros(phi.shape[1]) if start is None else start

    def objective(weights: Array) -> float:
        loss = np.logaddexp(0.0, -y * (phi @ weights)).mean()
        return float(loss + regularization * weights @ weights)

    for _ in range(100):
        margin = y * (phi @ w)
        gradient = 2.0 * regularization * w - phi.T @ (y * expit(-margin)) / m
        if gradient @ gradient <= 4.0 * regularization * tol:
            break
        curvature = expit(margin) * expit(-margin) / m
        hessian = np.zeros((len(w), len(w)))
        for part, block in row_parts(phi):
            hessian += block.T @ (block * curvature[part, None])
        hessian.flat[:: len(w) + 1] += 2.0 * regularization
        step = cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False)
        length, value, slope = 1.0, objective(w), float(gradient @ step)
        while length > 1e-8 and objective(w - length * step) > (
            value - 1e-4 * length * slope + 1e-15 * value
        ):
            length *= 0.5
        w = w - length * step
    return w


def ridge_weights(phi: Rows, y: Array, shift: float) -> Array:
    """Solve the normal equations with ``shift`` on the diagonal."""
    system = np.zeros((phi.shape[1],) * 2)
    for _, block in row_parts(phi):
        system += block.T @ block
    system.flat[:: system.shape[0] + 1] += shift
    factor = cho_factor(system, check_finite=False)
    return np.asarray(cho_solve(factor, phi.T @ y, check_finite=False))


def unit_box(
    rows: Rows, y: Array, loss: str, penalty: float, tau: float
) -> tuple[Rows, Array, float, Array]:
    """The dual over the unit box: rows A, linear term q, and c = offset + slope p.

    It is to minimise ``||A' p||^2 / (2 penalty) - q' p``.
    """
    if loss == "hinge":  # c = y p / penalty
        return rows * y[:, None], np.ones(len(y)), 0.0, y / penalty
    offset = -(1.0 - tau) / penalty  # c = (p - (1 - tau)) / penalty
    total = np.zeros(rows.shape[1])
    for _, block in row_parts(rows):
        total += block.sum(axis=0)
    linear = y - offset * (rows @ total)
    return rows, linear, offset, np.full(len(y), 1.0 / penalty)


def interior_coefficients(
    rows: Rows, y: Array, loss: str, penalty: float, tau: float, tol: float
) -> Array:
    """Coefficients for hinge and pinball loss by interior points, for feature rows."""
    signed, linear, offset, slope = unit_box(rows, y, loss, penalty, tau)

    def gap(p: Array) -> float:
        c = offset + slope * p
        return duality_gap(loss, y, c, rows @ (rows.T @ c), penalty, tau)

    p = interior_point_box_qp(signed, linear, scale=1.0 / penalty, gap=gap, tol=tol)
    return np.asarray(offset + slope * p)


def box_coefficients(
    K: Array, y: Array, loss: str, penalty: float, tau: float, tol: float, start: Array | None
) -> Array:
    """Coefficients for hinge and pinball loss from the Gram matrix."""
    if start is None and len(y) > _FACTORED:
        rows = _gram_rows(K)
        if 4 * rows.shape[1] <= len(y):
            start = interior_coefficients(rows, y, loss, penalty, tau, tol)
    low, high = dual_box(loss, y, penalty, tau)
    return coordinate_box_qp(
        K, y, low, high, start=np.zeros(len(y)) if start is None else start,
        gap=lambda c, f: duality_gap(loss, y, c, f, penalty, tau), tol=tol,
    )  # fmt: skip


def box_weights(
    phi: Rows, y: Array, loss: str, penalty: float, tau: float, tol: float
) -> tuple[Array, float]:
    """Coefficients and duality gap for hinge and pinball loss, for feature rows."""
    c = interior_coefficients(phi, y, loss, penalty, tau, tol)
    gap = duality_gap(loss, y, c, phi @ (phi.T @ c), penalty, tau)
    if gap > tol and len(y) <= _POLISHED and isinstance(phi, np.ndarray):
        c = box_coefficients(phi @ phi.T, y, loss, penalty, tau, tol, c)
        gap = duality_gap(loss, y, c, phi @ (phi.T @ c), penalty, tau)
    return c, gap
