"""Composition of (subsampled) Gaussian releases through privacy loss distributions.

A thin adapter to dp-accounting (extra ``accounting``, imported on first use), which knows no
sensitivity: its ``noise_multiplier`` is sigma over the sensitivity, and passing sigma itself
understates epsilon wherever the sensitivity exceeds 1, which under ``replace_one`` is the rule:
records of norm at most 1 give a sum of sensitivity 2. Every function here takes both numbers and
divides; the accountant runs with add/remove semantics, in which a Gaussian event is the pair N(0,
1), N(1 / noise_multiplier, 1). (Its own ``REPLACE_ONE`` accountant doubles the shift itself.)

``sampled_gaussian_delta`` and ``sampled_gaussian_sigma`` need no extra: they compose
Poisson-subsampled releases themselves, by direction, and calibrate in a fraction of a second.

A ``Budget`` is a file: a cap on what several releases and fits spend together.
"""

from __future__ import annotations

from dplit.accounting.budget import Budget, BudgetError, Entry
from dplit.accounting.composition import (
    composed_delta,
    composed_epsilon,
    gaussian_event,
    noise_multiplier,
)
from dplit.accounting.conversions import (
    gdp_budget,
    gdp_delta,
    gdp_epsilon,
    group_budget,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from dplit.accounting.sampled import sampled_gaussian_delta, sampled_gaussian_sigma

__all__ = [
    "Budget",
    "BudgetError",
    "Entry",
    "composed_delta",
    "composed_epsilon",
    "gaussian_event",
    "gdp_budget",
    "gdp_delta",
    "gdp_epsilon",
    "group_budget",
    "noise_multiplier",
    "sampled_gaussian_delta",
    "sampled_gaussian_sigma",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
