"""Exercises answer in words: to the right function, to every usual mistake, and to nonsense."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplit.notebook import exercises
from dplit.notebook.exercises import Exercise, _find_exercise, grade

SLUGS = sorted(
    p.parent.name for p in Path(exercises.__file__).parents[1].glob("papers/*/exercises.py")
)
ALL: dict[str, Exercise] = {}
for slug in SLUGS:
    ALL |= getattr(import_module(f"dplit.papers.{slug}.exercises"), "EXERCISES", {})
MISTAKES = [(name, hint) for name, one in ALL.items() for hint in one.mistakes]


def judged(name: str, answer: Any) -> tuple[str, str]:
    return exercises._judged(name, ALL[name], answer, 0)


def test_there_are_exercises_with_usual_mistakes() -> None:
    assert ALL
    assert all(one.mistakes for one in ALL.values())


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_right_function_passes(name: str, seed: int) -> None:
    verdict, words = exercises._judged(name, ALL[name], ALL[name].right, seed)
    assert verdict == "right"
    assert words.startswith("Right")


@pytest.mark.parametrize(("name", "hint"), MISTAKES)
def test_every_usual_mistake_gets_its_own_hint(name: str, hint: str) -> None:
    """Kills a hint that another mistake shadows, or that the right function would get."""
    assert judged(name, ALL[name].mistakes[hint]) == ("almost", f"Almost. {hint}")


def raises(*_: Any) -> float:
    raise ZeroDivisionError("division by zero")


NONSENSE = {
    "a text": ("three", "wrong", "A function is wanted here, and this is str."),
    "text returned": (lambda *_: "three", "wrong", "Numbers are wanted, and at"),
    "nothing returned": (lambda *_: None, "wrong", "returned nothing at"),
    "another shape": (lambda *_: [1.0, 2.0], "wrong", "one number is wanted, and your function"),
    "an exception": (raises, "wrong", "stopped at"),
    "another signature": (lambda: 1.0, "wrong", "TypeError"),
    "another number": (lambda *_: 1e9, "wrong", "Not yet. At ("),
    "nan": (lambda *_: np.nan, "wrong", "your function says nan"),
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_nonsense_gets_a_clear_sentence(kind: str) -> None:
    """By one exercise: all are judged by one function."""
    answer, verdict, words = NONSENSE[kind]
    told = judged(next(iter(ALL)), answer)
    assert told[0] == verdict
    assert words in told[1]


@pytest.mark.parametrize("nothing", [..., None])
def test_where_nothing_is_written_the_task_is_shown(nothing: Any, capsys: Any) -> None:
    name = next(iter(ALL))
    verdict, words = judged(name, nothing)
    assert verdict == "open"
    assert words == ALL[name].asks
    grade(name, nothing)
    assert words in capsys.readouterr().out


def test_an_unknown_exercise_lists_those_that_exist() -> None:
    with pytest.raises(KeyError, match=r"no exercise 'basics-nothing'; there are .*basics-coin"):
        _find_exercise("basics-nothing")
    with pytest.raises(KeyError, match=r"there are no exercises of 'nowhere'"):
        _find_exercise("nowhere-x")


def test_the_readers_function_cannot_change_the_arguments() -> None:
    """Kills a grader that hands out its own arrays."""

    def spoils(x: Any) -> float:
        total = float(np.sum(x))
        x[:] = 0
        return total

    one = Exercise("Sum.", lambda x: np.sum(x), lambda rng: (rng.uniform(1, 2, 3),))
    assert exercises._judged("toy-sum", one, spoils, 0)[0] == "right"
