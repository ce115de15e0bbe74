"""Algorithm 2: map and adjoint, clipping that predictions do not see, inflated lengths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.accounting import gdp_budget
from dplit.margins.balls import Ball
from dplit.margins.compressed import compress, draw_projection, expand, printed_dimension
from dplit.margins.plans import BoostedPlan, DescentPlan, plan_learning
from dplit.papers.margin.separable import margin_data
from dplit.streams import stream
from tests.margins.planned import projected

SETTING = {"margin": 0.4, "radius": 1.0, "data_norm": 1.0, "epsilon": 4.0, "delta": 1e-6}


def _data(m=2000, d=100, name="compressed"):
    return margin_data(m, d, margin=0.5, rng=stream(0, name, "data"))


def _learn(X, y, **changes):
    return projected(
        X,
        y,
        **{
            **SETTING,
            "n_components": 60,
            "public_rng": stream(0, "map", "public"),
            "rng": stream(0, "weights", "noise"),
            **changes,
        },
    )


@pytest.mark.claim("margin-alg2")
def test_published_dimension():
    k = printed_dimension(n_samples=10_000, epsilon=1.0, delta=1e-6, beta=0.05)
    log = math.log(1e6)
    assert k == round(1e4 * math.log(2e5) / (log * math.sqrt(log) * math.log(20))) == 793
    assert printed_dimension(n_samples=2, epsilon=0.01, delta=1e-6, beta=0.05) == 1


@pytest.mark.claim("margin-alg2")
@pytest.mark.parametrize("kind", ["fast", "sign"])
def test_weights_come_back_as_the_adjoint(kind):
    rng = stream(0, "adjoint", "public")
    phi = draw_projection(37, 20, kind=kind, rng=rng)
    X, w = rng.standard_normal((9, 37)), rng.standard_normal(20)
    np.testing.assert_allclose(X @ expand(w, phi), compress(X, phi) @ w, rtol=1e-10)
    both = expand(np.stack([w, 2 * w]), phi)
    np.testing.assert_allclose(both[1], 2 * both[0], rtol=1e-12)
    maps = [
        draw_projection(37, 20, kind=kind, rng=stream(0, "mean", "public", t)) for t in range(400)
    ]
    lengths = [np.sum(compress(X[:1], p) ** 2) / np.sum(X[0] ** 2) for p in maps]
    assert np.mean(lengths) == pytest.approx(1.0, abs=5 * math.sqrt(2 / 20 / 400))


@pytest.mark.claim("margin-alg2")
@pytest.mark.parametrize("solver", ["noisy_gradient", "phased"])
def test_learner_learns_in_the_doubled_ball(solver):
    X, y = _data(4000)
    model = _learn(X, y, solver=solver)
    assert np.linalg.norm(model.compressed_coef) <= 2.0 + 1e-12
    assert np.mean(np.sign(X @ model.coef) == y) > 0.9
    np.testing.assert_allclose(model.coef, expand(model.compressed_coef, model.projection))


@pytest.mark.claim("margin-alg2")
@pytest.mark.parametrize("inflation", [1.0, 2.0])
def test_plans_have_inflated_lengths(inflation):
    """What privacy rests on: clip radius, ball and noise all at s times their size."""
    balls = [Ball(0.4, 1.0, 1.0).inflated(inflation)]
    budget = {"epsilon": 4.0, "delta": 1e-6, "n_steps": 100}
    (one,) = plan_learning((200, 100), balls, **budget).descents
    assert isinstance(one, DescentPlan)
    assert one.ball == (0.4, inflation, inflation)
    mu = gdp_budget(epsilon=4.0, delta=1e-6)
    assert one.mu == pytest.approx(mu)
    assert one.sigma == pytest.approx(2 * inflation / 0.4 * 10 / (200 * mu))
    four = plan_learning((200, 100), balls * 4, **budget).descents
    assert [plan.mu for plan in four] == pytest.approx([mu / 2] * 4)


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_phased_runs_share_both_parts_of_the_budget(runs):
    """Phased runs add up, in epsilon and in delta: kills a delta that each of them has whole. The
    ledger does not see that one: composed exactly, the runs stay within the promise even so."""
    balls = [Ball(0.4, 1.0, 1.0)] * runs
    plan = plan_learning((300, 100), balls, epsilon=4.0, delta=1e-6, solver="phased", beta=0.2)
    assert len(plan.descents) == runs
    level = gdp_budget(epsilon=2.0 / runs, delta=1e-6 / runs) / math.sqrt(4)
    for each in plan.descents:
        assert isinstance(each, BoostedPlan)
        assert (each.runs, each.choice, each.replacement) == (4, 2.0 / runs, False)
        assert each.mu == pytest.approx(level, rel=1e-12)
    kept = plan_learning((300, 100), balls, epsilon=4.0, delta=1e-6, solver="phased", choice=0.8)
    assert kept.epsilon == math.nextafter(3.2, 0.0)  # rounded down
    assert kept.descents[0].choice == pytest.approx(1.6 / runs)
