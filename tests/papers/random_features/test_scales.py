"""Noise scales of the compared methods, pinned and re-derived; settings of text and code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dplit.mechanisms import gamma_norm_noise
from dplit.papers.random_features.scales import (
    _correct_scale,
    _fairness_scale,
    _gamma_scale,
    _sgd_scale,
    crossing_records,
    published_scale,
)
from dplit_studies.random_features.published_settings import SETTINGS, _setting, differences

DELTA = 1e-5


@pytest.mark.claim("dprf-fig1", "dprf-fig2", "dprf-fig4", "dprf-fig5")
def test_published_variance_is_that_of_algorithm_1() -> None:
    for n in (1500, 20000):
        for epsilon in (0.25, 1.0):
            expected = 2 * math.log(1.25 / DELTA) * 16 / (n * epsilon**2)
            assert published_scale(n, epsilon=epsilon, delta=DELTA) ** 2 == pytest.approx(expected)
    assert _correct_scale(epsilon=1.0, delta=DELTA) ** 2 == pytest.approx(375.554, abs=1e-3)
    assert _correct_scale(epsilon=0.5, delta=DELTA) ** 2 == pytest.approx(1502.217, abs=1e-2)
    half = published_scale(10_000, epsilon=0.5, delta=DELTA, sensitivity=2.0) ** 2
    assert half == pytest.approx(0.0375553, rel=1e-5)


@pytest.mark.claim("dprf-fig1", "dprf-fig3", "dprf-fig5", "dprf-fig6")
def test_sgd_variance_is_pinned() -> None:
    assert _sgd_scale(1000, epsilon=1.0, delta=DELTA) ** 2 == pytest.approx(0.56360, abs=5e-6)
    assert _sgd_scale(1000, epsilon=0.5, delta=DELTA) ** 2 == pytest.approx(2.25442, abs=5e-6)
    slow = _sgd_scale(1204, epsilon=0.5, delta=DELTA, learning_rate=1 / (16 * 1204))
    fast = _sgd_scale(1204, epsilon=0.5, delta=DELTA)
    # Delta is eta^2 (1 + sqrt(eta T))^2 up to a constant
    assert fast / slow == pytest.approx(256 * 4 / (1 + 0.25) ** 2, rel=1e-12)
    assert _sgd_scale(50, epsilon=1.0, delta=DELTA, steps=50_000_000) > 0  # the branch C = sqrt(a)


@pytest.mark.claim("dprf-fig3")
def test_curves_cross_where_the_variances_are_equal() -> None:
    """Between the marks 1400 and 1600 of the figure for N = 2m; at 1221 for the text's N."""
    m = crossing_records()
    assert m == 1482
    for k, ahead in ((m - 1, False), (m, True)):
        sgd = _sgd_scale(k, epsilon=1.0, delta=DELTA)
        assert (sgd < published_scale(2 * k, epsilon=1.0, delta=DELTA)) is ahead
    assert crossing_records(components="m+200") == 1221
    assert crossing_records(components="correct") == 180
    with pytest.raises(ValueError, match="let the curves cross before m = 100000"):
        crossing_records(delta=1e-300)


@pytest.mark.claim("dprf-fig1", "dprf-fig2")
def test_gamma_scale_is_the_root_mean_square_of_the_noise() -> None:
    """20,000 draws of the shared sampler: within 5 se (0.7 % each; false alarm 6e-7)."""
    n, epsilon = 30, 0.5
    rate = epsilon * math.sqrt(n) / 4.0
    z = gamma_norm_noise(n, rate=rate, rng=np.random.default_rng(0), size=20_000)
    squares = np.sum(z**2, axis=1) / n
    expected = _gamma_scale(n, epsilon=epsilon) ** 2
    assert abs(squares.mean() - expected) < 5 * squares.std() / math.sqrt(20_000)
    assert expected == pytest.approx(31 / 30 * 16 / 0.25, rel=1e-13)


@pytest.mark.claim("dprf-fig7", "dprf-fig8")
def test_fairness_noise_is_five_delta_over_root_two_epsilon() -> None:
    assert _fairness_scale(4000, epsilon=0.05) ** 2 == pytest.approx(1.0, rel=1e-12)
    assert _fairness_scale(4000, epsilon=0.3) ** 2 == pytest.approx(1 / 6, rel=1e-12)
    shares = [
        _fairness_scale(4000, epsilon=e) / published_scale(4000, epsilon=e, delta=DELTA)
        for e in (0.05, 0.3, 0.5)
    ]
    np.testing.assert_allclose(shares, [0.1632, 0.3997, 0.5160], atol=5e-5)


def test_differences_of_text_and_code() -> None:
    assert _setting("fig1").frequency_sd == 40.0
    assert _setting("fig1", "text").frequency_sd == pytest.approx(math.sqrt(40))
    assert {d["field"] for d in differences("fig5")} == {
        "records",
        "test_records",
        "frequency_sd",
        "sensitivity",
        "learning_rates",
    }
    assert {d["field"] for d in differences("fig8")} == {
        "records",
        "test_records",
        "labels",
        "noise",
    }
    assert differences("tab2-wine") == []
    rates = next(d for d in differences("fig6") if d["field"] == "learning_rates")
    assert rates["code"] == (1.0, 1 / 4, 1 / 16)
    assert rates["text"] == (1.0, 1 / 2, 1 / 8)


def test_settings_are_consistent() -> None:
    for versions in SETTINGS.values():
        for s in versions.values():
            assert list(s.components) == sorted(s.components)
            assert s.delta == 1e-5
            assert s.frequency_sd > 0
    assert len(_setting("fig7").epsilons) == 20
    assert _setting("fig7").epsilons[0] == 0.05
    assert _setting("fig7").epsilons[-1] == pytest.approx(0.3)
    assert _setting("fig3a").components == tuple(2 * m for m in range(1000, 2001, 200))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _correct_scale(epsilon=1.0, delta=1.0), "delta must be in"),
        (lambda: _sgd_scale(5, epsilon=1.0, delta=DELTA, steps=0), "steps must be"),
        (lambda: _sgd_scale(5, epsilon=1.0, delta=DELTA, learning_rate=-1), "learning_rate"),
        (lambda: _setting("fig99"), "experiment must be one of"),
        (lambda: _setting("tab2-wine", "code"), "version must be one of"),
        (lambda: differences("x"), "experiment must be one of"),
    ],
)
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()
