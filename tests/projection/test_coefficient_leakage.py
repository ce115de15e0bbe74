"""The law of the coefficients and what they reveal alone, against naive releases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest, t

from dplit.projection.attacks import single_column
from dplit.projection.information import scale_information
from dplit.projection.leakage import _coefficient_law, coefficient_leakage
from dplit.projection.projection import fit_projection, release_projection
from dplit.streams import stream


def _data(n=30, d=3):
    rng = stream(0, "coefficients", "data")
    return rng.uniform(-1, 1, (n, d)), rng.standard_normal(n)


@pytest.mark.claim("proj-lemma2")
@pytest.mark.parametrize("variance", [0.0, 2.0])
def test_law_is_that_of_naive_fits(variance):
    """1500 naive fits: a combination is Student t; Kolmogorov-Smirnov at 1e-4.

    Kills a scale that is wrong by 40 % or more; the density is compared with scipy's below.
    """
    X, y = _data()
    rng = stream(0, "coefficients-naive", "noise", int(variance))
    fits = np.array([
        fit_projection(release_projection(X, y, n_components=8, variance=variance, rng=rng))
        for _ in range(1500)
    ])  # fmt: skip
    law = _coefficient_law(X, y, variance=variance, n_components=8)
    direction = np.array([1.0, -0.5, 2.0])
    size = law.scale * np.linalg.norm(np.linalg.solve(law.root.T, direction))
    scaled = (fits - law.mean) @ direction / size * math.sqrt(law.dof)
    assert kstest(scaled, t(law.dof).cdf).pvalue > 1e-4
    assert kstest(1.4 * scaled, t(law.dof).cdf).pvalue < 1e-4
    sampled = (law.sample(1500, rng=rng) - law.mean) @ direction / size * math.sqrt(law.dof)
    assert kstest(sampled, t(law.dof).cdf).pvalue > 1e-4


def test_density_is_that_of_scipy_up_to_a_constant():
    from scipy.stats import multivariate_t

    X, y = _data()
    law = _coefficient_law(X, y, variance=1.0, n_components=9)
    C = law.root.T @ law.root
    peer = multivariate_t(law.mean, law.scale**2 * np.linalg.inv(C) / law.dof, df=law.dof)
    points = law.mean + stream(0, "coefficients-points", "data").standard_normal((5, 3))
    gap = law.log_density(points) - peer.logpdf(points)
    np.testing.assert_allclose(gap, gap[0], rtol=1e-9)


@pytest.mark.claim("proj-lemma2")
@pytest.mark.parametrize("levels", [[1.0, 1e-2], [1.0, 1e-2, 1e-4, 1e-6]])
def test_coefficient_of_three_rows_leaks_as_a_cauchy_scale(levels):
    """1/theta - 1 = x s_1/(s_2 + s_3): the exact integral; 4 standard errors, alarm 1e-4."""
    X, y = single_column(1.0)
    bits = coefficient_leakage(
        X, y, variance=0.0, n_components=1, row=0, column=0, levels=levels,
        rng=stream(0, "coefficients-cauchy", "noise"), n_draws=20_000,
    )  # fmt: skip
    exact = scale_information(np.square(levels), n_samples=1, law="cauchy").value
    assert abs(bits.value - exact) < 4 * bits.error
    assert bits.value > 0.5 + 4 * bits.error


@pytest.mark.claim("proj-lemma2")
def test_coefficient_never_says_more_than_the_release():
    from dplit.projection.leakage import binary_leakage, single_entry

    X, y = _data()
    y[4] = 30.0
    bits = coefficient_leakage(
        X, y, variance=1.0, n_components=6, row=4, column=1, levels=[-1.0, 1.0],
        rng=stream(0, "coefficients-less", "noise"), n_draws=4000,
    )  # fmt: skip
    whole = binary_leakage(single_entry(X, y, variance=1.0, row=4, column=1), n_components=6)[0]
    assert 0.02 < bits.value < whole


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_components": 2}, ValueError, "n_components must be at least 3"),
        ({"y": np.ones(4)}, ValueError, "y must have 30 entries"),
        ({"X": np.ones((30, 3))}, np.linalg.LinAlgError, "full column rank"),
        ({"row": 30}, ValueError, "must exist"),
        ({"n_draws": 1}, ValueError, "n_draws must be at least 2"),
        ({"variance": -1.0}, ValueError, "variance must be nonnegative"),
    ],
)
def test_bad_arguments_are_named(change, error, message):
    X, y = _data()
    given = {"X": X, "y": y, "variance": 0.0, "n_components": 5, "row": 0, "column": 0,
             "levels": [0.2, 0.4], "rng": stream(0, "bad", "noise"), **change}  # fmt: skip
    with pytest.raises(error, match=message):
        coefficient_leakage(given.pop("X"), given.pop("y"), **given)


def test_response_in_the_column_space_is_refused():
    X, _ = _data()
    with pytest.raises(ValueError, match="column space"):
        _coefficient_law(X, X @ [1.0, 2.0, 3.0], variance=0.0, n_components=5)
