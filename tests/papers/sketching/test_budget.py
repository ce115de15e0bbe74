"""The split of a budget between sum and count."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from dplit.papers.sketching.budget import (
    Setting,
    best_fraction,
    limit_fraction,
    minimax_fraction,
    printed_asymptote,
    printed_display,
    printed_fraction,
    safe_fraction,
    split_loss,
    split_nsr,
    threshold_loss,
)

settings_of = st.builds(
    Setting,
    n=st.floats(10, 1e8),
    epsilon=st.floats(1e-3, 10),
    n_components=st.integers(2, 2000),
    c0=st.floats(1, 50),
    alpha=st.floats(0.01, 1),
    count_factor=st.sampled_from([1.0, 2.0]),
)
PRINTED_ROWS = [
    (1e4, 0.1, 4.2314, 0.989329, 4.2308, 1.000),
    (1e5, 0.1, 0.043420, 0.993705, 0.041783, 1.039),
    (1e6, 0.1, 8.783e-4, 0.993788, 4.213e-4, 2.085),
    (1e7, 0.1, 1.045e-4, 0.993789, 4.573e-6, 22.85),
    (1e6, 1.0, 1.081e-4, 0.993789, 8.173e-6, 13.23),
]


@pytest.mark.claim("sketch-lem28")
@pytest.mark.claim("sketch-monotone")
@settings(max_examples=60, deadline=None)
@given(setting=settings_of, gamma=st.floats(0.05, 0.95))
def test_ratio_is_the_printed_expression(setting: Setting, gamma: float) -> None:
    """Directly from Section 6.5: sigma_xi = 2 sqrt 2 m / (gamma eps), sigma_zeta = sqrt 2 b."""
    n, epsilon, m, c0, alpha, factor = setting
    count = factor * 2.0 / ((1 - gamma) * epsilon) ** 2 / (2 * n**2)
    xi = (2 * np.sqrt(2) * m / (gamma * epsilon)) ** 2
    total = 1 - 1 / n + c0 / n * (1 / alpha + xi / n)
    assert split_nsr(gamma, setting) == pytest.approx((1 + count) * total - 1, rel=1e-7, abs=1e-12)


@pytest.mark.claim("sketch-lem28")
@settings(max_examples=60, deadline=None)
@given(setting=settings_of)
def test_best_fraction_cancels_the_cubic_and_minimises(setting: Setting) -> None:
    gamma, a, kappa = best_fraction(setting), setting.terms()[0], setting.kappa
    t = 1 - gamma
    assert t**3 == pytest.approx(a * (1 - 2 * t) + kappa * (1 - t) ** 3, rel=1e-6, abs=1e-13 * a)
    coefficients = [kappa + 1, -3, 2 * a + 3, -(a + 1)]
    roots = np.roots(coefficients)
    assert np.min(np.abs(roots - gamma)) < 1e-4
    for other in (gamma + 0.3 * t, gamma - 0.3 * min(t, gamma)):
        assert split_nsr(other, setting) > split_nsr(gamma, setting)


@pytest.mark.claim("sketch-lem28")
@pytest.mark.parametrize(("n", "eps", "printed", "gamma", "least", "loss"), PRINTED_ROWS)
def test_table_of_splits(
    n: float, eps: float, printed: float, gamma: float, least: float, loss: float
) -> None:
    setting = Setting(n, eps, 320, 5.0)
    asymptote = printed_asymptote(n=n, epsilon=eps)
    assert split_nsr(asymptote, setting) == pytest.approx(printed, rel=2e-4)
    assert best_fraction(setting) == pytest.approx(gamma, abs=6e-7)
    assert split_nsr(best_fraction(setting), setting) == pytest.approx(least, rel=2e-4)
    assert split_loss(setting, fraction=asymptote) == pytest.approx(loss, rel=1e-3)
    search = minimize_scalar(
        lambda u: float(split_nsr(1 - np.exp(u), setting)),
        bounds=(-9, -0.01),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert split_nsr(best_fraction(setting), setting) <= search.fun * (1 + 1e-12)
    assert 1 <= split_loss(setting, fraction=safe_fraction(setting)) < 1 + 3e-6


@pytest.mark.claim("sketch-lem28")
def test_closed_form_solves_the_truncated_cubic() -> None:
    """Against mpmath's real root for 1e-8 <= A <= 1e6; kappa = 0."""
    for a in (1e-8, 1e-4, 0.1, 1.0, 100.0, 1e6):
        ours = printed_fraction(n=1 / np.sqrt(a), epsilon=1.0)
        roots = mpmath.polyroots(
            [1, -3, 2 * mpmath.mpf(a) + 3, -(mpmath.mpf(a) + 1)], maxsteps=200, extraprec=200
        )
        real = min(roots, key=lambda r: abs(mpmath.im(r)))
        assert ours == pytest.approx(float(mpmath.re(real)), abs=1e-8)


