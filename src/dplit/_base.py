"""What the private estimators share: random streams, fits that are whole or none, records
checked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import check_real_array
from dplit.mechanisms._draws import Price, charged

_Model = TypeVar("_Model")

_Fit = TypeVar("_Fit", bound=Callable[..., Any])

#: What a fit sets beside the attributes that end in an underscore.
_HIDDEN = {"_ends", "_how", "_map", "_n_features_out"}


def _kept(estimator: Any) -> dict[str, Any]:
    """Return what an estimator holds beside what it was fitted to."""
    return {
        name: value
        for name, value in vars(estimator).items()
        if name not in _HIDDEN and not (name.endswith("_") and not name.startswith("__"))
    }


@contextmanager
def fitting(estimator: _Model, *, persons: bool = False, spends: bool = True) -> Iterator[_Model]:
    """Give a copy without fitted attributes to be fitted, and then its attributes to the estimator.

    Until then the estimator has none: an interruption, wherever it comes, leaves it unfitted, and
    no guarantee of one fit stands beside numbers of another. Open budgets write down what a fit is
    to cost before it begins, and that it is the cost of a person where it is; one that ``spends``
    nothing, as it reads a release, costs nothing.
    """
    estimator.__dict__ = _kept(estimator)
    draft = object.__new__(type(estimator))
    draft.__dict__.update(vars(estimator))
    paid = spends and hasattr(estimator, "epsilon")
    with charged(price_of(estimator, persons=persons) if paid else None):
        yield draft
    vars(estimator).update(vars(draft))  # one call, which no signal divides


def price_of(
    estimator: Any, what: str | None = None, *, table: str = "", persons: bool = False
) -> Price:
    """Return what a fit is to cost, by the parameters of a private estimator.

    ``persons`` says that the budget is of a person with all records.
    """
    noise = getattr(estimator, "noise", None)
    relation = getattr(estimator, "neighboring", "replace_one")
    return Price(
        what or f"a fit of {type(estimator).__name__}",
        estimator.epsilon,
        getattr(estimator, "delta", 0.0) if noise in (None, "gaussian") else 0.0,
        gaussian=getattr(estimator, "_gaussian", noise == "gaussian" and relation != "add_remove"),
        neighboring=relation,
        unit="person" if persons else getattr(estimator, "_unit", "record"),
        table=table,
    )


def whole(fit: _Fit) -> _Fit:
    """Make a method ``fit`` that sets all of its attributes or none; see :func:`fitting`.

    Where it is told ``persons`` its budget is that of a person.
    """
    return _whole(fit, spends=True)


def whole_and_free(fit: _Fit) -> _Fit:
    """Make a method that reads a release, and spends nothing, set all of its attributes or none."""
    return _whole(fit, spends=False)


def _whole(fit: _Fit, *, spends: bool) -> _Fit:
    @functools.wraps(fit)
    def fitted(self: Any, *args: Any, **kwargs: Any) -> Any:
        persons = kwargs.get("persons") is not None
        with fitting(self, persons=persons, spends=spends) as draft:
            fit(draft, *args, **kwargs)
        return self

    return cast("_Fit", fitted)


RandomState = int | np.random.Generator | np.random.RandomState | None


def spawn_generators(random_state: RandomState, count: int) -> list[np.random.Generator]:
    """Return ``count`` independent generators that belong to one call of ``fit``.

    ``None`` takes entropy from the operating system for each: what is published of one (features,
    projections, starting points) tells nothing of another (the noise). An integer gives the same in
    every call. A ``Generator`` is asked to spawn, so that two fits of one estimator differ while
    two clones (which copy its state) agree. A ``RandomState``, or a ``Generator`` that cannot spawn
    since its bits come from a key, gives four words of entropy and advances.
    """
    if isinstance(random_state, np.random.Generator):
        if hasattr(random_state.bit_generator.seed_seq, "spawn"):
            return random_state.spawn(count)
        words = random_state.integers(0, 2**32, size=4, dtype=np.uint32)
        return np.random.default_rng(words).spawn(count)
    if isinstance(random_state, np.random.RandomState):
        words = random_state.randint(0, 2**32, size=4, dtype=np.uint32)
        return np.random.default_rng(words).spawn(count)
    if random_state is None:
        return [np.random.default_rng() for _ in range(count)]
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must be nonnegative, got random_state={random_state!r}")
        return np.random.default_rng(int(random_state)).spawn(count)
    raise TypeError(
        "random_state must be None, an integer, a Generator or a RandomState, "
        f"got random_state={random_state!r}"
    )


def noise_source(
    random_state: RandomState, spawned: np.random.Generator | None = None
) -> np.random.Generator | None:
    """Return where exact noise takes its bits: None, the operating system, unless it is a replay.

    Then it is ``spawned``, the share of ``random_state`` that noise has, by default all of it.
    """
    if random_state is None:
        return None
    return spawn_generators(random_state, 1)[0] if spawned is None else spawned


def check_regression(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return real finite records (n, d) and labels (n,) in float64."""
    rows, labels = check_real_array("X", X, 2), check_real_array("y", y, 1)
    if len(rows) != len(labels):
        raise ValueError(f"y must have {len(rows)} entries, got y of shape {labels.shape}")
    return rows, labels
