"""The repaired estimator: scikit-learn's checks, the law of its noise, and bad input."""

from __future__ import annotations

import math
import pickle
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import Ridge

from benchmarks.maps.random_features import METHODS
from benchmarks.maps.random_features_learnt import facts_of
from dplit._base import spawn_generators
from dplit.advice._kernel_settings import told_of
from dplit.advice.kernels import waves
from dplit.audit import chi_square_noise_test, ledger, run_controls
from dplit.features import cos_sin_features, random_frequencies
from dplit.kernels import random_features
from dplit.kernels._certified_ridge import (
    feature_ridge,
    mean_share,
    noisy_mean,
    public_waves,
    ridge_rounding,
)
from dplit.kernels.random_features import PrivateRandomFeatureRegressor
from dplit.kernels.ridge_sensitivity import record_sensitivity
from dplit.mechanisms import Gaussian, gaussian_delta, gaussian_sigma
from dplit.streams import stream
from tests.archives import archived

#: Most tests give a penalty for their own ends, at which predictions are noise, or no width.
pytestmark = [
    pytest.mark.filterwarnings("ignore:the noise of a prediction:UserWarning"),
    pytest.mark.filterwarnings("ignore:no width of the kernel:UserWarning"),
]

DEFAULT = PrivateRandomFeatureRegressor(bounds=(-4.0, 4.0))
EASY = clone(DEFAULT).set_params(epsilon=1e6)
CRUDE = clone(EASY).set_params(sensitivity="crude", box=(-4.0, 4.0))


def _data(n=60, d=2, name="estimator"):
    rng = stream(0, name, "data")
    X = rng.standard_normal((n, d))
    return X, np.tanh(X[:, 0] + X[:, 1] / 2)


def _default(**changes):
    return clone(DEFAULT).set_params(**{"bounds": (-1.0, 1.0), **changes})


def _model(**changes):
    return _default(
        **{
            "random_state": 0,
            "gamma": 0.5,
            "alpha": 10.0,
            "n_components": 100,
            "fit_intercept": False,
            **changes,
        }
    )


