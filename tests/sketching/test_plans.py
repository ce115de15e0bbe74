"""Calibration, noise shares and what a released sketch says about itself."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, kstest, laplace, norm

from dplit.mechanisms import gaussian_delta
from dplit.sketching.additive_noise import sketch_parts
from dplit.sketching.plans import laplace_share, plan_release
from dplit.sketching.sketches import Sketch, SketchMap, sketch
from dplit.streams import stream


def _map(kind: str = "fourier", m: int = 8) -> SketchMap:
    rng = stream(0, "test-release", "public")
    omega = rng.standard_normal((2, m))
    return SketchMap(kind, omega, np.zeros(m) if kind == "quantized" else None)  # type: ignore[arg-type]


def test_quadratic_maps_have_a_certified_sensitivity_or_a_given_one() -> None:
    """Kills a sensitivity that forgets the frequencies, or that overrules a given one."""
    chosen = _map("quadratic")
    plan = plan_release(chosen, epsilon=2.0, count="withheld")
    norm = np.linalg.norm(chosen.frequencies, ord=2)
    assert plan.scale == pytest.approx(norm**2 / 2.0, rel=1e-9)
    plan = plan_release(_map("quadratic"), epsilon=2.0, count="withheld", sensitivity=3.0)
    assert plan.scale == 1.5


@pytest.mark.claim("sketch-distributed")
@pytest.mark.parametrize("shares", [1, 2, 7])
def test_laplace_shares_sum_to_laplace_noise(shares: int) -> None:
    """KS test of 4e4 sums against the Laplace law; false alarm 1e-5, kills a factor 1.05."""
    rng = stream(0, "laplace-shares", "noise", shares)
    total = sum(
        laplace_share(20_000, scale=2.0, complex=True, rng=rng, n_shares=shares)
        for _ in range(shares)
    )
    for part in (total.real, total.imag):  # type: ignore[union-attr]
        assert kstest(part, laplace(scale=2.0).cdf).pvalue > 1e-5
    variance = np.mean(np.abs(total) ** 2)
    se = np.std(np.abs(total) ** 2) / np.sqrt(20_000)
    assert abs(variance - 4 * 2.0**2) < 4.5 * se


@pytest.mark.claim("sketch-distributed")
@pytest.mark.parametrize("shares", [1, 5])
def test_gaussian_shares_sum_to_gaussian_noise(shares: int) -> None:
    """Chi-square of 1e5 coordinates within its 1e-5 quantiles (2 %): kills a factor 1.05."""
    flat = SketchMap("fourier", np.ones((1, 50_000)))
    plan = plan_release(
        flat, epsilon=1.0, delta=1e-5, noise="gaussian", count="withheld", n_shares=shares
    )
    plan = replace(plan, scale=3.0)
    rng = stream(0, "gaussian-shares", "noise", shares)
    total = sketch_parts([np.empty((0, 1))] * shares, flat, plan=plan, rng=rng).sum
    statistic = np.sum(np.abs(total) ** 2) / 9.0
    low, high = chi2(100_000).ppf([5e-6, 1 - 5e-6])
    assert low < statistic < high
    assert kstest(total.real / 3.0, norm.cdf).pvalue > 1e-5


def test_real_noise_for_real_maps() -> None:
    """Shares or not, and on the count too: kills complex noise on a real sum."""
    rng, chosen = stream(0, "real-noise", "noise"), _map("quadratic")
    for noise, delta in (("laplace", 0.0), ("gaussian", 1e-5)):
        for shares in (1, 3):
            plan = plan_release(  # type: ignore[call-overload]
                chosen, epsilon=1.0, delta=delta, noise=noise, split=0.5, n_shares=shares
            )
            released = plan.apply(sketch(np.zeros((5, 2)), chosen), rng=rng)
            assert released.sum.dtype == np.float64
            assert isinstance(released.count, float)
            assert released.sum.all()


def test_budgets_add_up() -> None:
    """Laplace: m sqrt 2 / b + 1 / b_count is epsilon; Gaussian: delta at the sum's part."""
    sketch_map = _map(m=20)
    plan = plan_release(sketch_map, epsilon=0.7, split=0.9)
    assert plan.count_scale is not None
    assert np.sqrt(2) * 20 / plan.scale + 1 / plan.count_scale == pytest.approx(0.7)
    plan = plan_release(sketch_map, epsilon=0.7, delta=1e-6, noise="gaussian", split=0.9)
    spent = gaussian_delta(epsilon=0.63, sigma=plan.scale, sensitivity=np.sqrt(20))
    assert spent == pytest.approx(1e-6, rel=1e-9)
    assert plan.count_scale == pytest.approx(1 / 0.07)
    withheld = plan_release(sketch_map, epsilon=0.7, noise="polydisc", count="withheld")
    assert withheld.scale == pytest.approx(1 / 0.7)
    public = plan_release(sketch_map, epsilon=0.7, count="public", neighboring="replace_one")
    assert public.scale == pytest.approx(2 * np.sqrt(2) * 20 / 0.7)


