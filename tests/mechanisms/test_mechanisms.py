"""Calibration against the textbook theorem, samplers against their laws, selection by enumeration.

Every random test has fixed seeds and states its false-alarm probability (over seeds) and what it
kills.  A test of a law also scales the same noise by 0.985 and must then refuse it.
"""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, special, stats

from dplit import mechanisms
from tests.mechanisms.laws import exact_delta, two_sided

LEVEL = 1e-5  # of each single test below; no test function uses more than ten
DEFICIT = 0.985


def exact_sigma(epsilon: float, delta: float) -> float:
    with mpmath.workdps(60):
        start = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
        residual = lambda s: mpmath.log(exact_delta(epsilon, 1 / s) / delta)  # noqa: E731
        return float(mpmath.findroot(residual, (0.7 * start, start)))


# ---------------------------------------------------------------------------- calibration


@pytest.mark.claim("dprf-def1")
@pytest.mark.parametrize(("epsilon", "mu"), [(0.0, 1.0), (0.5, 0.4), (1.0, 1.0), (3.0, 2.0)])
def test_delta_is_the_worst_excess_of_any_event(epsilon: float, mu: float) -> None:
    """sup_A P(A) - e^eps Q(A) is the integral of (p - e^eps q)_+, here by quadrature."""
    boundary = epsilon / mu + mu / 2  # where the densities of N(mu, 1), N(0, 1) have ratio e^eps
    excess, _ = integrate.quad(
        lambda z: stats.norm.pdf(z - mu) - math.exp(epsilon) * stats.norm.pdf(z),
        boundary,
        boundary + 40,
        epsabs=1e-14,
        epsrel=1e-12,
    )
    delta = mechanisms.gaussian_delta(epsilon=epsilon, sigma=3.0, sensitivity=3.0 * mu)
    assert delta == pytest.approx(excess, rel=1e-9)


@pytest.mark.claim("dprf-thm7")
@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 5.0, 8.0, 10.0])
def test_both_calibrations_at_the_papers_delta(epsilon: float) -> None:
    delta = 1e-5
    classical = mechanisms.classical_gaussian_sigma(epsilon=epsilon, delta=delta)
    with mpmath.workdps(50):
        formula = mpmath.sqrt(2 * mpmath.log(mpmath.mpf(1.25) / delta)) / epsilon
    assert classical == pytest.approx(float(formula), rel=1e-15)
    analytic = mechanisms.gaussian_sigma(epsilon=epsilon, delta=delta)
    assert analytic == pytest.approx(exact_sigma(epsilon, delta), rel=1e-12)
    measured = mechanisms.gaussian_delta(epsilon=epsilon, sigma=classical)
    assert measured == pytest.approx(float(exact_delta(epsilon, 1 / classical)), rel=1e-12)
    assert (classical >= analytic) == (measured <= delta) == (epsilon <= 8)


@pytest.mark.claim("dprf-thm7")
def test_textbook_formula_holds_below_one_and_is_never_tight() -> None:
    epsilon, delta = np.meshgrid(np.logspace(-3, -1e-9), np.logspace(-12, -1))
    classical = mechanisms.classical_gaussian_sigma(epsilon=epsilon, delta=delta)
    assert (mechanisms.gaussian_delta(epsilon=epsilon, sigma=classical) < delta).all()
    ratio = classical / mechanisms.gaussian_sigma(epsilon=epsilon, delta=delta)
    assert ratio.min() > 1.1


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.1, 1.0), (2.0, 3.0)])
def test_laplace_scale_makes_the_worst_density_ratio_equal_e_to_the_epsilon(
    epsilon: float, sensitivity: float
) -> None:
    b = mechanisms.laplace_scale(epsilon=epsilon, sensitivity=sensitivity)
    z = np.linspace(-5 * b, 5 * b, 1001)
    loss = stats.laplace.logpdf(z, scale=b) - stats.laplace.logpdf(z, loc=sensitivity, scale=b)
    assert np.abs(loss).max() == pytest.approx(epsilon, rel=1e-12)


# ---------------------------------------------------------------------------- noise


