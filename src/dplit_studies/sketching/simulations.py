"""Simulated noise-to-signal ratios: every mask law, noise and way of sampling, in batches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from dplit._checks import (
    Array,
    check_choice,
    check_finite_array,
    check_integer,
    check_positive,
    check_probability,
    check_rng,
)
from dplit.mechanisms import (
    cube_noise,
    gaussian_noise,
    gaussian_sigma,
    laplace_noise,
    polydisc_noise,
)
from dplit.sketching.counts import unbiased_inverse
from dplit.sketching.release import plan_release, sketch_parts
from dplit.sketching.sensitivity import NoiseKind, noise_variance
from dplit.sketching.sketches import SketchMap
from dplit.sketching.subsampling.gaussian import lemma23_sigma
from dplit.sketching.subsampling.laplace import _log_symmetric_mean
from dplit.sketching.subsampling.masks import _draw_masks, _MaskLaw, mask_law
from dplit.sketching.utility import _Reference, _Sampling, noise_to_signal
from dplit.trials import Estimate, mean_and_se

#: Entries of one batch of masked features.
_BATCH_ENTRIES = 4_000_000


class _Case(NamedTuple):
    """One setting of Lemma 26: which features, masks, noise, sampling rate and reference."""

    population: str
    law: _MaskLaw
    noise: NoiseKind
    beta: float
    reference: _Reference
    sampling: _Sampling


class _Comparison(NamedTuple):
    """Simulated ratios, their standard errors, and the formula's values."""

    simulated: NDArray[np.float64]
    se: NDArray[np.float64]
    formula: NDArray[np.float64]


def _draw_noise(
    noise: NoiseKind, shape: tuple[int, int], *, scale: float, complex_valued: bool,
    rng: np.random.Generator,
) -> NDArray[Any]:  # fmt: skip
    """Noise of several releases at once, of any law of the chapter."""
    check_choice("noise", noise, ("laplace", "gaussian", "polydisc", "cube"))
    if noise == "laplace":
        return laplace_noise(shape, scale=scale, rng=rng, complex=complex_valued)
    if noise == "gaussian":
        return gaussian_noise(shape, sigma=scale, rng=rng, complex=complex_valued)
    sampler = polydisc_noise if noise == "polydisc" else cube_noise
    return sampler(shape[1], rate=1.0 / scale, rng=rng, size=shape[0])


