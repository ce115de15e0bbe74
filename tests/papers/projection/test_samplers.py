"""Fast exact samplers against the mechanisms as written: same algebra, same law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp

from dplit.papers.projection.samplers import (
    additive_draws,
    bartlett_factor,
    projection_draws,
    projection_errors,
)
from dplit.papers.projection.spectrum import spectrum
from dplit.streams import stream
from dplit_studies.projection.simulation import naive_additive_draws, naive_projection_draws

SIZE = 3000
#: About 40 Kolmogorov-Smirnov comparisons, all together with a false-alarm probability of 4e-5.
ALPHA = 1e-6


def _data(n, d=4):
    rng = stream(0, f"test-samplers-{n}", "data")
    X = rng.uniform(-1, 1, (n, d))
    return X, X @ np.array([4.0, -3.0, 2.0, 5.0]) + 0.3 * rng.standard_normal(n)


def _same_law(problem, first, second):
    """Compare every coordinate and the error of two sets of draws.

    The fits are 10 or more standard deviations from zero somewhere, so that draws scaled by 1.05
    fail; so do draws with one degree of freedom too few at the edges.
    """
    pairs = [*zip(first.T, second.T, strict=True)]
    pairs.append((problem.errors(problem.rotate(first)), problem.errors(problem.rotate(second))))
    assert min(ks_2samp(a, b).pvalue for a, b in pairs) > ALPHA


@pytest.mark.claim("proj-beyond-samplers")
@pytest.mark.parametrize(("lam", "rows"), [(0.0, 12), (2.0, 12), (2.0, 4)])
def test_projected_fits_have_the_law_of_the_mechanism(lam, rows):
    X, y = _data(30)
    problem = spectrum(X, y)
    rng = stream(0, f"test-projection-{rows}-{lam}", "noise")
    options = {"penalty": lam, "n_components": rows, "size": SIZE, "rng": rng}
    naive = naive_projection_draws(X, y, **options)
    _same_law(problem, naive, projection_draws(problem, **options))
    errors = problem.errors(problem.rotate(naive))
    assert ks_2samp(errors, projection_errors(problem, **options)).pvalue > ALPHA


@pytest.mark.claim("proj-beyond-samplers")
def test_draws_with_one_degree_of_freedom_too_few_are_caught():
    """The planted control of the tests above."""
    X, y = _data(30)
    problem = spectrum(X, y)
    rng = stream(0, "test-planted", "noise")
    naive = naive_projection_draws(X, y, penalty=0.0, n_components=6, size=SIZE, rng=rng)
    wrong = projection_draws(problem, penalty=0.0, n_components=5, size=SIZE, rng=rng)
    with pytest.raises(AssertionError):
        _same_law(problem, naive, wrong)
    with pytest.raises(AssertionError):
        _same_law(problem, naive, 1.05 * naive)


@pytest.mark.claim("proj-beyond-samplers")
@pytest.mark.parametrize("n", [30, 8, 6, 5])
def test_noisy_fits_have_the_law_of_the_mechanism(n):
    """n = 8: fewer outer rows than columns; n = 5: none at all (n - d - 1 = 0)."""
    X, y = _data(n)
    problem = spectrum(X, y)
    rng = stream(0, f"test-additive-{n}", "noise")
    naive = naive_additive_draws(X, y, sigma=0.15, size=SIZE, rng=rng)
    fast = additive_draws(problem, sigma=0.15, n_samples=n, size=SIZE, rng=rng)
    _same_law(problem, naive, fast)


@pytest.mark.claim("proj-beyond-samplers")
@pytest.mark.parametrize(("rows", "columns"), [(6, 4), (4, 4), (2, 4), (0, 3)])
def test_bartlett_factor_has_the_degrees_of_freedom_of_its_rows(rows, columns):
    """3000 factors, 4.5 standard errors per entry; an off-by-one is 8 or more of them away."""
    rng = stream(0, f"test-bartlett-{rows}", "noise")
    factors = np.array([bartlett_factor(rows, columns, rng=rng) for _ in range(SIZE)])
    assert factors.shape == (SIZE, min(rows, columns), columns)
    for i in range(min(rows, columns)):
        dof = rows - i
        mean = np.mean(factors[:, i, i] ** 2)
        assert abs(mean - dof) < 4.5 * math.sqrt(2 * dof / SIZE) < 0.6
        assert (factors[:, i, i] > 0).all()
        assert (factors[:, i, :i] == 0).all()
        upper = factors[:, i, i + 1 :]
        if upper.size:
            assert abs(np.mean(upper**2) - 1) < 4.5 * math.sqrt(2 / upper.size)
            assert abs(np.mean(upper)) < 4.5 / math.sqrt(upper.size)


def test_draws_follow_their_generator_only():
    problem = spectrum(*_data(30))
    for draw in (
        lambda rng: projection_draws(problem, penalty=1.0, n_components=9, size=3, rng=rng),
        lambda rng: additive_draws(problem, sigma=1.0, n_samples=30, size=2, rng=rng),
    ):
        first, again = (draw(stream(5, "test-seed", "noise")) for _ in range(2))
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, draw(stream(6, "test-seed", "noise")))


def test_a_response_in_the_column_space_gives_the_exact_fit_without_noise():
    X, _ = _data(30)
    problem = spectrum(X, X @ np.ones(4))
    fits = projection_draws(
        problem, penalty=0.0, n_components=9, size=5, rng=stream(0, "test-exact", "noise")
    )
    np.testing.assert_allclose(fits, np.ones((5, 4)), rtol=1e-10)
