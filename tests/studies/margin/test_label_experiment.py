"""The experiment on label privacy: exact risk, reproducible draws, expected errors."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.streams import stream
from dplit_studies.margin.choice import METHODS, label_table, threshold_risk

SETTINGS = ((1.0, 1000), (1.0, 200), (0.1, 1000), (0.1, 200))


@pytest.mark.claim("margin-exp-labeldp")
def test_risk_is_the_share_of_wrong_predictions():
    """Two million fresh records: 6 standard errors of the share, false alarm below 1e-8."""
    rng = stream(0, "threshold-risk", "data")
    x = 0.3 + 1e-4 * rng.uniform(-1, 1, 2_000_000)
    y = np.where(x >= 0.3, 1.0, -1.0) * np.where(rng.random(len(x)) < 0.1, -1.0, 1.0)
    thresholds = 0.3 + 1e-4 * np.array([-2.0, -0.7, 0.0, 0.25, 5.0])
    seen = [np.mean(np.where(x >= t, 1, -1) != y) for t in thresholds]
    risk = threshold_risk(thresholds, 0.3)
    np.testing.assert_allclose(seen, risk, atol=6 * 0.5 / np.sqrt(len(x)))
    np.testing.assert_allclose(risk, [0.5, 0.38, 0.1, 0.2, 0.5], atol=1e-12)


@pytest.mark.claim("margin-exp-labeldp")
def test_label_privacy_learns_what_pure_privacy_cannot():
    """Windows of more than five standard errors around independent runs of the same table."""
    table = label_table(SETTINGS, draws=40, seed=0)
    mean = table.errors.mean(axis=0)
    assert table.errors.shape == (40, 4, len(METHODS))
    np.testing.assert_allclose(mean[:, 0], [0.1025, 0.1126, 0.1203, 0.1952], atol=0.01)
    assert np.all(mean[:, 1] > 0.35)
    assert np.all(mean[:, 0] < mean[:, 2])
    assert mean[2, 2] > 0.18


def test_draws_do_not_depend_on_their_number():
    few = label_table(SETTINGS[:1], draws=2, seed=3).errors
    more = label_table(SETTINGS[:1], draws=4, seed=3).errors
    np.testing.assert_array_equal(few, more[:2])
    assert np.any(few != label_table(SETTINGS[:1], draws=2, seed=4).errors)


def test_bad_input():
    with pytest.raises(ValueError, match="draws must be at least 2"):
        label_table(SETTINGS, draws=1, seed=0)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        label_table(((0.0, 10),), draws=2, seed=0)
