"""Mechanisms as the papers print them, audited beside their repairs at equal budgets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from dplit._checks import check_choice, check_integer
from dplit.audit import Controls, EventAudit, audit_hits, run_controls
from dplit.entries.projections import release_projection
from dplit.papers.erm.line_pairs import hinge_pair
from dplit.papers.erm.release import release_scalar_shift
from dplit.papers.erm.scales import hinge_scale
from dplit.papers.projection.calibration import projection_variance
from dplit.papers.projection.counterexamples import paired_columns
from dplit.papers.random_features.counterexamples import near_duplicate_pair
from dplit.papers.random_features.interpolation import min_norm_fit
from dplit.papers.random_features.release import release_coefficients
from dplit.streams import stream
from dplit_studies.audits.events import DELTA, Line, _Unit, lower_bound
from dplit_studies.sketching.additive_audits import audit_replacement

_Audit = Callable[[bool, int, float, np.random.Generator], EventAudit]


def _shift(
    printed: bool, runs: int, confidence: float, rng: np.random.Generator, *, points: int
) -> EventAudit:
    """Values of a support vector machine with Laplace noise, at one point or at two.

    The printed noise shifts the whole function; repaired, every value has noise of its own.
    """
    pair = hinge_pair(n_records=101, regularization=0.1)
    asked = [1.0, -1.0][:points]
    scale = hinge_scale(
        epsilon=1.0, kappa=1.0, regularization=0.1, n_records=101, as_printed=printed
    )
    mine, other = (np.asarray(values) for values in pair.values(asked))
    exact = mine[0] - mine[-1]
    hits = []
    for values in (mine, other):
        drawn = release_scalar_shift(
            values,
            scale=scale if printed else points * scale,
            rng=rng,
            releases=runs,
            as_printed=printed,
        )
        above = drawn[:, 0] >= mine[0]  # which is the larger value
        apart = np.abs(drawn[:, 0] - drawn[:, -1] - exact) < 1e-9
        hits.append(int((above if points == 1 else apart).sum()))
    return audit_hits(hits[0], hits[1], runs, epsilon=1.0, confidence=confidence)


def _squares(printed: bool, runs: int, confidence: float, rng: np.random.Generator) -> EventAudit:
    """Sums of quadratic features where a record is replaced."""
    return audit_replacement(
        np.eye(2), epsilon=1.0, runs=runs, rng=rng, as_printed=printed, confidence=confidence
    )


def _projected(printed: bool, runs: int, confidence: float, rng: np.random.Generator) -> EventAudit:
    """Twelve rows projected to ten: the difference of two columns shows the size of an entry."""
    hits = []
    for entry in (1.0, 0.1):
        X = paired_columns(entry, n_records=12)
        noise = projection_variance(X, epsilon=0.5, n_components=10, as_printed=printed)
        count = 0
        for _ in range(runs):
            seen = release_projection(X, np.zeros(12), n_components=10, variance=noise, rng=rng).X
            count += float(np.mean((seen[:, 0] - seen[:, 1]) ** 2)) > 2.0 * noise + 0.2
        hits.append(count)
    return audit_hits(hits[0], hits[1], runs, epsilon=0.5, confidence=confidence)


def _interpolated(
    printed: bool, runs: int, confidence: float, rng: np.random.Generator
) -> EventAudit:
    """Coefficients for two near-duplicates with opposite labels, one of which moves away. No noise
    repairs an interpolator: the null control is a distant pair, for which the bound is true.
    """
    pair, angles = near_duplicate_pair(1e-3 if printed else 3.0), np.linspace(-20.0, 20.0, 50)
    fits = [
        min_norm_fit(np.exp(1j * X * angles), y, method="pinv")
        for X, y in ((pair.X, pair.y), (pair.X_other, pair.y_other))
    ]
    gap, middle = fits[0] - fits[1], (fits[0] + fits[1]) / 2.0
    budget = {"epsilon": 1.0, "delta": DELTA, "eta": 0.375}
    hits = []
    for coef in fits:
        drawn = (
            release_coefficients(coef, **budget, rng=rng, as_printed=False) for _ in range(runs)
        )
        hits.append(sum(float(np.vdot(gap, one - middle).real) > 0.0 for one in drawn))
    return audit_hits(hits[0], hits[1], runs, epsilon=1.0, delta=DELTA, confidence=confidence)


#: What is printed (its unit and claim), and whether a run costs microseconds.
PRINTED: dict[str, tuple[_Audit, _Unit, float, bool]] = {
    "erm: shift, one value": (partial(_shift, points=1), "pure", 1.0, True),
    "erm: shift, two values": (partial(_shift, points=2), "pure", 1.0, True),
    "sketching: quadratic features": (_squares, "pure", 1.0, True),
    "projection: noise (13)": (_projected, "bits", 0.5, False),
    "random_features: Algorithm 1": (_interpolated, "gaussian", 1.0, False),
}


def audit_printed(name: str, *, runs: int, confidence: float, seed: int) -> Controls[Line]:
    """Audit what is printed (planted) and its repair (null)."""
    check_choice("name", name, PRINTED)
    check_integer("runs", runs)
    audit, unit, epsilon, _ = PRINTED[name]

    def line(factor: float) -> Line:
        rng = stream(seed, f"audits-{name}-{factor:g}", "noise")
        found = audit(factor < 1.0, runs, confidence, rng)
        return Line(unit, epsilon, lower_bound(found, unit), runs)

    return run_controls(line)
