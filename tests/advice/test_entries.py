"""Advice for linear regression at a budget per entry: formulas, legal facts, the archive."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.maps.projection_gradients import learn, summary
from benchmarks.maps.projection_off_grid import Case, losses
from benchmarks.maps.projection_rivals import METHODS, cell
from dplit.advice import entry_errors
from dplit.advice.entries import _configure, errors_of, recommend
from dplit.advice.entry_errors import (
    _CANDIDATES,
    _LEARNT,
    EntryFacts,
    _bits,
    _design_energies,
    _entry_power,
    _gradients_error,
    _noise_share,
    _record_mu,
    additive_error,
    best_rows,
    clipping_cost,
    moments_error,
    projection_error,
    unprotected_error,
)
from dplit.entries.privacy import row_delta
from dplit.mechanisms import gaussian_epsilon, gaussian_sigma
from dplit.streams import stream
from tests.archives import archived

ARCHIVE = archived("projection_choice")


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n=st.integers(1, 10**7),
    d=st.integers(1, 2000),
    snr=st.floats(1e-3, 1e4),
    epsilon=st.floats(1e-3, 50.0),
    delta=st.sampled_from([None, None, None, 1e-6]),
    publish=st.sampled_from(("coefficients", "table")),
)
def test_every_legal_question_is_answered(**facts: Any) -> None:
    """Kills an overflow, an estimator without a budget, and an error below the law's."""
    advice = recommend(**facts)
    error = advice.expected
    assert 1.0 <= error.mean <= error.trivial
    assert 0.0 <= error.spread < math.inf
    assert advice.reason.endswith(".")
    if advice.estimator is None:
        assert error.mean == error.trivial
    elif facts["publish"] == "table":
        assert type(advice.estimator).__name__ in (
            "AdditiveNoiseRegressor",
            "RandomProjectionRegressor",
        )


@pytest.mark.parametrize("budget", [(0.3, None), (2.0, 1e-6)])
def test_every_candidate_keeps_the_budget_of_an_entry(budget: tuple[float, float | None]) -> None:
    """Kills a conversion that gives more: each estimator states at most what was asked, and the
    noisy table and moments nearly all of it.
    """
    facts = EntryFacts(60, 3, 1.0, *budget)
    rng = stream(0, "proj-choice-budget", "data")
    X, y = rng.uniform(-1, 1, (60, 3)), rng.uniform(-1, 1, 60)
    for name in _CANDIDATES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of the noise at so few records
            model = _configure(name, facts, 20, response_bounds=(-1.0, 1.0))
            model = model.set_params(random_state=0).fit(X, y)
        if name == "gradients":
            mu = math.sqrt(8.0 * math.log(2.0) * budget[0]) if budget[1] is None else None
            wanted = budget[0] if mu is None else gaussian_epsilon(delta=1e-6, sigma=1.0 / mu)
            assert model.epsilon_ == pytest.approx(float(wanted), rel=1e-6)
            assert (model.delta_, model.neighboring_) == (1e-6, "replace_one")
        elif budget[1] is None:
            assert model.epsilon_ == budget[0]
        else:
            assert 0.9 * budget[0] < model.entry_epsilon_ <= budget[0] * (1 + 1e-6)
            assert model.delta_ == budget[1]


def law_of(facts: EntryFacts, name: str) -> tuple[Any, Any, Any]:
    """Uniform columns, responses of unit noise, and the slopes."""
    rng = stream(0, f"proj-choice-{name}", "data")
    slopes = rng.normal(size=facts.d)
    slopes *= math.sqrt(3.0 * facts.snr) / np.linalg.norm(slopes)
    X = rng.uniform(-1.0, 1.0, (facts.n, facts.d))
    return X, X @ slopes + rng.normal(size=facts.n), slopes