def test_count_modes() -> None:
    X = stream(0, "count-modes", "data").standard_normal((40, 2))
    exact, rng = sketch(X, _map()), stream(0, "count-modes", "noise")
    plan = plan_release(_map(), epsilon=1.0, split=0.5)
    assert plan.apply(replace(exact, count=None), rng=rng).count is None  # there was none
    split = plan.apply(exact, rng=rng)
    assert isinstance(split.count, float)
    assert split.count != 40
    withheld = plan_release(_map(), epsilon=1.0, count="withheld").apply(exact, rng=rng)
    assert withheld.count is None
    plan = plan_release(_map(), epsilon=1.0, count="public", neighboring="replace_one")
    assert plan.apply(exact, rng=rng).count == 40
    assert split.noise is not None
    assert split.noise.kind == "laplace"
    assert split.noise.count_scale == 2.0


def test_noise_of_a_count_has_the_planned_scale() -> None:
    """KS test of 2000 releases of the empty sketch; false alarm 1e-5."""
    exact = Sketch(np.zeros(8, complex), 0, _map())
    plan = plan_release(_map(), epsilon=1.0, split=0.8)
    rng = stream(0, "application", "noise")
    released = [plan.apply(exact, rng=rng) for _ in range(2000)]
    counts = np.array([r.count for r in released], dtype=float)
    assert plan.count_scale is not None
    assert kstest(counts, laplace(scale=plan.count_scale).cdf).pvalue > 1e-5


def test_noise_twice_and_seeds_are_refused() -> None:
    exact = Sketch(np.zeros(8, complex), 0, _map())
    plan = plan_release(_map(), epsilon=1.0, split=0.8)
    released = plan.apply(exact, rng=stream(0, "twice", "noise"))
    with pytest.raises(ValueError, match="must carry no noise yet"):
        plan.apply(released, rng=stream(0, "twice", "noise"))
    with pytest.raises(TypeError, match="rng must be"):
        plan.apply(exact, rng=0)  # type: ignore[arg-type]


def test_a_plan_is_for_the_map_that_it_was_calibrated_for() -> None:
    """A plan for fewer features adds too little noise; kills an application without a check."""
    omega = np.ones((2, 8))
    whole = sketch(np.zeros((5, 2)), SketchMap("fourier", omega))
    rng = stream(0, "other-map", "noise")
    for other in (
        SketchMap("fourier", omega[:, :4]),
        SketchMap("fourier", 2.0 * omega),
        SketchMap("quantized", omega, np.zeros(8)),
    ):
        plan = plan_release(other, epsilon=1.0, count="withheld")
        with pytest.raises(ValueError, match=r"map for which the noise .*nothing is released"):
            plan.apply(whole, rng=rng)
    same = plan_release(SketchMap("fourier", omega.copy()), epsilon=1.0, count="withheld")
    assert same.apply(whole, rng=rng).noise is not None


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_release_remembers_its_relation(noise: str) -> None:
    """An exact count is there under replace_one alone; unlike relations are not merged.

    Kills a record without the relation, and a merge that compares scales only: both plans here
    have one scale.
    """
    options = {"noise": noise, "delta": 1e-6 if noise == "gaussian" else 0.0}
    exact, rng = sketch(np.zeros((7, 2)), _map()), stream(0, "relation", "noise")
    replaced = plan_release(  # type: ignore[call-overload]
        _map(), epsilon=1.0, count="public", neighboring="replace_one", **options
    )
    released = replaced.apply(exact, rng=rng)
    assert released.count_is_exact
    assert released.noise.neighboring == "replace_one"
    hidden = replace(replaced, count="withheld").apply(exact, rng=rng)
    assert not hidden.count_is_exact
    added = replace(replaced, count="withheld", neighboring="add_remove").apply(exact, rng=rng)
    assert added.noise.neighboring == "add_remove"
    assert not plan_release(_map(), epsilon=1.0, split=0.5).apply(exact, rng=rng).count_is_exact
    again = [replace(replaced, count=c).apply(exact, rng=rng) for c in ("withheld", "public")]
    assert hidden.merge(again[0]).noise.neighboring == "replace_one"
    with pytest.raises(ValueError, match="must carry the same noise"):
        hidden.merge(added)
    whole = released.merge(again[1])
    assert (whole.count, whole.count_is_exact) == (14, True)


def test_the_sum_of_a_sketch_is_read_only_and_its_own() -> None:
    """Through pickles, copies, merges and slices; kills a view of the caller's array."""
    own = np.ones(8, complex)
    first = Sketch(own, 3, _map())
    own[:] = 0.0
    assert first.sum.sum() == 8.0
    for one in (
        first,
        pickle.loads(pickle.dumps(first)),
        copy.deepcopy(first),
        replace(first, count=None),
        first.merge(Sketch(np.ones(8), 3, _map())),
        plan_release(_map(), epsilon=1.0, split=0.5).apply(first, rng=stream(0, "ro", "noise")),
    ):
        with pytest.raises(ValueError, match="read-only"):
            one.sum[0] = 5.0
