"""Simulated noise-to-signal ratios: every mask law, noise and way of sampling, in batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_choice, check_finite_array, check_integer, check_rng
from dplit.mechanisms import cube_noise, gaussian_noise, laplace_noise, polydisc_noise
from dplit.papers.sketching.masks import _draw_masks, _MaskLaw, mask_law
from dplit.papers.sketching.noise_to_signal import _Reference, _Sampling, noise_to_signal
from dplit.sketching._kinds import NoiseKind
from dplit.sketching.sensitivity import noise_variance
from dplit_studies.trials import Estimate, mean_and_se

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
    noise: NoiseKind,
    shape: tuple[int, int],
    *,
    scale: float,
    complex_valued: bool,
    rng: np.random.Generator,
) -> NDArray[Any]:
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
    features: NDArray[Any],
    case: _Case,
    *,
    scale: float,
    n_samples: int,
    n_draws: int,
    rng: np.random.Generator,
) -> Estimate:
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
    populations: Mapping[str, ArrayLike],
    cases: Iterable[_Case],
    *,
    scale: float,
    n_samples: int,
    n_draws: int,
    rng: np.random.Generator,
) -> _Comparison:
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
            n_samples=n_samples,
            n_components=m,
            feature_energy=float(np.mean(np.sum(np.abs(shown) ** 2, axis=1))),
            signal_energy=float(np.sum(np.abs(shown.mean(axis=0)) ** 2)),
            noise_variance=variance,
            alpha=case.law.alpha,
            beta=case.beta,
            reference=case.reference,
            sampling=case.sampling,
        )
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
        ("waves", "gaussian"),
        ("waves", "polydisc"),
        ("waves", "cube"),
        ("squares", "laplace"),
        ("squares", "gaussian"),
    )
    cases += [_Case(name, uniform, noise, beta, "law", "poisson") for name, noise in others]
    return cases
