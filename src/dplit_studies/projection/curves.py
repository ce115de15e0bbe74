"""Figures 1 and 2: relative errors of all schemes at the paper's sizes, printed and repaired.

Only second moments of blocks of rows are kept: fits on a noisy table are drawn from small factors,
plain fits on projections are exact conditional means. Nested rows serve all n of a trial, and all
response models and budgets share their random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, eigvalsh
from scipy.linalg.blas import dsyrk

from dplit._checks import Array, check_choice, check_integer, check_positive
from dplit.advice.entry_errors import EntryFacts, best_rows
from dplit.entries.privacy import additive_sigma, fixed_variance
from dplit.entries.projections import CAP, _useful_amount
from dplit.entries.variances import moment_variances
from dplit.papers.projection.calibration import noise_free_epsilon
from dplit.papers.projection.laws import _projected_moments, projected_error
from dplit.papers.projection.samplers import _additive_moments, projection_errors
from dplit.papers.projection.spectrum import Spectrum, _shifted_solve, _spectra_from_moments
from dplit.streams import stream
from dplit_studies.runs import Runs
from dplit_studies.trials import Trial, run_trials

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


_GRID = (*(round(0.05 * i, 2) for i in range(1, 31)), 1.75, 2.0, 2.5, 3.0)

#: The settings by figure.
_SETTINGS: dict[str, _Setting] = {
    "fig1": _Setting(800, 1000, 1000, tuple(range(1, 21)), (0.5,)),
    "fig2": _Setting(800, 1000, 1000, (10,), _GRID),
    "fig3": _Setting(300, 1000, 500, tuple(range(1, 10)), (0.2,)),
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

#: Fits at the right noise that are drawn; without a signal there is no size for a projection.
FITS = ("raw", "corrected", "log", "best", "moments")


class _Place(NamedTuple):
    """What a trial finds at one place: errors (responses, schemes) and (responses, fits)."""

    floor: float
    printed: Array
    repaired: Array
    drawn: Array
    fitted: Array


@dataclass(frozen=True)
class _Errors:
    """Relative errors (trials, p) for one model of the responses.

    ``printed`` and ``repaired``: exact conditional means of the plain projections of the paper's
    three sizes under the two noises, ``drawn`` one exact draw each of the first. ``fitted`` are
    draws at the right noise: "raw" and "corrected" additive noise, corrected projections at the
    "log" size and at the "best", which the closed form names for this signal, noisy "moments".
    """

    printed: Runs
    repaired: Runs
    drawn: Runs
    fitted: Runs


@dataclass(frozen=True)
class _ErrorCurves:
    """:class:`_Errors` by response along an axis; ``floor`` (trials, p) is what (13) subtracts."""

    axis: Array
    components: Mapping[str, Array]
    floor: Array
    responses: Mapping[str, _Errors]

    def __getitem__(self, response: str) -> _Errors:
        """Return the errors for one model of the responses."""
        return self.responses[check_choice("response", response, self.responses)]


def _weights(responses: Iterable[str]) -> Array:
    """Return the weights of (X theta, w) in the responses, one row each."""
    return np.array([[RESPONSES[name].coefficient_sd, 1.0] for name in responses])


class _Moments:
    """Second moments of the rows seen so far (lower triangle); responses are a * (X theta) + w."""

    def __init__(self, d: int) -> None:
        self.gram, self.cross, self.inner = np.zeros((d, d)), np.zeros((d, 2)), np.zeros((2, 2))
        self.energy, self.peak, self.largest = np.zeros(d), np.zeros(d), np.zeros(len(RESPONSES))

    def add(self, X: Array, signals: Array) -> None:
        """Add rows and their (X theta, w)."""
        self.gram = dsyrk(1.0, X.T, beta=1.0, c=self.gram.T, overwrite_c=True).T
        self.cross += X.T @ signals
        self.inner += signals.T @ signals
        self.energy += np.sum(X**2, axis=0)
        np.maximum(self.peak, np.max(X**2, axis=0), out=self.peak)
        responses = signals @ _weights(RESPONSES).T
        np.maximum(self.largest, np.abs(responses).max(axis=0), out=self.largest)

    @property
    def floor(self) -> float:
        """The square of f(X)."""
        return float(np.min(self.energy - self.peak))

    def spectra(self, responses: Sequence[str]) -> dict[str, Spectrum]:
        """Return the problems by response."""
        weights = _weights(responses)
        energies = np.einsum("ki,ij,kj->k", weights, self.inner, weights)
        found = _spectra_from_moments(self.gram, self.cross @ weights.T, energies)
        return dict(zip(responses, found, strict=True))


def _blocks(trial: Trial, d: int, n_blocks: int) -> Iterator[tuple[int, _Moments]]:
    """Yield the running moments of uniform rows after every block."""
    data = trial.stream("data")
    theta, moments = data.standard_normal(d), _Moments(d)
    for block in range(n_blocks):
        X = data.uniform(-1.0, 1.0, (_BLOCK, d))
        moments.add(X, np.column_stack([X @ theta, data.standard_normal(_BLOCK)]))
        yield block + 1, moments


def _fits(gram: Array, cross: Array, energies: Array, m: int, noise: float) -> tuple[Array, Array]:
    """Return the plain and the corrected fits (d, k) on m noisy rows of which these are moments."""
    plain = _shifted_solve(gram, cross, 0.0)
    left = energies - np.sum(plain * cross, axis=0)
    rows, shape = float(np.trace(gram)), (m, len(gram))
    pairs = zip(energies.tolist(), left.tolist(), strict=True)
    amounts = np.array([_useful_amount(shape, rows, *pair, noise) for pair in pairs])
    try:  # at most 0.8 of the least eigenvalue, which is needed only where that binds
        _shifted_solve(gram, cross[:, :1], amounts.max() / CAP)
    except LinAlgError:
        least = float(eigvalsh(gram, subset_by_index=[0, 0], check_finite=False)[0])
        amounts = np.minimum(amounts, CAP * least)
    corrected = plain.copy()
    for amount in set(amounts[amounts > 0].tolist()):
        chosen = amounts == amount
        corrected[:, chosen] = _shifted_solve(gram, cross[:, chosen], amount)
    return plain, corrected


def _projections(
    problems: Sequence[Spectrum],
    floor: float,
    epsilon: float,
    sizes: Mapping[str, int],
    rng: np.random.Generator,
) -> _Place:
    """Means of the plain projections under both noises, and draws under the printed one."""
    printed, repaired, drawn = np.empty((3, len(problems), len(SCHEMES)))
    fitted = np.full((len(problems), len(FITS)), np.nan)
    found = _Place(floor, printed, repaired, drawn, fitted)
    for k, problem in enumerate(problems):
        for s, rows in enumerate(sizes.values()):
            safe = fixed_variance(epsilon=epsilon, n_components=rows)
            less = max(safe - floor, 0.0)
            for part, noise in ((found.printed, less), (found.repaired, safe)):
                part[k, s] = projected_error(problem, penalty=noise, n_components=rows)
            draw = projection_errors(problem, penalty=less, n_components=rows, size=1, rng=rng)
            found.drawn[k, s] = draw[0]
    return found


def _best_rows(response: str, n: int, d: int, epsilon: float) -> int:
    """Best number of projected rows by the closed form, for the signal of the model."""
    signal = d / 3.0 * RESPONSES[response].coefficient_sd ** 2
    return best_rows(EntryFacts(n, d, signal, epsilon))[0]


def _corrected(
    problems: Sequence[Spectrum],
    cases: Iterable[tuple[int, int, int]],
    epsilons: Sequence[float],
    source: Callable[[], np.random.Generator],
) -> Iterator[tuple[int, int, float]]:
    """Yield place, problem and error of corrected projections; a case is problem, place, rows.

    Cases of as many rows share their noise.
    """
    together: dict[int, list[tuple[int, int]]] = {}
    for k, at, rows in cases:
        together.setdefault(rows, []).append((k, at))
    for rows, asked in together.items():
        places = sorted({at for _, at in asked})
        noises = [fixed_variance(epsilon=epsilons[at], n_components=rows) for at in places]
        released = _projected_moments(problems, noises, rows, source())
        for at, noise, (gram, cross, energies) in zip(places, noises, released, strict=True):
            chosen = [k for k, place in asked if place == at]
            _, fits = _fits(gram, cross[:, chosen], energies[chosen], rows, noise)
            for k, fit in zip(chosen, fits.T, strict=True):
                yield at, k, float(problems[k].errors(fit))


def _place(
    moments: _Moments,
    n: int,
    epsilons: Sequence[float],
    responses: tuple[str, ...],
    sizes: Mapping[str, int],
    trial: Trial,
) -> list[_Place]:
    """Return what one trial finds at n rows, by budget."""
    problems, d = list(moments.spectra(responses).values()), len(moments.energy)

    def source(name: str) -> np.random.Generator:
        return stream(trial.seed, f"{trial.name}-{name}", "noise", int(trial))

    sketch = source("sketch")
    found = [_projections(problems, moments.floor, e, sizes, sketch) for e in epsilons]
    raw, corrected, log, best, noisy = range(len(FITS))
    sigmas = [additive_sigma(epsilon=e) for e in epsilons]
    totals = np.array([p.residual + float(p.scores @ p.scores) for p in problems])
    released = _additive_moments(problems, sigmas, n, source("additive"))
    for point, sigma, pair in zip(found, sigmas, released, strict=True):
        plain, mended = _fits(*pair, totals, n, sigma**2)
        for k, problem in enumerate(problems):
            point.fitted[k, raw] = problem.errors(plain[:, k])
            point.fitted[k, corrected] = problem.errors(mended[:, k])
    told = [k for k, name in enumerate(responses) if RESPONSES[name].coefficient_sd > 0]
    every = [(k, at) for k in told for at in range(len(epsilons))]
    ours = [(k, at, sizes["log"]) for k, at in every]
    named = [(k, at, _best_rows(responses[k], n, d, epsilons[at])) for k, at in every]
    for fit, cases in ((log, ours), (best, named)):
        for at, k, error in _corrected(problems, cases, epsilons, partial(source, FITS[fit])):
            found[at].fitted[k, fit] = error
    largest = dict(zip(RESPONSES, moments.largest.tolist(), strict=True))
    drawn = moment_errors(
        problems,
        n_samples=n,
        largest=[largest[name] for name in responses],
        epsilons=epsilons,
        rng=source("moments"),
    )
    for point, errors in zip(found, drawn, strict=True):
        point.fitted[:, noisy] = errors
    return found


def _trial(
    trial: Trial,
    figure: str,
    positions: tuple[int, ...],
    epsilons: tuple[float, ...],
    responses: tuple[str, ...],
) -> list[_Place]:
    """Return what one trial finds, at every position and budget."""
    chosen, found = setting(figure), list[_Place]()
    for k, moments in _blocks(trial, chosen.n_features, positions[-1]):
        if k in positions:
            sizes = projection_sizes(figure, k)
            found += _place(moments, chosen.row_unit * k, epsilons, responses, sizes, trial)
    return found


def _run(
    figure: str,
    positions: tuple[int, ...],
    epsilons: tuple[float, ...],
    responses: Sequence[str],
    seed: int,
    n_repeats: int,
    n_jobs: int,
) -> _ErrorCurves:
    names = tuple(check_choice("responses", name, RESPONSES) for name in responses)
    work = partial(_trial, figure=figure, positions=positions, epsilons=epsilons, responses=names)
    trials = run_trials(work, n_repeats, seed=seed, name=f"proj-{figure}", n_jobs=n_jobs)
    sizes = [projection_sizes(figure, k) for k in positions for _ in epsilons]
    axis = np.array(positions, dtype=float) * setting(figure).row_unit
    floor, *parts = (
        np.array([[point[k] for point in t] for t in trials]) for k in range(len(_Place._fields))
    )

    def runs(part: Array, response: int) -> Runs:
        """Make runs of (trials, places, responses, ways), without ways that do not exist."""
        ways = SCHEMES if part.shape[-1] == len(SCHEMES) else FITS
        values = np.moveaxis(part[:, :, response], -1, 0)
        return Runs({w: v for w, v in zip(ways, values, strict=True) if not np.isnan(v).all()})

    return _ErrorCurves(
        axis=axis if len(positions) > 1 or len(epsilons) == 1 else np.array(epsilons),
        components={s: np.array([row[s] for row in sizes], dtype=float) for s in SCHEMES},
        floor=floor,
        responses={name: _Errors(*(runs(p, k) for p in parts)) for k, name in enumerate(names)},
    )


def row_curves(
    *,
    seed: int,
    n_repeats: int = 5,
    positions: Sequence[int] | None = None,
    responses: Sequence[str] = tuple(RESPONSES),
    n_jobs: int = 1,
) -> _ErrorCurves:
    """Run Figure 1: relative errors against the number of rows, at half a bit per entry.

    ``positions`` are increasing k, n = 1000 k; the rows of a trial are nested in n.
    """
    chosen = tuple(positions) if positions is not None else setting("fig1").positions
    if not chosen or chosen[0] < 1 or any(b <= a for a, b in pairwise(chosen)):
        raise ValueError(f"positions must increase from at least 1, got positions={chosen!r}")
    return _run("fig1", chosen, setting("fig1").epsilons, responses, seed, n_repeats, n_jobs)


def budget_curves(
    *,
    seed: int,
    n_repeats: int = 5,
    epsilons: Sequence[float] | None = None,
    responses: Sequence[str] = tuple(RESPONSES),
    n_jobs: int = 1,
) -> _ErrorCurves:
    """Run Figure 2: relative errors against the budget (our grid, in bits), at 10,000 rows."""
    chosen = setting("fig2").epsilons if epsilons is None else tuple(epsilons)
    for value in chosen:
        check_positive("epsilons", value)
    return _run("fig2", setting("fig2").positions, chosen, responses, seed, n_repeats, n_jobs)


def design_problem(*, seed: int, k: int) -> tuple[Spectrum, float]:
    """Spectrum of one data set of Figure 1, "unit" with 1000 k rows, and the square of its f(X)."""
    here = Trial(0, seed, "proj-fig1")
    *_, (_, moments) = _blocks(here, setting("fig1").n_features, check_integer("k", k))
    return moments.spectra(("unit",))["unit"], moments.floor


def _printed(curves: _ErrorCurves, response: str) -> Array:
    """Mean errors with the printed noise, a row for each scheme."""
    return np.array([curves[response].printed.mean(name) for name in SCHEMES])


def beats_additive(curves: _ErrorCurves, response: str) -> NDArray[np.bool_]:
    """Tell where all printed projections have a smaller mean error than additive noise, (p,)."""
    raw = curves[response].fitted.mean("raw")
    return np.asarray(np.all(_printed(curves, response) < raw, axis=0))


def lower_is_better(curves: _ErrorCurves, response: str) -> NDArray[np.bool_]:
    """Tell where a smaller printed projection never has a larger mean error than a larger one."""
    order = np.argsort([curves.components[name] for name in SCHEMES], axis=0, kind="stable")
    ordered = np.take_along_axis(_printed(curves, response), order, axis=0)
    return np.asarray(np.all(np.diff(ordered, axis=0) >= 0, axis=0))


def best_schemes(curves: _ErrorCurves, response: str) -> list[str]:
    """Return the printed projection with the smallest mean error at every position."""
    return [SCHEMES[k] for k in np.argmin(_printed(curves, response), axis=0)]


def linearity(curves: _ErrorCurves, response: str, scheme: str) -> float:
    """R^2 of a straight line before (13) saturates; additive noise has the window of "full"."""
    check_choice("scheme", scheme, ("additive", *SCHEMES))
    plain, mine = scheme == "additive", curves[response]
    errors = mine.fitted.mean("raw") if plain else mine.printed.mean(scheme)
    rows = int(curves.components["full" if plain else scheme][0])
    end = noise_free_epsilon(floor=float(curves.floor.mean()), n_components=rows)
    before = curves.axis < end
    x, y = curves.axis[before], errors[before]
    fitted = np.polyval(np.polyfit(x, y, 1), x)
    return 1.0 - float(np.sum((y - fitted) ** 2) / np.sum((y - y.mean()) ** 2))


def moment_errors(
    problems: Sequence[Spectrum],
    *,
    n_samples: int,
    largest: Sequence[float],
    epsilons: Sequence[float],
    rng: np.random.Generator,
) -> Array:
    """Draw relative errors of fits on noisy moments, one per budget and problem: (budgets, k).

    ``largest`` are the responses' largest moduli. The penalty is half of the noise's expected
    largest eigenvalue, doubled until it is definite.
    """
    d = problems[0].n_features
    square, line = rng.standard_normal((d, d)), rng.standard_normal(d)
    square = (square + square.T) / math.sqrt(2.0)
    errors = np.empty((len(epsilons), len(problems)))
    for at, epsilon in enumerate(epsilons):
        for k, (problem, bound) in enumerate(zip(problems, largest, strict=True)):
            total = problem.residual + float(problem.scores @ problem.scores)
            gram, cross = moment_variances(
                epsilon=epsilon, n_features=d, response_bound=bound, energy=3 * total / n_samples
            )
            matrix = math.sqrt(gram) * square
            matrix.flat[:: d + 1] += problem.energies
            target = np.sqrt(problem.energies) * problem.scores + math.sqrt(cross) * line
            errors[at, k] = problem.errors(_positive_solve(matrix, target, math.sqrt(gram * d)))
    return errors


def _positive_solve(matrix: Array, target: Array, penalty: float) -> Array:
    while True:
        try:
            return _shifted_solve(matrix, target, -penalty)
        except LinAlgError:
            penalty *= 2.0
