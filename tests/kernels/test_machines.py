"""Private kernel machines: scikit-learn's checks, the law of the releases, audits, bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.base import clone

from dplit.audit import (
    audit_hits,
    chi_square_noise_test,
    gamma_noise_test,
    gaussian_dp_lower_bound,
    run_controls,
    search_neighbours,
)
from dplit.features import cos_sin_features
from dplit.kernels._feature_release import _ball_points, _certified_weights, _weights_from_answers
from dplit.kernels.lipschitz import least_squares_stability
from dplit.kernels.machines import PrivateKernelClassifier, PrivateKernelMachine
from dplit.mechanisms import gaussian_sigma
from dplit.papers.erm.gamma_release import gamma_privacy_loss
from dplit.papers.erm.minimisers import fit_linear
from dplit.streams import stream

RELEASES = ("gaussian_process", "gamma", "queries")

EASY = PrivateKernelMachine(
    epsilon=1e6, regularization=1e-4, width=5.0, bounds=(-4.0, 4.0), n_queries=300, data_norm=4.0
)
EASY_CLASSIFIER = PrivateKernelClassifier(
    epsilon=1e6, regularization=1e-3, width=2.0, n_queries=300, data_norm=4.0
)
HUGE = [
    EASY,
    clone(EASY).set_params(loss="pinball", release="gamma"),
    clone(EASY).set_params(release="queries"),
    EASY_CLASSIFIER,
    clone(EASY_CLASSIFIER).set_params(loss="logistic", release="gamma"),
    clone(EASY_CLASSIFIER).set_params(release="queries"),
]


def _data(n=60, d=2, name="kernel-machine"):
    rng = stream(0, name, "data")
    X = rng.standard_normal((n, d))
    return X, np.tanh(X[:, 0] + X[:, 1] / 2)


def _model(**changes):
    defaults = {
        "bounds": (-1.0, 1.0),
        "random_state": 0,
        "data_norm": 3.0,
        "regularization": 0.1,
        "width": 1.0,
    }
    return PrivateKernelMachine(**{**defaults, **changes})


def _classifier(**changes):
    defaults = {"random_state": 0, "data_norm": 3.0, "regularization": 0.1, "width": 1.0}
    return PrivateKernelClassifier(**{**defaults, **changes})


@pytest.mark.claim("erm-beyond-gp", "erm-beyond-gamma")
@pytest.mark.parametrize("release", RELEASES[:2])
@pytest.mark.parametrize(("loss", "tau"), [("squared", 0.5), ("pinball", 0.8)])
def test_without_noise_it_is_the_minimiser_in_its_features(release, loss, tau):
    X, y = _data()
    model = _model(epsilon=1e12, bounds=(2.0, 8.0), release=release, loss=loss, tau=tau)
    model.fit(X, 5 + 3 * y)
    features = cos_sin_features(X, model.frequencies_)
    exact = fit_linear(features, y, loss=loss, regularization=0.1, tau=tau, tol=1e-14)
    slack = 3 * (0.01 * model.sensitivity_ + exact.distance) + 1e-4
    assert np.linalg.norm(model.coef_ - 3 * exact.weights) <= slack
    assert model.intercept_ == 5.0
    new = stream(0, "kernel-machine-new", "data").standard_normal((5000, 2))
    expected = 5 + cos_sin_features(new, model.frequencies_) @ model.coef_
    np.testing.assert_allclose(model.predict(new), np.clip(expected, 2, 8), rtol=1e-12)


@pytest.mark.claim("erm-beyond-gp")
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_classifier_is_the_sign_of_the_released_function(loss):
    X, y = _data(300)
    names = np.where(y > 0, "up", "down")
    model = _classifier(epsilon=1e12, loss=loss, regularization=0.01).fit(X, names)
    features = cos_sin_features(X, model.frequencies_)
    exact = fit_linear(features, np.sign(y), loss=loss, regularization=0.01)
    slack = 0.01 * model.sensitivity_ + exact.distance + 1e-6
    assert np.linalg.norm(model.coef_ - exact.weights) <= slack
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, features @ model.coef_, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(scores > 0, "up", "down"))
    assert model.classes_.tolist() == ["down", "up"]
    numbers = clone(model).fit(X, np.sign(y))
    np.testing.assert_array_equal(numbers.predict(X), np.where(scores > 0, 1.0, -1.0))
    assert "the two labels taken as public" in numbers.privacy_statement_
    turned = clone(model).set_params(classes=("up", "down")).fit(X, names)
    np.testing.assert_array_equal(turned.predict(X), model.predict(X))
    assert np.mean(turned.decision_function(X) * scores < 0) > 0.95
    assert "labels given" in turned.privacy_statement_


@pytest.mark.claim("erm-beyond-gp", "erm-beyond-gamma", "erm-beyond-queries")
@pytest.mark.parametrize("release", RELEASES)
def test_sensitivity_and_statement(release):
    """The solver's certified distance is added for both neighbours."""
    X, y = _data()
    cases = [
        (
            _model(loss="squared"),
            least_squares_stability(regularization=0.1, n_records=60, label_bound=1.0),
        ),
        (_model(loss="pinball", tau=0.8), 0.8 / 6),
        (_classifier(loss="hinge"), 1 / 6),
        (_classifier(loss="logistic", accuracy=0.1), 1 / 6),
    ]
    for model, bound in cases:
        labels = y if isinstance(model, PrivateKernelMachine) else y > 0
        model.set_params(release=release, epsilon=0.5, delta=1e-6).fit(X, labels)
        expected = bound * (1 + 2 * (model.accuracy or 0.01))
        assert model.sensitivity_ == pytest.approx(expected, rel=1e-12)
        scale = {
            "gaussian_process": gaussian_sigma(epsilon=0.5, delta=1e-6, sensitivity=expected),
            "gamma": expected / 0.5,
            "queries": 20 * expected / 0.5,
        }[release]
        assert model.noise_scale_ == pytest.approx(scale, rel=1e-12)
        assert model.delta_ == (1e-6 if release == "gaussian_process" else 0.0)
        assert (model.epsilon_, model.neighboring_) == (0.5, "replace_one")
        assert f"(0.5, {model.delta_:g})-differential privacy" in model.privacy_statement_


