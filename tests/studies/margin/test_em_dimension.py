"""The experiment on dimension: data, exact test error, and draws below the bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.papers.margin.gibbs import gaussian_prior_bound
from dplit.papers.margin.separable import margin_data
from dplit.streams import stream
from dplit_studies.margin import dimension_experiment

pytestmark = pytest.mark.claim("margin-exp-em-dim")


@pytest.mark.parametrize("d", [3, 20])
def test_exact_error_by_simulation(d):
    """2e5 test points, 4 standard errors, false alarm 1e-4. Kills the dimension off by one."""
    rng = stream(0, f"sphere-error-{d}", "data")
    w = rng.standard_normal(d)
    w[0] = 0.25 * np.linalg.norm(w[1:])
    X, y = margin_data(200_000, d, margin=0.5, rng=rng, lean=True)
    exact = dimension_experiment.sphere_error(w, margin=0.5)
    seen = np.mean(y * (X @ w) <= 0)
    assert abs(seen - exact) < 4 * math.sqrt(exact * (1 - exact) / 200_000)
    assert dimension_experiment.sphere_error(-w, margin=0.5) == pytest.approx(1 - exact, rel=1e-9)


def test_curve_is_below_its_bound_and_reproducible():
    """Three draws in d = 10 and 400: at most beta = 1e-3 each above the bound by its proof."""
    options = {"n_samples": 200, "margin": 0.7, "epsilon": 1.0}
    curve = dimension_experiment.dimension_curve([10, 400], [3, 3], seed=0, name="curve", **options)
    at = {"normalized_margin": 0.7, "n_samples": 200, "epsilon": 1.0}
    assert curve.worst_train <= gaussian_prior_bound(**at, beta=1e-3)
    assert curve.n_draws == 6
    assert curve.mean(0).mean.shape == (2,)
    assert curve.bound == pytest.approx(gaussian_prior_bound(**at, beta=0.05), rel=1e-12)
    again = dimension_experiment.dimension_curve([10, 400], [2, 1], seed=0, name="curve", **options)
    np.testing.assert_array_equal(again.draws[0], curve.draws[0][:2])
    np.testing.assert_array_equal(again.draws[1], curve.draws[1][:1])


def test_flipped_labels_are_learnt_around_and_the_rival_runs_beside():
    """Eight sets of 200: the share of flips has s.e. .005; kills flips that are not applied."""
    options = {"n_samples": 200, "margin": 0.7, "epsilon": 1.0, "flips": 0.05}
    curve = dimension_experiment.dimension_curve(
        [10, 1200], [8, 2], seed=0, name="flips", **options
    )
    assert curve.mean(0).mean[0] == pytest.approx(0.05, abs=0.03)
    assert curve.mean(1).mean[0] < 0.03
    rival = curve.mean(3)
    assert rival.mean.shape == (1,)  # up to 1,000 dimensions
    assert rival.mean[0] < 0.02
    assert curve.mean(2).mean[0] > 100
