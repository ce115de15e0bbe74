"""Subsampled quadratic features: corrected distances, exact epsilon, when Lemma 20 is sharp."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dplit.features import orthonormal_blocks
from dplit.mechanisms import gaussian_delta, gaussian_sigma
from dplit.papers.sketching.masks import mask_law, mask_support
from dplit.papers.sketching.quadratic import replace_l1_exact
from dplit.papers.sketching.quadratic_spending import lemma20_ratio
from dplit.papers.sketching.subsampled_laplace import enumerated_epsilon, record_epsilon
from dplit.papers.sketching.subsampled_quadratic import (
    _masked_operators,
    masked_quartic,
    quadratic_q1,
    quadratic_q2,
    replaced_loss,
)
from dplit.streams import stream
from dplit_studies.sketching.searches import lemma20_spending, quadratic_epsilon, replace_search
from tests.sketching.shared import circle, gaussian


@pytest.mark.claim("sketch-lem19")
@pytest.mark.claim("sketch-lem20")
def test_added_records_reach_the_largest_eigenvalue():
    """d = 2: the largest of Q over 20,001 directions and all masks, against the eigenvalues."""
    frequencies, law = gaussian(2, 5), mask_law("uniform", 5, n_kept=3)
    masks, _ = mask_support(law)
    scan = ((circle(20_001) @ frequencies) ** 2 @ masks.T).max() / law.alpha
    exact = quadratic_q1(frequencies, law)
    assert exact * (1 - 1e-7) <= scan <= exact * (1 + 1e-12)
    spectra = np.linalg.eigvalsh(_masked_operators(frequencies, law)[0])[:, ::-1]
    np.testing.assert_allclose(spectra.sum(axis=1), masks @ np.sum(frequencies**2, axis=0))


@pytest.mark.claim("sketch-lem19")
@pytest.mark.claim("sketch-lem21")
def test_replaced_records_exceed_the_print_and_respect_the_correction():
    law = mask_law("uniform", 6, n_kept=4)
    for trial in range(5):
        frequencies = gaussian(3, 6, trial)
        masks, _ = mask_support(law)
        exact = max(replace_l1_exact(frequencies[:, mask]) for mask in masks) / law.alpha
        printed = quadratic_q1(frequencies, law, neighboring="replace_one", as_printed=True)
        safe = quadratic_q1(frequencies, law, neighboring="replace_one")
        assert printed == quadratic_q1(frequencies, law)
        assert printed * (1 - 1e-12) <= exact <= safe * (1 + 1e-12)
        assert safe <= 2 * printed * (1 + 1e-12)


@pytest.mark.claim("sketch-lem21")
@pytest.mark.claim("sketch-lem22")
@pytest.mark.parametrize("kept", [3, 6, 12])
def test_structured_masks_of_orthonormal_blocks(kept):
    """Q is m/d for every unit record and mask; for r = d replaced records reach 2m/d."""
    blocks = orthonormal_blocks(3, 12, rng=stream(0, "test-lem21", "public"))
    law = mask_law("block", 12, n_kept=kept, block=3)
    x = stream(0, "test-lem21", "data").standard_normal((40, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    masks, _ = mask_support(law)
    np.testing.assert_allclose((x @ blocks) ** 2 @ masks.T / law.alpha, 4.0, rtol=1e-12)
    assert quadratic_q1(blocks, law) == pytest.approx(4.0, rel=1e-12)
    safe = quadratic_q1(blocks, law, neighboring="replace_one")
    assert safe == pytest.approx(8.0, rel=1e-12)
    found = max(
        replace_search(blocks[:, h], norm=1, rng=stream(0, "s", "noise")).value for h in masks
    )
    assert found / law.alpha <= safe * (1 + 1e-12)
    if kept == 3:
        assert found / law.alpha == pytest.approx(8.0, rel=1e-9)
    values = (x @ blocks) ** 2
    for scale in (0.5, 4.0):  # Lemma 22: exact epsilon m / (d b), in both directions
        for direction in ("add", "remove"):
            loss = record_epsilon(values, law, scale=scale, direction=direction)
            np.testing.assert_allclose(loss, 4.0 / scale, rtol=1e-12)
        spent = quadratic_epsilon(blocks, law, scale=scale, rng=stream(0, "s", "noise"))
        assert spent.lower == pytest.approx(4.0 / scale, rel=1e-12)


@pytest.mark.claim("sketch-lem19")
@pytest.mark.claim("sketch-lem21")
def test_the_printed_noise_leaks_twice_its_claim_when_a_record_is_replaced():
    """Two equal bases, one of them kept: the density ratio at an actual release is e^2."""
    twice, law = np.hstack([np.eye(2), np.eye(2)]), mask_law("block", 4, n_kept=2, block=2)
    printed = quadratic_q1(twice, law, neighboring="replace_one", as_printed=True)
    loss = replaced_loss(twice, law, [1.0, 0.0], [0.0, 1.0], scale=printed / 1.0)
    assert loss == pytest.approx(2.0, rel=1e-12)
    safe = quadratic_q1(twice, law, neighboring="replace_one")
    assert replaced_loss(twice, law, [1, 0], [0, 1], scale=safe / 1.0) == pytest.approx(1.0)


@pytest.mark.claim("sketch-lem20")
def test_exact_epsilon_against_a_scan_of_the_circle():
    for kept in (1, 2, 3, 5):
        frequencies, law = gaussian(2, 6), mask_law("uniform", 6, n_kept=kept)
        scale = quadratic_q1(frequencies, law)  # Lemma 20 says epsilon = 1
        found = quadratic_epsilon(frequencies, law, scale=scale, rng=stream(0, "q", "noise"))
        features = (circle(4001) @ frequencies) ** 2
        scan = record_epsilon(features, law, scale=scale).max()
        assert scan <= found.lower + 1e-12
        assert found.lower == pytest.approx(scan, rel=1e-5)
        assert np.linalg.norm(found.x) == pytest.approx(1.0)
        plain = np.linalg.norm(frequencies, 2) ** 2 / scale
        assert plain <= found.lower <= found.upper <= 1.0
        one = enumerated_epsilon((found.x @ frequencies)[None] ** 2, law, scale=scale)[0]
        assert found.lower == pytest.approx(one, rel=1e-12)
        operators = _masked_operators(frequencies, law)[0]
        norms = np.linalg.eigvalsh(operators)[:, -1] / (law.alpha * scale)
        assert found.upper == pytest.approx(math.log(np.mean(np.exp(norms))), rel=1e-12)


@pytest.mark.claim("sketch-beyond-lem20")
def test_the_ratio_decides_sharpness():
    """Sharp for block masks of bases and for parallel frequencies, not for Gaussian ones."""
    blocks = orthonormal_blocks(2, 6, rng=stream(0, "test-l20", "public"))
    law = mask_law("block", 6, n_kept=4, block=2)
    assert lemma20_ratio(blocks, law) == pytest.approx(1.0, rel=1e-12)
    parallel = np.outer([3.0, 4.0], [1, -1, 1, 1])
    uniform = mask_law("uniform", 4, n_kept=2)
    assert lemma20_ratio(parallel, uniform) == pytest.approx(1.0, rel=1e-12)
    scale = quadratic_q1(parallel, uniform)
    spent = quadratic_epsilon(parallel, uniform, scale=scale, rng=stream(0, "q", "noise"))
    assert spent.lower == pytest.approx(1.0, rel=1e-12)
    assert lemma20_ratio(np.eye(4), mask_law("uniform", 4, n_kept=1)) == pytest.approx(4.0)
    assert lemma20_ratio(np.eye(2), mask_law("data", 2, alpha=0.25)) == pytest.approx(4.0)
    for trial in range(5):
        frequencies = gaussian(2, 6, trial)
        law = mask_law("uniform", 6, n_kept=3)
        ratio = lemma20_ratio(frequencies, law)
        direct = quadratic_q1(frequencies, law) / np.linalg.norm(frequencies, 2) ** 2
        assert ratio == pytest.approx(direct, rel=1e-12)
        assert ratio > 1 + 1e-3
        scale = quadratic_q1(frequencies, law)
        found = quadratic_epsilon(frequencies, law, scale=scale, rng=stream(0, "q", "noise"))
        assert 1 / ratio <= found.lower < 1 - 1e-4


@pytest.mark.claim("sketch-lem20")
@pytest.mark.claim("sketch-beyond-lem20")
def test_spending_collects_what_the_functions_say():
    frequencies = gaussian(2, 6)
    laws = [mask_law("uniform", 6, n_kept=r) for r in (2, 5)]
    found = lemma20_spending(frequencies, laws, rng=stream(0, "q", "noise"))
    for i, law in enumerate(laws):
        scale = quadratic_q1(frequencies, law)
        one = quadratic_epsilon(frequencies, law, scale=scale, rng=stream(1, "q", "noise"))
        assert found.exact[i] == pytest.approx(one.lower, rel=1e-9)
        assert found.finer[i] == pytest.approx(one.upper, rel=1e-12)
        assert found.plain[i] == pytest.approx(1 / lemma20_ratio(frequencies, law), rel=1e-12)


@pytest.mark.claim("sketch-lem25")
def test_quartic_bounds_with_masks():
    law = mask_law("uniform", 6, n_kept=4)
    for trial in range(3):
        frequencies = gaussian(3, 6, trial)
        above = masked_quartic(frequencies, law)
        below = masked_quartic(frequencies, law, rng=stream(0, "test-s4", "noise"))
        assert np.all(below <= above * (1 + 1e-9))
        assert np.all(above <= below * 1.06)
        added = quadratic_q2(frequencies, law)
        assert added == pytest.approx(above.max() / law.alpha, rel=1e-12)
        printed = quadratic_q2(frequencies, law, neighboring="replace_one", as_printed=True)
        safe = quadratic_q2(frequencies, law, neighboring="replace_one")
        assert (printed, safe) == (added, pytest.approx(math.sqrt(2.0) * added, rel=1e-14))
        masks, _ = mask_support(law)
        rng = stream(0, "test-q2", "noise")
        found = max(replace_search(frequencies[:, h], norm=2, rng=rng).value for h in masks)
        assert found / law.alpha <= safe * (1 + 1e-9)


@pytest.mark.claim("sketch-lem25")
def test_one_basis_attains_the_root_of_two():
    law = mask_law("block", 2, n_kept=2, block=2)
    assert quadratic_q2(np.eye(2), law) == pytest.approx(1.0, rel=1e-9)
    distance = np.linalg.norm(np.eye(2)[0] ** 2 - np.eye(2)[1] ** 2)
    safe = quadratic_q2(np.eye(2), law, neighboring="replace_one")
    assert safe == pytest.approx(distance, rel=1e-9)
    sigma = gaussian_sigma(epsilon=1.0, delta=1e-5, sensitivity=quadratic_q2(np.eye(2), law))
    assert gaussian_delta(epsilon=1.0, sigma=sigma, sensitivity=distance) > 79e-5


def test_masks_without_features_move_nothing():
    law = mask_law("data", 3, alpha=0.5)
    values = masked_quartic(gaussian(2, 3), law)
    assert values[0] == 0.0
    assert values[1] > 0
