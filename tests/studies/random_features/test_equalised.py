"""Equalised error gaps of the Table 2 model, rebuilt from residuals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dplit.features import cos_sin_features
from dplit.notebook.datasets.papers import load_medical
from dplit.streams import stream
from dplit_studies.random_features.parity import _label_strata, error_gap_curves
from dplit_studies.random_features.preparation import _fairness_data
from dplit_studies.random_features.published_settings import _setting

pytestmark = pytest.mark.claim("dprf-beyond-error-gaps")

BASE = replace(_setting("tab2-medical", "text"), components=(60,), frequency_sd=0.02)
SDS = (0.0, 0.1, 0.5, 20.0)


@pytest.mark.parametrize("feature", ["sex", "smoker"])
def test_curves_equal_a_direct_computation(feature: str) -> None:
    """Residuals by pinv, the folded normal mean by quadrature over 4001 nodes."""
    data = load_medical("bundled")
    curves = error_gap_curves(data, feature, seed=3, noise_sds=SDS, base=BASE)
    prepared = _fairness_data(data, feature, labels="joint", scaling="joint", encoding="full")
    rng = stream(3, "dprf-beyond-error-gaps", "public")
    F = cos_sin_features(prepared.raw, 0.02 * rng.standard_normal((prepared.raw.shape[1], 30)))
    y = prepared.y
    r = F @ (np.linalg.pinv(F, rcond=1e-5) @ y) - y
    nodes = np.linspace(-9, 9, 4001)
    weights = np.exp(-(nodes**2) / 2)
    weights /= weights.sum()
    edges = np.quantile(y, [0.25, 0.5, 0.75])
    bins = np.array([sum(value > e for e in edges) for value in y])
    for k, s in enumerate(SDS):
        values = {"squared": r**2 + s**2, "bias": r}
        values["absolute"] = np.abs(r[:, None] + s * nodes) @ weights
        for name, value in values.items():
            means = [
                [value[(bins == b) & (prepared.groups == g)].mean() for b in range(4)]
                for g in (0, 1)
            ]
            gaps = np.abs(np.subtract(*means))
            tolerance = 2e-5 * max(s, 1.0)
            assert getattr(curves, name)[k] == pytest.approx(max(gaps), abs=tolerance), (name, s)
        assert curves.mse[k] == pytest.approx(np.mean(r**2) + s**2, rel=1e-4)
    np.testing.assert_array_equal(curves.noise_sds, SDS)
    assert curves.strata == 4


def test_noise_hides_the_absolute_gap_only() -> None:
    curves = error_gap_curves(load_medical("bundled"), "sex", seed=0, noise_sds=SDS, base=BASE)
    assert np.all(np.diff(curves.absolute) < 0)
    assert curves.absolute[-1] < 0.1 * curves.absolute[0]
    np.testing.assert_allclose(curves.squared, curves.squared[0], atol=1e-12 * 400)
    np.testing.assert_array_equal(curves.bias, curves.bias[0])
    assert np.all(np.diff(curves.mse) > 0)


def test_strata_are_equally_large_without_ties() -> None:
    y = np.random.default_rng(0).permutation(100).astype(float)
    assert np.bincount(_label_strata(y, 4)).tolist() == [25, 25, 25, 25]
    assert np.bincount(_label_strata(y, 1)).tolist() == [100]
    assert math.isclose(_label_strata(np.zeros(5), 3).std(), 0.0)
