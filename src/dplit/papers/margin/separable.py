"""Synthetic records with a margin in any dimension."""

from __future__ import annotations

import math

import numpy as np

from dplit._checks import Array, check_integer, check_probability, check_rng


def margin_data(
    n_samples: int,
    n_features: int,
    *,
    margin: float,
    flips: float = 0.0,
    rng: np.random.Generator,
    lean: bool = False,
) -> tuple[Array, Array]:
    r"""Unit records :math:`(ay,\sqrt{1-a^2}u)` (m, d) with u uniform, and fair signs y.

    Each label is then flipped with probability ``flips``. ``lean`` draws one number less for a
    record: the same law from other draws.
    """
    m, d = check_integer("n_samples", n_samples), check_integer("n_features", n_features, minimum=2)
    a, share = check_probability("margin", margin), check_probability("flips", flips, zero=True)
    y = np.where(check_rng(rng).integers(0, 2, m) == 1, 1.0, -1.0)
    rest: Array = rng.standard_normal((m, d - 1 if lean else d))
    if not lean:
        rest[:, 0] = 0.0
    rest *= (math.sqrt(1.0 - a * a) / np.sqrt(np.vecdot(rest, rest)))[:, None]
    X = np.column_stack([np.empty(m), rest]) if lean else rest
    X[:, 0] = a * y
    return X, np.where(rng.random(m) < share, -y, y) if share else y