def assert_scale(law: Any, total: float, power: int) -> None:
    """``total`` follows ``law``, and the total of noise with a 1.5 % smaller scale would not."""
    assert two_sided(law, total) > LEVEL
    assert two_sided(law, total * DEFICIT**power) < LEVEL


def assert_shape(values: NDArray[np.float64], law: Any) -> None:
    assert stats.kstest(values.ravel(), law.cdf).pvalue > LEVEL


def test_gaussian_noise_has_its_scale_and_shape() -> None:
    """False alarm 3e-5.  Kills sigma x 0.985, variance for sigma, another law, copied columns."""
    z = mechanisms.gaussian_noise((1000, 200), sigma=3.0, rng=np.random.default_rng(1))
    assert_scale(stats.chi2(z.size), float(((z / 3.0) ** 2).sum()), 2)
    assert_shape(z, stats.norm(scale=3.0))
    correlation = float((z[:, :100] * z[:, 100:]).sum()) / (9.0 * math.sqrt(z.size / 2))
    assert two_sided(stats.norm, correlation) > LEVEL


def test_complex_gaussian_noise_has_sigma_in_each_real_coordinate() -> None:
    """False alarm 6e-5.  Kills sigma / sqrt 2, real noise, equal real and imaginary parts."""
    z = mechanisms.gaussian_noise(200_000, sigma=0.5, rng=np.random.default_rng(2), complex=True)
    assert z.dtype == np.complex128
    assert z.shape == (200_000,)
    for part in (z.real, z.imag):
        assert_scale(stats.chi2(z.size), float(((part / 0.5) ** 2).sum()), 2)
        assert_shape(part, stats.norm(scale=0.5))
    correlation = float((z.real * z.imag).sum()) / (0.25 * math.sqrt(z.size))
    assert two_sided(stats.norm, correlation) > LEVEL


def test_laplace_noise_has_its_scale_and_shape() -> None:
    """False alarm 3e-5.  Kills b x 0.985, standard deviation for b, one-sided noise."""
    z = mechanisms.laplace_noise((2, 100_000), scale=2.0, rng=np.random.default_rng(3))
    assert_scale(stats.gamma(z.size), float(np.abs(z / 2.0).sum()), 1)
    assert_shape(z, stats.laplace(scale=2.0))
    signs = float(np.sign(z).sum()) / math.sqrt(z.size)
    assert two_sided(stats.norm, signs) > LEVEL


def test_complex_laplace_noise_has_independent_parts_of_scale_b() -> None:
    """False alarm 6e-5.  Kills b x 0.985, E|z|^2 = 2 b^2 for 4 b^2, equal parts, a rotated law."""
    z = mechanisms.laplace_noise(200_000, scale=0.5, rng=np.random.default_rng(13), complex=True)
    assert z.shape == (200_000,)
    for part in (z.real, z.imag):
        assert_scale(stats.gamma(z.size), float(np.abs(part / 0.5).sum()), 1)
        assert_shape(part, stats.laplace(scale=0.5))
    for product in (np.sign(z.real) * np.sign(z.imag), stats.zscore(abs(z.real)) * abs(z.imag)):
        assert (
            two_sided(stats.norm, float(product.sum() / product.std() / math.sqrt(z.size))) > LEVEL
        )


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_gamma_norm_noise_has_gamma_norms_and_uniform_directions(dimension: int) -> None:
    """False alarm 5e-5 a case.  Kills Gamma(d + 1), rate x 1.015, rate for scale, cube directions.

    The density is a function of the norm r alone, so r has the density r^(d-1) e^(-rate r).
    """
    rate, n = 0.25, 200_000
    z = mechanisms.gamma_norm_noise(dimension, rate=rate, rng=np.random.default_rng(4), size=n)
    assert z.shape == (n, dimension)
    norms = np.linalg.norm(z, axis=1)
    assert_scale(stats.gamma(dimension * n), float(rate * norms.sum()), 1)
    assert_shape(norms, stats.gamma(dimension, scale=1 / rate))
    cosine = z[:, 0] / norms
    assert two_sided(stats.norm, float(cosine.sum()) * math.sqrt(dimension / n)) > LEVEL
    if dimension > 1:
        assert_shape(cosine**2, stats.beta(0.5, (dimension - 1) / 2))
        assert stats.pearsonr(norms, cosine**2).pvalue > LEVEL