@pytest.mark.claim("sketch-lem28")
def test_limits_of_the_best_fraction() -> None:
    tiny = Setting(1e4, 1e-9, 320, 5.0)
    assert best_fraction(tiny) == pytest.approx(0.5, abs=1e-6)
    huge = Setting(1e13, 1.0, 320, 5.0)
    limit = limit_fraction(n_components=320, c0=5.0)
    assert best_fraction(huge) == pytest.approx(limit, abs=1e-9)
    assert limit == pytest.approx(0.9937888, abs=5e-8)
    middle = Setting(1e4, 0.1, 100_000, 5.0)  # 1 << n eps << m sqrt(8 C0)
    t = (1e3) ** (-2 / 3)
    assert 1 - best_fraction(middle) == pytest.approx(t, rel=0.01)


def test_display_of_the_closed_form() -> None:
    for a in (1e4, 1e6, 1e8):
        assert printed_display(a) == pytest.approx(0.5, abs=2 / np.sqrt(a))
        assert printed_display(a, as_printed=True) == pytest.approx(-0.5, abs=2 / np.sqrt(a))
        exact = printed_fraction(n=1 / np.sqrt(a), epsilon=1.0)
        assert exact == pytest.approx(0.5, abs=1e-3)


@pytest.mark.claim("sketch-lem28")
@pytest.mark.parametrize(
    ("epsilon", "subsampled", "expected"),
    [
        (0.01, False, (1.062, 1.014, 1.004, 1.001)),
        (0.1, False, (1.231, 1.028, 1.004, 1.001)),
        (1.0, False, (4.347, 1.836, 1.221, 1.052)),
        (0.1, True, (1.148, 1.023, 1.004, 1.001)),
    ],
)
def test_loss_of_the_frozen_rule(
    epsilon: float, subsampled: bool, expected: tuple[float, ...]
) -> None:
    for ratio, loss in zip((2, 5, 10, 20), expected, strict=True):
        m = 32 * ratio
        n0 = m * max(1000 / ratio, math.sqrt(1000 / ratio) / epsilon)  # where the paper freezes
        setting = Setting(n0, epsilon, m, 5.0, 1 / m if subsampled else 1.0)
        gamma = printed_asymptote(n=n0, epsilon=epsilon)
        assert split_loss(setting, fraction=gamma) == pytest.approx(loss, abs=6e-4)
        short = threshold_loss(
            n_components=m, kd=32, epsilon=epsilon, c0=5.0, subsampled=subsampled
        )
        assert short == pytest.approx(loss, abs=6e-4)


@pytest.mark.claim("sketch-monotone")
@settings(max_examples=60, deadline=None)
@given(setting=settings_of, gamma=st.floats(0.01, 0.99), growth=st.floats(1.001, 100))
def test_ratio_decreases_with_the_count(setting: Setting, gamma: float, growth: float) -> None:
    larger = setting._replace(n=setting.n * growth)
    assert split_nsr(gamma, larger) < split_nsr(gamma, setting)


@pytest.mark.claim("sketch-monotone")
@pytest.mark.parametrize("n0", [1e3, 1e4, 1e6])
def test_minimax_fraction_is_that_of_the_smallest_count(n0: float) -> None:
    setting = Setting(n0, 0.1, 320, 5.0)
    found = minimax_fraction(setting, counts=n0 * np.array([1.0, 2.0, 10.0, 100.0]))
    assert found == pytest.approx(best_fraction(setting), abs=1e-6)


@pytest.mark.claim("sketch-lem28")
def test_safe_rule_and_its_cap() -> None:
    setting = Setting(1e5, 0.1, 320, 5.0)
    a, kappa = setting.terms()[0], setting.kappa
    assert safe_fraction(setting) == pytest.approx(1 - (a + kappa) ** (1 / 3), rel=1e-12)
    assert safe_fraction(Setting(10, 1e-3, 5, 1.0)) == 0.5


@pytest.mark.claim("sketch-lem28")
def test_safe_rule_loses_only_where_the_count_is_drowned() -> None:
    """Kills a cube root of A or of kappa alone: at least one of them is then too small."""
    worst = {}
    for product in (3.0, 100.0, 1e3, 1e6):
        cases = [
            Setting(product / 0.1, 0.1, m, c0) for m in (50, 320, 3200) for c0 in (1.5, 5.0, m)
        ]
        worst[product] = max(split_loss(s, fraction=safe_fraction(s)) for s in cases)
    assert worst[3.0] == pytest.approx(1.2205, abs=1e-3)
    assert max(worst[100.0], worst[1e3], worst[1e6]) < 1.0003
