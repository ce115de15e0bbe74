"""Objective perturbation: exact densities on the line, the union bound on the plane, bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, quad
from scipy.linalg import LinAlgError
from scipy.special import expit
from scipy.stats import gamma, kstest, norm

from dplit.audit import ledger
from dplit.linear import objective
from dplit.linear.objective import (
    _SOLVER_SHARE,
    objective_noise,
    objective_perturbation,
    smallest_regularization,
)
from dplit.mechanisms import gaussian_delta
from dplit.streams import stream

H = 0.5


def _slope(margins, loss):
    if loss == "logistic":
        return -expit(-margins)
    return -np.clip((1 + H - margins) / (2 * H), 0, 1)


def _curvature(margins, loss):
    if loss == "logistic":
        return expit(margins) * expit(-margins)
    return np.where(np.abs(margins - 1) < H, 0.5 / H, 0.0)


def _log_density(w, u, model, loss, factor=1.0, weights=1.0):
    """Logarithm of the density of the released weight on the line, from the noise it needs."""
    c = np.broadcast_to(weights, u.shape)
    regularization, noise = model.regularization, model.noise * factor
    margins = np.multiply.outer(w, u)
    b = -(_slope(margins, loss) @ (c * u)) - 2 * regularization * len(u) * w
    jacobian = _curvature(margins, loss) @ (c * u**2) + 2 * regularization * len(u)
    if model.delta == 0:
        return math.log(noise / 2) - noise * np.abs(b) + np.log(jacobian)
    return norm.logpdf(b, scale=noise) + np.log(jacobian)


def _pairs():
    rng = stream(0, "objective", "data")
    yield np.array([1.0]), np.array([-1.0])
    yield np.array([1.0, -1.0, 0.4]), np.array([1.0, -1.0, -1.0])
    for n in (2, 5, 20):
        u = rng.uniform(-1, 1, n)
        v = u.copy()
        v[-1] = rng.choice([-1.0, 1.0])
        yield u, v


def _released(u, *, loss, epsilon, delta, regularization):
    """Parameters that the function itself uses for the records u."""
    return objective_perturbation(
        u[:, None],
        np.ones(len(u)),
        epsilon=epsilon,
        delta=delta,
        data_norm=1.0,
        regularization=regularization,
        loss=loss,
        smoothing=H,
        rng=stream(0, "objective", "noise"),
    )


@pytest.mark.claim("erm-beyond-objective")
@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_pure_guarantee_exactly_on_the_line(loss, epsilon):
    """The log-ratio of the exact densities stays within epsilon on every pair."""
    w = np.linspace(-30, 30, 60_001)
    for u, v in _pairs():
        model = _released(u, loss=loss, epsilon=epsilon, delta=0.0, regularization=1e-4)
        ratio = _log_density(w, u, model, loss) - _log_density(w, v, model, loss)
        assert np.abs(ratio).max() <= epsilon * (1 + 1e-9)


@pytest.mark.claim("erm-beyond-objective")
def test_pure_noise_is_needed():
    """Huberised hinge, one record turned round: the noise part of epsilon is attained."""
    u, v = np.array([1.0]), np.array([-1.0])
    model = _released(u, loss="huberised_hinge", epsilon=1.0, delta=0.0, regularization=50.0)
    w = np.linspace(-3, 3, 60_001)
    here, there = (_log_density(w, x, model, "huberised_hinge") for x in (u, v))
    ratio = here - there
    assert 0.98 <= np.abs(ratio).max() <= 1.0


@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_weights_of_at_most_one_keep_the_guarantee_and_larger_ones_break_it(loss, delta):
    """Exact densities on the line, where the exchanged record may bring another weight.

    Planted: one of 2 (of 4 for the logistic loss), which the noise does not cover; kills a noise
    that would cover anything.
    """

    def hockey_stick(pair, weights, epsilon):
        model = _released(pair[0], loss=loss, epsilon=epsilon, delta=delta, regularization=50.0)
        reach = (40.0 / model.noise if delta == 0 else 12 * model.noise) / 100.0 + 0.04
        w = np.linspace(-reach, reach, 40_001)
        p, q = (
            np.exp(_log_density(w, points, model, loss, weights=c))
            for points, c in zip(pair, weights, strict=True)
        )
        assert np.trapezoid(p, w) == pytest.approx(1.0, abs=1e-3)
        return np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0.0), w)

    allowed = max(delta, 1e-9) * (1 + 1e-6)
    for pair in list(_pairs())[:4]:
        for c, other in ((0.3, 0.3), (1.0, 0.2), (0.0, 1.0)):
            weights = np.full((2, len(pair[0])), 0.5)
            weights[:, -1] = c, other
            assert hockey_stick(pair, weights, 1.0) <= allowed
            assert hockey_stick(pair[::-1], weights[::-1], 1.0) <= allowed
    turned = np.array([1.0]), np.array([-1.0])
    planted = 2.0 if loss == "huberised_hinge" else 4.0  # half the slope at the zero model
    found = [hockey_stick(turned, np.full((2, 1), c), 1.0) for c in (1.0, planted)]
    assert found[0] <= allowed
    assert found[1] > max(1e-2, 10 * allowed)


@pytest.mark.claim("erm-beyond-objective")
@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (1.0, 1e-2), (6.0, 1e-6)])
def test_gaussian_guarantee_exactly_on_the_line(loss, epsilon, delta):
    """The hockey-stick divergence of the exact densities, by quadrature, is at most delta."""
    for u, v in _pairs():
        model = _released(u, loss=loss, epsilon=epsilon, delta=delta, regularization=0.01)
        reach = 12 * (model.noise + len(u)) / (2 * model.regularization * len(u))
        w = np.linspace(-reach, reach, 200_001)
        p, q = (np.exp(_log_density(w, points, model, loss)) for points in (u, v))
        assert np.trapezoid(p, w) == pytest.approx(1, abs=1e-3)
        for first, second in ((p, q), (q, p)):
            excess = np.maximum(first - math.exp(epsilon) * second, 0)
            assert np.trapezoid(excess, w) <= delta * (1 + 1e-6)


@pytest.mark.claim("erm-beyond-objective")
def test_gaussian_noise_is_needed():
    """Huberised hinge under strong regularisation: within 10 % of delta is attained."""
    u, v = np.array([1.0]), np.array([-1.0])
    model = _released(u, loss="huberised_hinge", epsilon=1.0, delta=1e-4, regularization=500.0)
    w = np.linspace(-0.4, 0.4, 400_001)
    p, q = (np.exp(_log_density(w, x, model, "huberised_hinge")) for x in (u, v))
    assert 0.9e-4 <= np.trapezoid(np.maximum(p - math.e * q, 0), w) <= 1e-4


@pytest.mark.claim("erm-beyond-objective")
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-5), (1.0, 1e-2), (8.0, 1e-3)])
def test_union_bound_on_the_plane(epsilon, delta):
    """Replaced records at any angle: the expectation over b in the plane, on a fine grid."""
    r, jacobian = 0.7, 0.2 * epsilon
    sigma = objective_noise(epsilon=epsilon, delta=delta, data_norm=r, jacobian=jacobian)
    ticks = np.linspace(-9, 9, 721)
    b = np.stack(np.meshgrid(ticks, ticks), axis=-1)
    weight = norm.pdf(b).prod(axis=-1) * (ticks[1] - ticks[0]) ** 2
    totals = []
    for angle in np.linspace(0, np.pi, 7):
        u, v = r * np.array([1.0, 0.0]), r * np.array([math.cos(angle), math.sin(angle)])
        P, Q = sigma * b @ u, -sigma * b @ v
        largest = np.maximum(P, 0) + np.maximum(Q, 0)
        loss = jacobian + (largest + 2 * r**2) / sigma**2
        totals.append(float(np.sum(weight * -np.expm1(np.minimum(epsilon - loss, 0)))))
    assert max(totals) <= delta * (1 + 1e-3)
    assert totals[-1] == pytest.approx(max(totals))  # the worst is the record turned round
    assert totals[-1] >= 0.8 * delta


def _spent(left, sigma, sensitivity):
    """Delta of Gaussian noise in the objective, at the epsilon that its Jacobian leaves."""
    mu = sensitivity / sigma

    def integrand(x):
        return norm.pdf(x) * -math.expm1(min(left - mu**2 / 2 - mu * x / 2, 0.0))

    start = (left - mu**2 / 2) / (mu / 2)
    second = quad(integrand, start, start + 12, epsabs=1e-18)[0]
    return float(gaussian_delta(epsilon=left, sigma=sigma, sensitivity=sensitivity)) + 2 * second


@pytest.mark.claim("erm-beyond-objective")
@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-6), (1.0, 1e-5), (5.0, 0.01)])
def test_noise_solves_its_equation(epsilon, delta):
    sigma = objective_noise(epsilon=epsilon, delta=delta, data_norm=3.0, jacobian=0.1)
    assert _spent(epsilon - 0.1, sigma, 6.0) == pytest.approx(delta, rel=1e-6)
    pure = objective_noise(epsilon=epsilon, delta=0.0, data_norm=3.0, jacobian=0.1)
    assert pure == pytest.approx((epsilon - 0.1) / 6)


@pytest.mark.claim("erm-beyond-objective")
def test_jacobian_costs_what_it_says():
    """200 random pairs of Hessians: the ratio of determinants never exceeds the bound."""
    rng = stream(0, "objective-jacobian", "data")
    for _ in range(200):
        n, d = int(rng.integers(1, 8)), int(rng.integers(1, 5))
        X = rng.normal(size=(n + 1, d))
        X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
        lam = float(rng.uniform(1e-3, 0.2))
        common = 2 * lam * n * np.eye(d) + 0.25 * (X[: n - 1].T @ X[: n - 1])
        pair = [np.linalg.det(common + 0.25 * np.outer(x, x)) for x in X[n - 1 :]]
        assert pair[0] / pair[1] <= 1 + 0.25 / (2 * lam * n) + 1e-9
    least = smallest_regularization(n_records=50, epsilon=1.2, data_norm=2.0)
    assert math.log1p(0.25 * 4 / (2 * least * 50)) == pytest.approx(0.6)
    hinge = smallest_regularization(
        n_records=50, epsilon=1.2, data_norm=2.0, loss="huberised_hinge", smoothing=0.1
    )
    assert hinge == pytest.approx(20 * least)


@pytest.mark.claim("erm-beyond-objective")
@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
def test_the_function_draws_from_its_density(loss, delta):
    """Kolmogorov-Smirnov, 500 draws against the exact law, level 1e-4; kills half the noise."""
    u = np.array([1.0, -0.6, 0.8, 0.3])
    rng = stream(0, "objective-law", "noise")
    models = [
        objective_perturbation(
            u[:, None],
            np.ones(4),
            epsilon=1.0,
            delta=delta,
            data_norm=1.0,
            loss=loss,
            regularization=0.3,
            smoothing=H,
            rng=rng,
        )
        for _ in range(500)
    ]
    coefs = np.array([model.coef[0] for model in models])
    w = np.linspace(-60, 60, 400_001)
    for factor, passes in ((1.0, True), (2.0, False)):
        density = np.exp(_log_density(w, u, models[0], loss, factor))
        cdf = cumulative_trapezoid(density, w, initial=0)
        result = kstest(coefs, lambda x, cdf=cdf: np.interp(x, w, cdf))
        assert (result.pvalue > 1e-4) == passes


@pytest.mark.claim("erm-beyond-objective")
def test_with_a_huge_budget_it_is_the_minimiser():
    """Against scikit-learn's logistic regression on several columns; rows are clipped."""
    from sklearn.linear_model import LogisticRegression

    rng = stream(0, "objective-fit", "data")
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=200) > 0, 1, -1)
    model = objective_perturbation(
        X, y, epsilon=1e9, data_norm=1.0, regularization=0.01, rng=stream(0, "o", "noise")
    )
    clipped = X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    peer = LogisticRegression(C=1 / (2 * 0.01 * 200), fit_intercept=False, tol=1e-12)
    np.testing.assert_allclose(model.coef, peer.fit(clipped, y).coef_[0], atol=1e-5)
    assert (model.regularization, model.neighboring) == (0.01, "replace_one")
    tight = objective_perturbation(
        X, y, epsilon=0.1, data_norm=1.0, regularization=1e-9, rng=stream(0, "o", "noise")
    )
    least = smallest_regularization(n_records=200, epsilon=0.1, data_norm=1.0)
    assert tight.regularization == least
    assert tight.noise == pytest.approx((0.1 * (1 - _SOLVER_SHARE) - 0.05) / 2)


