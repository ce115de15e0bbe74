"""Noise as frozen values: what is released, what the ledger hears, what is refused, and the bits.

Random tests state their false-alarm probability; those without a seed use the system's entropy.
"""

from __future__ import annotations

import math
import os
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dplit.audit import ledger
from dplit.mechanisms import gaussian_epsilon
from dplit.mechanisms.additive import Cube, GammaNorm, Gaussian, Laplace, Polydisc
from dplit.mechanisms.bits import system_words, words_of
from dplit.mechanisms.exact import rounded_laplace, rounded_normal
from dplit.streams import stream

STEP = 2.0**-20
REAL = [Gaussian(3.0), Laplace(Fraction(10, 3)), GammaNorm(0.25)]
COMPLEX = [*REAL, Polydisc(0.25), Cube(Fraction(1, 3))]


def told(**changes: Any) -> dict[str, Any]:
    return {"step": STEP, "hides": "a sum", "sensitivity": 1.0, **changes}


def rng(name: str = "") -> np.random.Generator:
    return stream(0, f"exact-release{name}", "noise")


@pytest.mark.parametrize("noise", COMPLEX, ids=lambda noise: type(noise).__name__)
def test_the_noise_does_not_depend_on_the_sum(noise: Any) -> None:
    """What is released less the sum has the same bits for all sums: no low bit tells of it.

    Planted: float noise, of which the difference is rounded with the sum.
    """
    generator = stream(0, "exact-sums", "data")
    shape = (3, 4)
    parts = generator.integers(-(2**45), 2**45, (*shape, 2)).astype(np.float64)
    sums = parts.view(np.complex128)[..., 0]
    if noise in REAL:
        sums = sums.real
    added = noise.add(sums, **told(), rng=rng())
    alone = noise.add(np.zeros_like(sums), **told(), rng=rng())
    assert added.shape == shape
    assert added.dtype == sums.dtype
    assert (added - sums * STEP == alone).all()
    assert (alone != 0).all()
    for part in (added.real / STEP, added.imag / STEP):
        assert (part == np.rint(part)).all()
    floats = sums * STEP + rng().normal(scale=3.0, size=shape)
    assert (floats - sums * STEP != rng().normal(scale=3.0, size=shape)).any()


@pytest.mark.parametrize("noise", COMPLEX, ids=lambda noise: type(noise).__name__)
def test_a_replay_is_the_same_and_the_system_is_not(noise: Any) -> None:
    """False alarm below 2^-300.  Kills noise of NumPy's global state and a seed that is ignored."""
    sums = np.zeros(20, complex)
    state = np.random.get_state()  # noqa: NPY002
    first = noise.add(sums, **told(), rng=rng())
    assert (noise.add(sums, **told(), rng=rng()) == first).all()
    assert (noise.add(sums, **told(), rng=rng(" other")) != first).any()
    releases = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        releases.append(noise.add(sums, **told()))
    assert (releases[0] != releases[1]).any()
    np.random.set_state(state)  # noqa: NPY002


def test_integers_and_floats_of_the_same_steps_are_the_same_release() -> None:
    kinds: list[Any] = [np.int8, np.uint8, np.int64, np.uint64, np.float32, np.float64]
    releases = [
        Gaussian(1.0).add(np.array([3, 100, 0], kind), **told(), rng=rng()).tolist()
        for kind in kinds
    ]
    assert releases == [releases[0]] * len(kinds)
    count = Laplace(1.0).add(7, **told(step=1.0), rng=rng())
    assert count.shape == ()
    assert count == Laplace(1.0).add(7.0, **told(step=1.0), rng=rng())


def test_large_sums_are_added_in_integers_and_clamped_not_refused() -> None:
    """Beyond 2^53 steps the sum is exact, and rounded after the noise; beyond 2^61 it is 2^61 - 1.

    Kills an addition in floats, where neighbours one step apart would be the same number, and an
    exception that tells of a private sum.
    """
    near = [2**60 + k for k in (0, 1)]
    noise = Gaussian(2.0**-3)  # in steps of 1: mostly 0
    releases = [int(noise.add(s, **told(step=1.0), rng=rng())) for s in near]
    assert releases == [2**60] * 2
    half = [2**60 + 128 + k for k in (0, 1)]  # 256 is the distance of floats there
    assert [int(noise.add(s, **told(step=1.0), rng=rng())) for s in half] == [2**60, 2**60 + 256]
    for far in (1e300, 2**62, np.uint64(2**64 - 1), 2**200):
        assert float(noise.add(far, **told(step=1.0), rng=rng())) == 2.0**61
    assert float(noise.add(-1e300, **told(step=1.0), rng=rng())) == -(2.0**61)


