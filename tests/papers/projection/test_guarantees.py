"""What the repaired noise guarantees: never exceeded, nearly used up, and what a promise saves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from dplit.entries.privacy import fixed_variance
from dplit.papers.projection.guarantees import class_scale, public_sketch_leakage, residual_energy
from dplit.papers.projection.leakage import (
    EntryChannel,
    binary_leakage,
    coherent_bound,
    entry_channels,
    single_entry,
)
from dplit.streams import stream


def _data(n=25, d=3, name="guarantees"):
    rng = stream(0, name, "data")
    return rng.uniform(-1, 1, (n, d)), rng.standard_normal(n)


@pytest.mark.claim("proj-beyond-fixed-noise")
@settings(max_examples=60)
@given(
    aa=st.floats(1e-6, 1.0),
    angle=st.floats(0.0, 1.0),
    size=st.floats(0.0, 1e4),
    epsilon=st.floats(0.05, 3.0),
    n=st.integers(1, 60),
    ends=st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
)
def test_no_channel_of_any_data_exceeds_the_budget(aa, angle, size, epsilon, n, ends):
    """Data sets give an a with |a|^2 <= 1/c and some b; none of them leaks more than epsilon."""
    a2 = aa / fixed_variance(epsilon=epsilon, n_components=n)
    ab = angle * math.sqrt(a2) * size
    channel = EntryChannel(
        *(np.array(v) for v in (a2, ab, size**2, max(a2 * size**2 - ab**2, 0.0)))
    )
    bits, error = binary_leakage(channel, n_components=n, low=min(ends), high=max(ends), nodes=32)
    assert bits <= min(epsilon, 1.0) + error + 1e-9


@pytest.mark.claim("proj-beyond-fixed-noise")
def test_inverse_never_exceeds_one_over_the_variance():
    X, y = _data()
    for data in (X, np.zeros_like(X), np.ones_like(X), X * [[1.0, 1e-3, 1.0]]):
        for response in (y, 1e3 * y, None):
            assert entry_channels(data, response, variance=2.0).aa.max() <= 0.5 * (1 + 1e-12)


@pytest.mark.claim("proj-beyond-fixed-noise")
def test_public_sketch_leakage_is_the_scalar_channel():
    """A sum over the matched filter's output, exact to 1e-12, per value of the chi variable."""
    variance, n = 3.0, 2
    z = np.linspace(-12, 12, 4001)

    def bpsk(u):
        losses = np.logaddexp(0.0, -2 * u - 2 * math.sqrt(u) * z) / math.log(2)
        return 1 - np.trapezoid(norm.pdf(z) * losses, z)

    expected = quad(lambda q: math.exp(-q / 2) / 2 * bpsk(q / variance), 0, 80)[0]  # chi^2_2
    ours = public_sketch_leakage(variance=variance, n_components=n)
    assert ours == pytest.approx(expected, abs=1e-7)
    half = public_sketch_leakage(variance=variance, n_components=n, low=0.0)
    assert half == pytest.approx(
        public_sketch_leakage(variance=4 * variance, n_components=n), rel=1e-12
    )


@pytest.mark.claim("proj-beyond-fixed-noise")
def test_budget_is_nearly_used_up():
    """At 0.2 bit, n' = 200: 0.99 with S public, and with S secret behind an outlying response."""
    variance = fixed_variance(epsilon=0.2, n_components=200)
    public = public_sketch_leakage(variance=variance, n_components=200)
    assert 0.99 * 0.2 < public < 0.2
    X, y = np.zeros((4, 2)), np.array([1e4, 1.0, -1.0, 0.5])
    channel = EntryChannel(*(part[0, 0] for part in entry_channels(X, y, variance=variance)))
    secret = float(binary_leakage(channel, n_components=200)[0])
    assert 0.99 * 0.2 < secret <= public * (1 + 1e-9)


@pytest.mark.claim("proj-lemma2", "proj-beyond-class")
@pytest.mark.parametrize("variance", [0.0, 0.8])
def test_scale_is_the_regression_residual(variance):
    X, y = _data()
    for response in (None, y):
        for row, column in ((0, 0), (7, 2)):
            channel = single_entry(X, response, variance=variance, row=row, column=column)
            residual = residual_energy(X, response, variance=variance, row=row, column=column)
            assert 1 / channel.aa == pytest.approx(residual, rel=1e-10)
            energy = variance + np.sum(np.delete(X[:, column], row) ** 2)
            assert residual < energy


def test_residual_of_a_single_column_is_its_energy():
    X = np.array([[0.3], [1.0], [-0.5]])
    assert residual_energy(X, None, variance=2.0, row=0, column=0) == pytest.approx(3.25)


@pytest.mark.claim("proj-beyond-class")
@pytest.mark.parametrize("with_response", [True, False])
def test_class_scale_protects_every_entry(with_response):
    X, y = _data(12, 3)
    y = y if with_response else None
    for variance in (0.0, 1.7):
        scale = class_scale(X, y, variance=variance)
        channel = entry_channels(X, y, variance=variance)
        assert scale <= 1 / channel.aa.max() + 1e-12
        worst = np.inf
        for i in range(12):  # plain route: smallest eigenvalue of the Schur complement
            rest = np.delete(X, i, 0)
            gram = rest.T @ rest
            if with_response:
                known = np.delete(y, i)
                gram = gram - np.outer(rest.T @ known, known @ rest) / (known @ known)
            worst = min(worst, np.linalg.eigvalsh(gram)[0])
        assert scale == pytest.approx(variance + worst, rel=1e-9)
        epsilon = math.log2(1 + 9 / scale) / 2
        assert coherent_bound(channel, n_components=9).max() <= epsilon + 1e-12


@pytest.mark.claim("proj-beyond-class")
def test_class_scale_is_sharp_for_one_column():
    X = np.ones((9, 1))
    channel = entry_channels(X, None, variance=0.5)
    assert class_scale(X, None, variance=0.5) == pytest.approx(1 / channel.aa.max(), rel=1e-12)
    assert class_scale(np.ones((3, 1)), np.zeros(3), variance=0.0) == pytest.approx(2.0)