@pytest.mark.parametrize("dimension", [1, 3])
def test_polydisc_noise_has_gamma_maximum_and_uniform_remainder(dimension: int) -> None:
    """False alarm 5e-5 a case.  Kills Gamma(2m) radii, modulus R U, rate x 1.015, real noise.

    {max |z_j| <= r} has volume (pi r^2)^m, so the maximum has the density r^(2m-1) e^(-rate r); the
    other coordinates are uniform in the disc of that radius.
    """
    rate, n = 3.0, 200_000
    z = mechanisms.polydisc_noise(dimension, rate=rate, rng=np.random.default_rng(6), size=n)
    assert z.shape == (n, dimension)
    modulus = np.abs(z)
    top = modulus.max(axis=1)
    assert_scale(stats.gamma(2 * dimension * n), float(rate * top.sum()), 1)
    assert_shape(top, stats.gamma(2 * dimension, scale=1 / rate))
    assert_shape(np.angle(z[:, 0]), stats.uniform(-math.pi, 2 * math.pi))
    if dimension > 1:
        rest = np.sort(modulus, axis=1)[:, :-1] / top[:, None]
        assert_shape(rest.max(axis=1) ** (2 * dimension - 2), stats.uniform())
        assert stats.pearsonr(np.cos(np.angle(z[:, 0] / z[:, 1])), top).pvalue > LEVEL


@pytest.mark.parametrize("dimension", [1, 3])
def test_cube_noise_has_gamma_maximum_and_uniform_remainder(dimension: int) -> None:
    """False alarm 5e-5 a case.  Kills Gamma(2m) radii, discs for squares, rate x 1.015.

    {max part <= r} has volume (2r)^(2m), so the maximum has the density r^(2m-1) e^(-rate r); the
    other 2m - 1 parts are uniform in [-r, r].
    """
    rate, n = 3.0, 200_000
    z = mechanisms.cube_noise(dimension, rate=rate, rng=np.random.default_rng(14), size=n)
    assert z.shape == (n, dimension)
    parts = np.sort(np.abs(z.view(float)), axis=1)
    top = parts[:, -1]
    assert_scale(stats.gamma(2 * dimension * n), float(rate * top.sum()), 1)
    assert_shape(top, stats.gamma(2 * dimension, scale=1 / rate))
    rest = parts[:, -2] / top
    assert_shape(rest ** (2 * dimension - 1), stats.uniform())
    assert stats.pearsonr(rest, top).pvalue > LEVEL
    signs = float(np.sign(z.view(float)).sum()) / math.sqrt(2 * z.size)
    assert two_sided(stats.norm, signs) > LEVEL


SAMPLERS: list[Callable[[np.random.Generator], NDArray[Any]]] = [
    lambda rng: mechanisms.laplace_noise((2, 3), scale=1.0, rng=rng),
    lambda rng: mechanisms.gaussian_noise((2, 3), sigma=1.0, rng=rng),
    lambda rng: mechanisms.gaussian_noise((2, 3), sigma=1.0, rng=rng, complex=True),
    lambda rng: mechanisms.laplace_noise((2, 3), scale=1.0, rng=rng, complex=True),
    lambda rng: mechanisms.gamma_norm_noise(3, rate=1.0, rng=rng, size=2),
    lambda rng: mechanisms.cube_noise(3, rate=1.0, rng=rng, size=2),
    lambda rng: mechanisms.polydisc_noise(3, rate=1.0, rng=rng, size=(2,)),
]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_noise_comes_from_the_generator_alone(
    sampler: Callable[[np.random.Generator], NDArray[Any]],
) -> None:
    first, second = np.random.default_rng(7), np.random.default_rng(7)
    a = sampler(first)
    np.random.default_rng(8).random()  # another stream in between
    assert a.shape == (2, 3)
    assert (a == sampler(second)).all()
    assert (a != sampler(first)).all()


