"""Private full-batch descent on the hinge loss: all draws of the noise descend together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_integer, quiet
from dplit.margins._checks import _gridded_records
from dplit.margins._slopes import _FAR, _blocks, _check_shape, _columns, _pull, noisy_sums
from dplit.margins.plans import DescentPlan
from dplit.mechanisms._bits import check_source


@quiet
def noisy_hinge_descent(
    X: ArrayLike,
    y: ArrayLike,
    *plans: DescentPlan,
    rng: np.random.Generator | None,
    n_draws: int = 1,
) -> Array:
    r"""Minimise the mean hinge loss privately by noisy full-batch (sub)gradient steps.

    :math:`w_{t+1}=\Pi(w_t+\eta(\frac1{m\rho}\sum_{i:\,y_i\langle w_t,x_i\rangle<\rho}y_ix_i-\sigma
    z_t))`, :math:`w_0=0`: mean iterates (plans * n_draws, d). Every draw of the noise
    has the level of its plan, m public and all iterates published.
    Records are clipped, and rounded to a grid on which the sum over i is exact in every order: its
    sensitivity :math:`2r/\rho` holds for what the machine computes, and what follows the noise,
    rounding included, is post-processing. ``y`` is (m,) or (draws, m). Several plans, of one margin
    and one number of steps, share each product: for experiments.
    """
    (rho, _, norm), steps = plans[0].ball, plans[0].n_steps
    rows, labels = _gridded_records(X, y, norm)
    (m, d), count = rows.shape, check_integer("n_draws", n_draws)
    draws = len(plans) * count
    if labels.ndim == 2 and len(labels) != draws:
        raise ValueError(f"y must have n_draws = {draws} rows, got y of shape {labels.shape}")
    check_source(rng)
    _check_shape(plans[0], (m, d))
    if len({(p.shape, p.ball.margin, p.ball.data_norm, p.n_steps) for p in plans}) > 1:
        raise ValueError("plans must have one shape, margin, data_norm and n_steps")
    eta, limit = _columns(plans, count)
    pace, bounded = eta / (m * rho), (limit < _FAR).any()
    blocks = _blocks(rows, labels)
    parts = [slice(at, at + count) for at in range(0, draws, count)]
    noisy = [noisy_sums(plan, (count, d), rng, copies=count) for plan in plans]
    w, total, move = np.zeros((draws, d)), np.zeros((draws, d)), np.empty((draws, d))
    for _ in range(steps):
        total += w
        _pull(w, blocks, rho, out=move)
        for part, add_noise in zip(parts, noisy, strict=True):
            move[part] = add_noise(move[part])
        move *= pace
        w += move
        if bounded:
            w *= limit / np.maximum(np.sqrt(np.vecdot(w, w))[:, None], limit)
    return total / steps
