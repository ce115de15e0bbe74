"""Secure noise: the law of what OpenDP draws, the loss it certifies, and what is refused.

OpenDP takes the operating system's entropy: these random tests have no seed, so each is run at a
false-alarm probability of 1e-9.
"""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dplit.mechanisms import secure
from tests.mechanisms.laws import two_sided

pytest.importorskip("opendp")

LEVEL = 1e-9
SIZE = 4000


def test_gaussian_noise_has_its_scale_and_shape() -> None:
    """False alarm 2e-9.  Kills variance for sigma, sigma x 0.9 (power 0.999), Laplace noise."""
    center = np.arange(SIZE, dtype=float).reshape(2, -1)
    release = secure.secure_gaussian(center, sigma=3.0, sensitivity=1.0)
    assert release.values.shape == center.shape
    noise = ((release.values - center) / 3.0).ravel()
    assert two_sided(stats.chi2(SIZE), float((noise**2).sum())) > LEVEL
    assert stats.kstest(noise, stats.norm.cdf).pvalue > LEVEL


def test_laplace_noise_has_its_scale_and_shape() -> None:
    """False alarm 2e-9.  Kills standard deviation for scale, b x 0.85, Gaussian noise."""
    center = np.linspace(-1, 1, SIZE)
    release = secure.secure_laplace(center, scale=0.25, sensitivity=1.0)
    noise = (release.values - center) / 0.25
    assert two_sided(stats.gamma(SIZE), float(np.abs(noise).sum())) > LEVEL
    assert stats.kstest(noise, stats.laplace.cdf).pvalue > LEVEL


@pytest.mark.parametrize("sensitivity", [0.5, 1.0, 3.0])
def test_loss_is_never_below_the_formula_and_agrees_with_it(sensitivity: float) -> None:
    gaussian = secure.secure_gaussian([0.0], sigma=2.0, sensitivity=sensitivity)
    rho = (sensitivity / 2.0) ** 2 / 2.0
    assert gaussian.measure == "rho"
    assert rho <= gaussian.loss <= rho * (1 + 1e-9)
    laplace = secure.secure_laplace([0.0], scale=2.0, sensitivity=sensitivity)
    assert laplace.measure == "epsilon"
    assert sensitivity / 2 <= laplace.loss <= sensitivity / 2 * (1 + 1e-9)


def test_two_releases_differ() -> None:
    """False alarm below 1e-100: 50 coordinates would have to agree."""
    first, second = (
        secure.secure_gaussian(np.zeros(50), sigma=1.0, sensitivity=1.0) for _ in range(2)
    )
    assert (first.values != second.values).any()


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1.0, math.nan], ValueError, "values must be finite"),
        ([math.inf], ValueError, "values must be finite"),
        ([], ValueError, "values must not be empty"),
        ([1j], TypeError, "values must be real"),
        (["1"], TypeError, "values must be numeric"),
        ([[1.0], [1.0, 2.0]], ValueError, "values must be a rectangular array"),
    ],
)
def test_bad_values_are_refused(values: Any, error: type[Exception], message: str) -> None:
    for release in (
        lambda: secure.secure_gaussian(values, sigma=1.0, sensitivity=1.0),
        lambda: secure.secure_laplace(values, scale=1.0, sensitivity=1.0),
    ):
        with pytest.raises(error, match=message):
            release()


def test_bad_noise_is_refused() -> None:
    with pytest.raises(ValueError, match="sigma must be positive"):
        secure.secure_gaussian([1.0], sigma=0.0, sensitivity=1.0)
    with pytest.raises(ValueError, match="scale must be positive"):
        secure.secure_laplace([1.0], scale=-1.0, sensitivity=1.0)
    with pytest.raises(ValueError, match="sensitivity must be positive"):
        secure.secure_laplace([1.0], scale=1.0, sensitivity=0.0)


def test_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ImportError, match=r"pip install 'dplit\[secure\]'"):
        secure.secure_gaussian([1.0], sigma=1.0, sensitivity=1.0)


def test_optional_libraries_are_imported_on_first_use_only() -> None:
    code = (
        "import sys, dplit.mechanisms.secure, dplit.accounting.conversions;"
        "sys.exit(any(name.split('.')[0] in ('opendp', 'dp_accounting') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
