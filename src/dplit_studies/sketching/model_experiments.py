"""Mixtures and components from noisy sketches, beside DP-EM (Park et al., 2017) and noisy
moments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.mixture import GaussianMixture

from dplit._bounds import check_box
from dplit._checks import Array, check_choice, check_integer, check_positive, check_real_array
from dplit._numerics.clipping import clip_rows
from dplit.clusters.lloyd import spread_centers
from dplit.features import orthonormal_blocks
from dplit.mechanisms import gaussian_noise, gaussian_sigma, laplace_noise
from dplit.mechanisms._draws import record_draw
from dplit.sketching._kinds import NoiseKind
from dplit.sketching.decoders.low_rank import compressive_pca
from dplit.sketching.decoders.mixtures import decode_mixture, gmm_risk
from dplit.sketching.plans import plan_release
from dplit.sketching.sketches import Sketch, SketchMap, sketch
from dplit_studies.runs import Runs
from dplit_studies.sketching.clompr_reference import lloyd
from dplit_studies.sketching.covariance_release import (
    _PCA_METHODS,
    _leading_components,
    _noisy_covariance,
)
from dplit_studies.sketching.mixture_laws import MixtureLaw
from dplit_studies.trials import Trial, run_trials


def _em_sensitivity(n_features: int, *, norm: Literal[1, 2]) -> float:
    """Most that one record of the unit ball moves a step's weights, sums and squares together.

    Shares add up to one: ``|(1, x, x^2)|``, the root of 3 in norm 2, ``2 + sqrt(d)`` in norm 1.
    """
    d = check_integer("n_features", n_features)
    return 2.0 + math.sqrt(d) if norm == 1 else math.sqrt(3.0)


def _private_em(
    X: ArrayLike,
    start: ArrayLike,
    *,
    bounds: Any,
    radius: float,
    epsilon: float,
    delta: float = 0.0,
    n_iter: int,
    rng: np.random.Generator,
) -> tuple[Array, Array, Array]:
    """Weights, means and variances of a mixture after ``n_iter`` EM steps with noisy statistics,
    add or remove, of records clipped to ``radius`` half widths of the box. Laplace noise (delta
    0) shares epsilon among the steps, Gaussian noise composes exactly.
    """
    centres = check_real_array("start", start, 2)
    (k, d), steps = centres.shape, check_integer("n_iter", n_iter)
    box, size = check_box(bounds, d), (steps, k, 2 * d + 1)
    records = box.unit(check_real_array("X", X, 2))
    x = clip_rows(records / check_positive("radius", radius), 1.0)
    if delta == 0:
        scale = steps * _em_sensitivity(d, norm=1) / check_positive("epsilon", epsilon)
        record_draw(
            "laplace",
            "weights, sums and squares",
            sensitivity=_em_sensitivity(d, norm=1),
            norm="l1",
            scale=scale,
            shape=size[1:],
            copies=steps,
        )
        draws = laplace_noise(size, scale=scale, rng=rng)
    else:
        root = math.sqrt(steps) * _em_sensitivity(d, norm=2)
        sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=root)
        record_draw(
            "gaussian",
            "weights, sums and squares",
            sensitivity=_em_sensitivity(d, norm=2),
            scale=sigma,
            shape=size[1:],
            copies=steps,
        )
        draws = gaussian_noise(size, sigma=sigma, rng=rng)
    weights, means = np.full(k, 1.0 / k), box.unit(centres) / radius
    variances = np.full((k, d), 0.5 / d)
    table = np.hstack([np.ones((len(x), 1)), x, x**2])
    for noise in draws:
        noisy = _shares(table, weights, means, variances).T @ table + noise
        mass = np.maximum(noisy[:, :1], 1.0)
        means = np.clip(noisy[:, 1 : d + 1] / mass, -1.0 / radius, 1.0 / radius)
        variances = np.clip(noisy[:, d + 1 :] / mass - means**2, 1e-3, 1.0)
        weights = mass[:, 0] / mass.sum()
    units = radius * box.half
    return weights, box.middle + units * means, variances * units**2


def _shares(table: Array, weights: Array, means: Array, variances: Array) -> Array:
    """Share of every cluster in every record, whose row of ``table`` is ``(1, x, x^2)``."""
    constant = np.log(weights) - 0.5 * (np.log(variances) + means**2 / variances).sum(axis=1)
    terms = np.hstack([constant[:, None], means / variances, -0.5 / variances])
    return np.asarray(softmax(table @ terms.T, axis=1))


@dataclass(frozen=True)
class _MixtureComparison(Runs):
    """Mean log-likelihoods on the training records, less that of EM (``em``), which is not
    private: by noise (trials, budgets). Private EM ("em-...") has its best number of steps in
    hindsight, at no cost; "em-oracle" has Gaussian noise and starts at the true means.
    """

    epsilons: tuple[float, ...]
    exact: Array
    truth: Array
    em: Array


def _mixture_trial(
    trial: Trial,
    law: MixtureLaw,
    n_samples: int,
    n_components: int,
    budgets: Sequence[tuple[str, float, float]],
) -> tuple[float, float, float, Array, Array]:
    k, d = law.n_clusters, law.n_features
    X, centres = law.draw(n_samples, rng=trial.stream("data"), dtype="float64")
    public, noise = trial.stream("public"), trial.stream("noise")
    fourier = SketchMap("fourier", law.frequencies(n_components, rng=public))
    exact = sketch(X, fourier)
    first, _ = lloyd(X[:5000], k, n_starts=5, rng=public)
    model = GaussianMixture(k, covariance_type="diag", means_init=first, random_state=0)
    em = float(model.fit(X).score(X))

    def loss(values: NDArray[Any]) -> float:
        fit = decode_mixture(
            values / n_samples, fourier.frequencies, k, bounds=law.bounds, rng=public, n_starts=2
        )
        return -gmm_risk(X, fit.weights, fit.means, fit.variances) - em

    found = []
    for law_name, epsilon, delta in budgets:
        plan = plan_release(
            fourier,
            epsilon=epsilon,
            delta=delta,
            noise=cast("NoiseKind", law_name),
            count="withheld",
        )
        found.append(loss(plan.apply(exact, rng=noise).sum))
    truth = -gmm_risk(X, np.full(k, 1.0 / k), centres, np.ones((k, d))) - em
    rivals = _rival_gains(X, law, centres, em, budgets, trial)
    return em, truth, loss(exact.sum), np.array(found), rivals


#: Numbers of steps of private EM, of which every budget gets the best.
_STEPS = (4, 12)


def _rival_gains(
    X: Array,
    law: MixtureLaw,
    centres: Array,
    em: float,
    budgets: Sequence[tuple[str, float, float]],
    trial: Trial,
) -> Array:
    """Gains of private EM (3, steps, epsilons): Laplace, Gaussian, Gaussian from the true means."""
    k, d = law.n_clusters, law.n_features
    epsilons = [e for name, e, _ in budgets if name == budgets[0][0]]
    delta = max(delta for _, _, delta in budgets)
    public, noise = trial.stream("public").spawn(1)[0], trial.stream("noise").spawn(1)[0]
    start = spread_centers(k, d, bounds=law.bounds, rng=public)
    radius = math.sqrt(2.0 * d) / 3.5  # the box is 3.5 deviations of a coordinate wide
    gains = [
        -gmm_risk(
            X,
            *_private_em(
                X,
                first,
                bounds=law.bounds,
                radius=radius,
                epsilon=e,
                delta=level,
                n_iter=steps,
                rng=noise,
            ),
        )
        - em
        for first, level in ((start, 0.0), (start, delta), (centres, delta))
        for steps in _STEPS
        for e in epsilons
    ]
    return np.array(gains).reshape(3, len(_STEPS), len(epsilons))


def mixture_comparison(
    law: MixtureLaw,
    *,
    n_samples: int,
    n_components: int,
    epsilons: Sequence[float],
    deltas: dict[str, float],
    n_trials: int,
    seed: int,
    name: str,
    n_jobs: int | None = 1,
) -> _MixtureComparison:
    """Gaussian mixtures from private sketches against EM on the records."""
    check_integer("n_samples", n_samples)
    budgets = [(law_name, e, deltas[law_name]) for law_name in deltas for e in epsilons]
    work = partial(
        _mixture_trial, law=law, n_samples=n_samples, n_components=n_components, budgets=budgets
    )
    results = run_trials(work, n_trials, seed=seed, name=name, n_jobs=n_jobs)
    em, truth, exact = (np.array([row[i] for row in results]) for i in range(3))
    gains = np.array([row[3] for row in results]).reshape(n_trials, len(deltas), len(epsilons))
    by_noise = {law_name: gains[:, index] for index, law_name in enumerate(deltas)}
    rivals = np.array([row[4] for row in results])
    best, columns = np.median(rivals, axis=0).argmax(axis=1), np.arange(len(epsilons))
    for index, rival in enumerate(("em-laplace", "em-gaussian", "em-oracle")):
        by_noise[rival] = rivals[:, index, best[index], columns]
    return _MixtureComparison(by_noise, tuple(epsilons), exact, truth, em)


@dataclass(frozen=True)
class _PCAComparison(Runs):
    """Risks of k components over the least possible, for every method and size."""

    sizes: tuple[int, ...]


def _factor_data(
    n_samples: int, n_features: int, *, tail: float = 0.1, rng: np.random.Generator
) -> Array:
    """Records of three strong directions and a weak rest, over 4, clipped to the unit ball."""
    n, d = check_integer("n_samples", n_samples), check_integer("n_features", n_features, minimum=4)
    check_positive("tail", tail)
    scales = np.concatenate([[1.0, 0.8, 0.6], np.full(d - 3, tail)])
    basis = orthonormal_blocks(d, d, rng=rng)
    return clip_rows((rng.standard_normal((n, d)) * scales) @ basis.T / 4.0, 1.0)


def moment_noise(
    frequencies: str, noise: str, *, n_features: int, n_components: int, epsilon: float
) -> float:
    """Variance of the Laplace noise on ``<E, sum x x^T>`` of norm one: large sketch or covariance.

    E has no trace for a sketch, no diagonal for the covariance.
    """
    d, m = check_integer("n_features", n_features), check_integer("n_components", n_components)
    epsilon = check_positive("epsilon", epsilon)
    check_choice("noise", noise, ("laplace",))
    check_choice("frequencies", frequencies, ("orthonormal", "gaussian", "covariance"))
    if frequencies == "covariance":
        return float(4.0 * ((d + 1) / (2.0 * epsilon)) ** 2)
    if frequencies == "orthonormal":
        scale, energy = m / (d * epsilon), 2.0 / (d * (d + 2))
    else:
        scale, energy = (1.0 + np.sqrt(m / d)) ** 2 / epsilon, 2.0 / d**2
    return float(2.0 * scale**2 / (m * energy))


def _subspace(
    X: Array,
    kind: str,
    noise: str,
    k: int,
    m: int,
    budget: tuple[float, float],
    trial: Trial,
    clean: dict[tuple[str, int], Sketch],
) -> Array:
    """Return the (d, k) subspace of one method; methods with the same map share ``clean``."""
    d, (epsilon, delta) = X.shape[1], budget
    level = delta if noise == "gaussian" else 0.0
    stream = trial.stream("noise")
    if kind == "covariance":
        release = _noisy_covariance(X, epsilon=epsilon, delta=level, noise=noise, rng=stream)  # type: ignore[arg-type]
        return _leading_components(release.moments, k)
    public = trial.stream("public")
    if kind == "orthonormal":
        omega = orthonormal_blocks(d, m, rng=public)
    else:
        omega = public.standard_normal((m, d)).T / np.sqrt(d)
    if (kind, m) not in clean:
        clean[kind, m] = sketch(X, SketchMap("quadratic", omega))
    released = clean[kind, m]
    if noise != "none":
        plan = plan_release(
            released.map,
            epsilon=epsilon,
            delta=level,
            noise=cast("NoiseKind", noise),
            count="withheld",
        )
        released = plan.apply(released, rng=stream)
    return compressive_pca(released.sum / len(X), omega, k, rng=public).components


def _pca_trial(
    trial: Trial,
    shape: tuple[int, int, int],
    sizes: Sequence[int],
    budget: tuple[float, float],
    methods: Sequence[str],
) -> Array:
    n, d, k = shape
    X = _factor_data(n, d, rng=trial.stream("data"))
    moments = X.T @ X / n
    best = float(np.linalg.eigvalsh(moments)[: d - k].sum())
    risks, clean = np.empty((len(methods), len(sizes))), dict[tuple[str, int], Sketch]()
    for row, method in enumerate(methods):
        kind, noise = _PCA_METHODS[method]
        for column, m in enumerate(sizes):
            if kind == "covariance" and column:
                risks[row, column] = risks[row, 0]
                continue
            W = _subspace(X, kind, noise, k, m, budget, trial, clean)
            risks[row, column] = (np.trace(moments) - np.sum(W * (moments @ W))) / best
    return risks


def pca_comparison(
    *,
    n_samples: int,
    n_features: int,
    n_components: int = 3,
    sizes: Sequence[int],
    epsilon: float,
    delta: float,
    methods: Sequence[str] = tuple(_PCA_METHODS),
    n_trials: int,
    seed: int,
    name: str,
    n_jobs: int | None = 1,
) -> _PCAComparison:
    """Principal components from sketches of many sizes and from noisy covariances."""
    for method in methods:
        check_choice("methods", method, _PCA_METHODS)
    shape = (
        check_integer("n_samples", n_samples),
        check_integer("n_features", n_features),
        check_integer("n_components", n_components),
    )
    work = partial(
        _pca_trial, shape=shape, sizes=list(sizes), budget=(epsilon, delta), methods=list(methods)
    )
    risks = np.array(run_trials(work, n_trials, seed=seed, name=name, n_jobs=n_jobs))
    return _PCAComparison({name: risks[:, i] for i, name in enumerate(methods)}, tuple(sizes))
