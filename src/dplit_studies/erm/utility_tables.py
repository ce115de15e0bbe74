"""Rows that the chapter shows and checks: bounds beside exact values, one row per setting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from dplit._checks import Array, check_positive
from dplit.papers.erm.decomposition import (
    coin_decomposition,
    privacy_generalization,
    stability_generalization,
)
from dplit.papers.erm.generalization import _Side, exact_gap, generalization_bound
from dplit.papers.erm.rates import (
    balanced_regularization,
    excess_bound,
    printed_bound,
    safe_lipschitz,
    theorem4_schedule,
)
from dplit.papers.erm.scales import noise_scale
from dplit.papers.erm.sharp_mechanisms import subset_gap, subset_mechanism


class _SubsetRow(NamedTuple):
    """The subset mechanism at one epsilon beside the bounds of Theorem 3, all divided by G.
    ``exact_epsilon`` and ``gap`` by enumeration for k = 4, m = 3, p = 0.07, ``closed`` in closed
    form; ``wide`` is the gap for a million values, m = 100, p = 1e-4.
    """

    side: str
    epsilon: float
    exact_epsilon: float
    gap: float
    closed: float
    wide: float
    sharp: float
    printed: float


class _CoinRow(NamedTuple):
    """Exact expectations for the hinge loss on one point, and their bounds. ``generalization`` is
    the mean of R1, bounded by ``stability``, ``proof`` (of Proposition 2) and ``printed``;
    ``noise`` that of R2, ``excess`` the excess risk.
    """

    n_records: int
    generalization: float
    stability: float
    proof: float
    printed: float
    noise: float
    epsilon: float
    excess: float
    excess_bound: float


def subset_rows(epsilons: Sequence[float]) -> list[_SubsetRow]:
    """Rows for both signs of the gap."""
    rows = []
    sides: tuple[_Side, _Side] = ("over", "under")
    for side in sides:
        for epsilon in epsilons:
            exact = exact_gap(*subset_mechanism(4, 3, 0.07, epsilon=epsilon, side=side))
            bounds = [
                generalization_bound(epsilon=epsilon, side=side, version=version)
                for version in ("sharp", "printed")
            ]
            rows.append(
                _SubsetRow(
                    side,
                    epsilon,
                    exact.epsilon,
                    abs(1.0 - exact.population / exact.sample),
                    subset_gap(4, 3, 0.07, epsilon=epsilon, side=side),
                    subset_gap(10**6, 100, 1e-4, epsilon=epsilon, side=side),
                    *bounds,
                )
            )
    return rows


def coin_rows(
    sizes: Sequence[int], *, beta: float, probability: float, epsilon: float | None = None
) -> list[_CoinRow]:
    """Rows for the hinge loss on one point with the doubled noise and Theorem 4's lambda.

    ``probability`` is that of the label +1; the budget is Theorem 4's unless given.
    """
    rows = []
    for m in sizes:
        budget, penalty = theorem4_schedule(m, beta=beta)
        budget = budget if epsilon is None else check_positive("epsilon", epsilon)
        scale = noise_scale(
            epsilon=budget, lipschitz=1.0, kappa=1.0, regularization=penalty, n_records=m
        )
        parts = coin_decomposition(m, regularization=penalty, probability=probability, scale=scale)
        proof, printed = (
            privacy_generalization(
                epsilon=budget, baseline=1.0, noise_error=parts.noise, version=version
            )
            for version in ("proof", "printed")
        )
        stable = stability_generalization(lipschitz=1.0, regularization=penalty, n_records=m)
        total = excess_bound(
            n_records=m,
            regularization=penalty,
            epsilon=budget,
            lipschitz=1.0,
            width=1.0,
            approximation=parts.approximation,
        )
        rows.append(
            _CoinRow(
                m,
                parts.generalization,
                stable,
                proof,
                printed,
                parts.noise,
                budget,
                parts.excess,
                total,
            )
        )
    return rows


def printed_shares(sizes: Sequence[int], betas: Sequence[float]) -> Array:
    """Bound by stability over the printed bound of Theorem 4, at the largest safe :math:`C_L`."""
    shares = np.empty((len(betas), len(sizes)))
    for (i, j), _ in np.ndenumerate(shares):
        m, beta = sizes[j], betas[i]
        epsilon, penalty = theorem4_schedule(m, beta=beta)
        constant = safe_lipschitz(epsilon)
        stable = excess_bound(
            n_records=m,
            regularization=penalty,
            epsilon=epsilon,
            lipschitz=constant,
            approximation=penalty**beta,
            as_printed=True,
        )
        shares[i, j] = stable / printed_bound(
            m, beta=beta, lipschitz=constant, baseline=0.0, c_beta=1.0
        )
    return shares


def least_bounds(sizes: Sequence[int], *, beta: float, epsilon: float) -> tuple[Array, Array]:
    """Least bound by stability over lambda, by the formula for lambda and by a search."""

    def bound(penalty: float, m: int) -> float:
        return excess_bound(
            n_records=m,
            regularization=penalty,
            epsilon=epsilon,
            lipschitz=1.0,
            approximation=penalty**beta,
        )

    formula, search = [], []
    for m in sizes:
        formula.append(bound(balanced_regularization(n_records=m, epsilon=epsilon, beta=beta), m))
        found = minimize_scalar(
            lambda t, m=m: bound(math.exp(t), m),
            bounds=(-20.0, 3.0),
            method="bounded",
            options={"xatol": 1e-9},
        )
        search.append(found.fun)
    return np.array(formula), np.array(search)
