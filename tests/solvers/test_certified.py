"""Fits of the private kernel machines: no record decides between an answer and an exception."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from sklearn.exceptions import NotFittedError

from dplit._numerics.rows import cos_sin_rows
from dplit._solvers import certified
from dplit._solvers.accelerated import accelerated_box_qp, box_steps
from dplit._solvers.certified import certified_minimiser, rounding_distance
from dplit.features import cos_sin_features, random_frequencies
from dplit.kernels._defaults import (
    KernelPlan,
    _expected_noise,
    default_regularization,
    default_width,
)
from dplit.kernels._feature_release import _certified_weights, _unit_sensitivity
from dplit.kernels.gaussian_process import GaussianProcessOracle
from dplit.kernels.machines import PrivateKernelClassifier, PrivateKernelMachine
from dplit.kernels.queries import QueryOracle
from dplit.papers.erm.minimisers import fit_linear
from dplit.streams import stream

LOSSES = ("squared", "pinball", "hinge", "logistic")
PLAN = KernelPlan("squared", 0.5, 1000, 200, 1.0, 1e-5, "gaussian_process", 20)


def _features(X, count, trial=0):
    rng = stream(0, "certified", "public", trial)
    X = np.asarray(X, dtype=float)
    return cos_sin_features(X, random_frequencies(X.shape[1], count, gamma=0.5, rng=rng))


def _targets(loss, m, rng):
    return rng.choice([-1.0, 1.0], m) if loss in ("hinge", "logistic") else rng.uniform(-1, 1, m)


@pytest.mark.claim("erm-beyond-gp")
def test_repeated_records_above_a_thousand_never_fail():
    """Two inputs, labels near 0: 24 fits on either side of a changed label, none may raise.

    A solver that stalled here refused 190 of 1264 fits on one data set and 1210 on its neighbour.
    """
    for trial in range(24):
        rng = stream(0, "certified-repeated", "data", trial)
        X, y = rng.integers(0, 2, (1100, 1)), rng.normal(0, 1e-3, 1100)
        for label in (1.0, 0.0):
            y[-1] = label
            model = PrivateKernelMachine(
                loss="pinball",
                tau=0.9,
                regularization=0.3,
                n_components=5,
                bounds=(-1.0, 1.0),
                epsilon=0.1,
                width=1.0,
                random_state=trial,
            )
            model.fit(X, y)
            bound = 0.9 / (0.3 * 1100)
            assert model.sensitivity_ == pytest.approx(bound * 1.02, rel=1e-10)


@pytest.mark.claim("erm-beyond-gp")
@pytest.mark.parametrize("labels", [(-1, -1), (-1, 1), (1, -1), (1, 1)])
def test_an_accuracy_below_float64_is_refused_whatever_the_labels(labels):
    """One text for all labels, from public numbers; the data once decided (586 to 3 of 600)."""
    model = PrivateKernelClassifier(regularization=0.00905, accuracy=1.2e-9, classes=(-1, 1))
    with pytest.raises(ValueError, match=r"accuracy must be at least 2e-07 for 2 records"):
        model.fit([[-0.629], [-0.113]], labels)
    assert not hasattr(model, "coef_")
    model.set_params(accuracy=1e-6, width=1.0)
    for seed in range(10):
        model.set_params(random_state=seed).fit([[-0.629], [-0.113]], labels)


@pytest.mark.claim("erm-beyond-gp")
@pytest.mark.parametrize("last", [-1, 1])
def test_an_accuracy_met_with_equality_is_met(last):
    """Six equal records, accuracy 1/2: zero is exactly at the allowed distance, up to rounding."""
    for seed in range(40):
        model = PrivateKernelClassifier(
            loss="logistic",
            accuracy=0.5,
            regularization=13.5635,
            n_components=10,
            classes=(-1, 1),
            random_state=seed,
        ).fit([[0.3, 0.1]] * 6, [1] * 5 + [last])
        assert np.isfinite(model.coef_).all()


@pytest.mark.claim("erm-beyond-gp")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("failure", ["raise", "nan", "far"])
def test_a_failing_fast_solver_is_replaced_within_the_distance(loss, failure, monkeypatch):
    """Kills a fallback without effect: each failure is returned unchanged without it."""
    rng = stream(0, "certified-fallback", "data")
    for X in (rng.normal(size=(120, 2)), rng.integers(0, 2, (120, 1))):
        phi, y = _features(X, 4), _targets(loss, 120, rng)
        options = {"loss": loss, "regularization": 0.05, "tau": 0.7}
        allowed = 0.01 * _unit_sensitivity(loss, n_records=120, regularization=0.05, tau=0.7)
        best = fit_linear(phi, y, tol=1e-18, **options)

        def broken(*args, failure=failure, **kwargs):
            if failure == "raise":
                raise LinAlgError("not positive definite")
            value = math.nan if failure == "nan" else 1e3
            return np.full(8, value) if loss in ("squared", "logistic") else (np.zeros(120), value)

        with monkeypatch.context() as patch:
            for name in ("box_weights", "ridge_weights", "logistic_weights"):
                patch.setattr(certified, name, broken)
            found = certified_minimiser(phi, y, distance=allowed, **options)
        assert np.linalg.norm(found - best.weights) <= allowed + best.distance


def test_the_number_of_accelerated_steps_suffices_without_a_certificate():
    """The gap of the mean after the proved number of steps, with ``done`` never true.

    Kills a quarter of the steps.
    """
    rng = stream(0, "certified-steps", "data")
    m, penalty, tol = 30, 2.0 * 0.05 * 30, 1e-3
    for phi in (np.ones((m, 1)), _features(rng.normal(size=(m, 2)), 3)):
        y = rng.choice([-1.0, 1.0], m)
        signed, curvature = phi * y[:, None], m / penalty
        steps = box_steps(curvature=curvature, tol=tol)
        points: list[np.ndarray] = []
        mean = accelerated_box_qp(
            signed,
            np.ones(m),
            np.full(m, 0.5),
            scale=1 / penalty,
            curvature=curvature,
            steps=20 * (steps // 20 + 1),
            done=lambda mean, x, seen=points: seen.append(x) or False,
        )
        weights = signed.T @ mean / penalty
        primal = np.maximum(1 - signed @ weights, 0).mean() + 0.05 * weights @ weights
        image = signed.T @ points[-1]
        dual = (points[-1].sum() - image @ image / (2 * penalty)) / m
        assert -1e-12 <= primal - dual <= tol / 4


def _nasty_records(m, d, rng):
    """Data sets of equal, duplicated, huge, tiny and collinear records."""
    base = rng.normal(size=(m, d))
    yield np.tile(base[:1], (m, 1))
    yield np.tile(base[: max(1, m // 4)], (8, 1))[:m]
    yield np.outer(base[:, 0], np.ones(d))
    huge = base.copy()
    huge[0] = 1.5e308
    yield huge
    tiny = base.copy()
    tiny[-1] = 5e-324
    yield tiny


@pytest.mark.claim("erm-beyond-gp")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("m", [1, 2, 130, 1040])
def test_what_the_machine_computes_moves_no_more_than_the_noise_covers(loss, m):
    """Neighbours among nasty data sets, and any order: distance of weights against sensitivity.

    Every pair replaces one record. Another order has the same minimiser, so it moves the weights by
    no more than the allowed distance on both sides.
    """
    rng = stream(0, f"certified-float-{loss}", "data", m)
    options = {"loss": loss, "regularization": 0.02, "tau": 0.7, "accuracy": 0.01}
    for X in _nasty_records(m, 2, rng):
        X = np.clip(X, -1e150, 1e150)
        y = _targets(loss, m, rng)
        other, last = X.copy(), y.copy()
        other[-1], last[-1] = X[0] + 1.0, -y[-1]
        sides = [
            _certified_weights(_features(Z, 4), t, **options) for Z, t in ((X, y), (other, last))
        ]
        assert np.linalg.norm(sides[0][0] - sides[1][0]) <= sides[0][1]
        order = rng.permutation(m)
        turned, sensitivity = _certified_weights(_features(X, 4)[order], y[order], **options)
        assert np.linalg.norm(turned - sides[0][0]) <= 0.02 * sensitivity


@pytest.mark.claim("erm-beyond-gp")
@pytest.mark.parametrize("release", ["gaussian_process", "gamma", "queries"])
def test_huge_records_and_labels_speak_of_nothing(release):
    """No exception, no warning (an error under pytest), nothing infinite, one statement."""
    X, y = np.zeros((40, 2)), np.zeros(40)
    statements = set()
    for row in ([0.0, 0.0], [1.5e308, 0.2], [-1e308, 1.7e308], [5e-324, 0.0]):
        for label in (0.0, 1e308, -1.7e308, 5e-324):
            X[0], y[0] = row, label
            for bounds in ((-1.0, 1.0), (0.0, 1e-150), (-1e150, 1e150)):
                model = PrivateKernelMachine(
                    bounds=bounds,
                    regularization=0.1,
                    width=0.3,
                    release=release,
                    data_norm=1.0,
                    random_state=0,
                ).fit(X, y)
                assert np.isfinite(model.coef_).all()
                assert np.isfinite(model.predict([row])).all()
                if bounds == (-1.0, 1.0):
                    statements.add(model.privacy_statement_)
            model = PrivateKernelClassifier(
                classes=(0, 1),
                regularization=0.1,
                width=1e-99,
                release=release,
                data_norm=1.0,
                random_state=0,
            ).fit(X, y)
            assert np.isfinite(model.decision_function(X)).all()
    assert len(statements) == 1


@pytest.mark.claim("erm-beyond-gp", "erm-beyond-queries")
@pytest.mark.parametrize("oracle", [GaussianProcessOracle, QueryOracle])
def test_the_oracles_answer_beside_a_huge_record(oracle):
    """Unclamped, the plain kernel below warns of overflow (an error here) for one record alone."""

    def kernel(X, Z):
        return np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=-1))

    budget = {"delta": 1e-5} if oracle is GaussianProcessOracle else {"n_queries": 3}
    for record in ([1.5e308, -1e308], [5e-324, 0.0]):
        answers = oracle(
            kernel,
            [[0.0, 0.0], record],
            [0.5, 0.5],
            epsilon=1.0,
            sensitivity=0.1,
            rng=stream(0, "certified-oracle", "noise"),
            **budget,
        ).answer([[0.0, 0.1], [1.0, 1.0]])
        assert np.isfinite(answers).all()


@pytest.mark.claim("erm-beyond-gp")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("fast", [True, False])
def test_rows_that_are_streamed_give_the_same_weights(loss, fast, monkeypatch):
    """Kills a product of blocks in the solvers or their fallback that loses one of them."""
    rng = stream(0, "certified-streamed", "data")
    X, W = rng.normal(size=(1500 if fast else 150, 2)), rng.normal(size=(2, 4))
    options = {"loss": loss, "regularization": 0.05, "tau": 0.7, "accuracy": 0.01}
    if not fast:  # the fallback takes as many products as its worst case
        options |= {"regularization": 0.5, "accuracy": 0.1}

        def broken(*args, **kwargs):
            raise LinAlgError("not positive definite")

        for name in ("box_weights", "ridge_weights", "logistic_weights"):
            monkeypatch.setattr(certified, name, broken)
    y = _targets(loss, len(X), rng)
    held, streamed = (
        _certified_weights(cos_sin_rows(X, W, **sizes), y, **options)
        for sizes in ({}, {"held": 0, "block": 0})
    )
    np.testing.assert_allclose(streamed[0], held[0], rtol=1e-10, atol=1e-10)
    assert streamed[1] == held[1]


def test_the_default_accuracy_follows_what_float64_certifies():
    """A hundredth, or twice the least: a million records at the default penalty are not refused."""
    phi, y = _features(np.eye(3), 4), np.ones(3)
    for regularization in (0.1, 1e-13):
        options = {"loss": "squared", "regularization": regularization, "tau": 0.5}
        bound = _unit_sensitivity("squared", regularization=regularization, n_records=3, tau=0.5)
        least = rounding_distance(
            "squared", n_records=3, dimension=8, regularization=regularization
        )
        _, paid = _certified_weights(phi, y, accuracy=None, **options)
        assert paid / bound == pytest.approx(1.0 + 2.0 * max(0.01, 2.0 * least / bound), rel=1e-12)
    assert 0.01 < 2.0 * least / bound < 0.99
    penalty = default_regularization(replace(PLAN, loss="hinge", n_records=10**6))
    at = {"n_records": 10**6, "regularization": penalty}
    bound = _unit_sensitivity("hinge", tau=0.5, **at)
    assert 0.01 < 2.0 * rounding_distance("hinge", dimension=200, **at) / bound < 0.2


def test_a_refused_refit_leaves_no_model():
    """Kills numbers of one fit beside the parameters or the guarantee of another."""
    X, y = np.eye(4), np.ones(4)
    model = PrivateKernelMachine(bounds=(-1.0, 1.0), regularization=0.1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="accuracy must be at least"):
        model.set_params(loss="pinball", accuracy=1e-12, random_state=1, n_components=3).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.claim("erm-beyond-gp")
def test_with_classes_given_a_foreign_label_contributes_nothing():
    """As a missing one; where no label is of a class, the fit refuses."""
    X = np.arange(6.0).reshape(-1, 1)
    model = PrivateKernelClassifier(classes=("no", "yes"), regularization=0.1, random_state=0)
    names = ["yes", "no", "yes", "no", "yes", "no"]
    expected = model.fit(X, [*names[:-1], None]).coef_
    assert (expected != model.fit(X, names).coef_).any()
    for foreign in ("maybe", "", "Yes"):
        np.testing.assert_array_equal(model.fit(X, [*names[:-1], foreign]).coef_, expected)
    model.fit(X, ["yes"] * 6)  # one class alone
    assert model.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="classes"):
        model.fit(X, ["maybe"] * 6)


def test_the_rounding_distance_is_small_where_it_should_be_and_grows():
    for loss in LOSSES:
        at = {"n_records": 10_000, "dimension": 200, "regularization": 0.01}
        bound = _unit_sensitivity(loss, n_records=10_000, regularization=0.01, tau=0.5)
        assert rounding_distance(loss, **at) < 0.01 * bound
        assert rounding_distance(loss, **{**at, "regularization": 1e-13}) > 1e3 * bound
    with pytest.raises(ValueError, match="regularization must be so large"):
        PrivateKernelMachine(bounds=(-1.0, 1.0), regularization=1e-14).fit(np.eye(3), np.ones(3))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("release", ["gaussian_process", "gamma", "queries"])
def test_the_default_penalty_follows_records_and_budget(loss, release):
    """Noise falls with records and budget, and with it the penalty; never below 1 / m."""
    plan = replace(PLAN, loss=loss, release=release)
    plans = [replace(plan, n_records=n) for n in (10**2, 10**4, 10**6)]
    sizes = [default_regularization(each) for each in plans]
    budgets = [default_regularization(replace(plan, epsilon=e)) for e in (0.1, 1.0, 10.0, 1e7)]
    assert sizes == sorted(sizes, reverse=True)
    assert budgets == sorted(budgets, reverse=True)
    assert sizes[0] > 3 * sizes[-1]
    assert budgets[-1] >= 1e-3
    noise = [_expected_noise(p, each) for p, each in zip(sizes, plans, strict=True)]
    assert noise == sorted(noise, reverse=True)


def test_the_defaults_see_public_numbers_alone():
    """Same number of records, other records: same penalty, same warning."""
    texts, penalties = set(), set()
    for scale in (0.0, 1.0, 1e308):
        X, y = np.full((30, 2), scale), np.full(30, scale)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            penalties.add(PrivateKernelMachine(bounds=(0.0, 1.0)).fit(X, y).regularization_)
        texts.add(tuple(str(w.message) for w in caught))
    assert len(texts) == len(penalties) == 1
    assert "30 records and epsilon=1" in next(iter(texts))[0]
    assert default_width(9) == pytest.approx(1.05)


def test_the_defaults_are_useful_on_functions_that_nobody_chose():
    """Three columns, 2,000 records, epsilon = 1: well above the constant, and near lambda's best.

    Fixed seeds; a penalty of 0.01 or a width of 5 scores below 0.2 here.
    """
    rng = stream(0, "certified-useful", "data")
    X = rng.uniform(-1, 1, (2500, 3))
    y = np.sin(2 * X[:, 0]) - X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=2500)

    def score(**changes):
        models = [
            PrivateKernelMachine(bounds=(-2.0, 2.0), random_state=seed, **changes)
            for seed in range(5)
        ]
        return np.median([m.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]) for m in models])

    default = score()
    assert default > 0.5
    assert default > max(score(regularization=p) for p in (0.01, 0.03, 0.1, 0.3)) - 0.1
