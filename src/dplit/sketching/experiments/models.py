"""Mixtures and principal components from noisy sketches, beside their direct competitors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.mixture import GaussianMixture

from dplit._checks import (
    Array,
    Neighboring,
    check_choice,
    check_finite_array,
    check_integer,
    check_neighboring,
    check_positive,
    check_probability,
    check_rng,
)
from dplit._estimators import clip_rows
from dplit.features import orthonormal_blocks
from dplit.mechanisms import gaussian_noise, gaussian_sigma, laplace_noise
from dplit.sketching.data import MixtureLaw
from dplit.sketching.decoders.kmeans import lloyd
from dplit.sketching.decoders.mixtures import decode_mixture, gmm_risk
from dplit.sketching.decoders.pca import compressive_pca
from dplit.sketching.estimators import noise_sensitivity
from dplit.sketching.release import NoiseKind, plan_release
from dplit.sketching.sketches import SketchMap, sketch
from dplit.trials import Trial, run_trials

__all__ = [
    "PCA_METHODS",
    "MixtureComparison",
    "NoisyMoments",
    "PCAComparison",
    "covariance_scale",
    "factor_data",
    "leading_components",
    "mixture_comparison",
    "moment_noise",
    "noisy_covariance",
    "pca_comparison",
]


# Noisy second moments: the direct private release with which sketches for PCA are compared.


Noise = Literal["gaussian", "laplace"]


@dataclass(frozen=True)
class NoisyMoments:
    """A private sum of second moments.

    Attributes
    ----------
    moments : ndarray of shape (d, d)
        Noisy ``sum_i x_i x_i^T``, symmetric, not projected on the positive cone.
    scale : float
        Standard deviation of the noise on the diagonal (Gaussian) or Laplace scale of every entry.
    epsilon, delta : float
        Guarantee.
    neighboring : str
        Its neighbouring relation.
    """

    moments: Array
    scale: float
    epsilon: float
    delta: float
    neighboring: str


def covariance_scale(
    n_features: int,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: Noise = "gaussian",
    neighboring: Neighboring = "add_remove",
) -> float:
    r"""Scale of the symmetric noise that makes second moments of the unit ball private.

    Parameters
    ----------
    n_features : int
        Dimension d.
    epsilon : float
        In (0, inf).
    delta : float, default=0.0
        In (0, 1) for Gaussian noise; 0 for Laplace noise.
    noise : {"gaussian", "laplace"}, default="gaussian"
        Law of the noise.
    neighboring : {"add_remove", "replace_one"}, default="add_remove"
        Neighbouring relation.

    Returns
    -------
    float
        Gaussian: standard deviation on the diagonal, :math:`1/\sqrt2` of it off the diagonal.
        Laplace: scale of every entry on and above the diagonal.

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range, or ``delta`` is not 0 with Laplace noise.

    Notes
    -----
    For :math:`\|x\|\le1` one record moves the sum by :math:`\|xx^\top\|_F=\|x\|^2\le1`, replacing
    one by :math:`\|xx^\top-yy^\top\|_F\le\sqrt2` (orthonormal x and y). The Gaussian noise is
    isotropic for the Frobenius norm of symmetric matrices. On and above the diagonal
    :math:`\sum_{i\le j}|x_ix_j|=(\|x\|_1^2+\|x\|_2^2)/2\le(d+1)/2`, attained by
    :math:`x=d^{-1/2}(\pm1,\dots,\pm1)`; twice that bounds a replacement.

    References
    ----------
    Dwork, Talwar, Thakurta, Zhang, Analyze Gauss: optimal bounds for privacy-preserving principal
    component analysis, STOC 2014, Algorithm 1 (with the same noise on every entry).

    Examples
    --------
    >>> from dplit.sketching.experiments.models import covariance_scale
    >>> covariance_scale(5, epsilon=0.5, noise="laplace")
    6.0
    """
    d = check_integer("n_features", n_features)
    epsilon = check_positive("epsilon", epsilon)
    check_choice("noise", noise, get_args(Noise))
    check_neighboring(neighboring)
    replaced = neighboring == "replace_one"
    if noise == "laplace":
        if delta != 0:
            raise ValueError(f"delta must be 0 with Laplace noise, got delta={delta!r}")
        return (d + 1) / 2 * (2 if replaced else 1) / epsilon
    # one coordinate has no orthogonal pair: |x^2 - y^2| <= 1
    sensitivity = math.sqrt(2.0) if replaced and d > 1 else 1.0
    delta = check_probability("delta", delta)
    return gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)


def noisy_covariance(
    X: ArrayLike,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: Noise = "gaussian",
    neighboring: Neighboring = "add_remove",
    rng: np.random.Generator,
) -> NoisyMoments:
    """Private sum of second moments of records in the unit ball.

    Parameters
    ----------
    X : array_like of shape (n_samples, d)
        Finite records; rows longer than 1 are scaled back to the unit ball.
    epsilon, delta, noise, neighboring
        As in :func:`covariance_scale`.
    rng : numpy.random.Generator
        Source of the noise: research noise in floating point, not a release.

    Returns
    -------
    NoisyMoments
        The noisy sum, (epsilon, delta)-private. Its eigenvectors are private with it.

    Raises
    ------
    TypeError, ValueError
        If ``X`` is not a finite real matrix or an argument is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.experiments.models import noisy_covariance
    >>> X = np.repeat([[1.0, 0.0], [0.0, 0.8]], 4000, axis=0)
    >>> release = noisy_covariance(X, epsilon=1.0, delta=1e-6, rng=np.random.default_rng(0))
    >>> (release.moments / 4000).round(1) + 0.0
    array([[1. , 0. ],
           [0. , 0.6]])
    """
    records = check_finite_array("X", X, ndim=2)
    if records.dtype.kind == "c":
        raise TypeError(f"X must be real, got X of dtype {records.dtype}")
    d = records.shape[1]
    scale = covariance_scale(d, epsilon=epsilon, delta=delta, noise=noise, neighboring=neighboring)
    check_rng(rng)
    rows = clip_rows(records.astype(np.float64), 1.0)
    if noise == "gaussian":
        draws = gaussian_noise((d, d), sigma=scale, rng=rng)
        added = (draws + draws.T) / 2.0
    else:
        draws = np.triu(laplace_noise((d, d), scale=scale, rng=rng))
        added = draws + np.triu(draws, 1).T
    return NoisyMoments(rows.T @ rows + added, scale, float(epsilon), float(delta), neighboring)


def leading_components(moments: ArrayLike, n_components: int) -> Array:
    """Orthonormal eigenvectors of the largest eigenvalues of a symmetric matrix.

    Parameters
    ----------
    moments : array_like of shape (d, d)
        Symmetric.
    n_components : int
        Number k, at most d.

    Returns
    -------
    ndarray of shape (d, k)
        Columns in order of falling eigenvalues.

    Raises
    ------
    TypeError, ValueError
        If the matrix is not square and finite or k is out of range.

    Examples
    --------
    >>> from dplit.sketching.experiments.models import leading_components
    >>> abs(leading_components([[1.0, 0.0], [0.0, 2.0]], 1)).ravel()
    array([0., 1.])
    """
    matrix = check_finite_array("moments", moments, ndim=2)
    k = check_integer("n_components", n_components)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"moments must be square, got moments of shape {matrix.shape}")
    if k > len(matrix):
        raise ValueError(f"n_components must be at most {len(matrix)}, got n_components={k}")
    vectors = np.linalg.eigh(matrix)[1]
    return np.asarray(vectors[:, ::-1][:, :k], dtype=np.float64)


#: Name -> (frequencies or "covariance", noise or "none").
PCA_METHODS: dict[str, tuple[str, str]] = {
    "gaussian-exact": ("gaussian", "none"),
    "orthonormal-exact": ("orthonormal", "none"),
    "gaussian-laplace": ("gaussian", "laplace"),
    "orthonormal-laplace": ("orthonormal", "laplace"),
    "covariance-laplace": ("covariance", "laplace"),
    "gaussian-gaussian": ("gaussian", "gaussian"),
    "orthonormal-gaussian": ("orthonormal", "gaussian"),
    "covariance-gaussian": ("covariance", "gaussian"),
}


@dataclass(frozen=True)
class MixtureComparison:
    """Mean log-likelihoods on the training records, less that of EM, which is not private.

    Attributes
    ----------
    epsilons : tuple of float
        Budgets.
    gains : dict of str to ndarray of shape (trials, budgets)
        Noise -> log-likelihood minus EM's, per record (negative: worse).
    exact, truth : ndarray of shape (trials,)
        The same for the sketch without noise, and for the law that the data were drawn from.
    em : ndarray of shape (trials,)
        EM's own log-likelihoods, from the best of five Lloyd runs on 5,000 records.
    """

    epsilons: tuple[float, ...]
    gains: dict[str, Array]
    exact: Array
    truth: Array
    em: Array


def _mixture_trial(
    trial: Trial,
    law: MixtureLaw,
    n_samples: int,
    n_components: int,
    budgets: Sequence[tuple[str, float, float]],
) -> tuple[float, float, float, Array]:
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
            fourier, epsilon=epsilon, delta=delta, noise=cast("NoiseKind", law_name),
            count="withheld",
        )  # fmt: skip
        found.append(loss(plan.apply(exact, rng=noise).sum))
    truth = -gmm_risk(X, np.full(k, 1.0 / k), centres, np.ones((k, d))) - em
    return em, truth, loss(exact.sum), np.array(found)


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
) -> MixtureComparison:
    """Gaussian mixtures from private sketches against EM on the records.

    Parameters
    ----------
    law : MixtureLaw
        Law of the data: equal weights and unit covariances, none of which the decoder is told.
    n_samples : int
        Records per data set.
    n_components : int
        Size m of the sketches.
    epsilons : sequence of float
        Budgets, when one record is added or removed.
    deltas : dict
        Noise -> delta: 0 for "laplace" and "polydisc", in (0, 1) for "gaussian".
    n_trials : int
        Data sets.
    seed, name, n_jobs
        As in :func:`dplit.trials.run_trials`.

    Returns
    -------
    MixtureComparison
        Log-likelihoods per record, less EM's.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.sketching.data import MixtureLaw
    >>> from dplit.sketching.experiments.models import mixture_comparison
    >>> law = MixtureLaw(2, 2, separation=4.0, frequency_variance=0.5)
    >>> run = mixture_comparison(law, n_samples=4000, n_components=60, epsilons=[10.0],
    ...                          deltas={"polydisc": 0.0}, n_trials=1, seed=0, name="example")
    >>> bool(run.gains["polydisc"][0, 0] > -0.1)
    True
    """
    check_integer("n_samples", n_samples)
    budgets = [(law_name, e, deltas[law_name]) for law_name in deltas for e in epsilons]
    work = partial(
        _mixture_trial, law=law, n_samples=n_samples, n_components=n_components, budgets=budgets
    )
    results = run_trials(work, n_trials, seed=seed, name=name, n_jobs=n_jobs)
    em, truth, exact = (np.array([row[i] for row in results]) for i in range(3))
    gains = np.array([row[3] for row in results]).reshape(n_trials, len(deltas), len(epsilons))
    by_noise = {law_name: gains[:, index] for index, law_name in enumerate(deltas)}
    return MixtureComparison(tuple(epsilons), by_noise, exact, truth, em)


@dataclass(frozen=True)
class PCAComparison:
    """Risks of k components over the least possible, for every method and size.

    Attributes
    ----------
    sizes : tuple of int
        Sizes m of the sketches.
    risks : dict of str to ndarray of shape (trials, sizes)
        Method of :data:`PCA_METHODS` -> risk over the optimum, at least 1.
    """

    sizes: tuple[int, ...]
    risks: dict[str, Array]

    def median(self, method: str) -> Array:
        """Median over trials, one number per size."""
        return np.asarray(np.median(self.risks[method], axis=0))


def factor_data(
    n_samples: int, n_features: int, *, tail: float = 0.1, rng: np.random.Generator
) -> Array:
    """Records of three strong directions and a weak rest, in the unit ball.

    Parameters
    ----------
    n_samples, n_features : int
        Numbers of records and of coordinates, the latter more than 3.
    tail : float, default=0.1
        Standard deviation of the weak directions, beside 1, 0.8 and 0.6.
    rng : numpy.random.Generator
        Source of the directions and of the records.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Divided by 4 and clipped to the unit ball: a public scale.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.experiments.models import factor_data
    >>> X = factor_data(100, 6, rng=np.random.default_rng(0))
    >>> X.shape, bool(np.linalg.norm(X, axis=1).max() <= 1 + 1e-12)
    ((100, 6), True)
    """
    n, d = check_integer("n_samples", n_samples), check_integer("n_features", n_features, minimum=4)
    check_positive("tail", tail)
    scales = np.concatenate([[1.0, 0.8, 0.6], np.full(d - 3, tail)])
    basis = orthonormal_blocks(d, d, rng=rng)
    return clip_rows((rng.standard_normal((n, d)) * scales) @ basis.T / 4.0, 1.0)


def moment_noise(
    frequencies: str, noise: str, *, n_features: int, n_components: int, epsilon: float
) -> float:
    r"""Variance of the noise on the second moments in one direction, for large sketches.

    Parameters
    ----------
    frequencies : {"orthonormal", "gaussian", "covariance"}
        Sketch with such frequencies, or the noisy covariance itself.
    noise : {"laplace"}
        Pure noise; see Notes for Gaussian noise.
    n_features, n_components : int
        Dimension d and size m.
    epsilon : float
        Budget.

    Returns
    -------
    float
        Variance of the error of :math:`\langle E,C\rangle` for a symmetric matrix of Frobenius norm
        1, without trace for a sketch and without diagonal for the covariance.

    Notes
    -----
    A measurement :math:`\omega^\top E\omega` has mean square :math:`2/(d(d+2))` for uniform unit
    vectors and :math:`2/d^2` for Gaussian ones, so least squares over m of them divides the
    variance of their noise by m times that. Orthonormal bases: Laplace of scale
    :math:`m/(d\epsilon)`, hence :math:`m(d+2)/(d\epsilon^2)`. Covariance: scale
    :math:`(d+1)/(2\epsilon)`, hence :math:`(d+1)^2/\epsilon^2`. So the sketch is less noisy while
    :math:`m<d(d+1)^2/(d+2)`. Gaussian noise sees :math:`S_4^2\approx3m/d^2` and gives
    :math:`\frac32\sigma^2` against :math:`\sigma^2` for the covariance, whatever m.

    Examples
    --------
    >>> from dplit.sketching.experiments.models import moment_noise
    >>> moment_noise("covariance", "laplace", n_features=9, n_components=1, epsilon=1.0)
    100.0
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
    X: Array, kind: str, noise: str, k: int, m: int, budget: tuple[float, float], trial: Trial
) -> Array:
    """Return the (d, k) subspace of one method."""
    d, (epsilon, delta) = X.shape[1], budget
    level = delta if noise == "gaussian" else 0.0
    stream = trial.stream("noise")
    if kind == "covariance":
        release = noisy_covariance(X, epsilon=epsilon, delta=level, noise=noise, rng=stream)  # type: ignore[arg-type]
        return leading_components(release.moments, k)
    public = trial.stream("public")
    if kind == "orthonormal":
        omega = orthonormal_blocks(d, m, rng=public)
    else:
        omega = public.standard_normal((m, d)).T / np.sqrt(d)
    released = sketch(X, SketchMap("quadratic", omega))
    if noise != "none":
        size = noise_sensitivity(released.map, noise=cast("NoiseKind", noise))
        plan = plan_release(
            released.map, epsilon=epsilon, delta=level, noise=cast("NoiseKind", noise),
            count="withheld", sensitivity=size,
        )  # fmt: skip
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
    X = factor_data(n, d, rng=trial.stream("data"))
    moments = X.T @ X / n
    best = float(np.linalg.eigvalsh(moments)[: d - k].sum())
    risks = np.empty((len(methods), len(sizes)))
    for row, method in enumerate(methods):
        kind, noise = PCA_METHODS[method]
        for column, m in enumerate(sizes):
            if kind == "covariance" and column:
                risks[row, column] = risks[row, 0]
                continue
            W = _subspace(X, kind, noise, k, m, budget, trial)
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
    methods: Sequence[str] = tuple(PCA_METHODS),
    n_trials: int,
    seed: int,
    name: str,
    n_jobs: int | None = 1,
) -> PCAComparison:
    """Principal components from sketches of many sizes and from noisy covariances.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        Numbers n of records, d of coordinates and k of components.
    sizes : sequence of int
        Sizes m, multiples of d.
    epsilon, delta : float
        Budget, when one record is added or removed; delta is for the methods with Gaussian noise.
    methods : sequence of str
        Keys of :data:`PCA_METHODS`.
    n_trials : int
        Data sets of :func:`factor_data`.
    seed, name, n_jobs
        As in :func:`dplit.trials.run_trials`.

    Returns
    -------
    PCAComparison
        Risks over the optimum.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.sketching.experiments.models import pca_comparison
    >>> run = pca_comparison(n_samples=5000, n_features=6, sizes=[60], epsilon=1.0, delta=1e-6,
    ...                      methods=["orthonormal-exact"], n_trials=2, seed=0, name="example")
    >>> bool((run.risks["orthonormal-exact"] >= 1).all())
    True
    """
    for method in methods:
        check_choice("methods", method, PCA_METHODS)
    shape = (
        check_integer("n_samples", n_samples),
        check_integer("n_features", n_features),
        check_integer("n_components", n_components),
    )
    work = partial(
        _pca_trial, shape=shape, sizes=list(sizes), budget=(epsilon, delta), methods=list(methods)
    )
    risks = np.array(run_trials(work, n_trials, seed=seed, name=name, n_jobs=n_jobs))
    return PCAComparison(tuple(sizes), {name: risks[:, i] for i, name in enumerate(methods)})