@pytest.mark.claim("dprf-beyond-ridge")
@pytest.mark.parametrize("n", [60, 500])
def test_without_noise_it_is_ridge_on_its_features(n):
    """Both sides of the solve (more and fewer records than coefficients)."""
    X, y = _data(n)
    model = _model(epsilon=1e12, bounds=(2.0, 8.0)).fit(X, 5 + 3 * y)
    features = cos_sin_features(X, model.frequencies_)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0, rtol=1e-14)
    peer = Ridge(alpha=10.0, fit_intercept=False).fit(features, 3 * y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    assert model.intercept_ == 5.0
    new = stream(0, "estimator-new", "data").standard_normal((5000, 2))
    expected = 5 + cos_sin_features(new, model.frequencies_) @ model.coef_
    np.testing.assert_allclose(model.predict(new), expected, rtol=1e-12)


@pytest.mark.claim("dprf-beyond-ridge")
def test_noise_is_calibrated_to_the_stated_sensitivity():
    X, y = _data()
    for kind, expected in (
        ("record", record_sensitivity(alpha=10.0, label_bound=1.0, n_records=60)),
        ("crude", math.sqrt(60 / 10)),
    ):
        model = _model(sensitivity=kind, epsilon=0.5, delta=1e-6).fit(X, y)
        rounding = 2 * ridge_rounding(10.0, 60, 200)
        assert model.sensitivity_ >= expected + rounding
        assert model.sensitivity_ == pytest.approx(expected + rounding, rel=2e-12)
        assert rounding < 1e-8 * expected
        moved = model.sensitivity_
        assert model.sigma_ == gaussian_sigma(epsilon=0.5, delta=1e-6, sensitivity=moved)
        assert gaussian_delta(
            epsilon=model.epsilon_, sigma=model.sigma_, sensitivity=moved
        ) == pytest.approx(model.delta_, rel=1e-9)
        assert model.neighboring_ == "replace_one"
        assert "(0.5, 1e-06)" in model.privacy_statement_


@pytest.mark.claim("dprf-beyond-ridge")
def test_labels_are_clipped_and_inputs_are_not():
    X, y = _data()
    wild = y.copy()
    wild[0], wild[1] = 1e9, -1e9
    clipped = np.clip(wild, -1.0, 1.0)
    np.testing.assert_array_equal(_model().fit(X, wild).coef_, _model().fit(X, clipped).coef_)


def _residuals(factor=1.0):
    """Release minus the exact ridge fit, over 1e5 coordinates of the public estimator."""
    X, y = _data(40)
    model = _model(n_components=50_000, random_state=17).fit(X, y)
    features = cos_sin_features(X, model.frequencies_)
    gram = features @ features.T + 10.0 * np.eye(40)
    exact = features.T @ np.linalg.solve(gram, y)
    return factor * (model.coef_ - exact), model.sigma_


@pytest.mark.claim("dprf-beyond-ridge")
def test_noise_of_the_estimator_has_the_stated_standard_deviation():
    """Chi-square on 1e5 draws (false alarm 2e-4) with a null and a planted control.

    Kills noise 5 % too small or too large and any other shape.
    """

    def test_at(factor):
        residuals, sigma = _residuals(factor)
        return chi_square_noise_test(residuals, sigma=sigma)

    assert run_controls(lambda factor: test_at(factor).violated()).sound
    assert test_at(1.0).excess_p_value > 1e-4
    assert test_at(0.95).violated()


def _unmasked(model, X, units, generator):
    """Largest entry that is left when the noise of ``generator`` is taken off the release."""
    exact = feature_ridge(X, units, model.frequencies_, model.alpha_)
    told = {"hides": "", "sensitivity": None, "rng": generator}
    guess = Gaussian(model.sigma_).add(np.zeros(len(exact)), **told)
    return float(np.abs(model.coef_ - guess - exact).max())


def _attack(monkeypatch, spawn, *, planted=False):
    """Fit with ``random_state=None``, then look for the noise with all that is public.

    The attacker has every published array, the data, and the state in which the generator of the
    frequencies was made: its entropy gives all generators of the same family.
    """
    made = []

    def observed(random_state, count):
        made.extend(spawn(random_state, count))
        return made

    monkeypatch.setattr(random_features, "spawn_generators", observed)
    if planted:
        monkeypatch.setattr(random_features, "noise_source", lambda _, spawned: spawned)
    X, y = _data()
    model = _model(random_state=None).fit(X, y)
    source = made[0].bit_generator.seed_seq
    again = np.random.default_rng(
        np.random.SeedSequence(source.entropy, spawn_key=source.spawn_key)
    )
    drawn = random_frequencies(2, 100, gamma=0.5, rng=again)
    np.testing.assert_array_equal(drawn, model.frequencies_)  # the state is the right one
    families = [(), (0,), (1,), (2,), (0, 0), (0, 1), (1, 0), (1, 1)]
    seeds = [np.random.SeedSequence(source.entropy, spawn_key=key) for key in families]
    guesses = [np.random.default_rng(seed) for seed in seeds]
    guesses += [again, np.random.Generator(again.bit_generator.jumped())]
    return min(_unmasked(model, X, y, guess) for guess in guesses) / model.sigma_


def test_nothing_published_tells_of_the_noise(monkeypatch):
    """What stays on 200 coefficients is noise: a maximum below 1 has probability 1e-33.

    Planted control: noise and frequencies spawned from one seed, where the noise comes off.
    """

    def one_family(_, count):
        return np.random.default_rng().spawn(count)

    assert _attack(monkeypatch, one_family) > 1.0  # the noise has the system's bits all the same
    assert _attack(monkeypatch, spawn_generators) > 1.0
    assert _attack(monkeypatch, one_family, planted=True) < 1e-6


HUGE = [1e150, -1e308, 1.7976931348623157e308, 5e-324]


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize("place", ["input", "label"])
def test_one_huge_record_is_like_any_other(value, place):
    """No exception, warning, NaN, other shape, attribute or message: warnings are errors here."""
    X, y = _data()
    usual = _default().fit(X, y)
    X, y = X.copy(), y.copy()
    if place == "input":
        X[7] = value
    else:
        y[7] = value
    model = _default().fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict(X)).all()
    drawn = {"coef_", "frequencies_"}
    assert vars(model).keys() == vars(usual).keys()
    assert abs(model.intercept_) <= 1.0  # a private mean
    for name in vars(model).keys() - drawn - {"intercept_"}:
        assert getattr(model, name) == getattr(usual, name), name
    assert all(getattr(model, name).shape == getattr(usual, name).shape for name in drawn)


