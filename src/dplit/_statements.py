"""Statements of guarantees, in one form for all estimators."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from dplit._base import RandomState


def dp_statement(
    epsilon: float,
    delta: float,
    change: str,
    *,
    random_state: RandomState = None,
    labelled: bool = False,
    weighted: bool = False,
    exact: bool = True,
) -> str:
    """Return the sentences of ``privacy_statement_``.

    ``change`` says what neighbours are and what is public, as in "replacing one of 100 records
    (...)". Any ``random_state`` but None voids the guarantee, and the statement says so. Where
    records are ``labelled``, it says what one without a label does, and where each has a weight,
    that this is hidden with it. ``exact`` says whether what
    is published has the law of the proof, or the noise is a floating-point number.
    """
    noise = (
        "The noise is exact to the last bit"
        if exact
        else "The noise is floating-point noise, for research: its low bits can tell of the records"
    )
    seed = (
        ", with the operating system's entropy."
        if random_state is None
        else ". This fit had a fixed random_state, which voids the guarantee."
    )
    silent, none = ("", "")
    if labelled:
        silent = " A record without a label that can be read contributes nothing."
        none = ", or in which no record has a label,"
    if weighted:
        silent += " A record's weight, in [0, 1], is hidden with it."
        none += " or a weight is outside [0, 1],"
    return (
        f"({epsilon:.4g}, {delta:g})-differential privacy for {change}.{silent} Outside the "
        "guarantee: that data which are not finite, empty or of the wrong shape"
        f"{none} are refused before anything "
        f"is computed, and time and memory. {noise}{seed}"
    )


def state_guarantee(
    estimator: Any,
    epsilon: float,
    delta: float,
    neighboring: str,
    change: str,
    *,
    weighted: bool = False,
) -> None:
    """Set what every fitted estimator says of its guarantee; ``change`` as in `dp_statement`."""
    estimator.epsilon_, estimator.delta_ = float(epsilon), float(delta)
    estimator.neighboring_ = neighboring
    estimator.privacy_statement_ = dp_statement(
        estimator.epsilon_,
        estimator.delta_,
        change,
        random_state=estimator.random_state,
        labelled=isinstance(estimator, (ClassifierMixin, RegressorMixin)),
        weighted=weighted,
    )


def whose_records(units: int, most: int | None = None, *, added: bool = False) -> str:
    """Say what neighbours are, as ``change`` of `dp_statement` begins; a bracket is left open.

    ``most`` is how many records of a person count, None where each record is one.

    >>> whose_records(100)
    'replacing one of 100 records (their number is public'
    """
    if most is None:
        return f"replacing one of {units} records (their number is public"
    count = f"of each at most {most} records count, chosen by their own values alone"
    if added:
        return f"adding or removing all records of one person ({count}"
    return f"replacing all records of one of {units} persons (their number is public; {count}"


def only_replacement(neighboring: str, reason: str) -> None:
    """Refuse any relation but the replacement of one record, and say why."""
    if not isinstance(neighboring, str) or neighboring != "replace_one":
        raise ValueError(
            f"neighboring must be 'replace_one' ({reason}), got neighboring={neighboring!r}"
        )
