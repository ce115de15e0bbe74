r"""Figures 1 and 2: relative errors of all schemes at the paper's sizes, printed and repaired.

Rows arrive in blocks and only second moments are kept, so that no matrix with n rows exists. The
errors of the additive scheme are simulated; those of projections come as exact conditional means
and as one exact draw per trial. Nested rows serve all n of a trial, and all response models share
their random numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from dplit._checks import check_choice, check_integer, check_positive
from dplit.projection.exact_law import expected_error
from dplit.projection.information import additive_sigma, fixed_variance
from dplit.projection.samplers import additive_path, projection_errors
from dplit.projection.settings import RESPONSES, SCHEMES, projection_sizes, setting
from dplit.projection.spectrum import Spectrum, spectra_from_moments
from dplit.streams import stream
from dplit.trials import Trial, run_trials

__all__ = [
    "ErrorCurves",
    "budget_curves",
    "design_problem",
    "row_curves",
]

_Array = NDArray[np.float64]
_BLOCK = 1000  # rows per block; positions are multiples of it


@dataclass(frozen=True)
class ErrorCurves:
    """Relative errors of every scheme along one axis, for every trial.

    Attributes
    ----------
    axis : ndarray of shape (p,)
        Numbers of rows n, or budgets in bits.
    additive : mapping of str to ndarray of shape (trials, p)
        Errors of additive noise by response model, one draw per trial.
    expected : mapping of (str, str, str) to ndarray of shape (trials, p)
        Exact conditional means by response model, projection size and noise ("printed",
        "repaired").
    drawn : mapping of (str, str, str) to ndarray of shape (trials, p)
        One exact draw each.
    components : mapping of str to ndarray of shape (p,)
        Numbers of projected rows.
    snr : mapping of str to ndarray of shape (trials, p)
        Squares of the root signal-to-noise ratios r(y).
    floor : ndarray of shape (trials, p)
        Squares of f(X), what (13) subtracts.
    """

    axis: _Array
    additive: Mapping[str, _Array]
    expected: Mapping[tuple[str, str, str], _Array]
    drawn: Mapping[tuple[str, str, str], _Array]
    components: Mapping[str, _Array]
    snr: Mapping[str, _Array]
    floor: _Array

    @property
    def repeats(self) -> int:
        """Number of trials."""
        return len(self.floor)

    def mean(self, response: str, scheme: str, noise: str = "printed") -> _Array:
        """Return the mean error over trials, shape (p,); the scheme may be "additive"."""
        check_choice("response", response, self.additive)
        check_choice("scheme", scheme, ("additive", *SCHEMES))
        check_choice("noise", noise, ("printed", "repaired"))
        found = self.additive[response] if scheme == "additive" else None
        values = self.expected[response, scheme, noise] if found is None else found
        return np.asarray(values.mean(axis=0))


@dataclass
class _Moments:
    """Second moments of the rows seen so far; responses are a * (X theta) + w."""

    gram: _Array
    cross: _Array  # X' [X theta, w]
    inner: _Array  # [X theta, w]' [X theta, w]
    noisy_gram: _Array
    noisy_cross: _Array
    energy: _Array
    peak: _Array

    @classmethod
    def empty(cls, d: int) -> _Moments:
        square, pair = np.zeros((d, d)), np.zeros((d, 2))
        zero = np.zeros(d)
        return cls(square, pair, np.zeros((2, 2)), square.copy(), pair.copy(), zero, zero.copy())

    def add(self, X: _Array, noise: _Array | None, signals: _Array) -> None:
        self.gram += X.T @ X
        self.cross += X.T @ signals
        self.inner += signals.T @ signals
        self.energy += np.sum(X**2, axis=0)
        np.maximum(self.peak, np.max(X**2, axis=0), out=self.peak)
        if noise is not None:
            released = X + noise
            self.noisy_gram += released.T @ released
            self.noisy_cross += released.T @ signals

    @property
    def floor(self) -> float:
        return float(np.min(self.energy - self.peak))

    def spectra(self, responses: Sequence[str]) -> dict[str, Spectrum]:
        weights = np.array([[RESPONSES[name].coefficient_sd, 1.0] for name in responses])
        energies = np.einsum("ki,ij,kj->k", weights, self.inner, weights)
        found = spectra_from_moments(self.gram, self.cross @ weights.T, energies)
        return dict(zip(responses, found, strict=True))

    def additive_errors(self, spectra: Mapping[str, Spectrum]) -> dict[str, float]:
        factor = cho_factor(self.noisy_gram, check_finite=False)
        fits = cho_solve(factor, self.noisy_cross, check_finite=False)
        errors = {}
        for name, problem in spectra.items():
            theta = fits @ [RESPONSES[name].coefficient_sd, 1.0]
            errors[name] = float(problem.errors(problem.rotate(theta)))
        return errors


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


def _projected(
    problem: Spectrum, floor: float, epsilon: float, rows: int, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Return (conditional mean, one draw) of one projection size under both noises."""
    repaired = fixed_variance(epsilon=epsilon, n_components=rows)
    errors = {}
    for noise, lam in (("printed", max(repaired - floor, 0.0)), ("repaired", repaired)):
        mean = expected_error(problem, penalty=lam, n_components=rows)
        draw = projection_errors(problem, penalty=lam, n_components=rows, size=1, rng=rng)
        errors[noise] = (mean, float(draw[0]))
    return errors


