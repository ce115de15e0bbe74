"""Which of the papers' data sets a run has, and which it replaces by stand-ins."""

from __future__ import annotations

from collections.abc import Iterable

from dplit._checks import check_choice
from dplit.notebook.datasets import digits
from dplit.notebook.datasets.papers import find_file

#: Every data set of the papers with the groups of files that it can be read from, best first.
DATASETS: dict[str, tuple[tuple[str, ...], ...]] = {
    "medical": (("insurance.csv",),),
    "wine": (("winequality-red.csv", "winequality-white.csv"),),
    "MNIST": (digits._TRAIN, digits._TEST, digits._PREPARED),
}


def missing_data(names: Iterable[str], source: str = "auto") -> tuple[str, ...]:
    """Return which of some data sets a run has to replace by stand-ins.

    Parameters
    ----------
    names : iterable of str
        Keys of ``DATASETS``.
    source : {"auto", "paper", "bundled"}, default="auto"
        Where the run takes its data from, as :func:`dplit.notebook.datasets.load_medical`
        has it; with ``"bundled"`` all are missing.

    Raises
    ------
    DataError
        If a file is damaged, or ``$DPLIT_DATA`` is no folder.
    """
    wanted = [check_choice("name", name, DATASETS) for name in names]
    return tuple(name for name in wanted if source == "bundled" or not found_files(name))


def found_files(name: str) -> tuple[str, ...]:
    """Return the names of the files that a data set is read from here; none where they miss."""
    groups = DATASETS[name]
    return next((group for group in groups if all(find_file(file) for file in group)), ())
