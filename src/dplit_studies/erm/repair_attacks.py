"""The attacks on the scalar shift, turned on the repairs through their public estimators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Array, check_choice, check_integer, check_positive
from dplit.features import cos_sin_features
from dplit.kernels.gaussian_process import GaussianProcessOracle
from dplit.kernels.machines import PrivateKernelClassifier, PrivateKernelMachine
from dplit.mechanisms import gaussian_sigma
from dplit.papers.erm.attacks import _Reconstruction, reconstruct_record, two_point_attack
from dplit.papers.erm.gaussian_process import distinguishing_power
from dplit.papers.erm.kernels import gaussian_gram
from dplit.papers.erm.leaks import _HingePair
from dplit.papers.erm.minimisers import fit_kernel, fit_linear
from dplit.papers.erm.release import release_scalar_shift
from dplit.papers.erm.scales import least_squares_scale
from dplit.streams import stream
from dplit_studies.trials import Trial, run_trials

#: The shift is the control that both attacks must break.
RELEASES = ("shift", "gaussian_process", "gamma", "queries")

_PENALTY, _WIDTH = 0.05, 0.5

#: What the adversary knows of the fit: lambda and the box of the records.
_attack = partial(
    reconstruct_record, regularization=_PENALTY, low=[-1.0, -1.0], high=[1.0, 1.0], label_bound=1.0
)

#: Starting points on a repair, where nothing explains the answers and a second search follows.
_RESTARTS = 10

_RECORD = [[0.3, -0.2]]

_Rng = np.random.Generator


def _wave_records(n_records: int, rng: _Rng) -> tuple[Array, Array]:
    """Inputs uniform on the square; labels a wave plus noise uniform on [-0.2, 0.2]."""
    X = rng.uniform(-1.0, 1.0, (n_records, 2))
    return X, 0.8 * np.sin(np.pi * X[:, 0]) + 0.2 * rng.uniform(-1.0, 1.0, n_records)


def _one_reconstruction(
    trial: Trial, *, release: str, epsilon: float, n_records: int, n_points: int
) -> tuple[int, float]:
    rng = trial.stream("data")
    X, y = _wave_records(n_records, rng)
    points = rng.uniform(-1.0, 1.0, (n_points, 2))
    machine = PrivateKernelMachine(
        loss="squared",
        regularization=_PENALTY,
        width=_WIDTH,
        n_components=50,
        epsilon=epsilon,
        bounds=(-1.0, 1.0),
        n_queries=n_points,
        data_norm=1.5,
        random_state=trial.stream("noise"),
        release="gaussian_process" if release == "shift" else release,  # type: ignore[arg-type]
    ).fit(X, y)
    features = partial(cos_sin_features, frequencies=machine.frequencies_)
    if release == "shift":
        exact = fit_linear(features(X), y, loss="squared", regularization=_PENALTY).weights
        answers = features(points) @ exact + rng.laplace(scale=machine.sensitivity_ / epsilon)
    else:
        answers = features(points) @ machine.coef_  # what is released; predict would clip it
    found = _attack(
        answers,
        points,
        X[:-1],
        y[:-1],
        kernel=lambda A, B: features(A) @ features(B).T,
        rng=trial.stream("public"),
        restarts=_RESTARTS,
    )
    return len(found.solutions), float(np.abs(found.best - np.append(X[-1], y[-1])).max())


def reconstruct_through(
    release: str,
    *,
    seed: int,
    epsilon: float = 0.5,
    n_records: int = 50,
    n_points: int = 8,
    n_repeats: int = 5,
    n_jobs: int = 1,
) -> tuple[Array, Array]:
    """Try to recover one record of a released least-squares fit; all others are known. Returns, by
    repetition, the number of records that explain the values to rounding and the largest error of
    the best guess over x and y; a blind guess has about 0.7.
    """
    check_choice("release", release, RELEASES)
    runs = run_trials(
        partial(
            _one_reconstruction,
            release=release,
            epsilon=check_positive("epsilon", epsilon),
            n_records=check_integer("n_records", n_records, minimum=2),
            n_points=check_integer("n_points", n_points, minimum=5),
        ),
        check_integer("n_repeats", n_repeats),
        seed=seed,
        name=f"erm-reconstruct-{release}",
        n_jobs=n_jobs,
    )
    solutions, errors = zip(*runs, strict=True)
    return np.array(solutions), np.array(errors)


def search_questions(
    pair: _HingePair, *, sigma: float, counts: Sequence[int], n_sets: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Power of random sets of points, shape (len(counts), n_sets), and of asking at the record."""

    def power(points: Array) -> float:
        gram = pair.kernel(points, points)
        return distinguishing_power(pair.difference(points), gram, sigma=sigma, floor=1e-6 * sigma)

    sets = check_integer("n_sets", n_sets)
    sizes = [check_integer("counts", count) for count in counts]
    powers = [[power(rng.uniform(-1.0, 1.0, (q, 2))) for _ in range(sets)] for q in sizes]
    return np.array(powers), power(pair.records[-1:])


