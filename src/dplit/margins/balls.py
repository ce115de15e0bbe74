"""The margin of the hinge, and the norms of comparators and records."""

from __future__ import annotations

from typing import NamedTuple

from dplit._checks import check_at_least


class Ball(NamedTuple):
    """Margin of the hinge, norm of the comparators, and norm to which records are clipped.

    >>> Ball(margin=0.1, radius=1.0, data_norm=2.0).inflated(2.0)
    Ball(margin=0.1, radius=2.0, data_norm=4.0)
    """

    margin: float
    radius: float
    data_norm: float

    def inflated(self, factor: float) -> Ball:
        """Both lengths times a factor s >= 1: noise against signal grows by its square.

        Algorithm 2 takes 2. At s = 1 a map that distorts lengths and products by a share of xi
        leaves ``(margin - xi * data_norm * radius) / (1 + xi)`` of the margin, without a price.
        """
        s = check_at_least("inflation", factor, 1.0)
        return Ball(self.margin, s * self.radius, s * self.data_norm)
