"""What the repair costs: limits for large n, and the best number of projected rows."""

from __future__ import annotations

import math

import numpy as np

from dplit._checks import (
    check_choice,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
)
from dplit.projection.exact_law import expected_error
from dplit.projection.information import fixed_variance
from dplit.projection.spectrum import Spectrum

__all__ = ["best_components", "uniform_limit"]


def uniform_limit(*, epsilon: float, share: float, snr: float, noise: str = "repaired") -> float:
    r"""Error of a projection to ``share * n`` rows as n grows with d fixed, uniform design.

    Parameters
    ----------
    epsilon : float
        Budget in bits, positive.
    share : float
        n'/n, in (0, 1].
    snr : float
        Explained over unexplained energy, nonnegative.
    noise : {"repaired", "printed"}, default="repaired"

    Returns
    -------
    float
        With share 1 and repaired noise this is also the limit of additive noise.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Notes
    -----
    :math:`1+\big(\tfrac{3\rho}{1+3\rho}\big)^2r^2` with :math:`\rho=\lambda/n`, since
    :math:`X^\top X\approx\tfrac n3I`; (13) subtracts :math:`f^2\approx n/3` from :math:`\lambda`.

    Examples
    --------
    >>> round(uniform_limit(epsilon=0.5, share=1.0, snr=16.0), 9)
    10.0
    >>> round(uniform_limit(epsilon=0.5, share=0.5, snr=9.0, noise="printed"), 9)
    2.0
    """
    bits = check_positive("epsilon", epsilon)
    part = check_probability("share", share, one=True)
    check_choice("noise", noise, ("printed", "repaired"))
    rho = part / math.expm1(2.0 * bits * math.log(2.0))
    if noise == "printed":
        rho = max(rho - 1.0 / 3.0, 0.0)
    return 1.0 + (3.0 * rho / (1.0 + 3.0 * rho)) ** 2 * check_nonnegative("snr", snr)


def best_components(problem: Spectrum, *, epsilon: float, n_samples: int) -> tuple[int, float]:
    """Number of projected rows with the least expected error under repaired noise.

    Parameters
    ----------
    problem : Spectrum
    epsilon : float
        Budget in bits, positive.
    n_samples : int
        Largest number of projected rows to consider, at least d + 2: the rows of the data.

    Returns
    -------
    n_components : int
        It depends on the data: an oracle that shows what is possible, not a release.
    error : float
        The expected relative error there.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range, or the design explains the response.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.projection.spectrum import Spectrum
    >>> problem = Spectrum(np.full(2, 100.0), np.eye(2), np.full(2, 10.0), 10.0)
    >>> rows, error = best_components(problem, epsilon=0.5, n_samples=300)
    >>> rows, round(error, 3)
    (13, 1.849)
    """
    bits = check_positive("epsilon", epsilon)
    if problem.residual <= 0:
        raise ValueError("y must not lie in the column space of X: relative errors are infinite")
    least = problem.n_features + 2
    most = check_integer("n_samples", n_samples, minimum=least)

    def error(rows: int) -> float:
        lam = fixed_variance(epsilon=bits, n_components=rows)
        return expected_error(problem, penalty=lam, n_components=rows)

    grid = np.unique(np.geomspace(least, most, 200).round().astype(int))
    at = int(np.argmin([error(int(rows)) for rows in grid]))
    low, high = int(grid[max(at - 1, 0)]), int(grid[min(at + 1, len(grid) - 1)])
    while high - low > 8:  # one valley between neighbours of the grid
        third = (high - low) // 3
        if error(low + third) < error(high - third):
            high -= third
        else:
            low += third
    best = min(range(low, high + 1), key=error)
    return best, error(best)
