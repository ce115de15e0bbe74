r"""The attacks on the scalar shift, turned on the repairs through their public estimators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_choice, check_integer, check_positive
from dplit.erm.attacks import reconstruct_record
from dplit.erm.estimators import PrivateKernelClassifier, PrivateKernelMachine
from dplit.erm.gaussian_process import GaussianProcessOracle, distinguishing_power
from dplit.erm.leaks import HingePair
from dplit.erm.minimisers import fit_linear
from dplit.features import cos_sin_features
from dplit.mechanisms import gaussian_sigma
from dplit.streams import stream
from dplit.trials import Trial, run_trials

__all__ = [
    "RELEASES",
    "PowerAudit",
    "audit_power_curve",
    "reconstruct_through",
    "search_questions",
]

_Array = NDArray[np.float64]
#: The shift is the control that both attacks must break.
RELEASES = ("shift", "gaussian_process", "gamma", "queries")
_PENALTY, _WIDTH = 0.05, 0.5
_RECORD = [[0.3, -0.2]]
Rng = np.random.Generator


def _one_reconstruction(
    trial: Trial, *, release: str, epsilon: float, n_records: int, n_points: int
) -> tuple[int, float]:
    rng = trial.stream("data")
    X = rng.uniform(-1.0, 1.0, (n_records, 2))
    y = 0.8 * np.sin(np.pi * X[:, 0]) + 0.2 * rng.uniform(-1.0, 1.0, n_records)
    points = rng.uniform(-1.0, 1.0, (n_points, 2))
    machine = PrivateKernelMachine(
        loss="squared", regularization=_PENALTY, width=_WIDTH, n_components=50, epsilon=epsilon,
        bounds=(-1.0, 1.0), n_queries=n_points, data_norm=1.5, random_state=trial.stream("noise"),
        release="gaussian_process" if release == "shift" else release,  # type: ignore[arg-type]
    ).fit(X, y)  # fmt: skip
    features = partial(cos_sin_features, frequencies=machine.frequencies_)
    if release == "shift":
        exact = fit_linear(features(X), y, loss="squared", regularization=_PENALTY).weights
        answers = features(points) @ exact + rng.laplace(scale=machine.sensitivity_ / epsilon)
    else:
        answers = features(points) @ machine.coef_  # what is released; predict would clip it
    found = reconstruct_record(
        answers, points, X[:-1], y[:-1], kernel=lambda A, B: features(A) @ features(B).T,
        regularization=_PENALTY, low=[-1.0, -1.0], high=[1.0, 1.0], label_bound=1.0,
        rng=trial.stream("public"),
    )  # fmt: skip
    return len(found.solutions), float(np.abs(found.best - np.append(X[-1], y[-1])).max())


def reconstruct_through(
    release: str, *, seed: int, epsilon: float = 0.5, n_records: int = 50, n_points: int = 8,
    n_repeats: int = 5, n_jobs: int = 1,
) -> tuple[_Array, _Array]:  # fmt: skip
    """Try to recover one record of a released least-squares fit; all others are known.

    Parameters
    ----------
    release : {"shift", "gaussian_process", "gamma", "queries"}
        The paper's shift with enough noise for one answer, or a repair.
    seed : int
    epsilon : float, default=0.5
        Positive.
    n_records, n_points : int, default=50, 8
        Records, at least 2, and values that the adversary sees, at least 5.
    n_repeats : int, default=5
    n_jobs : int, default=1

    Returns
    -------
    solutions : ndarray of int, shape (n_repeats,)
        Number of records that explain the values to rounding.
    errors : ndarray of shape (n_repeats,)
        Largest error of the best guess in the box over x and y.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    Inputs are uniform on the square, so a blind guess at its centre has an error of about 0.7.

    Examples
    --------
    >>> solutions, errors = reconstruct_through("shift", seed=0, n_repeats=1)
    >>> int(solutions[0]), bool(errors[0] < 1e-6)
    (1, True)
    """
    check_choice("release", release, RELEASES)
    runs = run_trials(
        partial(
            _one_reconstruction, release=release, epsilon=check_positive("epsilon", epsilon),
            n_records=check_integer("n_records", n_records, minimum=2),
            n_points=check_integer("n_points", n_points, minimum=5),
        ),
        check_integer("n_repeats", n_repeats), seed=seed, name=f"erm-reconstruct-{release}",
        n_jobs=n_jobs,
    )  # fmt: skip
    solutions, errors = zip(*runs, strict=True)
    return np.array(solutions), np.array(errors)


def search_questions(
    pair: HingePair, *, sigma: float, counts: Sequence[int], n_sets: int, rng: np.random.Generator
) -> tuple[_Array, float]:
    """Power of random sets of questions to tell two neighbours apart, and of one good question.

    Parameters
    ----------
    pair : HingePair
        Neighbours that attain Theorem 2.
    sigma : float
        Factor of the process, positive.
    counts : sequence of int
        Numbers of points in a set, each at least 1.
    n_sets : int
        Random sets for each number, uniform on the square.
    rng : numpy.random.Generator

    Returns
    -------
    powers : ndarray of shape (len(counts), n_sets)
        In standard deviations, as :func:`~dplit.erm.gaussian_process.distinguishing_power`.
    attained : float
        The power of asking at the record that differs.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.erm.leaks import hinge_pair
    >>> rng = np.random.default_rng(0)
    >>> powers, attained = search_questions(hinge_pair(9, rng=rng), sigma=1.0, counts=[1, 5],
    ...     n_sets=3, rng=rng)
    >>> powers.shape, bool(powers.max() <= attained)
    ((2, 3), True)
    """

    def power(points: _Array) -> float:
        gram = pair.kernel(points, points)
        return distinguishing_power(pair.difference(points), gram, sigma=sigma, floor=1e-6 * sigma)

    sets = check_integer("n_sets", n_sets)
    sizes = [check_integer("counts", count) for count in counts]
    powers = [[power(rng.uniform(-1.0, 1.0, (q, 2))) for _ in range(sets)] for q in sizes]
    return np.array(powers), power(pair.records[-1:])


@dataclass(frozen=True)
class PowerAudit:
    """Statistics of the likelihood-ratio attack on the released coefficients.

    Attributes
    ----------
    first, second : ndarray of shape (runs,)
        On the two neighbours: the release along their difference, in units of it, from -1/2 on
        the second data set to 1/2 on the first if there were no noise.
    mu : float
        Gaussian-DP parameter that the estimator promises.
    """

    first: _Array
    second: _Array
    mu: float

    def rates(self, thresholds: _Array) -> tuple[_Array, _Array]:
        """True- and false-positive rates of "above the threshold"."""
        t = np.asarray(thresholds)[:, None]
        return (self.first > t).mean(axis=1), (self.second > t).mean(axis=1)

    def hits(self, threshold: float = 0.0) -> tuple[int, int]:
        """Counts above one threshold."""
        return int(np.sum(self.first > threshold)), int(np.sum(self.second > threshold))


def _estimator_values(label: int, runs: int, budget: tuple[float, float], rng: Rng) -> _Array:
    """Released values at the one record, over fits of the public estimator."""
    model = PrivateKernelClassifier(
        regularization=0.5, n_components=1, classes=(-1, 1), random_state=rng, accuracy=1e-4,
        epsilon=budget[0], delta=budget[1],
    )  # fmt: skip
    fits = (model.fit(_RECORD, [label]) for _ in range(runs))
    return np.array([float(fit.decision_function(_RECORD)[0]) for fit in fits])


def _oracle_values(label: int, runs: int, budget: tuple[float, float], rng: Rng) -> _Array:
    """Answers at the one record, over runs of the curator's oracle."""

    def kernel(X: _Array, Z: _Array) -> _Array:  # without checks: it is called very often
        return np.asarray(np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=-1)))

    oracles = (
        GaussianProcessOracle(
            kernel, _RECORD, [float(label)], sensitivity=2.0, epsilon=budget[0], delta=budget[1],
            rng=rng,
        )
        for _ in range(runs)
    )  # fmt: skip
    return np.array([float(oracle.answer(_RECORD)[0]) for oracle in oracles])


