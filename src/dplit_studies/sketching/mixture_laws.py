"""The synthetic data of the experiments: mixtures of unit Gaussians, and a public box for them.

The paper names sizes, not the law. We take that of the literature on compressive k-means: equal
weights and centres from ``N(0, c k^{1/d} I)``: the separation c does not depend on k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_choice, check_integer, check_positive, check_rng
from dplit_studies.trials import Estimate, Trial, mean_and_se, run_trials


@dataclass(frozen=True)
class MixtureLaw:
    """Law of a synthetic clustering problem, with the scale of its frequencies.

    A centre's coordinate has variance ``separation k^{1/d}``, a frequency's ``frequency_variance``.
    """

    n_clusters: int
    n_features: int
    separation: float
    frequency_variance: float

    def __post_init__(self) -> None:
        check_integer("n_clusters", self.n_clusters)
        check_integer("n_features", self.n_features)
        check_positive("separation", self.separation)
        check_positive("frequency_variance", self.frequency_variance)

    @property
    def center_variance(self) -> float:
        """Variance ``c k^{1/d}`` of a coordinate of a centre."""
        return float(self.separation * self.n_clusters ** (1.0 / self.n_features))

    @property
    def bounds(self) -> tuple[float, float]:
        """Public box, from the law alone: 3.5 standard deviations of a coordinate either way.

        A given centre's coordinate lies outside with probability below 4.7e-4.
        """
        reach = 3.5 * float(np.sqrt(1.0 + self.center_variance))
        return -reach, reach

    def draw(
        self,
        n_samples: int,
        *,
        rng: np.random.Generator,
        dtype: Literal["float32", "float64"] = "float32",
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Draw records (n_samples, d), each a uniform centre plus ``N(0, I)``; centres (k, d)."""
        check_integer("n_samples", n_samples)
        check_choice("dtype", dtype, ("float32", "float64"))
        check_rng(rng)
        shape = (self.n_clusters, self.n_features)
        centers = rng.normal(0.0, np.sqrt(self.center_variance), shape)
        labels = rng.integers(self.n_clusters, size=n_samples)
        kind = np.dtype(dtype)
        X: NDArray[Any] = rng.standard_normal((n_samples, self.n_features), dtype=kind)
        X += centers.astype(kind)[labels]
        return X, centers

    def frequencies(self, n_components: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw ``n_components`` frequencies, one per column; the first m are a draw of m."""
        check_integer("n_components", n_components)
        draws = check_rng(rng).standard_normal((n_components, self.n_features))
        scaled: NDArray[np.float64] = np.sqrt(self.frequency_variance) * draws.T
        return np.ascontiguousarray(scaled)

    def population_sketch(
        self, frequencies: NDArray[np.float64], centers: NDArray[np.float64]
    ) -> NDArray[np.complex128]:
        """Exact sketch ``e^{-|omega_j|^2/2} (1/k) sum_l e^{i <omega_j, c_l>}`` of given centres."""
        decay = np.exp(-0.5 * np.sum(frequencies**2, axis=0))
        waves = np.exp(1j * (centers @ frequencies))
        return np.asarray(decay * waves.mean(axis=0))


def typical_constant(law: MixtureLaw) -> float:
    """Constant of a random mixture: the mean of ``1 / mixture_constant``, inverted.

    >>> round(typical_constant(MixtureLaw(10, 10, separation=1.5, frequency_variance=0.1)), 2)
    7.56
    """
    k, d, rate = law.n_clusters, law.n_features, law.frequency_variance
    q = 1.0 + 2.0 * rate
    pair = (1.0 + 2.0 * rate * law.center_variance / q) ** (-d / 2.0)
    return float(q ** (d / 2.0) / (1.0 / k + (1.0 - 1.0 / k) * pair))


def sketched_constants(
    law: MixtureLaw, *, n_components: int, n_draws: int, seed: int, name: str
) -> Estimate:
    r"""Mean and standard error of :math:`\|z\|^2/m` over sketches of random mixtures."""

    def energy(trial: Trial) -> float:
        frequencies = law.frequencies(n_components, rng=trial.stream("public"))
        _, centers = law.draw(1, rng=trial.stream("data"))
        return float(np.mean(np.abs(law.population_sketch(frequencies, centers)) ** 2))

    return mean_and_se(run_trials(energy, n_draws, seed=seed, name=name))
