"""The three estimators: against their decoders, from released sketches, statements, bad input."""

from __future__ import annotations

import inspect
import itertools
import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from dplit import Budget, BudgetError
from dplit.audit import ledger
from dplit.features import orthonormal_blocks
from dplit.mechanisms import gaussian_epsilon, values
from dplit.papers.sketching.quadratic import s4_ascent
from dplit.sketching.additive_noise import _noise_deviation
from dplit.sketching.decoders.kmeans_cost import sse
from dplit.sketching.decoders.low_rank import pca_risk
from dplit.sketching.decoders.mixtures import log_densities
from dplit.sketching.estimators import CompressiveGaussianMixture, CompressiveKMeans, CompressivePCA
from dplit.sketching.plans import map_sensitivity, plan_release, spent_epsilon
from dplit.sketching.sensitivity import s4_certificate
from dplit.sketching.sketches import NoiseRecord, Sketch, SketchMap, merge_all, sketch
from dplit.streams import stream

ALL = [CompressiveKMeans, CompressiveGaussianMixture, CompressivePCA]
#: For tests of what is published, on few records: they do not ask how good the fit is.
few_records = pytest.mark.filterwarnings("ignore:.*the noise of standard deviation:UserWarning")


def _clusters(n=6000):
    rng = stream(0, "sketch-estimators", "data")
    centres = np.array([[-2.0, 0.0], [2.0, 2.0], [1.0, -2.5]])
    return centres, centres[rng.integers(3, size=n)] + 0.5 * rng.standard_normal((n, 2))


def _make(kind, /, **changes):
    if kind is CompressivePCA:
        return kind(**{"n_components": 1, "data_norm": 4.0, "random_state": 0, **changes})
    size = "n_clusters" if kind is CompressiveKMeans else "n_components"
    return kind(**{size: 3, "bounds": (-4.0, 4.0), "random_state": 0, **changes})


def _estimate(model):
    name = {CompressiveKMeans: "cluster_centers_", CompressivePCA: "components_"}
    return getattr(model, name.get(type(model), "means_"))


@pytest.mark.claim("sketch-beyond-estimators")
@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": None},
        {"epsilon": 2.0},
        {"epsilon": 1.0, "noise": "polydisc"},
        {"epsilon": 1.0, "kind": "quantized", "noise": "cube"},
        {"epsilon": 1.0, "noise": "gaussian", "delta": 1e-6},
        {"epsilon": 3.0, "neighboring": "replace_one"},
    ],
)
def test_centres_have_nearly_the_risk_of_lloyd(options):
    """n = 6,000 and m = 60: within 5 % of Lloyd's risk (1 % at this seed, and 11 others)."""
    _, X = _clusters()
    model = _make(CompressiveKMeans, **options).fit(X)
    best = KMeans(3, n_init=5, random_state=0).fit(X).inertia_ / len(X)
    assert sse(X, model.cluster_centers_) < 1.05 * best
    assert model.weights_.sum() == pytest.approx(1.0)
    assert np.abs(model.weights_ - 1 / 3).max() < 0.1


@pytest.mark.claim("sketch-beyond-estimators")
@pytest.mark.parametrize("options", [{"epsilon": None}, {"epsilon": 3.0, "noise": "polydisc"}])
def test_mixtures_find_means_and_variances(options):
    centres, X = _clusters()
    model = _make(CompressiveGaussianMixture, **options).fit(X)
    order = [int(np.argmin(((centres - mu) ** 2).sum(axis=1))) for mu in model.means_]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(model.means_, centres[order], atol=0.1)
    np.testing.assert_allclose(model.covariances_, 0.25, atol=0.08)
    truth = log_densities(X, [1 / 3] * 3, centres, np.full((3, 2), 0.25)).mean()
    assert model.score(X) > truth - 0.05