def test_records_whose_sum_is_undefined_give_no_warning():
    """Sums of huge entries of both signs are NaN where scikit-learn looks for NaN in them."""
    X = np.where(np.arange(60)[:, None] % 16 < 8, 1e308, -1e308) * np.ones((60, 8))
    with np.errstate(all="warn"):
        model = _model().fit(X, 1e308 * np.sign(X[:, 0]))
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("bounds", [(-1e150, 1e150), (0.0, 1e-310), (1.0, 1.0 + 2**-52)])
def test_extreme_bounds_are_served(bounds):
    X, y = _data()
    model = _model(bounds=bounds, alpha=1e3).fit(X, 1e308 * np.sign(y))
    predicted = model.predict(X)
    assert bounds[0] <= predicted.min()
    assert predicted.max() <= bounds[1]


@pytest.mark.parametrize("alpha", [1e-18, 1e-15, 1e-13, 1e-9, 1e-6, 1e-3])
def test_a_penalty_is_refused_for_all_data_or_for_none(alpha):
    """The message is the same for equal, drawn and huge records: sizes alone decide."""
    X, y = _data()
    seen = set()
    for records in (X, np.ones_like(X), 1e300 * X, np.zeros_like(X)):
        for labels in (y, np.ones(60), np.zeros(60)):
            try:
                _model(alpha=alpha).fit(records, labels)
                seen.add("fitted")
            except Exception as error:  # any kind would do
                seen.add(f"{type(error).__name__}: {error}")
    assert len(seen) == 1
    assert ("fitted" in seen) == (alpha > 1e-7)


def test_default_penalty_reads_public_numbers_only():
    """Other data: the same penalty. More records, less budget, the cruder bound: larger ones."""
    X, y = _data(400)
    model = _default()
    base = model.fit(X, y)
    assert base.gamma_ == 2.0
    values = (base.alpha_, base.sigma_)
    assert clone(model).fit(np.hstack([1e3 * X, X]), -y).gamma_ == 1.0
    other = clone(model).set_params(bounds=(0.0, 10.0)).fit(1e3 * X, 10 * (y > 0))
    assert (other.alpha_, other.sigma_ / 5) == pytest.approx(values, rel=1e-15)
    assert clone(model).fit(*_data(4000)).alpha_ > base.alpha_
    assert clone(model).set_params(epsilon=0.1).fit(X, y).alpha_ > base.alpha_
    assert clone(model).set_params(delta=1e-9).fit(X, y).alpha_ > base.alpha_
    assert clone(model).set_params(sensitivity="crude").fit(X, y).alpha_ > base.alpha_


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    n=st.integers(1, 400),
    d=st.integers(1, 12),
    epsilon=st.floats(1e-3, 1e4),
    delta=st.sampled_from([1e-20, 1e-6, 0.3, 0.9]),
)
def test_frequencies_and_width_are_those_of_the_public_rule(n, d, epsilon, delta):
    """Of :func:`~dplit.advice.kernels.waves`, at least 100; it never sees a record.

    Kills a rule that reads labels or records, a constant in its place, n without its noise.
    """
    rng = np.random.default_rng(n)
    told = {"epsilon": epsilon, "delta": delta}
    model = _default(box=(-5.0, 3.0), **told)
    fits = [
        clone(model).fit(scale * rng.standard_normal((n, d)), scale * rng.standard_normal(n))
        for scale in (1.0, 1e6)
    ]
    unit = gaussian_sigma(**told)
    count, gamma = public_waves(n / unit, d)
    if 1e-14 <= delta < 0.5:
        assert (count, gamma) == waves(n=n, d=d, **told)
    for fitted in fits:
        assert fitted.frequencies_.shape == (d, max(100, count))
        assert fitted.gamma_ == gamma


