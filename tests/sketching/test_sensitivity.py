"""Sensitivities: enumeration of data sets against the formulas of sums and of the three maps."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dplit.features import complex_features, quantized_features
from dplit.papers.sketching import enumeration
from dplit.sketching import sensitivity
from dplit.streams import stream
from dplit_studies.sketching.sensitivity_table import opposite_pair

Array = NDArray[Any]


def frequencies(d: int, m: int) -> Array:
    return stream(0, "test-sensitivity", "public").standard_normal((d, m))


@pytest.mark.claim("sketch-def13")
@pytest.mark.claim("sketch-def16")
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_norms_are_those_of_the_real_vector(m: int, seed: int) -> None:
    """Kills the sum of moduli for norm 1, a missing imaginary part, another axis, factors 0.5
    and 1.05.
    """
    parts = np.random.default_rng(seed).standard_normal((2, 3, 4, m))
    z = parts[0] + 1j * parts[1]
    flat = np.concatenate([z.real, z.imag], axis=-1)
    for norm in (1, 2):
        expected = np.linalg.norm(flat, ord=norm, axis=-1)
        np.testing.assert_allclose(enumeration.real_norm(z, norm=norm), expected, rtol=1e-12)


@pytest.mark.claim("sketch-def13")
@pytest.mark.claim("sketch-def16")
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_enumeration_is_the_definition_for_a_nonlinear_query(neighboring: Any) -> None:
    """The spread max - min and its double, over all data sets of three values, by hand.

    Kills a missing neighbour, the wrong norm, factors 0.5 and 1.05.
    """
    domain = [0.0, 1.0, 5.0]

    def query(rows: Array) -> Array:
        spread = rows.max() - rows.min()
        return np.array([spread, 2j * spread])

    # two records 0 and 5 have spread 5; one of them alone, or two equal ones, have 0
    for norm, expected in ((1, 15.0), (2, 5.0 * np.sqrt(5.0))):
        found = enumeration.enumerated_sensitivity(
            query, domain, n_records=2, norm=norm, neighboring=neighboring
        )
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.claim("sketch-lem5")
@pytest.mark.claim("sketch-def13")
@pytest.mark.claim("sketch-def16")
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_sum_of_features_has_the_sensitivity_of_one_record(norm: Any, neighboring: Any) -> None:
    """All data sets of three records out of four: kills a wrong pair, factors 0.5 and 1.05."""
    rng = stream(0, "test-lemma5", "data")
    domain, omega = rng.standard_normal((4, 2)), rng.standard_normal((2, 3))
    found = enumeration.enumerated_sensitivity(
        lambda rows: complex_features(rows, omega, normalize=False).sum(axis=0),
        domain,
        n_records=3,
        norm=norm,
        neighboring=neighboring,
    )
    features = complex_features(domain, omega, normalize=False)
    value = enumeration.sum_sensitivity(features, norm=norm, neighboring=neighboring)
    assert value == pytest.approx(found, rel=1e-12)
    by_hand = [
        np.abs(np.concatenate([(f - g).real, (f - g).imag]))
        for f, g in product(features, features if neighboring == "replace_one" else [0j])
    ]
    expected = max(np.linalg.norm(row, ord=norm) for row in by_hand)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.claim("sketch-lem7")
@pytest.mark.claim("sketch-lem11")
@pytest.mark.claim("sketch-lem12")
@pytest.mark.claim("sketch-tab1")
@pytest.mark.parametrize("kind", ["fourier", "quantized"])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_fourier_sensitivities_are_attained(kind: Any, norm: Any, neighboring: Any) -> None:
    """Kills every factor other than sqrt(2) m, sqrt(m) and twice that."""
    omega = frequencies(5, 5)
    pair = opposite_pair(omega)
    if kind == "fourier":
        features = complex_features(pair, omega, normalize=False)
    else:
        features = quantized_features(pair, omega, np.zeros(5))
    reached = enumeration.sum_sensitivity(features, norm=norm, neighboring=neighboring)
    claimed = sensitivity.sketch_sensitivity(kind, omega, norm=norm, neighboring=neighboring)
    assert reached == pytest.approx(claimed, rel=1e-12)


@pytest.mark.claim("sketch-tab1")
@pytest.mark.parametrize("norm", [1, 2])
def test_quadratic_replacements_are_corrected_and_printed_on_request(norm: Any) -> None:
    omega = np.eye(3)
    printed, corrected = (
        sensitivity.sketch_sensitivity(
            "quadratic", omega, norm=norm, neighboring="replace_one", as_printed=p
        )
        for p in (True, False)
    )
    assert printed == pytest.approx(1.0, rel=1e-6)
    assert corrected == pytest.approx(2.0 ** (1 / norm), rel=1e-6)
    apart = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]) ** 2
    reached = enumeration.sum_sensitivity(apart, norm=norm, neighboring="replace_one")
    assert reached == pytest.approx(corrected, rel=1e-6)
