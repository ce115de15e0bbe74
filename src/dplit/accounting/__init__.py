"""Composition of (subsampled) Gaussian releases through privacy loss distributions.

A thin adapter to dp-accounting, installed by the extra ``accounting`` and imported on first use.

dp-accounting knows no sensitivity: its ``noise_multiplier`` is the standard deviation divided by
the sensitivity, and passing sigma itself understates epsilon wherever the sensitivity exceeds 1.
Under ``replace_one`` that is the rule: records of norm at most 1 give a sum of sensitivity 2.  (Its
own ``REPLACE_ONE`` accountant doubles the shift itself, for multipliers in units of one record.)
Every function here takes both numbers and does the division; the accountant always runs with its
add/remove semantics, in which a Gaussian event is the pair N(0, 1), N(1 / noise_multiplier, 1).

``sampled_gaussian_delta`` and ``sampled_gaussian_sigma`` need no extra: they compose
Poisson-subsampled releases themselves, show either direction, and calibrate in a fraction of a
second.
"""

from __future__ import annotations

from dplit.accounting.composition import (
    composed_delta,
    composed_epsilon,
    gaussian_event,
    noise_multiplier,
    sampled_gaussian_delta,
    sampled_gaussian_sigma,
)
from dplit.accounting.conversions import (
    compose_gdp,
    compose_zcdp,
    gaussian_rho,
    gdp_budget,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    gdp_to_zcdp,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
    zcdp_to_gaussian_mu,
)

__all__ = [
    "compose_gdp",
    "compose_zcdp",
    "composed_delta",
    "composed_epsilon",
    "gaussian_event",
    "gaussian_rho",
    "gdp_budget",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "gdp_to_zcdp",
    "noise_multiplier",
    "sampled_gaussian_delta",
    "sampled_gaussian_sigma",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
    "zcdp_to_gaussian_mu",
]
