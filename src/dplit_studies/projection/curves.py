"""Figures 1 and 2: relative errors of all schemes at the paper's sizes, printed and repaired.

Only second moments of blocks of rows are kept. Errors of additive noise are simulated; those of
projections are exact conditional means and one exact draw per trial. Nested rows serve all n of a
trial, and all response models share their random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigvalsh
from scipy.linalg.blas import dsyrk

from dplit._checks import Array, check_choice, check_integer, check_positive
from dplit.projection.additive import moment_variances
from dplit.projection.information import additive_sigma, fixed_variance
from dplit.projection.laws import (
    _additive_moments,
    _projected_moments,
    expected_error,
    projection_errors,
)
from dplit.projection.projection import _useful_amount, best_components
from dplit.projection.regression import Spectrum, _shifted_solve, _spectra_from_moments
from dplit.streams import stream
from dplit.trials import Runs, Trial, run_trials

#: Projection sizes of the paper.
SCHEMES: tuple[str, ...] = ("log", "linear", "full")


@dataclass(frozen=True)
class _Response:
    """A model ``y = X theta + w`` of responses that the paper leaves unstated.

    ``coefficient_sd`` is the standard deviation of theta; that of w is 1, X is uniform on [-1, 1].
    """

    title: str
    coefficient_sd: float


#: Response models for uniform designs with 800 columns; the signal has energy 800 sd^2 / 3 per row.
RESPONSES: dict[str, _Response] = {
    "unit": _Response("standard normal coefficients", 1.0),
    "snr10": _Response("signal 10 times the noise", math.sqrt(30 / 800)),
    "snr1": _Response("signal as large as the noise", math.sqrt(3 / 800)),
    "noise": _Response("responses that X does not explain", 0.0),
}


@dataclass(frozen=True)
class _Setting:
    """One figure: d columns, n = row_unit * k at k of ``positions``, n' in ``sketch_unit``."""

    n_features: int
    row_unit: int
    sketch_unit: int
    positions: tuple[int, ...]
    epsilons: tuple[float, ...]
    repeats: int


_GRID = (*(round(0.05 * i, 2) for i in range(1, 31)), 1.75, 2.0, 2.5, 3.0)

#: The settings by figure.
_SETTINGS: dict[str, _Setting] = {
    "fig1": _Setting(800, 1000, 1000, tuple(range(1, 21)), (0.5,), 5),
    "fig2": _Setting(800, 1000, 1000, (10,), _GRID, 5),
    "fig3": _Setting(300, 1000, 500, tuple(range(1, 10)), (0.2,), 10),
}

#: What the text does not state, and what is done here: figure, question, choice.
OPEN_CHOICES: tuple[tuple[str, str, str], ...] = (
    ("1, 2", "the responses y", "four models; X theta + w with normal theta and w is drawn first"),
    ("1, 2", "what is drawn anew per trial", "X, theta, w and the noise"),
    ("1, 3", "base of the logarithm in n'", "e"),
    ("1, 3", "rounding of n'", "to the nearest integer"),
    ("2", "the budgets", "0.05 to 1.5 in steps of 0.05, then to 3"),
    ("3", "scale of the pixels", "[0, 1]"),
    ("3", "intercept and decision", "none; the sign of the fit"),
    ("3", "pixels chosen on", "all samples, as the text says; not a private step"),
    ("3", "rows that n counts", "training rows, so that k ends at 9"),
)


def setting(figure: str) -> _Setting:
    """Return the settings of "fig1", "fig2" or "fig3", Section V of the paper."""
    check_choice("figure", figure, _SETTINGS)
    return _SETTINGS[figure]


def projection_sizes(figure: str, k: int) -> dict[str, int]:
    """Numbers of projected rows of one figure at n = row_unit * k, rounded; u is the sketch unit.

    "log": u (ln k + 1), "linear": u (k + 1) / 2, "full": n.
    """
    chosen = setting(figure)
    count = check_integer("k", k)
    unit = chosen.sketch_unit
    return {
        "log": round(unit * (math.log(count) + 1)),
        "linear": unit * (count + 1) // 2,
        "full": chosen.row_unit * count,
    }


_BLOCK = 1000  # rows per block; positions are multiples of it


@dataclass(frozen=True)
class _ErrorCurves(Runs):
    """Relative errors (trials, p) of "<response> additive" and "<response> <size> <noise>": exact
    conditional means for projections, of which ``drawn`` has one exact draw each. "best repaired"
    has the n' of the least mean, which only an oracle knows; "corrected" and "moments" are draws.
    """

    axis: Array
    drawn: Mapping[str, Array]
    components: Mapping[str, Array]
    snr: Mapping[str, Array]
    floor: Array  # f(X) squared, what (13) subtracts


