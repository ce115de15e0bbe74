"""Feature maps: exact values on both roads, kernels by Hoeffding, sums without the map.

Random tests use fixed seeds; a fresh seed would raise a false alarm with the probability stated.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_transformer_preserve_dtypes
from threadpoolctl import threadpool_limits

from dplit import features
from dplit._numerics import blocks as feature_blocks
from dplit._numerics import trigonometry
from dplit.features import RandomFourierFeatures
from dplit.streams import stream

KINDS = ("phased_cosine", "cos_sin", "complex")
ONE = [[1.0]]


def small() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = stream(0, "test-features", "data")
    return rng.normal(size=(23, 3)), rng.normal(size=(3, 11)), rng.uniform(0, 2 * np.pi, 11)


def naive(kind: str, X: np.ndarray, W: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the unnormalised map as its formula reads."""
    angles = X @ W
    if kind == "phased_cosine":
        return np.cos(angles + b)
    if kind == "cos_sin":
        return np.hstack([np.cos(angles), np.sin(angles)])
    return np.cos(angles) + 1j * np.sin(angles)


def mapped(kind: str, X: Any, W: Any, b: Any, **options: Any) -> np.ndarray:
    if kind == "phased_cosine":
        return features.phased_cosine_features(X, W, b, **options)
    function = features.cos_sin_features if kind == "cos_sin" else features.complex_features
    return function(X, W, **options)


@pytest.fixture(params=[True, False], ids=["tangent", "cosine"])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run a test on the half-angle road and on numpy's cosine, whatever the machine."""
    monkeypatch.setattr(trigonometry, "HALF_TANGENT", request.param)
    return bool(request.param)


# --- cosines ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-8, 1.0, 100.0, 1e6])
def test_fast_cos_against_forty_digits(road: bool, size: float) -> None:
    x = stream(0, "fast-cos", "data").normal(scale=size, size=400)
    with mpmath.workdps(40):
        exact = np.array([float(mpmath.cos(mpmath.mpf(v))) for v in x])
    assert np.abs(trigonometry.fast_cos(x) - exact).max() < 5e-16


def test_fast_cos_where_the_tangent_has_its_poles_and_zeros(road: bool) -> None:
    k = np.arange(-400, 401)
    x = np.concatenate([np.pi * k / 2, np.nextafter(np.pi * k, 0), [0.0, -0.0, 5e-324]])
    assert np.abs(trigonometry.fast_cos(x) - np.cos(x)).max() < 5e-16
    assert trigonometry.fast_cos(np.zeros(3)).tolist() == [1.0, 1.0, 1.0]


def test_fast_cos_shapes_types_and_places(road: bool) -> None:
    x = stream(0, "fast-cos", "data").normal(scale=5.0, size=(300, 500))  # more than one piece
    before = x.copy()
    expected = np.cos(x)
    np.testing.assert_allclose(trigonometry.fast_cos(x), expected, atol=5e-16)
    np.testing.assert_array_equal(x, before)
    out = np.full((300, 1000), 7.0)
    assert trigonometry.fast_cos(x, out=out[:, ::2]) is not None
    np.testing.assert_allclose(out[:, ::2], expected, atol=5e-16)
    assert (out[:, 1::2] == 7.0).all()
    assert trigonometry.fast_cos(x, out=x) is x
    np.testing.assert_allclose(x, expected, atol=5e-16)
    single = trigonometry.fast_cos(before.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.cos(before.astype(np.float32)), atol=1e-6)
    np.testing.assert_allclose(trigonometry.fast_cos([[0, 3]]), np.cos([[0.0, 3.0]]), atol=5e-16)
    assert trigonometry.fast_cos(1.0).shape == ()


def test_fast_cos_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(TypeError, match="array must be float64 or float32, got array of dtype"):
        trigonometry.fast_cos([1j])
    with pytest.raises(ValueError, match=r"out must have shape \(2,\) and dtype float64"):
        trigonometry.fast_cos([1.0, 2.0], out=np.empty(3))