def test_what_is_recommended_for_coefficients_clips_nothing_unasked() -> None:
    """The law of the lesson: gradients were made with bounds (-1, 1) of responses whose deviation
    is 3.3, and erred 6.6 where moments err 1.004. Now bounds are asked for: without them the advice
    is one that needs none. Four deviations of a release above what is expected have a chance below
    1e-4 for normal errors. Kills bounds that nobody told.
    """
    facts = EntryFacts(2000, 5, 10.0, 0.5)
    X, y, slopes = law_of(facts, "trap")
    told = {"n": 2000, "d": 5, "snr": 10.0, "epsilon": 0.5}
    for bounds in (None, (-10.0, 10.0)):
        advice = recommend(**told, response_bounds=bounds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = advice.estimator.set_params(random_state=0).fit(X, y)
        error = 1.0 + float(np.sum((model.coef_ - slopes) ** 2)) / 3.0
        assert error < advice.expected.mean + 4.0 * advice.expected.spread < 1.2
        assert type(model).__name__ == (
            "EntryMomentsRegressor" if bounds is None else "NoisyGradientRegressor"
        )
        assert ("responses are clipped to [-10, 10]" in advice.reason) == (bounds is not None)
        assert ("left out for want of response_bounds" in advice.reason) == (bounds is None)
    with pytest.raises(ValueError, match="bounds must be given"):
        _configure("gradients", facts, 0).fit(X, y)


@pytest.mark.parametrize("bounds", [(1.0, -1.0), (0.0, 0.0), (0.0, math.inf), (1.0, 2.0, 3.0)])
def test_bounds_of_responses_are_checked(bounds: Any) -> None:
    with pytest.raises(ValueError, match="response_bounds"):
        recommend(n=2000, d=5, epsilon=0.5, response_bounds=bounds)


@pytest.mark.parametrize("snr", [0.5, 10.0])
@pytest.mark.parametrize("deviations", [0.3, 1.0, 2.0])
def test_the_cost_of_clipping_is_that_of_a_fit(snr: float, deviations: float) -> None:
    """Least squares on 200,000 clipped responses, whose columns are nearly normal together; kills
    one minus p without its square, and a one-sided chance.
    """
    facts = EntryFacts(200_000, 20, snr, 1.0)
    X, y, slopes = law_of(facts, f"clip-{snr}-{deviations}")
    end = deviations * math.sqrt(1.0 + snr)
    found = np.linalg.lstsq(X, np.clip(y, -end, end))[0]
    lost = float(np.sum((found - slopes) ** 2)) / 3.0
    scatter = 5.0 * 20 / 200_000 + 2.0 * math.sqrt(20 / 200_000) * math.sqrt(snr)
    assert lost == pytest.approx(clipping_cost(snr, deviations), rel=0.05, abs=scatter)


def test_the_power_of_an_entry_in_both_currencies() -> None:
    assert _entry_power(EntryFacts(10, 1, 1.0, 0.5)) == pytest.approx(1.0)
    assert _bits(1.0) == pytest.approx(0.5)
    facts = EntryFacts(10, 1, 1.0, 2.0, 1e-6)
    assert _entry_power(facts) == pytest.approx(0.25 / gaussian_sigma(epsilon=2.0, delta=1e-6) ** 2)
    variance = 30 * _noise_share(facts, 30)
    reached = row_delta(epsilon=2.0, variance=variance, n_components=30, row_change=2.0)
    assert reached == pytest.approx(1e-6, rel=1e-6)
    assert _noise_share(facts, 30) > 1.0 / _entry_power(facts)
    assert _record_mu(facts) == pytest.approx(1.0 / gaussian_sigma(epsilon=2.0, delta=1e-6))


@pytest.mark.parametrize(("n", "d"), [(400, 200), (300, 300), (150, 300), (60_000, 3)])
def test_energies_are_those_of_uniform_columns(n: int, d: int) -> None:
    """First two moments against their exact values; kills a law of the wrong side."""
    energies = _design_energies(n, d, 2000)
    assert float(energies.mean()) == pytest.approx(n / 3.0, rel=0.01)
    assert float(np.mean(energies**2)) == pytest.approx((n / 3.0) ** 2 * (1.0 + d / n), rel=0.02)
    assert float(np.mean(energies < 1e-9)) == pytest.approx(max(1.0 - n / d, 0.0), abs=1e-3)


def test_without_noise_all_are_least_squares() -> None:
    facts = EntryFacts(1000, 20, 5.0, 40.0)
    assert additive_error(facts) == pytest.approx(unprotected_error(facts), rel=1e-3)
    exact = (1.0 + 20 / 979.0) * 1.0 + 20 / (400 - 21.0)
    assert projection_error(facts, 400) == pytest.approx(exact, rel=5e-3)
    assert moments_error(facts) == pytest.approx(unprotected_error(facts), rel=1e-3)


def test_a_corrected_fit_is_never_worse_by_formula() -> None:
    for snr in (0.1, 1.0, 300.0):
        for epsilon in (0.05, 0.5, 2.0):
            facts = EntryFacts(2000, 40, snr, epsilon)
            assert additive_error(facts) <= additive_error(facts, corrected=False) * (1 + 1e-9)
            plain = projection_error(facts, 300, corrected=False)
            assert projection_error(facts, 300) <= plain * 1.01


@pytest.mark.parametrize("budget", [(0.05, None), (1.0, None), (2.0, 1e-6)])
def test_more_records_and_more_budget_help(budget: tuple[float, float | None]) -> None:
    """Kills a sign in any of the formulas."""
    for error in (additive_error, moments_error, _gradients_error, lambda f: best_rows(f)[1]):
        by_n = [error(EntryFacts(n, 10, 5.0, *budget)) for n in (100, 1000, 10_000, 100_000)]
        assert by_n == sorted(by_n, reverse=True)
        by_budget = [
            error(EntryFacts(5000, 10, 5.0, factor * budget[0], budget[1]))
            for factor in (0.5, 1.0, 2.0)
        ]
        assert by_budget == sorted(by_budget, reverse=True)


def test_at_two_records_a_column_no_projection_wins_and_at_many_it_does() -> None:
    """The map's two ends: kills advice that turns round."""
    for snr in (1.0, 10.0, 300.0):
        few, many = EntryFacts(100, 50, snr, 0.5), EntryFacts(50 * 250, 50, snr, 0.05)
        assert additive_error(few) <= best_rows(few)[1]
        assert best_rows(many)[1] < additive_error(many)


# The archive.


def test_formulas_are_those_of_the_archive() -> None:
    """Kills an archive that was made by other formulas: every twentieth cell."""
    for row in ARCHIVE["cells"][::20]:
        facts = EntryFacts(row["n"], row["d"], row["snr"], row["epsilon"], row["delta"])
        found = cell(facts)
        np.testing.assert_allclose([found[k] for k in METHODS], row["errors"], rtol=1e-4)
        assert found["rows"] == row["rows"]


def test_what_is_learnt_is_learnt_from_the_archive() -> None:
    np.testing.assert_allclose(learn(ARCHIVE["descents"]), _LEARNT, atol=0.011)


def test_simulated_corners_bear_the_formulas_out() -> None:
    """Releases: within 6 standard errors or 12 %, 27 % at ten records of five columns, where large
    matrices are no guide. Moments choose their penalty by the release: up to a third more.
    """
    for row in ARCHIVE["corners"]:
        gaps = np.array(row["mean"]) / np.array(row["formula"]) - 1.0
        sure = 6.0 * np.array(row["se"]) / np.array(row["formula"])
        small = row["n"] == 10
        assert np.all(np.abs(gaps[:4]) < np.maximum(sure[:4], 0.28 if small else 0.12)), row
        assert -0.05 < gaps[4] < (0.35 if small else 0.15), row


#: Largest mean loss of the advice off the grid, over what can be gained, by guess of the signal.
OFF = {"coefficients": (0.03, 0.04, 0.01), "table": (0.02, 0.02, 0.06)}

#: Largest loss of a recommended table, as the docstring says: on real tables, on narrow columns.
WORST = {"known": (0.02, 0.17), "ten times": (0.05, 0.01), "a tenth": (0.13, 0.32)}


def test_what_advice_loses_off_the_grid() -> None:
    told = ARCHIVE["summary"]
    assert summary(ARCHIVE["cases"]) == {k: pytest.approx(v) for k, v in told.items()}
    for row in ARCHIVE["cases"]:
        case = Case(*(row[k] for k in Case._fields))
        again = losses(case, (row["epsilon"], row["delta"]), np.array(row["mean"]))
        for key, (name, lost) in again.items():
            assert name == row[key][0]
            assert lost == pytest.approx(row[key][1], abs=2e-4)
    for publish, limits in OFF.items():
        for guess, limit in zip(("known", "ten times", "a tenth"), limits, strict=True):
            assert told[f"{publish}, {guess}"][0] <= limit


def test_the_docstring_says_what_a_recommended_table_loses() -> None:
    """Means of 40 releases on tables; four had shown a loss of .24 on diabetes at a tenth of a bit,
    where there is none. Kills a sentence that the archive no longer bears out, either way.
    """
    told = " ".join((recommend.__doc__ or "").split())
    for guess, limits in WORST.items():
        real, narrow = (
            [row[f"table, {guess}"][1] for row in ARCHIVE["cases"] if row["data"] in names]
            for names in (("diabetes", "breast_cancer", "digits"), ("narrow",))
        )
        for lost, limit in zip((real, narrow), limits, strict=True):
            assert limit - 0.011 < max(lost) <= limit
            assert f"{limit:.2f}"[1:] in told
    few = [row for row in ARCHIVE["cases"] if row["data"] == "diabetes"]
    assert {row["trials"] for row in few} == {40}
    assert next(row for row in few if row["epsilon"] == 0.1)["table, known"][1] == 0.0


def test_advice_reads_as_text() -> None:
    advice = recommend(n=50_000, d=20, epsilon=0.05, snr=6.7, publish="table")
    lines = str(advice).splitlines()
    assert lines[0].startswith("RandomProjectionRegressor(")
    assert "responses are public" in " ".join(advice.reason.split())
    assert max(map(len, lines)) <= 100
    far = recommend(n=10**7, d=2, epsilon=0.5)
    assert "n / d, d beyond what was tried" in far.reason
    assert "beyond" not in advice.reason
    assert recommend(n=100, d=50, epsilon=0.05, publish="table").estimator is None
    facts = EntryFacts(3000, 10, 2.0, 0.4)
    ends = {"response_bounds": (-9.0, 9.0)}
    expected = recommend(n=3000, d=10, snr=2.0, epsilon=0.4, **ends).expected.mean
    assert expected == min(errors_of(facts, best_rows(facts)[0]).values())


def test_the_best_correction_is_found_between_what_is_tried() -> None:
    """Beside 20,000 corrections of the same formula. Kills a grid of 120: at 820, 1,500 and 2,000
    mixtures of three columns with a strong signal it is 73, 43 and 6 % too high.
    """
    facts = EntryFacts(19_997, 3, 271.0, 0.83)
    found = [projection_error(facts, m) for m in (820, 1018, 1500, 2000)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry_errors, "_STEPS", 20_000)
        fine = [projection_error(facts, m) for m in (820, 1018, 1500, 2000)]
    assert found == pytest.approx(fine, rel=1e-4)
    assert max(found) < 1.07
