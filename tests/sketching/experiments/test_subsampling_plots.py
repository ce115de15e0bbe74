"""Figures of subsampling: what they draw is what the functions compute."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dplit.mechanisms import gaussian_sigma
from dplit.sketching.experiments.subsampling_plots import (
    noise_figure,
    price_figure,
    sigma_ratios,
    total_figure,
)
from dplit.sketching.subsampling.gaussian import fourier_sigma
from dplit.sketching.subsampling.masks import fourier_epsilon, mask_law
from dplit.sketching.utility import subsampling_curve


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.mark.claim("sketch-fig6")
def test_figure_6_draws_23():
    epsilons, betas = np.geomspace(1e-2, 1e2, 9), [1.0, 0.1, 0.01]
    (axes,) = noise_figure(epsilons, betas).axes
    lines = axes.get_lines()
    assert len(lines) == 3
    for line, beta in zip(lines, betas, strict=True):
        np.testing.assert_allclose(line.get_xdata(), epsilons)
        inner = np.log1p(np.expm1(epsilons) / beta)
        np.testing.assert_allclose(line.get_ydata(), 1 / (beta * inner) ** 2, rtol=1e-9)
    assert len({line.get_linestyle() for line in lines}) == 3  # not by colour alone


@pytest.mark.claim("sketch-fig7")
def test_figure_7_draws_both_ways_where_they_exist():
    rates = np.geomspace(1e-4, 1, 9)
    sizes = {"n_samples": 10_000, "n_components": 1000, "c0": 5.0}
    (axes,) = total_figure(rates, [0.1, 1.0], **sizes).axes
    lines = axes.get_lines()
    assert len(lines) == 4
    assert lines[0].get_xdata().min() == pytest.approx(1e-3)
    assert lines[1].get_xdata().min() == pytest.approx(1e-4)
    for line, sampled, epsilon in zip(
        lines, ["features", "data"] * 2, [0.1, 0.1, 1.0, 1.0], strict=True
    ):
        kept = rates[rates >= line.get_xdata().min() * (1 - 1e-9)]
        exact = subsampling_curve(kept, sampled=sampled, epsilon=epsilon, **sizes)
        np.testing.assert_allclose(line.get_ydata(), exact, rtol=1e-12)


@pytest.mark.claim("sketch-beyond-subsampled")
def test_price_figure_and_its_ratios():
    alphas, budgets = [0.25, 1.0], [(1.0, 1e-5)]
    ratios = sigma_ratios(alphas, budgets, n_components=16)
    law = mask_law("bernoulli", 16, alpha=0.25)
    plain = gaussian_sigma(epsilon=1.0, delta=1e-5, sensitivity=4.0)
    expected = [fourier_sigma(law, epsilon=1.0, delta=1e-5) / plain, 1.0]
    np.testing.assert_allclose(ratios[1.0, 1e-5], expected, rtol=1e-12)
    left, right = price_figure(alphas, ratios, n_components=16).axes
    data, independent, fixed = (line.get_ydata() for line in left.get_lines())
    assert data[0] > independent[0] > fixed[0] == 1.0
    exact = fourier_epsilon(law, scale=2**0.5 * 16)
    assert independent[0] == pytest.approx(exact, rel=1e-12)
    np.testing.assert_allclose(right.get_lines()[0].get_ydata(), expected)
    np.testing.assert_allclose(right.get_lines()[1].get_ydata(), [4.0, 1.0])