def _row_trial(trial: Trial, positions: tuple[int, ...], responses: tuple[str, ...]) -> _Trial:
    chosen = setting("fig1")
    (epsilon,) = chosen.epsilons
    sketch = stream(trial.seed, "proj-fig1-sketch", "noise", int(trial))
    result = _Trial(responses, len(positions))
    blocks = _blocks(trial, chosen.n_features, positions[-1], additive_sigma(epsilon=epsilon))
    for k, moments in blocks:
        if k in positions:
            at, spectra = positions.index(k), moments.spectra(responses)
            result.floor[at] = moments.floor
            sizes = projection_sizes("fig1", k)
            for name, value in moments.additive_errors(spectra).items():
                result.additive[name][at] = value
                result.project(name, spectra[name], epsilon, sizes, at, sketch)
    return result


def _budget_trial(trial: Trial, epsilons: tuple[float, ...], responses: tuple[str, ...]) -> _Trial:
    chosen = setting("fig2")
    (k,) = chosen.positions
    *_, (_, moments) = _blocks(trial, chosen.n_features, k, None)
    noise, result = trial.stream("noise"), _Trial(responses, len(epsilons))
    result.floor[:] = moments.floor
    sigmas = [additive_sigma(epsilon=e) for e in epsilons]
    n, sizes = chosen.row_unit * k, projection_sizes("fig2", k)
    for name, problem in moments.spectra(responses).items():
        path = additive_path(problem, sigmas=sigmas, n_samples=n, rng=noise)
        result.additive[name][:] = path
        for at, epsilon in enumerate(epsilons):
            result.project(name, problem, epsilon, sizes, at, noise)
    return result


class _Trial:
    """What one trial fills, position by position."""

    def __init__(self, responses: Sequence[str], size: int) -> None:
        keys = [(r, s, v) for r in responses for s in SCHEMES for v in ("printed", "repaired")]
        self.additive = {name: np.empty(size) for name in responses}
        self.snr = {name: np.empty(size) for name in responses}
        self.expected = {key: np.empty(size) for key in keys}
        self.drawn = {key: np.empty(size) for key in keys}
        self.floor = np.empty(size)

    def project(
        self,
        name: str,
        problem: Spectrum,
        epsilon: float,
        sizes: Mapping[str, int],
        at: int,
        rng: np.random.Generator,
    ) -> None:
        """Fill the projected errors of one response model at one position."""
        self.snr[name][at] = problem.snr
        for scheme, rows in sizes.items():
            found = _projected(problem, float(self.floor[at]), epsilon, rows, rng)
            for noise, (mean, draw) in found.items():
                self.expected[name, scheme, noise][at] = mean
                self.drawn[name, scheme, noise][at] = draw


