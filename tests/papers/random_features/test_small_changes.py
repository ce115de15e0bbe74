"""Small changes of the arithmetic of random features that larger tests do not tell apart."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from dplit.features import fourier
from dplit.kernels import _certified_ridge, random_features
from dplit.kernels.random_features import _FEWEST, PrivateRandomFeatureRegressor
from dplit.mechanisms import Gaussian
from dplit.papers.random_features.noise_norms import private_excess_bound
from dplit.papers.random_features.scales import _correct_scale, _sgd_scale


def test_excess_bound_is_its_three_terms() -> None:
    """Kills each factor 2 as a divisor, and an eigenvalue that is not the largest."""
    M = np.diag([2.0, 3.0, 6.0])
    log = math.log(20.0)
    expected = 0.25 * (11.0 + 2.0 * 7.0 * math.sqrt(log) + 2.0 * 6.0 * log)
    assert private_excess_bound(M, sigma=0.5, failure=0.05) == pytest.approx(expected)


@pytest.mark.parametrize("delta", [0.0, 1.0, 2.0])
def test_delta_of_the_descent_is_a_probability(delta: float) -> None:
    """Kills a delta that is used unchecked."""
    with pytest.raises(ValueError, match="delta must be"):
        _sgd_scale(5, epsilon=1.0, delta=delta)


SCALES = [
    (_correct_scale, (), {"epsilon": 1.0, "delta": 1e-5, "sensitivity": 4.0}),
    (_sgd_scale, (5,), {"epsilon": 1.0, "delta": 1e-5}),
]


@pytest.mark.parametrize(("scale", "counts", "given"), SCALES)
def test_no_scale_takes_what_is_not_a_budget(scale: Any, counts: Any, given: Any) -> None:
    """Kills every argument that is used unchecked."""
    assert scale(*counts, **given) > 0
    for name in given:
        for bad in (0.0, -1.0):
            with pytest.raises(ValueError, match=f"{name} must be"):
                scale(*counts, **{**given, name: bad})
    if counts:
        with pytest.raises(ValueError, match=r"n_(components|records) must be"):
            scale(0, **given)


def test_few_records_have_the_fewest_waves() -> None:
    """Kills the smaller of the two numbers."""
    model = PrivateRandomFeatureRegressor(bounds=(-1, 1), box=(-1, 1), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.zeros((30, 2)), np.zeros(30))
    assert model.coef_.size == 2 * _FEWEST


def test_a_mean_and_weights_have_noise_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """No number of the one is a number of the other, or of the frequencies, which are public.

    Kills a copied generator, whose mean tells the noise of the first weight, and a mean whose noise
    comes from the stream of the frequencies.
    """
    drawn: list[tuple[Any, Any]] = []
    public: list[Any] = []
    frequencies = fourier.random_frequencies

    class Noise(Gaussian):
        def add(self, value: Any, *, rng: Any = None, **told: Any) -> Any:
            found = super().add(value, rng=rng, **told)
            drawn.append((rng, (found - value) / float(self.sigma)))
            return found

    def waves(*sizes: int, gamma: float, rng: Any) -> Any:
        public.append(rng)
        return frequencies(*sizes, gamma=gamma, rng=rng)

    for module in (_certified_ridge, random_features):
        monkeypatch.setattr(module, "Gaussian", Noise)
    monkeypatch.setattr(random_features, "random_frequencies", waves)
    X = np.linspace(-1.0, 1.0, 60)[:, None]
    for seed in (0, None):
        model = PrivateRandomFeatureRegressor(bounds=(-1, 1), box=(-1, 1), random_state=seed)
        model.fit(X, np.tanh(X[:, 0]))
    assert [len(numbers) for _, numbers in drawn] == [1, 2 * _FEWEST] * 2
    for (first, mean), (second, weights) in zip(drawn[::2], drawn[1::2], strict=True):
        assert first is second
        assert not np.isin(mean.round(9), weights.round(9)).any()
    assert not {id(rng) for rng, _ in drawn} & {id(rng) for rng in public}