def test_sizes_none_and_zero() -> None:
    rng = np.random.default_rng(0)
    assert mechanisms.gamma_norm_noise(4, rate=1.0, rng=rng).shape == (4,)
    assert mechanisms.polydisc_noise(4, rate=1.0, rng=rng).shape == (4,)
    assert mechanisms.cube_noise(4, rate=1.0, rng=rng).shape == (4,)
    assert mechanisms.laplace_noise((0, 2), scale=1.0, rng=rng, complex=True).shape == (0, 2)
    assert mechanisms.gaussian_noise((), sigma=1.0, rng=rng).shape == ()
    assert mechanisms.gaussian_noise((0, 2), sigma=1.0, rng=rng, complex=True).shape == (0, 2)


# ---------------------------------------------------------------------------- selection

SCORES = np.array([0.0, 1.0, 1.5, 3.0, -1.0])
DRAWS = 20_000


def assert_law(choose: Callable[[np.random.Generator], int], law: NDArray[np.float64]) -> None:
    """Chi-square test of the chosen indices; false alarm 1e-5."""
    rng = np.random.default_rng(9)
    counts = np.bincount([choose(rng) for _ in range(DRAWS)], minlength=len(law))
    expected = DRAWS * law
    keep = expected > 0
    assert counts[~keep].sum() == 0
    statistic = ((counts - expected)[keep] ** 2 / expected[keep]).sum()
    assert stats.chi2.sf(statistic, keep.sum() - 1) > LEVEL


