"""Theorems 10 to 12: printed bounds, their conditions, and what is proved."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from dplit._checks import check_choice, check_integer, check_interval, check_nonnegative
from dplit.papers.random_features.noise_norms import _NoiseVersion, noise_norm_bound

_Theorem11Version = Literal["printed", "line2", "displayed_step", "recovered"]


class _Theorem11Terms(NamedTuple):
    """The three terms of Theorem 11, as multiples of ``||f||_rho``."""

    approximation: float
    estimation: float
    coefficients: float


def _sizes(n_components: int, n_samples: int, eta: float) -> tuple[int, int, float]:
    n = check_integer("n_components", n_components, minimum=1)
    m = check_integer("n_samples", n_samples, minimum=1)
    if n < m:
        raise ValueError(
            f"n_components must be at least n_samples, got n_components={n}, n_samples={m}"
        )
    return n, m, check_interval("eta", eta, 0.0, 0.5)


def theorem11_terms(
    *,
    n_components: int,
    n_samples: int,
    eta: float,
    failure: float,
    version: _Theorem11Version = "printed",
) -> _Theorem11Terms:
    """The three terms of Theorem 11's bound on ``||f - f_sharp||``, at each step of its proof.

    "printed" is the theorem (failure < 1/8, N >= m), "line2" line 2 of (17), "displayed_step" what
    line 2 gives by the displayed step: a third term four times the printed one. "recovered" is
    proved, with McDiarmid's actual range and no rounding of constants, and is at most "printed"
    under :func:`theorem11_condition`.

    >>> setting = dict(n_components=10**6, n_samples=1000, eta=0.375, failure=0.05)
    >>> [round(sum(theorem11_terms(**setting, version=v)[1:]), 3) for v in ("printed", "line2")]
    [2.886, 3.08]
    """
    check_choice("version", version, ("printed", "line2", "displayed_step", "recovered"))
    n, m, eta = _sizes(n_components, n_samples, eta)
    log = -math.log(check_interval("failure", failure, 0.0, 0.125))
    L = log + math.log(2.0)
    lead = math.sqrt(2.0 + 64.0 * L**2 + 8.0 * L) if version == "recovered" else 14.0 * L
    shrink = math.sqrt(m / (n * (1.0 - 2.0 * eta)))
    if version in ("printed", "displayed_step"):
        factor = 2.0 * (2.0 * log / m) ** 0.25
        tail = factor * 4.0 if version == "displayed_step" else (32.0 * log / m) ** 0.25
        third = tail * math.sqrt(L)
    elif version == "line2":
        factor = math.sqrt((1.0 + 2.0 * eta) / m + math.sqrt(2.0 * log / m))
        third = factor * 4.0 * math.sqrt(L)
    else:
        factor = math.sqrt((1.0 + 2.0 * eta) / m + math.sqrt(log / (2.0 * m)))
        third = factor * math.sqrt(1.0 + 4.0 * L + math.sqrt(2.0 * L))
    return _Theorem11Terms(lead / math.sqrt(n), factor * lead * shrink, third)


def theorem11_bound(
    *,
    n_components: int,
    n_samples: int,
    eta: float,
    failure: float,
    norm: float = 1.0,
    version: _Theorem11Version = "printed",
) -> float:
    """Theorem 11's bound on ``||f - f_sharp||`` in ``L^2(mu)``: the sum of its three terms.

    Since ``|f| <= ||f||_rho``, a bound above ``norm`` is vacuous.

    >>> round(theorem11_bound(n_components=5000, n_samples=1000, eta=0.375, failure=0.05), 1)
    27.5
    """
    terms = theorem11_terms(
        n_components=n_components, n_samples=n_samples, eta=eta, failure=failure, version=version
    )
    return check_nonnegative("norm", norm) * sum(terms)


def theorem11_condition(*, n_samples: int, eta: float, failure: float) -> bool:
    """Whether ``m log(1/failure) >= 7 (1 + 2 eta)^2``: then "recovered" is at most "printed".

    It holds for all m >= 14, since failure < 1/8.
    """
    m = check_integer("n_samples", n_samples, minimum=1)
    log = -math.log(check_interval("failure", failure, 0.0, 0.125))
    return bool(m * log >= 7.0 * (1.0 + 2.0 * check_interval("eta", eta, 0.0, 0.5)) ** 2)


def theorem11_largest_failing_m(*, eta: float) -> int:
    """Largest m up to 40 for which "recovered" exceeds "printed" on a grid; 0 if none.

    The grid has 200 failures from 1e-16 to 1/8. Only the third terms are compared: the others never
    exceed the printed ones and vanish as N grows.

    >>> [theorem11_largest_failing_m(eta=eta) for eta in (0.01, 0.2, 0.375, 0.499)]
    [3, 6, 10, 13]
    """
    check_interval("eta", eta, 0.0, 0.5)
    failures = np.geomspace(1e-16, 0.125 * (1.0 - 1e-12), 200).tolist()

    def fails(m: int, failure: float) -> bool:
        sizes: dict[str, Any] = {"n_components": m, "n_samples": m, "eta": eta, "failure": failure}
        printed = theorem11_terms(**sizes, version="printed").coefficients
        return theorem11_terms(**sizes, version="recovered").coefficients > printed

    return next((m for m in range(40, 0, -1) if any(fails(m, f) for f in failures)), 0)


def theorem12_bound(
    *,
    n_components: int,
    n_samples: int,
    epsilon: float,
    delta: float,
    eta: float,
    failure: float,
    version: _NoiseVersion = "printed",
) -> float:
    """Theorem 12's bound on the distance of private and non-private model in ``L^2(mu)``.

    Not squared; failure < 1/5. ``version`` says which bound on ``||z||^2`` takes the place of Lemma
    13. It grows like sqrt(N), the truth
    (:func:`~dplit.papers.random_features.noise_norms.private_excess_exact`) is constant.

    >>> options = dict(n_components=4000, n_samples=1000, epsilon=1.0, delta=1e-5, eta=0.375)
    >>> round(theorem12_bound(**options, failure=0.05), 1)
    197.4
    """
    n, m, eta = _sizes(n_components, n_samples, eta)
    log = -math.log(check_interval("failure", failure, 0.0, 0.2))
    noise = noise_norm_bound(
        n_components=n, epsilon=epsilon, delta=delta, eta=eta, failure=failure, version=version
    )
    factor = math.sqrt((1.0 + 2.0 * eta) / m) + math.sqrt(math.sqrt(2.0 * log / m))
    return math.sqrt(n) * factor * math.sqrt(noise)


def theorem10_bound(
    *,
    n_components: int,
    n_samples: int,
    epsilon: float,
    delta: float,
    eta: float,
    failure: float,
    norm: float = 1.0,
    version: Literal["printed", "corrected"] = "printed",
) -> float:
    """Theorem 10's bound on ``||f - f_hat||`` in ``L^2(mu)``, failure < 1/9.

    "printed" has ``1 - eta`` where Theorem 12 has ``1 - 2 eta``, so it is less than the sum of the
    two theorems. "corrected" is the sum of the recovered Theorem 11 and a valid Theorem 12.

    >>> options = dict(n_components=4000, n_samples=1000, epsilon=1.0, delta=1e-5, eta=0.375)
    >>> round(theorem10_bound(**options, failure=0.05), 1)
    155.5
    """
    check_choice("version", version, ("printed", "corrected"))
    check_interval("failure", failure, 0.0, 1.0 / 9.0)
    printed = version == "printed"
    sizes: dict[str, Any] = {"n_components": n_components, "n_samples": n_samples}
    sizes |= {"eta": eta, "failure": failure}
    model = theorem11_bound(**sizes, norm=norm, version="printed" if printed else "recovered")
    noise = theorem12_bound(
        **sizes, epsilon=epsilon, delta=delta, version="printed" if printed else "laurent_massart"
    )
    misprint = math.sqrt((1.0 - 2.0 * eta) / (1.0 - eta)) if printed else 1.0
    return model + misprint * noise
