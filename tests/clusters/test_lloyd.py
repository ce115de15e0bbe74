"""Private Lloyd: scales, sensitivities, the noiseless limit, edges."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.cluster import KMeans

from dplit._bounds import check_box
from dplit.clusters import lloyd
from dplit.clusters.estimator import PrivateLloyd, _merge_centers
from dplit.clusters.lloyd import lloyd_noise, private_lloyd, spread_centers
from dplit.mechanisms import gaussian_delta
from dplit.streams import stream

#: Many of these data sets are too few for their budget; one test asks for the warning itself.
pytestmark = pytest.mark.filterwarnings("ignore:the noise of the centres:UserWarning")


def _clusters(n=4000, d=2):
    rng = stream(0, "dp-lloyd", "data")
    centres = np.array([[-0.6] * d, [0.6] * d, [-0.6] + [0.6] * (d - 1)])
    return centres, np.clip(
        centres[rng.integers(3, size=n)] + 0.1 * rng.standard_normal((n, d)), -1, 1
    )


@pytest.mark.claim("sketch-beyond-comparison")
@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 0.1)])
def test_without_noise_it_is_lloyd(noise, delta):
    """Well separated clusters: both have converged after six steps, to the same means."""
    centres, X = _clusters()
    start = centres + 0.2
    run = private_lloyd(
        X,
        start,
        bounds=(-1, 1),
        epsilon=1e9,
        delta=delta,
        n_iter=6,
        noise=noise,
        rng=stream(0, "dp-lloyd", "noise"),
    )
    peer = KMeans(3, init=start, n_init=1, tol=0).fit(X)
    np.testing.assert_allclose(run.centers, peer.cluster_centers_, atol=1e-4)
    np.testing.assert_allclose(run.counts, np.bincount(peer.labels_), atol=0.1)


def test_units_of_the_box_do_not_matter():
    centres, X = _clusters()
    low, width = np.array([3.0, -7.0]), np.array([4.0, 40.0])
    options = {"epsilon": 0.5, "n_iter": 3}
    one = private_lloyd(
        X, centres, bounds=(-1, 1), rng=stream(0, "dp-lloyd-units", "noise"), **options
    )
    scaled, start = (low + width * (Z + 1) / 2 for Z in (X, centres))
    two = private_lloyd(
        scaled,
        start,
        bounds=(low, low + width),
        rng=stream(0, "dp-lloyd-units", "noise"),
        **options,
    )
    np.testing.assert_allclose(two.centers, low + width * (one.centers + 1) / 2, rtol=1e-9)
    np.testing.assert_allclose(two.counts, one.counts, rtol=1e-12)


@pytest.mark.claim("sketch-beyond-comparison")
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize("d", [1, 2, 9])
def test_laplace_scales_spend_the_budget(d, neighboring):
    scales = lloyd_noise(d, epsilon=0.7, n_iter=4, neighboring=neighboring)
    spent = (d / scales.sum_scale + 1 / scales.count_scale) * 4
    assert spent * (1 if neighboring == "add_remove" else 2) == pytest.approx(0.7, rel=1e-12)


@pytest.mark.claim("sketch-beyond-comparison")
@pytest.mark.parametrize(("neighboring", "squared"), [("add_remove", 1.0), ("replace_one", 2.0)])
@pytest.mark.parametrize("d", [1, 4, 9])
def test_gaussian_scales_spend_the_budget(d, neighboring, squared):
    """The profile of the whole run at its calibration is delta; sensitivities written out."""
    scales = lloyd_noise(
        d, epsilon=0.7, delta=1e-6, n_iter=4, noise="gaussian", neighboring=neighboring
    )
    in_sums = math.sqrt(d / scales.sum_scale**2 + 1 / scales.count_scale**2)
    distance = math.sqrt(squared) * in_sums
    if neighboring == "replace_one":
        distance = max(distance, 2 * math.sqrt(d) / scales.sum_scale)
    reached = gaussian_delta(epsilon=0.7, sigma=1.0, sensitivity=2 * distance)
    assert reached == pytest.approx(1e-6, rel=1e-9)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("d", [2, 8])
def test_the_split_has_least_mean_square(noise, d):
    """Scales s and t of the same privacy, against d s^2 + |c|^2 t^2 minimised over s / t."""
    delta = 0.0 if noise == "laplace" else 1e-6
    chosen = lloyd_noise(d, epsilon=1.0, delta=delta, n_iter=1, noise=noise)
    squared = d * 0.45**2

    def error(log_ratio):
        ratio = math.exp(log_ratio)  # s / t, with privacy per unit of s
        size = d + ratio if noise == "laplace" else math.sqrt(d + ratio**2)
        return (d + squared / ratio**2) * size**2

    best = minimize_scalar(error, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10})
    ours = math.log(chosen.sum_scale / chosen.count_scale)
    assert ours == pytest.approx(best.x, abs=1e-5)


def _sums_and_counts(X, centers):
    member = ((X[:, None] - centers) ** 2).sum(2).argmin(1)
    one_hot = np.eye(len(centers))[member]
    return one_hot.T @ X, one_hot.sum(0)


@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
def test_sensitivity_search_never_exceeds_and_attains(neighboring):
    """Corners of the box attain the bounds; 3,000 random pairs never exceed them."""
    rng = stream(0, "dp-lloyd-search", "data")
    d, k = 3, 4
    laplace = lloyd_noise(d, epsilon=1.0, n_iter=1, neighboring=neighboring)
    gauss = lloyd_noise(
        d, epsilon=1.0, delta=1e-5, n_iter=1, noise="gaussian", neighboring=neighboring
    )
    base, worst = rng.uniform(-1, 1, (5, d)), np.zeros(2)
    for trial in range(3000):
        centers = rng.uniform(-1, 1, (k, d))
        x, y = rng.uniform(-1, 1, (2, d))
        if trial % 2:
            x, y = np.sign(x), np.sign(y)
        other = base if neighboring == "add_remove" else np.vstack([base, y])
        one, two = (_sums_and_counts(Z, centers) for Z in (np.vstack([base, x]), other))
        sums, counts = (np.abs(a - b) for a, b in zip(one, two, strict=True))
        loss = sums.sum() / laplace.sum_scale + counts.sum() / laplace.count_scale
        moved = (sums**2).sum() / gauss.sum_scale**2 + (counts**2).sum() / gauss.count_scale**2
        worst = np.maximum(worst, [loss, math.sqrt(moved)])
    allowed = gaussian_delta(epsilon=1.0, sigma=1.0, sensitivity=worst[1])
    assert 0.999 <= worst[0] <= 1 + 1e-12
    assert 0.99e-5 <= allowed <= 1e-5 * (1 + 1e-9)


@pytest.mark.parametrize("d", [1, 3, 10])
def test_one_record_moves_the_computed_sums_by_its_own_share(d):
    """Ties and near ties of patterned records: no removal or order changes another's cluster.

    Kills distances by a float matrix product, whose last bits follow the place of a record.
    """
    rng = stream(0, "dp-lloyd-float", "data")
    centers = rng.uniform(-1, 1, (4, d))
    centers[3] = centers[0] + 1e-13  # the same after rounding: a tie goes to the first
    middles = (centers[:2].mean(axis=0), centers[1:3].mean(axis=0))
    U = np.concatenate([np.tile(rng.uniform(-1, 1, (64, d)), (20, 1)), np.tile(middles, (300, 1))])
    whole = np.rint(check_box((-1, 1), d).unit(U) * 2.0**lloyd._BITS)
    sums, counts = lloyd._sums(whole, centers)
    exact = ((U[:, None] - centers[:3]) ** 2).sum(2)
    near = np.sort(exact, axis=1)
    clear = near[:, 1] - near[:, 0] > 1e-5  # no tie
    found = lloyd._sums(whole[clear], centers)[1]
    np.testing.assert_array_equal(found[:3], np.bincount(exact[clear].argmin(1), minlength=3))
    assert found[3] == 0
    order = rng.permutation(len(U))
    for again in (
        lloyd._sums(whole[order], centers),
        lloyd._sums(np.asfortranarray(whole), centers),
    ):
        np.testing.assert_array_equal(again[0], sums)
        np.testing.assert_array_equal(again[1], counts)
    for gone in (0, 63, 1280, len(U) - 1):
        rest, own = (
            lloyd._sums(rows, centers)
            for rows in (np.delete(whole, gone, axis=0), whole[gone : gone + 1])
        )
        np.testing.assert_array_equal(sums - rest[0], own[0])
        np.testing.assert_array_equal(counts - rest[1], own[1])
        assert np.abs(sums - rest[0]).sum() <= d
        assert np.abs(counts - rest[1]).sum() == 1


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (-1.7e308, 1.7e308), (0.0, 1e-300)])
def test_no_finite_record_overflows_or_warns(bounds):
    X = [[0.0, 1e308], [-1.7e308, 1.7e308], [5e-324, -1.7e308]]
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="the noise of the centres")
        model = PrivateLloyd(2, bounds=bounds, random_state=0).fit(X)
    assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e160, 5e307])
def test_distances_whose_squares_are_no_floats_are_those_in_another_unit(size):
    """Kills an infinite distance, one of 0, and a centre that is nearest because it is first."""
    centers, X = np.array([[-1.0, -0.5], [0.5, 1.0]]), np.array([[0.4, 0.9], [-0.25, 0.0]])
    model = PrivateLloyd(2, bounds=(-1.0, 1.0), epsilon=1e6, random_state=0).fit(X)
    model.cluster_centers_ = size * centers
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, labels = model.transform(size * X), model.predict(size * X)
        far = model.transform([[1.7e308, -1.7e308]])
    expected = np.linalg.norm(X[:, None] - centers, axis=2)
    np.testing.assert_allclose(found / size, expected, rtol=1e-14)
    np.testing.assert_array_equal(labels, expected.argmin(axis=1))
    assert np.isfinite(far).all()


@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 1e-5)])
def test_noise_of_sums_and_counts_has_its_scales(noise, delta):
    """6,000 counts and sums of one step: variances within 5 standard errors, false alarm 2e-6.

    Kills scales that are exchanged or 8 % off (11 % for Laplace).
    """
    rng = stream(0, "dp-lloyd-scales", "noise")
    X, counts, sums = np.zeros((2000, 1)), [], []
    for _ in range(6000):
        run = private_lloyd(
            X,
            [[0.0]],
            bounds=(-1, 1),
            epsilon=0.1,
            delta=delta,
            n_iter=1,
            noise=noise,
            rng=rng,
        )
        counts.append(run.counts[0] - 2000)
        sums.append(run.centers[0, 0] * run.counts[0])
    scales = lloyd_noise(1, epsilon=0.1, delta=delta, n_iter=1, noise=noise)
    factor = 2.0 if noise == "laplace" else 1.0
    allowed = 5 * math.sqrt((5 if noise == "laplace" else 2) / 6000)
    for draws, scale in ((counts, scales.count_scale), (sums, scales.sum_scale)):
        assert np.var(draws) == pytest.approx(factor * scale**2, rel=allowed)


def test_public_start_is_spread_and_needs_no_data():
    points = spread_centers(
        4, 2, bounds=(np.array([0.0, 10.0]), np.array([1.0, 30.0])), rng=np.random.default_rng(0)
    )
    assert ((points >= [0.25, 15.0]) & (points <= [0.75, 25.0])).all()
    unit = (points - [0.5, 20.0]) / [0.5, 10.0]
    gaps = np.linalg.norm(unit[:, None] - unit[None], axis=2) + 9 * np.eye(4)
    assert gaps.min() > 0.6
    X = _clusters()[1]
    fits = [PrivateLloyd(4, bounds=(-1, 1), random_state=3).fit(Z) for Z in (X, X[:100])]
    assert not np.allclose(fits[0].cluster_centers_, fits[1].cluster_centers_)


def test_merged_candidates_find_what_few_centres_miss():
    """Eight separated clusters in eight dimensions, epsilon 1: within 1.3 times of k-means.

    Five data sets. Kills one centre for each cluster, whose mean cost is more than twice as large.
    """
    costs = np.zeros((5, 2))
    for seed in range(5):
        rng = stream(seed, "dp-lloyd-merge", "data")
        means = rng.uniform(-0.8, 0.8, (8, 8))
        X = means[rng.integers(8, size=20_000)] + 0.05 * rng.standard_normal((20_000, 8))
        best = KMeans(8, init=means, n_init=1).fit(X).inertia_
        for way, count in enumerate((None, 8)):
            model = PrivateLloyd(8, bounds=(-1, 1), n_candidates=count, random_state=seed).fit(X)
            costs[seed, way] = (model.transform(X).min(axis=1) ** 2).sum() / best
            assert model.counts_.shape == (8,)
    assert np.median(costs[:, 0]) < 1.3
    assert costs[:, 1].mean() > 2 * costs[:, 0].mean()


def test_merging_reads_the_release_alone():
    """Same release, same centres; counts add up, and centres without records have no weight."""
    centers = np.array([[-0.5], [-0.4], [0.6], [0.9]])
    counts = np.array([300.0, 100.0, 50.0, -7.0])
    found, total = _merge_centers(centers, counts, 2, scale=1.0, rng=np.random.default_rng(0))
    order = found[:, 0].argsort()
    np.testing.assert_allclose(found[order, 0], [(-0.5 * 298 - 0.4 * 98) / 396, 0.6], atol=1e-4)
    np.testing.assert_allclose(total[order], [400.0, 43.0])
    same, untouched = _merge_centers(centers, counts, 4, scale=1.0, rng=np.random.default_rng(0))
    assert same is centers
    assert untouched is counts
    none = _merge_centers(
        centers[[0, 0, 0]], np.zeros(3), 2, scale=1.0, rng=np.random.default_rng(0)
    )
    assert np.isfinite(none[0]).all()


@pytest.mark.filterwarnings("error")
def test_too_few_records_are_said_and_enough_are_not():
    """Two clusters of 2,000 and of 2 records at scales of about 10: far on both sides."""
    X = _clusters(4000)[1]
    model = PrivateLloyd(2, bounds=(-1, 1), random_state=0)
    model.fit(X)
    with pytest.warns(UserWarning, match="the noise of the centres is of the size of the box"):
        model.fit(X[:4])


def test_centres_of_empty_clusters_stay_and_none_leaves_the_box():
    X = np.full((1000, 1), -0.5)
    run = private_lloyd(
        X, [[-0.4], [0.9]], bounds=(-1, 1), epsilon=1e6, n_iter=3, rng=np.random.default_rng(0)
    )
    np.testing.assert_allclose(run.centers.ravel(), [-0.5, 0.9], atol=1e-4)
    noisy = private_lloyd(
        X, [[-0.4], [0.9]], bounds=(-1, 1), epsilon=1e-3, n_iter=3, rng=np.random.default_rng(0)
    )
    assert (np.abs(noisy.centers) <= 1).all()


def test_records_outside_are_clipped():
    _centres, X = _clusters()
    wild = X.copy()
    wild[0], wild[1] = 1e9, -1e9
    clipped = np.clip(wild, -1, 1)
    ours, peer = (PrivateLloyd(3, bounds=(-1, 1), random_state=0).fit(Z) for Z in (wild, clipped))
    np.testing.assert_array_equal(ours.cluster_centers_, peer.cluster_centers_)


def test_labels_are_those_of_the_least_distances():
    _, X = _clusters()
    model = PrivateLloyd(3, epsilon=0.5, bounds=(-1, 1), random_state=0).fit(X)
    distances = model.transform(X)
    np.testing.assert_array_equal(distances.argmin(axis=1), model.predict(X))
    expected = np.linalg.norm(X[:7, None] - model.cluster_centers_, axis=2)
    np.testing.assert_allclose(distances[:7], expected)
    np.testing.assert_array_equal(
        clone(model).fit_predict(X), model.predict(X)
    )  # an integer seed repeats


def test_a_start_of_another_width_is_named():
    options = {"bounds": (-1, 1), "epsilon": 1.0, "rng": np.random.default_rng(0)}
    with pytest.raises(ValueError, match="start must have 1 columns"):
        private_lloyd([[0.0]], [[0.0, 0.0]], **options)


@pytest.mark.parametrize(
    "bounds", [3.0, (0.0, 1.0, 2.0), (0.0, math.inf), ("a", "b"), (0.0, 5e-324)]
)
def test_bad_boxes_are_refused(bounds):
    with pytest.raises((ValueError, TypeError), match="bounds"):
        check_box(bounds, 2)


def test_boxes_translate_between_units():
    box = check_box(([0.0, -1.0], [2.0, 3.0]), 2)
    np.testing.assert_array_equal(box.low, [0.0, -1.0])
    np.testing.assert_array_equal(box.high, [2.0, 3.0])
    np.testing.assert_array_equal(box.unit(np.array([[2.0, 1.0], [9.0, -9.0]])), [[1, 0], [1, -1]])
    np.testing.assert_array_equal(box.data(np.array([[1.0, 0.0]])), [[2.0, 1.0]])
