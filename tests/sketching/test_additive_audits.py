"""Audits of the additive releases through their public functions, with controls.

Every audit is made three times: with the right noise it must stay silent and come near the claim,
with half of the noise it must raise the alarm. Confidence 0.9999 per bound.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dplit.audit import EventAudit, audit_hits, run_controls
from dplit.features import complex_features, quantized_features
from dplit.sketching import counts as joint_release
from dplit.sketching import privacy as privacy_laws
from dplit.sketching import release as additive
from dplit.sketching import sensitivity as knorm
from dplit.sketching.sensitivity import sketch_sensitivity
from dplit.streams import stream
from dplit_studies.sketching.tables import opposite_pair

add_laplace = partial(additive.additive_mechanism, noise="laplace")
add_gaussian = partial(additive.additive_mechanism, noise="gaussian")

RUNS = 400_000
OMEGA = np.array([[1.3]])
RECORD = complex_features(opposite_pair(OMEGA)[:1], OMEGA, normalize=False)  # exp(i pi / 4)
Bools = NDArray[np.bool_]


def _audit(inside: Bools, outside: Bools, epsilon: float, delta: float = 0.0) -> EventAudit:
    return audit_hits(
        int(inside.sum()), int(outside.sum()), len(inside), epsilon=epsilon, delta=delta,
        confidence=0.9999,
    )  # fmt: skip


def _laplace(factor: float, epsilon: float = 0.8) -> EventAudit:
    """Add the record of largest norm to two others; the event is the corner of largest loss."""
    rng = stream(0, "audit-laplace", "noise")
    scale = factor * sketch_sensitivity("fourier", OMEGA, norm=1) / epsilon
    others = np.exp([[0.3j], [2.0j]])
    hits = []
    for rows in (np.vstack([others, RECORD]), others):
        total = np.full(RUNS, rows.sum())
        s = add_laplace(total, scale=scale, rng=rng)
        corner = others.sum() + RECORD[0, 0]
        hits.append((s.real >= corner.real) & (s.imag >= corner.imag))
    return _audit(hits[0], hits[1], epsilon)


@pytest.mark.claim("sketch-thm1")
@pytest.mark.claim("sketch-lem7")
def test_laplace_release_is_tight_and_controlled() -> None:
    """Events of probability 1/4 and exp(-epsilon)/4: false alarm 1e-4."""
    audit = _laplace(1.0)
    assert 0.95 * 0.8 < audit.epsilon_lower <= 0.8
    assert run_controls(lambda factor: _laplace(factor).violated).sound


def _split(factor: float) -> EventAudit:
    """Sum and count with Laplace noise, budgets 0.6 and 0.4."""
    rng = stream(0, "audit-split", "noise")
    size = sketch_sensitivity("fourier", OMEGA, norm=1)
    scale, count_scale = factor * size / 0.6, factor / 0.4
    epsilon = privacy_laws.split_epsilon(
        sensitivity=size, scale=scale / factor, count_scale=count_scale / factor
    )
    hits = []
    for total, count in ((RECORD[0, 0], 1.0), (0j, 0.0)):
        s = add_laplace(np.full(RUNS, total), scale=scale, rng=rng)
        n = add_laplace(np.full(RUNS, count), scale=count_scale, rng=rng)
        step = RECORD[0, 0]
        hits.append((s.real >= step.real) & (s.imag >= step.imag) & (n >= 1.0))
    return _audit(hits[0], hits[1], epsilon)


@pytest.mark.claim("sketch-lem4")
def test_sum_and_count_together_are_tight_and_controlled() -> None:
    """Events of probability 1/8 and exp(-1)/8: false alarm 1e-4.  Kills a budget that is lost."""
    audit = _split(1.0)
    assert 0.92 < audit.epsilon_lower <= 1.0
    assert run_controls(lambda factor: _split(factor).violated).sound


def _knorm(noise: Any, factor: float, epsilon: float = 0.7) -> EventAudit:
    """One-bit record of four entries against the empty sum; the event is a loss near epsilon."""
    rng = stream(0, f"audit-{noise}", "noise")
    record = quantized_features([[0.4]], [[1.0, -2.0, 0.7, 3.1]], [0.1, 2.0, 4.0, 5.0])[0]
    hits = []
    for total in (record, 0 * record):
        draws = knorm.pure_noise(4, noise=noise, epsilon=epsilon / factor, rng=rng, size=RUNS)
        without = total + draws  # the noise if the record is absent
        with_record = without - record
        loss = knorm.knorm_loss(with_record, record, noise=noise, epsilon=epsilon)
        hits.append(loss >= 0.9 * epsilon)
    return _audit(hits[0], hits[1], epsilon)


@pytest.mark.claim("sketch-beyond-knorm")
@pytest.mark.parametrize(("noise", "least"), [("polydisc", 0.85), ("cube", 0.95)])
def test_knorm_noise_is_tight_and_controlled(noise: Any, least: float) -> None:
    """False alarm 1e-4.  Kills twice the rate, a radius Gamma(2m), one factor root two."""
    audit = _knorm(noise, 1.0)
    assert least * 0.7 < audit.epsilon_lower <= 0.7
    assert run_controls(lambda factor: _knorm(noise, factor).violated).sound


@pytest.mark.claim("sketch-beyond-knorm")
def test_cube_noise_is_not_private_for_plain_features() -> None:
    """The feature 1 leaves the cube: its loss reaches sqrt 2 epsilon.  False alarm none."""
    rng = stream(0, "audit-plain", "noise")
    hits = []
    for total in (1.0, 0.0):
        s = total + knorm.pure_noise(1, noise="cube", epsilon=0.7, rng=rng, size=RUNS)[:, 0]
        hits.append((s.real >= 1.0) & (np.abs(s.imag) <= s.real - 1.0))
    audit = _audit(hits[0], hits[1], 0.7)
    assert audit.violated
    assert audit.epsilon_lower <= 0.7 * np.sqrt(2.0)


def _gaussian(factor: float, epsilon: float = 0.5, delta: float = 0.02) -> EventAudit:
    """A complex sum with Gaussian noise; the event is a loss above epsilon."""
    rng = stream(0, "audit-gaussian", "noise")
    size = sketch_sensitivity("fourier", OMEGA, norm=2)
    sigma = privacy_laws.analytic_sigma(epsilon=epsilon, delta=delta, sensitivity=size) * factor
    hits = []
    for total in (RECORD[0, 0], 0j):
        s = add_gaussian(np.full(RUNS, total), scale=sigma, rng=rng)
        loss = ((s - RECORD[0, 0] / 2) * RECORD[0, 0].conj()).real / sigma**2
        hits.append(loss > epsilon)
    return _audit(hits[0], hits[1], epsilon, delta)


@pytest.mark.claim("sketch-def15")
@pytest.mark.claim("sketch-thm2")
@pytest.mark.claim("sketch-lem11")
def test_gaussian_release_is_tight_and_controlled() -> None:
    """Four hundred thousand runs: delta 0.02 to within 30 %; false alarm 1e-4."""
    audit = _gaussian(1.0)
    assert 0.014 < audit.delta_lower <= 0.02
    assert run_controls(lambda factor: _gaussian(factor).violated).sound


def _joint(weight: float, epsilon: float = 0.1, delta: float = 0.2) -> EventAudit:
    """The record against nothing, released jointly; the event is a loss above epsilon."""
    rng = stream(0, "audit-joint", "noise")
    budget = {"epsilon": epsilon, "delta": delta, "sensitivity": 1.0, "weight": weight}
    sigma, count_sigma = joint_release.joint_deviations(**budget)
    hits = []
    for total, count in ((1.0, 1.0), (0.0, 0.0)):
        s, n = rng.normal([[total], [count]], [[sigma], [count_sigma]], (2, 2000))
        loss = (s - 0.5) / sigma**2 + (n - 0.5) / count_sigma**2
        hits.append(loss > epsilon)
    return _audit(hits[0], hits[1], epsilon, delta)


@pytest.mark.claim("sketch-beyond-joint")
@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_joint_release_keeps_its_budget(weight: float) -> None:
    """Two thousand runs a side, delta 0.2 seen as 0.07 or more: false alarm 1e-4."""
    audit = _joint(weight)
    assert not audit.violated
    assert audit.delta_lower > 0.07


def test_real_noise_on_a_complex_vector_is_no_release() -> None:
    """What the definitions exclude: the imaginary part tells the data sets apart."""
    total, other = np.array([1.0 + 1.0j]), np.array([1.0 + 0.0j])
    rng = np.random.default_rng(0)
    broken = [v + add_laplace(v.real, scale=5.0, rng=rng) * 1.0 for v in (total, other)]
    assert broken[0].imag == 1.0
    assert broken[1].imag == 0.0
    fixed = [add_laplace(v, scale=5.0, rng=rng).imag for v in (total, other)]
    assert fixed[0] not in (0.0, 1.0)
    assert fixed[1] not in (0.0, 1.0)