@pytest.mark.parametrize(
    ("value", "changes", "error", "message"),
    [
        ([0.5], {}, ValueError, "whole numbers of steps"),
        ([1 + 0.5j], {}, ValueError, "whole numbers of steps"),
        ([math.nan], {}, ValueError, "value must be finite"),
        ([], {}, ValueError, "value must not be empty"),
        (["1"], {}, TypeError, "value must be numeric"),
        ([1], {"step": 0.3}, ValueError, "step must be a power of two"),
        ([1], {"step": 0.0}, ValueError, "step must be positive"),
        ([1], {"step": 2.0**-1000}, ValueError, "step must be a power of two in"),
        ([1], {"step": 2.0**-60}, ValueError, "below 1.126e\\+15 grid steps"),
        ([1], {"sensitivity": 0.0}, ValueError, "sensitivity must be positive"),
        ([1], {"sensitivity": math.nan}, ValueError, "sensitivity must not be NaN"),
        ([1], {"rng": 0}, TypeError, "rng must be a numpy.random.Generator"),
    ],
)
@pytest.mark.parametrize("noise", [Gaussian(2.0**20), Laplace(2.0**20)])
def test_what_cannot_be_exact_is_refused_before_anything_is_drawn_or_told(
    noise: Any, value: Any, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    source = rng()
    before = source.bit_generator.state
    with ledger() as book, pytest.raises(error, match=message) as caught:
        noise.add(value, **told(**{"rng": source, **changes}))
    assert len(book) == 0
    assert source.bit_generator.state == before
    assert "0.5" not in str(caught.value)


def test_radii_count_in_how_large_noise_may_be() -> None:
    """Kills a bound that looks at the scale alone: 2^20 coordinates add up a million variates."""
    for noise in (Polydisc(2.0**-16), Cube(2.0**-16), GammaNorm(2.0**-16)):
        with pytest.raises(ValueError, match="grid steps"):
            noise.add(np.zeros(2**15, complex), **told())
        noise.add(np.zeros(4, complex), **told())


@pytest.mark.parametrize("noise", [Polydisc(1.0), Cube(1.0)])
def test_norms_of_complex_vectors_want_complex_sums(noise: Any) -> None:
    with pytest.raises(TypeError, match="value must be complex"):
        noise.add([1, 2], **told())


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan, "1", True])
def test_bad_scales_are_refused_when_they_are_made(bad: Any) -> None:
    for law in (Gaussian, Laplace, GammaNorm, Polydisc, Cube):
        with pytest.raises((ValueError, TypeError), match="must"):
            law(bad)


def test_the_ledger_hears_the_callers_sensitivity_and_composes() -> None:
    """Kills a sensitivity of 1 for the caller's, a rate for a scale, a draw that is not told."""
    with ledger() as book:
        Gaussian(4.0).add(np.zeros((2, 3)), **told(sensitivity=2.0), rng=rng())
    (draw,) = book
    assert (draw.mechanism, draw.scale, draw.sensitivity) == ("gaussian", 4.0, 2.0)
    assert (draw.norm, draw.shape, draw.purpose) == ("l2", (2, 3), "a sum")
    stated = gaussian_epsilon(delta=1e-5, sigma=4.0, sensitivity=2.0)
    assert book.epsilon(delta=1e-5) == pytest.approx(stated, rel=1e-9)
    laws = {"laplace": "l1", "gamma_norm": "l2", "k_norm": None}
    for noise, loss in zip(COMPLEX[1:], (0.6, 0.5, 0.5, 2 / 3), strict=True):
        with ledger() as book:
            noise.add(np.zeros(3, complex), **told(sensitivity=2.0), rng=rng())
        assert book.epsilon() == pytest.approx(loss, rel=1e-12)
        (draw,) = book
        assert draw.norm == (
            laws[draw.mechanism] or {"Cube": "max"}.get(type(noise).__name__, "modulus")
        )
    third = Laplace(Fraction(1, 3))  # no float: the scale that is told is rounded down
    with ledger() as book:
        third.add([0], **told(), rng=rng())
    assert Fraction(next(iter(book)).scale) <= Fraction(1, 3)


def test_the_ledger_hears_repetitions_and_what_they_hid() -> None:
    """Kills a step that is not told, and one that tells of steps instead of units."""
    heard: list[tuple[Any, Any]] = []

    def watch(draw: Any, of: Any, added: Any) -> None:
        heard.append((of() if callable(of) else of, added))

    noise = Gaussian(5.0)
    with ledger(watch) as book:
        noise.tell((2,), hides="gradients", sensitivity=1.0, steps=3)
        released = [noise.add_step([k, -k], step=0.5, rng=rng()) for k in (4, 6, 8)]
    assert book.steps == [3]
    one = gaussian_epsilon(delta=1e-5, sigma=5.0, sensitivity=math.sqrt(3))
    assert book.epsilon(delta=1e-5) == pytest.approx(one, rel=1e-9)
    for k, (of, added), result in zip((4, 6, 8), heard, released, strict=True):
        assert (of == [k / 2, -k / 2]).all()
        assert (of + added == result).all()