def _weights(responses: Iterable[str]) -> Array:
    """Return the weights of (X theta, w) in the responses, one row each."""
    return np.array([[RESPONSES[name].coefficient_sd, 1.0] for name in responses])


def _accumulated(gram: Array, X: Array) -> Array:
    """Add the lower triangle of X'X to ``gram``, in place."""
    return np.asarray(dsyrk(1.0, X.T, beta=1.0, c=gram.T, overwrite_c=True).T)


@dataclass
class _Moments:
    """Second moments of the rows seen so far (lower triangles); responses are a * (X theta) + w."""

    gram: Array
    cross: Array  # X' [X theta, w]
    inner: Array  # [X theta, w]' [X theta, w]
    noisy_gram: Array
    noisy_cross: Array
    energy: Array
    peak: Array
    largest: Array  # of the responses, absolutely

    @classmethod
    def empty(cls, d: int) -> _Moments:
        square, pair = np.zeros((d, d)), np.zeros((d, 2))
        zero = np.zeros(d)
        noisy, most = (square.copy(), pair.copy()), np.zeros(len(RESPONSES))
        return cls(square, pair, np.zeros((2, 2)), *noisy, zero, zero.copy(), most)

    def add(self, X: Array, noise: Array | None, signals: Array) -> None:
        self.gram = _accumulated(self.gram, X)
        self.cross += X.T @ signals
        self.inner += signals.T @ signals
        self.energy += np.sum(X**2, axis=0)
        np.maximum(self.peak, np.max(X**2, axis=0), out=self.peak)
        responses = signals @ _weights(RESPONSES).T
        np.maximum(self.largest, np.abs(responses).max(axis=0), out=self.largest)
        if noise is not None:
            released = X + noise
            self.noisy_gram = _accumulated(self.noisy_gram, released)
            self.noisy_cross += released.T @ signals

    @property
    def floor(self) -> float:
        return float(np.min(self.energy - self.peak))

    def spectra(self, responses: Sequence[str]) -> dict[str, Spectrum]:
        weights = _weights(responses)
        energies = np.einsum("ki,ij,kj->k", weights, self.inner, weights)
        found = _spectra_from_moments(self.gram, self.cross @ weights.T, energies)
        return dict(zip(responses, found, strict=True))

    def additive_errors(
        self, spectra: Mapping[str, Spectrum], n: int, sigma: float
    ) -> dict[str, float]:
        weights = _weights(spectra)
        energies = np.einsum("ki,ij,kj->k", weights, self.inner, weights)
        basis, cross = next(iter(spectra.values())).basis, self.noisy_cross @ weights.T
        fits = _fits(self.noisy_gram, cross, energies, n, sigma**2)
        return _named(spectra, *(basis.T @ part for part in fits))


def _named(spectra: Mapping[str, Spectrum], plain: Array, corrected: Array) -> dict[str, float]:
    """Return the errors of fits on a noisy table by the names of the curves."""
    errors = {}
    for k, (name, problem) in enumerate(spectra.items()):
        errors[f"{name} additive"] = float(problem.errors(plain[:, k]))
        errors[f"{name} additive corrected"] = float(problem.errors(corrected[:, k]))
    return errors


def _fits(gram: Array, cross: Array, energies: Array, m: int, noise: float) -> tuple[Array, Array]:
    """Return the plain and the corrected fits (d, k) on m noisy rows of which these are moments."""
    plain = _shifted_solve(gram, cross, 0.0)
    left = energies - np.sum(plain * cross, axis=0)
    rows, shape = float(np.trace(gram)), (m, len(gram))
    pairs = zip(energies.tolist(), left.tolist(), strict=True)
    amounts = np.array([_useful_amount(shape, rows, *pair, noise) for pair in pairs])
    try:  # at most 0.8 of the least eigenvalue, which is needed only where that binds
        _shifted_solve(gram, cross[:, :1], amounts.max() / 0.8)
    except LinAlgError:
        least = float(eigvalsh(gram, subset_by_index=[0, 0], check_finite=False)[0])
        amounts = np.minimum(amounts, 0.8 * least)
    corrected = plain.copy()
    for amount in set(amounts[amounts > 0].tolist()):
        chosen = amounts == amount
        corrected[:, chosen] = _shifted_solve(gram, cross[:, chosen], amount)
    return plain, corrected


