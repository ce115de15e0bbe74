"""Polynomial kernels: the explicit map, its norm, and a learner on it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel as peer_kernel

from dplit.papers.margin.polynomial import (
    _monomial_count,
    monomial_features,
    polynomial_kernel,
    polynomial_radius,
)
from dplit.streams import stream
from tests.margins.planned import weights


def _records(m=12, d=3):
    return stream(0, "polynomial-tests", "data").standard_normal((m, d))


def test_the_kernel_is_scikit_learns():
    X, Y = _records(), _records(5)
    expected = peer_kernel(X, Y, degree=3, gamma=1.0, coef0=0.7)
    np.testing.assert_allclose(polynomial_kernel(X, Y, degree=3, offset=0.7), expected)


@pytest.mark.claim("margin-poly")
@pytest.mark.parametrize(("degree", "offset"), [(1, 0.0), (2, 0.0), (3, 0.7), (4, 1.0), (5, 0.2)])
def test_inner_products_of_the_monomials_are_the_kernel(degree, offset):
    X = _records()
    Z = monomial_features(X, degree=degree, offset=offset)
    assert Z.shape == (12, _monomial_count(3, degree=degree, offset=offset))
    expected = polynomial_kernel(X, degree=degree, offset=offset)
    np.testing.assert_allclose(Z @ Z.T, expected, rtol=1e-10, atol=1e-9)


@pytest.mark.claim("margin-poly")
def test_the_monomials_are_those_of_the_tensor_power():
    X = _records(4, 2)
    extended = np.hstack([X, np.full((4, 1), math.sqrt(0.3))])
    power = np.einsum("ni,nj,nk->nijk", extended, extended, extended).reshape(4, -1)
    Z = monomial_features(X, degree=3, offset=0.3)
    # each coordinate of Z is the norm of the equal coordinates of the tensor power, with its sign
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, index in enumerate(itertools.product(range(3), repeat=3)):
        groups.setdefault(tuple(sorted(index)), []).append(place)
    columns = np.array(
        [power[:, places[0]] * math.sqrt(len(places)) for places in groups.values()]
    ).T
    np.testing.assert_allclose(np.sort(Z, axis=1), np.sort(columns, axis=1), atol=1e-12)


@pytest.mark.claim("margin-poly")
@pytest.mark.parametrize("r", [0.3, 1.0, 2.0])
def test_the_radius_is_attained_on_the_sphere_and_not_exceeded_inside(r):
    X = _records(50)
    sphere = r * X / np.linalg.norm(X, axis=1, keepdims=True)
    for degree, offset in ((2, 0.0), (3, 1.0)):
        radius = polynomial_radius(r, degree=degree, offset=offset)
        norms = np.linalg.norm(monomial_features(sphere, degree=degree, offset=offset), axis=1)
        np.testing.assert_allclose(norms, radius, rtol=1e-10)
        inside = np.linalg.norm(
            monomial_features(0.9 * sphere, degree=degree, offset=offset), axis=1
        )
        assert np.all(inside < radius)
    assert polynomial_radius(r, degree=5, offset=0.0) == pytest.approx(r**5, rel=1e-14)


@pytest.mark.parametrize(("d", "degree"), [(1, 4), (3, 2), (5, 3)])
def test_counts_are_those_of_the_exponents(d, degree):
    at = sum(1 for e in itertools.product(range(degree + 1), repeat=d) if sum(e) == degree)
    upto = sum(1 for e in itertools.product(range(degree + 1), repeat=d) if sum(e) <= degree)
    assert _monomial_count(d, degree=degree, offset=0.0) == at
    assert _monomial_count(d, degree=degree, offset=0.5) == upto


@pytest.mark.claim("margin-poly")
def test_the_linear_learner_learns_a_quadratic_rule():
    """Inside or outside a circle, 4,000 records at epsilon = 4: above 0.9 where lines get 0.5.

    The norm of the monomials is the bound to which nothing needs to be clipped.
    """
    angle, length = stream(0, "polynomial-learner", "data").random((2, 4000))
    length = np.where(length < 0.5, 0.8 * length, 0.5 + 0.5 * length)
    X = length[:, None] * np.column_stack([np.cos(2 * np.pi * angle), np.sin(2 * np.pi * angle)])
    y = np.where(length < 0.5, 1.0, -1.0)
    kernel = {"degree": 2, "offset": 1.0}
    radius = polynomial_radius(1.0, **kernel)
    Z = monomial_features(X, **kernel)
    assert np.linalg.norm(Z, axis=1).max() <= radius

    def score(rows, norm):
        w = weights(
            rows,
            y,
            margin=0.5,
            radius=4.0,
            data_norm=norm,
            epsilon=4.0,
            delta=1e-6,
            inflation=1.0,
            rng=stream(0, "polynomial-learner", "noise"),
        )
        return np.mean(np.sign(rows @ w) == y)

    assert score(Z, radius) > 0.9
    assert score(X, 1.0) < 0.65
