"""Who says that the noise is exact releases whole multiples of public steps, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dplit.audit import ledger
from dplit.mechanisms import values
from dplit_studies.audits.cases import ESTIMATORS
from dplit_studies.audits.replays import unrelated
from tests.audit.test_replays import EXACT

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
_ADDED = ("gaussian", "laplace", "gamma_norm", "k_norm")


def is_on_grid(noise: Any, unit: Any, released: Any) -> bool:
    """Whether numbers are ``unit step k``, up to one rounding of the product with a unit."""
    parts = np.ascontiguousarray(released).reshape(-1)
    parts = parts.view(float) if parts.dtype.kind == "c" else parts
    scale = noise._scale() / Fraction(unit)
    steps = np.ldexp(parts / float(unit), -values._exponent(scale, noise._spread(parts.size)))
    room = 0.0 if unit == 1 else 2.0**-50 * np.abs(steps)
    return bool((np.abs(steps - np.rint(steps)) <= room).all())


def released_by(model: Any, data: tuple[Any, ...], patch: pytest.MonkeyPatch) -> list[bool]:
    """Fit a model, and say of each release whether it is on its grid."""
    told: list[bool] = []

    def watched(plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, value: Any, **facts: Any) -> Any:
            found = plain(self, value, **facts)
            told.append(is_on_grid(self, facts.get("unit", 1), found))
            return found

        return call

    def repeated(plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, shape: Any, **facts: Any) -> Any:
            add = plain(self, shape, **facts)

            def one(value: Any) -> Any:
                found = add(value)
                told.append(is_on_grid(self, 1, found))
                return found

            return one

        return call

    for law in (values._Noise, values.Gaussian):
        for name, wrap in (("add", watched), ("add_symmetric", watched)):
            if name in vars(law):
                patch.setattr(law, name, wrap(getattr(law, name)))
    patch.setattr(values._Independent, "repeatedly", repeated(values._Independent.repeatedly))
    with ledger() as book:
        model.fit(*data)
    draws = sum(draw.steps for draw in book if draw.mechanism in _ADDED)
    assert len(told) == draws, "a draw that the ledger heard was released by another way"
    return told


@pytest.mark.parametrize("name", EXACT)
def test_every_release_of_an_exact_estimator_is_on_its_grid(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills noise that is added somewhere else, and a statement that says exact of floats."""
    model = clone(ESTIMATORS[name].release)
    told = released_by(model, unrelated(name)[0], monkeypatch)
    assert told
    assert all(told)
    assert "exact to the last bit" in model.privacy_statement_


def test_planted_float_noise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same law, of NumPy: the right deviation, and off every grid."""

    def floats(self: Any, value: Any, **_: Any) -> Any:
        rng = np.random.default_rng(0)
        return np.asarray(value) + rng.normal(scale=float(self.sigma), size=np.shape(value))

    rng = np.random.default_rng(0)
    noise = values.Gaussian(1.0)
    assert not is_on_grid(noise, 1, floats(noise, rng.normal(size=100)))
    assert is_on_grid(noise, 1, noise.add(rng.normal(size=100), hides="", sensitivity=1.0))
    random_projection = clone(ESTIMATORS["RandomProjectionRegressor"].release)
    random_projection.fit(*unrelated("RandomProjectionRegressor")[0])
    assert "floating-point noise, for research" in random_projection.privacy_statement_
    assert "exact" not in random_projection.privacy_statement_