def _noise_of(release, count, **changes):
    """What the noise adds to the coefficients, over fits of the public estimator."""
    X, y = _data(30)
    generator = stream(0, f"kernel-noise-{release}", "noise")
    residuals, model = [], None
    for _ in range(count):
        model = _model(random_state=generator, release=release, **changes).fit(X, y)
        features = cos_sin_features(X, model.frequencies_)
        exact, _ = _certified_weights(
            features, y, loss="squared", regularization=0.1, tau=0.5, accuracy=0.01
        )
        residuals.append(model.coef_ - exact)
    return np.array(residuals), model


@pytest.mark.claim("erm-beyond-gp")
def test_gaussian_noise_has_the_stated_deviation():
    """Chi-square on 40,000 coefficients, level 1e-4, with null and planted (5 %) controls."""
    noise, model = _noise_of("gaussian_process", 200)

    def alarm(factor):
        return chi_square_noise_test(factor * noise.ravel(), sigma=model.noise_scale_).violated()

    assert run_controls(alarm, planted=0.95).sound
    assert alarm(1.05)


@pytest.mark.claim("erm-beyond-gamma")
def test_gamma_noise_has_the_stated_law():
    """300 norms of 40 coefficients against Gamma(40), level 1e-4, planted control at 5 %."""
    noise, model = _noise_of("gamma", 300, n_components=20)
    norms = np.linalg.norm(noise, axis=1)

    def alarm(factor):
        test = gamma_noise_test(factor * norms, scale=model.noise_scale_, shape=40.0)
        return test.violated()

    assert run_controls(alarm, planted=0.95).sound
    assert alarm(1.05)


@pytest.mark.claim("erm-beyond-queries")
def test_answers_carry_the_stated_noise():
    """Residuals of 60 x 50 answers, recomputed from the public generator of each fit.

    At regularisation of the post-processing known, the answers are found from the coefficients:
    50 answers, 200 coefficients. Level 1e-4, planted control at 20 %.
    """
    X, y = _data(30)
    moduli = []
    for seed in range(60):
        model = _model(random_state=seed, release="queries", n_queries=50).fit(X, y)
        public, _ = np.random.default_rng(seed).spawn(2)
        public.standard_normal((2, 100))  # frequencies
        points = _ball_points(50, 2, radius=3.0, rng=public)
        asked = cos_sin_features(points, model.frequencies_)
        inner = asked @ asked.T
        scale = model.noise_scale_
        dual = np.linalg.lstsq(asked.T, model.coef_, rcond=None)[0]
        answers = (inner + 2 * scale**2 * np.eye(50)) @ dual
        exact, _ = _certified_weights(
            cos_sin_features(X, model.frequencies_),
            y,
            loss="squared",
            regularization=0.1,
            tau=0.5,
            accuracy=0.01,
        )
        moduli.append(np.abs(answers - asked @ exact))
    moduli = np.concatenate(moduli)

    def alarm(factor):
        return gamma_noise_test(factor * moduli, scale=scale).violated()

    assert run_controls(alarm, planted=0.8).sound
    assert alarm(1.2)