def _blocks(
    trial: Trial, d: int, n_blocks: int, sigma: float | None
) -> Iterator[tuple[int, _Moments]]:
    """Yield the running moments of uniform rows after every block."""
    data, noise = trial.stream("data"), trial.stream("noise")
    theta, moments = data.standard_normal(d), _Moments.empty(d)
    for block in range(n_blocks):
        X = data.uniform(-1.0, 1.0, (_BLOCK, d))
        signals = np.column_stack([X @ theta, data.standard_normal(_BLOCK)])
        added = None if sigma is None else sigma * noise.standard_normal((_BLOCK, d))
        moments.add(X, added, signals)
        yield block + 1, moments


class _Point:
    """What one trial finds at one position."""

    def __init__(self, floor: float) -> None:
        self.floor = floor
        self.errors: dict[str, float] = {}
        self.drawn: dict[str, float] = {}
        self.snr: dict[str, float] = {}

    def project(
        self, name: str, problem: Spectrum, epsilon: float, sizes: Mapping[str, int],
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        """Fill mean and draw of every projection size under both noises, for one response."""
        self.snr[name] = problem.snr
        for scheme, rows in sizes.items():
            safe = fixed_variance(epsilon=epsilon, n_components=rows)
            for noise, lam in (("printed", max(safe - self.floor, 0.0)), ("repaired", safe)):
                key = f"{name} {scheme} {noise}"
                self.errors[key] = expected_error(problem, penalty=lam, n_components=rows)
                draw = projection_errors(problem, penalty=lam, n_components=rows, size=1, rng=rng)
                self.drawn[key] = float(draw[0])

    def moments(self, errors: Mapping[str, float]) -> None:
        """Fill the fits on noisy second moments."""
        self.errors |= {f"{name} moments": value for name, value in errors.items()}

    def best(self, spectra: Mapping[str, Spectrum], epsilon: float, n: int) -> None:
        """Fill the best repaired projection."""
        for name, problem in spectra.items():
            _, least = best_components(problem, epsilon=epsilon, n_samples=n)
            self.errors[f"{name} best repaired"] = least


def _repair(
    points: Sequence[_Point], spectra: Mapping[str, Spectrum], epsilons: Sequence[float],
    sizes: Mapping[str, int], rng: np.random.Generator,
) -> None:  # fmt: skip
    """Fill corrected fits on few and on all rows at several budgets, with common noise."""
    for scheme in ("log", "full"):
        rows = sizes[scheme]
        noises = [fixed_variance(epsilon=e, n_components=rows) for e in epsilons]
        released = _projected_moments(list(spectra.values()), noises, rows, rng)
        for point, noise, moments in zip(points, noises, released, strict=True):
            _, corrected = _fits(*moments, rows, noise)
            for k, (name, problem) in enumerate(spectra.items()):
                error = float(problem.errors(corrected[:, k]))
                point.errors[f"{name} {scheme} corrected"] = error


def _noisy_moments(
    moments: _Moments, spectra: Mapping[str, Spectrum], n: int, epsilons: Sequence[float],
    trial: Trial, which: str,
) -> list[dict[str, float]]:  # fmt: skip
    rng = stream(trial.seed, f"proj-beyond-moments-{which}", "noise", int(trial))
    largest = dict(zip(RESPONSES, moments.largest.tolist(), strict=True))
    bounds = [largest[name] for name in spectra]
    return moment_errors(spectra, n_samples=n, largest=bounds, epsilons=epsilons, rng=rng)


def _row_trial(
    trial: Trial, positions: tuple[int, ...], responses: tuple[str, ...]
) -> list[_Point]:
    chosen = _SETTINGS["fig1"]
    (epsilon,) = chosen.epsilons
    sketch = stream(trial.seed, "proj-fig1-sketch", "noise", int(trial))
    repair = stream(trial.seed, "proj-beyond-cost-rows", "noise", int(trial))
    points, sigma = [], additive_sigma(epsilon=epsilon)
    for k, moments in _blocks(trial, chosen.n_features, positions[-1], sigma):
        if k in positions:
            spectra, point = moments.spectra(responses), _Point(moments.floor)
            n, sizes = chosen.row_unit * k, projection_sizes("fig1", k)
            point.errors |= moments.additive_errors(spectra, n, sigma)
            for name, problem in spectra.items():
                point.project(name, problem, epsilon, sizes, sketch)
            point.best(spectra, epsilon, n)
            point.moments(_noisy_moments(moments, spectra, n, [epsilon], trial, "rows")[0])
            _repair([point], spectra, [epsilon], sizes, repair)
            points.append(point)
    return points


def _budget_trial(
    trial: Trial, epsilons: tuple[float, ...], responses: tuple[str, ...]
) -> list[_Point]:
    chosen = _SETTINGS["fig2"]
    (k,) = chosen.positions
    *_, (_, moments) = _blocks(trial, chosen.n_features, k, None)
    noise, points = trial.stream("noise"), [_Point(moments.floor) for _ in epsilons]
    sigmas, n = [additive_sigma(epsilon=e) for e in epsilons], chosen.row_unit * k
    spectra, sizes = moments.spectra(responses), projection_sizes("fig2", k)
    for point, epsilon in zip(points, epsilons, strict=True):
        point.best(spectra, epsilon, n)
        for name, problem in spectra.items():
            point.project(name, problem, epsilon, sizes, noise)
    repair = stream(trial.seed, "proj-beyond-cost-budgets", "noise", int(trial))
    energies = np.array([p.residual + float(p.scores @ p.scores) for p in spectra.values()])
    released = _additive_moments(list(spectra.values()), sigmas, n, repair)
    for point, sigma, pair in zip(points, sigmas, released, strict=True):
        point.errors |= _named(spectra, *_fits(*pair, energies, n, sigma**2))
    _repair(points, spectra, epsilons, sizes, repair)
    found = _noisy_moments(moments, spectra, n, epsilons, trial, "budgets")
    for point, errors in zip(points, found, strict=True):
        point.moments(errors)
    return points


def _collect(axis: Array, trials: list[list[_Point]], sizes: list[dict[str, int]]) -> _ErrorCurves:
    def stacked(part: str) -> dict[str, Array]:
        keys = getattr(trials[0][0], part)
        return {k: np.array([[getattr(p, part)[k] for p in t] for t in trials]) for k in keys}

    return _ErrorCurves(
        values=stacked("errors"),
        axis=axis,
        drawn=stacked("drawn"),
        components={s: np.array([row[s] for row in sizes], dtype=float) for s in SCHEMES},
        snr=stacked("snr"),
        floor=np.array([[point.floor for point in points] for points in trials]),
    )


def _checked_responses(responses: Sequence[str]) -> tuple[str, ...]:
    names = tuple(responses)
    if not names:
        raise ValueError("responses must name at least one model, got responses=()")
    for name in names:
        check_choice("responses", name, RESPONSES)
    return names


def row_curves(
    *, seed: int, n_repeats: int = 5, positions: Sequence[int] | None = None,
    responses: Sequence[str] = tuple(RESPONSES), n_jobs: int = 1,
) -> _ErrorCurves:  # fmt: skip
    """Run Figure 1: relative errors against the number of rows, at half a bit per entry.

    ``positions`` are increasing k, n = 1000 k; the rows of a trial are nested in n.
    """
    chosen = tuple(positions) if positions is not None else setting("fig1").positions
    if not chosen or chosen[0] < 1 or any(b <= a for a, b in pairwise(chosen)):
        raise ValueError(f"positions must increase from at least 1, got positions={chosen!r}")
    work = partial(_row_trial, positions=chosen, responses=_checked_responses(responses))
    trials = run_trials(work, n_repeats, seed=seed, name="proj-fig1", n_jobs=n_jobs)
    axis = np.array(chosen, dtype=float) * setting("fig1").row_unit
    return _collect(axis, trials, [projection_sizes("fig1", k) for k in chosen])


def budget_curves(
    *, seed: int, n_repeats: int = 5, epsilons: Sequence[float] | None = None,
    responses: Sequence[str] = tuple(RESPONSES), n_jobs: int = 1,
) -> _ErrorCurves:  # fmt: skip
    """Run Figure 2: relative errors against the budget (our grid, in bits), at 10,000 rows.

    Along the axis the additive errors of a trial share their noise.
    """
    chosen = setting("fig2").epsilons if epsilons is None else tuple(epsilons)
    for value in chosen:
        check_positive("epsilons", value)
    work = partial(_budget_trial, epsilons=chosen, responses=_checked_responses(responses))
    trials = run_trials(work, n_repeats, seed=seed, name="proj-fig2", n_jobs=n_jobs)
    (k,) = setting("fig2").positions
    return _collect(np.array(chosen), trials, [projection_sizes("fig2", k)] * len(chosen))


def design_problem(
    *, seed: int, k: int, response: str = "unit", trial: int = 0
) -> tuple[Spectrum, float]:
    """Spectrum of one data set of Figure 1 with 1000 k rows, and the square of its f(X)."""
    blocks = check_integer("k", k)
    (name,) = _checked_responses((response,))
    here = Trial(check_integer("trial", trial, minimum=0), seed, "proj-fig1")
    *_, (_, moments) = _blocks(here, setting("fig1").n_features, blocks, None)
    return moments.spectra((name,))[name], moments.floor


def beats_additive(
    curves: _ErrorCurves, response: str, *, noise: str = "printed", scheme: str | None = None
) -> NDArray[np.bool_]:
    """Tell where projection has a smaller mean error than additive noise, shape (p,).

    By default all three sizes must win; ``scheme`` names one.
    """
    names = SCHEMES if scheme is None else (scheme,)
    errors = np.array([curves.mean(f"{response} {name} {noise}") for name in names])
    return np.asarray(np.all(errors < curves.mean(f"{response} additive"), axis=0))


def lower_is_better(
    curves: _ErrorCurves, response: str, *, noise: str = "printed"
) -> NDArray[np.bool_]:
    """Tell where a smaller projection never has a larger mean error than a larger one."""
    sizes = np.array([curves.components[name] for name in SCHEMES])
    errors = np.array([curves.mean(f"{response} {name} {noise}") for name in SCHEMES])
    ordered = np.take_along_axis(errors, np.argsort(sizes, axis=0, kind="stable"), axis=0)
    return np.asarray(np.all(np.diff(ordered, axis=0) >= 0, axis=0))


def best_schemes(curves: _ErrorCurves, response: str, *, noise: str = "printed") -> list[str]:
    """Return the scheme with the smallest mean error at every position.

    "printed": among the paper's three projections; "repaired": additive noise competes, too.
    """
    names = {name: f"{response} {name} {noise}" for name in SCHEMES}
    if noise == "repaired":
        names |= {"additive": f"{response} additive", "corrected": f"{response} additive corrected"}
    errors = np.array([curves.mean(name) for name in names.values()])
    return [list(names)[k] for k in np.argmin(errors, axis=0)]


def saturation_epsilon(*, floor: float, n_components: int) -> float:
    r"""Bits from which (13) is 0: :math:`\frac12\log_2(1+n'/f^2)`, ``floor`` = f^2."""
    rows = check_integer("n_components", n_components)
    return 0.5 * math.log2(1.0 + rows / check_positive("floor", floor))


def linearity(curves: _ErrorCurves, response: str, scheme: str) -> float:
    """R^2 of a straight line before (13) saturates; additive noise has the window of "full"."""
    check_choice("scheme", scheme, ("additive", *SCHEMES))
    plain = scheme == "additive"
    errors = curves.mean(f"{response} {scheme}" if plain else f"{response} {scheme} printed")
    rows = int(curves.components["full" if plain else scheme][0])
    end = saturation_epsilon(floor=float(curves.floor.mean()), n_components=rows)
    before = curves.axis < end
    x, y = curves.axis[before], errors[before]
    fitted = np.polyval(np.polyfit(x, y, 1), x)
    return 1.0 - float(np.sum((y - fitted) ** 2) / np.sum((y - y.mean()) ** 2))


def moment_errors(
    problems: Mapping[str, Spectrum], *, n_samples: int, largest: Sequence[float],
    epsilons: Sequence[float], rng: np.random.Generator,
) -> list[dict[str, float]]:  # fmt: skip
    """Draw one relative error per budget and response; ``largest``: the responses' largest moduli.

    The penalty is half of the noise's expected largest eigenvalue, doubled until it is definite.
    """
    d = next(iter(problems.values())).n_features
    square, line = rng.standard_normal((d, d)), rng.standard_normal(d)
    square = (square + square.T) / math.sqrt(2.0)
    found: list[dict[str, float]] = []
    for epsilon in epsilons:
        errors = {}
        for (name, problem), bound in zip(problems.items(), largest, strict=True):
            total = problem.residual + float(problem.scores @ problem.scores)
            gram, cross = moment_variances(
                epsilon=epsilon, n_features=d, response_bound=bound, energy=3 * total / n_samples
            )
            matrix = math.sqrt(gram) * square
            matrix.flat[:: d + 1] += problem.energies
            target = np.sqrt(problem.energies) * problem.scores + math.sqrt(cross) * line
            fit = _positive_solve(matrix, target, math.sqrt(gram * d))
            errors[name] = float(problem.errors(fit))
        found.append(errors)
    return found


def _positive_solve(matrix: Array, target: Array, penalty: float) -> Array:
    while True:
        try:
            return _shifted_solve(matrix, target, -penalty)
        except LinAlgError:
            penalty *= 2.0
