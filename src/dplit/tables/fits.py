"""Estimators fitted from a summary, to the bits of their own `fit`."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from dplit._base import fitting, noise_source
from dplit._checks import check_epsilon, check_interval, check_neighboring, check_probability, quiet
from dplit._numerics.exact import gram_rounding, grid_rows
from dplit._statements import state_guarantee
from dplit.linear._adaptive import LEAST_PENALTY, budget_of, released_eigenvalue, three_releases
from dplit.linear._moments import Moments, PrivateMoments, moment_sensitivity, ridge_solution
from dplit.linear._regressors import LEAST_WEIGHT, NOISE_SHARE, ClippedLinearRegressor, warn_of_few
from dplit.linear.adaptive import AdaSSPRegressor
from dplit.linear.regressors import SufficientStatisticsRegressor
from dplit.mechanisms import gaussian_sigma
from dplit.tables.grids import MomentGrid, Summary, SummaryFacts


def _release(
    summary: Summary,
    *,
    epsilon: float,
    delta: float,
    neighboring: Any,
    alpha: float | None,
    rng: np.random.Generator | None,
) -> PrivateMoments:
    """Return what `sufficient_statistics` returns on unit records, at the default of its estimator.

    The k records of a person add to a change of at most k times the one of a record.
    """
    d, each = len(summary.gram) - 1, summary.facts.rows_each or 1
    unit = moment_sensitivity(data_norm=1.0, label_bound=1.0, neighboring=neighboring)
    both = each * (unit + gram_rounding(d * d + d))
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=both)
    step = grid_rows(np.zeros((1, d)), 1.0)[1]
    exact = summary.gram.astype(np.float64)
    square = Fraction(step) ** 2
    added = neighboring == "add_remove"
    gram, moment = Moments(exact[:d, :d], exact[:d, d], square, square).released(
        sigmas=(sigma, sigma),
        moved=(
            each * ((1.0 if added else math.sqrt(2.0)) + gram_rounding(d * d)),
            each * ((1.0 if added else 2.0) + gram_rounding(d)),
        ),
        joint=both / sigma,
        rng=rng,
    )
    ridge = NOISE_SHARE * (sigma * math.sqrt(2.0 * d)) if alpha is None else alpha
    coef = ridge_solution(gram, moment, ridge)
    return PrivateMoments(coef, gram, moment, ridge, epsilon, delta, neighboring, sigma)


def _fit_moments(model: SufficientStatisticsRegressor, summary: Summary) -> PrivateMoments:
    """Return the release of `SufficientStatisticsRegressor.fit`, and warn as it does."""
    epsilon = check_epsilon(model.epsilon)
    delta = check_probability("delta", model.delta)
    given = model._unit_penalty()
    rng = noise_source(model.random_state)
    moments = _release(
        summary, epsilon=epsilon, delta=delta, neighboring=model.neighboring, alpha=given, rng=rng
    )
    weight = float(moments.gram[-1, -1])
    if given is None and model.fit_intercept and weight < LEAST_WEIGHT * moments.alpha:
        warn_of_few(f"about {max(2 * weight, 0):.0f} records (released with noise)")
    return moments


def _fit_adaptive(model: AdaSSPRegressor, summary: Summary) -> PrivateMoments:
    """Return the releases of `AdaSSPRegressor.fit`; the k records of a person move each k times."""
    budget = check_epsilon(model.epsilon), check_probability("delta", model.delta)
    rho = check_interval("rho", model.rho, 1e-100, 1.0)
    d, each = len(summary.gram) - 1, summary.facts.rows_each or 1
    alone, together = (each * moved for moved in three_releases(d, model.neighboring))
    sigma = gaussian_sigma(
        epsilon=budget[0], delta=budget[1], sensitivity=math.hypot(alone, together)
    )
    rng = noise_source(model.random_state)
    step = grid_rows(np.zeros((1, d)), 1.0)[1]
    least = float(np.linalg.eigvalsh(summary.gram[:d, :d].astype(np.float64))[0]) * step * step
    noisy = released_eigenvalue(least, sensitivity=alone, sigma=sigma, rng=rng)
    epsilon, delta = budget_of(sigma, together)
    moments = _release(
        summary, epsilon=epsilon, delta=delta, neighboring=model.neighboring, alpha=None, rng=rng
    )
    model.least_eigenvalue_ = max(noisy - sigma * math.sqrt(math.log(6.0 / budget[1])), 0.0)
    reach = sigma * math.sqrt(d * math.log(2.0 * d * d / rho))
    model.alpha_ = max(reach - model.least_eigenvalue_, LEAST_PENALTY * sigma)
    coef = moments.solve(alpha=model.alpha_)
    return PrivateMoments(
        coef, moments.gram, moments.moment, model.alpha_, *budget, model.neighboring, sigma
    )


@quiet
def fit_summary(model: Any, summary: Summary) -> Any:
    """Fit an estimator from a summary, to the same bits as its ``fit`` from the records.

    Parameters
    ----------
    model : estimator
        A SufficientStatisticsRegressor or AdaSSPRegressor, or a pipeline of HatFeatures and one of
        them, with the public facts of the summary; budget, relation, penalty and ``random_state``
        are its own.
    summary : Summary
        Of at least one record. Each release spends its budget anew.

    Returns
    -------
    estimator
        ``model``, fitted. With a column of persons its guarantee is for one person, whose records
        count up to ``rows_each``: all sensitivities are so many times those for one record.

    Raises
    ------
    ValueError
        If the public facts of the two differ, or the summary is of no record.

    Notes
    -----
    The contribution of a person is a sum over at most k records, so that adding or removing it
    moves each release by at most k times what one record does. Replacing a by b records, a at most
    b, moves it by at most a times the change of a replaced and b - a times the one of an added
    record, which is no larger. Both are attained by k equal records. As the records that count
    depend on the person's own alone, no other contribution changes.

    Examples
    --------
    >>> from dplit import SufficientStatisticsRegressor
    >>> table = {"who": ["ann", "ann", "bob"], "x": [0.1, 0.2, 0.3], "y": [0.0, 1.0, 1.0]}
    >>> model = SufficientStatisticsRegressor(
    ...     epsilon=1e6, data_norm=1.0, bounds=(0.0, 1.0), random_state=0
    ... )
    >>> from dplit.tables.summaries import summarise
    >>> found = summarise(table, model, columns=["x"], target="y", group="who", rows_each=1)
    >>> found.count, "one person" in fit_summary(model, found).privacy_statement_
    (2, True)
    """
    facts, regressor = summary.facts, model
    grid = MomentGrid.of(model, len(facts.columns))
    if grid != facts.grid:
        raise ValueError(
            f"model must have the public facts of the summary, {facts.grid}, got {grid}"
        )
    if isinstance(model, Pipeline):
        regressor = model.steps[-1][1]
    check_neighboring(regressor.neighboring)
    if summary.labels == 0:
        raise ValueError("summary must be of at least one record with a label")
    fit = _fit_adaptive if isinstance(regressor, AdaSSPRegressor) else _fit_moments
    with fitting(regressor, persons=facts.group is not None) as draft:
        if isinstance(model, Pipeline):
            _see_columns(model.steps[0][1].fit(np.zeros((1, len(facts.columns)))), facts)
            draft.n_features_in_ = len(summary.gram) - 1 - grid.intercept
        else:
            _see_columns(draft, facts)
        _publish(draft, fit(draft, summary), facts)
    return model


def _see_columns(estimator: Any, facts: SummaryFacts) -> None:
    """Tell an estimator its columns, as scikit-learn does where it sees a table or an array."""
    estimator.n_features_in_ = len(facts.columns)
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    if facts.named:
        estimator.feature_names_in_ = np.asarray(facts.columns, dtype=object)


def _publish(model: ClippedLinearRegressor, moments: PrivateMoments, facts: SummaryFacts) -> None:
    """Set what the estimator publishes; with persons the statement is about one of them."""
    model._publish(moments)
    if facts.group is None:
        return
    grid = facts.grid
    added = moments.neighboring == "add_remove"
    change = (
        f"{'adding or removing one person' if added else 'replacing one person'} with all records "
        f"(of each at most {facts.rows_each} count, chosen by their own values alone; rows clipped "
        f"to norm {model._limits()[0]:g}, labels to [{grid.low:g}, {grid.high:g}]"  # type: ignore[attr-defined]
        f"{'' if added else '; the number of persons is public'})"
    )
    state_guarantee(model, moments.epsilon, moments.delta, moments.neighboring, change)