def test_the_road_is_chosen_by_processor_features_not_by_time() -> None:
    """In a process where numpy may not use AVX-512, np.cos is chosen and the map is the same."""
    info = np.lib.introspect.opt_func_info(func_name="^tan$", signature="float64")
    current = [entry["current"] for entry in info["tan"].values()]
    assert trigonometry.tangent_is_vectorised() == trigonometry.HALF_TANGENT
    if not trigonometry.HALF_TANGENT:
        assert not any(name.startswith(("AVX512", "X86_V4")) for name in current)
        return
    script = (
        "import numpy as np; from dplit import features; from dplit._numerics import trigonometry;"
        "x = np.linspace(-9, 9, 99).reshape(33, 3); w = np.arange(12.0).reshape(3, 4) / 7;"
        "print(trigonometry.HALF_TANGENT, features.complex_features(x, w).tobytes().hex())"
    )
    without = " ".join({*current, "AVX512F"})  # NumPy 2.1 needs the feature below it too
    environment = os.environ | {"NPY_DISABLE_CPU_FEATURES": without}
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    chosen, digits = run.stdout.split()
    assert chosen == "False"
    theirs = np.frombuffer(bytes.fromhex(digits), dtype=complex).reshape(33, 4)
    ours = features.complex_features(
        np.linspace(-9, 9, 99).reshape(33, 3), np.arange(12.0).reshape(3, 4) / 7
    )
    np.testing.assert_allclose(theirs, ours, atol=1e-14)


