"""How far one record moves a ridge fit, for all rows of norm at most 1."""

from __future__ import annotations

import math

from dplit._checks import Neighboring, check_choice, check_integer, check_positive
from dplit.kernels._ridge_bounds import _worst_turn, worst_removal

#: Covers the rounding of a bound, and rows whose computed norm exceeds 1 by a few 1e-15.
_UPWARD = 1.0 + 1e-12


def crude_sensitivity(*, alpha: float, label_norm: float) -> float:
    """Largest distance of two ridge fits whose label vectors have norm at most ``label_norm``.

    ``label_norm / sqrt(alpha)``, whatever changes between the data sets; ``label_norm`` is
    ``b sqrt(m)`` for m labels in [-b, b]. One record with ``||phi||^2 = alpha <= 1`` attains it.

    >>> crude_sensitivity(alpha=4.0, label_norm=10.0)
    5.0
    """
    return check_positive("label_norm", label_norm) / math.sqrt(check_positive("alpha", alpha))


def record_sensitivity(
    *, alpha: float, label_bound: float, n_records: int, neighboring: Neighboring = "replace_one"
) -> float:
    """Largest distance that ridge coefficients move when one record changes, for all data sets.

    Rows of norm at most 1, labels in [-b, b]. ``n_records`` is **public**: the size m of both data
    sets, or with "add_remove" a cap on the larger one (over all sizes the sensitivity is infinite).
    "add_remove" is exact; "replace_one" a bound, of which
    :func:`~dplit.papers.random_features.witnesses.swap_witness` comes within 3 % for alpha >= 10
    (0.2 % at m = 1000, alpha = 100) and within 22 % below. Increasing in m.

    >>> round(record_sensitivity(alpha=100.0, label_bound=1.0, n_records=1000), 4)
    0.031
    """
    penalty = check_positive("alpha", alpha)
    b = check_positive("label_bound", label_bound)
    m = check_integer("n_records", n_records, minimum=1)
    check_choice("neighboring", neighboring, ("replace_one", "add_remove"))
    removal, _, _ = worst_removal(penalty, m)
    if neighboring == "add_remove":
        return b * removal * _UPWARD
    return b * min(2.0 * removal, math.sqrt(m / penalty), _worst_turn(penalty, m)) * _UPWARD