@pytest.mark.claim("sketch-beyond-estimators")
@pytest.mark.parametrize("frequencies", ["orthonormal", "gaussian"])
@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": None},
        {"epsilon": 2.0},
        {"epsilon": 2.0, "neighboring": "replace_one"},
        {"epsilon": 1.0, "noise": "gaussian", "delta": 1e-6},
    ],
)
def test_components_have_nearly_the_least_risk(frequencies, options):
    """n = 20,000, d = 5: within 10 % of the optimum; second moments within 10 %."""
    rng = stream(0, "sketch-estimators-pca", "data")
    basis = orthonormal_blocks(5, 5, rng=rng)
    X = (rng.standard_normal((20_000, 5)) * [1.0, 0.8, 0.2, 0.2, 0.2]) @ basis.T
    model = _make(CompressivePCA, n_components=2, frequencies=frequencies, **options).fit(X)
    values = np.linalg.eigvalsh(X.T @ X / len(X))
    assert pca_risk(X, model.components_.T) < 1.1 * values[:3].sum()
    np.testing.assert_allclose(model.second_moments_, values[:2:-1], rtol=0.1)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-9)
    Z = model.transform(X)
    np.testing.assert_allclose(Z, X @ model.components_.T)
    np.testing.assert_allclose(model.inverse_transform(Z), Z @ model.components_)


@few_records
@pytest.mark.claim("sketch-beyond-estimators")
@pytest.mark.parametrize("kind", ALL)
def test_released_noise_spends_exactly_the_budget(kind):
    """The scale in the published record, against sensitivities written out here."""
    _, X = _clusters(500)
    model = _make(kind, epsilon=0.7).fit(X)
    m = model.sketch_.map.n_components
    record = model.sketch_.noise
    if kind is CompressivePCA:
        parts = (m / 2) / record.scale, 1.0 / record.count_scale
        assert parts[1] == pytest.approx(0.05 * 0.7, rel=1e-9)
    else:
        parts = (1.0 / record.scale,)  # of the polydisc, the default
        assert record.kind == "polydisc"
        assert record.count_scale is None
        assert model.sketch_.count is None
    assert sum(parts) == pytest.approx(0.7, rel=1e-9)
    assert (model.epsilon_, model.delta_, model.neighboring_) == (0.7, 0.0, "add_remove")
    assert spent_epsilon(model.sketch_, delta=0.0) == pytest.approx(0.7, rel=1e-9)
    for part in (
        "(0.7, 0)",
        "sketch_ is covered",
        "adding or removing one record",
        "clipped",
        "voids the guarantee",
    ):
        assert part in model.privacy_statement_


@pytest.mark.claim("sketch-beyond-estimators")
@pytest.mark.parametrize("kind", ALL)
def test_gaussian_and_replace_one(kind):
    _, X = _clusters(500)
    options = {"epsilon": 0.7, "noise": "gaussian", "delta": 1e-4, "neighboring": "replace_one"}
    model = _make(kind, **options).fit(X)
    omega = model.sketch_.map.frequencies
    size = 2 * math.sqrt(omega.shape[1])
    if kind is CompressivePCA:
        size = math.sqrt(2) * s4_certificate(omega)
        assert model.sketch_.count == 500
    reached = gaussian_epsilon(delta=1e-4, sigma=model.sketch_.noise.scale, sensitivity=size)
    assert reached == pytest.approx(0.7, rel=1e-9)
    assert (model.delta_, model.neighboring_) == (1e-4, "replace_one")
    assert "replacing one record" in model.privacy_statement_


@pytest.mark.claim("sketch-beyond-estimators")
def test_sensitivities_of_quadratic_maps():
    """Certified values are never below an ascent, in all three ranges of the dimension."""
    rng = stream(0, "sketch-estimators-s4", "public")
    for d, blocks in ((3, 3), (30, 4), (70, 2)):
        quadratic = SketchMap("quadratic", orthonormal_blocks(d, blocks * d, rng=rng))
        assert map_sensitivity(quadratic, noise="laplace") == pytest.approx(blocks, rel=1e-9)
        replaced = map_sensitivity(quadratic, noise="laplace", neighboring="replace_one")
        assert replaced == pytest.approx(2 * blocks, rel=1e-9)
        upper = map_sensitivity(quadratic, noise="gaussian")
        lower = s4_ascent(quadratic.frequencies, rng=rng, n_starts=5).value
        assert lower <= upper <= math.sqrt(blocks) * (1 + 1e-6)
        both = map_sensitivity(quadratic, noise="gaussian", neighboring="replace_one")
        assert both == pytest.approx(math.sqrt(2) * upper, rel=1e-12)


def _sketch(kind, X):
    """Return an exact sketch; for components of records within the unit ball."""
    rng = stream(0, "sketch-estimators-release", "public")
    if kind is CompressivePCA:
        return sketch(X / 4.0, SketchMap("quadratic", orthonormal_blocks(2, 12, rng=rng)))
    return sketch(X, SketchMap("fourier", rng.standard_normal((2, 60))))