# --- the maps --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("blocks", [(128, 2048), (5, 4)], ids=["one block", "many blocks"])
@pytest.mark.claim("dprf-thm6", "dprf-eq2", "dprf-eq3", "dprf-eq7")
def test_maps_are_their_formulas(
    kind: str, blocks: tuple[int, int], road: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact; kills a missing sqrt(2), a wrong sign of the phase and blocks that overlap."""
    monkeypatch.setattr(feature_blocks, "BLOCK_ROWS", blocks[0])
    monkeypatch.setattr(feature_blocks, "BLOCK_FREQUENCIES", blocks[1])
    X, W, b = small()
    expected = naive(kind, X, W, b)
    plain = mapped(kind, X, W, b, normalize=False)
    np.testing.assert_allclose(plain, expected, atol=5e-15)
    factor = np.sqrt(2 / 11) if kind == "phased_cosine" else np.sqrt(1 / 11)
    np.testing.assert_allclose(mapped(kind, X, W, b), factor * expected, atol=3e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_is_kept_and_close(kind: str, road: bool) -> None:
    X, W, b = small()
    single = mapped(kind, X.astype(np.float32), W, b)
    assert single.dtype == (np.complex64 if kind == "complex" else np.float32)
    assert mapped(kind, X, W, b).dtype == (np.complex128 if kind == "complex" else np.float64)
    np.testing.assert_allclose(single, mapped(kind, X, W, b), atol=5e-6)
    whole = mapped(kind, np.arange(6).reshape(2, 3), W, b)
    np.testing.assert_allclose(whole, mapped(kind, np.arange(6.0).reshape(2, 3), W, b), rtol=0)


@pytest.mark.claim("dprf-fair-claim")
@pytest.mark.parametrize("kind", ["cos_sin", "complex"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.claim("dprf-thm6", "dprf-eq2", "dprf-eq3")
def test_row_norms_are_exactly_one(kind: str, dtype: Any, road: bool) -> None:
    """Private estimators rest on it: the norm exceeds 1 by rounding only, at any scale of X."""
    rng = stream(0, "test-norm", "data")
    X = (rng.normal(size=(200, 4)) * 10.0 ** rng.uniform(-6, 4, (200, 1))).astype(dtype)
    norms = np.linalg.norm(mapped(kind, X, rng.normal(size=(4, 300)), None).astype(complex), axis=1)
    np.testing.assert_allclose(norms, 1.0, atol=40 * np.finfo(dtype).eps)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_and_repetition_do_not_change_a_byte(kind: str) -> None:
    rng = stream(0, "test-threads", "data")
    X, W, b = rng.normal(size=(1000, 6)), rng.normal(size=(6, 300)), rng.uniform(0, 6, 300)
    with threadpool_limits(1, user_api="blas"):
        one = mapped(kind, X, W, b, n_jobs=1)
        for n_jobs in (1, 2, 3, -1, None):
            assert mapped(kind, X, W, b, n_jobs=n_jobs).tobytes() == one.tobytes()


def test_it_is_the_map_of_scikit_learn() -> None:
    X, _, _ = small()
    peer = RBFSampler(gamma=0.3, n_components=40, random_state=0).fit(X)
    ours = features.phased_cosine_features(X, peer.random_weights_, peer.random_offset_)
    np.testing.assert_allclose(ours, peer.transform(X), atol=1e-14)


# --- frequencies and kernels -----------------------------------------------------------------


@pytest.mark.claim("dprf-thm6", "dprf-eq2", "dprf-eq3", "dprf-ass1")
def test_frequencies_have_variance_two_gamma() -> None:
    """2e5 draws, two-sided chi-square at 1e-5; power > 0.999 at a 2.5 % error of the scale.

    Kills a wrong factor 2 in the variance, and a scale used as a variance.
    """
    gamma = 0.35
    W = features.random_frequencies(20, 10_000, gamma=gamma, rng=stream(0, "test-w", "public"))
    assert W.shape == (20, 10_000)
    total = (W**2).sum() / (2 * gamma)
    low, high = stats.chi2(W.size).ppf([5e-6, 1 - 5e-6])
    assert low < total < high
    assert not low < 1.025**2 * total < high
    assert not low < 0.975**2 * total < high
    correlation = np.corrcoef(W)[np.triu_indices(20, 1)]  # 190 of standard error 0.01, 6 of them
    assert np.abs(correlation).max() < 0.06


def test_frequencies_are_nested() -> None:
    short, long = (
        features.random_frequencies(3, n, gamma=1.0, rng=stream(0, "nested", "public"))
        for n in (5, 9)
    )
    np.testing.assert_array_equal(long[:, :5], short)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", [0.05, 0.5])
@pytest.mark.claim("dprf-thm6", "dprf-eq2", "dprf-eq3", "dprf-ass1")
def test_gram_matrices_are_within_hoeffding_of_the_kernel(kind: str, gamma: float) -> None:
    """Theorem 6 (Bochner) by Monte Carlo: 1e4 frequencies, 55 pairs, real and imaginary part.

    Terms lie in [-1, 1] ([-2, 2] for phased cosines), so each part misses by t with probability at
    most 2 exp(-N t^2 / 2) (N t^2 / 8); t is set for 1e-5 in all. Kills the factor 2 in the
    variance (the kernel moves by up to 0.25), a missing sqrt(2) (by 0.5) and a wrong gamma.
    """
    rng = stream(0, "test-kernel", "public")
    X = stream(0, "test-kernel", "data").normal(size=(10, 4))
    N = 10_000
    W = features.random_frequencies(4, N, gamma=gamma, rng=rng)
    b = rng.uniform(0, 2 * np.pi, N)
    Phi = mapped(kind, X, W, b)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    error = Phi @ Phi.conj().T - np.exp(-gamma * distances)
    t = np.sqrt((8 if kind == "phased_cosine" else 2) / N * np.log(2 * 2 * 55 / 1e-5))
    assert np.abs(error.real).max() < t
    assert np.abs(error.imag).max() < t
    mutants = [np.exp(-2 * gamma * distances), np.exp(-gamma * distances) / 2]
    assert all(np.abs((Phi @ Phi.conj().T).real - wrong).max() > t for wrong in mutants)


# --- sums without the map --------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("block", [1 << 26, 1500])
@pytest.mark.claim("dprf-thm6", "dprf-eq2", "dprf-eq3")
def test_feature_gram_is_the_gram_matrix_of_the_map(
    kind: Any, normalize: bool, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dplit.features.fourier._GRAM_BLOCK_BYTES", block)
    X, W, b = small()
    phases = b if kind == "phased_cosine" else None
    Phi = naive(kind, X, W, b)
    if normalize:
        Phi = Phi * np.sqrt((2 if kind == "phased_cosine" else 1) / 11)
    options: dict[str, Any] = {"kind": kind, "phases": phases, "normalize": normalize}
    gram = features.feature_gram(X, W, **options)
    np.testing.assert_allclose(gram, Phi @ Phi.conj().T, atol=3e-14)
    np.testing.assert_allclose(gram, gram.conj().T, atol=1e-15)
    other = features.feature_gram(X, W, X[:7] + 0, **options)
    np.testing.assert_allclose(other, gram[:, :7], atol=3e-14)


def test_the_gaussian_kernel_is_scikit_learns_and_far_points_are_strangers() -> None:
    """Kills width for gamma, a factor 2, and an overflow that warns or makes NaN."""
    X, _, _ = small()
    np.testing.assert_allclose(
        features.gaussian_kernel(X, X[:7] + 0.1, gamma=0.4), rbf_kernel(X, X[:7] + 0.1, gamma=0.4)
    )
    far = features.gaussian_kernel([[0.0], [1e200]], gamma=1e300)
    assert far.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_gram_matrices_never_hold_more_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest array that is filled, in entries, where the whole map has 1.5e5."""
    filled: list[int] = []
    fill = feature_blocks.fill

    def spy(plan: Any, n_jobs: int | None = 1) -> Any:
        out = fill(plan, n_jobs)
        filled.append(out.size)
        return out

    monkeypatch.setattr(feature_blocks, "fill", spy)
    monkeypatch.setattr("dplit.features.fourier._GRAM_BLOCK_BYTES", 1 << 16)
    X = stream(0, "memory", "data").normal(size=(6_000, 2))
    W = stream(0, "memory", "public").normal(size=(2, 6_000))
    features.feature_gram(X[:25], W, kind="phased_cosine", phases=np.zeros(6_000))
    assert max(filled) * 8 <= 1 << 16
    assert sum(filled) == 25 * 6_000


# --- the transformer -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_map_follows_the_precision_of_its_records(kind: Any) -> None:
    """As scikit-learn's transformers do, by its own check too; a stated one stays, whatever comes.

    Kills doubles of single records, and single features in front of what is stated to be doubles.
    """
    X = stream(0, "features", "data", 9).normal(size=(30, 3))
    ours = RandomFourierFeatures(8, kind=kind, random_state=1)
    double = ours.fit_transform(X)
    wide = 2 if kind == "complex" else 1
    for told, records, size in (
        (None, X.astype(np.float32), 4),
        (None, X.astype(np.float16), 8),
        (None, (10 * X).astype(int), 8),
        (None, pd.DataFrame(X, dtype="float32"), 4),
        ("float64", X.astype(np.float32), 8),
        ("float32", X, 4),
    ):
        model = clone(ours).set_params(dtype=told)
        Z = model.fit_transform(records)
        assert Z.dtype.itemsize == size * wide
        assert model.frequencies_.dtype == np.float64
        np.testing.assert_array_equal(model.frequencies_, ours.frequencies_)
    single = ours.fit(X).transform(X.astype(np.float32))  # each call by its own records
    np.testing.assert_allclose(single, double, atol=2e-6)
    assert single.dtype.itemsize == 4 * wide
    np.testing.assert_array_equal(clone(ours).set_params(dtype="float64").fit_transform(X), double)
    if kind != "complex":
        check_transformer_preserve_dtypes("waves", clone(ours))
        assert get_tags(ours).transformer_tags.preserves_dtype == ["float64", "float32"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.claim("dprf-thm6", "dprf-eq2", "dprf-eq3")
def test_transformer_is_the_function_at_its_own_frequencies(kind: Any, dtype: Any) -> None:
    X, _, _ = small()
    model = RandomFourierFeatures(12, gamma=0.4, kind=kind, dtype=dtype, random_state=1).fit(X)
    phases = getattr(model, "phases_", None)
    assert (phases is None) == (kind != "phased_cosine")
    assert model.frequencies_.shape == (3, 6 if kind == "cos_sin" else 12)
    Z = model.transform(X)
    assert Z.shape == (23, 12)
    assert Z.dtype.itemsize == (4 if dtype == "float32" else 8) * (2 if kind == "complex" else 1)
    count = 12 if kind == "phased_cosine" else model.frequencies_.shape[1]
    factor = np.sqrt((2 if kind == "phased_cosine" else 1) / count)
    expected = factor * naive(kind, X, model.frequencies_, phases)
    np.testing.assert_allclose(Z, expected, atol=1e-14 if dtype == "float64" else 2e-6)
    assert len(model.get_feature_names_out()) == 12


@pytest.mark.claim("dprf-thm6", "dprf-eq2", "dprf-eq3")
def test_transformer_draws_variance_two_gamma_and_uniform_phases() -> None:
    """6e4 frequencies, chi-square at 1e-5 (kills the factor 2); 2e4 phases, KS at 1e-5."""
    model = RandomFourierFeatures(20_000, gamma=0.7, random_state=0).fit(np.zeros((1, 3)))
    total = (model.frequencies_**2).sum() / 1.4
    low, high = stats.chi2(60_000).ppf([5e-6, 1 - 5e-6])
    assert low < total < high
    assert stats.kstest(model.phases_ / (2 * np.pi), "uniform").pvalue > 1e-5


def test_random_state_of_the_transformer() -> None:
    X, _, _ = small()

    def drawn(state: Any) -> np.ndarray:
        return RandomFourierFeatures(4, random_state=state).fit(X).frequencies_

    np.testing.assert_array_equal(drawn(3), drawn(3))
    assert (drawn(3) != drawn(4)).all()
    assert (drawn(None) != drawn(None)).all()
    generator = np.random.default_rng(0)
    assert (drawn(generator) != drawn(generator)).all()


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "W", "error", "message"),
    [
        ([[np.nan]], [[1.0]], ValueError, "X must be finite"),
        ([[1.0]], [[np.inf]], ValueError, "frequencies must be finite"),
        ([1.0], [[1.0]], ValueError, "X must have 2 axes"),
        ([[1.0]], [1.0], ValueError, "frequencies must have 2 axes"),
        ([[1.0, 2.0]], [[1.0]], ValueError, "frequencies must have one row per column of X"),
        (np.zeros((0, 1)), [[1.0]], ValueError, "X must not be empty"),
        ([["text"]], [[1.0]], TypeError, "X must be numeric"),
        ([[1j]], [[1.0]], TypeError, "X must be real"),
        ([[1.0]], [[1j]], TypeError, "frequencies must be real"),
        ([[-1e200]], [[1e200]], ValueError, "stay below 1.8e.308, got records that are too"),
        (np.float32([[1e20]]), [[1e20]], ValueError, "stay below 3.4e.38"),
    ],
)
def test_bad_arrays_are_named(X: Any, W: Any, error: Any, message: str) -> None:
    for call in (features.complex_features, features.cos_sin_features, features.feature_gram):
        with pytest.raises(error, match=message):
            call(X, W)


