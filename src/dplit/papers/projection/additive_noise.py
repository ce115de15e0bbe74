"""Additive noise: the release (8), its scale, and the bias that the fit on it keeps."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import Array, check_choice, check_nonnegative, check_real_array, check_rng, quiet
from dplit.entries.privacy import additive_sigma
from dplit.mechanisms import gaussian_noise
from dplit.mechanisms._draws import record_draw
from dplit.papers.projection.capacity import exact_sigma
from dplit.papers.projection.regression import _check_design
from dplit.papers.projection.spectrum import ridge_error, spectrum

_Calibration = Literal["paper", "exact"]

_Interval = tuple[float, float]


def _half_width(clip: _Interval) -> float:
    low, high = check_real_array("clip", clip, 1)
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"clip must be finite (low, high) with low < high, got clip={clip!r}")
    return float((high - low) / 2.0)


def _additive_scale(
    *, epsilon: float, calibration: _Calibration = "paper", clip: _Interval = (-1.0, 1.0)
) -> float:
    """Standard deviation of the noise: that of [-1, 1] times half the width of ``clip``.

    ``calibration`` is (9) of the paper, or the least noise that meets the budget (``"exact"``, at
    most 3 bits). Noise does not care for the origin: entries in [0, 1] need half of it.
    """
    check_choice("calibration", calibration, ("paper", "exact"))
    sigma = additive_sigma if calibration == "paper" else exact_sigma
    return _half_width(clip) * sigma(epsilon=epsilon)


@quiet
def release_additive(
    X: ArrayLike,
    *,
    epsilon: float,
    rng: np.random.Generator,
    calibration: _Calibration = "paper",
    clip: _Interval = (-1.0, 1.0),
) -> Array:
    r"""Table with independent Gaussian noise on every entry, (8), (9), Lemma 1: :math:`X+\sigma N`.

    ``epsilon`` is the MI-DP budget of one **entry** in bits: a row of d entries gets d times as
    much, the response is not protected at all. Entries outside the public interval ``clip`` are
    clipped; ``calibration`` is (9), or "exact" for the least noise. Floating-point noise: research,
    not release.

    >>> release_additive([[0.2, 5.0]], epsilon=900.0, rng=np.random.default_rng(0))
    array([[0.2, 1. ]])
    """
    table = check_real_array("X", X, 2, copy=False)
    sigma = _additive_scale(epsilon=epsilon, calibration=calibration, clip=clip)
    record_draw(
        "gaussian",
        "entries of a table",
        of=lambda: np.clip(table, *clip),
        scale=sigma,
        sensitivity=2.0 * _half_width(clip),
        shape=table.shape,
    )
    noise = gaussian_noise(table.shape, sigma=sigma, rng=check_rng(rng))
    return np.asarray(np.clip(table, *clip) + noise)


def attenuation_limit(X: ArrayLike, y: ArrayLike, *, sigma: float) -> float:
    r"""Relative error to which the noisy fit tends when n grows and d stays.

    With singular values :math:`s_i` and left singular vectors :math:`u_i`,
    :math:`1+\sum_i\big(\frac{n\sigma^2}{s_i^2+n\sigma^2}\big)^2(u_i^\top
    y)^2/\|X\theta^\star-y\|^2`: that of ridge regression with penalty :math:`n\sigma^2`.
    """
    problem = spectrum(*_check_design(X, y))
    if problem.residual == 0:
        raise ValueError("y must not lie in the column space of X: the error is infinite")
    return ridge_error(problem, penalty=len(np.asarray(X)) * check_nonnegative("sigma", sigma) ** 2)
