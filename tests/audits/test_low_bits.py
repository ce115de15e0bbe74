"""Low bits of releases: Mironov's attack on float noise, which finds nothing in exact noise."""

from __future__ import annotations

import numpy as np
import pytest

from dplit.streams import stream
from dplit_studies.audits.low_bits import impossible, one_law_of_low_bits, releases

SIGMA, RUNS = 2.0, 10**6


def drawn(answer: int, *, exact: bool) -> np.ndarray:
    rng = stream(0, f"low-bits-{answer}-{exact}", "noise")
    return releases(answer, sigma=SIGMA, runs=RUNS, exact=exact, rng=rng)


@pytest.mark.claim("audits-beyond-exact")
def test_low_bits_tell_neighbours_apart_under_float_noise_alone() -> None:
    """Float noise: many releases of 0 are impossible for 1, and none of 1. Exact noise: no release
    is impossible for either, and the last six bits of the steps have one law (false alarm 2e-5).

    Kills an attack that accuses what a 1 can give, and noise whose last bits are of the sum.
    """
    floats = [impossible(drawn(s, exact=False)).sum() for s in (0, 1)]
    assert 0.1 * RUNS < floats[0] < 0.16 * RUNS
    assert floats[1] == 0
    exact = [drawn(s, exact=True) for s in (0, 1)]
    assert [impossible(y).sum() for y in exact] == [0, 0]
    assert abs(exact[0].std() / SIGMA - 1) < 5 / np.sqrt(2 * RUNS)
    step = 2.0**-24
    assert all((y == step * np.rint(y / step)).all() for y in exact)
    assert one_law_of_low_bits(*exact, step=step) > 2e-5
    odd = exact[1] + step * (np.rint(exact[1] / step) % 2)  # planted: a 1 leaves no odd steps
    assert one_law_of_low_bits(exact[0], odd, step=step) < 2e-5
