"""What every estimator of the package gives at its defaults: a table, not a race.

Run ``python -m benchmarks.defaults [words] [--splits 10] [--epsilon 1 10]``. For every task and
budget it prints the median score on held-out records at the defaults, at the best of a few settings
chosen in hindsight (not private: the ceiling of any choice), without privacy, and of a trivial
model: the mean, the larger class, one centre. Scores are R^2, accuracy, and the share of the
squared distance to one centre that k centres explain. A default below the trivial model must warn.

Tasks, public facts and settings are those of :mod:`dplit.tables`. The two estimators of
projections, which that chapter leaves out, are added: their budget is in bits per entry.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import chain, product

from dplit.entries.estimators import AdditiveNoiseRegressor, RandomProjectionRegressor
from dplit.tables.mechanisms import MECHANISMS, TableMechanism
from dplit_studies.face_off.comparison import compare
from dplit_studies.face_off.tasks import TASKS, load_task

#: How far a default may stay below the trivial model, and below its own best setting.
TRIVIAL_SLACK, HINDSIGHT_SLACK = 0.02, 0.1

_CORRECTIONS = ("none", "attenuation")
_ENTRIES = (
    TableMechanism(
        "additive_noise",
        "regression",
        AdditiveNoiseRegressor,
        (),
        ("replace_entry",),
        ("delta", "box"),
        {"correction": _CORRECTIONS},
    ),
    TableMechanism(
        "random_projection",
        "regression",
        RandomProjectionRegressor,
        (),
        ("replace_entry",),
        ("delta", "box"),
        {"n_components": (30, 100, 300), "correction": _CORRECTIONS},
    ),
)


def rows(words: Sequence[str], budgets: Sequence[float], splits: int) -> Iterator[tuple[str, ...]]:
    """Yield one line of the table for each task, estimator and budget."""
    for task, found in product(TASKS, (*MECHANISMS, *_ENTRIES)):
        name = found.estimator.__name__
        if words and not any(word in f"{task} {name}" for word in words):
            continue
        problem = load_task(task)
        if problem is None or problem.task != found.task:
            continue
        result = compare(
            problem,
            epsilons=budgets,
            mechanisms=[found],
            neighboring=found.relations[0],
            hindsight=splits,
            seed=0,
            n_repeats=splits,
        )
        free = [m for m in result.values if m.endswith("not private")]
        for index, epsilon in enumerate(budgets):
            default, best, trivial = (
                float(result.median(m)[index])
                for m in (found.name, f"{found.name}, best", "trivial")
            )
            plain = max((float(result.median(m)[index]) for m in free), default=1.0)
            verdict = _verdict(default, best, trivial, bool(result.warned[found.name][index]))
            numbers = [f"{number:.3f}" for number in (default, best, plain, trivial)]
            yield (task, name, f"{epsilon:g}", *numbers, verdict)


def _verdict(default: float, best: float, trivial: float, warned: bool) -> str:
    """Say whether the default is worth its name."""
    if default < trivial - TRIVIAL_SLACK:
        return "warns" if warned else "BELOW TRIVIAL"
    if best > trivial and default < best - HINDSIGHT_SLACK:
        return "warns" if warned else "FAR FROM BEST"
    return "good, warns" if warned else "good"


def main() -> None:
    """Print the table line by line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.defaults", description=__doc__)
    parser.add_argument(
        "words", nargs="*", help="words that a task's or estimator's name must hold"
    )
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 10.0])
    arguments = parser.parse_args()
    widths = (14, 30, 8, 9, 10, 9, 8, 14)
    head = ("task", "estimator", "epsilon", "default", "hindsight", "plain", "trivial", "")
    for line in chain([head], rows(arguments.words, arguments.epsilon, arguments.splits)):
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("".join(cells).rstrip(), flush=True)


if __name__ == "__main__":
    main()