def test_many_records_get_more_frequencies():
    """160 from a strength of 3,000 on; records or budget alone do not decide. What is given stays.

    Kills a count that does not follow n, and one that does not follow epsilon.
    """

    def count(n, epsilon, **given):
        model = _default(epsilon=epsilon, box=(-1.0, 1.0), **given)
        return model.fit(*_data(n)).frequencies_.shape[1]

    assert [count(300, 1.0), count(300, 1e3), count(12_000, 0.1), count(12_000, 1.0)] == [
        100,
        160,
        100,
        160,
    ]
    assert count(12_000, 1.0, n_components=7) == 7


def test_a_box_is_a_change_of_units():
    """Records in the box's units give the same fit without it; a record outside is not clipped.

    Kills half of a width for the whole, and one width for all columns.
    """
    X, y = _data()
    low, high = np.array([-1.0, 0.0]), np.array([3.0, 0.5])
    half = (high - low) / 2
    for gamma in (None, 0.7):
        boxed = _model(gamma=gamma, box=(low, high)).fit(X * half, y)
        plain = _model(gamma=gamma).fit(X, y)
        np.testing.assert_allclose(boxed.coef_, plain.coef_, rtol=1e-9)
        np.testing.assert_allclose(boxed.predict(9 * X * half), plain.predict(9 * X), rtol=1e-9)
        assert boxed.gamma_ == plain.gamma_
        assert boxed.sigma_ == plain.sigma_
    np.testing.assert_allclose(boxed.frequencies_ * half[:, None], plain.frequencies_, rtol=1e-14)
    for box in ((-1e150, 1e150), (0.0, 1e-149)):
        huge = _model(box=box).fit(np.vstack([X, [1e308, -1e308]]), np.append(y, 0.0))
        assert np.isfinite(huge.coef_).all()
        assert np.isfinite(huge.predict(1e200 * X)).all()


@pytest.mark.filterwarnings("default")
@pytest.mark.filterwarnings("error")
def test_an_unknown_width_is_said_and_a_stated_one_is_not():
    """Whatever the records: a warning that looked at them would tell of one."""
    X, y = _data()
    for records in (X, 1e-6 * X, 1e6 * X):
        with pytest.warns(UserWarning, match="no width of the kernel can be known: give box"):
            _default().fit(records, y)
        _default(gamma=1.0).fit(records, y)
        _default(box=(-1, 1)).fit(records, y)


@pytest.mark.parametrize("n", [1, 30, 400, 5000])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
def test_mean_and_coefficients_spend_the_budget_together(n, epsilon):
    """Squared ratios of what one record moves to its noise add up to that of the budget, from
    below. Kills a mean for free (the sum is 5 to 40 % above), and a share that is spent twice.
    """
    X, y = _data(n)
    model = _model(epsilon=epsilon, alpha=None, fit_intercept=True, bounds=(-3.0, 1.0))
    with ledger() as book:
        model.fit(X, y)
    mean, coefficients = book
    assert mean.sensitivity == pytest.approx(2.0 / n, rel=1e-9)
    assert mean.sensitivity > 2.0 / n
    assert coefficients.sensitivity == model.sensitivity_ / 2.0
    assert coefficients.scale == model.sigma_ / 2.0
    spent = sum((draw.sensitivity / draw.scale) ** 2 for draw in book)
    budget = gaussian_sigma(epsilon=epsilon, delta=1e-5) ** -2
    assert spent == pytest.approx(budget, rel=1e-9)
    assert spent <= budget
    share = (mean.sensitivity / mean.scale) ** 2 / budget
    assert share == pytest.approx(mean_share(n * math.sqrt(budget)), rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 17, 2000])
def test_one_label_moves_the_mean_by_what_is_claimed(n):
    """Labels of 1 against one of -1, in both orders; thousands whose floating sum would be wrong.

    Kills 1 / n, and a sum in the order of the records.
    """
    rng = stream(0, "mean", "data", n)
    for base in (np.ones(n), rng.uniform(-1.0, 1.0, n), np.full(n, 0.1)):
        means = []
        for end in (1.0, -1.0):
            labels = base.copy()
            labels[0] = end
            exact = noisy_mean(labels, 1e-200, np.random.default_rng(0))
            assert exact == noisy_mean(labels[::-1], 1e-200, np.random.default_rng(0))
            means.append(exact)
        moved = means[0] - means[1]
        assert 2.0 / n * (1 - 1e-12) - 2**-52 <= moved <= 2.0 / n * (1 + 1e-12) + 2**-50


