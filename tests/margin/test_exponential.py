"""Three exact samplers against the enumerated law; Algorithm 1 end to end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dplit.margin import covers, exponential
from dplit.margin import exponential as circle
from dplit.mechanisms import exponential_mechanism
from dplit.streams import stream

COVER = {"radius": 2.0, "covering_radius": 0.1}
MERGE = 5.0  # expected count below which levels are merged


def _sample(m=60, flips=0.1, name="exponential"):
    rng = stream(0, name, "data")
    X = rng.standard_normal((m, 2))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    y = np.where(X @ [1.0, 0.4] > 0, 1, -1) * np.where(rng.random(m) < flips, -1, 1)
    return X, y


def _levels_agree(counts, law, drawn):
    """Chi-square p-value of drawn error counts against the law of the levels."""
    levels, place = np.unique(counts, return_inverse=True)
    expected = np.bincount(place, weights=law) * len(drawn)
    seen = np.bincount(np.searchsorted(levels, drawn), minlength=len(levels)).astype(float)
    order = np.argsort(-expected)
    expected, seen = expected[order], seen[order]
    big = expected >= MERGE
    expected = np.append(expected[big], expected[~big].sum())
    seen = np.append(seen[big], seen[~big].sum())
    if expected[-1] < 1e-9:
        expected, seen = expected[:-1], seen[:-1]
    return chisquare(seen, expected * seen.sum() / expected.sum()).pvalue


@pytest.mark.claim("margin-alg1")
def test_error_counts_by_loops():
    X, y = _sample(9)
    W = np.array([[1.0, 0.4], [0.0, 0.0], [-1.0, -0.4]])
    slow = [sum(int(b * (w @ x) <= 0) for x, b in zip(X, y, strict=True)) for w in W]
    np.testing.assert_array_equal(exponential.error_counts(W, X, y), slow)
    assert slow[1] == 9


@pytest.mark.claim("margin-alg1")
def test_law_by_hand():
    """Kills epsilon instead of epsilon / 2."""
    law = exponential.cover_law([0.0, 3.0, 1.0], epsilon=0.8)
    raw = np.exp([-0.0, -1.2, -0.4])
    np.testing.assert_allclose(law, raw / raw.sum(), rtol=1e-12)


@pytest.mark.claim("margin-alg1")
def test_streaming_sampler_has_the_enumerated_law():
    """20,000 draws, chi-square, false alarm 1e-4. Kills epsilon for epsilon / 2."""
    X, y = _sample()
    cover = covers.ball_cover(2, **COVER)
    counts = exponential.error_counts(cover, X, y)
    law = exponential.cover_law(counts, epsilon=0.5)
    rng = stream(0, "streaming", "noise")
    options = {"epsilon": 0.5, "sensitivity": 1.0, "better": "lower", "rng": rng}
    drawn = counts[[exponential_mechanism(counts, **options) for _ in range(20_000)]]
    assert _levels_agree(counts, law, drawn) > 1e-4


@pytest.mark.claim("margin-alg1")
def test_stream_of_blocks_chooses_what_one_array_chooses():
    """Same generator, same choice: the blocks change nothing."""
    X, y = _sample()
    counts = exponential.error_counts(covers.ball_cover(2, **COVER), X, y)
    for trial in range(5):
        rngs = [stream(0, "blocks", "noise", trial) for _ in range(2)]
        blocks = covers._lattice_blocks(2, block_size=50, **COVER)
        one = exponential._streaming_choice(blocks, X, y, epsilon=1.0, rng=rngs[0])
        options = {"epsilon": 1.0, "sensitivity": 1.0, "better": "lower", "rng": rngs[1]}
        assert one == exponential_mechanism(list(counts), **options)


@pytest.mark.claim("margin-alg1")
def test_rejection_has_the_enumerated_law():
    """50,000 draws, chi-square, false alarm 1e-4. Kills a lost radial step or exponent."""
    X, y = _sample()
    cover = covers.ball_cover(2, **COVER)
    counts = exponential.error_counts(cover, X, y)
    law = exponential.cover_law(counts, epsilon=0.5)
    draws = exponential.rejection_draws(
        X, y, epsilon=0.5, n_draws=50_000, rng=stream(0, "rejection", "noise"), **COVER
    )
    assert draws.shape == (50_000, 2)
    assert np.all(np.linalg.norm(draws, axis=1) <= 2 + 1e-12)
    assert _levels_agree(counts, law, exponential.error_counts(draws, X, y)) > 1e-4
    nearest = np.abs(draws[:20, None] - cover).sum(2).min(1)
    assert nearest.max() < 1e-12


@pytest.mark.claim("margin-alg1")
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_arcs_against_an_angular_grid(epsilon):
    """The law of 120 arcs against midpoints of 200,000 angles."""
    X, y = _sample()
    arcs = circle.constant_arcs(X, y)
    assert len(arcs.start) == 120
    assert arcs.length.sum() == pytest.approx(2 * np.pi, rel=1e-12)
    mean = circle.arc_law(arcs, epsilon=epsilon) @ arcs.errors
    angles = (np.arange(200_000) + 0.5) * 2 * np.pi / 200_000
    grid = exponential.error_counts(np.column_stack([np.cos(angles), np.sin(angles)]), X, y)
    law = exponential.cover_law(grid, epsilon=epsilon)
    assert mean == pytest.approx(law @ grid, rel=2e-3)
    middles = arcs.start + arcs.length / 2
    at = exponential.error_counts(np.column_stack([np.cos(middles), np.sin(middles)]), X, y)
    np.testing.assert_array_equal(at, arcs.errors)


@pytest.mark.claim("margin-alg1")
def test_arc_draws_have_the_arc_law():
    """50,000 draws, chi-square on levels, false alarm 1e-4."""
    X, y = _sample()
    arcs = circle.constant_arcs(X, y)
    law = circle.arc_law(arcs, epsilon=0.5)
    angles = circle.arc_draws(
        arcs, epsilon=0.5, n_draws=50_000, rng=stream(0, "arc-draws", "noise")
    )
    drawn = exponential.error_counts(np.column_stack([np.cos(angles), np.sin(angles)]), X, y)
    assert _levels_agree(arcs.errors, law, drawn) > 1e-4
    assert 0 <= angles.min() <= angles.max() < 2 * np.pi


@pytest.mark.claim("margin-beyond-gibbs")
def test_log_ratio_on_the_circle_against_a_grid():
    """One record replaced: densities on 100,000 angles; never above epsilon."""
    X, y = _sample(20)
    Z, z = X.copy(), y.copy()
    Z[3], z[3] = [0.2, -0.7], 1
    ratio = circle.arc_log_ratio(
        circle.constant_arcs(X, y), circle.constant_arcs(Z, z), epsilon=1.5
    )
    angles = (np.arange(100_000) + 0.5) * 2 * np.pi / 100_000
    W = np.column_stack([np.cos(angles), np.sin(angles)])
    p = exponential.cover_law(exponential.error_counts(W, X, y), epsilon=1.5)
    q = exponential.cover_law(exponential.error_counts(W, Z, z), epsilon=1.5)
    assert ratio == pytest.approx(np.max(np.abs(np.log(p / q))), rel=1e-3)
    assert ratio <= 1.5


def test_arcs_with_zero_and_repeated_records():
    arcs = circle.constant_arcs([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]], [1, 1, 1])
    law = circle.arc_law(arcs, epsilon=1.0)
    assert set(arcs.errors[law > 0]) == {1.0, 3.0}
    assert law @ arcs.errors == pytest.approx((1 + 3 * np.exp(-1)) / (1 + np.exp(-1)))
    all_zero = circle.constant_arcs([[0.0, 0.0]], [1])
    assert all_zero.errors.tolist() == [1.0]
    assert circle.arc_law(all_zero, epsilon=1.0).tolist() == [1.0]


@pytest.mark.claim("margin-alg1")
def test_algorithm_1_end_to_end():
    """d = 40, k = 2: the output is Phi^T times a point of the cover, and classifies well."""
    rng = stream(0, "alg1", "data")
    y = 2 * rng.integers(0, 2, 150) - 1
    X = np.zeros((150, 40))
    X[:, 0], X[:, 1:] = 0.98 * y, 0.03 * rng.standard_normal((150, 39))
    options = {"epsilon": 2.0, "margin": 0.9, "beta": 0.05, "data_norm": 1.0}
    result = exponential._margin_selection(
        X, y, n_components=2, public_rng=stream(0, "alg1", "public"), rng=rng, **options
    )
    assert result.projection.shape == (2, 40)
    assert np.all(np.abs(result.projection) == pytest.approx(1 / np.sqrt(2)))
    weights = np.linalg.lstsq(result.projection.T, result.coef, rcond=None)[0]
    cover = covers.ball_cover(2, radius=2.0, covering_radius=0.09)
    assert np.abs(cover - weights).sum(1).min() < 1e-9
    assert np.mean(y * (X @ result.coef) <= 0) < 0.2


@pytest.mark.claim("margin-alg1")
def test_algorithm_1_has_the_enumerated_law():
    """2000 runs of the public function at d = k = 2, chi-square, false alarm 1e-4.

    Kills a wrong budget, radius or ball inside it: its points are those of the enumerated cover.
    """
    X, y = _sample(40, name="end-to-end")
    cover = covers.ball_cover(2, radius=2.0, covering_radius=0.2)
    counts = exponential.error_counts(cover, X, y)
    law = exponential.cover_law(counts, epsilon=0.4)
    options = {"epsilon": 0.4, "margin": 2.0, "beta": 0.1, "data_norm": 1.0, "weight_norm": 2.0}
    small = covers.ball_cover(2, radius=4.0, covering_radius=0.2)
    wide = exponential.error_counts(small, X, y)
    wide_law = exponential.cover_law(wide, epsilon=0.4)
    rng, public = stream(0, "end-to-end", "noise"), stream(0, "end-to-end", "public")
    coefs = np.array(
        [
            exponential._margin_selection(X, y, rng=rng, public_rng=public, **options).coef
            for _ in range(2000)
        ]
    )
    assert np.linalg.norm(coefs, axis=1).max() > 2.5  # the ball has radius 2 Lambda = 4
    nearest = np.abs(coefs[:50, None] - small).sum(2).min(1)
    assert nearest.max() < 1e-12
    assert _levels_agree(wide, wide_law, exponential.error_counts(coefs, X, y)) > 1e-4
    assert abs(law @ counts - wide_law @ wide) < 0.1 * (law @ counts)  # scale does not matter


@pytest.mark.claim("margin-alg1")
@pytest.mark.parametrize("k", [1, 3, 4])
def test_rejection_in_other_dimensions(k):
    """10,000 draws against the enumerated law, repeated points included; false alarm 1e-4 each."""
    rng = stream(0, f"rejection-{k}", "data")
    X = rng.standard_normal((15, k))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(15) > 0, 1, -1)
    shape = {"radius": 1.0, "covering_radius": 0.5}
    counts = exponential.error_counts(covers.ball_cover(k, **shape), X, y)
    law = exponential.cover_law(counts, epsilon=0.8)
    draws = exponential.rejection_draws(
        X, y, epsilon=0.8, n_draws=10_000, rng=stream(0, f"rejection-{k}", "noise"), **shape
    )
    assert _levels_agree(counts, law, exponential.error_counts(draws, X, y)) > 1e-4


@pytest.mark.claim("margin-alg1")
@given(
    angles=st.lists(st.floats(0, 6.28), min_size=1, max_size=12),
    signs=st.integers(0, 2**12 - 1),
)
def test_arcs_count_errors_at_their_middles(angles, signs):
    """Any records, repeated and opposite ones too: every arc of some length has its count."""
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    y = np.array([1 if signs >> i & 1 else -1 for i in range(len(angles))])
    arcs = circle.constant_arcs(X, y)
    assert arcs.length.sum() == pytest.approx(2 * np.pi)
    assert np.all(arcs.length >= 0)
    wide = arcs.length > 1e-6
    middles = (arcs.start + arcs.length / 2)[wide]
    W = np.column_stack([np.cos(middles), np.sin(middles)])
    np.testing.assert_array_equal(exponential.error_counts(W, X, y), arcs.errors[wide])


def test_records_outside_the_ball_are_clipped():
    """A record of length 5 gives the same output as its clipped copy; k above d is the identity."""
    X, y = np.tile([[5.0, 0.0], [0.0, 0.3]], (9, 1)), np.ones(18)
    short = np.tile([[1.0, 0.0], [0.0, 0.3]], (9, 1))
    options = {"epsilon": 1.0, "margin": 0.5, "beta": 0.05, "data_norm": 1.0, "n_components": 7}

    def run(data):
        rng, public_rng = stream(0, "clip", "noise"), stream(0, "clip", "public")
        return exponential._margin_selection(data, y, rng=rng, public_rng=public_rng, **options)

    results = [run(X), run(short)]
    np.testing.assert_array_equal(results[0].coef, results[1].coef)
    np.testing.assert_array_equal(results[0].projection, np.eye(2))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"margin": 1.5}, "margin must be in"),
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"beta": 1.0}, "beta must be in"),
        ({"data_norm": -1.0}, "data_norm must be positive"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"n_components": 60}, "at most 1e9 points"),
        ({"y": [1, 2]}, "y must hold the labels -1 and 1 only"),
        ({"y": [1]}, "y must have 2 entries"),
        ({"X": [[np.nan] * 80, [0.0] * 80]}, "X must be finite"),
    ],
)
def test_bad_input(changes, text):
    options = {"X": np.ones((2, 80)), "y": [1, -1], "epsilon": 1.0, "margin": 5.0, "beta": 0.1}
    options |= {"data_norm": 9.0, "n_components": 2}
    options["public_rng"], options["rng"] = (stream(0, "bad", r) for r in ("public", "noise"))
    if "margin" in changes:
        changes = dict(changes, margin=10.0)
    with pytest.raises(ValueError, match=text):
        exponential._margin_selection(**{**options, **changes})


def test_public_and_private_randomness_are_kept_apart():
    rng = stream(0, "one", "noise")
    with pytest.raises(ValueError, match="rng must not be public_rng"):
        exponential._margin_selection(
            np.ones((9, 2)), np.ones(9), epsilon=1.0, margin=0.5, beta=0.1, data_norm=2.0,
            public_rng=rng, rng=rng,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: circle.constant_arcs([[1.0, 0.0, 0.0]], [1]), "X must have 2 columns"),
        (
            lambda: exponential.error_counts([[1.0]], [[1.0, 0.0]], [1]),
            "W must have 2 columns",
        ),
        (lambda: exponential.cover_law([0.0], epsilon=-1.0), "epsilon must be positive"),
        (
            lambda: exponential.rejection_draws(
                [[1.0]], [1], epsilon=1.0, n_draws=0, rng=np.random.default_rng(0), **COVER
            ),
            "n_draws must be at least 1",
        ),
    ],
)
def test_more_bad_input(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.claim("margin-alg1")
@pytest.mark.filterwarnings("error")
def test_records_of_any_length_count_by_their_direction():
    """Products of records at 1e308 overflow and cancel to NaN, which counts as no error."""
    X, y = np.array([[1e308, -1e308], [5e-324, 0.0], [0.0, 0.0]]), [1, -1, 1]
    W = np.array([[9.0, 1.0], [1.0, 9.0], [-1.0, 0.0]])
    assert exponential.error_counts(W, X, y).tolist() == [2.0, 3.0, 2.0]
