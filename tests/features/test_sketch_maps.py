"""One-bit and quadratic features, orthonormal and Hadamard blocks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.stats import chi2, kstest

from dplit.features import (
    HadamardBlocks,
    complex_features,
    hadamard_blocks,
    orthonormal_blocks,
    quadratic_features,
    quantized_features,
    random_frequencies,
)
from dplit.streams import stream


def _draw(n: int, d: int, m: int, trial: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = stream(0, "test-sketch-maps", "data", trial)
    X = rng.standard_normal((n, d))
    return X, rng.standard_normal((d, m)), rng.uniform(0, 2 * np.pi, m)


@pytest.mark.claim("sketch-def4")
def test_quantized_entries_are_quarter_turns_of_the_phase() -> None:
    """Second route: round the phase of exp(i t) to the middle of its quadrant."""
    X, omega, dither = _draw(200, 3, 17)
    phase = X @ omega + dither
    quadrant = np.floor((phase / (np.pi / 2)) % 4)
    expected = np.exp(1j * (quadrant + 0.5) * np.pi / 2)
    np.testing.assert_allclose(quantized_features(X, omega, dither), expected, atol=1e-12)


def test_sign_of_zero_is_plus_one() -> None:
    """cos = 1 and sin = 0 exactly at the origin without dither."""
    assert quantized_features([[0.0]], [[1.0]], [0.0])[0, 0] == np.sqrt(0.5) * (1 + 1j)


@pytest.mark.claim("sketch-quant")
def test_dither_average_is_a_fourier_feature() -> None:
    """Exact: the phases u = 2 pi (k + 1/2) / K, K even, average the square wave with error O(1/K).

    Kills a missing 2^-1/2, a missing pi / 2 and the conjugate.
    """
    K = 20_000
    dither = 2 * np.pi * (np.arange(K) + 0.5) / K
    for angle in (-2.0, 0.3, 1.7):
        omega = np.full((1, K), angle)
        mean = np.mean(quantized_features([[1.0]], omega, dither) * np.exp(-1j * dither))
        assert abs(mean - 2 * np.sqrt(2) / np.pi * np.exp(1j * angle)) < 1e-3


@pytest.mark.claim("sketch-def6")
def test_quadratic_features_are_forms_of_the_second_moments() -> None:
    X, omega, _ = _draw(50, 4, 11)
    moments = X.T @ X / len(X)
    expected = [omega[:, j] @ moments @ omega[:, j] for j in range(11)]
    np.testing.assert_allclose(quadratic_features(X, omega).mean(axis=0), expected, rtol=1e-12)


@pytest.mark.claim("sketch-def6")
def test_orthonormal_blocks_are_bases_and_a_tight_frame() -> None:
    omega = orthonormal_blocks(5, 20, rng=stream(0, "blocks", "public"))
    for start in range(0, 20, 5):
        block = omega[:, start : start + 5]
        np.testing.assert_allclose(block.T @ block, np.eye(5), atol=1e-13)
    assert np.linalg.norm(omega, 2) ** 2 == pytest.approx(4.0, rel=1e-12)


@pytest.mark.claim("sketch-def6")
def test_blocks_are_haar() -> None:
    """Squared first entries are Beta(1/2, (d-1)/2) and signs fair; false alarm 1e-5 each.

    Kills the Q factor without its signs: LAPACK's Householder makes the first entry negative.
    """
    d, blocks = 4, 4000
    omega = orthonormal_blocks(d, d * blocks, rng=stream(1, "blocks", "public"))
    first = omega[0, ::d]
    assert kstest(first**2, "beta", args=(0.5, (d - 1) / 2)).pvalue > 1e-5
    assert abs(np.mean(first > 0) - 0.5) < 4.5 * 0.5 / np.sqrt(blocks)


def test_longer_draws_begin_with_shorter_ones() -> None:
    short = orthonormal_blocks(3, 6, rng=stream(0, "nested", "public"))
    long = orthonormal_blocks(3, 12, rng=stream(0, "nested", "public"))
    assert np.array_equal(long[:, :6], short)


@pytest.mark.parametrize("d", [1, 3, 4, 6, 16])
def test_hadamard_transform_of_records_is_the_matrix_product(d: int) -> None:
    order = 1 << (d - 1).bit_length()
    blocks = hadamard_blocks(d, 3 * order, rng=stream(0, "hadamard", "public"), gamma=0.3)
    X = stream(0, "hadamard", "data").standard_normal((7, d))
    np.testing.assert_allclose(blocks.transform(X), X @ blocks.matrix, atol=1e-12)


def test_hadamard_matrix_by_its_factors() -> None:
    blocks = hadamard_blocks(4, 8, rng=stream(0, "factors", "public"))
    H = hadamard(4) / 2.0
    dense = [np.diag(s[0]) @ H @ np.diag(s[1]) @ H @ np.diag(s[2]) @ H for s in blocks.signs]
    np.testing.assert_allclose(blocks.matrix, np.hstack(dense), atol=1e-13)


def test_hadamard_blocks_are_a_tight_frame_after_padding() -> None:
    blocks = hadamard_blocks(5, 24, rng=stream(0, "frame", "public"))
    np.testing.assert_allclose(blocks.matrix @ blocks.matrix.T, 3 * np.eye(5), atol=1e-12)
    assert blocks.order == 8
    assert blocks.n_components == 24


def test_radii_follow_the_gaussian_law() -> None:
    """Squared radii over 2 gamma are chi-square of the order; false alarm 1e-5; kills gamma."""
    blocks = hadamard_blocks(6, 8 * 1000, rng=stream(0, "radii", "public"), gamma=0.7)
    assert kstest(blocks.radii**2 / 1.4, chi2(8).cdf).pvalue > 1e-5


def test_structured_kernel_is_near_the_gaussian_kernel() -> None:
    """Mean of 400 blocks within 5 standard errors of 1/sqrt(m); kills a radius without gamma."""
    d, m, gamma = 8, 3200, 0.2
    blocks = hadamard_blocks(d, m, rng=stream(0, "kernel", "public"), gamma=gamma)
    x = np.full((1, d), 0.4)
    value = complex_features(x, blocks.matrix, normalize=False).mean().real
    assert abs(value - np.exp(-gamma * 0.16 * d)) < 5 / np.sqrt(m)
    plain = random_frequencies(d, m, gamma=gamma, rng=stream(1, "kernel", "public"))
    other = complex_features(x, plain, normalize=False).mean().real
    assert abs(value - other) < 5 * np.sqrt(2 / m)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: orthonormal_blocks(4, 6, rng=r), "n_components must be a multiple of"),
        (lambda r: hadamard_blocks(3, 6, rng=r), "multiple of the padded dimension 4"),
        (lambda r: hadamard_blocks(3, 8, rng=r, gamma=-1.0), "gamma must be positive"),
        (lambda r: quantized_features([[1.0]], [[1.0]], [0.0, 1.0]), "one entry per frequency"),
        (lambda r: quantized_features([[np.nan]], [[1.0]], [0.0]), "X must be finite"),
        (lambda r: quantized_features([[1e200]], [[1e200]], [0.0]), "must stay below 1.8e.308"),
        (lambda r: quadratic_features([[1.0]], [[1.0], [2.0]]), "one row per column of X"),
        (lambda r: HadamardBlocks(np.ones((1, 3, 2)), np.ones(2), 2).transform([[1.0]]), "2 col"),
    ],
)
def test_bad_input(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call(np.random.default_rng(0))


def test_complex_input_is_refused() -> None:
    with pytest.raises(TypeError, match="X must be real"):
        quadratic_features([[1j]], [[1.0]])