@dataclass(frozen=True)
class _PowerAudit:
    """Statistics of the likelihood-ratio attack on releases of two neighbours. ``first`` and
    ``second`` are the releases along their difference, in units of it: without noise 1/2 on the
    first data set and -1/2 on the second; ``mu`` is what is promised.
    """

    first: Array
    second: Array
    mu: float

    def rates(self, thresholds: Array) -> tuple[Array, Array]:
        """True- and false-positive rates of "above the threshold"."""
        t = np.asarray(thresholds)[:, None]
        return (self.first > t).mean(axis=1), (self.second > t).mean(axis=1)

    def hits(self, threshold: float = 0.0) -> tuple[int, int]:
        """Counts above one threshold."""
        return int(np.sum(self.first > threshold)), int(np.sum(self.second > threshold))


def _estimator_values(label: int, runs: int, budget: tuple[float, float], rng: _Rng) -> Array:
    """Released values at the one record, over fits of the public estimator."""
    model = PrivateKernelClassifier(
        regularization=0.5,
        n_components=1,
        classes=(-1, 1),
        random_state=rng,
        accuracy=1e-4,
        epsilon=budget[0],
        delta=budget[1],
    )
    fits = (model.fit(_RECORD, [label]) for _ in range(runs))
    return np.array([float(fit.decision_function(_RECORD)[0]) for fit in fits])


def _oracle_values(label: int, runs: int, budget: tuple[float, float], rng: _Rng) -> Array:
    """Answers at the one record, over runs of the curator's oracle."""

    def kernel(X: Array, Z: Array) -> Array:  # without checks: it is called very often
        return np.asarray(np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=-1)))

    oracles = (
        GaussianProcessOracle(
            kernel,
            _RECORD,
            [float(label)],
            sensitivity=2.0,
            epsilon=budget[0],
            delta=budget[1],
            rng=rng,
        )
        for _ in range(runs)
    )
    return np.array([float(oracle.answer(_RECORD)[0]) for oracle in oracles])


def audit_power_curve(
    *,
    seed: int,
    runs: int,
    epsilon: float = 4.0,
    delta: float = 1e-5,
    through: Literal["estimator", "oracle"] = "estimator",
) -> _PowerAudit:
    r"""Run the best attack on a Gaussian-process release of neighbours that attain Theorem 2.

    One record of either class, lambda = 1/2: the minimisers are :math:`\pm K_x`, asked at x.
    """
    count = check_integer("runs", runs)
    check_choice("through", through, ("estimator", "oracle"))
    values = _estimator_values if through == "estimator" else _oracle_values
    budget, name = (epsilon, delta), f"erm-audit-{through}"
    first, second = (
        values(label, count, budget, stream(seed, name, "noise", int(label > 0))) / 2.0
        for label in (1, -1)
    )
    return _PowerAudit(first, second, 1.0 / float(gaussian_sigma(epsilon=epsilon, delta=delta)))


def release_paths(
    pair: _HingePair, ticks: Array, *, epsilon: float, delta: float, n_paths: int, seed: int
) -> tuple[Array, Array]:
    """Released functions of two neighbours at first coordinates ``ticks``, (n_paths, q) each.

    The second coordinate is that of the record that differs.
    """
    points = np.column_stack([ticks, np.full(len(ticks), pair.records[-1, 1])])
    sides = []
    for side, coefficients in enumerate((pair.coefficients, pair.neighbour)):
        rng = stream(seed, "erm-beyond-gp-paths", "noise", side)
        oracles = (
            GaussianProcessOracle(
                pair.kernel,
                pair.records,
                coefficients,
                sensitivity=pair.sensitivity,
                epsilon=epsilon,
                delta=delta,
                rng=rng,
            )
            for _ in range(n_paths)
        )
        sides.append(np.array([oracle.answer(points) for oracle in oracles]))
    return sides[0], sides[1]


