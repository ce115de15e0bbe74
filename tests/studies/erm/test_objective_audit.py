"""Exact densities on the line: they are densities, the guarantee holds and is needed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.stats import kstest

from dplit.linear.objective import objective_perturbation
from dplit.streams import stream
from dplit_studies.erm.objective_audit import audit_line, line_log_density, random_line_pairs

pytestmark = pytest.mark.claim("erm-beyond-objective")


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
def test_the_release_has_this_density(loss, delta):
    """Total mass 1, and 300 draws of the function against it: Kolmogorov-Smirnov at 1e-4."""
    u = np.array([1.0, -0.6, 0.8])
    rng = stream(0, "line-density", "noise")
    options = {
        "epsilon": 1.0,
        "delta": delta,
        "data_norm": 1.0,
        "regularization": 0.3,
        "loss": loss,
        "rng": rng,
    }
    models = [objective_perturbation(u[:, None], np.ones(3), **options) for _ in range(300)]
    w = np.linspace(-80, 80, 200_001)
    density = np.exp(line_log_density(w, u, models[0], loss=loss))
    cdf = cumulative_trapezoid(density, w, initial=0)
    assert cdf[-1] == pytest.approx(1, abs=1e-3)
    coefs = [float(model.coef[0]) for model in models]
    assert kstest(coefs, lambda x: np.interp(x, w, cdf)).pvalue > 1e-4


def test_the_worst_pairs_attain_nearly_all():
    pure = audit_line([1.0], [-1.0], epsilon=0.5, delta=0.0, regularization=200.0)
    assert 0.99 * 0.5 <= pure.log_ratio <= 0.5
    gaussian = audit_line([1.0], [-1.0], epsilon=1.0, delta=1e-5, regularization=2000.0)
    assert 0.9e-5 <= gaussian.delta <= 1e-5
    assert gaussian.log_ratio > 1.0  # not pure
    # the Gaussian form is attained for a strong penalty only
    weak = audit_line([1.0], [-1.0], epsilon=0.5, delta=1e-5, regularization=20.0)
    assert weak.delta < 1e-7


@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
def test_random_pairs_respect_the_guarantee(loss):
    rng = stream(0, "line-pairs", "data")
    for audit in random_line_pairs(15, epsilon=0.7, delta=0.0, loss=loss, rng=rng):
        assert audit.log_ratio <= 0.7 * (1 + 1e-9)
    for audit in random_line_pairs(15, epsilon=0.7, delta=1e-4, loss=loss, rng=rng):
        assert audit.delta <= 1e-4 * (1 + 1e-6)


def test_the_jacobian_is_spent_where_the_curvature_is() -> None:
    """h = 1/4 and lambda n = 1 make it cost ln 2; the solver's share of epsilon is 0.001.

    Kills a curvature of another half width, and a share of twice the size.
    """
    pair = {"epsilon": 1.5, "delta": 0.0, "regularization": 1.0}
    spent = audit_line([1.0], [-1.0], smoothing=0.25, **pair)
    assert 0.9999 * 1.499 < spent.log_ratio <= 1.499
