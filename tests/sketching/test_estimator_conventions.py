"""scikit-learn's own checks of the three estimators, at a huge and at the default budget."""

from __future__ import annotations

import pytest
from sklearn.base import ClusterMixin, clone

from dplit.sketching.estimators import CompressiveGaussianMixture, CompressiveKMeans, CompressivePCA
from tests.estimator_checks import estimator_checks

SMALL = {"bounds": (-10.0, 10.0), "n_frequencies": 40}


MODELS = [
    CompressiveKMeans(2, n_restarts=1, **SMALL),
    CompressiveGaussianMixture(1, n_starts=1, **SMALL),
    CompressivePCA(1, data_norm=10.0),
]


@estimator_checks([clone(model).set_params(epsilon=1e6) for model in MODELS])
def test_scikit_learn_checks_at_a_huge_budget(estimator, check):
    check(estimator)


@estimator_checks(MODELS)
@pytest.mark.filterwarnings("ignore:.*the noise of standard deviation:UserWarning")
def test_scikit_learn_checks_at_the_default_budget(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", MODELS)
def test_they_demand_no_labels_and_publish_none(model):
    assert not hasattr(model, "labels_")
    assert not isinstance(model, ClusterMixin)
