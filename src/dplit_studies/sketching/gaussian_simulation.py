"""Gaussian noise on a fixed number of Fourier features.

The guarantee, by simulation. The likelihood ratio is an elementary symmetric polynomial; common
random numbers make delta smooth in sigma.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.mechanisms import gaussian_sigma
from dplit.papers.sketching.inverse_count import unbiased_inverse
from dplit.papers.sketching.masks import _MaskLaw, mask_law
from dplit.papers.sketching.subsampled_gaussian import lemma23_sigma
from dplit.papers.sketching.subsampled_laplace import _log_symmetric_mean
from dplit.sketching.additive_noise import sketch_parts
from dplit.sketching.plans import plan_release
from dplit.sketching.sketches import SketchMap


class _Simulated(NamedTuple):
    """A simulated number and its standard error."""

    value: float
    se: float


def _check_fixed(law: _MaskLaw) -> int:
    if law.scheme != "uniform" or law.n_kept is None:
        raise ValueError(f"law must be of scheme 'uniform', got scheme={law.scheme!r}")
    return law.n_kept


def _log_ratio(noise: Array, sigma: float, law: _MaskLaw, *, shifted: bool) -> Array:
    """Log likelihood ratio of mixture and base at points ``sigma * noise`` (plus one mask)."""
    r, alpha = _check_fixed(law), law.alpha
    points = sigma * noise
    if shifted:  # by symmetry every mask gives the same law of the ratio
        points[:, :r] += 1.0 / alpha
    constant = -r / (2.0 * alpha**2 * sigma**2)
    return constant + _log_symmetric_mean(points / (alpha * sigma**2), r)


def _excess(
    noise: Array, law: _MaskLaw, epsilon: float, sigma: float, direction: str
) -> _Simulated:
    logs = _log_ratio(noise, sigma, law, shifted=direction == "remove")
    loss = logs if direction == "remove" else -logs
    terms = -np.expm1(np.minimum(epsilon - loss, 0.0))
    return _Simulated(float(terms.mean()), float(terms.std(ddof=1) / math.sqrt(len(terms))))


def simulated_sigma(
    law: _MaskLaw,
    *,
    epsilon: float,
    delta: float,
    n_draws: int,
    rng: np.random.Generator,
    direction: Literal["remove", "add"] = "remove",
) -> _Simulated:
    """Least sigma for a fixed number of ones, by simulation with common random numbers.

    An estimate, no calibration; ``n_draws * delta`` should be at least 100.
    """
    epsilon, delta = check_positive("epsilon", epsilon), check_probability("delta", delta)
    draws = check_integer("n_draws", n_draws, minimum=2)
    noise = check_rng(rng).standard_normal((draws, law.n_components))
    bound = lemma23_sigma(law, epsilon=epsilon, delta=delta)

    def gap(log_sigma: float) -> float:
        found = _excess(noise, law, epsilon, math.exp(log_sigma), direction)
        return math.log(max(found.value, 1e-300)) - math.log(delta)

    top = math.log(bound) + 0.3
    root = float(brentq(gap, top - 3.0, top, xtol=1e-5))
    step = 0.02
    slope = (gap(root + step) - gap(root - step)) / (2 * step)
    error = _excess(noise, law, epsilon, math.exp(root), direction).se / delta
    return _Simulated(math.exp(root), math.exp(root) * error / abs(slope))


def simulated_ratios(
    cases: Sequence[tuple[int, int, float]], *, delta: float, n_draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Noise for r of m features over that of all, with errors, for cases (m, r, epsilon)."""
    rows = []
    for m, r, epsilon in cases:
        law = mask_law("uniform", m, n_kept=r)
        found = simulated_sigma(law, epsilon=epsilon, delta=delta, n_draws=n_draws, rng=rng)
        plain = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=math.sqrt(m))
        rows.append((found.value / plain, found.se / plain))
    ratios, errors = np.array(rows).T
    return ratios, errors


def simulate_released_nsr(
    signal: ArrayLike,
    *,
    nsr: float,
    n: float,
    scale: float,
    n_min: float,
    n_trials: int,
    rng: np.random.Generator,
) -> Array:
    """Squared relative errors ``||f(y) (n s + noise) - s||^2 / ||s||^2`` of releases, (n_trials,).

    Their mean estimates :func:`dplit.papers.sketching.inverse_count.released_nsr`; ``nsr`` is that
    of the Gaussian noise on the sum.
    """
    s: Any = check_finite_array("signal", signal, ndim=1)
    trials = check_integer("n_trials", n_trials)
    energy = float(np.sum(np.abs(s) ** 2))
    sigma = np.sqrt(check_positive("nsr", nsr) * energy / (2 * len(s)))
    parts = check_rng(rng).normal(scale=sigma, size=(trials, len(s), 2))
    noise = parts.view(np.complex128)[..., 0]
    y = n + rng.laplace(scale=check_positive("scale", scale), size=trials)
    relative = n * unbiased_inverse(y, scale=scale, n_min=n_min)
    errors = relative[:, None] * (s + noise) - s
    return np.asarray(np.sum(np.abs(errors) ** 2, axis=1) / energy)


def merged_noise_energy(
    n_holders: int, *, n_shares: int, n_components: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    r"""Energy :math:`|\xi_j|^2/4b^2` (n_components,) of merged Laplace noise of L = ``n_holders``.

    Its expectation is L with whole noises (``n_shares=1``) and 1 with L shares.
    """
    holders, m = check_integer("n_holders", n_holders), check_integer("n_components", n_components)
    flat = SketchMap("fourier", np.ones((1, m)))
    plan = plan_release(flat, epsilon=1.0, count="withheld", n_shares=n_shares)
    whole = sketch_parts([np.empty((0, 1))] * holders, flat, plan=plan, rng=rng)
    return np.asarray(np.abs(whole.sum) ** 2 / (4.0 * plan.scale**2))