def _collect(axis: _Array, trials: list[_Trial], sizes: list[dict[str, int]]) -> ErrorCurves:
    first = trials[0]
    return ErrorCurves(
        axis=axis,
        additive={k: np.array([t.additive[k] for t in trials]) for k in first.additive},
        expected={k: np.array([t.expected[k] for t in trials]) for k in first.expected},
        drawn={k: np.array([t.drawn[k] for t in trials]) for k in first.drawn},
        components={s: np.array([row[s] for row in sizes], dtype=float) for s in SCHEMES},
        snr={k: np.array([t.snr[k] for t in trials]) for k in first.snr},
        floor=np.array([t.floor for t in trials]),
    )


def _checked_responses(responses: Sequence[str]) -> tuple[str, ...]:
    names = tuple(responses)
    if not names:
        raise ValueError("responses must name at least one model, got responses=()")
    for name in names:
        check_choice("responses", name, RESPONSES)
    return names


def row_curves(
    *,
    seed: int,
    n_repeats: int = 5,
    positions: Sequence[int] | None = None,
    responses: Sequence[str] = tuple(RESPONSES),
    n_jobs: int = 1,
) -> ErrorCurves:
    """Run Figure 1: relative errors against the number of rows, at half a bit per entry.

    Parameters
    ----------
    seed : int
        Seed of the run.
    n_repeats : int, default=5
        Trials.
    positions : sequence of int, optional
        Increasing values of k with n = 1000 k; by default the paper's 1, ..., 20.
    responses : sequence of str
        Response models, keys of :data:`dplit.projection.settings.RESPONSES`.
    n_jobs : int, default=1
        Processes.

    Returns
    -------
    ErrorCurves
        Its axis is n. The rows of a trial are nested in n.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), Figure 1.
    """
    chosen = tuple(positions) if positions is not None else setting("fig1").positions
    if not chosen or chosen[0] < 1 or any(b <= a for a, b in pairwise(chosen)):
        raise ValueError(f"positions must increase from at least 1, got positions={chosen!r}")
    work = partial(_row_trial, positions=chosen, responses=_checked_responses(responses))
    trials = run_trials(work, n_repeats, seed=seed, name="proj-fig1", n_jobs=n_jobs)
    axis = np.array(chosen, dtype=float) * setting("fig1").row_unit
    return _collect(axis, trials, [projection_sizes("fig1", k) for k in chosen])


def budget_curves(
    *,
    seed: int,
    n_repeats: int = 5,
    epsilons: Sequence[float] | None = None,
    responses: Sequence[str] = tuple(RESPONSES),
    n_jobs: int = 1,
) -> ErrorCurves:
    """Run Figure 2: relative errors against the budget, at 10,000 rows.

    Parameters
    ----------
    seed, n_repeats, responses, n_jobs
        As in :func:`row_curves`.
    epsilons : sequence of float, optional
        Budgets in bits; by default our grid from 0.05 to 3.

    Returns
    -------
    ErrorCurves
        Its axis is the budget. Along it the additive errors of a trial share their noise.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), Figure 2.
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
    """Spectrum of one data set of Figure 1, and the square of its f(X).

    Parameters
    ----------
    seed : int
        Seed of the run.
    k : int
        The design has 1000 k rows.
    response : str, default="unit"
        Response model.
    trial : int, default=0
        Trial of the figure whose data are taken.

    Returns
    -------
    problem : Spectrum
    floor : float

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.
    """
    blocks = check_integer("k", k)
    (name,) = _checked_responses((response,))
    here = Trial(check_integer("trial", trial, minimum=0), seed, "proj-fig1")
    *_, (_, moments) = _blocks(here, setting("fig1").n_features, blocks, None)
    return moments.spectra((name,))[name], moments.floor
