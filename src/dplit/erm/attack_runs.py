"""The attacks of the chapter, run many times through the public release functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_integer, check_positive
from dplit.erm.attacks import Reconstruction, reconstruct_record, two_point_attack
from dplit.erm.kernels import gaussian_kernel
from dplit.erm.minimisers import fit_kernel
from dplit.erm.release import release_scalar_shift
from dplit.erm.scales import least_squares_scale
from dplit.trials import Trial, run_trials

__all__ = [
    "ReconstructionRuns",
    "Target",
    "reconstruct_target",
    "reconstruction_runs",
    "reconstruction_target",
    "two_point_hits",
]

_Array = NDArray[np.float64]
_WIDTH, _PENALTY, _BOUND = 0.5, 0.05, 1.0
_kernel = partial(gaussian_kernel, width=_WIDTH)


def two_point_hits(
    values: ArrayLike,
    neighbour: ArrayLike,
    *,
    scale: float,
    runs: int,
    rng: np.random.Generator,
    as_printed: bool = True,
) -> tuple[int, int]:
    """How often the two-point attack says "z", on releases of either function.

    Parameters
    ----------
    values, neighbour : array_like of shape (2,)
        Both functions at the two points.
    scale : float
        Laplace scale, positive.
    runs : int
        Releases of each function, at least 1.
    rng : numpy.random.Generator
    as_printed : bool, default=True
        As in :func:`~dplit.erm.release.release_scalar_shift`.

    Returns
    -------
    tuple of int
        Hits on ``values`` and on ``neighbour``.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type, shape or range.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> two_point_hits([0.1, -0.1], [-0.1, 0.1], scale=9.0, runs=50,
    ...     rng=stream(0, "example", "noise"))
    (50, 0)
    """
    counts = [
        int(two_point_attack(released, values, neighbour).sum())
        for released in (
            release_scalar_shift(f, scale=scale, rng=rng, releases=runs, as_printed=as_printed)
            for f in (values, neighbour)
        )
    ]
    return counts[0], counts[1]


@dataclass(frozen=True)
class Target:
    """One private data set, its fit released at some points, and what the adversary knows of it.

    Attributes
    ----------
    X, y : ndarray of shape (m, 2) and (m,)
        The records; the last one is the target, all others are known to the adversary.
    points : ndarray of shape (n, 2)
        Where the released function is evaluated.
    exact, answers : ndarray of shape (n,)
        Values of the fit, and released values.
    """

    X: _Array
    y: _Array
    points: _Array
    exact: _Array
    answers: _Array

    @property
    def record(self) -> _Array:
        """The record that the adversary wants, as (x, y)."""
        return np.append(self.X[-1], self.y[-1])


def reconstruction_target(
    trial: Trial,
    *,
    epsilon: float = 0.5,
    n_records: int = 50,
    n_points: int = 12,
    as_printed: bool = True,
) -> Target:
    r"""Draw a data set, fit regularised least squares and release it with the paper's noise.

    Parameters
    ----------
    trial : Trial
        Source of the streams.
    epsilon : float, default=0.5
        Nominal budget: the scale is the printed one of Section 5.1 for kappa = M = 1.
    n_records, n_points : int
        Records (at least 2) and evaluation points, drawn uniformly by the adversary.
    as_printed : bool, default=True
        One shift for all points; False: fresh noise at every point.

    Returns
    -------
    Target
        Inputs are uniform on the square :math:`[-1,1]^2`, labels :math:`0.8\sin\pi x_1` plus
        uniform noise on [-0.2, 0.2]; Gaussian kernel of width 0.5, lambda = 0.05.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> target = reconstruction_target(Trial(0, seed=0, name="example"))
    >>> round(float(np.ptp(target.answers - target.exact)), 12)
    0.0
    """
    m, n = check_integer("n_records", n_records, minimum=2), check_integer("n_points", n_points)
    check_positive("epsilon", epsilon)
    rng = trial.stream("data")
    X = rng.uniform(-1.0, 1.0, (m, 2))
    y = 0.8 * np.sin(np.pi * X[:, 0]) + 0.2 * rng.uniform(-1.0, 1.0, m)
    points = trial.stream("public").uniform(-1.0, 1.0, (n, 2))
    fit = fit_kernel(_kernel(X, X), y, loss="squared", regularization=_PENALTY)
    exact = _kernel(points, X) @ fit.coefficients
    scale = least_squares_scale(
        epsilon=epsilon,
        kappa=1.0,
        label_bound=_BOUND,
        regularization=_PENALTY,
        n_records=m,
        rule="printed",
    )
    noise = trial.stream("noise")
    answers = release_scalar_shift(exact, scale=scale, rng=noise, as_printed=as_printed)
    return Target(X, y, points, exact, answers)


def reconstruct_target(
    target: Target, n_points: int, *, rng: np.random.Generator, restarts: int = 40
) -> Reconstruction:
    """Attack a target with its first ``n_points`` answers; all but the last record are known.

    Parameters
    ----------
    target : Target
    n_points : int
        Number of answers used, from 2 to all.
    rng : numpy.random.Generator
        For the starting points.
    restarts : int, default=40

    Returns
    -------
    Reconstruction
        The admissible records that explain the answers.

    Raises
    ------
    TypeError, ValueError
        If ``n_points`` is out of range.

    Examples
    --------
    >>> from dplit.streams import stream
    >>> target = reconstruction_target(Trial(0, seed=0, name="example"))
    >>> found = reconstruct_target(target, 8, rng=stream(0, "example", "public"))
    >>> found.unique, bool(np.abs(found.best - target.record).max() < 1e-8)
    (True, True)
    """
    n = check_integer("n_points", n_points, minimum=2)
    if n > len(target.answers):
        raise ValueError(f"n_points must be at most {len(target.answers)}, got n_points={n}")
    return reconstruct_record(
        target.answers[:n],
        target.points[:n],
        target.X[:-1],
        target.y[:-1],
        kernel=_kernel,
        regularization=_PENALTY,
        low=[-1.0, -1.0],
        high=[1.0, 1.0],
        label_bound=_BOUND,
        rng=rng,
        restarts=restarts,
    )


@dataclass(frozen=True)
class ReconstructionRuns:
    """Reconstruction against the number of answers; rows are trials, columns numbers of answers.

    Attributes
    ----------
    counts : ndarray of shape (k,)
        Numbers of answers.
    nearest, farthest : ndarray of shape (T, k)
        Error (largest coordinate) of the solution nearest to the true record and of the farthest
        one: what an adversary risks who takes any record that explains the answers. Where none
        does, both are the error of the best admissible record.
    solutions : ndarray of int, shape (T, k)
        Number of different admissible records that were found.
    shifts : ndarray of shape (T,)
        The noise that was added (at the first point).
    """

    counts: NDArray[np.intp]
    nearest: _Array
    farthest: _Array
    solutions: NDArray[np.intp]
    shifts: _Array


def _one_run(
    trial: Trial, counts: tuple[int, ...], restarts: int, as_printed: bool
) -> tuple[list[tuple[float, float, int]], float]:
    target = reconstruction_target(trial, n_points=max(counts), as_printed=as_printed)
    rng, rows = trial.stream("public"), []
    for n in counts:
        found = reconstruct_target(target, n, rng=rng, restarts=restarts)
        tried = found.solutions if len(found.solutions) else found.best[None]
        errors = np.abs(tried - target.record).max(axis=1)
        rows.append((float(errors.min()), float(errors.max()), len(found.solutions)))
    return rows, float(target.answers[0] - target.exact[0])


def reconstruction_runs(
    counts: Sequence[int] = tuple(range(2, 13)),
    *,
    n_trials: int,
    seed: int,
    name: str = "erm-beyond-reconstruction",
    restarts: int = 40,
    as_printed: bool = True,
    n_jobs: int | None = 1,
) -> ReconstructionRuns:
    """Attack many data sets with growing numbers of answers.

    Parameters
    ----------
    counts : sequence of int
        Numbers of answers, each at least 2.
    n_trials : int
        Data sets, at least 1.
    seed : int
    name : str, default="erm-beyond-reconstruction"
        Name of the streams.
    restarts : int, default=40
        Local searches per attack.
    as_printed : bool, default=True
        False: fresh noise at every point, against which the attack must fail.
    n_jobs : int or None, default=1

    Returns
    -------
    ReconstructionRuns

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> runs = reconstruction_runs((5, 8), n_trials=1, seed=0)
    >>> runs.solutions.tolist(), bool(runs.farthest.max() < 1e-8)
    ([[1, 1]], True)
    """
    numbers = tuple(check_integer("counts", n, minimum=2) for n in counts)
    if not numbers:
        raise ValueError("counts must not be empty")
    check_integer("restarts", restarts)
    one = partial(_one_run, counts=numbers, restarts=restarts, as_printed=as_printed)
    results = run_trials(one, n_trials, seed=seed, name=name, n_jobs=n_jobs, progress=False)
    rows = np.array([row for row, _ in results])  # (T, k, 3)
    return ReconstructionRuns(
        np.array(numbers, dtype=np.intp),
        rows[..., 0],
        rows[..., 1],
        rows[..., 2].astype(np.intp),
        np.array([shift for _, shift in results]),
    )