def test_noise_of_the_mean_has_its_deviation_and_hides_a_mean_of_zero():
    """Around 0.7 noise of .0408 is hardly drawn in: its law by 20,000 draws (deviation to 2.5 %,
    false alarm 6e-7). Around 0 all but 4.6 % of 20,000 are 0 (to .6 %, false alarm 5e-5).
    """
    rng, n, unit = stream(0, "mean-noise", "noise"), 490, 10.0
    found = np.array([noisy_mean(np.full(n, 0.7), unit, rng) for _ in range(20_000)])
    sigma = unit * 2.0 / n
    seen = 0.5 * (found + np.sqrt(found**2 + 16.0 * sigma**2))  # before it was drawn to 0
    assert chi_square_noise_test(seen - 0.7, sigma=sigma).excess_p_value > 1e-6
    assert np.std(seen) == pytest.approx(sigma, rel=0.025)
    zero = np.array([noisy_mean(np.zeros(n), unit, rng) for _ in range(20_000)])
    assert np.mean(zero != 0.0) == pytest.approx(0.0455, abs=0.006)
    assert max(noisy_mean(np.ones(3), 1e3, rng) for _ in range(1000)) == 1.0  # else, 1e-10


@pytest.fixture
def units_solved(monkeypatch):
    """Residuals in the units in which the ridge is solved, one array for each fit."""
    seen = []

    def fit(X, units, *rest):
        seen.append(units)
        return feature_ridge(X, units, *rest)

    monkeypatch.setattr(random_features, "feature_ridge", fit)
    return seen


def test_residuals_are_no_longer_than_labels(units_solved):
    """Labels at one end and a few at the other lie up to twice as far from their mean: what the
    sensitivity allows is half of that. Kills residuals that are not clipped.
    """
    y = np.where(np.arange(400) % 20 == 0, 8.0, 2.0)
    model = _model(epsilon=1e6, fit_intercept=True, bounds=(2.0, 8.0)).fit(_data(400)[0], y)
    assert model.intercept_ == pytest.approx(2.3, abs=1e-3)
    (units,) = units_solved
    assert units.max() == 1.0
    assert units.min() == pytest.approx(-0.1, abs=1e-3)


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_labels_to_one_side_cost_no_more_than_their_mean(epsilon):
    """Eight columns of noise and labels near the lower bound: a constant is the best there is. The
    mean of 8 errors is .08 and .03 of the bounds' half width, .39 and .23 without a mean first.

    At 0.3 noise of .1 in a mean of 8 deviates by .02: above .15 with probability 1e-3. Kills no
    mean.
    """
    X, rng = _data(1000, 8)[0], stream(0, "side", "data")
    y = -0.9 + 0.05 * rng.standard_normal(1000)
    found = []
    for first in (True, False):
        models = [
            _default(epsilon=epsilon, box=(-3.0, 3.0), fit_intercept=first, random_state=seed)
            for seed in range(8)
        ]
        fresh = stream(0, "side", "public").standard_normal((500, 8))
        found.append(
            np.mean([abs(np.mean(model.fit(X, y).predict(fresh)) + 0.9) for model in models])
        )
    assert found[0] < 0.15 < 0.2 < found[1], found