def _release(kind, X, **options):
    exact = _sketch(kind, X)
    return plan_release(exact.map, **options).apply(exact, rng=stream(0, "sketch-est", "noise"))


@pytest.mark.claim("sketch-beyond-estimators")
@pytest.mark.parametrize("kind", ALL)
def test_from_a_released_sketch(kind):
    centres, X = _clusters()
    hidden = {"split": 0.9} if kind is CompressivePCA else {"count": "withheld"}
    released = _release(kind, X, epsilon=2.0, **hidden)
    model = _make(kind).fit_sketch(released)
    assert model.epsilon_ == pytest.approx(2.0, rel=1e-9)
    assert model.sketch_ is released
    assert model.n_features_in_ == 2
    if kind is CompressivePCA:
        lead = np.linalg.eigh(X.T @ X)[1][:, -1]
        assert abs(model.components_[0] @ lead) > 0.95
    else:
        gaps = np.linalg.norm(_estimate(model)[:, None] - centres, axis=2)
        assert gaps.min(axis=0).max() < 0.3
    one = kind(**{**model.get_params(), "epsilon": 1e-9}).fit_sketch(released)
    np.testing.assert_array_equal(_estimate(one), _estimate(model))  # the budget is the sketch's


@pytest.mark.parametrize("kind", ALL)
def test_exact_sketches_are_learned_from_and_not_kept(kind):
    _, X = _clusters()
    for model in (_make(kind).fit_sketch(_sketch(kind, X)), _make(kind, epsilon=None).fit(X)):
        assert math.isinf(model.epsilon_)
        assert model.delta_ == 0.0
        assert "No privacy" in model.privacy_statement_
        assert model.sketch_ is None
        held = [v for v in vars(model).values() if isinstance(v, Sketch)]
        assert held == []


@few_records
@pytest.mark.claim("sketch-beyond-estimators")
@pytest.mark.parametrize("kind", ALL)
def test_an_exact_count_has_no_privacy_where_records_come_and_go(kind):
    """The count alone separates n from n - 1: epsilon is infinite, as it was not said before."""
    _, X = _clusters(500)
    released = _release(kind, X, epsilon=1.0, count="public", neighboring="replace_one")
    assert released.count == 500
    assert math.isinf(spent_epsilon(released, delta=0.0))
    model = _make(kind).fit_sketch(released)
    assert math.isinf(model.epsilon_)
    assert (model.delta_, model.neighboring_) == (0.0, "add_remove")
    for part in ("No privacy for adding or removing", "number of records exactly", "'replace_one'"):
        assert part in model.privacy_statement_
    asked = _make(kind, neighboring="replace_one").fit_sketch(released)
    assert asked.epsilon_ == pytest.approx(1.0, rel=1e-9)
    assert "(1, 0)-differential privacy for replacing one record" in asked.privacy_statement_
    assert spent_epsilon(released, delta=0.0, neighboring="replace_one") == asked.epsilon_
    bare = replace(released, count=None)  # without its count: half as much
    assert spent_epsilon(bare, delta=0.0) == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("kind", ALL)
def test_gaussian_noise_without_a_delta_is_refused(kind):
    """It has an epsilon for every delta in (0, 1), and is stated at the one that is asked."""
    _, X = _clusters(500)
    released = _make(kind, epsilon=0.7, noise="gaussian", delta=1e-4).fit(X).sketch_
    stated = _make(kind, noise="gaussian", delta=1e-4).fit_sketch(released)
    assert stated.delta_ == 1e-4
    assert stated.epsilon_ == pytest.approx(0.7, rel=1e-6)
    message = r"delta must be in \(0, 1\) for a sketch with Gaussian"
    for delta in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match=message):
            spent_epsilon(released, delta=delta)
    with pytest.raises(ValueError, match=message):
        _make(kind).fit_sketch(released)
    with pytest.raises(ValueError, match="neighboring must be one of"):
        spent_epsilon(released, delta=1e-4, neighboring="entry")


