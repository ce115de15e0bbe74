"""Noisy second moments at a budget of bits per entry: privacy, best split, and law of the fits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import ks_2samp, norm

from dplit.entries.variances import moment_variances
from dplit.papers.projection.capacity import peak_capacity
from dplit.papers.projection.finite_channels import capacity_bracket
from dplit.papers.projection.spectrum import spectrum
from dplit.streams import stream
from dplit_studies.projection.curves import moment_errors


def _binned(means):
    """Probabilities of fifty bins of unit normals with these means, one row each."""
    edges = np.linspace(means.min() - 5, means.max() + 5, 49)
    return np.diff(norm.cdf(edges, means[:, None]), axis=1, prepend=0, append=1)


@pytest.mark.claim("proj-beyond-moments")
@pytest.mark.parametrize(("epsilon", "d", "bound"), [(0.2, 1, 1.0), (0.5, 3, 2.0), (1.0, 2, 0.5)])
def test_no_prior_on_an_entry_leaks_more_than_the_budget(epsilon, d, bound):
    """Blahut and Arimoto on the channel of the worst table: others at 1, response at its bound."""
    noise = moment_variances(epsilon=epsilon, n_features=d, response_bound=bound, energy=1.5)
    x = np.linspace(-1, 1, 21)
    first = _binned(x * math.sqrt((d - 1) / noise.gram + bound**2 / noise.cross))
    second = _binned(x**2 / math.sqrt(2 * noise.gram))
    channel = (first[:, :, None] * second[:, None, :]).reshape(len(x), -1)
    assert capacity_bracket(channel, tolerance=1e-3).lower <= epsilon


@pytest.mark.claim("proj-beyond-moments")
def test_a_small_budget_is_used_up():
    noise = moment_variances(epsilon=0.2, n_features=800, response_bound=60.0, energy=800.0)
    power = 799 / noise.gram + 60.0**2 / noise.cross
    assert 0.99 * 0.2 < peak_capacity(power**-0.5).lower < 0.2


@pytest.mark.claim("proj-beyond-moments")
@pytest.mark.parametrize("energy", [0.1, 3.0, 800.0])
def test_the_split_is_the_best_one(energy):
    """Against a numerical minimum over all pairs that meet the budget."""
    d, bound, gain = 5, 3.0, 2 ** (2 * 0.7) - 1
    noise = moment_variances(epsilon=0.7, n_features=d, response_bound=bound, energy=energy)
    a = d - 1 + (1 + gain) / 8
    assert a / noise.gram + bound**2 / noise.cross == pytest.approx(gain, rel=1e-12)

    def cost(log_gram):
        gram = a / gain + math.exp(log_gram)
        return gram * energy + bound**2 / (gain - a / gram)

    best = minimize_scalar(cost, bounds=(-9, 9), method="bounded", options={"xatol": 1e-10}).fun
    assert noise.gram * energy + noise.cross == pytest.approx(best, rel=1e-8)


@pytest.mark.claim("proj-beyond-moments")
def test_fits_have_the_law_of_the_naive_ones():
    """Two-sample test, 1,000 draws, false alarm 1e-4: sees 0.7 of the noise in either moment."""
    rng = stream(5, "test-moments", "data")
    X = rng.uniform(-1, 1, (400, 4))
    y = X @ [2.0, -1.0, 1.0, 3.0] + rng.standard_normal(400)
    problem, n, top = spectrum(X, y), len(y), float(np.abs(y).max())
    known = {"n_samples": n, "largest": [top], "epsilons": [0.5], "rng": rng}
    fast = [moment_errors([problem], **known)[0, 0] for _ in range(1000)]
    noise = moment_variances(
        epsilon=0.5, n_features=4, response_bound=top, energy=3 * float(y @ y) / n
    )
    slow = []
    for _ in range(1000):
        E = rng.standard_normal((4, 4))
        gram = X.T @ X + (noise.gram / 2) ** 0.5 * (E + E.T)
        penalty, target = 2 * noise.gram**0.5, X.T @ y + noise.cross**0.5 * rng.standard_normal(4)
        while np.linalg.eigvalsh(gram)[0] + penalty <= 0:
            penalty *= 2
        theta = np.linalg.solve(gram + penalty * np.eye(4), target)
        slow.append(float(np.sum((X @ theta - y) ** 2)) / problem.residual)
    assert ks_2samp(fast, slow).pvalue > 1e-4
