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
from dplit.mechanisms import gaussian_epsilon, values
from dplit.mechanisms._bits import system_words, words_of
from dplit.mechanisms._exact import MOST_STEPS, rounded_laplace, rounded_normal
from dplit.mechanisms.values import Cube, GammaNorm, Gaussian, Laplace, Polydisc
from dplit.streams import stream

REAL = [Gaussian(3.0), Laplace(Fraction(10, 3)), GammaNorm(0.25)]
COMPLEX = [*REAL, Polydisc(0.25), Cube(Fraction(1, 3))]


def told(**changes: Any) -> dict[str, Any]:
    return {"hides": "a sum", "sensitivity": 1.0, **changes}


def rng(name: str = "") -> np.random.Generator:
    return stream(0, f"exact-release{name}", "noise")


def step_of(noise: Any, size: int) -> float:
    """The public step of a release of so many real numbers."""
    return 2.0 ** values._exponent(noise._scale(), noise._spread(size))


@pytest.mark.parametrize("noise", COMPLEX, ids=lambda noise: type(noise).__name__)
def test_the_noise_does_not_depend_on_a_whole_sum(noise: Any) -> None:
    """What is released less the sum has the same bits for all sums: no low bit tells of it.

    Planted: float noise, of which the difference is rounded with the sum.
    """
    generator = stream(0, "exact-sums", "data")
    shape = (3, 4)
    parts = generator.integers(-(2**20), 2**20, (*shape, 2)).astype(np.float64)
    sums = parts.view(np.complex128)[..., 0]
    if noise in REAL:
        sums = sums.real
    step = step_of(noise, 12 if noise in REAL else 24)
    added = noise.add(sums, **told(), rng=rng())
    alone = noise.add(np.zeros_like(sums), **told(), rng=rng())
    assert added.shape == shape
    assert added.dtype == sums.dtype
    assert (added - sums == alone).all()
    assert (alone != 0).all()
    for part in (added.real / step, added.imag / step):
        assert (part == np.rint(part)).all()
    floats = sums + rng().normal(scale=3.0, size=shape)
    assert (floats - sums != rng().normal(scale=3.0, size=shape)).any()


@pytest.mark.parametrize("noise", COMPLEX, ids=lambda noise: type(noise).__name__)
@pytest.mark.parametrize("check", [False, True])
def test_every_rational_sum_is_rounded_together_with_its_noise(noise: Any, check: bool) -> None:
    """The release is within half a step of sum + Z for the same Z, whatever is left of the sum.

    Z is known to 2^-20 of these steps from a release of the same bits whose steps are as many times
    finer. Kills an offset of the other sign, one that is left out, and a sum that is rounded alone
    (off by half a step); ``check`` decides all in whole numbers.
    """
    generator = stream(0, "exact-offsets", "data")
    sums = generator.uniform(-5.0, 5.0, (40, 2)).view(np.complex128)[:, 0]
    sums = sums.real if noise in REAL else sums
    size = 40 if noise in REAL else 80
    scale, row = noise._scale(), np.ascontiguousarray(sums).view(np.float64)
    exponent = 0
    fine = noise._variates(size, scale * 2**20, words_of(rng())).all_rounded() * 2.0**-20
    held = values._Value(row, exponent)
    coarse = noise._variates(size, scale, words_of(rng()))
    released = held.plus(coarse.all_rounded(held.offset, check=check))
    assert (np.abs(released - (row + fine)) <= 0.5 + 2.0**-20).all()
    alone = np.rint(row) + coarse.all_rounded(check=check)
    assert (np.abs(alone - (row + fine)) > 0.5 + 2.0**-20).any()


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
    count = Laplace(1.0).add(7, **told(), rng=rng())
    assert count.shape == ()
    assert count == Laplace(1.0).add(7.0, **told(), rng=rng())


def test_sums_of_any_size_are_added_and_none_is_refused() -> None:
    """Beyond 2^53 steps the sum is rounded once, after the noise. Kills an exception, an overflow
    and a clamp that tell of a private sum, and a sum that is rounded before its noise.
    """
    noise = Gaussian(2.0**25)  # steps of 1
    assert step_of(noise, 1) == 1.0
    drawn = int(noise.add(0.0, **told(), rng=rng()))
    for sign in (1, -1):
        for size in (2**52 + 1, 2**53 + 2, 2**60 + 2**9, 3 * 2**70):
            released = int(noise.add(float(sign * size), **told(), rng=rng()))
            assert released == int(float(sign * size + drawn))
    far = Gaussian(1.0).add([1e280, -1e280, 1e300, 5e-324], **told(), rng=rng())
    assert np.isfinite(far).all()
    assert (far[:2] == [1e280, -1e280]).all()
    assert np.isfinite(Gaussian(1e-300).add([1e300, 0.0], **told(), rng=rng())).all()
    assert np.isfinite(Laplace(1e290).add([1e-300, 1e300], **told(), rng=rng())).all()