@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
def test_weights_multiply_losses(loss):
    """Against scikit-learn's weights, and zeros against records that are not there.

    Kills weights of margins in the place of losses.
    """
    from sklearn.linear_model import LogisticRegression

    rng = stream(0, "objective-weights", "data")
    X = rng.uniform(-1, 1, (300, 3)) / 2
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=300) > 0.3, 1, -1)
    weights = np.where(y == 1, 1.0, 0.2)
    options = {"epsilon": 1e9, "loss": loss, "regularization": 0.001}
    weighted = _models(X, y, weights=weights, **options).coef
    if loss == "logistic":
        peer = LogisticRegression(C=1 / (2 * 0.001 * 300), fit_intercept=False, tol=1e-12)
        peer.fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(weighted, peer.coef_[0], atol=1e-5)
    assert np.abs(weighted - _models(X, y, **options).coef).max() > 0.05
    ones = _models(X, y, weights=np.ones(300), **options).coef
    np.testing.assert_array_equal(ones, _models(X, y, **options).coef)
    half = np.arange(300) < 150
    kept = _models(X * half[:, None], y, **options).coef
    np.testing.assert_allclose(_models(X, y, weights=half * 1.0, **options).coef, kept, atol=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
def test_values_slopes_and_curvatures_have_the_same_weights(loss, monkeypatch):
    """The gradient is the value's, and Newton is there in as many steps as of losses alone.

    Kills weights that one of the three has not: the minimiser would be the same, after a search.
    """
    rng = stream(0, "objective-weights", "data", 1)
    U, b = rng.uniform(-1, 1, (80, 3)), rng.normal(size=3)
    weights = np.full(80, 1e-3)
    problem = objective._Problem(U, 1e-3 * b, 1e-3, loss, H, weights)
    w, step = rng.normal(size=3), 1e-4 * np.eye(3)
    slopes = [(problem.value(w + one) - problem.value(w - one)) / 2e-4 for one in step]
    np.testing.assert_allclose(problem.gradient(w), slopes, atol=1e-9)
    calls = []
    plain = objective._Problem(U, b, 1.0, loss, H)  # a thousand times the same
    kept = objective._Problem.gradient
    monkeypatch.setattr(
        objective._Problem, "gradient", lambda self, w: (calls.append(self), kept(self, w))[1]
    )
    found = [problem.newton(1e-12), plain.newton(1e-9)]
    np.testing.assert_allclose(*found, atol=1e-6)
    assert sum(one is problem for one in calls) <= 2 + sum(one is plain for one in calls) <= 22


def test_labels_of_another_length_are_refused():
    with pytest.raises(ValueError, match="y must hold 2 labels -1 or"):
        _models([[1.0], [0.5]], [1])


def test_a_jacobian_that_takes_all_is_refused():
    with pytest.raises(ValueError, match="epsilon - jacobian must be positive"):
        objective_noise(epsilon=1.0, delta=0.0, data_norm=1.0, jacobian=1.0)


def _models(X, y, **changes):
    options = {"epsilon": 1.0, "data_norm": 1.0, "regularization": 0.01, **changes}
    return objective_perturbation(X, y, rng=stream(0, "objective-solver", "noise"), **options)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
def test_newton_that_fails_is_replaced_and_nobody_sees_it(loss, delta, monkeypatch):
    """Both routes are within the public distance of one minimiser; kills a bare ``raise``."""
    rng = stream(0, "objective-solver", "data")
    X, y = rng.normal(size=(40, 3)), rng.choice([-1, 1], 40)
    distances = []
    true_distance = objective._solver_distance
    monkeypatch.setattr(
        objective,
        "_solver_distance",
        lambda *a, **k: distances.append(true_distance(*a, **k)) or distances[-1],
    )
    fast = _models(X, y, loss=loss, delta=delta).coef

    def fail(self, goal):
        raise LinAlgError("singular")

    monkeypatch.setattr(objective._Problem, "newton", fail)
    slow = _models(X, y, loss=loss, delta=delta).coef
    assert np.linalg.norm(fast - slow) <= 2 * distances[0] < 1e-7
    monkeypatch.setattr(objective._Problem, "newton", lambda self, goal: np.full(3, math.nan))
    np.testing.assert_array_equal(_models(X, y, loss=loss, delta=delta).coef, slow)


def test_the_solvers_error_is_hidden_by_noise_of_its_own(monkeypatch):
    """A distance of 1 gives noise of rate share / 2; 400 norms, Gamma(3), level 1e-4.

    Kills noise at half the scale, as the planted control shows.
    """
    monkeypatch.setattr(objective, "_solver_distance", lambda *a, **k: 1.0)
    monkeypatch.setattr(objective, "_minimise", lambda problem, **k: np.zeros(3))
    rng = stream(0, "objective-hidden", "noise")
    norms = [
        np.linalg.norm(
            objective_perturbation(
                np.eye(3), [1, 1, 1], epsilon=0.5, data_norm=1.0, regularization=1.0, rng=rng
            ).coef
        )
        for _ in range(400)
    ]
    law = gamma(3, scale=2.0 / (0.5 * _SOLVER_SHARE)).cdf
    assert kstest(norms, law).pvalue > 1e-4
    assert kstest(np.array(norms) / 2, law).pvalue < 1e-4


@pytest.mark.claim("erm-beyond-objective")
@pytest.mark.parametrize("epsilon", [0.3, 5.0])
def test_both_noises_come_to_the_stated_guarantee(epsilon, monkeypatch):
    """The noise in the objective leaves (e, d), the solver's noise t for either data set: together
    (e + 2t, exp(t) d). Computed from what was drawn, by quadrature, to one part in a million.

    Kills a delta that is not lowered by exp(-t) (3e-4 too much here), a solver's share that is not
    taken from epsilon, or taken once instead of twice.
    """
    seen = {}
    distance = objective._solver_distance

    def watch(*args, **options):
        seen["distance"] = distance(*args, **options)
        return seen["distance"]

    monkeypatch.setattr(objective, "_solver_distance", watch)
    delta = 1e-4
    with ledger() as book:
        model = objective_perturbation(
            [[0.6, 0.8], [0.0, 1.0]],
            [1, -1],
            epsilon=epsilon,
            delta=delta,
            data_norm=2.0,
            regularization=7.0,
            rng=stream(0, "objective-sum", "noise"),
        )
    t = seen["distance"] / list(book)[1].scale
    jacobian = math.log1p(0.25 * 2.0**2 / (2 * 7.0 * 2))
    spent = _spent(epsilon - 2 * t - jacobian, model.noise, 4.0)
    assert math.exp(t) * spent == pytest.approx(delta, rel=1e-6)
    assert 0 < 2 * t <= epsilon / 1000


@pytest.mark.parametrize("loss", ["logistic", "huberised_hinge"])
def test_nasty_records_neither_raise_nor_warn(loss):
    """Huge, denormal, repeated and zero records; pytest turns every warning into an error."""
    X = np.zeros((60, 2))
    for row in ([1.5e308, 1e308], [5e-324, 0.0], [-1e308, 1e-300], [0.6, 0.8]):
        X[0] = row
        assert np.isfinite(_models(X, np.ones(60), loss=loss).coef).all()
        assert np.isfinite(_models(np.tile(row, (1500, 1)), -np.ones(1500), loss=loss).coef).all()


def test_a_foreign_label_counts_as_minus_one():
    X = [[1.0], [0.5], [0.2]]
    expected = _models(X, [1, -1, -1]).coef
    for label in (0, 3, -1e308):
        np.testing.assert_array_equal(_models(X, [1, label, -1]).coef, expected)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"epsilon": 5e-324}, "epsilon must be between 1e-50 and"),
        ({"regularization": 1e300}, "regularization must be between 1e-100 and"),
        ({"regularization": 1e-300}, "regularization must be between 1e-100 and"),
        ({"smoothing": 1e-310, "loss": "huberised_hinge"}, "smoothing must be between 1e-50 and"),
        ({"delta": "x"}, "delta must be a real number"),
        ({"weights": [1.0, 1.0 + 1e-9]}, "weights must be 2 numbers in .0, 1., got others"),
        ({"weights": [-1e-9, 1.0]}, "weights must be 2 numbers in"),
        ({"weights": [1.0]}, "weights must be 2 numbers in"),
        ({"weights": [np.nan, 1.0]}, "weights must"),
    ],
)
def test_extremes_are_refused_before_a_draw(change, rule):
    """Kills a division by what underflows, and a solver that fails on what was drawn."""
    good = {"epsilon": 1.0, "data_norm": 1.0, "regularization": 0.1}
    rng = stream(0, "objective-ends", "noise")
    with ledger() as book, pytest.raises((TypeError, ValueError), match=rule):
        objective_perturbation([[0.5], [-0.5]], [1.0, -1.0], **{**good, **change}, rng=rng)
    assert not len(book)
