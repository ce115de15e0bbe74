"""Exercises that answer: a reader's function beside ours, and the usual mistakes by name."""

from __future__ import annotations

import copy
import html
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dplit.streams import stream

_TRIALS = 20


@dataclass(frozen=True)
class Exercise:
    """A function to write, with ours, random arguments and the usual mistakes.

    Attributes
    ----------
    asks : str
        What to write, with the function's arguments, in a sentence or two.
    right : callable
        Ours; returns numbers.
    arguments : callable
        From a generator to the tuple of arguments of one trial.
    mistakes : mapping of str to callable
        Hint -> the function of somebody who needs it.
    rtol : float
        Relative difference that is no mistake.
    """

    asks: str
    right: Callable[..., Any]
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    mistakes: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    rtol: float = 1e-6


def _find_exercise(identifier: str) -> Exercise:
    """Return an exercise by its id, ``<slug>-<name>``, from ``dplit.<slug>.exercises``.

    Raises
    ------
    KeyError
        If there is none of this id; near ones are listed.
    """
    slug = identifier.partition("-")[0]
    try:
        known = importlib.import_module(f"dplit.papers.{slug}.exercises").EXERCISES
    except ModuleNotFoundError:
        raise KeyError(f"there are no exercises of {slug!r}, got {identifier!r}") from None
    if identifier not in known:
        raise KeyError(f"no exercise {identifier!r}; there are {', '.join(known)}")
    found: Exercise = known[identifier]
    return found


def grade(identifier: str, answer: Callable[..., Any] | Any, *, seed: int = 0) -> None:
    """Run a reader's function against ours on random arguments, and answer in words.

    Parameters
    ----------
    identifier : str
        Id of the exercise, such as ``"basics-coin"``.
    answer : callable
        The reader's function; ``...`` where nothing is written yet: then the task is shown.
    seed : int, default=0
        Of the random arguments.
    """
    from IPython.display import display

    verdict, words = _judged(identifier, _find_exercise(identifier), answer, seed)
    text = html.escape(words)
    box = f"<div class='dplit-grade' data-grade='{verdict}'><p>{text}</p></div>"
    display({"text/html": box, "text/plain": words}, raw=True)  # type: ignore[no-untyped-call]


def _judged(identifier: str, exercise: Exercise, answer: Any, seed: int) -> tuple[str, str]:
    """Return a verdict ("open", "right", "almost", "wrong") and the words for it."""
    if answer is ... or answer is None:
        return "open", exercise.asks
    if not callable(answer):
        return "wrong", f"A function is wanted here, and this is {type(answer).__name__}."
    rngs = (stream(seed, f"exercise-{identifier}", "data", trial) for trial in range(_TRIALS))
    cases = [exercise.arguments(rng) for rng in rngs]
    ours = [np.asarray(exercise.right(*case), dtype=float) for case in cases]
    yours = []
    for case, wanted in zip(cases, ours, strict=True):
        got, fault = _asked(answer, case, wanted)
        if fault:
            return "wrong", fault
        yours.append(got)
    if _agree(yours, ours, exercise.rtol):
        return "right", f"Right: it agrees with ours on {_TRIALS} random arguments."
    for hint, mistake in exercise.mistakes.items():
        theirs = [np.asarray(mistake(*case), dtype=float) for case in cases]
        if _agree(yours, theirs, exercise.rtol):
            return "almost", f"Almost. {hint}"
    return "wrong", _counterexample(cases, yours, ours)


def _asked(answer: Callable[..., Any], case: tuple[Any, ...], wanted: Any) -> tuple[Any, str]:
    """Return what a reader's function says to one case, or the sentence on why that is nothing."""
    at = _in_words(case)
    try:
        got = answer(*copy.deepcopy(case))
    except Exception as error:
        return None, f"Your function stopped at {at}: {type(error).__name__}: {error}."
    if got is None:
        return None, f"Your function returned nothing at {at}: is a return missing?"
    try:
        array = np.asarray(got, dtype=float)
    except (TypeError, ValueError):
        return None, f"Numbers are wanted, and at {at} your function returned {got!r:.60}."
    if array.shape != wanted.shape:
        names = [
            f"an array of shape {a.shape}" if a.ndim else "one number" for a in (wanted, array)
        ]
        return None, f"At {at} {names[0]} is wanted, and your function returned {names[1]}."
    return array, ""


def _agree(first: list[Any], second: list[Any], rtol: float) -> bool:
    pairs = zip(first, second, strict=True)
    return all(np.allclose(a, b, rtol=rtol, atol=1e-12, equal_nan=False) for a, b in pairs)


def _in_words(values: tuple[Any, ...]) -> str:
    def told(value: Any) -> str:
        array = np.asarray(value)
        if array.ndim or not np.issubdtype(array.dtype, np.number):
            return np.array2string(array, precision=4, threshold=8)
        return f"{value:.6g}"

    return f"({', '.join(told(value) for value in values)})"


def _counterexample(cases: list[Any], yours: list[Any], ours: list[Any]) -> str:
    gaps = [float(np.max(np.abs(a - b))) for a, b in zip(yours, ours, strict=True)]
    at = int(np.argmax(np.nan_to_num(gaps, nan=np.inf)))
    return (
        f"Not yet. At {_in_words(cases[at])} your function says {_in_words((yours[at],))[1:-1]} "
        f"and ours {_in_words((ours[at],))[1:-1]}."
    )
