"""How far random features of a shift-invariant kernel can err, and how many Algorithm 3 asks
for.
"""

from __future__ import annotations

import math

from dplit._checks import check_choice, check_integer, check_positive, check_probability


def frequencies_of_algorithm3(n_samples: int, *, beta: float) -> int:
    r"""Number of frequencies of Algorithm 3: :math:`D=\lceil m^2\log(2m/\beta)\rceil`.

    >>> frequencies_of_algorithm3(1000, beta=0.05)
    10596635
    """
    m = check_integer("n_samples", n_samples)
    beta = check_probability("beta", beta)
    return math.ceil(m * m * math.log(2 * m / beta))


def sup_deviation_bound(
    n_samples: int, n_frequencies: int, *, beta: float, data_norm: float = 1.0
) -> float:
    r"""Bound of Theorem 4.1 on all Gram entries: :math:`2r^2\sqrt{\log(2m/\beta)/D}`.

    The radical, lost in print, makes it :math:`2r^2/m` for Algorithm 3.
    """
    m, count = (
        check_integer("n_samples", n_samples, minimum=2),
        check_integer("n_frequencies", n_frequencies),
    )
    beta, r = check_probability("beta", beta), check_positive("data_norm", data_norm)
    return 2.0 * r * r * math.sqrt(math.log(2 * m / beta) / count)


def union_failure(n_samples: int, *, beta: float) -> float:
    r"""What the proof of Theorem 4.1 gives for its failure: :math:`\beta^2(m-1)/(4m)`."""
    m = check_integer("n_samples", n_samples, minimum=2)
    beta = check_probability("beta", beta)
    return beta * beta * (m - 1) / (4.0 * m)


def kernel_gap_bound(
    n_samples: int, n_frequencies: int, *, beta: float, data_norm: float = 1.0
) -> float:
    r"""The union bound of Theorem 4.1 spent in full: :math:`r^2\sqrt{2\log(m(m-1)/\beta)/D}`."""
    m, count = (
        check_integer("n_samples", n_samples, minimum=2),
        check_integer("n_frequencies", n_frequencies),
    )
    beta, r = check_probability("beta", beta), check_positive("data_norm", data_norm)
    return r * r * math.sqrt(2.0 * math.log(m * (m - 1) / beta) / count)


def gram_entry_variance(value: float, n_components: int, *, method: str) -> float:
    r"""Variance of one inner product of compressed records of Gaussian kernel ``value``, r = 1.

    :math:`(1-\kappa^2)^2/k` for ``direct`` features, k = 2 D, and :math:`(1+\kappa^2)/k` for
    ``projected`` ones.
    """
    kappa = check_positive("value", value)
    if kappa > 1:
        raise ValueError(f"value must be at most 1, got value={value!r}")
    k = check_integer("n_components", n_components)
    if check_choice("method", method, ("direct", "projected")) == "direct":
        return (1.0 - kappa**2) ** 2 / k
    return (1.0 + kappa**2) / k
