"""The auditor of the estimators: likelihood ratios, both controls."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.mechanisms import gaussian_sigma
from dplit.sketching.sketches import NoiseRecord, Sketch, SketchMap
from dplit_studies.sketching import estimator_audit

pytestmark = pytest.mark.claim("sketch-beyond-estimators")

RUNS = {"kmeans-cube": 400, "pca-replace": 800}


@pytest.mark.parametrize(
    "label", ["pca-replace", pytest.param("kmeans-cube", marks=pytest.mark.weekly)]
)
def test_estimators_keep_their_claims_and_half_the_noise_is_caught(label):
    """Confidence 0.9999, so false alarm 1e-4; half the noise is missed with probability < 0.01."""
    found = estimator_audit.audit_estimator(label, runs=RUNS[label], seed=0, name="test-audit")
    assert found.sound
    assert found.null.runs == RUNS[label]
    assert found.null.epsilon == 1.0


def test_likelihood_ratios_by_hand():
    """One frequency, one record 0 added to nothing but itself; noise of every law."""
    public = SketchMap("fourier", [[1.0]])
    X, Y = np.array([[0.0], [0.0]]), np.array([[0.0]])  # sums 2 and 1
    for kind, expected in (
        ("laplace", (abs(1.5 - 1) - abs(1.5 - 2) + 0.0) / 0.5),
        ("gaussian", ((1.5 - 1) ** 2 - (1.5 - 2) ** 2) / (2 * 0.25)),
        ("polydisc", 0.0),
        ("cube", 0.0),
    ):
        released = Sketch(np.array([1.5 + 0.25j]), None, public, NoiseRecord(kind, 0.5))
        assert estimator_audit._log_likelihood_ratio(released, X, Y) == pytest.approx(
            expected, abs=1e-12
        )
    far = Sketch(np.array([5.0 + 0.0j]), None, public, NoiseRecord("polydisc", 0.5))
    assert estimator_audit._log_likelihood_ratio(far, X, Y) == pytest.approx(2.0)
    square = Sketch(np.array([2.5 + 4.0j]), None, public, NoiseRecord("cube", 0.5))
    assert estimator_audit._log_likelihood_ratio(square, X, Y) == pytest.approx(0.0)
    with pytest.raises(ValueError, match="released must carry noise"):
        estimator_audit._log_likelihood_ratio(Sketch(np.ones(1), 1, public), X, Y)


@pytest.mark.filterwarnings("ignore:.*the noise of :UserWarning")  # three records
@pytest.mark.parametrize("label", list(estimator_audit.AUDITED))
def test_audited_estimators_carry_the_noise_of_their_label(label):
    model = estimator_audit._make_estimator(label, epsilon=0.8, random_state=0)
    d = 2 if label == "pca-replace" else 1
    model.fit(np.zeros((3, d)))
    assert model.epsilon_ == 0.8
    if label == "lloyd-laplace":
        return
    record, m = model.sketch_.noise, model.sketch_.map.n_components
    expected = {
        "kmeans-laplace": 2**0.5 / 0.8,
        "kmeans-cube": 0.5**0.5 / 0.8,
        "kmeans-polydisc": 1 / 0.8,
        "mixture-gaussian": gaussian_sigma(epsilon=0.8, delta=0.2, sensitivity=m**0.5),
        "pca-laplace": 1 / 0.8,
        "pca-replace": 2 / 0.8,
    }[label]
    assert record.scale == pytest.approx(expected, rel=1e-6)
