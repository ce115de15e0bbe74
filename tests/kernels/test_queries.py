"""A fixed budget of answers: scale, refusal, memory, audit, the old attack, bad input."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import expon, kstest

from dplit.audit import gamma_noise_test, run_controls
from dplit.kernels.gaussian_process import GaussianProcessOracle
from dplit.kernels.queries import BudgetExhaustedError, QueryOracle, query_scale
from dplit.papers.erm.kernels import gaussian_gram, linear_kernel
from dplit.streams import stream


def _kernel(X, Z):
    return gaussian_gram(X, Z, width=0.5)


def _oracle(rng, weights=(0.1, -0.1), kernel=_kernel, **changes):
    options = {"sensitivity": 0.02, "epsilon": 0.5, "n_queries": 4, **changes}
    return QueryOracle(kernel, [[0.2, 0.1], [-0.4, 0.3]], weights, rng=rng, **options)


@pytest.mark.claim("erm-beyond-queries")
def test_scale():
    scale = query_scale(n_queries=6, sensitivity=0.01, epsilon=0.3, kappa=2.0)
    assert scale == pytest.approx(0.4)


@pytest.mark.claim("erm-beyond-queries")
@pytest.mark.parametrize("kernel", [_kernel, linear_kernel])
def test_noise_is_laplace_with_the_scale_of_the_budget(kernel):
    """500 answers per oracle, 8 oracles; each is divided by sqrt(K(x, x)).

    Exact tests of the mean modulus at level 1e-4 with a planted deficit; kills a scale that is 10 %
    off, one that forgets q, and one that forgets the width of the kernel at the point.
    """
    residuals = []
    for trial in range(8):
        rng = stream(0, "query-law", "noise", trial)
        points = stream(0, "query-law", "data", trial).uniform(-3, 3, (500, 2))
        oracle = _oracle(rng, kernel=kernel, n_queries=500)
        exact = kernel(points, [[0.2, 0.1], [-0.4, 0.3]]) @ [0.1, -0.1]
        widths = np.sqrt([kernel(p[None], p[None])[0, 0] for p in points])
        residuals.append((oracle.answer(points) - exact) / widths)
    moduli = np.abs(np.concatenate(residuals))
    scale = query_scale(n_queries=500, sensitivity=0.02, epsilon=0.5)

    def alarm(factor):
        return gamma_noise_test(factor * moduli, scale=scale).violated()

    assert run_controls(alarm, planted=0.9).sound
    assert alarm(1.1)


@pytest.mark.claim("erm-beyond-queries")
def test_questions_asked_one_by_one_have_the_scale_of_the_whole_budget():
    """Each of five single answers is Laplace of scale 5 Delta/epsilon: Kolmogorov-Smirnov, 2,000
    oracles, level 1e-5 each; the losses at the five scales, as measured, add up to epsilon within 5
    standard errors, 5.7e-7.

    Kills noise by what remains of the budget, whose composed loss would be 137/60 epsilon: planted
    here, it is caught from the second question on.
    """
    rng = stream(0, "query-single", "noise")
    rows = []
    for _ in range(2000):
        oracle = _oracle(rng, kernel=linear_kernel, weights=(0.5, 0.0), n_queries=5, epsilon=1.0)
        rows.append([oracle.answer([[x, 0.0]])[0] - 0.1 * x for x in (1.0, 2.0, 3.0, 4.0, 5.0)])
        assert oracle.remaining == 0
    units = np.abs(rows) / (0.02 * np.arange(1.0, 6.0))  # in sensitivities of the value asked
    for place in range(5):
        assert kstest(units[:, place], expon(scale=5.0).cdf).pvalue > 1e-5
        if place:
            planted = units[:, place] * (5 - place) / 5
            assert kstest(planted, expon(scale=5.0).cdf).pvalue < 1e-5
    loss = float(np.sum(1 / units.mean(axis=0)))
    assert abs(loss - 1.0) < 5 / math.sqrt(5 * 2000)


@pytest.mark.claim("erm-beyond-queries")
def test_budget_and_memory():
    oracle = _oracle(stream(0, "query", "noise"))
    first = oracle.answer([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    assert first[0] == first[2]
    assert oracle.remaining == 2
    with pytest.raises(BudgetExhaustedError, match="3 new points were asked, and 2 of n_queries=4"):
        oracle.answer([[2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
    assert oracle.remaining == 2  # nothing was answered
    again = oracle.answer([[-0.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    assert again[0] == first[0]
    assert oracle.remaining == 0
    np.testing.assert_array_equal(oracle.answer([[1.0, 0.0]]), first[1:2])
    with pytest.raises(BudgetExhaustedError):
        oracle.answer([[5.0, 0.0]])


@pytest.mark.claim("erm-beyond-queries", "erm-beyond-gp")
@pytest.mark.parametrize("oracle", [GaussianProcessOracle, QueryOracle])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("point", [0.0, 1e-170, 1e-155, 1e155, 1e200])
def test_points_at_which_no_noise_would_be_left_are_refused(oracle, power, point):
    """At 1e-170 K(x, x) is zero and the answer was the exact coefficient, at 1e200 it was infinite.

    Nothing is asked, spent or drawn then. Kills a noise whose width underflows or overflows.
    """
    budget = {"delta": 1e-5} if oracle is GaussianProcessOracle else {"n_queries": 3}
    rng = stream(0, "query-refused", "noise")
    desk = oracle(
        lambda X, Z: (X @ Z.T) ** power,
        [[1.0]],
        [0.5],
        sensitivity=0.1,
        epsilon=1.0,
        rng=rng,
        **budget,
    )
    before = rng.bit_generator.state
    with pytest.raises(ValueError, match=r"positive, normal and finite K\(x, x\), got"):
        desk.answer([[1.0], [point]])
    assert rng.bit_generator.state == before
    assert getattr(desk, "remaining", 3) == 3
    assert getattr(desk, "asked", 0) == 0


@pytest.mark.claim("erm-beyond-queries", "erm-beyond-gp")
@pytest.mark.parametrize("oracle", [GaussianProcessOracle, QueryOracle])
def test_a_width_is_normal_only_with_its_noise(oracle):
    """K(x, x) is 1e-300 and the sensitivity 1e-200: both are normal, the noise would be zero."""
    budget = {"delta": 1e-5} if oracle is GaussianProcessOracle else {"n_queries": 3}
    desk = oracle(
        linear_kernel,
        [[1.0]],
        [0.5],
        sensitivity=1e-200,
        epsilon=1.0,
        rng=stream(0, "query-refused", "noise"),
        **budget,
    )
    with pytest.raises(ValueError, match="positive, normal and finite noise, got"):
        desk.answer([[1e-150]])


@pytest.mark.claim("erm-beyond-queries")
def test_the_scale_is_never_below_the_exact_one():
    """Kills kappa times the sensitivity, rounded: too small for about half of the pairs."""
    rng = stream(0, "query-rounding", "data")
    for kappa, sensitivity in rng.uniform(0.1, 3.0, (500, 2)):
        scale = query_scale(n_queries=3, sensitivity=sensitivity, epsilon=0.3, kappa=kappa)
        exact = 3 * Fraction(kappa) * Fraction(sensitivity) / Fraction(0.3)
        assert exact <= Fraction(scale) <= exact * (1 + Fraction(1, 2**51))