def test_records_of_a_second_map_that_overflow_are_refused() -> None:
    """Kills a check of the first records only: the cosines would be NaN, and so the Gram matrix."""
    with pytest.raises(ValueError, match="must stay below"):
        features.feature_gram([[1.0]], [[1e200]], Y=[[1e200]])
    assert np.isfinite(features.feature_gram([[1e100]], [[1e200]], Y=[[-1e100]])).all()


@pytest.mark.parametrize(
    ("function", "given", "options", "message"),
    [
        (features.phased_cosine_features, (ONE, ONE, [1.0, 2.0]), {}, "phases must have one entry"),
        (features.feature_gram, (ONE, ONE), {"kind": "phased_cosine"}, "phases must be given"),
        (features.feature_gram, (ONE, ONE), {"phases": [1.0]}, "phases must be None for cos_sin"),
        (features.feature_gram, (ONE, ONE, [[1.0, 2.0]]), {}, "Y must be real with 1 columns"),
        (features.gaussian_kernel, (ONE, [[0.0, 1.0]]), {"gamma": 1.0}, "Y must have 1 columns"),
        (features.random_frequencies, (0, 1), {"gamma": 1.0}, "n_features must be at least 1"),
        (features.random_frequencies, (1, 1), {"gamma": 0.0}, "gamma must be positive"),
    ],
)
def test_bad_arguments_are_named(
    function: Any, given: Any, options: dict[str, Any], message: str
) -> None:
    if function is features.random_frequencies:
        options = {**options, "rng": stream(0, "a", "public")}
    with pytest.raises(ValueError, match=message):
        function(*given, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_components": 3, "kind": "cos_sin"}, "n_components must be even for cos_sin"),
        ({"kind": "sine"}, "kind must be one of"),
        ({"dtype": "float16"}, "dtype must be one of"),
    ],
)
def test_bad_parameters_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RandomFourierFeatures(**{"n_components": 2, **changes}).fit(ONE)