def boltzmann(values: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(values - values.max())
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_exponential_mechanism_follows_its_law(better: Any) -> None:
    """False alarm 1e-5.  Kills a missing 1/2, a wrong sign, a dropped sensitivity."""
    sign = 1 if better == "higher" else -1

    def choose(rng: np.random.Generator) -> int:
        return mechanisms.exponential_mechanism(
            SCORES, epsilon=1.5, sensitivity=0.8, rng=rng, better=better
        )

    assert_law(choose, boltzmann(sign * 1.5 * SCORES / (2 * 0.8)))


def test_exponential_mechanism_does_not_underflow() -> None:
    """False alarm 1e-5.  Scores near -1e6: every weight e^(eps s / 2) is 0 in floating point."""
    scores = SCORES - 1e6

    def choose(rng: np.random.Generator) -> int:
        return mechanisms.exponential_mechanism(scores, epsilon=1.0, sensitivity=1.0, rng=rng)

    assert_law(choose, boltzmann(SCORES / 2))


HUGE = [
    ([-1e308, -1e308], 1e300, 1.0),
    ([1.7e308, -1.7e308, 1.7e308], 1.0, 1.0),
    ([1e308, 1e308], 1e-300, 1.0),
    ([1.79e308] * 3, 1e-7, 1e300),
    ([1e-290, 0.0], 1.0, 1e-300),
    ([1e308] * 2, 5e-300, 1e-10),
    ([0.0], 1.0, 1.0),
]


@pytest.mark.parametrize(("scores", "epsilon", "sensitivity"), HUGE)
def test_selection_takes_any_finite_scores(
    scores: list[float], epsilon: float, sensitivity: float
) -> None:
    """No overflow, no warning, no index -1; a tie is broken by the noise.  False alarm 2e-9 each.

    Kills factor * score, whose overflow leaves no candidate, and sums in which a huge score
    swallows the noise, so that the first of equal candidates always wins.
    """
    budget: dict[str, float] = {"epsilon": epsilon, "sensitivity": sensitivity}
    top = {i for i, score in enumerate(scores) if score == max(scores)}
    low = {i for i, score in enumerate(scores) if score == min(scores)}
    rng = np.random.default_rng(14)
    runs = range(30)
    chosen = {mechanisms.exponential_mechanism(scores, rng=rng, **budget) for _ in runs}
    assert chosen == top
    chosen = {mechanisms.report_noisy_min(scores, rng=rng, **budget) for _ in runs}
    assert chosen == low


def test_huge_scores_do_not_swallow_the_noise() -> None:
    """False alarm 1e-5.  Scores near 1e20 that differ by 2^14, as floats do there, and noise of
    scale 2^13.  Kills a rounding error that has the wrong sign."""
    scores = 1e20 + 2.0**14 * SCORES.round()

    def choose(rng: np.random.Generator) -> int:
        return mechanisms.exponential_mechanism(scores, epsilon=2.0**-12, sensitivity=1.0, rng=rng)

    assert_law(choose, boltzmann(SCORES.round() * 2))


@pytest.mark.parametrize(
    ("scores", "widths", "epsilon", "beta", "possible"),
    [
        ([-1.7e308, 1.7e308], [1e308, 1e308], 1e300, 0.1, {0, 1}),
        ([-1.7e308, 1.7e308], [5e-324, 1e-300], 1.0, 0.1, {0}),
        ([1.0, 1.0], [1.7e308, 1.7e308], 1e-300, 5e-324, {0, 1}),
        ([0.0], [1.0], 1e300, 0.5, {0}),
        ([1e308] * 3, [1e-300] * 3, 1e9, 0.5, {0, 1, 2}),
    ],
)
def test_generalized_exponential_mechanism_takes_any_finite_scores(
    scores: list[float], widths: list[float], epsilon: float, beta: float, possible: set[int]
) -> None:
    """No NaN, no warning, no index -1; ties are broken by the noise.  False alarm 2e-9 each."""
    rng = np.random.default_rng(15)
    run = mechanisms.generalized_exponential_mechanism
    chosen = {run(scores, widths, epsilon=epsilon, beta=beta, rng=rng) for _ in range(30)}
    assert chosen <= possible
    if len(set(scores)) == 1:
        assert chosen == possible


def test_selection_from_a_stream_equals_selection_from_the_array() -> None:
    """Chunk boundaries included; kills an index counted within the chunk."""
    scores = np.random.default_rng(10).normal(size=20_001)
    for selector in (mechanisms.exponential_mechanism, mechanisms.report_noisy_min):
        for seed in range(20):
            arguments = {"epsilon": 0.3, "sensitivity": 1.0}
            a = selector(scores, rng=np.random.default_rng(seed), **arguments)
            b = selector(iter(scores.tolist()), rng=np.random.default_rng(seed), **arguments)
            assert a == b
            scores[17_000] = -1e4 if selector is mechanisms.report_noisy_min else 1e4
            rng = np.random.default_rng(seed)
            assert selector(scores, epsilon=1.0, sensitivity=1.0, rng=rng) == 17_000
            scores[17_000] = 0.0


def test_exponential_mechanism_streams_in_constant_memory() -> None:
    def scores() -> Iterator[float]:
        yield from (float(i % 7) for i in range(200_000))

    tracemalloc.start()
    try:
        rng = np.random.default_rng(0)
        mechanisms.exponential_mechanism(scores(), epsilon=1.0, sensitivity=1.0, rng=rng)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200_000 * 8 / 2  # half of what the bare scores would take


def permute_and_flip(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Law of the first success in a random order, success e^(v - max v), by enumeration."""
    success = np.exp(values - values.max())
    law = np.zeros(len(values))
    orders = list(permutations(range(len(values))))
    for order in orders:
        failed = 1.0
        for i in order:
            law[i] += failed * success[i] / len(orders)
            failed *= 1 - success[i]
    return law


@pytest.mark.parametrize("monotone", [False, True])
def test_report_noisy_min_is_permute_and_flip(monotone: bool) -> None:
    """False alarm 1e-5.  Kills Laplace noise, a factor 2 in the scale, maximum for minimum."""
    factor = 1.0 / 0.8 if monotone else 1.0 / (2 * 0.8)

    def choose(rng: np.random.Generator) -> int:
        return mechanisms.report_noisy_min(
            SCORES, epsilon=1.0, sensitivity=0.8, rng=rng, monotone=monotone
        )

    assert_law(choose, permute_and_flip(-factor * SCORES))


def test_permute_and_flip_is_private_and_its_constant_is_attained() -> None:
    """The law just tested: the loss never exceeds epsilon, and comes within 2 % of it."""
    rng, worst = np.random.default_rng(11), 0.0
    for trial in range(500):
        scores = rng.exponential(6.0, size=4) if trial else np.array([0.0, 30.0, 30.0, 30.0])
        move = rng.choice([-1.0, 1.0], size=4) if trial else np.array([-1.0, 1.0, 1.0, 1.0])
        laws = permute_and_flip(-scores / 2), permute_and_flip(-(scores + move) / 2)
        worst = max(worst, float(np.abs(np.log(laws[0] / laws[1])).max()))
    assert 0.98 < worst <= 1 + 1e-9


def normalised_scores(
    q: NDArray[np.float64], widths: NDArray[np.float64], epsilon: float, beta: float
) -> NDArray[np.float64]:
    t = 2 / epsilon * math.log(len(q) / beta)
    a = q + t * widths
    return np.asarray(((a[:, None] - a) / (widths[:, None] + widths)).max(axis=1))


def test_generalized_exponential_mechanism_follows_its_law() -> None:
    """False alarm 1e-5.  Kills t / 2, a missing 1/2, widths that are ignored."""
    q, widths = np.array([0.0, 0.3, 0.9, 2.0]), np.array([2.0, 0.5, 0.1, 0.05])

    def choose(rng: np.random.Generator) -> int:
        return mechanisms.generalized_exponential_mechanism(
            q, widths, epsilon=1.0, beta=0.1, rng=rng
        )

    assert_law(choose, boltzmann(-normalised_scores(q, widths, 1.0, 0.1) / 2))


def test_generalized_exponential_mechanism_is_private_and_useful() -> None:
    """The law just tested, exactly: no random test.  Worst moves +-Delta_i, 300 instances."""
    rng, worst, failures = np.random.default_rng(12), 0.0, []
    for _ in range(300):
        n, epsilon, beta = 6, 1.0, 0.1
        q, widths = rng.normal(size=n), 10 ** rng.uniform(-3, 0, n)
        exponent = -epsilon * normalised_scores(q, widths, epsilon, beta) / 2
        moved = q + widths * rng.choice([-1.0, 1.0], size=n)
        other = -epsilon * normalised_scores(moved, widths, epsilon, beta) / 2
        loss = special.log_softmax(exponent) - special.log_softmax(other)
        worst, law = max(worst, float(np.abs(loss).max())), boltzmann(exponent)
        target = (q + 4 / epsilon * math.log(n / beta) * widths).min()
        failures.append(float(law[q > target].sum()))
    assert worst <= 1 + 1e-9
    assert worst > 0.6
    assert max(failures) <= 0.1


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        (iter([]), ValueError, "scores must not be empty"),
        (np.array([math.inf]), ValueError, "scores must be finite"),
        (np.ones((2, 2)), ValueError, "scores must have 1 axes"),
        (["a", "b"], TypeError, "scores must be numeric"),
        ([1j], TypeError, "scores must be real"),
        (iter([0.0] * 5000 + [math.nan]), ValueError, "scores must be finite"),
    ],
)
def test_selection_refuses_bad_scores(scores: Any, error: type[Exception], message: str) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(error, match=message):
        mechanisms.exponential_mechanism(scores, epsilon=1.0, sensitivity=1.0, rng=rng)


def test_budgets_and_sensitivities_that_do_not_fit_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="must be positive and finite"):
        mechanisms.exponential_mechanism([1.0], epsilon=1e300, sensitivity=1e-300, rng=rng)
    run = partial(mechanisms.generalized_exponential_mechanism, epsilon=1.0, beta=0.1, rng=rng)
    for widths, message in ([1.0], "one entry per score, got 1 for 2"), ([1.0, 0.0], "positive"):
        with pytest.raises(ValueError, match=message):
            run([0.0, 1.0], widths)


def test_every_public_name_exists_and_is_documented() -> None:
    for name in mechanisms.__all__:
        text = getattr(mechanisms, name).__doc__
        for section in ("Parameters", "Returns", "Examples"):
            assert f"{section}\n" in text, (name, section)
