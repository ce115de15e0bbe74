"""Figures 7, 8, 9 and Table 2: excess-risk gaps and statistical parity, exact and as published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from dplit._checks import Array, check_integer, check_nonnegative
from dplit.features import cos_sin_features, phased_cosine_features
from dplit.notebook.datasets.papers import Dataset
from dplit.papers.random_features.fairness import error_gaps, ks_distance, ks_null
from dplit.papers.random_features.published_gaps import estimator_floor, published_gap_estimates
from dplit.papers.random_features.scales import _fairness_scale, published_scale
from dplit.streams import stream
from dplit_studies.random_features.comparison import _repeated, _stacked
from dplit_studies.random_features.preparation import (
    _fairness_data,
    _FairnessData,
    _split,
    sensitive_groups,
)
from dplit_studies.random_features.published_settings import _Setting, _setting
from dplit_studies.runs import Runs
from dplit_studies.trials import Trial


@dataclass(frozen=True)
class _GapCurves(Runs):
    """Excess-risk gaps of two models in two groups, every array of shape (repetition, epsilon, 2).
    "rf" and "rls" are the published estimates (random features, regularised linear model),
    ``*_exact`` the exact gaps on the same split, ``*_floor`` the mean estimate of a zero gap.
    """

    feature: str
    group_names: tuple[str, str]
    epsilons: Array


def _cosine(X: Array, n_components: int, sd: float, rng: np.random.Generator) -> Array:
    omega = sd * rng.standard_normal((X.shape[1], n_components))
    return phased_cosine_features(X, omega, rng.uniform(0.0, 2.0 * np.pi, n_components))


def _take(dataset: Dataset, rows: NDArray[np.intp]) -> Dataset:
    categorical = {name: values[rows] for name, values in dataset.categorical.items()}
    return replace(
        dataset, numeric=dataset.numeric[rows], target=dataset.target[rows], categorical=categorical
    )


def _training(
    dataset: Dataset, feature: str, s: _Setting, rng: np.random.Generator
) -> tuple[Array, Array, Array, NDArray[np.intp]]:
    """Return raw and scaled rows, labels and groups of one training set, groups in blocks."""
    groups = sensitive_groups(dataset, feature)[0]
    counts = np.bincount(groups)
    if feature == "colour" and dataset.source == "paper":
        assert s.records is not None
        drawn, _ = _split((int(counts[0]) - 1500, int(counts[1]) - 1500), groups=groups, rng=rng)
        data = _fairness_data(_take(dataset, drawn), feature)
        size = 1500 - s.records[0] // 2
        tests: tuple[int, ...] = (size, size)
    else:
        data = _fairness_data(dataset, feature)
        tests = tuple(math.ceil(0.1 * int(c)) for c in counts)
    train, _ = _split(tests, groups=data.groups, rng=rng)
    return data.raw[train], data.scaled[train], data.y[train], data.groups[train]


def _linear_estimates(
    X: Array,
    y: Array,
    groups: NDArray[np.intp],
    penalty: float,
    sigmas: Array,
    rng: np.random.Generator,
    draws: int = 100,
) -> Array:
    """Published gap estimates of the linear model: ridge residuals are not orthogonal to X."""
    theta = np.linalg.solve(X.T @ X + penalty * np.eye(X.shape[1]), X.T @ y)
    sets = [slice(None), groups == 0, groups == 1]
    estimates = []
    for sigma in sigmas:
        risks = []
        for rows in sets:
            A, residual = X[rows], X[rows] @ theta - y[rows]
            z = sigma * rng.standard_normal((draws, X.shape[1]))
            square = np.einsum("ti,ij,tj->t", z, A.T @ A, z, optimize=True)
            risks.append(float(np.mean(square + 2.0 * z @ (A.T @ residual))) / len(A))
        estimates.append(np.abs(np.array(risks[1:]) - risks[0]))
    return np.array(estimates)


def _exact(norms2: Array, groups: NDArray[np.intp], sigmas: Array) -> Array:
    means = np.array([norms2[groups == g].mean() for g in (0, 1)])
    return np.outer(sigmas**2, np.abs(means - norms2.mean()))


def _noise_scales(n: int, s: _Setting) -> Array:
    """Return the noise of the published code, or that of Algorithm 1 where the setting says so."""
    if s.noise == "classical":
        scales = [
            published_scale(n, epsilon=e, delta=s.delta, sensitivity=s.sensitivity)
            for e in s.epsilons
        ]
    else:
        scales = [_fairness_scale(n, epsilon=e, sensitivity=s.sensitivity) for e in s.epsilons]
    return np.array(scales)


def _gap_trial(trial: Trial, *, dataset: Dataset, feature: str, s: _Setting) -> dict[str, Array]:
    raw, scaled, y, groups = _training(dataset, feature, s, trial.stream("data"))
    n = s.components[0]
    sigmas = _noise_scales(n, s)
    noise = trial.stream("noise")
    F = _cosine(raw, n, s.frequency_sd, trial.stream("public"))
    gram = F @ F.T
    sets = [np.arange(len(y)), *(np.flatnonzero(groups == g) for g in (0, 1))]
    sizes = tuple(map(len, sets))
    spectra = tuple(np.linalg.eigvalsh(gram[np.ix_(rows, rows)]) for rows in sets)
    linear = tuple(np.linalg.eigvalsh(scaled[rows].T @ scaled[rows]) for rows in sets)
    penalty = math.sqrt(n) / (2 * len(y))
    return {
        "rf": np.array(
            [published_gap_estimates(spectra, sizes, sigma=x, rng=noise) for x in sigmas]
        ),
        "rls": _linear_estimates(scaled, y, groups, penalty, sigmas, noise),
        "rf_exact": _exact(np.diag(gram).copy(), groups, sigmas),
        "rls_exact": _exact(np.einsum("ij,ij->i", scaled, scaled), groups, sigmas),
        "rf_floor": np.array([estimator_floor(spectra, sizes, sigma=x) for x in sigmas]),
        "rls_floor": np.array([estimator_floor(linear, sizes, sigma=x) for x in sigmas]),
    }


def gap_curves(
    dataset: Dataset,
    feature: str,
    *,
    seed: int,
    n_repeats: int = 10,
    n_jobs: int = 1,
    base: _Setting | None = None,
) -> _GapCurves:
    """Excess-risk gaps on training sets against epsilon (Figures 7 and 8): published and true. A
    repetition is a split with its features and noise, by default at the code's settings.
    ``setting("fig7", "text")`` has Algorithm 1's noise, "fig8" also 1000 records of each colour.
    """
    s = base or _setting("fig8" if feature == "colour" else "fig7")
    name = f"dprf-{'fig8' if feature == 'colour' else 'fig7'}-{feature}"
    trials = _repeated(
        _gap_trial,
        n_repeats,
        seed=seed,
        name=name,
        n_jobs=n_jobs,
        dataset=dataset,
        feature=feature,
        s=s,
    )
    names = sensitive_groups(dataset, feature)[1]
    return _GapCurves(_stacked(trials), feature, names, np.array(s.epsilons))


def _projection(F: Array, y: Array) -> Array:
    """Fitted values (n,) of the minimum-norm least-squares fit. Squared singular values below 1e-10
    of the largest are dropped; ``pinv`` at its default keeps directions of pure rounding error.
    """
    if F.shape[0] > F.shape[1]:
        moment = F.T @ y
        try:
            fitted = np.asarray(F @ cho_solve(cho_factor(F.T @ F), moment))
        except np.linalg.LinAlgError:
            fitted = np.zeros(len(F))
        if np.linalg.norm(F.T @ fitted - moment) <= 1e-9 * np.linalg.norm(moment):
            return fitted  # the normal equations hold: the factorisation was sound
    values, vectors = np.linalg.eigh(F @ F.T)
    kept = vectors[:, values > 1e-10 * values[-1]]
    return np.asarray(kept @ (kept.T @ y))


@dataclass(frozen=True)
class _ParityScores:
    """KS distances between the groups and accuracy of every model of Table 2. ``*_grid`` is on 500
    points of [0, 1], ``*_code`` has the code's noise, ``noise`` no model, ``null`` is mean and
    standard deviation for outputs of one law, ``samples`` are Figure 9's outputs.
    """

    feature: str
    group_names: tuple[str, str]
    targets: float
    targets_grid: float
    rls: float
    dp_rf: Array
    dp_rf_code: Array
    noise: Array
    dp_rls: Array
    mse: Mapping[str, float]
    null: tuple[float, float]
    samples: Mapping[str, Array]


def _parity_trial(
    trial: Trial, *, data: _FairnessData, rls: Array, s: _Setting
) -> dict[str, Array]:
    n, scaled = s.components[0], data.scaled
    F = _cosine(data.raw, n, s.frequency_sd, trial.stream("public"))
    fitted = _projection(F, data.y)
    noise_rng = trial.stream("noise")
    unit = F @ noise_rng.standard_normal(n)
    text = published_scale(n, epsilon=s.epsilons[0], delta=s.delta, sensitivity=s.sensitivity)
    code = _fairness_scale(n, epsilon=s.epsilons[0], sensitivity=s.sensitivity)
    linear = rls + scaled @ (text * noise_rng.standard_normal(scaled.shape[1]))
    return {
        "rf": fitted,
        "noise": text * unit,
        "dp_rf": fitted + text * unit,
        "dp_rf_code": fitted + code * unit,
        "dp_rls": linear,
    }


def parity_scores(
    dataset: Dataset,
    features: tuple[str, ...],
    *,
    seed: int,
    n_repeats: int = 20,
    n_jobs: int = 1,
    base: _Setting | None = None,
) -> dict[str, _ParityScores]:
    """Parity scores of labels, linear and random feature models (Figure 9, Table 2). The whole data
    set is trained on and scored, as in the paper, at the text's settings; all sensitive features
    share the fits, which do not know the groups.
    """
    key = "tab2-wine" if "colour" in features else "tab2-medical"
    s = base or _setting(key, "text")
    data = _fairness_data(dataset, features[0], labels="norm", scaling="joint", encoding="full")
    penalty = math.sqrt(s.components[0]) / (2 * len(data.y))
    A = data.scaled
    rls = A @ np.linalg.solve(A.T @ A + penalty * np.eye(A.shape[1]), A.T @ data.y)
    outputs = _repeated(
        _parity_trial,
        n_repeats,
        seed=seed,
        name=f"dprf-{key}",
        n_jobs=n_jobs,
        data=data,
        rls=rls,
        s=s,
    )
    return {feature: _score(dataset, feature, data, rls, outputs) for feature in features}


def _score(
    dataset: Dataset,
    feature: str,
    data: _FairnessData,
    rls: Array,
    outputs: Sequence[Mapping[str, Array]],
) -> _ParityScores:
    groups, names = sensitive_groups(dataset, feature)
    first, y = groups == 0, data.y

    def scores(model: str) -> Array:
        return np.array([ks_distance(out[model][first], out[model][~first]) for out in outputs])

    def mse(model: str) -> float:
        return float(np.mean([np.mean((out[model] - y) ** 2) for out in outputs]))

    return _ParityScores(
        feature,
        names,
        targets=ks_distance(y[first], y[~first]),
        targets_grid=ks_distance(y[first], y[~first], grid=np.linspace(0.0, 1.0, 500)),
        rls=ks_distance(rls[first], rls[~first]),
        dp_rf=scores("dp_rf"),
        dp_rf_code=scores("dp_rf_code"),
        noise=scores("noise"),
        dp_rls=scores("dp_rls"),
        mse={
            "zero": float(np.mean(y**2)),
            "constant": float(np.var(y)),
            "rls": float(np.mean((rls - y) ** 2)),
            **{model: mse(model) for model in ("rf", "dp_rf", "noise", "dp_rls")},
        },
        null=ks_null(int(first.sum()), int((~first).sum())),
        samples={
            "groups": groups.astype(float),
            "targets": y,
            "rls": rls,
            "dp_rf": outputs[0]["dp_rf"],
            "dp_rls": outputs[0]["dp_rls"],
        },
    )


def _label_strata(y: Array, n_strata: int) -> NDArray[np.intp]:
    """Return the quantile bin of every label, 0 to n_strata - 1; equal labels share a bin."""
    k = check_integer("n_strata", n_strata)
    edges = np.quantile(y, np.arange(1, k) / k)
    return np.asarray(np.searchsorted(edges, y, side="left"), dtype=np.intp)


@dataclass(frozen=True)
class _ErrorGapCurves:
    """Largest error difference of two groups within a label stratum, against the prediction noise.
    For mean absolute, squared and signed error, labels in [0, 1]; the mean squared error is that at
    zero noise plus noise_sd^2; ``strata`` contain both groups.
    """

    noise_sds: Array
    absolute: Array
    squared: Array
    bias: Array
    mse: Array
    strata: int


def error_gap_curves(
    dataset: Dataset,
    feature: str,
    *,
    seed: int,
    noise_sds: Sequence[float],
    n_strata: int = 4,
    base: _Setting | None = None,
) -> _ErrorGapCurves:
    """Exact equalised error gaps of Table 2's random feature model as its noise grows.

    Groups are compared within label quantiles; cos/sin pairs give rows of norm one.
    """
    key = "tab2-wine" if feature == "colour" else "tab2-medical"
    s = base or _setting(key, "text")
    data = _fairness_data(dataset, feature, labels="joint", scaling="joint", encoding="full")
    rng = stream(seed, "dprf-beyond-error-gaps", "public")
    omega = s.frequency_sd * rng.standard_normal((data.raw.shape[1], s.components[0] // 2))
    residuals = _projection(cos_sin_features(data.raw, omega), data.y) - data.y
    levels = np.array([check_nonnegative("noise_sds", x) for x in noise_sds])
    strata = _label_strata(data.y, n_strata)
    gaps = [error_gaps(residuals, data.groups, noise_sd=x, strata=strata) for x in levels]
    kinds = ("absolute_private", "squared_private", "bias_private")
    absolute, squared, bias = (np.array([getattr(gap, kind) for gap in gaps]) for kind in kinds)
    mse = np.mean(residuals**2) + levels**2
    return _ErrorGapCurves(levels, absolute, squared, bias, mse, gaps[0].strata)
