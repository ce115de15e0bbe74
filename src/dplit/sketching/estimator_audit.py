"""Audits of the estimators: what two fits on neighbouring data give away, with both controls."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_choice, check_integer
from dplit._estimators import spawn_generators
from dplit.audit import EventAudit, audit_event, run_controls
from dplit.baselines import PrivateLloyd
from dplit.features import orthonormal_blocks
from dplit.mechanisms import gaussian_sigma
from dplit.sketching.estimators import (
    CompressiveGaussianMixture,
    CompressiveKMeans,
    CompressivePCA,
)
from dplit.sketching.sketches import Sketch
from dplit.streams import stream

__all__ = ["AUDITED", "AuditOutcome", "audit_estimator", "log_likelihood_ratio", "make_estimator"]

_Array = NDArray[np.float64]

#: Label -> (class, parameters). Sketches of one or two frequencies leave the attacker no averaging.
AUDITED: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "kmeans-laplace": (CompressiveKMeans, {"kind": "quantized", "noise": "laplace"}),
    "kmeans-cube": (CompressiveKMeans, {"kind": "quantized", "noise": "cube"}),
    "kmeans-polydisc": (CompressiveKMeans, {"noise": "polydisc"}),
    "mixture-gaussian": (CompressiveGaussianMixture, {"noise": "gaussian"}),
    "pca-laplace": (CompressivePCA, {"noise": "laplace"}),
    "pca-replace": (CompressivePCA, {"noise": "laplace", "neighboring": "replace_one"}),
    "lloyd-laplace": (PrivateLloyd, {"noise": "laplace"}),
}
#: Where a Gaussian release is audited: far above any sensible delta, to be seen in 200 runs.
_DELTA = 0.2
#: Share of the largest loss from which on a pure release counts as a hit.
_SHARE = 0.8


@dataclass(frozen=True)
class AuditOutcome:
    """What an audit found, with the right noise and with half of it.

    Attributes
    ----------
    null, planted : EventAudit
        Counts and bounds with the estimator's own noise, and with half of it.
    sound : bool
        Whether the first raised no alarm and the second did.
    """

    null: EventAudit
    planted: EventAudit
    sound: bool


def make_estimator(label: str, *, epsilon: float, random_state: Any) -> Any:
    """Return one of the audited estimators with small public parameters.

    Parameters
    ----------
    label : str
        A key of :data:`AUDITED`.
    epsilon : float
        Budget.
    random_state : int or Generator
        Its source of randomness.

    Returns
    -------
    estimator
        Not fitted; its delta is 0.2 where the noise is Gaussian and 0 elsewhere.
    """
    check_choice("label", label, AUDITED)
    kind, parameters = AUDITED[label]
    options: dict[str, Any] = {"epsilon": epsilon, "random_state": random_state, **parameters}
    if parameters["noise"] == "gaussian":
        options["delta"] = _DELTA
    if kind is CompressivePCA:
        count = 1 if label == "pca-laplace" else 2
        return CompressivePCA(1, data_norm=1.0, n_frequencies=count, count_share=1e-9, **options)
    options["bounds"] = (-1.0, 1.0)
    if kind is PrivateLloyd:
        return PrivateLloyd(1, start=[[0.0]], n_iter=1, **options)
    if kind is CompressiveKMeans:
        return CompressiveKMeans(1, n_frequencies=1, n_restarts=1, **options)
    return CompressiveGaussianMixture(1, n_frequencies=2, n_starts=1, **options)


def _neighbours(label: str, frequencies: _Array | None = None) -> tuple[_Array, _Array]:
    """Return two neighbouring data sets: a record more, or another record in its place.

    Frequencies are public, so an attacker may choose the records by them: for "pca-replace" the
    two vectors of the orthonormal basis, which are as far apart as two records can be.
    """
    if label == "pca-replace":
        base, pair = np.zeros((3, 2)), np.eye(2) if frequencies is None else frequencies.T
        return np.vstack([base, pair[:1]]), np.vstack([base, pair[1:]])
    base = np.zeros((60 if label == "lloyd-laplace" else 3, 1))
    return np.vstack([base, [[1.0]]]), base


def log_likelihood_ratio(released: Sketch, X: _Array, Y: _Array) -> float:
    """Logarithm of the density ratio of a released sum under two data sets.

    Parameters
    ----------
    released : Sketch
        With noise, which says its law and scale.
    X, Y : ndarray of shape (n, d)
        The data sets, as the estimator clips them.

    Returns
    -------
    float
        ``log p(s | X) - log p(s | Y)``, of the sum alone.

    Raises
    ------
    ValueError
        If the sketch carries no noise.
    """
    if released.noise is None:
        raise ValueError("released must carry noise, got noise=None")
    exponents = []
    for records in (X, Y):
        rest = released.sum - released.map.transform(records).sum(axis=0)
        parts = np.concatenate([rest.real, rest.imag]) / released.noise.scale
        size = {
            "laplace": np.abs(parts).sum(),
            "gaussian": 0.5 * (parts**2).sum(),
            "cube": np.abs(parts).max(),
            "polydisc": np.abs(rest).max() / released.noise.scale,
        }[released.noise.kind]
        exponents.append(float(size))
    return exponents[1] - exponents[0]


def _event(label: str, epsilon: float) -> Callable[[Any], bool]:
    """Return the event that is counted: a threshold on what is published, fixed in advance."""
    if label == "lloyd-laplace":  # S >= 1 and N >= 61: the loss is exactly epsilon
        return lambda m: bool(
            m.cluster_centers_[0, 0] * m.counts_[0] >= 1.0 and m.counts_[0] >= 61.0
        )
    gaussian = AUDITED[label][1]["noise"] == "gaussian"

    def event(model: Any) -> bool:
        # pure noise: most of the loss that the fit's own budget allows; Gaussian: the optimal test
        level = epsilon if gaussian else _SHARE * model.epsilon_
        pair = _neighbours(label, model.sketch_.map.frequencies)
        return log_likelihood_ratio(model.sketch_, *pair) >= level

    return event


def _half_noise_epsilon(label: str, epsilon: float) -> float:
    """Return the budget at which the estimator adds half the noise of ``epsilon``."""
    if AUDITED[label][1]["noise"] != "gaussian":
        return 2.0 * epsilon
    target = gaussian_sigma(epsilon=epsilon, delta=_DELTA) / 2.0
    low, high = epsilon, 64.0 * epsilon
    for _ in range(60):
        middle = 0.5 * (low + high)
        wide = gaussian_sigma(epsilon=middle, delta=_DELTA) > target
        low, high = (middle, high) if wide else (low, middle)
    return high


def audit_estimator(
    label: str, *, runs: int, epsilon: float = 1.0, confidence: float = 0.9999, seed: int, name: str
) -> AuditOutcome:
    """Fit an estimator many times on two neighbours and bound its epsilon from below.

    Parameters
    ----------
    label : str
        A key of :data:`AUDITED`.
    runs : int
        Fits on each side and for each control.
    epsilon : float, default=1.0
        Claimed budget.
    confidence : float, default=0.9999
        Probability with which a true claim is not refuted.
    seed, name
        Of the streams.

    Returns
    -------
    AuditOutcome
        Of the likelihood-ratio test on what is published.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    Examples
    --------
    >>> from dplit.sketching.estimator_audit import audit_estimator
    >>> audit_estimator("pca-laplace", runs=20, seed=0, name="example").null.violated
    False
    """
    check_choice("label", label, AUDITED)
    check_integer("runs", runs)
    gaussian = AUDITED[label][1]["noise"] == "gaussian"
    found: dict[float, EventAudit] = {}

    def alarm(factor: float) -> bool:
        budget = epsilon if factor == 1.0 else _half_noise_epsilon(label, epsilon)

        def release(side: int, rng: np.random.Generator) -> Any:
            state = int(rng.integers(2**62))
            model = make_estimator(label, epsilon=budget, random_state=state)
            omega = None
            if label == "pca-replace":  # the first of the estimator's three streams
                omega = orthonormal_blocks(2, 2, rng=spawn_generators(state, 3)[0])
            with warnings.catch_warnings():  # three records: that noise hides them is the point
                warnings.simplefilter("ignore", UserWarning)
                return model.fit(_neighbours(label, omega)[side])

        found[factor] = audit_event(
            release,
            0,
            1,
            _event(label, epsilon),
            runs=runs,
            epsilon=epsilon,
            delta=_DELTA if gaussian else 0.0,
            confidence=confidence,
            rng=stream(seed, f"{name}-{label}-{factor:g}", "noise"),
        )
        return found[factor].violated

    controls = run_controls(alarm)
    return AuditOutcome(found[1.0], found[0.5], controls.sound)