def test_the_docstring_says_what_the_map_says_of_the_defaults():
    """Mean gains of ridge over 126 cells, and that the widths for no shape lose on smooth targets.

    A gain of another size than is said would fail, so would a kernel that is not the better one.
    """
    every = archived("random_features_choice")["cells"]
    cells = [cell for cell in every if cell["n"] <= 30_000]  # beyond, two kernels alone
    assert len(cells) == 126

    def error(cell, count, g):
        return cell["errors"][METHODS.index(f"ridge {count} {g:g}")]

    def gains(name, other):
        return np.array([error(cell, *other) - error(cell, *name) for cell in cells])

    def told(cell):
        count, gamma = waves(**told_of(facts_of(cell)))
        return count, gamma * cell["d"]

    narrow = gains((40, 4.0), (40, 1.0))
    smooth = np.array([cell["shape"] == "smooth" for cell in cells])
    best = np.array([error(cell, 40, 4.0) - error(cell, *told(cell)) for cell in cells])
    said = {
        "explain 0.04 of the target more": narrow.mean(),
        "160 another 0.02": gains((160, 4.0), (40, 4.0)).mean(),
        "explains 0.04 more": best.mean(),
        "lose 0.06": -narrow[smooth].mean(),
    }
    words = " ".join(PrivateRandomFeatureRegressor.__doc__.split())
    for sentence, value in said.items():
        assert sentence in words, sentence
        assert round(value, 2) == float(re.search(r"0\.\d+", sentence)[0]), (sentence, value)


def test_the_docstring_says_what_was_measured_of_the_mean():
    """Means over budgets and places. Kills a number of another archive, and a mean that costs."""
    found = archived("random_features_mean")
    assert found["settings"] == ["default", "no mean", "no mean, 1/d", "1/d"]
    rows = found["rows"]

    def errors(kind):
        return np.mean([row["errors"] for row in rows if row["kind"] == kind], axis=0)

    costs = next(r["errors"] for r in rows if (r["name"], r["epsilon"]) == ("medical cost", 1.0))
    tables, grid, narrow = errors("indicators"), errors("map"), errors("narrow labels")
    filled = [row["errors"][0] for row in rows if row["kind"] == "narrow labels"]
    said = (
        f"costs {grid[0] - grid[1]:.2f} on the laws of that map",
        f"tables of indicators from {tables[1]:.1f} to {tables[0]:.1f}",
        f"at epsilon 1 from {costs[1]:.1f} to {costs[0]:.1f}",
        f"the wider kernel too ({tables[3]:.1f} and {costs[3]:.1f}), which costs "
        f"{grid[3] - grid[0]:.2f} on the map",
        f"errors are {narrow[0]:.0f} times those of a constant ({narrow[1]:.1f} without",
        f"from {min(filled):.1f} to {max(filled):.1f} times over 300 and 3,000 records",
    )
    words = " ".join(PrivateRandomFeatureRegressor.__doc__.split())
    for sentence in said:
        assert sentence in words, sentence
    assert abs(np.subtract(*errors("off the map")[:2])) < 0.005


def test_predictions_stay_within_the_bounds_and_are_released_values_otherwise():
    X, y = _data()
    model = _model(alpha=0.1).fit(X, y)  # the noise is far larger than the bounds
    raw = cos_sin_features(X, model.frequencies_) @ model.coef_
    assert np.abs(raw).max() > 10
    np.testing.assert_allclose(model.predict(X), np.clip(raw, -1, 1), atol=1e-9)


@pytest.mark.filterwarnings("default")
@pytest.mark.filterwarnings("error")
def test_noise_beyond_labels_is_said_from_public_numbers():
    """A given penalty that lets the noise exceed labels is warned of; the default never is."""
    X, y = _data()
    for labels in (y, np.zeros(60)):
        with pytest.warns(UserWarning, match="noise of a prediction has a standard deviation of"):
            _default(alpha=1.0).fit(X, labels)
    for n in (1, 2, 60, 1000):
        for epsilon in (1e-3, 0.1, 1.0, 1e3, 1e9):
            for kind in ("record", "crude"):
                model = _default(epsilon=epsilon, sensitivity=kind, n_components=10)
                model.set_params(box=(-3.0, 3.0)).fit(*_data(n))


def test_pickles_hold_no_training_values():
    """Neither a record nor a label as a float64 in the bytes, and their size is constant."""
    X, y = _data()
    data = pickle.dumps(_model(random_state=None).fit(X, y))
    assert not any(np.float64(v).tobytes() in data for v in np.append(X.ravel(), y))
    other = pickle.dumps(_model(random_state=None).fit(1e200 * X, -np.ones(60)))
    assert len(data) == len(other)