_kernel = partial(gaussian_gram, width=_WIDTH)


def two_point_hits(
    values: ArrayLike,
    neighbour: ArrayLike,
    *,
    scale: float,
    runs: int,
    rng: np.random.Generator,
    as_printed: bool = True,
) -> tuple[int, int]:
    """How often the two-point attack says "z", on ``runs`` releases of either function."""
    counts = [
        int(two_point_attack(released, values, neighbour).sum())
        for released in (
            release_scalar_shift(f, scale=scale, rng=rng, releases=runs, as_printed=as_printed)
            for f in (values, neighbour)
        )
    ]
    return counts[0], counts[1]


@dataclass(frozen=True)
class _Target:
    """One private data set, its fit released at some points, and what the adversary knows of it.
    The last record is the target, all others are known; ``exact`` are values of the fit at
    ``points``, ``answers`` the released ones.
    """

    X: Array
    y: Array
    points: Array
    exact: Array
    answers: Array

    @property
    def record(self) -> Array:
        """The record that the adversary wants, as (x, y)."""
        return np.append(self.X[-1], self.y[-1])


def _reconstruction_target(
    trial: Trial,
    *,
    epsilon: float = 0.5,
    n_records: int = 50,
    n_points: int = 12,
    as_printed: bool = True,
) -> _Target:
    """Draw a data set, fit regularised least squares and release it with the paper's noise.

    The scale is that printed in Section 5.1 for kappa = M = 1; the adversary draws the points.
    """
    m, n = check_integer("n_records", n_records, minimum=2), check_integer("n_points", n_points)
    check_positive("epsilon", epsilon)
    X, y = _wave_records(m, trial.stream("data"))
    points = trial.stream("public").uniform(-1.0, 1.0, (n, 2))
    fit = fit_kernel(_kernel(X, X), y, loss="squared", regularization=_PENALTY)
    exact = _kernel(points, X) @ fit.coefficients
    scale = least_squares_scale(
        epsilon=epsilon,
        kappa=1.0,
        label_bound=1.0,
        regularization=_PENALTY,
        n_records=m,
        rule="printed",
    )
    noise = trial.stream("noise")
    answers = release_scalar_shift(exact, scale=scale, rng=noise, as_printed=as_printed)
    return _Target(X, y, points, exact, answers)


def _reconstruct_target(
    target: _Target, n_points: int, *, rng: np.random.Generator, restarts: int = 40
) -> _Reconstruction:
    """Attack a target with its first ``n_points`` answers; all but the last record are known."""
    n = check_integer("n_points", n_points, minimum=2, maximum=len(target.answers))
    return _attack(
        target.answers[:n],
        target.points[:n],
        target.X[:-1],
        target.y[:-1],
        kernel=_kernel,
        rng=rng,
        restarts=restarts,
    )


@dataclass(frozen=True)
class _ReconstructionRuns:
    """Reconstruction against the number of answers; rows are trials, columns numbers of answers.
    Error (largest coordinate) of the ``nearest`` and ``farthest`` record that explains the answers;
    of the best admissible one if none does. ``shifts`` is the noise at the first point.
    """

    counts: NDArray[np.intp]
    nearest: Array
    farthest: Array
    solutions: NDArray[np.intp]
    shifts: Array


def _one_run(
    trial: Trial, counts: tuple[int, ...], restarts: int, as_printed: bool
) -> tuple[list[tuple[float, float, int]], float]:
    target = _reconstruction_target(trial, n_points=max(counts), as_printed=as_printed)
    rng, rows = trial.stream("public"), []
    for n in counts:
        found = _reconstruct_target(target, n, rng=rng, restarts=restarts)
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
) -> _ReconstructionRuns:
    """Attack many data sets with growing numbers of answers."""
    numbers = tuple(check_integer("counts", n, minimum=2) for n in counts)
    if not numbers:
        raise ValueError("counts must not be empty")
    check_integer("restarts", restarts)
    one = partial(_one_run, counts=numbers, restarts=restarts, as_printed=as_printed)
    results = run_trials(one, n_trials, seed=seed, name=name, n_jobs=n_jobs, progress=False)
    rows = np.array([row for row, _ in results])  # (T, k, 3)
    return _ReconstructionRuns(
        np.array(numbers, dtype=np.intp),
        rows[..., 0],
        rows[..., 1],
        rows[..., 2].astype(np.intp),
        np.array([shift for _, shift in results]),
    )