def test_merged_releases_have_the_budget_of_one():
    _, X = _clusters()
    exact = [_sketch(CompressiveKMeans, part) for part in np.split(X, 3)]
    plan = plan_release(exact[0].map, epsilon=2.0, count="withheld")
    rng = stream(0, "merge", "noise")
    parts = [plan.apply(part, rng=rng) for part in exact]
    assert spent_epsilon(merge_all(parts), delta=0.0) == pytest.approx(2.0, rel=1e-9)
    parts = [replace(plan, n_shares=3).apply(part, rng=rng) for part in exact]
    whole = merge_all(parts)
    assert _make(CompressiveKMeans).fit_sketch(whole).epsilon_ == pytest.approx(2.0, rel=1e-9)
    with pytest.raises(ValueError, match="all 3 shares of its noise, got 2"):
        _make(CompressiveKMeans).fit_sketch(parts[0].merge(parts[1]))


@pytest.mark.parametrize("kind", ALL)
def test_records_outside_the_bounds_are_clipped(kind):
    _, X = _clusters(500)
    wild = X.copy()
    wild[0], wild[1] = [1e9, 0.0], [0.0, -1e9]
    if kind is CompressivePCA:
        clipped = wild * np.minimum(1.0, 4.0 / np.linalg.norm(wild, axis=1, keepdims=True))
    else:
        clipped = np.clip(wild, -4.0, 5.0)
    place = {} if kind is CompressivePCA else {"bounds": (-4.0, 5.0)}  # the map's end at +-5
    ours, peer = (_make(kind, **place).fit(Z) for Z in (wild, clipped))
    np.testing.assert_allclose(_estimate(ours), _estimate(peer), rtol=1e-6, atol=1e-6)


def _nasty():
    """Pairs of data sets in dimension 12 that differ by their last record."""
    rng = stream(0, "nasty", "data")
    mixed = np.zeros(12)
    mixed[[0, 8]], mixed[[1, 9]] = 1e308, -1e308  # partial sums overflow to inf - inf
    zero, few = np.zeros(12), rng.standard_normal((5, 12))
    flat = np.outer(np.linspace(-1, 1, 40), np.ones(12)) * (np.arange(12) < 6)
    yield from ((few, record) for record in (np.full(12, 1e308), mixed, np.full(12, 5e-324), zero))
    yield np.ones((30, 12)), np.ones(12)
    yield np.ones((30, 12)), -1e308 * np.ones(12)
    yield np.zeros((1, 12)), mixed
    yield flat, flat[0]  # collinear records, duplicated rows, columns of zeros
    yield rng.standard_normal((2048, 12)), 1e150 * np.ones(12)


def _seen(model):
    """What an observer has, without the values of what carries noise."""
    shapes = {
        name: (type(value), getattr(value, "dtype", None), np.shape(value))
        for name, value in vars(model).items()
    }
    released = model.sketch_
    shapes |= {"count": type(released.count), "sum": (released.sum.dtype, released.sum.shape)}
    return shapes, released.map.fingerprint, repr(released.noise), model.privacy_statement_


@few_records
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize("kind", ALL)
def test_one_record_shows_in_the_noised_sketch_alone(kind, neighboring):
    """No exception or warning (they are errors here), shape, type or text tells neighbours apart.

    And what is decoded is a function of the sketch: fitting to it gives the same bits. Kills a
    division by the norm before the clipping, and the warning of scikit-learn's own sum.
    """
    small = {"n_restarts": 1} if kind is CompressiveKMeans else {}
    small |= {"n_starts": 1, "n_components": 1} if kind is CompressiveGaussianMixture else {}
    for base, record in _nasty():
        ours = _make(kind, neighboring=neighboring, random_state=5, **small)
        one = clone(ours).fit(np.vstack([base, record[None]]))
        rest = base if neighboring == "add_remove" else np.vstack([base, np.zeros((1, 12))])
        assert _seen(one) == _seen(clone(ours).fit(rest))
        again = clone(ours).fit_sketch(one.sketch_)
        np.testing.assert_array_equal(_estimate(again), _estimate(one))
        assert np.isfinite(_estimate(one)).all()