def _scores(X, y, bounds, epsilon, alphas):
    """Medians over splits of means over fits: default, best of ``alphas``, middle of the bounds."""
    rows = []
    for split in range(5):
        rng = stream(split, "estimator-utility", "data")
        order = rng.permutation(len(y))
        fit, test = order[: 3 * len(y) // 4], order[3 * len(y) // 4 :]
        model = _default(bounds=bounds, epsilon=epsilon, n_components=50, box=(-2.0, 2.0))
        model.set_params(random_state=rng)
        scores = []
        for alpha in (None, *alphas):
            fits = (model.set_params(alpha=alpha).fit(X[fit], y[fit]) for _ in range(3))
            scores.append(np.mean([fitted.score(X[test], y[test]) for fitted in fits]))
        rows.append([*scores, 1 - np.mean((y[test] - sum(bounds) / 2) ** 2) / np.var(y[test])])
    default, *tried, trivial = np.median(rows, axis=0)
    return default, max(tried), trivial


@pytest.mark.parametrize(("n", "epsilon"), [(400, 1.0), (2000, 1.0), (2000, 10.0)])
@pytest.mark.parametrize("shift", [0.0, -0.4])
def test_defaults_beat_the_middle_and_are_near_the_best_penalty(n, epsilon, shift):
    """Synthetic labels, where nothing private can be read off: within .1 of hindsight.

    Kills the default 10, whose R^2 is below -1 at epsilon = 1.
    """
    rng = stream(n, "estimator-utility", "public")
    X = rng.standard_normal((n, 4))
    y = shift + 0.6 * np.tanh(X[:, 0] + X[:, 1] * X[:, 2] / 2)
    alphas = (10.0, 30.0, 90.0, 180.0, 360.0)
    default, best, trivial = _scores(X, y, (-1.0, 1.0), epsilon, alphas)
    assert default >= trivial - 0.02
    assert best < trivial or default >= best - 0.1


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"bounds": (0.0, 1.0, 2.0)}, ValueError, "bounds must be two increasing numbers"),
        ({"bounds": (0.0, math.inf)}, ValueError, "bounds must be finite"),
        ({"epsilon": "1"}, TypeError, "epsilon must be a real number"),
        ({"bounds": (0.0, 1e200)}, ValueError, "bounds must be at most 1e.150 in size"),
        ({"fit_intercept": 1}, TypeError, "fit_intercept must be"),
        ({"alpha": 0.0}, ValueError, "alpha must be positive"),
        ({"alpha": 1e-14}, ValueError, "alpha must be large enough for 60 records and 200 coef"),
        ({"gamma": -1.0}, ValueError, "gamma must be positive"),
        ({"n_components": 0}, ValueError, "n_components must be at least 1"),
        ({"box": (1.0, 1.0)}, ValueError, r"box must be increasing, got box=\(1.0, 1.0\)"),
        ({"box": (0.0, 1e-160)}, ValueError, "box must be wider than 2e-150"),
        ({"box": ([0.0, 0.0, 0.0], 1.0)}, ValueError, "box must be numbers or hold one number"),
        ({"box": 3.0}, ValueError, "box must be a pair"),
        ({"box": "ab"}, ValueError, "box must be a pair"),
        ({"n_components": 1.5}, TypeError, "n_components must be an integer"),
        ({"sensitivity": "local"}, ValueError, "sensitivity must be one of"),
    ],
)
def test_bad_parameters_are_named(change, error, message):
    X, y = _data()
    with pytest.raises(error, match=message):
        _model(**change).fit(X, y)


@pytest.mark.claim("dprf-beyond-ridge")
def test_labels_in_units_do_not_exceed_one_by_rounding(units_solved):
    """Bounds whose end, less their middle, over half their width is above 1 in floats: one label
    would be longer than the sensitivity allows. Kills the second clipping."""
    low, high = -1.1390842858794568, -0.9784841460134452
    assert (high - (low / 2 + high / 2)) / (high / 2 - low / 2) > 1.0
    model = _default(bounds=(low, high), n_components=4, random_state=0)
    with warnings.catch_warnings(action="ignore"):  # so few records drown in the noise
        model.fit(np.zeros((3, 1)), [low, high, 5.0])
    assert np.abs(units_solved[0]).max() == 1.0
