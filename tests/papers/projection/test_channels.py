"""Scale and pair channels: against closed forms, direct likelihood ratios and other quadratures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, norm

from dplit.papers.projection.channels import (
    _pair_information,
    _pair_total_variation,
    _PairFactors,
    scale_information,
    scale_total_variation,
)
from dplit.streams import stream


def _factors(first, second):
    """Eigenvalues of second^-1 first, computed plainly."""
    values = np.sort(np.linalg.eigvals(np.linalg.solve(second, first)).real)
    ratio = np.linalg.det(first) / np.linalg.det(second)
    return _PairFactors(*(np.array(v) for v in (ratio, values[1] - 1, values[0] - 1)))


def _quad_scale(a, b):
    """Information of one N(0, a) or N(0, b) sample by adaptive quadrature over the sample."""

    def part(v):
        def integrand(z):
            own = norm.logpdf(z, scale=math.sqrt(v))
            mix = np.logaddexp(
                norm.logpdf(z, scale=math.sqrt(a)), norm.logpdf(z, scale=math.sqrt(b))
            )
            return math.exp(own) * (own - mix + math.log(2)) / math.log(2)

        return (
            2 * quad(integrand, 0, 40 * math.sqrt(v), limit=400, points=[math.sqrt(min(a, b))])[0]
        )

    return (part(a) + part(b)) / 2


@pytest.mark.claim("proj-lemma2")
@pytest.mark.parametrize(("a", "b"), [(1.0, 0.01), (1.0, 0.5), (2.0, 3.0)])
def test_scale_information_is_the_integral_over_one_sample(a, b):
    bits = scale_information([a, b], n_samples=1)
    assert bits.value == pytest.approx(_quad_scale(a, b), abs=1e-8)
    assert bits.error < 1e-10


def test_prior_of_mass_one_carries_nothing_and_zero_mass_is_dropped():
    assert scale_information([1.0, 5.0], n_samples=3, prior=[1.0, 0.0]).value == 0.0
    full = scale_information([1.0, 5.0, 9.0], n_samples=3, prior=[0.5, 0.5, 0.0])
    assert full.value == pytest.approx(scale_information([1.0, 5.0], n_samples=3).value)


def test_cauchy_law_is_a_simulated_ratio():
    """Naive mutual information of sqrt(v) C from 4e5 draws of a ratio of normals, se 8e-4.

    False alarm 1e-4 at 4 standard errors. Kills the law of C squared, or a shift by 2 log x.
    """
    rng = stream(0, "channels-cauchy", "data")
    ratio = np.abs(rng.standard_normal(400_000) / rng.standard_normal(400_000))
    sizes = np.array([1.0, 0.1])

    def density(z, s):
        return 2 / np.pi / s / (1 + (z / s) ** 2)

    parts = np.concatenate(
        [
            np.log2(2 * density(ratio * s, s) / sum(density(ratio * s, t) for t in sizes))
            for s in sizes
        ]
    )
    value = scale_information(sizes**2, n_samples=1, law="cauchy").value
    assert abs(parts.mean() - value) < 4 * parts.std() / math.sqrt(len(parts))


@pytest.mark.claim("proj-cor1")
@pytest.mark.parametrize("n", [1, 7, 300])
def test_scale_total_variation_is_the_integral_of_the_densities(n):
    a, b = 1.0, 1.7

    def gap(t):
        return abs(chi2.pdf(t / a, n) / a - chi2.pdf(t / b, n) / b) / 2

    top = 2 * b * (n + 12 * math.sqrt(2 * n) + 40)
    direct = quad(gap, 0, top, limit=800, points=[n * a, n * b])[0]
    assert scale_total_variation(a, b, n_samples=n) == pytest.approx(direct, abs=1e-5)
    assert scale_total_variation(b, a, n_samples=n) == scale_total_variation(a, b, n_samples=n)
    assert scale_total_variation(a, a, n_samples=n) == 0.0


def test_pair_is_symmetric_and_takes_arrays():
    first, second = np.array([[1.5, 0.4], [0.4, 1.2]]), np.array([[1.1, -0.3], [-0.3, 2.0]])
    one, other = _factors(first, second), _factors(second, first)
    both = _PairFactors(*(np.array([a, b]) for a, b in zip(one, other, strict=True)))
    value, _ = _pair_information(both, n_samples=9)
    assert value[0] == pytest.approx(value[1], abs=1e-10)
    distance = _pair_total_variation(both, n_samples=9)
    assert distance[0] == pytest.approx(distance[1], abs=1e-9)
    same = _PairFactors(np.ones(2), np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(_pair_information(same, n_samples=4)[0], 0.0, atol=1e-12)
    np.testing.assert_array_equal(_pair_total_variation(same, n_samples=4), 0.0)


def test_bad_sizes_of_pairs_are_named():
    same = _PairFactors(np.ones(1), np.zeros(1), np.zeros(1))
    for function in (_pair_information, _pair_total_variation):
        with pytest.raises(ValueError, match="n_samples must be at least 1"):
            function(same, n_samples=0)
        with pytest.raises(TypeError, match="nodes must be an integer"):
            function(same, n_samples=2, nodes=9.5)