def audit_power_curve(
    *, seed: int, runs: int, epsilon: float = 4.0, delta: float = 1e-5,
    through: Literal["estimator", "oracle"] = "estimator",
) -> PowerAudit:  # fmt: skip
    r"""Run the best attack on a Gaussian-process release of neighbours that attain Theorem 2.

    Parameters
    ----------
    seed : int
    runs : int
        Releases of each data set, at least 1.
    epsilon, delta : float
        The budget.
    through : {"estimator", "oracle"}, default="estimator"
        :class:`~dplit.erm.estimators.PrivateKernelClassifier` or
        :class:`~dplit.erm.gaussian_process.GaussianProcessOracle`.

    Returns
    -------
    PowerAudit

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    One record of either class and :math:`\lambda=\frac12`: the hinge minimisers are
    :math:`\pm K_x`, at distance :math:`2=1/(\lambda m)`; the attack asks at x.

    Examples
    --------
    >>> audit = audit_power_curve(seed=0, runs=20, through="oracle")
    >>> len(audit.first), round(audit.mu, 2)
    (20, 0.92)
    """
    count = check_integer("runs", runs)
    check_choice("through", through, ("estimator", "oracle"))
    values = _estimator_values if through == "estimator" else _oracle_values
    budget, name = (epsilon, delta), f"erm-audit-{through}"
    first, second = (
        values(label, count, budget, stream(seed, name, "noise", int(label > 0))) / 2.0
        for label in (1, -1)
    )
    return PowerAudit(first, second, 1.0 / float(gaussian_sigma(epsilon=epsilon, delta=delta)))
