"""Which of the papers' data sets a run has, and which it replaces by stand-ins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dplit._checks import check_choice
from dplit.datasets import digits
from dplit.datasets.papers import FILES, find_file

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
        Where the run takes its data from, as :func:`dplit.datasets.load_medical` has it; with
        ``"bundled"`` all are missing.

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


def are_declared(recorded: Mapping[str, str], names: Iterable[str]) -> bool:
    """Return whether checksums that a run recorded are those of the published data sets.

    They are where every file has the checksum that ``FILES`` gives for it, and every one of the
    named data sets was read whole. No file is looked for.
    """
    known = all(name in FILES and FILES[name].checksum[1] == sum for name, sum in recorded.items())
    return known and all(any(recorded.keys() >= set(g) for g in DATASETS[n]) for n in names)