@pytest.mark.parametrize(
    ("value", "changes", "error", "message"),
    [
        ([math.nan], {}, ValueError, "value must be finite"),
        ([], {}, ValueError, "value must not be empty"),
        (["1"], {}, TypeError, "value must be numeric"),
        ([1], {"unit": 0.0}, ValueError, "unit must be positive"),
        ([1], {"unit": math.inf}, ValueError, "unit must be"),
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


def test_steps_are_far_below_the_noise_and_not_too_fine_for_the_sampler() -> None:
    """Kills a step that looks at the scale alone: 2^20 coordinates add up a million variates."""
    for noise in COMPLEX:
        for size in (1, 2, 40, 2**20):
            scale = float(noise._scale()) / step_of(noise, size)
            assert 2.0**23 <= scale * noise._spread(size) <= 2.0**27
            assert scale * noise._spread(size) < MOST_STEPS / 2.0**19


def test_a_unit_changes_what_a_one_stands_for() -> None:
    """Kills noise in units of the value, and a unit that is rounded before the noise is scaled."""
    third = Fraction(1, 3)
    with ledger() as book:
        noisy = Gaussian(2.0).add([6, 9], **told(unit=third), rng=rng())
    plain = Gaussian(Fraction(6)).add([6, 9], **told(), rng=rng())
    assert (noisy == plain * float(third)).all()
    assert next(iter(book)).scale == 2.0
    square = Gaussian(2.0).add_symmetric(np.eye(2), **told(unit=third), rng=rng())
    same = Gaussian(Fraction(6)).add_symmetric(np.eye(2), **told(), rng=rng())
    assert (square == same * float(third)).all()


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
        noisy = noise.repeatedly((2,), steps=3, hides="gradients", sensitivity=1.0, rng=rng())
        released = [noisy(np.array([k, -k])) for k in (4.0, 6.0, 8.0)]
    assert book.steps == [3]
    one = gaussian_epsilon(delta=1e-5, sigma=5.0, sensitivity=math.sqrt(3))
    assert book.epsilon(delta=1e-5) == pytest.approx(one, rel=1e-9)
    for k, (of, added), result in zip((4.0, 6.0, 8.0), heard, released, strict=True):
        assert (of == [k, -k]).all()
        assert (of + added == result).all()
    with pytest.raises(RuntimeError, match="told of for 3 steps"):
        noisy(np.zeros(2))


@pytest.mark.parametrize("noise", [Gaussian(5.0), Laplace(5.0)])
def test_repetitions_are_single_releases_of_the_bits_in_turn(noise: Any) -> None:
    """Kills a step that uses the variates of another, across the blocks made ahead of it too."""
    size, steps = 40_000, 3
    values = stream(0, "exact-repeats", "data").normal(size=(steps, size))
    noisy = noise.repeatedly((size,), steps=steps, **told(), rng=rng())
    source = rng()
    for value in values:
        assert (noisy(value) == noise.add(value, **told(), rng=source)).all()
    whole = np.rint(2.0**10 * values) / 2.0**10  # of a public grid: noise is rounded ahead of them
    ahead = noise.repeatedly((size,), steps=steps, grid=2.0**-10, **told(), rng=rng())
    plain = noise.repeatedly((size,), steps=steps, **told(), rng=rng())
    for value in whole:
        assert (ahead(value) == plain(value)).all()
    fine = noise.repeatedly((size,), steps=steps, grid=2.0**-60, **told(), rng=rng())
    assert (fine(values[0]) == noise.add(values[0], **told(), rng=rng())).all()
    small = noise.repeatedly((2,), steps=4, **told(), rng=rng())
    together = noise.add(values[0][:8], **told(), rng=rng())
    assert np.concatenate([small(values[0][k : k + 2]) for k in range(0, 8, 2)]).tolist() == (
        together.tolist()
    )
    with pytest.raises(ValueError, match="value must be finite and of shape"):
        noise.repeatedly((2,), steps=4, **told())(np.zeros(3))


def test_symmetric_noise_is_isotropic_in_the_frobenius_norm() -> None:
    """False alarm 3e-5.  Kills sigma off the diagonal (a variance twice as large, of 4,000 draws),
    half of it, and noise that is not symmetric; the part below the diagonal is not read.
    """
    d, sigma = 90, 1000.0
    moments = np.arange(d * d).reshape(d, d)
    noisy = Gaussian(sigma).add_symmetric(moments, **told(), rng=rng())
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
    for bad in (0.0, -1.0, math.nan, math.inf, 2.0**46, Fraction(2**60)):
        with pytest.raises(ValueError, match=name):
            sampler(3, **{name: bad})
    with pytest.raises(TypeError, match="size must be an integer"):
        sampler(2.5, **{name: 1.0})
    assert sampler((0, 3), **{name: 1.0}).shape == (0, 3)