def test_symmetric_noise_is_isotropic_in_the_frobenius_norm() -> None:
    """False alarm 3e-5.  Kills sigma off the diagonal (a variance twice as large, of 4,000 draws),
    half of it, and noise that is not symmetric; the part below the diagonal is not read.
    """
    d, sigma = 90, 1000.0
    moments = np.arange(d * d).reshape(d, d)
    noisy = Gaussian(sigma).add_symmetric(moments, **told(step=1.0), rng=rng())
    assert (noisy == noisy.T).all()
    noise = (noisy - moments) / sigma
    above, diagonal = noise[np.triu_indices(d, 1)], np.diag(noise)
    for part, variance in ((above, 0.5), (diagonal, 1.0)):
        law = stats.chi2(len(part))
        total = (part**2).sum() / variance
        assert 1e-5 < law.cdf(total) < 1 - 1e-5
    for wrong in (1.0, 0.25):
        assert not 1e-5 < stats.chi2(len(above)).cdf((above**2).sum() / wrong) < 1 - 1e-5
    with pytest.raises(ValueError, match="square matrix"):
        Gaussian(1.0).add_symmetric([1, 2], **told())


def sure_of_zero(releases: NDArray[np.float64]) -> int:
    """Releases that cannot come from a sum of 1, where |y| < 1/2: 1 + noise is a multiple of 2^-53.

    (The sum of 1 and a float between -3/2 and -1/2 is exact in units of at most 2^-53.)
    """
    small = releases[np.abs(releases) < 0.5]
    return int((small * 2.0**53 != np.rint(small * 2.0**53)).sum())


def test_low_bits_tell_neighbours_apart_under_float_noise_alone() -> None:
    """A million releases of a sum of 0 and of 1 under N(0, 4): Mironov's attack.

    Float noise: many releases of 0 are impossible for 1. Exact noise on a grid: no release is
    impossible for either, and the last six bits of the steps have one law (false alarm 2e-5).
    """
    n, sigma = 10**6, 2.0
    floats = {s: s + rng(f" {s}").normal(scale=sigma, size=n) for s in (0, 1)}
    assert sure_of_zero(floats[0]) > 0.05 * n
    assert sure_of_zero(floats[1]) == 0
    exact = {
        s: Gaussian(sigma).add(np.full(n, s / STEP), **told(), rng=rng(f" exact {s}"))
        for s in (0, 1)
    }
    assert sure_of_zero(exact[0]) == sure_of_zero(exact[1]) == 0
    low = [np.bincount((y / STEP).astype(np.int64) & 63, minlength=64) for y in exact.values()]
    assert stats.chi2_contingency(low).pvalue > 2e-5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_never_shares_words() -> None:
    """False alarm 2^-40.  Kills a block of words that was read before the fork and is used by both.

    64 words of each, after some were used.
    """
    system_words(3)
    rounded_normal(5, sigma=1e9)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, system_words(64).tobytes() + rounded_normal(8, sigma=2.0**40).tobytes())
        os._exit(0)
    ours, noise = system_words(64), rounded_normal(8, sigma=2.0**40)
    os.waitpid(child, 0)
    told_by_child = os.read(reading, 8 * 72)
    os.close(reading)
    os.close(writing)
    theirs = np.frombuffer(told_by_child[: 8 * 64], np.uint64)
    assert len(np.intersect1d(ours, theirs)) == 0
    assert len(np.intersect1d(noise, np.frombuffer(told_by_child[8 * 64 :], np.int64))) == 0


def test_threads_get_words_of_their_own() -> None:
    """False alarm 2^-30: 40,000 words, none twice.  Kills a shared block without a lock."""
    found: list[NDArray[np.uint64]] = []

    def work() -> None:
        for _ in range(50):
            found.append(system_words(100))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = np.concatenate(found)
    assert len(np.unique(words)) == len(words) == 40_000


def test_words_of_a_replay_are_those_of_its_generator() -> None:
    """Kills a replay that throws bits away, and two requests that are given the same words."""
    words = words_of(np.random.Generator(np.random.PCG64(7)))
    raw = np.random.PCG64(7).random_raw(5)
    assert [*words(2), *words(3)] == raw.tolist()
    with pytest.raises(TypeError, match="rng must be"):
        words_of(7)  # type: ignore[arg-type]


def test_the_system_words_have_no_preferred_bit() -> None:
    """False alarm 1e-6: every bit of 40,000 words is 1 in half of them. Kills words of 63 bits."""
    bits = np.unpackbits(system_words(40_000).view(np.uint8).reshape(-1, 8), axis=1)
    z = (bits.sum(axis=0, dtype=float) - 20_000) / 100.0
    assert np.abs(z).max() < 5.7


@pytest.mark.parametrize(
    ("sampler", "name"), [(rounded_normal, "sigma"), (rounded_laplace, "scale")]
)
def test_samplers_refuse_scales_and_shapes_that_are_none(sampler: Any, name: str) -> None:
    for bad in (0.0, -1.0, math.nan, math.inf, 2.0**50, Fraction(2**60)):
        with pytest.raises(ValueError, match=name):
            sampler(3, **{name: bad})
    with pytest.raises(TypeError, match="size must be an integer"):
        sampler(2.5, **{name: 1.0})
    assert sampler((0, 3), **{name: 1.0}).shape == (0, 3)
