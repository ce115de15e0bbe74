"""When the groups of a sketch are found: waves and records to plan with."""

from __future__ import annotations

import math
from typing import NamedTuple

from dplit._checks import check_integer, check_positive

#: Least loudness, and least frequencies over k d, at which a decoder finds the groups:
#: `benchmarks.maps.sketching_planning` found them, and says how often they fail.
LEAST_LOUDNESS, LEAST_WAVES = 8.0, 6.0


class Planned(NamedTuple):
    """How loud a group is, the frequencies for each coordinate, and whether both are enough.

    >>> Planned(loudness=10.0, waves=7.0).found, Planned(loudness=10.0, waves=5.0).found
    (True, False)
    """

    loudness: float
    waves: float

    @property
    def found(self) -> bool:
        """Whether the planning rule expects the groups to be found."""
        return self.loudness >= LEAST_LOUDNESS and self.waves >= LEAST_WAVES


def planned(*, n: int, d: int, k: int, n_frequencies: int, deviation: float) -> Planned:
    r"""What the planning rule says of a Fourier sketch, from public numbers.

    The hill of a group of n / k records is :math:`nm/k` high on the sum, and noise moves a hill by
    :math:`s\sqrt m`; the highest hill of noise alone in a box of d columns grows as
    :math:`\sqrt d`. So :math:`L=n\sqrt m/(ks\sqrt d)` is how loud a group is.

    Parameters
    ----------
    n, d, k : int
        Public numbers of records, of columns, and of groups of about equal size. For a group of
        another size let n / k be that.
    n_frequencies : int
        Size m of the sketch.
    deviation : float
        Of the noise on each real number of the sum, s: 2 m / epsilon for Laplace noise where a
        record is added, about m / epsilon for the polydisc, sigma for Gaussian noise.

    Returns
    -------
    Planned
        ``loudness`` L, ``waves`` m / (k d), and ``found``: L of at least ``LEAST_LOUDNESS`` and at
        least ``LEAST_WAVES`` waves.

    Notes
    -----
    Measured at the default scale of the frequencies on round groups that fill the box
    (``results/sketching_planning.json``, which says what was tried), where *found* means that the
    centres lose at most a twentieth of what k-means gains on one centre. It is for groups that
    stand apart: at separation 2, where they overlap, nearly a third of the promised decodes missed,
    of a table at .76 more than half, and in a corner of the box most did, some at a loudness of 50
    too.

    Examples
    --------
    >>> plan = planned(n=10_000, d=2, k=3, n_frequencies=60, deviation=2 * 60 / 0.1)
    >>> round(plan.loudness, 1), plan.waves, plan.found
    (15.2, 10.0, True)
    >>> planned(n=1_000, d=2, k=3, n_frequencies=60, deviation=2 * 60 / 0.1).found
    False
    """
    m = check_integer("n_frequencies", n_frequencies)
    records, groups = check_integer("n", n), check_integer("k", k)
    columns = check_integer("d", d)
    noise = check_positive("deviation", deviation)
    loudness = records * math.sqrt(m / columns) / (groups * noise)
    return Planned(loudness, m / (groups * columns))
