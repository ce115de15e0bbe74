"""Attacks on released coefficients: labels from imaginary parts, membership from predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.blas import daxpy

from dplit._checks import (
    Array,
    check_finite_array,
    check_integer,
    check_nonnegative,
    check_positive,
    check_probability,
    check_real_array,
)
from dplit.audit import delta_lower_bound, epsilon_lower_bound
from dplit.streams import stream


def recover_labels(released: ArrayLike, features: ArrayLike) -> Array:
    """Labels that the imaginary part of N released complex coefficients gives away.

    With the complex features A (m, N) of the known inputs and real noise, ``Im(released)`` is
    ``Im(A* (A A*)^{-1} y)``: the least-squares solution y is exact where that map has rank m.
    """
    coef = check_finite_array("released", released, ndim=1)
    A = check_finite_array("features", features, ndim=2)
    if A.shape[1] != len(coef):
        raise ValueError(f"features must have {len(coef)} columns, got shape {A.shape}")
    leak = np.linalg.pinv(A).imag
    return np.asarray(np.linalg.lstsq(leak, coef.imag, rcond=None)[0])


def _label_response(G: Array, record: int, rows: NDArray[np.intp]) -> Array:
    """Weights h with ``<c, phi_record> = h^T y`` after Kaczmarz steps on ``rows``: the adjoints of
    the steps ``c <- (I - phi phi^T / ||phi||^2) c + phi y / ||phi||^2``, applied to phi_record from
    the last to the first, meet every label once.
    """
    inner = G[record].copy()  # inner products of the adjoint state with all rows
    response = np.zeros(len(G))
    diagonal = G.diagonal().tolist()
    for row in reversed(rows.tolist()):
        weight = inner[row] / diagonal[row]
        response[row] += weight
        daxpy(G[row], inner, a=-weight)
    return response


def _prediction_statistics(
    gram: ArrayLike, y: ArrayLike, record: int, *, sigma: float, n_runs: int, seed: int, name: str
) -> Array:
    """Private predictions at one record, (2, n_runs): with its label 0 and with its label 1. A run
    draws the order of m Kaczmarz steps (role ``data``), one for both labels, and the noise (role
    ``noise``), which adds ``N(0, sigma^2 G_jj)`` to the prediction.
    """
    G = check_real_array("gram", gram, 2, copy=False)
    labels = check_real_array("y", y, 1)
    m = len(labels)
    if G.shape != (m, m):
        raise ValueError(f"gram must have shape {(m, m)}, got {G.shape}")
    if not 0 <= check_integer("record", record, minimum=0) < m:
        raise ValueError(f"record must be below {m}, got record={record}")
    sigma, n_runs = check_nonnegative("sigma", sigma), check_integer("n_runs", n_runs)
    labels[record] = 0.0
    found = np.empty((2, n_runs))
    for run in range(n_runs):
        rows = stream(seed, name, "data", run).integers(0, m, size=m)
        response = _label_response(G, record, rows)
        zero = float(response @ labels)
        one = zero + float(response[record])
        noise = sigma * np.sqrt(G[record, record])
        found[:, run] = [zero, one] + noise * stream(seed, name, "noise", run).standard_normal(2)
    return found


@dataclass(frozen=True)
class _MembershipAudit:
    """Outcome of a membership test on ``runs`` fresh runs per side.

    "Label 1" is said above ``threshold``; hits are such runs with label 1 (in) and 0 (out). Bounds
    are lower ones: on delta at the audited epsilon, on epsilon at the audited delta.
    """

    threshold: float
    hits_in: int
    hits_out: int
    runs: int
    delta_bound: float
    epsilon_bound: float


def _best_threshold(pilot: Array, epsilon: float) -> float:
    """Threshold with the largest ``TPR - e^epsilon FPR`` on the pilot runs."""
    candidates = np.sort(pilot.ravel())
    tpr = np.mean(pilot[1][None, :] > candidates[:, None], axis=1)
    fpr = np.mean(pilot[0][None, :] > candidates[:, None], axis=1)
    return float(candidates[np.argmax(tpr - np.exp(epsilon) * fpr)])


def membership_audit(
    gram: ArrayLike,
    y: ArrayLike,
    record: int,
    *,
    sigma: float,
    epsilon: float,
    delta: float,
    n_runs: int = 1000,
    confidence: float = 0.9999,
    seed: int,
    name: str,
) -> _MembershipAudit:
    """Audit a released Kaczmarz fit (Figures 5 and 6) by one label: is it 0 or 1?

    200 runs choose the threshold, ``n_runs`` judge ``delta(epsilon) >= TPR - e^epsilon
    FPR`` with Clopper-Pearson limits; each bound is below the truth with probability
    ``confidence``.
    """
    epsilon = check_positive("epsilon", epsilon)
    delta = check_probability("delta", delta, zero=True)
    pilot = _prediction_statistics(
        gram, y, record, sigma=sigma, n_runs=200, seed=seed, name=f"{name}-pilot"
    )
    threshold = _best_threshold(pilot, epsilon)
    found = _prediction_statistics(
        gram, y, record, sigma=sigma, n_runs=n_runs, seed=seed, name=name
    )
    hits_out, hits_in = (int(np.sum(side > threshold)) for side in found)
    hits = hits_in, hits_out, n_runs
    return _MembershipAudit(
        threshold,
        *hits,
        delta_bound=delta_lower_bound(*hits, epsilon=epsilon, confidence=confidence),
        epsilon_bound=epsilon_lower_bound(*hits, delta=delta, confidence=confidence),
    )
