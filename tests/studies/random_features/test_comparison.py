"""Figures 1 to 6 and Table 1 against a naive run that keeps every coefficient vector."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from dplit.notebook.claims import load_targets, share_within
from dplit.papers.random_features.counterexamples import _f1
from dplit.streams import stream
from dplit_studies.random_features.comparison import (
    _Curves,
    feature_curves,
    real_curves,
    record_curves,
    sentences,
)
from dplit_studies.random_features.preparation import _Prepared, _split
from dplit_studies.random_features.published_settings import _Setting, _setting
from dplit_studies.random_features.published_tables import reproduction_rows, table1_rows
from dplit_studies.random_features.synthetic import _draw_data, _f2

SMALL = replace(
    _setting("fig1"), components=(60, 90), records=(20,), test_records=15, frequency_sd=1.5
)


def naive_kaczmarz(F: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    c = np.zeros(F.shape[1])
    for i in rows:
        c = c + (y[i] - F[i] @ c) / (F[i] @ F[i]) * F[i]
    return c


def naive_sgd(F: np.ndarray, y: np.ndarray, rows: np.ndarray, step: float) -> np.ndarray:
    c = np.zeros(F.shape[1])
    for i in rows:
        c = c - step * (F[i] @ c - y[i]) * F[i]
    return c


def mean_square(F: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    return float(np.mean((y - F @ c) ** 2))


def sgd_variance(m: int, epsilon: float, delta: float, eta: float) -> float:
    """The published formula with T = m steps, written out a second time."""
    a = 3 * math.log(2 * m / delta)
    c = max(math.sqrt(a), a)
    sensitivity = 4 * math.e * eta**2 * (1 + math.sqrt(eta * m)) ** 2 * (1 + c) * (2 + c)
    return 2 * math.log(2.5 / delta) * (sensitivity / epsilon) ** 2


def naive(
    X: tuple[np.ndarray, np.ndarray],
    y: tuple[np.ndarray, np.ndarray],
    s: _Setting,
    name: str,
    trial: int,
    methods: tuple[str, ...],
    components: tuple[int, ...],
) -> list[dict[str, Any]]:
    """Every error with explicit features, coefficients and noise, from the same streams."""
    m, q = len(y[0]), len(s.epsilons)
    widths = {"ours": q, "gamma": q, "sgd": q * len(s.learning_rates)}
    per_block = sum(widths[k] for k in methods)
    public, noise = stream(3, name, "public", trial), stream(3, name, "noise", trial)
    radius = stream(3, f"{name}-radius", "noise", trial)
    rows_rng = stream(3, f"{name}-rows", "public", trial)
    omegas, phases, normals, results = [], [], [], []
    done = 0
    for k, n in enumerate(components):
        omegas.append(s.frequency_sd * public.standard_normal((X[0].shape[1], n - done)))
        phases.append(public.uniform(0, 2 * np.pi, n - done))
        normals.append(noise.standard_normal((n - done, per_block * len(components))))
        done = n
        train, test = (
            math.sqrt(2 / n) * np.cos(P @ np.hstack(omegas) + np.concatenate(phases)) for P in X
        )
        Z = np.vstack(normals)[:, k * per_block : (k + 1) * per_block]
        rows, sgd_rows = rows_rng.integers(m, size=(2, m))
        c, best = naive_kaczmarz(train, y[0], rows), np.linalg.pinv(train) @ y[0]
        error = partial(mean_square, test, y[1])
        out: dict[str, Any] = {
            "nonprivate": error(c),
            "min_norm": error(best),
            "zero": np.mean(y[1] ** 2),
            "constant": np.mean((y[1] - y[0].mean()) ** 2),
        }
        norms = np.mean(np.sum(test**2, axis=1))
        sigma = [
            s.sensitivity / math.sqrt(n) * math.sqrt(2 * math.log(1.25e5)) / e for e in s.epsilons
        ]
        out["ours"] = [error(c + x * Z[:, i]) for i, x in enumerate(sigma)]
        out["ours_expected"] = [out["nonprivate"] + x**2 * norms for x in sigma]
        out["min_norm_private"] = [error(best + x * Z[:, i]) for i, x in enumerate(sigma)]
        out["min_norm_private_expected"] = [out["min_norm"] + x**2 * norms for x in sigma]
        out["corrected_expected"] = [
            out["nonprivate"] + 32 * math.log(1.25e5) / e**2 * norms for e in s.epsilons
        ]
        if "gamma" in methods:
            radii = s.sensitivity / math.sqrt(n) / np.array(s.epsilons) * radius.gamma(n, size=q)
            out["gamma"] = [
                error(c + r * g / np.linalg.norm(g))
                for r, g in zip(radii, Z[:, q : 2 * q].T, strict=True)
            ]
            out["gamma_expected"] = [
                out["nonprivate"] + (n + 1) * s.sensitivity**2 / n / e**2 * norms
                for e in s.epsilons
            ]
            out["gamma_corrected_expected"] = [
                out["nonprivate"] + 16 * (n + 1) / e**2 * norms for e in s.epsilons
            ]
        if "sgd" in methods:
            plain = [naive_sgd(train, y[0], sgd_rows, r / m) for r in s.learning_rates]
            out["sgd_nonprivate"] = [error(b) for b in plain]
            grid = [(j, r, e) for j, r in enumerate(s.learning_rates) for e in s.epsilons]
            variances = [sgd_variance(m, e, s.delta, r / m) for _, r, e in grid]
            directions = Z[:, -len(grid) :].T
            out["sgd"] = [
                error(plain[j] + math.sqrt(v) * g)
                for (j, _, _), v, g in zip(grid, variances, directions, strict=True)
            ]
            out["sgd_expected"] = [
                out["sgd_nonprivate"][j] + v * norms
                for (j, _, _), v in zip(grid, variances, strict=True)
            ]
        results.append(out)
    return results


def assert_curves(
    curves: _Curves, trials: list[list[dict[str, Any]]], s: _Setting, *, axis: tuple[int, ...]
) -> None:
    """Errors of all repetitions, and the setting that they are told for."""
    assert (curves.components, curves.epsilons) == (s.components, s.epsilons)
    assert curves.learning_rates == s.learning_rates
    assert tuple(curves.axis) == axis
    for method, values in curves.values.items():
        expected = np.array([[point[method] for point in trial] for trial in trials])
        np.testing.assert_allclose(values, expected, rtol=1e-8, err_msg=method)


@pytest.mark.claim("dprf-fig1", "dprf-fig2")
@pytest.mark.parametrize("figure", ["fig1", "fig2"])
def test_feature_curves_equal_the_naive_run(figure: str) -> None:
    """Nested frequencies, Gram steps and Cholesky against N-vectors, cosines and pinv."""
    s = replace(SMALL, data=_setting(figure).data, dimension=3)
    curves = feature_curves(figure, seed=3, n_repeats=2, base=s)
    name = f"dprf-{figure}"
    X, y = _draw_data(35, 3, s.data, rng=stream(3, name, "data"))
    methods = ("ours", "gamma", "sgd")
    trials = [
        naive((X[:20], X[20:]), (y[:20], y[20:]), s, name, t, methods, s.components)
        for t in range(2)
    ]
    assert_curves(curves, trials, s, axis=(60, 90))
    assert (s.epsilons, s.learning_rates) == ((0.5, 1.0), (1.0,))


@pytest.mark.claim("dprf-fig3")
@pytest.mark.parametrize("figure", ["fig3a", "fig3b"])
def test_record_curves_equal_the_naive_run(figure: str) -> None:
    data = "f1" if figure == "fig3a" else "f2"
    s = replace(SMALL, data=data, records=(210,), epsilons=(1.0,), dimension=3, test_records=9)
    both = record_curves(figure, seed=3, n_repeats=2, base=s)
    name = f"dprf-{figure}-210"
    trials = []
    for t in range(2):
        X, y = _draw_data(219, 3, data, rng=stream(3, name, "data", t))
        trials.append(
            naive(
                (X[:210], X[210:]),
                (y[:210], y[210:]),
                s,
                name,
                t,
                ("ours", "gamma", "sgd"),
                (410, 420),
            )
        )
    for k, (version, size) in enumerate((("text", 410), ("code", 420))):
        at = replace(s, components=(size,))
        assert_curves(both[version], [[trial[k]] for trial in trials], at, axis=(210,))
        assert "min_norm" not in both[version].values


@pytest.fixture
def duplicated() -> _Prepared:
    """Forty records of which two share their inputs and carry different labels."""
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 3)), rng.random(40)
    X[1] = X[0]
    return _Prepared(X, y, ("a", "b", "c"))


@pytest.mark.claim("dprf-fig4", "dprf-tab1", "dprf-fig5", "dprf-fig6")
@pytest.mark.parametrize("figure", ["fig4-medical", "fig4-wine", "fig5", "fig6"])
def test_real_curves_equal_the_naive_run(figure: str, duplicated: _Prepared) -> None:
    """Repeated inputs included: the mean label on distinct rows is what pinv fits."""
    s = replace(_setting(figure), components=(120, 150), frequency_sd=8.0)
    curves = real_curves(figure, duplicated, seed=3, n_repeats=2, base=s)
    name, methods = f"dprf-{figure}", ("ours",) if figure.startswith("fig4") else ("ours", "sgd")
    trials = []
    for t in range(2):
        train, test = _split(4, groups=np.zeros(40), rng=stream(3, name, "data", t))
        X, y = duplicated.X, duplicated.y
        trials.append(
            naive((X[train], X[test]), (y[train], y[test]), s, name, t, methods, s.components)
        )
    assert_curves(curves, trials, s, axis=(120, 150))
    assert ("min_norm" in curves.values) == figure.startswith("fig4")


@pytest.mark.claim("dprf-fig1")
def test_simulated_errors_scatter_around_their_closed_forms() -> None:
    """40 repetitions, 12 comparisons within 5.5 standard errors (t law with 39 degrees: false
    alarm 4e-5); kills a factor 2 in either."""
    s = replace(SMALL, dimension=5, frequency_sd=40.0, components=(60, 120))
    curves = feature_curves("fig1", seed=0, n_repeats=40, base=s)
    for method in ("ours", "gamma", "sgd"):
        gap = curves.values[method] - curves.values[f"{method}_expected"]
        se = gap.std(axis=0, ddof=1) / math.sqrt(40)
        assert np.all(np.abs(gap.mean(axis=0)) <= 5.5 * se), method
        assert np.all(se < 0.25 * curves.mean(f"{method}_expected")), method


@pytest.mark.claim("dprf-fig1", "dprf-fig2")
def test_sentences_of_the_paper_at_reduced_sizes() -> None:
    """Ours improves with N and beats Gamma; with one Delta for both it still beats Gamma."""
    s = replace(SMALL, dimension=5, frequency_sd=40.0, components=(150, 600), records=(100,))
    truth = sentences(feature_curves("fig1", seed=0, n_repeats=3, base=s))
    assert truth["decreases with N"]
    assert truth["beats gamma everywhere"]
    assert truth["constant predictor beats the private model"]
    assert truth["constant predictor beats the non-private model"]
    assert truth["zero predictor beats the private model"]
    assert not truth["decreases with N for the Delta of unit rows"]
    assert truth["beats gamma for the Delta of unit rows"]


def test_functions_and_labels() -> None:
    np.testing.assert_allclose(_f1([[3.0, 4.0]]), [math.sqrt(6.0)])
    np.testing.assert_allclose(_f2([[1.0, -2.0]]), [math.exp(-1) + math.exp(-2)])
    _, y = _draw_data(50, 4, "f2", rng=np.random.default_rng(0))
    assert np.linalg.norm(y) == pytest.approx(1.0, rel=1e-14)


@pytest.mark.claim("dprf-fig4")
def test_increment_is_paired_over_repetitions() -> None:
    """What a split does to both errors cancels; kills the sum of both variances."""
    shared = np.array([[0.0], [10.0], [20.0]])
    ours = shared[:, :, None] + np.array([1.0, 2.0, 3.0])[:, None, None] * np.array([1.0, 5.0])
    values = {"ours": ours, "nonprivate": shared}
    mean, se = _Curves(values, np.array([60.0]), "N", (1.0, 0.2), (60,)).increment()
    np.testing.assert_allclose(mean, [[2.0, 10.0]])
    np.testing.assert_allclose(se, [[1 / math.sqrt(3), 5 / math.sqrt(3)]])


@pytest.mark.claim("dprf-tab1")
def test_rows_carry_expectations_and_standard_errors() -> None:
    """The noise part of the paper's error is averaged over 10 runs, the split's part is not."""
    errors = {
        "ours": np.array([[[0.6]], [[0.4]]]),
        "ours_expected": np.array([[[0.5]], [[0.5]]]),
        "nonprivate": np.array([[0.22], [0.18]]),
        "min_norm": np.array([[0.2], [0.2]]),
        "min_norm_private": np.array([[[0.5]], [[0.5]]]),
        "min_norm_private_expected": np.array([[[1.0]], [[1.0]]]),
    }
    curves = _Curves(errors, np.array([2000.0]), "N", (1.0,), (2000,))
    entries = [{"method": "ours", "at": 2000, "epsilon": 1.0, "paper": 0.4, "reading_error": 0.01}]
    free = reproduction_rows(entries, curves, one_split=False)[0]
    assert free["ours"] == pytest.approx(0.5)
    assert free["paper_se"] == pytest.approx(0.1 * math.sqrt(2) / math.sqrt(10))
    single = reproduction_rows(entries, curves, one_split=True)[0]
    # sd of the non-private error is .02 sqrt(2), of the increment .08 sqrt(2)
    expected = math.hypot(0.02 * math.sqrt(2), 0.08 * math.sqrt(2) / math.sqrt(10))
    assert single["paper_se"] == pytest.approx(expected)
    entries[0]["method"] = "increment"
    assert reproduction_rows(entries, curves, one_split=True)[0]["ours"] == pytest.approx(0.3)
    table = [
        {"data": "wine", "method": "pinv", "at": 2000, "paper": 1.0, "reading_error": 0.005},
        {"data": "medical", "method": "kaczmarz", "at": 2000, "paper": 0.5, "reading_error": 0.005},
    ]
    increment = reproduction_rows(entries, curves, one_split=True)[0]
    assert increment["paper_se"] == pytest.approx(0.08 * math.sqrt(2) / math.sqrt(10))
    rows = table1_rows(table, curves, curves)
    assert [r["ours"] for r in rows] == pytest.approx([1.0, 0.5])
    assert [r["paper"] for r in rows] == [1.0, 0.5]
    assert rows[1]["paper_se"] == pytest.approx(expected)
    for row in rows:
        assert (row["reading_error"], row["ours_se"], row["miss"]) == (0.005, 0.0, False)
    assert table1_rows([{**table[0], "miss": True}], curves, curves)[0]["miss"] is True


def test_every_target_can_be_looked_up() -> None:
    """Positions, budgets and learning rates of targets.yml exist in the settings of the code."""
    targets = load_targets("random_features")
    for name in ("fig1", "fig5", "fig6"):
        s = _setting(name)
        for entry in targets[name]["entries"]:
            assert entry["at"] in s.components
            assert entry.get("epsilon", s.epsilons[0]) in s.epsilons
            assert entry.get("rate", 1.0) in s.learning_rates
    assert len(targets["tab1"]["entries"]) == 20
    assert {e["at"] for e in targets["tab1"]["entries"]} == set(_setting("fig4-wine").components)


def test_share_within_counts_rows() -> None:
    rows = [
        {"paper": 1.0, "ours": 1.0 + d, "paper_se": 0.02, "ours_se": 0.0, "reading_error": 0.01}
        for d in (0.05, 0.0899, 0.0901, 0.2)
    ]
    assert share_within(rows) == 0.5
    with pytest.raises(ValueError, match="rows must not be empty"):
        share_within([])