@few_records
@pytest.mark.parametrize("kind", ALL)
def test_any_finite_sketch_is_decoded(kind):
    """Huge, denormal, constant, one-entry and zero sums; kills squares of unscaled entries."""
    rng = stream(0, "any-sketch", "public")
    quadratic, public = kind is CompressivePCA, _sketch(kind, np.zeros((1, 2))).map
    plain = rng.standard_normal(public.n_components)
    one, spread = np.zeros_like(plain), plain * 10.0 ** rng.uniform(-300, 300, len(plain))
    one[0] = -1.0
    sizes = [plain / np.abs(plain).max() * size for size in (1e308, 1e-300, 5e-324)]
    for total in (*sizes, one, spread, np.ones_like(plain), 0.0 * plain):
        values = total if quadratic else total * (1.0 - 0.5j)
        count = -7.0 if quadratic else None
        record = NoiseRecord("laplace", 1.0, 1.0 if quadratic else None)
        model = _make(kind).fit_sketch(Sketch(values, count, public, record))
        for value in vars(model).values():
            if isinstance(value, np.ndarray):
                assert np.isfinite(value).all()


@pytest.mark.parametrize("kind", ["fourier", "quantized"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian", "polydisc", "cube"])
def test_deviation_of_the_noise_that_a_sketch_carries(kind, noise):
    """Mean squares of 3,000 sums of three shares or releases, within 5 standard errors (2 %)."""
    m, rng = 4, stream(0, "deviation", "noise")
    public = SketchMap(kind, np.ones((1, m)), np.zeros(m) if kind == "quantized" else None)
    plan = plan_release(
        public,
        epsilon=1.0,
        delta=1e-3 if noise == "gaussian" else 0.0,
        noise=noise,
        count="withheld",
    )
    nothing = Sketch(np.zeros(m, complex), None, public)
    sums = [merge_all([plan.apply(nothing, rng=rng) for _ in range(3)]) for _ in range(3000)]
    energy = np.array([np.mean(np.abs(s.sum) ** 2) / 2.0 for s in sums])
    error = energy.std() / math.sqrt(len(sums))
    assert abs(energy.mean() - _noise_deviation(sums[0]) ** 2) < 5 * error
    assert _noise_deviation(nothing) == 0.0


@pytest.mark.parametrize("kind", ALL)
def test_a_fit_to_noise_is_no_worse_than_the_middle_and_says_so(kind):
    """The warning names public numbers only: the same text for all data and seeds of one shape.

    Noise alone passes in fewer than 3 fits of 100, and in none of these; kills a missing fallback.
    """
    _, X = _clusters(40)
    texts = set()
    for seed in range(10):
        model = _make(kind, epsilon=0.01, random_state=seed)
        with pytest.warns(UserWarning, match="the noise of standard deviation") as caught:
            model.fit(X[: 20 + seed] + 1.0)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        texts.add(str(caught[0].message))
        if kind is CompressiveKMeans:
            assert (np.abs(model.cluster_centers_).max(axis=1) == 0.0).any()
            assert sse(X, model.cluster_centers_) <= sse(X, np.zeros((1, 2)))
        elif kind is CompressiveGaussianMixture:
            np.testing.assert_allclose(model.covariances_, 16.0 / 3.0)
            assert (model.means_ == 0.0).all()
    assert len(texts) == 1


def test_digits_cost_less_than_one_centre_or_the_warning_says_that_they_may_not():
    """64 dimensions, k = 10: three times the cost of one centre before, and no word.

    False alarm 2^-6, were other seeds drawn: that all six of them warn.
    """
    X = load_digits().data
    one, middle = sse(X, X.mean(axis=0)[None]), sse(X, np.full((1, 64), 8.0))
    options = {"bounds": (0.0, 16.0), "random_state": 0}
    exact = CompressiveKMeans(10, epsilon=None, **options).fit(X)
    assert sse(X, exact.cluster_centers_) < 0.8 * one
    heard = 0  # at this budget about half of the draws are
    for seed in range(6):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = CompressiveKMeans(10, epsilon=10.0, **options | {"random_state": seed}).fit(X)
        heard += not told
        assert told or sse(X, model.cluster_centers_) < one
    assert heard
    with pytest.warns(UserWarning, match="hides 10 components in 64 dimensions"):
        model = CompressiveKMeans(10, epsilon=1.0, **options).fit(X)
    assert sse(X, model.cluster_centers_) <= middle


@few_records
def test_noise_costs_a_mixture_no_likelihood_without_bound():
    """300 records at epsilon 1: variances that noise made too small cost 2 nats a record before."""
    _, X = _clusters(300)
    middle = log_densities(X, [1.0], np.zeros((1, 2)), np.full((1, 2), 16.0 / 3.0)).mean()
    for seed in range(3):
        model = _make(CompressiveGaussianMixture, n_starts=1, random_state=seed).fit(X)
        assert model.score(X) > middle - 0.02
    assert (model.covariances_ <= 16.0 / 3.0).all()


def test_components_have_a_sign():
    """The entry of largest modulus is positive, whatever the signs of the singular vectors."""
    X = stream(0, "sign", "data").standard_normal((3000, 4)) * [0.3, 0.2, 0.1, 0.1]
    for seed in range(6):
        model = CompressivePCA(2, epsilon=None, data_norm=1.0, random_state=seed).fit(X)
        lead = np.abs(model.components_).argmax(axis=1)
        assert (model.components_[[0, 1], lead] > 0).all()


def test_a_noisy_count_costs_nothing_where_the_number_of_records_is_public():
    """Kills a count that is paid for under both relations."""
    X = stream(0, "spent", "data").uniform(-1, 1, (200, 2))
    released = _release(CompressiveKMeans, X, epsilon=1.0, split=0.75)
    assert spent_epsilon(released, delta=0.0) == pytest.approx(1.0, rel=1e-9)
    bare = replace(released, count=None, noise=replace(released.noise, count_scale=None))
    alone = [spent_epsilon(s, delta=0.0, neighboring="replace_one") for s in (released, bare)]
    assert alone[0] == alone[1]


@few_records
@pytest.mark.parametrize("kind", ALL)
def test_frequencies_do_not_depend_on_the_data_or_the_noise(kind):
    _, X = _clusters(300)
    maps = [
        _make(kind, epsilon=e).fit(Z).sketch_.map.fingerprint
        for e, Z in ((1.0, X), (5.0, X), (1.0, 0.1 * X[:50]))
    ]
    assert len(set(maps)) == 1


@pytest.mark.parametrize("kind", ALL)
def test_only_private_attributes_are_published(kind):
    _, X = _clusters(300)
    model = _make(kind).fit(X)
    public = {name for name in vars(model) if name.endswith("_")}
    own = {
        CompressiveKMeans: {"cluster_centers_", "weights_"},
        CompressiveGaussianMixture: {"weights_", "means_", "covariances_"},
        CompressivePCA: {"components_", "second_moments_"},
    }[kind]
    guarantee = {"epsilon_", "delta_", "neighboring_", "privacy_statement_", "n_features_in_"}
    assert public == own | guarantee | {"sketch_"}
    assert model.sketch_.noise is not None
    rest = set(vars(model)) - public - {"_n_features_out"}
    assert rest == set(inspect.signature(kind).parameters)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(_estimate(copy), _estimate(model))
    assert copy.sketch_.map.fingerprint == model.sketch_.map.fingerprint


def test_labels_and_probabilities():
    _, X = _clusters(1000)
    model = _make(CompressiveGaussianMixture, epsilon=10.0).fit(X)
    posterior = model.predict_proba(X)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    np.testing.assert_array_equal(posterior.argmax(axis=1), model.predict(X))
    weighted = np.log(model.weights_) + np.stack(
        [
            log_densities(X, [1.0], m[None], v[None])
            for m, v in zip(model.means_, model.covariances_, strict=True)
        ],
        axis=1,
    )
    expected = np.exp(weighted - model.score_samples(X)[:, None])
    np.testing.assert_allclose(posterior, expected, atol=1e-9)
    np.testing.assert_array_equal(clone(model).fit_predict(X), model.predict(X))
    centres = _make(CompressiveKMeans, epsilon=10.0)
    labels = centres.fit_predict(X)
    np.testing.assert_array_equal(centres.transform(X).argmin(axis=1), labels)


COMMON = [
    ({"epsilon": 0.0}, ValueError, "epsilon must be positive"),
    ({"epsilon": "1"}, TypeError, "epsilon must be a real number"),
    ({"delta": 0.1, "noise": "laplace"}, ValueError, "delta must be 0 for laplace noise"),
    ({"noise": "gaussian"}, ValueError, r"delta must be in \(0, 1\)"),
    ({"noise": "cauchy"}, ValueError, "noise must be one of"),
    ({"neighboring": "entry"}, ValueError, "neighboring must be one of"),
    ({"n_frequencies": 0}, ValueError, "n_frequencies must be at least 1"),
    ({"n_frequencies": 2.5}, TypeError, "n_frequencies must be an integer"),
    ({"random_state": "seed"}, TypeError, "random_state"),
]


OWN = [
    (CompressiveKMeans, {"bounds": None}, "bounds must be given"),
    (CompressiveKMeans, {"bounds": (1.0, 0.0)}, "bounds must be increasing"),
    (CompressiveKMeans, {"n_clusters": 0}, "n_clusters must be at least 1"),
    (CompressiveKMeans, {"n_frequencies": 4}, r"n_clusters must satisfy n_clusters \(d \+ 1\)"),
    (CompressiveKMeans, {"kind": "cosine"}, "kind must be one of"),
    (CompressiveKMeans, {"gamma": 0.0}, "gamma must be positive"),
    (CompressiveKMeans, {"n_restarts": 0}, "n_restarts must be at least 1"),
    (CompressiveGaussianMixture, {"bounds": None}, "bounds must be given"),
    (CompressiveGaussianMixture, {"n_frequencies": 7}, r"n_components must satisfy .*\(2 d \+ 1\)"),
    (CompressiveGaussianMixture, {"n_starts": 0}, "n_starts must be at least 1"),
    (CompressiveGaussianMixture, {"min_variance": 2.0}, "min_variance must be in"),
    (CompressivePCA, {"data_norm": None}, "data_norm must be given"),
    (CompressivePCA, {"n_components": 3}, "n_components must be at most 2"),
    (CompressivePCA, {"n_frequencies": 5}, "n_frequencies must be a multiple of 2"),
    (CompressivePCA, {"n_components": 2, "n_frequencies": 2}, "at least 3 for 2 components"),
    (CompressivePCA, {"noise": "polydisc"}, "noise must be one of"),
    (CompressivePCA, {"frequencies": "hadamard"}, "frequencies must be one of"),
    (CompressivePCA, {"count_share": 1.0}, "count_share must be in"),
    (CompressivePCA, {"count_share": 1e-20}, "count_share must be in"),
]


@pytest.mark.parametrize(
    ("kind", "change", "error", "message"),
    [(kind, *case) for kind in ALL for case in COMMON]
    + [(kind, change, ValueError, message) for kind, change, message in OWN],
)
def test_bad_parameters_are_named(kind, change, error, message):
    _, X = _clusters(50)
    with ledger() as book, pytest.raises(error, match=message):
        _make(kind, **change).fit(X)
    assert not len(book)  # refused before anything is drawn


@pytest.mark.parametrize("kind", ALL)
def test_bad_data_and_bad_sketches_are_named(kind):
    with pytest.raises(ValueError, match="X must be finite"):
        _make(kind).fit([[math.nan, 1.0], [0.0, 1.0]])
    with pytest.raises(TypeError, match="sketch must be a Sketch"):
        _make(kind).fit_sketch(np.ones(3))
    wrong = "fourier" if kind is CompressivePCA else "quadratic"
    with pytest.raises(ValueError, match="sketch must be of kind"):
        _make(kind).fit_sketch(sketch(np.zeros((3, 2)), SketchMap(wrong, np.ones((2, 9)))))
    right = "quadratic" if kind is CompressivePCA else "fourier"
    entries = np.array([0.0] * 8 + [math.nan])
    broken = Sketch(entries, 3, SketchMap(right, np.ones((2, 9))))
    with pytest.raises(ValueError, match="sketch must be finite"):
        _make(kind).fit_sketch(broken)


#: Quadratic features are real: they have no pairs for a disc.
@pytest.mark.parametrize(
    ("kind", "law"),
    [*itertools.product(ALL, ["laplace", "gaussian"]), *itertools.product(ALL[:2], ["polydisc"])],
)
def test_fit_is_two_calls_from_what_draws(kind, law, monkeypatch) -> None:
    """``fit`` calls ``apply``, which draws: kills a layer between that could lose noise.

    Around ``fit`` is what makes it whole or none, and around both what silences floats.
    """
    ways: list[list[str]] = []

    add = values._Noise.add

    def told(self, *arguments, **options):
        stack = [f for f in inspect.stack()[1:] if "/src/dplit/" in f.filename]
        around = ("_checks.py", "/dplit/_base.py")
        ways.append([f.function for f in stack if not f.filename.endswith(around)])
        return add(self, *arguments, **options)

    monkeypatch.setattr(values._Noise, "add", told)
    place = {"data_norm": 2.0} if kind is CompressivePCA else {"bounds": (-1.0, 1.0)}
    model = kind(1, noise=law, delta=1e-5 if law == "gaussian" else 0.0, random_state=0, **place)
    model.fit(np.random.default_rng(0).uniform(-1, 1, (2000, 2)))
    assert ways
    assert all(way == ["apply", "fit"] for way in ways), ways


@few_records
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize("kind", ALL)
def test_persons_count_once_and_are_what_is_stated(kind, neighboring):
    """Kills persons that are not passed on, and a release of persons that is told as of records."""
    _, X = _clusters(300)
    whose = np.repeat(np.arange(100), 3)
    model = _make(kind, neighboring=neighboring).fit(X, persons=whose)
    plain = _make(kind, neighboring=neighboring).fit(X)
    assert model.sketch_.unit == "person"
    assert model.sketch_.noise == plain.sketch_.noise  # no more noise than for records
    assert model.epsilon_ == plain.epsilon_
    change = {
        "add_remove": "adding or removing one person with all records (",
        "replace_one": "replacing one person with all records, the number of persons being public",
    }
    assert change[neighboring] in model.privacy_statement_
    assert "one record" not in model.privacy_statement_
    assert "person" not in plain.privacy_statement_
    again = _make(kind, neighboring=neighboring).fit_sketch(model.sketch_)
    assert change[neighboring].rstrip(" (") in again.privacy_statement_
    assert "nobody is in two of the merged parts" in again.privacy_statement_
    if neighboring == "replace_one" and kind is CompressivePCA:
        assert model.sketch_.count == 100
        other = _make(kind).fit_sketch(model.sketch_)
        assert "No privacy for adding or removing one person" in other.privacy_statement_
        assert "number of persons exactly" in other.privacy_statement_


@few_records
@pytest.mark.parametrize("kind", [one for one in ALL if one is not CompressivePCA])
def test_who_has_many_equal_records_has_the_fit_of_one(kind):
    """To the bit: the same map, the same noise, and the mean of equal features is each of them."""
    _, X = _clusters(200)
    sizes = stream(0, "persons-fit", "data").integers(1, 9, len(X))
    many = _make(kind).fit(np.repeat(X, sizes, axis=0), persons=np.repeat(np.arange(200), sizes))
    np.testing.assert_array_equal(many.sketch_.sum, _make(kind).fit(X).sketch_.sum)


@few_records
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", ALL)
def test_persons_pay_from_a_budget_of_persons(kind, law, tmp_path):
    """At the price of a record, which one of records takes alone; what decodes a sketch that was
    released is free in both. Kills a unit that is not told, and a decoding that costs.
    """
    _, X = _clusters(300)
    given = {"noise": law, "delta": 1e-6 if law == "gaussian" else 0.0}
    model, whose = _make(kind, neighboring="replace_one", **given), np.repeat(np.arange(100), 3)
    fits = {"person": {"persons": whose}, "record": {}}
    for unit, other in (("person", "record"), ("record", "person")):
        file = tmp_path / f"{unit}.json"
        budget = Budget(file, epsilon=model.epsilon, delta=1e-6, unit=unit)
        rule = f"of one {unit}, and the guarantee of one {other}"
        with budget:
            with pytest.raises(BudgetError, match=rule):
                model.fit(X, **fits[other])
            released = model.fit(X, **fits[unit]).sketch_
            model.fit_sketch(released)
        assert budget.spent() == (model.epsilon, model.delta)
        assert len(budget.entries()) == 1


@pytest.mark.parametrize("kind", ALL)
def test_wrong_persons_are_refused_before_any_noise(kind):
    _, X = _clusters(300)
    with ledger() as book:
        with pytest.raises(ValueError, match="persons must have shape"):
            _make(kind).fit(X, persons=np.arange(299))
        with pytest.raises(TypeError, match="must hold integers up to int64, or text"):
            _make(kind).fit(X, persons=np.arange(300) / 2.0)
    assert len(book) == 0


@pytest.mark.parametrize("kind", ALL)
def test_they_demand_no_labels_and_publish_none(kind):
    assert not hasattr(kind(), "labels_")
    assert not isinstance(kind(), ClusterMixin)
