"""The two estimators: scikit-learn's checks, limits without noise, statements and bad input."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from dplit.entries.estimators import AdditiveNoiseRegressor, RandomProjectionRegressor
from dplit.entries.moments import EntryMomentsRegressor
from dplit.entries.privacy import row_delta
from dplit.mechanisms import gaussian_epsilon
from dplit.streams import stream

BOTH = [AdditiveNoiseRegressor, RandomProjectionRegressor]
ALL = [*BOTH, EntryMomentsRegressor]


def _data(n=300, d=2):
    rng = stream(0, "proj-estimators", "data")
    X = rng.uniform(2.0, 4.0, (n, d))
    return X, 1.0 + X @ np.arange(1.0, d + 1) + 0.1 * rng.standard_normal(n)


def _model(kind, **changes):
    return kind(**{"bounds": (2.0, 4.0), "random_state": 0, **changes})


@pytest.mark.claim("proj-beyond-fixed-noise")
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_noise_additive_is_least_squares(fit_intercept):
    X, y = _data()
    model = _model(AdditiveNoiseRegressor, epsilon=300.0, fit_intercept=fit_intercept).fit(X, y)
    shift = 0.0 if fit_intercept else 3.0  # without intercept the fit goes through the middle
    peer = LinearRegression(fit_intercept=fit_intercept).fit(X - shift, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), peer.predict(X - shift), rtol=1e-9)


@pytest.mark.claim("proj-beyond-fixed-noise")
def test_without_noise_the_projection_is_sketched_least_squares():
    """Mean over 200 fits is the least-squares fit (the law is symmetric); 5 standard errors."""
    X, y = _data()
    generator = stream(0, "proj-estimators-sketch", "noise")
    model = _model(
        RandomProjectionRegressor, epsilon=300.0, n_components=40, random_state=generator
    )
    fits = np.array([[*model.fit(X, y).coef_, model.intercept_] for _ in range(200)])
    peer = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, rtol=1e-12)
    gap = fits.mean(axis=0) - [*peer.coef_, peer.intercept_]
    assert np.all(np.abs(gap) < 5 * fits.std(axis=0) / math.sqrt(200))
    assert fits.std(axis=0)[0] > 1e-3


@pytest.mark.claim("proj-beyond-fixed-noise")
@pytest.mark.parametrize("kind", BOTH)
def test_correction_removes_the_attenuation(kind):
    """Plain fits shrink by n/(n + 3 n sigma^2) or its projected form; corrected ones are right.

    At n = 8,000 and 1 bit a fit has a relative standard error of 0.5 % to 2.3 %: within 10 % with
    false alarm 2e-5.
    """
    rng = stream(0, "proj-estimators-correction", "data")
    X = rng.uniform(-1, 1, (8_000, 1))
    y = 2.0 * X[:, 0] + 0.1 * rng.standard_normal(8_000)
    extra = {} if kind is AdditiveNoiseRegressor else {"n_components": 1600}
    share = 1.0 if kind is AdditiveNoiseRegressor else 1600 / 8_000
    raw, corrected = (
        _model(kind, bounds=(-1.0, 1.0), epsilon=1.0, correction=c, **extra).fit(X, y).coef_[0]
        for c in ("none", "attenuation")
    )
    assert raw == pytest.approx(2 / (1 + share * 3 / 3), rel=0.1)
    assert corrected == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("kind", BOTH)
def test_statement_says_bits_rows_and_public_responses(kind):
    extra = {} if kind is AdditiveNoiseRegressor else {"n_components": 50}
    model = _model(kind, epsilon=0.5, delta=1e-6, **extra).fit(*_data(d=3))
    assert (model.epsilon_, model.delta_, model.neighboring_) == (0.5, 1e-6, "replace_entry")
    text = model.privacy_statement_
    parts = ("0.5 bits", "ENTRY", "ROW of 3", "PUBLIC AND ARE NOT PROTECTED", "1e-06", "not finite")
    assert [part for part in (*parts, "voids") if part not in text] == []
    assert "not" in kind.__doc__.splitlines()[0]
    assert model.sigma_**2 == pytest.approx(extra.get("n_components", 1))
    for epsilon, change in ((model.entry_epsilon_, 2.0), (model.row_epsilon_, 12**0.5)):
        if kind is AdditiveNoiseRegressor:
            assert epsilon == gaussian_epsilon(delta=1e-6, sigma=1.0, sensitivity=change)
        else:
            reached = row_delta(
                epsilon=epsilon, variance=model.sigma_**2, n_components=50, row_change=change
            )
            assert reached == pytest.approx(1e-6, rel=1e-4)
            assert reached <= 1e-6


@pytest.mark.parametrize("kind", ALL)
def test_entries_are_clipped_to_the_bounds(kind):
    X, y = _data()
    X[0], X[1] = 1e300, -1e9
    ours, peer = (_model(kind).fit(Z, y) for Z in (X, np.clip(X, 2.0, 4.0)))
    np.testing.assert_array_equal(ours.coef_, peer.coef_)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("bounds", [(-0.5, 0.5), (-1.7e308, 1.7e308)])
def test_no_finite_record_overflows_or_warns(kind, bounds):
    """Warnings are errors here; kills entries that are scaled before they are clipped."""
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        for X in ([[0.0], [1e308]], [[-1.7e308], [1.7e308]], [[5e-324], [0.0]]):
            for correction in ("none", "attenuation"):
                for y in ([0.0, 1.0], [1.7e308, -1.7e308]):
                    model = _model(kind, bounds=bounds, correction=correction).fit(X, y)
                    assert np.isfinite([*model.coef_, model.intercept_]).all()


@pytest.mark.parametrize("kind", BOTH)
def test_bounds_per_column_are_a_change_of_units(kind):
    X, y = _data()
    scales = np.array([1.0, 10.0])
    one = _model(kind).fit(X, y)
    other = _model(kind, bounds=(2 * scales, 4 * scales)).fit(X * scales, y)
    np.testing.assert_allclose(other.coef_ * scales, one.coef_, rtol=1e-9)
    assert other.intercept_ == pytest.approx(one.intercept_, rel=1e-9)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"bounds": None}, ValueError, "bounds must be given"),
        ({"bounds": (1.0, 1.0)}, ValueError, "bounds must be increasing"),
        ({"bounds": 3.0}, ValueError, "bounds must be a pair"),
        ({"bounds": ([0.0] * 3, 1.0)}, ValueError, "one number for each of 2 columns"),
        ({"bounds": (0.0, math.inf)}, ValueError, "bounds must be finite"),
        ({"epsilon": 0.0}, ValueError, "epsilon must be positive"),
        ({"epsilon": math.nan}, ValueError, "epsilon must not be NaN"),
        ({"epsilon": "1"}, TypeError, "epsilon must be a real number"),
        ({"delta": 0.0}, ValueError, r"delta must be in \(0, 1\)"),
        ({"random_state": "seed"}, TypeError, "random_state"),
    ],
)
def test_bad_parameters_are_named(kind, change, error, message):
    with pytest.raises(error, match=message):
        _model(kind, **change).fit(*_data())


@pytest.mark.parametrize("kind", BOTH)
def test_an_unknown_correction_is_named(kind):
    with pytest.raises(ValueError, match="correction must be one of"):
        _model(kind, correction="full").fit(*_data())


def test_number_of_components():
    """No rows are refused; fewer rows than coefficients give the fit of least norm."""
    X, y = _data(d=4)
    model = _model(RandomProjectionRegressor, epsilon=300.0, n_components=2, fit_intercept=False)
    assert np.isfinite(model.fit(X, y).coef_).all()
    more = [model.set_params(n_components=n).fit(X, y).coef_ for n in (2, 3, 4)]
    assert np.linalg.norm(more[0]) < np.linalg.norm(more[2])
    model.set_params(n_components=1, correction="attenuation")
    assert np.isfinite(model.fit(X, y).coef_).all()
    with pytest.raises(ValueError, match="n_components must be at least 1"):
        model.set_params(n_components=0).fit(X, y)
    with pytest.raises(TypeError, match="n_components must be an integer"):
        model.set_params(n_components=2.5).fit(X, y)
