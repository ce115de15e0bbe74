"""The Gaussian profile and its inverses against mpmath, on the whole range and beyond it."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplit import mechanisms
from dplit.mechanisms import _profile
from tests.mechanisms.laws import exact_delta

EPSILONS = [0.0, *np.logspace(-6, 3, 19)]
DELTAS = [*np.logspace(-300, -20, 12), *np.logspace(-18, -1, 12), 0.25, 0.5]
log_epsilons = st.floats(-6.0, 3.0)
log_deltas = st.one_of(st.floats(-300.0, -20.0), st.floats(-20.0, math.log10(0.5)))
derandomised = settings(derandomize=True, max_examples=150, deadline=None)


def exact_ratio(sensitivity: float, sigma: float | mpmath.mpf) -> mpmath.mpf:
    with mpmath.workdps(60):
        return mpmath.mpf(sensitivity) / mpmath.mpf(sigma)


def assert_sigma_is_minimal(epsilon: float, delta: float, sensitivity: float = 1.0) -> None:
    """sigma is private, and sigma / (1 + 1e-12) is not: no tolerance enters."""
    sigma = mechanisms.gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    with mpmath.workdps(60):
        mu = exact_ratio(sensitivity, sigma)
        assert exact_delta(epsilon, mu) <= delta
        assert exact_delta(epsilon, mu * (1 + mpmath.mpf("1e-12"))) > delta


def assert_epsilon_is_minimal(delta: float, mu: float) -> None:
    """epsilon is private, and less by 1e-12 (epsilon + mu + mu^2/2) is not."""
    epsilon = mechanisms.gaussian_epsilon(delta=delta, sigma=1.0, sensitivity=mu)
    with mpmath.workdps(60):
        assert exact_delta(epsilon, mu) <= delta
        less = epsilon - mpmath.mpf("1e-12") * (epsilon + mu + mpmath.mpf(mu) ** 2 / 2)
        if less >= 0:
            assert exact_delta(less, mu) > delta


@pytest.mark.claim("dprf-thm7")
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_sigma_is_the_minimum_to_twelve_digits_on_the_grid(epsilon: float) -> None:
    for delta in DELTAS:
        assert_sigma_is_minimal(epsilon, delta)


@given(log_epsilons, log_deltas, st.floats(-30.0, 30.0))
@derandomised
def test_sigma_is_the_minimum_to_twelve_digits_anywhere(
    log_epsilon: float, log_delta: float, log_sensitivity: float
) -> None:
    assert_sigma_is_minimal(10**log_epsilon, 10**log_delta, 10**log_sensitivity)


@pytest.mark.parametrize("epsilon", [0.0, 1e-300, 1e-30, 1e-8, 1.0, 2e3, 1e8, 1e12])
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-8, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 2e-16])
def test_sigma_is_private_far_outside_the_promised_range(epsilon: float, delta: float) -> None:
    sigma = mechanisms.gaussian_sigma(epsilon=epsilon, delta=delta)
    assert exact_delta(epsilon, exact_ratio(1.0, sigma)) <= delta


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_delta_has_twelve_digits_on_the_grid_and_is_never_understated(epsilon: float) -> None:
    """Kills rounding to nearest (below the truth in a third of the points), ratio and all."""
    for delta in DELTAS:
        sigma = mechanisms.gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=0.7)
        measured = mechanisms.gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=0.7)
        excess = measured / exact_delta(epsilon, exact_ratio(0.7, sigma)) - 1
        assert 0 <= excess < mpmath.mpf("1e-12")
        assert measured <= delta  # the margin of sigma covers the one of delta


@given(st.floats(-6.0, 3.0), st.floats(-3.0, 3.0))
@derandomised
def test_delta_exceeds_the_exact_one_by_a_few_ulps_of_sigma(
    log_epsilon: float, log_mu: float
) -> None:
    """Relative excess at most 16 ulps times 1 + |x| y, or the result is below 1e-300."""
    epsilon, mu = 10**log_epsilon, 10**log_mu
    measured = mechanisms.gaussian_delta(epsilon=epsilon, sigma=1.0, sensitivity=mu)
    exact = exact_delta(epsilon, mu)
    x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    assert measured >= exact
    if exact < 1e-300:
        assert measured < 1.1e-300
    elif measured < 1:  # a delta that rounds to 1 is cut there
        assert measured / exact - 1 <= 16 * 2.0**-52 * (1 + abs(x) * y)


@given(st.floats(-300.0, 20.0), st.floats(-37.0, 37.0), st.floats(-1.0, 9.0), st.floats(-150, 150))
@settings(derandomize=True, max_examples=400, deadline=None)
def test_delta_is_never_understated_anywhere(
    log_epsilon: float, x: float, log_mu: float, log_sensitivity: float
) -> None:
    """Where both terms nearly cancel, too: epsilon to 1e20 and mu to 1e9, with |x| <= 37."""
    sensitivity, mu = 10**log_sensitivity, 10**log_mu
    for epsilon in (10**log_epsilon, max(mu * (x + mu / 2), 0.0)):
        sigma = sensitivity / mu
        measured = mechanisms.gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=sensitivity)
        ratio = exact_ratio(sensitivity, sigma)
        if ratio / 2 - epsilon / ratio > -1e3:  # beyond, delta is below 1e-200000
            assert measured >= exact_delta(epsilon, ratio)
        assert 0 < measured <= 1


@given(st.floats(-3.0, 2.0), log_deltas)
@derandomised
def test_epsilon_is_never_understated_and_is_tight(log_mu: float, log_delta: float) -> None:
    assert_epsilon_is_minimal(10**log_delta, 10**log_mu)


@pytest.mark.parametrize("fraction", [1e-150, 1e-6, 0.5, 0.999, 1 - 1e-9, 1 - 1e-15])
@pytest.mark.parametrize("mu", [1e-149, 1e-20, 1e-4, 1.0, 5.0])
def test_epsilon_near_its_zero_and_for_tiny_ratios(mu: float, fraction: float) -> None:
    delta = fraction * math.erf(mu / math.sqrt(8))
    assert_epsilon_is_minimal(delta, mu)


@pytest.mark.parametrize("mu", [1e3, 1e8, 1e100])
@pytest.mark.parametrize("delta", [1e-300, 1e-5, 0.5, 0.99])
def test_epsilon_for_huge_ratios_follows_its_limit(mu: float, delta: float) -> None:
    """For mu -> inf the loss is N(mu^2/2, mu^2): epsilon -> mu^2/2 - mu Phi^-1(delta)."""
    with mpmath.workdps(60):
        quantile = mpmath.findroot(lambda z: mpmath.log(mpmath.ncdf(z) / delta), _start(delta))
        limit = mpmath.mpf(mu) ** 2 / 2 - mu * quantile
    measured = mechanisms.gaussian_epsilon(delta=delta, sigma=1.0, sensitivity=mu)
    # the second term of the profile shifts z by at most M(x) / y < 60 / mu
    assert abs(float((measured - limit) / limit)) < 1e-12 + 120 / mu**2


def _start(delta: float) -> float:
    return -math.sqrt(-2 * math.log(delta)) if delta < 0.4 else 0.1


def test_edges_have_their_limits() -> None:
    assert mechanisms.gaussian_epsilon(delta=0.0, sigma=1.0) == math.inf
    assert mechanisms.gaussian_epsilon(delta=1.0, sigma=1.0) == 0.0
    at_zero = mechanisms.gaussian_delta(epsilon=0.0, sigma=1.0)
    assert mechanisms.gaussian_epsilon(delta=at_zero, sigma=1.0) == 0.0
    assert 0 < mechanisms.gaussian_epsilon(delta=at_zero * (1 - 1e-15), sigma=1.0) < 1e-13
    assert mechanisms.gaussian_epsilon(delta=1e-5, sigma=1e-200) == math.inf
    assert mechanisms.gaussian_epsilon(delta=1e-5, sigma=1e200) == 0.0
    assert mechanisms.gaussian_delta(epsilon=1.0, sigma=1e-300, sensitivity=1e300) == 1.0
    assert 0 < mechanisms.gaussian_delta(epsilon=1.0, sigma=1e300, sensitivity=1e-300) < 1e-322
    assert 0 < mechanisms.gaussian_delta(epsilon=1e300, sigma=1.0) < 1e-322
    tiny = mechanisms.gaussian_delta(epsilon=0.0, sigma=1e150)
    assert tiny == pytest.approx(1e-150 / math.sqrt(2 * math.pi), rel=1e-14)
    assert mechanisms.gaussian_sigma(epsilon=0.0, delta=1e-300, sensitivity=1e300) == math.inf


@pytest.mark.parametrize("mu", [1e-6, 0.1, 1.0, 3.0, 30.0])
def test_at_epsilon_zero_delta_is_the_error_function(mu: float) -> None:
    measured = mechanisms.gaussian_delta(epsilon=0.0, sigma=1.0, sensitivity=mu)
    with mpmath.workdps(60):
        exact = mpmath.erf(mpmath.mpf(mu) / mpmath.sqrt(8))
        assert exact <= measured <= exact * (1 + mpmath.mpf("6e-15"))


@pytest.mark.parametrize("decades", [(-300, -6), (-6, 3), (3, 20)])
def test_seven_steps_are_enough(decades: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a random test of a law: 20000 fixed points, each must converge."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr(_profile, "_MAX_STEPS", 7)
    epsilon = 10 ** rng.uniform(*decades, 20_000)
    delta = np.concatenate([10 ** rng.uniform(-300, -0.3, 15_000), rng.uniform(0.5, 1, 5_000)])
    mu = _profile._profile_mu(epsilon, delta)
    assert np.isfinite(mu).all()
    assert np.isfinite(_profile._profile_epsilon(delta, np.minimum(mu, 1e100))).all()


@pytest.mark.parametrize("function", [_profile._profile_mu, _profile._profile_epsilon])
def test_no_convergence_is_an_error_and_no_number(
    function: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_profile, "_MAX_STEPS", 1)
    with pytest.raises(ArithmeticError, match="no convergence in 1 steps"):
        function(np.array([1e-3]), np.array([1e-2]))  # type: ignore[operator]


def test_scalars_give_floats_and_arrays_broadcast() -> None:
    assert type(mechanisms.gaussian_delta(epsilon=1, sigma=np.float32(2))) is float
    assert type(mechanisms.gaussian_epsilon(delta=np.array(1e-5), sigma=2)) is float
    assert type(mechanisms.gaussian_sigma(epsilon=1, delta=1e-5)) is float
    assert type(mechanisms.classical_gaussian_sigma(epsilon=1, delta=1e-5)) is float
    result = mechanisms.gaussian_sigma(
        epsilon=[[0.5], [1]], delta=[1e-5, 1e-6, 1e-7], sensitivity=[1.0, 2.0, 4.0]
    )
    assert result.shape == (2, 3)
    for (i, e), (j, (d, s)) in product(
        enumerate([0.5, 1]), enumerate([(1e-5, 1.0), (1e-6, 2.0), (1e-7, 4.0)])
    ):
        single = mechanisms.gaussian_sigma(epsilon=e, delta=d, sensitivity=s)
        assert result[i, j] == pytest.approx(single, rel=1e-14)


def test_long_arrays_equal_their_elements() -> None:
    """More than one block; kills a wrong block boundary."""
    epsilon = np.logspace(-5, 3, 9001)
    whole = mechanisms.gaussian_sigma(epsilon=epsilon, delta=1e-6)
    for i in (0, 4095, 4096, 8191, 8192, 9000):
        single = mechanisms.gaussian_sigma(epsilon=float(epsilon[i]), delta=1e-6)
        assert whole[i] == pytest.approx(single, rel=1e-14)


BAD = [
    (mechanisms.gaussian_delta, {"epsilon": 1.0, "sigma": 0.0}, "sigma must be positive"),
    (mechanisms.gaussian_delta, {"epsilon": [1.0, -2.0], "sigma": 1.0}, "got epsilon=.*-2"),
    (mechanisms.gaussian_epsilon, {"delta": 1.5, "sigma": 1.0}, r"delta must be in \[0, 1\]"),
    (mechanisms.gaussian_epsilon, {"delta": 9e-301, "sigma": 1.0}, "delta must be 0 or at least"),
    (mechanisms.gaussian_epsilon, {"delta": [0.1, 5e-324], "sigma": 1.0}, "delta must be 0 or at"),
    (mechanisms.gaussian_epsilon, {"delta": [0.0, 1e-320], "sigma": 1.0}, "delta must be 0 or at"),
    (mechanisms.gaussian_epsilon, {"delta": [0, 1e-320, 0.5], "sigma": 1}, "delta must be 0 or at"),
    (mechanisms.gaussian_sigma, {"epsilon": 1.0, "delta": 0.0}, r"delta must be in \(0, 1\)"),
    (mechanisms.gaussian_sigma, {"epsilon": 1.0, "delta": 1.0}, r"delta must be in \(0, 1\)"),
    (mechanisms.gaussian_sigma, {"epsilon": 1.0, "delta": 1e-301}, "delta must be at least 1e-300"),
    (mechanisms.gaussian_sigma, {"epsilon": 1e21, "delta": 0.1}, "epsilon must be at most 1e[+]20"),
    (
        mechanisms.gaussian_sigma,
        {"epsilon": 1.0, "delta": 0.1, "sensitivity": 0.0},
        "sensitivity must be positive",
    ),
    (
        mechanisms.classical_gaussian_sigma,
        {"epsilon": 0.0, "delta": 0.1},
        "epsilon must be positive",
    ),
    (mechanisms.laplace_scale, {"epsilon": 0.0}, "epsilon must be positive"),
    (mechanisms.laplace_scale, {"epsilon": 1e-300, "sensitivity": 1e300}, "must be positive and"),
]


@pytest.mark.parametrize(("function", "arguments", "message"), BAD)
def test_bad_values_name_the_argument_the_rule_and_the_value(
    function: object, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        function(**arguments)  # type: ignore[operator]


def test_arguments_are_keyword_only() -> None:
    with pytest.raises(TypeError, match="positional"):
        mechanisms.gaussian_sigma(1.0, 1e-5)  # type: ignore[call-overload]
