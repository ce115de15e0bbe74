"""Auditors: exact values, attained bounds, and for each a null and a planted control.

Every seed is fixed. Null controls use confidence 1 - 1e-5 (or level 1e-5), so that a fresh seed
would raise a false alarm with probability at most 1e-5 each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from dplit import audit
from dplit.mechanisms import gaussian_epsilon, gaussian_sigma
from dplit.streams import stream

SURE = 1.0 - 1e-5


# --- one event -------------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [1, 7, 100, 10**6])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_clopper_pearson_agrees_with_scipy(trials: int, share: float) -> None:
    hits = round(share * trials)
    ours = audit.clopper_pearson(hits, trials, confidence=0.999)
    theirs = stats.binomtest(hits, trials).proportion_ci(0.999, method="exact")
    np.testing.assert_allclose(ours, (theirs.low, theirs.high), rtol=1e-9, atol=1e-15)


def test_each_of_the_four_directions_is_used() -> None:
    base = audit.epsilon_lower_bound(900, 300, 1000, confidence=0.99)
    assert audit.epsilon_lower_bound(300, 900, 1000, confidence=0.99) == pytest.approx(base)
    # the complement of a likely event: 0.7 / 0.1 beats 0.9 / 0.3
    low_in, _ = audit.clopper_pearson(700, 1000, confidence=0.995)
    _, high_out = audit.clopper_pearson(100, 1000, confidence=0.995)
    assert base == pytest.approx(math.log(low_in / high_out), rel=1e-12)
    assert audit.epsilon_lower_bound(100, 700, 1000, confidence=0.99) == pytest.approx(base)


def test_delta_moves_the_bound_as_the_definition_says() -> None:
    low, _ = audit.clopper_pearson(500, 1000, confidence=0.995)
    _, high = audit.clopper_pearson(10, 1000, confidence=0.995)
    ours = audit.epsilon_lower_bound(500, 10, 1000, delta=0.1, confidence=0.99)
    assert ours == pytest.approx(math.log((low - 0.1) / high), rel=1e-12)
    assert audit.epsilon_lower_bound(500, 10, 1000, delta=0.9, confidence=0.99) == 0.0
    dual = audit.delta_lower_bound(500, 10, 1000, epsilon=ours, confidence=0.99)
    assert dual == pytest.approx(0.1, rel=1e-9)  # the two bounds are one inequality


def test_equal_counts_say_nothing() -> None:
    assert audit.epsilon_lower_bound(400, 400, 1000, confidence=0.9) == 0.0
    assert audit.delta_lower_bound(400, 400, 1000, epsilon=0.0, confidence=0.9) == 0.0
    assert audit.gaussian_dp_lower_bound(0, 0, 1000, confidence=0.9) == 0.0


def test_gaussian_bound_approaches_mu_from_below() -> None:
    """At exact counts the bound is below mu by the width of two limits, 4 standard errors each."""
    mu, n = 0.8, 10**6
    hits = round(stats.norm.cdf(mu) * n)
    bound = audit.gaussian_dp_lower_bound(hits, n // 2, n, confidence=0.999)
    width = sum(
        4.0 * math.sqrt(p * (1 - p) / n) / stats.norm.pdf(x) for p, x in ((hits / n, mu), (0.5, 0))
    )
    assert mu - width < bound < mu
    assert audit.gaussian_dp_lower_bound(n // 2, hits, n, confidence=0.999) == pytest.approx(bound)


def test_the_bound_fails_no_more_often_than_it_says() -> None:
    """Exact null: outcomes summed with their probabilities, confidence 0.9, randomised response.

    Kills limits at the whole error instead of a quarter of it.
    """
    n, epsilon, confidence = 40, 1.0, 0.9
    p, q = math.e / (1 + math.e), 1 / (1 + math.e)
    pin, pout = (stats.binom.pmf(np.arange(n + 1), n, x) for x in (p, q))
    failing = sum(
        pin[a] * pout[b]
        for a in range(n + 1)
        for b in range(n + 1)
        if audit.epsilon_lower_bound(a, b, n, confidence=confidence) > epsilon
    )
    assert 0.0 < failing <= 1.0 - confidence


counts = st.integers(1, 400).flatmap(
    lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n))
)


@given(counts, st.floats(0.5, 0.9999), st.floats(0.0, 3.0))
def test_bounds_are_symmetric_and_weaker_the_surer(
    hits: tuple[int, int, int], confidence: float, epsilon: float
) -> None:
    a, b, n = hits
    for bound in (
        lambda a, b, c: audit.epsilon_lower_bound(a, b, n, confidence=c),
        lambda a, b, c: audit.delta_lower_bound(a, b, n, epsilon=epsilon, confidence=c),
        lambda a, b, c: audit.gaussian_dp_lower_bound(a, b, n, confidence=c),
    ):
        value = bound(a, b, confidence)
        assert value >= 0.0
        assert bound(b, a, confidence) == pytest.approx(value, abs=1e-9)
        assert bound(n - a, n - b, confidence) == pytest.approx(value, abs=1e-9)
        assert bound(a, b, (1.0 + confidence) / 2.0) <= value + 1e-12


@given(counts, st.floats(0.5, 0.9999))
def test_the_epsilon_and_delta_bounds_agree_about_every_claim(
    hits: tuple[int, int, int], confidence: float
) -> None:
    """A claim just below the bound is refuted, one just above is not, by both bounds."""
    lower = audit.epsilon_lower_bound(*hits, delta=0.01, confidence=confidence)
    for epsilon in (lower * 0.99, lower * 1.01 + 1e-6):
        found = audit.audit_hits(*hits, epsilon=epsilon, delta=0.01, confidence=confidence)
        if lower > 1e-6:
            assert found.violated == (epsilon < lower)
        assert found.violated == (found.epsilon_lower > epsilon) or lower <= 1e-6


def laplace_alarm(factor: float) -> bool:
    """Laplace, sensitivity 1, claimed epsilon 1, half line beyond the larger mean, 2e4 runs."""
    return audit.audit_event(
        lambda mean, rng: mean + rng.laplace(scale=factor),
        1.0,
        0.0,
        lambda y: y >= 1.0,
        runs=20_000,
        epsilon=1.0,
        confidence=SURE,
        rng=stream(0, "audit-laplace", "noise"),
    ).violated


def gaussian_hits(scale: float, threshold: float, name: str) -> list[int]:
    """Numbers above the threshold, of 1e5 Gaussian ones around 1 and around 0."""
    rng = stream(0, name, "noise")
    return [
        int((mean + rng.normal(scale=scale, size=100_000) > threshold).sum()) for mean in (1.0, 0.0)
    ]


def gaussian_alarm(factor: float) -> bool:
    """Gaussian calibrated to (1, 1e-5), threshold in the middle, mu of 1e5 runs a side."""
    hits = gaussian_hits(factor * gaussian_sigma(epsilon=1.0, delta=1e-5), 0.5, "audit-gaussian")
    mu = audit.gaussian_dp_lower_bound(*hits, 100_000, confidence=SURE)
    return gaussian_epsilon(delta=1e-5, sigma=1.0 / mu) > 1.0


def delta_alarm(factor: float) -> bool:
    """Membership attack on a Gaussian claimed (1, 1e-2): TPR - e FPR.

    The threshold is where the likelihood ratio is e if the noise is half of what it should be.
    """
    sigma = gaussian_sigma(epsilon=1.0, delta=1e-2)
    hits = gaussian_hits(factor * sigma, (sigma / 2.0) ** 2 + 0.5, "audit-delta")
    return audit.delta_lower_bound(*hits, 100_000, epsilon=1.0, confidence=SURE) > 1e-2


def one_run_alarm(factor: float, delta: float = 0.0) -> bool:
    """Laplace, 1e4 canaries in coordinates of their own, claimed epsilon 1, all beyond the means.

    Scores are shifted so that the guesses at both ends are the canaries beyond the two means.
    """
    rng = stream(0, "audit-one-run", "noise")
    coins = rng.random(10_000) < 0.5
    scores = coins + rng.laplace(scale=factor, size=coins.size)
    found = audit.one_run_audit(scores, coins, guesses=6_000, delta=delta, confidence=SURE)
    return found.violated(epsilon=1.0)


def one_run_delta_alarm(factor: float) -> bool:
    """The same with a claim of (1, 1e-8): the approximate bound pays for m = 1e4 canaries."""
    return one_run_alarm(factor, delta=1e-8)


def chi_square_alarm(factor: float) -> bool:
    noise = stream(0, "audit-chi2", "noise").normal(scale=3.0 * factor, size=(1000, 10))
    return audit.chi_square_noise_test(noise, sigma=3.0).violated(level=1e-5)


def gamma_alarm(factor: float) -> bool:
    noise = stream(0, "audit-gamma", "noise").laplace(scale=3.0 * factor, size=10_000)
    return audit.gamma_noise_test(noise, scale=3.0).violated(level=1e-5)


def norm_alarm(factor: float) -> bool:
    noise = stream(0, "audit-norm", "noise").gamma(5, scale=3.0 * factor, size=10_000)
    return audit.gamma_noise_test(noise, scale=3.0, shape=5).violated(level=1e-5)


ALARMS: list[Callable[[float], bool]] = [
    laplace_alarm,
    gaussian_alarm,
    delta_alarm,
    one_run_alarm,
    one_run_delta_alarm,
    chi_square_alarm,
    gamma_alarm,
    norm_alarm,
]


@pytest.mark.parametrize("alarm", ALARMS, ids=lambda f: f.__name__)
def test_controls_of_every_auditor(alarm: Callable[[float], bool]) -> None:
    """False alarm at most 1e-5; half the noise must be caught. Kills auditors that never fire."""
    controls = audit.run_controls(alarm)
    assert not controls.null_alarm
    assert controls.planted_alarm
    assert controls.sound


def test_controls_tell_the_kinds_of_failure_apart() -> None:
    assert not audit.run_controls(lambda factor: True).sound
    assert not audit.run_controls(lambda factor: False).sound
    seen: list[float] = []
    audit.run_controls(lambda factor: bool(seen.append(factor)), planted=0.25)
    assert seen == [1.0, 0.25]


def test_controls_keep_the_audits_that_they_ran() -> None:
    """Kills controls that take an audit for its alarm: an object is true, whatever it found."""
    found = audit.run_controls(
        lambda factor: audit.audit_hits(
            500, round(500 * factor**4), 1000, epsilon=1.0, confidence=0.99
        )
    )
    assert (found.null.hits_out, found.planted.hits_out) == (500, 31)
    assert (found.null_alarm, found.planted_alarm, found.sound) == (False, True, True)


def test_audit_event_counts_both_sides_and_keeps_the_claim() -> None:
    found = audit.audit_event(
        lambda data, rng: data,
        (1, 2),
        (1,),
        lambda output: len(output) == 2,
        runs=50,
        epsilon=0.5,
        delta=0.25,
        confidence=0.9,
        rng=stream(0, "audit-count", "noise"),
    )
    assert (found.hits_in, found.hits_out, found.runs) == (50, 0, 50)
    assert (found.epsilon, found.delta, found.confidence) == (0.5, 0.25, 0.9)
    assert found.violated
    assert found.epsilon_lower == audit.epsilon_lower_bound(50, 0, 50, delta=0.25, confidence=0.9)
    assert found.delta_lower == audit.delta_lower_bound(50, 0, 50, epsilon=0.5, confidence=0.9)
    assert found.mu_lower == audit.gaussian_dp_lower_bound(50, 0, 50, confidence=0.9)
    with pytest.raises(AttributeError):
        found.runs = 3  # type: ignore[misc]


# --- noise -----------------------------------------------------------------------------------


def test_chi_square_sees_a_deficit_of_one_and_a_half_percent_in_1e5_draws() -> None:
    """Power: the deficit moves the statistic by 6.7 standard deviations, the limit is 3.7."""
    noise = stream(1, "audit-power", "noise").normal(size=100_000)
    assert audit.chi_square_noise_test(0.985 * noise, sigma=1.0).violated(level=2e-4)
    right = audit.chi_square_noise_test(noise, sigma=1.0)
    assert not right.violated(level=2e-4)
    assert right.deficit_p_value + right.excess_p_value == pytest.approx(1.0)
    assert right.scale_ratio == pytest.approx(math.sqrt((noise**2).mean()), rel=1e-12)


def test_noise_in_the_real_part_only_is_found() -> None:
    """The mistake of releasing complex coefficients with real noise: the variance is halved."""
    real = stream(0, "audit-complex", "noise").normal(size=2_000)
    assert audit.chi_square_noise_test(real + 0j, sigma=1.0).violated()
    both = real[:1000] + 1j * real[1000:]
    test = audit.chi_square_noise_test(both, sigma=1.0)
    assert test.size == 2_000
    assert not test.violated()


def test_a_wrong_shape_of_the_right_variance_is_found() -> None:
    """Laplace noise of variance 1 (level 1e-4); kills a test without its shape part."""
    noise = stream(0, "audit-shape", "noise").laplace(scale=math.sqrt(0.5), size=20_000)
    test = audit.chi_square_noise_test(noise, sigma=1.0)
    assert test.deficit_p_value > 1e-4
    assert test.shape_p_value < 1e-8
    assert test.violated()


def test_gamma_test_scale_and_p_values_against_the_law() -> None:
    noise = np.array([1.0, -2.0, 3.5])
    test = audit.gamma_noise_test(noise, scale=2.0, shape=2.0)
    law = stats.gamma(6.0)
    assert test.scale_ratio == pytest.approx(6.5 / 12.0)
    assert test.deficit_p_value == pytest.approx(law.cdf(3.25))
    assert test.excess_p_value == pytest.approx(law.sf(3.25))


def test_too_much_noise_is_told_but_breaks_no_privacy() -> None:
    noise = stream(0, "audit-excess", "noise").normal(scale=1.01, size=10_000)
    test = audit.chi_square_noise_test(noise, sigma=1.0)
    assert test.scale_ratio > 1.0
    assert test.excess_p_value < test.deficit_p_value
    assert not test.violated()


# --- one run ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_pure_one_run_bound_is_attained_by_randomised_response(epsilon: float) -> None:
    """Second route: the number of right guesses is binomial, summed by hand."""
    q = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    by_hand = sum(math.comb(12, k) * q**k * (1 - q) ** (12 - k) for k in range(9, 13))
    ours = audit.one_run_p_value(9, 12, 30, epsilon=epsilon)
    assert ours == pytest.approx(by_hand, rel=1e-12)


def test_approximate_one_run_bound_against_the_worst_mixture_by_linear_programming() -> None:
    """sup P(B + F >= v) over laws of F on {0..v} with mean at most 2 m delta, as a linear program.

    The closed form is an upper bound, attained while the optimal F has one positive atom. Kills a
    missing factor 2, a missing division by i and an off-by-one in the tail.
    """
    from scipy.optimize import linprog

    correct, guesses, canaries, epsilon, delta = 18, 20, 100, 0.7, 1e-5
    q = 1.0 / (1.0 + math.exp(-epsilon))
    excess = np.arange(correct + 1)
    gain = stats.binom.sf(correct - 1 - excess, guesses, q)  # P(B + i >= v)
    program = linprog(
        -gain,
        A_ub=[excess],
        b_ub=[2 * canaries * delta],
        A_eq=[np.ones(correct + 1)],
        b_eq=[1.0],
        method="highs",
    )
    ours = audit.one_run_p_value(correct, guesses, canaries, epsilon=epsilon, delta=delta)
    assert ours == pytest.approx(-program.fun, rel=1e-6)
    assert ours > audit.one_run_p_value(correct, guesses, canaries, epsilon=epsilon)


def test_approximate_bound_holds_for_a_mechanism_that_reveals_with_probability_delta() -> None:
    """Exact law: with probability delta each coin is revealed, else randomised response."""
    epsilon, delta, m = 1.0, 0.003, 40
    q = math.e / (1.0 + math.e)
    right = delta + (1.0 - delta) * q
    for correct in range(20, 41):
        truth = stats.binom.sf(correct - 1, m, right)
        assert truth <= audit.one_run_p_value(correct, m, m, epsilon=epsilon, delta=delta)
        if correct > 30:  # the pure bound is too small for it: the delta term is needed
            assert truth > audit.one_run_p_value(correct, m, m, epsilon=epsilon)


@given(
    st.integers(2, 60).flatmap(lambda r: st.tuples(st.integers(1, r), st.just(r))),
    st.integers(0, 40),
    st.floats(0.0, 4.0),
    st.sampled_from([0.0, 1e-9, 1e-4]),
)
def test_one_run_p_value_is_a_probability_that_falls_with_every_right_guess(
    guessed: tuple[int, int], silent: int, epsilon: float, delta: float
) -> None:
    correct, guesses = guessed
    p = audit.one_run_p_value(correct, guesses, guesses + silent, epsilon=epsilon, delta=delta)
    one_less = audit.one_run_p_value(
        correct - 1, guesses, guesses + silent, epsilon=epsilon, delta=delta
    )
    assert 0.0 < p <= one_less <= 1.0 or p == pytest.approx(one_less, rel=1e-12)
    pure = audit.one_run_p_value(correct, guesses, guesses + silent, epsilon=epsilon)
    assert pure <= p
    assert pure <= audit.one_run_p_value(
        correct, guesses, guesses + silent, epsilon=epsilon + 0.1
    ) * (1 + 1e-12)


def test_one_run_bound_inverts_the_p_value() -> None:
    rng = stream(0, "audit-invert", "data")
    coins = rng.random(400) < 0.5
    scores = coins + rng.normal(scale=0.7, size=400)
    found = audit.one_run_audit(scores, coins, guesses=101, delta=1e-6, confidence=0.95)
    top, low = np.argsort(scores)[-51:], np.argsort(scores)[:50]
    assert found.correct == coins[top].sum() + (~coins[low]).sum()
    at = audit.one_run_p_value(found.correct, 101, 400, epsilon=found.epsilon_lower, delta=1e-6)
    assert at == pytest.approx(0.05, rel=1e-6)


def test_one_run_cannot_be_surer_than_its_delta_term_allows() -> None:
    """The p-value is at least 2 m delta / v: with all guesses right the bound may still be 0."""
    coins = np.arange(1000) % 2 == 0
    for delta, silent in ((1e-5, True), (1e-9, False)):
        found = audit.one_run_audit(
            coins.astype(float), coins, guesses=1000, delta=delta, confidence=SURE
        )
        assert found.correct == 1000
        assert (found.epsilon_lower == 0.0) == silent
        floor = audit.one_run_p_value(1000, 1000, 1000, epsilon=0.0, delta=delta)
        assert floor >= 2.0 * 1000 * delta / 1000


def test_one_run_says_nothing_about_coin_tosses() -> None:
    coins = np.arange(10) % 2 == 0
    found = audit.one_run_audit(np.arange(10.0), coins, guesses=10, confidence=0.99)
    assert found.epsilon_lower == 0.0


# --- neighbours ------------------------------------------------------------------------------


def ball(radius: float) -> Callable[[np.ndarray], np.ndarray]:
    def project(rows: np.ndarray) -> np.ndarray:
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows * (radius / np.maximum(lengths, radius))

    return project


def normal_rows(k: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((k, 3))


def search(draw: Any = normal_rows, **options: Any) -> audit.NeighbourSearch:
    """Look for the neighbours that move a sum furthest."""
    rng = stream(0, "search", "data")
    return audit.search_neighbours(lambda rows: rows.sum(axis=0), draw, rng=rng, **options)


@pytest.mark.parametrize(
    ("neighboring", "sensitivity"), [("add_remove", 2.0), ("replace_one", 4.0)]
)
def test_search_attains_the_sensitivity_of_a_clipped_sum(
    neighboring: Any, sensitivity: float
) -> None:
    options = {"neighboring": neighboring, "claimed": sensitivity, "project": ball(2.0)}
    found = search(n_records=3, **options)
    assert 0.999 < found.ratio <= 1.0 + 1e-12
    assert found.distance == pytest.approx(found.ratio * sensitivity)
    assert len(found.data) == 3
    assert len(found.neighbour) == (2 if neighboring == "add_remove" else 3)
    np.testing.assert_array_equal(found.data[:2], found.neighbour[:2])
    gap = np.linalg.norm(found.data.sum(axis=0) - found.neighbour.sum(axis=0))
    assert gap == pytest.approx(found.distance)


def test_search_refutes_half_the_sensitivity_and_counts_its_pairs() -> None:
    """Planted control: the add/remove constant claimed for replace-one."""
    claim = {"neighboring": "replace_one", "claimed": 2.0, "project": ball(2.0)}
    found = search(n_records=2, **claim, restarts=2, steps=150)
    assert found.ratio > 1.5
    assert found.evaluations == 302


def test_search_uses_the_norm_it_is_given() -> None:
    for norm, length in ((1, 3.0), (2, math.sqrt(3.0))):
        asked = {"neighboring": "add_remove", "claimed": 1.0, "norm": norm}
        found = search(lambda k, _: np.ones((k, 3)), n_records=2, **asked, restarts=1, steps=0)
        assert found.ratio == pytest.approx(length)


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: audit.clopper_pearson(3, 2, confidence=0.9), "successes must be at most 2"),
        (lambda: audit.clopper_pearson(1, 2, confidence=1.0), "confidence must be in"),
        (
            lambda: audit.epsilon_lower_bound(9, 1, 8, confidence=0.9),
            "hits_in must be at most 8, got hits_in=9",
        ),
        (lambda: audit.epsilon_lower_bound(1, 1, 8, delta=1.0, confidence=0.9), "delta must be in"),
        (lambda: audit.chi_square_noise_test([1.0], sigma=0.0), "sigma must be positive"),
        (lambda: audit.one_run_p_value(3, 2, 9, epsilon=1.0), "correct must be at most 2"),
        (
            lambda: audit.one_run_audit([1.0, 2.0], [1, 0], guesses=1, confidence=0.9),
            "included must be boolean",
        ),
        (
            lambda: audit.one_run_audit([1.0], np.array([True]), guesses=2, confidence=0.9),
            "guesses must be at most 1",
        ),
        (lambda: audit.one_run_audit([1j], [], guesses=1, confidence=0.9), "scores must be real"),
        (lambda: audit.run_controls(lambda f: True, planted=1.0), "planted must be in"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()
