"""Gaussian prior: exact sampler against importance weights, bound against its derivation."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import norm

from dplit.papers.margin import gibbs
from dplit.streams import stream
from dplit_studies.margin.arcs import arc_law, constant_arcs
from tests.papers.margin.levels import levels_agree


def _records(m, d, name):
    rng = stream(0, name, "data")
    X = rng.standard_normal((m, d))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(m) > 0, 1, -1)
    return X, y


@pytest.mark.claim("margin-beyond-gibbs")
def test_sampler_in_the_plane_has_the_law_of_the_arcs():
    """2000 draws, chi-square on error levels, false alarm 1e-4. Kills epsilon for epsilon / 2."""
    X, y = _records(12, 2, "gibbs-plane")
    rng = stream(0, "gibbs-plane", "noise")
    errors = [gibbs.watched_prior_draw(X, y, epsilon=1.0, rng=rng).error for _ in range(2000)]
    arcs = constant_arcs(X, y)
    law = arc_law(arcs, epsilon=1.0)
    assert levels_agree(arcs.errors, law, np.rint(12 * np.array(errors))) > 1e-4


@pytest.mark.claim("margin-beyond-gibbs")
def test_the_span_changes_nothing():
    """d = 40 > m = 4: mean error and mean squared length against importance weights.

    4 standard errors of 1000 draws and 200,000 weights, false alarm 1e-4. Kills a lost orthogonal
    part (36 of the 40 units of squared length).
    """
    X, y = _records(4, 40, "gibbs-span")
    rng = stream(0, "gibbs-span", "noise")
    draws = [gibbs.watched_prior_draw(X, y, epsilon=2.0, rng=rng) for _ in range(1000)]
    prior = stream(0, "gibbs-span", "data", 1).standard_normal((200_000, 40))
    counts = np.count_nonzero((prior @ X.T) * y <= 0, axis=1)
    weights = np.exp(-counts)
    expected = weights @ counts / weights.sum() / 4
    errors = np.array([d.error for d in draws])
    assert abs(errors.mean() - expected) < 4 * errors.std() / math.sqrt(1000) + 0.002
    lengths = np.array([d.coef @ d.coef for d in draws])
    ideal = weights @ (prior**2).sum(1) / weights.sum()
    assert abs(lengths.mean() - ideal) < 4 * lengths.std() / math.sqrt(1000) + 0.1
    first = draws[0]
    assert first.error == np.mean(y * (X @ first.coef) <= 0)


@pytest.mark.claim("margin-beyond-gibbs")
@pytest.mark.parametrize(
    ("a", "m", "plain", "sharp"),
    [(0.5, 300, 0.1330, 0.1144), (0.7, 500, 0.0607, 0.0444), (0.2, 10**4, 0.0261, 0.0253)],
)
def test_bound_at_known_settings(a, m, plain, sharp):
    options = {"normalized_margin": a, "n_samples": m, "epsilon": 1.0, "beta": 0.05}
    assert gibbs.gaussian_prior_bound(sharpened=False, **options) == pytest.approx(plain, abs=6e-5)
    assert gibbs.gaussian_prior_bound(**options) == pytest.approx(sharp, abs=6e-5)


@pytest.mark.claim("margin-beyond-gibbs")
@pytest.mark.parametrize("sharpened", [True, False])
@pytest.mark.parametrize(("epsilon", "beta"), [(1.0, 0.05), (2.0, 1e-6)])
def test_bound_is_the_least_over_z(sharpened, epsilon, beta):
    z = np.linspace(0.01, 6, 6001)
    ratio = (math.sqrt(0.75) if sharpened else 1.0) / 0.5
    values = 2 * norm.sf(z) + 2 / (300 * epsilon) * (math.log(2 / beta) - norm.logsf(z * ratio))
    bound = gibbs.gaussian_prior_bound(
        normalized_margin=0.5, n_samples=300, epsilon=epsilon, beta=beta, sharpened=sharpened
    )
    assert bound == pytest.approx(values.min(), rel=1e-6)


@pytest.mark.claim("margin-beyond-gibbs")
def test_prior_mass_against_points_on_the_sphere():
    """At the threshold s the conditional error of a unit vector of margin a is norm.sf(z)."""
    z, a = 1.3, 0.6
    s = norm.isf(gibbs.prior_mass(z, normalized_margin=a))
    assert s * a / math.sqrt(1 - a * a) == pytest.approx(z, rel=1e-12)
    plain = norm.isf(gibbs.prior_mass(z, normalized_margin=a, sharpened=False))
    assert plain == pytest.approx(z / a, rel=1e-12)
    assert gibbs.prior_mass(z, normalized_margin=1.0) == 0.5


def test_margin_one_has_no_rest():
    """All points on the comparator's line: half of the prior makes no error."""
    options = {"normalized_margin": 1.0, "n_samples": 300, "epsilon": 1.0, "beta": 0.05}
    expected = 2 / 300 * (math.log(40) + math.log(2))
    assert gibbs.gaussian_prior_bound(**options) == pytest.approx(expected, rel=1e-12)


