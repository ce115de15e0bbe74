"""Models are functions of their releases: replayed on other records, all of them, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from dplit import PrivatePCA, SufficientStatisticsRegressor
from dplit.audit import ReplayError, replay
from dplit.streams import stream
from dplit_studies.audits.cases import ESTIMATORS
from dplit_studies.audits.replays import differing, unrelated

EXACT = [name for name in ESTIMATORS if not name.startswith("RandomProjection")]


@pytest.mark.claim("audits-beyond-replay")
@pytest.mark.parametrize("name", EXACT)
def test_what_is_fitted_is_a_function_of_the_releases(name: str) -> None:
    """Kills an attribute, a warning, a route or a count of releases that reads the records."""
    model = clone(ESTIMATORS[name].release).set_params(random_state=3)
    one, other = unrelated(name)
    assert differing(model, one, other) == 0
    assert differing(model.set_params(random_state=4), other, one) == 0


class Leaky(PrivatePCA):
    """Says how long its longest record is, rounded to a whole number."""

    def fit(self, X: Any, y: Any = None) -> Leaky:
        super().fit(X)
        self.longest_ = float(np.rint(np.linalg.norm(X, axis=1).max()))
        return self


class Restless(SufficientStatisticsRegressor):
    """Releases once more where records are long."""

    def fit(self, X: Any, y: Any) -> Restless:
        super().fit(X, y)
        if np.abs(X).max() > 1:
            PrivatePCA(1, data_norm=1.0, random_state=0).fit(X)
        return self


@pytest.mark.claim("audits-beyond-replay")
def test_planted_leaks_are_named() -> None:
    """Kills a comparison that stops at noised attributes, and one that forgives other releases."""
    rng = stream(0, "replay-leaks", "data")
    X: NDArray[np.float64] = rng.normal(size=(30, 2))
    leaky = Leaky(1, data_norm=1.0, random_state=0)
    assert replay(leaky, (X,), (9 * X,)) == ("attribute longest_",)
    assert differing(leaky, (X,), (9 * X,)) == 1
    quiet = (0.1 * X / np.abs(X).max(), X[:, 0])
    model = Restless(data_norm=1.0, bounds=(-1.0, 1.0), random_state=0)
    assert replay(model, quiet, quiet) == ()
    for one, other in ((quiet, (9 * X, X[:, 0])), ((9 * X, X[:, 0]), quiet)):
        with pytest.raises(ReplayError, match="as often, and in the same shapes"):
            replay(model, one, other)
    random_projection = clone(ESTIMATORS["RandomProjectionRegressor"].release)
    with pytest.raises(ReplayError, match="released nothing"):
        replay(random_projection.set_params(random_state=0), quiet, quiet)
