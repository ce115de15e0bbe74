"""Steps of exact noise are so fine that no model is better without them: paired, on six tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import datasets
from sklearn.base import clone

import dplit
from dplit.mechanisms import values

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

HOW = ("decision_function", "predict", "transform")
TABLES = ("diabetes", "breast_cancer", "wine", "iris", "digits", "linnerud")


def fitted(table: str) -> tuple[Any, tuple[np.ndarray, np.ndarray]]:
    """Columns brought into [-1, 1], and an estimator for what the table is about."""
    found = getattr(datasets, f"load_{table}")()
    X = np.asarray(found.data, float)
    X = 2.0 * (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-9) - 1.0
    y, norm = np.asarray(found.target), float(np.sqrt(X.shape[1]))
    stated: dict[str, Any] = {"epsilon": 5.0, "delta": 1e-5, "random_state": 7}
    ends = (float(y.min()), float(y.max()))
    models: dict[str, Any] = {
        "diabetes": dplit.SufficientStatisticsRegressor(data_norm=norm, bounds=ends, **stated),
        "breast_cancer": dplit.PrivateMarginClassifier(data_norm=norm, classes=(0, 1), **stated),
        "wine": dplit.NoisyGradientClassifier(data_norm=norm, classes=(0, 1, 2), **stated),
        "iris": dplit.PrivateAdditiveClassifier(box=(-1, 1), classes=(0, 1, 2), **stated),
        "digits": dplit.PrivatePCA(2, data_norm=norm, **stated),
        "linnerud": dplit.PrivateRandomFeatureRegressor(box=(-1, 1), bounds=ends, **stated),
    }
    return models[table], (X, y[:, 0] if table == "linnerud" else y)


@pytest.mark.parametrize("table", TABLES)
def test_finer_steps_change_no_prediction(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits, with steps 2^14 times finer: the noise differs by half a step.

    Kills steps that are 2^-12 of the noise, which move predictions a hundred times as far.
    """
    model, data = fitted(table)

    def predicted() -> np.ndarray:
        one = clone(model).fit(*data)
        ask = next(getattr(one, how) for how in HOW if hasattr(one, how))
        return np.asarray(ask(data[0]), float)

    def moved(bits: int) -> float:
        monkeypatch.setattr(values, "_SCALE_BITS", bits)
        return float(np.abs(predicted() - usual).max() / np.ptp(usual))

    usual = predicted()
    assert moved(43) < 1e-6
    assert moved(12) > 1e-6
