"""Whether a fitted model is a function of its releases: these are replayed on other records."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from dplit.audit._seen import _look
from dplit.mechanisms._draws import passing

_OTHERWISE = (
    "a replay must release as often, and in the same shapes, as the fit that is replayed: what is "
    "released, and how often, depends on the records"
)


class ReplayError(RuntimeError):
    """A fit released another number of times, or numbers of another shape, than the first.

    >>> from sklearn.decomposition import PCA
    >>> X = np.eye(2)
    >>> try:
    ...     replay(PCA(1, random_state=0), (X,), (X,))
    ... except ReplayError as error:
    ...     print(error)
    PCA released nothing by an exact mechanism
    """


def _from(left: list[Any]) -> Callable[[Any], Any]:
    """Return what gives the releases that are left in turn, and takes them off."""

    def instead(released: Any) -> Any:
        if not left or np.shape(left[0]) != np.shape(released):
            raise ReplayError(_OTHERWISE)
        return left.pop(0)

    return instead


def _fitted(estimator: Any, data: tuple[Any, ...], through: Callable[[Any], Any]) -> dict[str, str]:
    with warnings.catch_warnings(record=True) as caught, passing(through):
        warnings.simplefilter("always")
        seen = _look(clone(estimator).fit(*data), ())
    return seen | {"warnings": " ".join(str(one.message) for one in caught)}


def replay(estimator: Any, data: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[str, ...]:
    """Fit to ``data``, then to ``other`` with the same releases, and return what differs.

    A private model is a function of what its mechanisms release, of public facts and of public
    randomness. So a fit to *any* records of the same number, which is handed the numbers and
    choices that the first fit released in the place of its own, must give the same model, bit for
    bit, with the same warnings. What differs was told of the records beside the mechanisms.

    Parameters
    ----------
    estimator : estimator
        With exact noise, and an integer ``random_state``, so that public randomness is the same.
    data, other : tuples
        Arguments of ``fit``; they need not be neighbours. Labels that count as public are the same.

    Returns
    -------
    tuple of str
        Attributes, and "warnings", that differ: none, if nothing is told beside the releases.

    Raises
    ------
    TypeError
        If ``estimator`` has no ``fit``, or ``data`` or ``other`` is no tuple.
    ReplayError
        If the second fit does not release as the first: how often depends on the records.

    Examples
    --------
    >>> from dplit import PrivatePCA
    >>> rng = np.random.default_rng(0)
    >>> model = PrivatePCA(1, data_norm=1.0, random_state=0)
    >>> replay(model, (rng.normal(size=(50, 2)),), (rng.normal(size=(50, 2)),))
    ()
    """
    for name, table in (("data", data), ("other", other)):
        if not isinstance(table, tuple):
            raise TypeError(
                f"{name} must be a tuple of arguments of fit, got {type(table).__name__}"
            )
    if not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must have fit, got {type(estimator).__name__}")
    log: list[Any] = []

    def written(released: Any) -> Any:
        log.append(released)
        return released

    first = _fitted(estimator, data, written)
    if not log:
        raise ReplayError(f"{type(estimator).__name__} released nothing by an exact mechanism")
    again = _fitted(estimator, other, _from(log))
    if log:
        raise ReplayError(_OTHERWISE)
    return tuple(
        sorted(name for name in first.keys() | again.keys() if first.get(name) != again.get(name))
    )
