"""Components of noisy second moments: sensitivity, noise, the noiseless limit, scikit-learn."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.stats import chi2

from dplit import audit
from dplit.components import PrivatePCA
from dplit.mechanisms import gaussian_epsilon
from dplit.streams import stream


def test_with_a_huge_budget_it_is_the_singular_value_decomposition():
    X = stream(0, "private-pca", "data").normal(size=(500, 4)) * [1.0, 0.7, 0.4, 0.1]
    model = PrivatePCA(3, epsilon=1e9, delta=0.5, data_norm=9.0, random_state=0).fit(X)
    vectors = np.linalg.svd(X)[2][:3]
    np.testing.assert_allclose(np.abs(model.components_ @ vectors.T), np.eye(3), atol=1e-3)
    largest = model.components_[np.arange(3), np.abs(model.components_).argmax(axis=1)]
    assert (largest > 0.0).all()
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X[:2])) @ vectors.T, X[:2] @ vectors.T, atol=1e-2
    )


@pytest.mark.parametrize(("relation", "bound"), [("add_remove", 1.0), ("replace_one", 2**0.5)])
def test_moments_move_by_what_calibrates_their_noise(relation, bound):
    """Equal seeds cancel the noise; kills the bound of one record where one is replaced."""

    def release(X):
        model = PrivatePCA(
            1, epsilon=1e9, delta=0.5, data_norm=1.0, neighboring=relation, random_state=0
        )
        return model.fit(X).moments_

    pairs = audit.nasty_pairs(2, relation=relation, labels=1.0, sizes=(129, 4097))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a table of zeros has no components
        moved = audit.float_sensitivity(lambda X, _: release(X), pairs)
        turned = np.linalg.norm(release([[1.0, 0.0]]) - release([[0.0, 1.0]]))
    assert 0.99 < moved <= bound * (1.0 + 1e-9)
    assert 1.41 < turned <= 2**0.5
    fitted = PrivatePCA(1, data_norm=2.0, neighboring=relation).fit(np.eye(2).repeat(200, 0))
    spent = gaussian_epsilon(delta=1e-5, sigma=fitted.sigma_, sensitivity=bound)
    assert spent == pytest.approx(1.0, rel=1e-4)
    assert spent <= 1.0


def test_noise_is_isotropic_in_the_units_of_the_norm():
    """Sum of squares of 300 releases of 6 coordinates; false alarm 1e-8.

    Kills noise that is not halved off the diagonal, and noise without the square of the norm.
    """
    X = np.eye(3).repeat(1000, 0) * 5.0
    units = np.where(np.eye(3), 1.0, math.sqrt(2.0))
    total = 0.0
    for seed in range(300):
        model = PrivatePCA(1, data_norm=5.0, epsilon=0.1, random_state=seed).fit(X)
        gap = (model.moments_ - X.T @ X / 25.0)[np.triu_indices(3)]
        total += float(np.sum((gap * units[np.triu_indices(3)] / model.sigma_) ** 2))
    # rounding to the grid shortens rows by 1e-4 at most
    low, high = chi2.ppf([0.5e-8, 1 - 0.5e-8], 1800)
    assert low < total < high


def test_it_warns_where_noise_alone_would_do():
    """Of 200 fits to nothing few stay silent: 20 have a probability below 1e-5 at .03 each."""
    silent = 0
    for seed in range(200):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            PrivatePCA(1, data_norm=1.0, random_state=seed).fit(np.zeros((5, 4)))
        silent += not caught
    assert silent < 20
    PrivatePCA(1, data_norm=1.0, random_state=0).fit(np.eye(4).repeat(100, 0))