def _taken(
    count: int, n: int, sampling: str, beta: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which of n records enter each of ``count`` sums."""
    if beta == 1.0:
        return np.ones((count, n), dtype=bool)
    keys = rng.random((count, n))
    if sampling == "poisson":
        return keys < beta
    kept = round(beta * n)
    if abs(kept - beta * n) > 1e-9 * n or kept < 1:
        raise ValueError(f"beta * n_samples must be a positive integer, got {beta * n!r}")
    ranks = keys.argsort(axis=1).argsort(axis=1)
    return ranks < kept


def _simulated_nsr(
    features: NDArray[Any], case: _Case, *, scale: float, n_samples: int, n_draws: int,
    rng: np.random.Generator,
) -> Estimate:  # fmt: skip
    r"""Mean and standard error of :math:`\|s-z\|^2/\|z\|^2`, by simulation: (20) and Lemma 26.

    "law" draws ``n_samples`` rows of the features; with "data" they are the data.
    """
    draws, n = check_integer("n_draws", n_draws, minimum=2), check_integer("n_samples", n_samples)
    check_choice("reference", case.reference, ("law", "data"))
    check_choice("sampling", case.sampling, ("poisson", "without_replacement"))
    law, beta, signal = case.law, case.beta, features.mean(axis=0)
    errors = []
    step = max(1, _BATCH_ENTRIES // (n * law.n_components))
    complex_valued = features.dtype.kind == "c"
    for start in range(0, draws, step):
        count = min(step, draws - start)
        shown = np.broadcast_to(features, (count, *features.shape))
        if case.reference == "law":
            shown = features[rng.integers(len(features), size=(count, n))]
        masks = _draw_masks(law, count * n, rng=rng).reshape(count, n, law.n_components)
        kept = masks & _taken(count, n, case.sampling, beta, rng)[:, :, None]
        shape = (count, law.n_components)
        added = _draw_noise(case.noise, shape, scale=scale, complex_valued=complex_valued, rng=rng)
        release = (np.einsum("tnm,tnm->tm", shown, kept) / law.alpha + added) / (beta * n)
        errors.append(np.sum(np.abs(release - signal) ** 2, axis=1))
    return mean_and_se(np.concatenate(errors) / np.sum(np.abs(signal) ** 2))


def compare_ratios(
    populations: Mapping[str, ArrayLike], cases: Iterable[_Case], *, scale: float, n_samples: int,
    n_draws: int, rng: np.random.Generator,
) -> _Comparison:  # fmt: skip
    """Simulated ratios beside Lemma 26, for several laws, noises and ways to sample."""
    rows = []
    for case in cases:
        features = check_finite_array("population", populations[case.population], ndim=2)
        given = case.reference == "data"
        shown = features[:n_samples] if given else features
        found = _simulated_nsr(
            shown, case, scale=scale, n_samples=n_samples, n_draws=n_draws, rng=rng
        )
        m = case.law.n_components
        variance = noise_variance(
            case.noise, scale=scale, n_components=m, complex_valued=shown.dtype.kind == "c"
        )
        formula = noise_to_signal(
            n_samples=n_samples, n_components=m,
            feature_energy=float(np.mean(np.sum(np.abs(shown) ** 2, axis=1))),
            signal_energy=float(np.sum(np.abs(shown.mean(axis=0)) ** 2)), noise_variance=variance,
            alpha=case.law.alpha, beta=case.beta, reference=case.reference, sampling=case.sampling,
        )  # fmt: skip
        rows.append((found.mean, found.se, formula))
    return _Comparison(*np.array(rows).T)


def ratio_features(
    n_records: int, n_components: int, *, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Features of planar Gaussian records for the comparison: Fourier, and squares of angles."""
    records = check_rng(rng).standard_normal((n_records, 2))
    angles = records @ (0.6 * rng.standard_normal((2, n_components)))
    return {"waves": np.exp(1j * angles), "squares": angles**2}


def ratio_cases(n_components: int, *, beta: float) -> list[_Case]:
    """The 21 settings in which Lemma 26 is compared: every mask law, reference, noise, sampling."""
    kept = n_components // 4
    laws = [mask_law(scheme, n_components, alpha=0.25) for scheme in ("bernoulli", "data")]
    uniform = mask_law("uniform", n_components, n_kept=kept)
    laws += [uniform, mask_law("block", n_components, n_kept=kept, block=2)]
    references: tuple[_Reference, ...] = ("law", "data")
    ways: tuple[_Sampling, ...] = ("poisson", "without_replacement")
    cases = [
        _Case("waves", law, "laplace", beta, reference, way)
        for law in laws
        for reference in references
        for way in ways
    ]
    others: tuple[tuple[str, NoiseKind], ...] = (
        ("waves", "gaussian"), ("waves", "polydisc"), ("waves", "cube"), ("squares", "laplace"),
        ("squares", "gaussian"),
    )  # fmt: skip
    cases += [_Case(name, uniform, noise, beta, "law", "poisson") for name, noise in others]
    return cases


# Gaussian noise on a fixed number of Fourier features: the guarantee, by simulation. The likelihood
# ratio is an elementary symmetric polynomial; common random numbers make delta smooth in sigma.


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
    law: _MaskLaw, *, epsilon: float, delta: float, n_draws: int, rng: np.random.Generator,
    direction: Literal["remove", "add"] = "remove",
) -> _Simulated:  # fmt: skip
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
    signal: ArrayLike, *, nsr: float, n: float, scale: float, n_min: float, n_trials: int,
    rng: np.random.Generator,
) -> Array:  # fmt: skip
    """Squared relative errors ``||f(y) (n s + noise) - s||^2 / ||s||^2`` of releases, (n_trials,).

    Their mean estimates :func:`dplit.sketching.counts.released_nsr`; ``nsr`` is that of the
    Gaussian noise on the sum.
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
