r"""Algorithm 4, reconstructed: several phased passes, and a private choice of the best one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import check_positive, check_probability
from dplit.margin._records import Array, check_geometry, clipped_records
from dplit.margin.duplicates import Accounting, phase_sizes, single_copy_mu
from dplit.margin.losses import bounded_hinge_mean, hinge_sensitivity
from dplit.margin.phased import phased_bound, phased_descent
from dplit.mechanisms import report_noisy_min

__all__ = ["BoostedDescent", "boosted_bound", "boosted_descent", "boosting_runs"]


@dataclass(frozen=True)
class BoostedDescent:
    """Output of Algorithm 4, and what was used to find it.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        The chosen candidate, in the ball.
    candidates : ndarray of shape (M, k)
        Last points of all runs; private as well.
    chosen : int
        Index of the chosen one.
    mu : float
        Gaussian-DP level of one copy of a record in one run.
    n_gradients : int
        Gradients that were computed.
    """

    weights: Array
    candidates: Array
    chosen: int
    mu: float
    n_gradients: int


def boosting_runs(beta: float) -> int:
    r"""Number of runs :math:`M=\lceil\log_2(2/\beta)\rceil`, so that :math:`2^{-M}\le\beta/2`.

    Parameters
    ----------
    beta : float
        Failure probability, in (0, 1).

    Returns
    -------
    int

    Examples
    --------
    >>> from dplit.margin.boosting import boosting_runs
    >>> boosting_runs(0.05)
    6
    """
    return math.ceil(math.log2(2.0 / check_probability("beta", beta)))


def _check_budget(epsilon: float, delta: float, accounting: str) -> None:
    """Refuse a budget for which the lemma does not speak, where its own count is asked for."""
    check_positive("epsilon", epsilon)
    if accounting == "log_cap" and epsilon > math.log(1.0 / check_probability("delta", delta)):
        raise ValueError(f"epsilon must be at most log(1/delta) for 'log_cap', got {epsilon=!r}")


def boosted_bound(
    *, margin: float, radius: float, data_norm: float, n_samples: int, n_features: int,
    epsilon: float, delta: float, beta: float, accounting: Accounting,
) -> float:  # fmt: skip
    r"""Bound on the excess empirical hinge loss of Algorithm 4, with probability 1 - beta.

    Parameters
    ----------
    margin, radius, data_norm : float
        Margin, radius of the ball, norm of the records.
    n_samples, n_features : int
        Records m and dimension k.
    epsilon, delta, beta : float
        Budget and failure probability.
    accounting : str
        As in :func:`dplit.margin.duplicates.single_copy_mu`.

    Returns
    -------
    float
        Twice :func:`dplit.margin.phased.phased_bound` plus the price of the selection.

    Notes
    -----
    By Markov's inequality a run stays below twice its mean with probability 1/2; all M fail with
    probability at most :math:`\beta/2`.  The selection at :math:`\epsilon/2` loses at most
    :math:`\frac4\epsilon\Delta\log(2M/\beta)` with probability :math:`1-\beta/2`, where
    :math:`\Delta` is the sensitivity of the mean hinge on the ball.

    Examples
    --------
    >>> from dplit.margin.boosting import boosted_bound
    >>> round(boosted_bound(margin=0.25, radius=1.0, data_norm=1.0, n_samples=10**6, n_features=50,
    ...     epsilon=1.0, delta=1e-7, beta=0.05, accounting="mixture"), 3)
    0.038
    """
    _check_budget(epsilon, delta, accounting)
    runs = boosting_runs(beta)
    mu = single_copy_mu(
        epsilon=epsilon / 2, delta=delta, n_samples=n_samples, accounting=accounting, runs=runs
    )
    one = phased_bound(
        margin=margin, radius=radius, data_norm=data_norm, n_draws=n_samples,
        n_features=n_features, mu=mu,
    )  # fmt: skip
    width = hinge_sensitivity(
        margin=margin, data_norm=data_norm, weight_norm=radius, n_samples=n_samples
    )
    return 2.0 * one + 4.0 / epsilon * width * math.log(2.0 * runs / beta)


def boosted_descent(
    X: ArrayLike,
    y: ArrayLike,
    *,
    margin: float,
    radius: float,
    data_norm: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    beta: float = 0.05,
    accounting: Accounting = "mixture",
) -> BoostedDescent:
    r"""Algorithm 4: several phased passes, and a private choice of the best last point.

    Parameters
    ----------
    X : array_like of shape (m, k)
        Finite records; rows longer than ``data_norm`` are scaled back to it.
    y : array_like of shape (m,)
        Labels -1 and 1.
    margin, radius, data_norm : float
        Margin, radius of the ball, public bound on the norm of a record.
    epsilon, delta : float
        Budget: (epsilon/2, delta) for all passes together, epsilon/2 for the choice.
    rng : numpy.random.Generator
        Source of draws and noise: floating-point research noise, not a release.
    beta : float, default=0.05
        Failure probability of the bound; it sets the number of passes. Privacy ignores it.
    accounting : {"mixture", "permutation", "tight_cap", "log_cap"}, default="mixture"
        How duplicates are paid for. ``permutation`` draws without replacement, the others with.
        Only ``log_cap`` needs delta < 1/m and epsilon <= log(1/delta), as the lemma does.

    Returns
    -------
    BoostedDescent
        The chosen point; the choice and all candidates are (epsilon, delta)-private under
        replacement of one record (m is public).

    Raises
    ------
    TypeError, ValueError
        If an argument is out of its range, or the accounting does not cover the budget.

    Notes
    -----
    Given the draws the passes are Gaussian mechanisms and compose as such, which is cheaper than
    :math:`(\epsilon/2M,\delta/M)` for each.  The scores of the choice are mean hinge losses of
    points of the ball: their sensitivity is that of the hinge, not 1/m.

    References
    ----------
    Bassily, Mohri and Suresh (2022), Lemma 3.1; the construction is a reconstruction.

    Examples
    --------
    >>> from dplit.margin.boosting import boosted_descent
    >>> from dplit.streams import stream
    >>> y = np.repeat([1.0, -1.0], 1000)
    >>> result = boosted_descent(y[:, None] * [0.6, 0.8], y, margin=0.5, radius=1.0, data_norm=1.0,
    ...     epsilon=4.0, delta=1e-6, rng=stream(0, "example", "noise"))
    >>> len(result.candidates), bool(result.weights @ [0.6, 0.8] > 0.25)
    (6, True)
    """
    rho, size, norm = check_geometry(margin, radius, data_norm)
    rows, labels = clipped_records(X, y, norm)
    if labels.ndim != 1:
        raise ValueError(f"y must have one axis, got y of shape {labels.shape}")
    budget, m = check_positive("epsilon", epsilon) / 2.0, len(rows)
    runs = boosting_runs(beta)
    check_probability("delta", delta)
    _check_budget(epsilon, delta, accounting)
    mu = single_copy_mu(epsilon=budget, delta=delta, n_samples=m, accounting=accounting, runs=runs)
    candidates = phased_descent(
        rows, labels, margin=rho, radius=size, data_norm=norm, mu=mu,
        replacement=accounting != "permutation", rng=rng, n_draws=runs,
    )  # fmt: skip
    signed = labels * (candidates @ rows.T)
    scores = bounded_hinge_mean(signed, margin=rho, largest=size * norm)
    width = hinge_sensitivity(margin=rho, data_norm=norm, weight_norm=size, n_samples=m)
    chosen = report_noisy_min(scores, epsilon=budget, sensitivity=width, rng=rng)
    used = runs * sum(phase_sizes(m))
    return BoostedDescent(candidates[chosen], candidates, chosen, mu, used)