def _tilted(m, flips, seed):
    """Records in a narrow cone in the plane, the first labels flipped."""
    rng = stream(seed, "gibbs-tilted", "data")
    X = np.column_stack([np.ones(m), 0.3 * rng.standard_normal(m)])
    return X, np.where(np.arange(m) < flips, -1, 1)


@pytest.mark.claim("margin-beyond-gibbs")
def test_law_with_a_binding_floor_is_that_of_the_capped_score():
    """K = 20 caps N at 5.99 of 12: 2000 draws, chi-square on error levels, false alarm 1e-4.

    Kills the floor without effect (no cap), and one at the square root of K.
    """
    X, y = _tilted(12, 5, 0)
    rng = stream(0, "gibbs-floor", "noise")
    draw = partial(gibbs.watched_prior_draw, X, y, epsilon=1.0, rng=rng, max_proposals=20)
    errors = np.rint([12 * draw().error for _ in range(2000)])
    arcs = constant_arcs(X, y)

    def fit(cap):
        masses = arcs.length * np.exp(-0.5 * np.minimum(arcs.errors, cap))
        return levels_agree(arcs.errors, masses / masses.sum(), errors)

    assert fit(2 * math.log(20)) > 1e-4
    assert fit(math.inf) < 1e-8
    assert fit(math.log(20)) < 1e-8


@pytest.mark.claim("margin-beyond-gibbs")
def test_the_mean_number_of_proposals_is_public():
    """60 contradictory records at epsilon 50: a proposal is accepted with probability 1/3 at least.

    Without a floor the first acceptance would take e^750 proposals. The mean of 500 geometric
    numbers exceeds 3 + 4 sqrt(6/500) with probability below 1e-4.
    """
    X, y = np.ones((60, 1)), np.resize([1, -1], 60)
    rng = stream(0, "give-up", "noise")
    draws = [
        gibbs.watched_prior_draw(X, y, epsilon=50.0, rng=rng, max_proposals=3).proposals
        for _ in range(500)
    ]
    assert np.mean(draws) < 3 + 4 * math.sqrt(6 / 500)


@pytest.mark.claim("margin-beyond-gibbs")
def test_neighbours_give_up_equally_often_namely_never():
    """Exact law with the floor 1/200 on two neighbours: the log-ratio is at most epsilon, above .4.

    Kills an error after K proposals: 300 draws would meet it with probability above .99.
    """
    (X, y), (_, z) = _tilted(30, 12, 0), _tilted(30, 13, 0)
    laws = []
    for labels in (y, z):
        arcs = constant_arcs(X, labels)
        masses = arcs.length * np.maximum(np.exp(-0.5 * arcs.errors), 1 / 200)
        laws.append((arcs.start, masses / masses.sum() / arcs.length))
    angles = np.linspace(0, 2 * np.pi, 5001)[:-1]
    density = [values[np.searchsorted(start, angles, side="right") - 1] for start, values in laws]
    ratio = np.abs(np.log(density[0] / density[1])).max()
    assert 0.4 <= ratio <= 1.0
    for seed in range(300):
        rng = stream(seed, "gibbs-neighbours", "noise")
        draw = gibbs.gaussian_prior_draw(X, z, epsilon=1.0, rng=rng, max_proposals=200)
        assert draw.shape == (2,)


@pytest.mark.parametrize("d", [3, 40])
def test_only_weights_are_returned(d):
    """Kills a release with the training error and the number of proposals, which are not private,
    and a view of the proposals, among which are those that the data refused.
    """
    X, y = _records(12, d, "gibbs-release")
    released, watched = (
        draw(X, y, epsilon=1.0, rng=np.random.default_rng(0))
        for draw in (gibbs.gaussian_prior_draw, gibbs.watched_prior_draw)
    )
    assert type(released) is np.ndarray
    assert released.base is None
    np.testing.assert_array_equal(released, watched.coef)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("d", [3, 40])
def test_huge_records_change_neither_route_nor_law(d):
    """Powers of two up to 2^1000 leave every draw as it is; kills products that overflow."""
    X, y = _records(12, d, "gibbs-huge")
    far = X * np.ldexp(1.0, np.where(np.arange(12) % 3 == 0, 1000, -1000))[:, None]
    draws = [
        gibbs.gaussian_prior_draw(Z, y, epsilon=1.0, rng=np.random.default_rng(1)) for Z in (X, far)
    ]
    np.testing.assert_allclose(*draws, rtol=1e-12)