@pytest.mark.claim("erm-beyond-queries")
def test_public_points_fill_the_ball_and_the_posterior_mean_is_one():
    """Radii of 20,000 uniform points: mean 3/4 in three dimensions, 5 standard errors."""
    points = _ball_points(20_000, 3, radius=2.0, rng=stream(0, "ball", "public"))
    radii = np.linalg.norm(points, axis=1)
    assert radii.max() <= 2.0
    assert abs(radii.mean() - 1.5) < 5 * radii.std() / math.sqrt(20_000)
    assert np.abs(points.mean(axis=0)).max() < 5 * 2 / math.sqrt(5 * 20_000)
    rng = stream(0, "posterior", "data")
    F, a = rng.normal(size=(4, 7)), rng.normal(size=4)
    direct = np.linalg.solve(F.T @ F / 0.18 + np.eye(7), F.T @ a / 0.18)
    np.testing.assert_allclose(_weights_from_answers(F, a, scale=0.3), direct, rtol=1e-9)


def _audit_runs(release, epsilon, runs):
    """Fits of the hinge classifier on one record of either class, where Theorem 2 is attained.

    One record, lambda = 1/2: the minimisers are phi and -phi, at distance 2 = 1 / (lambda m).
    Returns for each side the features of the record, what the public estimator added to the exact
    weights, and the features of a far point.
    """
    sides = []
    for label in (1, -1):
        generator = stream(0, f"kernel-audit-{release}", "noise", int(label > 0))
        rows = []
        for _ in range(runs):
            model = _classifier(
                random_state=generator,
                n_components=1,
                regularization=0.5,
                epsilon=epsilon,
                classes=(-1, 1),
                release=release,
            ).fit([[0.3, -0.2]], [label])
            phi, far = cos_sin_features([[0.3, -0.2], [2.0, 1.0]], model.frequencies_)
            rows.append((phi, model.coef_ - label * phi, far))
        sides.append((label, np.array(rows)))
    return sides


@pytest.mark.claim("erm-beyond-gp")
def test_audit_of_the_gaussian_process_estimator():
    """Likelihood-ratio test against the mu-GDP curve; 400 runs a side, confidence 0.9999.

    At (4, 1e-5) the curve has mu = 0.92 and half the noise 1.84: both controls decide.
    """
    sides = _audit_runs("gaussian_process", 4.0, 400)
    budget = 1.0 / gaussian_sigma(epsilon=4.0, delta=1e-5)

    def bound(factor):
        hits = [
            int(np.sum([(label * phi + factor * noise) @ phi > 0 for phi, noise, _ in rows]))
            for label, rows in sides
        ]
        return gaussian_dp_lower_bound(*hits, 400, confidence=0.9999)

    assert run_controls(lambda factor: bound(factor) > budget).sound
    assert bound(1.0) > 0.2  # the attack is not blind


@pytest.mark.claim("erm-beyond-gamma")
def test_audit_of_the_gamma_estimator():
    """Event: privacy loss above epsilon / 2. 600 runs a side; half the noise is caught."""
    sides = _audit_runs("gamma", 1.0, 600)

    def alarm(factor):
        hits = [
            sum(
                float(gamma_privacy_loss(label * phi + factor * noise, phi, -phi, rate=0.5)) > 0.5
                for phi, noise, _ in rows
            )
            for label, rows in sides
        ]
        return audit_hits(*hits, 600, epsilon=1.0, confidence=0.9999).violated

    assert run_controls(alarm).sound


@pytest.mark.claim("erm-beyond-gp", "erm-beyond-gamma", "erm-beyond-queries")
@pytest.mark.parametrize("release", RELEASES)
def test_two_answers_do_not_reveal_the_label(release):
    """The attack on the scalar shift: the difference of two values has the sign of the truth.

    150 runs a side; at epsilon = 0.5 the advantage is at most tanh(1/4) = 0.245 (plus delta); the
    check allows 5 standard errors of 0.082 on top (alarm 1e-6), while the shift gives 1.
    """
    sides = _audit_runs(release, 0.5, 150)
    rates = []
    for label, rows in sides:
        differences = [(label * phi + noise) @ (phi - far) for phi, noise, far in rows]
        rates.append(np.mean(np.array(differences) > 0))
    assert abs(rates[0] - rates[1]) < 0.245 + 5 * math.sqrt(2 * 0.25 / 150)


