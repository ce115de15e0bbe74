"""scikit-learn's own checks of the three estimators, at a huge and at the default budget."""

from __future__ import annotations

import pytest

from dplit.sketching.estimators import (
    CompressiveGaussianMixture,
    CompressiveKMeans,
    CompressivePCA,
)
from tests.estimator_checks import estimator_checks

SMALL = {"bounds": (-10.0, 10.0), "n_frequencies": 40}


@estimator_checks(
    [
        CompressiveKMeans(2, epsilon=1e6, n_restarts=1, **SMALL),
        CompressiveGaussianMixture(1, epsilon=1e6, n_starts=1, **SMALL),
        CompressivePCA(1, epsilon=1e6, data_norm=10.0),
    ]
)
def test_scikit_learn_checks_at_a_huge_budget(estimator, check):
    check(estimator)


@estimator_checks(
    [
        CompressiveKMeans(2, n_restarts=1, **SMALL),
        CompressiveGaussianMixture(1, n_starts=1, **SMALL),
        CompressivePCA(1, data_norm=10.0),
    ]
)
@pytest.mark.filterwarnings("ignore:.*the noise of standard deviation:UserWarning")
def test_scikit_learn_checks_at_the_default_budget(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [CompressiveKMeans, CompressiveGaussianMixture, CompressivePCA])
def test_they_demand_no_labels_and_publish_none(kind):
    assert not hasattr(kind(), "labels_")
    assert not any(base.__name__ == "ClusterMixin" for base in kind.__mro__)
