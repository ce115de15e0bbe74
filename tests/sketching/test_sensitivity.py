"""Sensitivities: enumeration of data sets against the formulas of sums and of the three maps."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dplit.audit import search_neighbours
from dplit.features import complex_features, quantized_features
from dplit.sketching import sensitivity
from dplit.streams import stream
from dplit_studies.sketching.tables import opposite_pair

Array = NDArray[Any]


def frequencies(d: int, m: int) -> Array:
    return stream(0, "test-sensitivity", "public").standard_normal((d, m))


@pytest.mark.claim("sketch-def13")
@pytest.mark.claim("sketch-def16")
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_norms_are_those_of_the_real_vector(m: int, seed: int) -> None:
    """Kills the sum of moduli for norm 1, a missing imaginary part, factors 0.5 and 1.05."""
    parts = np.random.default_rng(seed).standard_normal((2, 4, m))
    z = parts[0] + 1j * parts[1]
    flat = np.concatenate([z.real, z.imag], axis=1)
    for norm in (1, 2):
        expected = np.linalg.norm(flat, ord=norm, axis=1)
        np.testing.assert_allclose(sensitivity.real_norm(z, norm=norm), expected, rtol=1e-12)


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
        found = sensitivity.enumerated_sensitivity(
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
    found = sensitivity.enumerated_sensitivity(
        lambda rows: complex_features(rows, omega, normalize=False).sum(axis=0),
        domain, n_records=3, norm=norm, neighboring=neighboring,
    )  # fmt: skip
    features = complex_features(domain, omega, normalize=False)
    value = sensitivity.sum_sensitivity(features, norm=norm, neighboring=neighboring)
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
    reached = sensitivity.sum_sensitivity(features, norm=norm, neighboring=neighboring)
    claimed = sensitivity.sketch_sensitivity(kind, omega, norm=norm, neighboring=neighboring)
    assert reached == pytest.approx(claimed, rel=1e-12)


@pytest.mark.claim("sketch-lem7")
@pytest.mark.claim("sketch-lem11")
def test_one_bit_features_attain_both_norms_everywhere() -> None:
    rng = stream(0, "test-one-bit", "data")
    X, omega, dither = rng.normal(size=(200, 3)), rng.normal(size=(3, 17)), rng.uniform(0, 6, 17)
    features = quantized_features(X, omega, dither)
    for norm in (1, 2):
        claimed = sensitivity.sketch_sensitivity("quantized", omega, norm=norm)
        np.testing.assert_allclose(sensitivity.real_norm(features, norm=norm), claimed, rtol=1e-12)


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
    reached = sensitivity.sum_sensitivity(apart, norm=norm, neighboring="replace_one")
    assert reached == pytest.approx(corrected, rel=1e-6)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize("norm", [1, 2])
def test_a_search_over_data_sets_never_exceeds_the_calibration(neighboring: Any, norm: Any) -> None:
    """Two hundred steps from ten starts, quadratic features of clipped records."""
    omega = frequencies(3, 7)
    found = search_neighbours(
        lambda rows: ((rows @ omega) ** 2).sum(axis=0),
        lambda count, rng: rng.standard_normal((count, 3)),
        n_records=3, neighboring=neighboring, norm=norm,
        claimed=sensitivity.sketch_sensitivity(
            "quadratic", omega, norm=norm, neighboring=neighboring
        ),
        project=lambda rows: rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0),
        rng=stream(0, "test-search", "data"),
    )  # fmt: skip
    assert 0.6 < found.ratio <= 1 + 1e-9


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sensitivity.real_norm([1.0], norm=3), ValueError, "norm must be 1 or 2"),  # type: ignore[arg-type]
        (lambda: sensitivity.real_norm([np.nan], norm=1), ValueError, "must be finite"),
        (
            lambda: sensitivity.sum_sensitivity([1.0, 2.0], norm=1),
            ValueError,
            "features must have 2 axes",
        ),
        (
            lambda: sensitivity.sketch_sensitivity("cosine", np.eye(2), norm=1),  # type: ignore[arg-type]
            ValueError,
            "kind must be one of",
        ),
        (
            lambda: sensitivity.sketch_sensitivity(
                "fourier",
                np.eye(2),
                norm=1,
                neighboring="swap",  # type: ignore[arg-type]
            ),
            ValueError,
            "neighboring must be one of",
        ),
        (
            lambda: sensitivity.enumerated_sensitivity(
                np.sum, np.arange(50.0), n_records=9, norm=1, neighboring="add_remove"
            ),
            ValueError,
            "n_records must leave",
        ),
        (
            lambda: sensitivity.enumerated_sensitivity(
                np.sum, [0.0, 1.0], n_records=1, norm=1, neighboring="add_remove"
            ),
            ValueError,
            "n_records must be at least 2",
        ),
    ],
)
def test_bad_arguments_are_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