@pytest.mark.claim("erm-beyond-gp")
def test_sensitivity_search_through_the_features():
    """Ascent over inputs and labels for fixed public frequencies never exceeds the bound."""
    m, lam = 2, 0.3
    frequencies = _model(n_components=20).fit(*_data()).frequencies_

    def query(records):
        phi = cos_sin_features(records[:, :2], frequencies)
        return fit_linear(phi, records[:, 2], loss="squared", regularization=lam).weights

    def project(records):
        records = np.array(records)
        records[:, 2] = np.clip(records[:, 2], -1, 1)
        return records

    found = search_neighbours(
        query,
        lambda count, rng: project(3 * rng.standard_normal((count, 3))),
        n_records=m,
        neighboring="replace_one",
        claimed=least_squares_stability(regularization=lam, n_records=m, label_bound=1.0),
        rng=stream(0, "kernel-search", "data"),
        project=project,
        restarts=3,
        steps=150,
    )
    assert 0.7 < found.ratio <= 1.0


@pytest.mark.claim("erm-beyond-gp")
def test_labels_are_clipped_and_nobody_says_how_many():
    X, y = _data()
    wild = y.copy()
    wild[0], wild[1] = 1e9, -1e9
    first, second = (_model().fit(X, v) for v in (wild, np.clip(wild, -1, 1)))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert first.privacy_statement_ == second.privacy_statement_
    assert vars(first).keys() == vars(second).keys()


def test_one_record_is_enough():
    for release in RELEASES:
        model = _model(release=release).fit([[0.1, 0.2]], [0.5])
        assert np.isfinite(model.predict([[1.0, 1.0]])).all()
        both = _classifier(release=release, classes=(0, 1)).fit([[0.1, 0.2]], [1])
        assert both.predict([[1.0, 1.0]])[0] in (0, 1)


COMMON = [
    ({"epsilon": 0.0}, "epsilon must be positive"),
    ({"delta": 0.0}, r"delta must be in \(0, 1\)"),
    ({"delta": 1.0}, r"delta must be in \(0, 1\)"),
    ({"regularization": 0.0}, "regularization must be positive"),
    ({"width": 1e-200}, r"width must be in \(1e-100, 1e\+100\)"),
    ({"n_components": 0}, "n_components must be at least 1"),
    ({"release": "shift"}, "release must be one of"),
    ({"release": "queries", "n_queries": 0}, "n_queries must be at least 1"),
    ({"release": "queries", "data_norm": None}, "data_norm must be given"),
    ({"release": "queries", "data_norm": 0.0}, "data_norm must be positive"),
    ({"accuracy": 0.0}, r"accuracy must be in \(0, 1\)"),
    ({"neighboring": "add_remove"}, "neighboring must be 'replace_one'"),
    ({"random_state": -1}, "random_state must be nonnegative"),
]


@pytest.mark.parametrize(("change", "message"), COMMON)
def test_bad_parameters_are_named(change, message):
    X, y = _data()
    with pytest.raises(ValueError, match=message):
        _model(**change).fit(X, y)
    with pytest.raises(ValueError, match=message):
        _classifier(**change).fit(X, y > 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bounds": None}, "bounds must be given"),
        ({"bounds": (1.0, 1.0)}, "bounds must be two increasing numbers"),
        ({"bounds": (0.0, 1.0, 2.0)}, "bounds must be two increasing numbers"),
        ({"bounds": (0.0, math.inf)}, "bounds must be finite"),
        ({"bounds": (0.0, 1e200)}, "bounds must be at most 1e.150 in size"),
        ({"bounds": (0.0, 1e-160)}, "at least 1e-150 apart"),
        ({"tau": 0.0}, r"tau must be in \(0, 1\)"),
        ({"tau": 1.0}, r"tau must be in \(0, 1\)"),
        ({"loss": "hinge"}, "loss must be one of"),
    ],
)
def test_bad_parameters_of_the_regressor(change, message):
    with pytest.raises(ValueError, match=message):
        _model(**change).fit(*_data())


@pytest.mark.parametrize(
    ("change", "y", "message"),
    [
        ({}, [0, 1, 2], "Only binary classification is supported"),
        ({}, [1, 1, 1], "two classes unless classes is given, got one class"),
        ({"classes": (0, 0)}, [0, 1, 1], "classes must be two labels"),
        ({"classes": (0, 1, 2)}, [0, 1, 1], "classes must be two labels"),
        ({}, [0.1, 0.2, 0.3], "Unknown label type"),
        ({"loss": "squared"}, [0, 1, 1], "loss must be one of"),
    ],
)
def test_bad_labels_of_the_classifier(change, y, message):
    with pytest.raises(ValueError, match=message):
        _classifier(**change).fit([[0.0], [1.0], [2.0]], y)
