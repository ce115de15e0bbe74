"""Repetition with named random streams: results that no number of workers or backend changes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self, TypeVar

import joblib
import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import check_finite_array, check_integer, check_probability
from dplit.streams import Role, stream

T = TypeVar("T")


class Trial(int):
    """Index of one repetition that knows its run: an integer with random streams of its own.

    ``trial.stream("noise")`` is ``dplit.streams.stream(trial.seed, trial.name, "noise", trial)``.

    Parameters
    ----------
    index, seed : int
        Nonnegative: of the repetition and of the run.
    name : str
        Name of the claim, figure or experiment.

    Examples
    --------
    >>> trial = Trial(3, seed=0, name="example")
    >>> trial + 1
    4
    >>> trial.stream("noise").random() == stream(0, "example", "noise", 3).random()
    True
    """

    seed: int
    name: str

    def __new__(cls, index: int, seed: int, name: str) -> Self:
        """Make the index and attach seed and name."""
        trial = super().__new__(cls, index)
        trial.seed = seed
        trial.name = name
        return trial

    def __reduce__(self) -> tuple[type[Self], tuple[int, int, str]]:
        """Return what a worker process needs to rebuild the trial."""
        return type(self), (int(self), self.seed, self.name)

    def stream(self, role: Role) -> np.random.Generator:
        """Return this trial's generator for one role.

        Parameters
        ----------
        role : {"data", "public", "noise"}
            What the numbers are for.

        Returns
        -------
        numpy.random.Generator
            The same for every call with the same role: draw once, then pass it on.
        """
        return stream(self.seed, self.name, role, int(self))


class Estimate(NamedTuple):
    """A mean with the standard error of that mean."""

    mean: Any
    se: Any


class _QuantileBand(NamedTuple):
    """A median between two quantiles."""

    median: Any
    low: Any
    high: Any


def _named(function: Callable[[Trial], Any], trial: Trial) -> Any:
    """Run one trial; an error says which one it was."""
    try:
        return function(trial)
    except Exception as error:
        raise RuntimeError(
            f"trial {int(trial)} of {trial.name!r} (seed {trial.seed}) failed: "
            f"{type(error).__name__}: {error}"
        ) from error


def _with_progress(results: Iterable[Any], total: int, name: str) -> list[Any]:
    """Collect results while one line on stderr counts them."""
    collected = []
    for result in results:
        collected.append(result)
        sys.stderr.write(f"\r{name}: {len(collected)}/{total}")
        sys.stderr.flush()
    sys.stderr.write("\n")
    return collected


def run_trials(
    function: Callable[[Trial], T],
    n_trials: int,
    *,
    seed: int,
    name: str,
    n_jobs: int | None = 1,
    backend: str | None = None,
    progress: bool | None = None,
) -> list[T]:
    """Results of a function for the trials 0, ..., n_trials - 1, in this order.

    Parameters
    ----------
    function : callable
        Called with a :class:`Trial`: the index, whose method ``stream(role)`` is the only source
        of randomness the function should use.
    n_trials : int
        Number of repetitions, at least 1.
    seed : int
        Nonnegative seed of the run.
    name : str
        Name of the claim, figure or experiment; it selects the streams.
    n_jobs : int or None, default=1
        Workers, as joblib counts them; None leaves it to ``joblib.parallel_config``.
    backend : {"loky", "threading", "dask", ...} or None, default=None
        Backend of joblib. ``"dask"`` uses the current ``distributed.Client``.
    progress : bool or None, default=None
        Whether a line on stderr counts the trials; None: only where stderr is a terminal.

    Returns
    -------
    list
        One result per trial. It depends on ``seed`` and ``name`` only: not on ``n_jobs``, the
        backend, or on how many trials are run after a given one.

    Raises
    ------
    RuntimeError
        If a trial raises: the message names the trial, the name, the seed and the cause.

    Examples
    --------
    >>> means = run_trials(lambda t: t.stream("data").normal(size=9).mean(), 4, seed=0, name="demo")
    >>> len(means)
    4
    """
    check_integer("n_trials", n_trials)
    check_integer("seed", seed, minimum=0)
    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be a nonempty string, got name={name!r}")
    trials = [Trial(index, seed, name) for index in range(n_trials)]
    shown = sys.stderr.isatty() if progress is None else progress
    if n_jobs == 1 and backend is None:  # no pool, and closures need no pickling
        results: Iterable[T] = (_named(function, trial) for trial in trials)
    else:
        # a context, because joblib finds external backends such as "dask" by name only there
        ambient = contextlib.nullcontext() if backend is None else joblib.parallel_config(backend)
        with ambient:
            parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator" if shown else "list")
        results = parallel(joblib.delayed(_named)(function, trial) for trial in trials)
    return _with_progress(results, n_trials, name) if shown else list(results)


def _trial_axis(values: ArrayLike, axis: int, minimum: int) -> Any:
    """Return finite values with the axis of the trials checked for length."""
    array = np.atleast_1d(check_finite_array("values", values))
    if not -array.ndim <= axis < array.ndim:
        raise ValueError(f"axis must be one of {array.ndim} axes, got axis={axis!r}")
    if array.shape[axis] < minimum:
        raise ValueError(
            f"values must hold at least {minimum} trials along axis {axis}, "
            f"got values of shape {array.shape}"
        )
    return array


def mean_and_se(values: ArrayLike, axis: int = 0) -> Estimate:
    """Mean over trials and the standard error of that mean.

    Parameters
    ----------
    values : array_like
        Finite results, at least two along ``axis``.
    axis : int, default=0
        Axis of the trials.

    Returns
    -------
    Estimate
        Named tuple (mean, se), ``se = sqrt(sum (x_t - mean)^2 / (T - 1)) / sqrt(T)``; scalars if
        ``values`` has one axis.

    Examples
    --------
    >>> mean, se = mean_and_se([1.0, 2.0, 3.0, 4.0])
    >>> float(mean), round(float(se), 4)
    (2.5, 0.6455)
    """
    array = _trial_axis(values, axis, 2)
    count = array.shape[axis]
    return Estimate(array.mean(axis=axis), array.std(axis=axis, ddof=1) / np.sqrt(count))


def quantile_band(values: ArrayLike, *, coverage: float = 0.8, axis: int = 0) -> _QuantileBand:
    """Median over trials between the quantiles that leave out equal tails.

    Parameters
    ----------
    values : array_like
        Finite real results.
    coverage : float, default=0.8
        Share of the trials inside the band, in (0, 1): 0.8 gives the 10 % and 90 % quantiles.
    axis : int, default=0
        Axis of the trials.

    Returns
    -------
    QuantileBand
        Named tuple (median, low, high); scalars if ``values`` has one axis.

    Examples
    --------
    >>> [float(q) for q in quantile_band(range(9), coverage=0.5)]
    [4.0, 2.0, 6.0]
    """
    tail = (1.0 - check_probability("coverage", coverage)) / 2.0
    array = _trial_axis(values, axis, 1)
    low, median, high = np.quantile(array, [tail, 0.5, 1.0 - tail], axis=axis)
    return _QuantileBand(median, low, high)
