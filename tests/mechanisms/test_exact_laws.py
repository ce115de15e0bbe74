"""The laws of exact noise: that of a rounded real variate, with power to see a bias of 1e-3.

Seeds are fixed; every p-value is asked to be above 1e-5, and no test function asks more than ten.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from dplit.mechanisms import _exact as exact
from dplit.mechanisms._bits import words_of
from dplit.streams import stream
from tests.mechanisms.exact_laws import (
    Tail,
    laplace_tail,
    law_pvalues,
    normal_tail,
    three_dimensional_tail,
    two_dimensional_tail,
)

LEVEL = 1e-5
SCALES = (0.3, 1.0, 30.0, 1e6)


def draw(law: str, count: int, scale: float) -> NDArray[np.int64]:
    rng = stream(0, f"exact-{law}-{scale:g}-{count}", "noise")
    if law == "normal":
        return exact.rounded_normal(count, sigma=scale, rng=rng)
    return exact.rounded_laplace(count, scale=scale, rng=rng)


def planted(draws: NDArray[np.int64], bias: float, scale: float) -> NDArray[np.int64]:
    """Replace a share of the draws by one number of small probability."""
    if scale <= 1:
        where, number = slice(int(bias * draws.size)), 1 if scale < 1 else 2
    else:
        where, number = slice(int(bias * draws.size)), 0
    changed = draws.copy()
    changed[where] = number
    return changed


def check_law(law: str, tail: Tail, count: int, scale: float, bias: float) -> None:
    draws = draw(law, count, scale)
    assert min(law_pvalues(draws, tail, scale)) > LEVEL
    assert min(law_pvalues(planted(draws, bias, scale), tail, scale)) < LEVEL


LAWS = [("normal", normal_tail), ("laplace", laplace_tail)]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("law", "tail"), LAWS)
def test_a_million_draws_have_the_law_of_rounded_noise(law: str, tail: Tail, scale: float) -> None:
    """False alarm 2e-5; sees one number drawn instead of others in 4e-3 of the draws at a scale of
    at most a step (power 0.999: 9 standard errors), in 1e-3 of them at larger scales.
    """
    check_law(law, tail, 10**6, scale, bias=4e-3 if scale <= 1 else 1e-3)


@pytest.mark.weekly
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("law", "tail"), LAWS)
def test_ten_million_draws_have_the_law_of_rounded_noise(
    law: str, tail: Tail, scale: float
) -> None:
    """False alarm 2e-5; sees the same in 1.2e-3 of the draws at small scales, 4e-4 at larger."""
    check_law(law, tail, 10**7, scale, bias=1.2e-3 if scale <= 1 else 4e-4)


@pytest.mark.parametrize(("law", "tail"), LAWS)
def test_a_scale_that_is_off_by_two_percent_is_seen(law: str, tail: Tail) -> None:
    """Kills a table or a scale that is off: the same draws against 0.98 of their scale."""
    for scale in (1.0, 30.0, 1e6):
        assert min(law_pvalues(draw(law, 10**6, scale), tail, 0.98 * scale)) < LEVEL


@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_the_last_bits_are_uniform_at_large_scales(law: str) -> None:
    """False alarm 3e-5.  Kills noise on a coarser grid of floats, as ``scale * float`` has at
    2^40 steps for a uniform float of 32 bits (planted).
    """
    for scale in (1e6, 2.0**36, 2.0**45):
        count = 10**5 if scale > 2.0**40 else 10**6
        low = draw(law, count, scale) & 63
        assert stats.chisquare(np.bincount(low, minlength=64)).pvalue > LEVEL
    rng = stream(0, "exact-coarse", "noise")
    coarse = np.rint(2.0**40 * rng.integers(1, 2**32, 10**5) * 2.0**-32).astype(np.int64) & 63
    assert stats.chisquare(np.bincount(coarse, minlength=64)).pvalue < LEVEL


@pytest.mark.parametrize("scale", [0.4, 3.0])
@pytest.mark.parametrize(
    ("name", "tail"),
    [
        ("gamma_norm 1", laplace_tail),
        ("gamma_norm 2", two_dimensional_tail),
        ("gamma_norm 3", three_dimensional_tail),
        ("polydisc 1", two_dimensional_tail),
        ("cube 1", three_dimensional_tail),
    ],
)
def test_a_coordinate_of_a_vector_has_its_rounded_marginal_law(
    name: str, tail: Tail, scale: float
) -> None:
    """False alarm 2e-5.  Kills d degrees of freedom for d + 1 in the radius, a radius of one
    exponential variate less, a disc that is a square, and rounding of the parts before the product.
    """
    kind, dimension = name.split()
    rng = stream(0, f"exact-{name}-{scale:g}", "noise")
    told = (200_000, int(dimension), Fraction(scale), words_of(rng))
    if kind == "gamma_norm":
        draws = exact._gamma_norm(*told)
    else:
        draws = exact._k_norm(*told, disc=kind == "polydisc")
    last = draws.reshape(len(draws), -1)[:, -1]
    assert min(law_pvalues(last, tail, scale)) > LEVEL
    others = (laplace_tail, two_dimensional_tail, three_dimensional_tail)
    for wrong in others:
        if wrong is not tail:
            assert min(law_pvalues(last, wrong, scale)) < LEVEL


@pytest.mark.parametrize("dimension", [1, 2, 5, 40])
def test_vectors_have_the_norm_and_the_direction_of_their_law(dimension: int) -> None:
    """False alarm 7e-5.  Kills a radius of another shape, coordinates that share their signs or
    are drawn from one block of words, and a polydisc whose angles are not uniform.
    """
    rng = stream(0, f"exact-vectors-{dimension}", "noise")
    scale, n = 2.0**30, 20_000
    z = exact.rounded_gamma_norm(dimension, scale=scale, rng=rng, size=n) / scale
    norm = np.linalg.norm(z, axis=1)
    assert stats.kstest(norm, stats.gamma(dimension).cdf).pvalue > LEVEL
    along = (z.sum(axis=1) / math.sqrt(dimension) / norm + 1) / 2
    half = (dimension - 1) / 2
    if dimension > 1:
        assert stats.kstest(along, stats.beta(half, half).cdf).pvalue > LEVEL
    disc = exact._k_norm(n, dimension, Fraction(scale), words_of(rng), disc=True) / scale
    modulus = np.hypot(disc[..., 0], disc[..., 1])
    assert stats.kstest(modulus.max(axis=1), stats.gamma(2 * dimension).cdf).pvalue > LEVEL
    angle = np.arctan2(disc[:, 0, 1], disc[:, 0, 0])
    assert stats.kstest(angle / (2 * math.pi) + 0.5, stats.uniform.cdf).pvalue > LEVEL
    cube = exact._k_norm(n, dimension, Fraction(scale), words_of(rng), disc=False) / scale
    largest = np.abs(cube).max(axis=(1, 2))
    assert stats.kstest(largest, stats.gamma(2 * dimension).cdf).pvalue > LEVEL
    first = np.abs(cube[:, 0, 0]) / largest  # 1 where this part is the largest, else uniform
    tops = int((first == 1).sum())
    assert stats.binomtest(tops, n, 1 / (2 * dimension)).pvalue > LEVEL
    assert stats.kstest(first[first < 1], "uniform").pvalue > LEVEL


def test_coordinates_of_a_vector_share_one_radius_and_nothing_else() -> None:
    """False alarm 2e-5: squares of two coordinates correlate as 2W does, signs do not at all."""
    rng = stream(0, "exact-shared", "noise")
    z = exact.rounded_gamma_norm(3, scale=1e5, rng=rng, size=100_000) / 1e5
    n = len(z)
    assert stats.binomtest(int((z[:, 0] * z[:, 1] > 0).sum()), n).pvalue > LEVEL
    logs = np.log(np.abs(z))
    share = np.corrcoef(logs[:, 0], logs[:, 1])[0, 1]
    of_radius = special.polygamma(1, 2) / 4  # log sqrt(chi-square with 4 degrees of freedom)
    expected = of_radius / (of_radius + math.pi**2 / 8)
    assert abs(share - expected) < 4.5 / math.sqrt(n)


def test_opendps_discrete_gaussian_beside_the_rounded_one() -> None:
    """Two exact laws that differ: each sampler has its own, and is refused by the other's.

    False alarm 3e-5 (OpenDP takes the system's entropy).  At half a step the rounded law has 0 with
    probability 0.683, the discrete one with 0.787.
    """
    pytest.importorskip("opendp")
    import opendp.prelude as dp

    dp.enable_features("contrib")
    sigma, n = 0.5, 20_000
    domain = dp.vector_domain(dp.atom_domain(T=int), size=n)
    mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=sigma)
    theirs = np.array(mechanism([0] * n))
    ours = draw("normal", 10**6, sigma)
    k = np.arange(-1, 2)
    weights = np.exp(-(np.arange(-9.0, 10.0) ** 2) / (2 * sigma**2))
    discrete = weights[8:11] / weights.sum()
    rounded = np.diff(special.ndtr((np.arange(-1, 3) - 0.5) / sigma))

    def pvalue(draws: NDArray[np.int64], law: NDArray[np.float64]) -> float:
        found = [*(int((draws == one).sum()) for one in k)]
        rest, expected = draws.size - sum(found), draws.size * np.append(law, 1 - law.sum())
        return float(stats.chisquare([*found, rest], expected).pvalue)

    assert pvalue(theirs, discrete) > LEVEL > pvalue(theirs, rounded)
    assert pvalue(ours, rounded) > LEVEL > pvalue(ours, discrete)
