"""The steps of the batched decoder: find an atom, weigh the atoms, drop one, adjust all."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplit._solvers.lbfgs import Box, minimise

# Sketches of weighted points, batched over independent problems. Problems of one group share their
# frequencies and follow each other, so that an ascending list of problems splits into a few blocks,
# each with one matrix product. In scaled units: points times the standard deviation of the
# frequencies, sketches divided by their norm, atoms by sqrt(m).


#: Pairs of a point and a frequency per block: cosine, sine and one temporary stay in cache.
_PAIRS = 1 << 16


def cosine_and_sine(phase: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return cosine and sine; ``phase`` is destroyed.

    float32 uses numpy's vector routines; float64 the half-angle tangent, exact to rounding and
    vectorised where numpy's float64 cosine is not.
    """
    if phase.dtype == np.float32:
        cosine = np.cos(phase)
        return cosine, np.sin(phase, out=phase)
    np.multiply(phase, 0.5, out=phase)
    np.tan(phase, out=phase)
    cosine = 2.0 / (1.0 + phase * phase)
    phase *= cosine
    cosine -= 1.0
    return cosine, phase


class _Block(NamedTuple):
    rows: slice  # of the arrays in the call
    group: int


class DiracBatch:
    """Targets (P, m) and scaled frequencies (G, d, m) of P problems, in ascending groups."""

    def __init__(
        self,
        real: NDArray[Any],
        imaginary: NDArray[Any],
        frequencies: NDArray[Any],
        group: NDArray[Any],
    ) -> None:
        self.real, self.imaginary = real, imaginary
        self.frequencies, self.group = frequencies, group
        self.n_features, self.n_components = frequencies.shape[1:]
        self._root = real.dtype.type(1.0 / np.sqrt(self.n_components))

    def blocks(self, index: NDArray[Any], points: int) -> Iterator[_Block]:
        """Split an ascending list of problems, with so many points each, into blocks."""
        size = max(1, _PAIRS // (points * self.n_components))
        group = self.group[index]
        edges = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(index)]
        for low, high in pairwise(edges):
            for start in range(low, high, size):
                yield _Block(slice(start, min(start + size, high)), int(group[low]))

    def waves(self, points: NDArray[Any], group: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Cosines and sines, of shape (..., m), of points of shape (..., d) in one group."""
        flat = points.reshape(-1, self.n_features) @ self.frequencies[group]
        return cosine_and_sine(flat.reshape(*points.shape[:-1], self.n_components))

    def misfit(
        self, points: NDArray[Any], weights: NDArray[Any], index: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Squared distance (A,) of targets to mixtures, and its slopes in points and weights."""
        value = np.empty(len(index), points.dtype)
        slope, weight_slope = np.empty_like(points), np.empty_like(weights)
        scaled = weights * self._root
        for rows, group in self.blocks(index, points.shape[1]):
            cosine, sine = self.waves(points[rows], group)
            mix = scaled[rows, None, :]
            real = self.real[index[rows]] - (mix @ cosine)[:, 0]
            imaginary = self.imaginary[index[rows]] - (mix @ sine)[:, 0]
            value[rows] = np.einsum("am,am->a", real, real)
            value[rows] += np.einsum("am,am->a", imaginary, imaginary)
            inner = cosine @ real[:, :, None] + sine @ imaginary[:, :, None]
            weight_slope[rows] = inner[:, :, 0] * (-2.0 * self._root)
            cosine *= imaginary[:, None, :]
            sine *= real[:, None, :]
            sine -= cosine
            turned = sine.reshape(-1, self.n_components) @ self.frequencies[group].T
            slope[rows] = turned.reshape(slope[rows].shape) * (2.0 * scaled[rows, :, None])
        return value, slope, weight_slope

    def residual(
        self, points: NDArray[Any], weights: NDArray[Any], index: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Real and imaginary part of ``z - sum_l w_l A(c_l)``, each of shape (A, m)."""
        real, imaginary = self.real[index].copy(), self.imaginary[index].copy()
        if points.shape[1] == 0:
            return real, imaginary
        scaled = weights * self._root
        for rows, group in self.blocks(index, points.shape[1]):
            cosine, sine = self.waves(points[rows], group)
            real[rows] -= (scaled[rows, None, :] @ cosine)[:, 0]
            imaginary[rows] -= (scaled[rows, None, :] @ sine)[:, 0]
        return real, imaginary

    def normal_equations(
        self, points: NDArray[Any], index: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Gram matrices (A, k, k) of the atoms and their products (A, k) with the targets."""
        count = points.shape[1]
        gram = np.empty((len(index), count, count), points.dtype)
        product = np.empty((len(index), count), points.dtype)
        for rows, group in self.blocks(index, count):
            cosine, sine = self.waves(points[rows], group)
            gram[rows] = cosine @ cosine.transpose(0, 2, 1) + sine @ sine.transpose(0, 2, 1)
            target = index[rows]
            inner = cosine @ self.real[target, :, None] + sine @ self.imaginary[target, :, None]
            product[rows] = inner[:, :, 0]
        return gram * self._root**2, product * self._root

    def correlation(
        self, points: NDArray[Any], real: NDArray[Any], imaginary: NDArray[Any], index: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Correlation ``Re <A(c), r>`` of one point each with one residual each, and its gradient.

        ``points`` has shape (A, d), the residuals (A, m); ``index`` names problems, ascending.
        """
        value, slope = np.empty(len(index), points.dtype), np.empty_like(points)
        for rows, group in self.blocks(index, 1):
            cosine, sine = self.waves(points[rows], group)
            near, far = real[rows], imaginary[rows]
            value[rows] = np.einsum("am,am->a", cosine, near)
            value[rows] += np.einsum("am,am->a", sine, far)
            cosine *= far
            sine *= near
            cosine -= sine
            slope[rows] = cosine @ self.frequencies[group].T
        return value * self._root, slope * self._root


#: Longest move of a coordinate in one step, in widths of the kernel.
_REACH = 1.0

#: Largest store of the candidates' cosines and sines.
_POOL_BYTES = 1 << 27


def nonnegative_weights(
    gram: NDArray[Any], product: NDArray[Any], *, sweeps: int = 200
) -> NDArray[Any]:
    """Weights ``w >= 0`` that minimise ``w G w - 2 b w``, one problem per row.

    The linear system's where that is nonnegative, else at most ``sweeps`` of coordinate descent.
    """
    count, kind = product.shape[1], gram.dtype.type
    ridge = np.eye(count, dtype=gram.dtype) * kind(np.sqrt(np.finfo(gram.dtype).eps) * 0.1)
    weights = np.linalg.solve(gram + ridge, product[:, :, None])[:, :, 0]
    negative = np.flatnonzero((weights < 0).any(axis=1))
    np.maximum(weights, 0, out=weights)
    if negative.size == 0:
        return weights
    g, b, w = gram[negative], product[negative], weights[negative]
    small = np.finfo(gram.dtype).eps * 10 * np.max(np.abs(b))
    for _ in range(sweeps):
        before = w.copy()
        for atom in range(count):
            gap = b[:, atom] - np.einsum("ak,ak->a", g[:, atom], w)
            w[:, atom] = np.maximum(w[:, atom] + gap / g[:, atom, atom], 0)
        if np.max(np.abs(w - before)) <= small:
            break
    weights[negative] = w
    return weights


class Pool:
    """Uniform points of the box where new atoms may start, the same for a group's problems.

    Their cosines and sines are kept between rounds, within ``_POOL_BYTES``.
    """

    def __init__(self, batch: DiracBatch, box: Box, size: int, rng: np.random.Generator) -> None:
        self.box = box
        groups, dimension = len(batch.frequencies), batch.n_features
        kind = batch.real.dtype
        self.points = rng.uniform(*box, (groups, size, dimension)).astype(kind)
        self.rows = np.searchsorted(batch.group, np.arange(groups + 1))
        self._batch = batch
        keep = 2 * groups * size * batch.n_components * kind.itemsize <= _POOL_BYTES
        self._waves = [self._wave(group) for group in range(groups)] if keep else None

    def _wave(self, group: int) -> tuple[NDArray[Any], NDArray[Any]]:
        return self._batch.waves(self.points[group], group)

    def scores(self, real: NDArray[Any], imaginary: NDArray[Any]) -> NDArray[Any]:
        """Correlation of every candidate with the residuals of its group, of shape (P, size)."""
        score = np.empty((len(real), self.points.shape[1]), real.dtype)
        for group in range(len(self.points)):
            rows = slice(self.rows[group], self.rows[group + 1])
            cosine, sine = self._waves[group] if self._waves else self._wave(group)
            score[rows] = real[rows] @ cosine.T + imaginary[rows] @ sine.T
        score /= np.sqrt(self._batch.n_components, dtype=real.dtype)
        return score


def _starts(
    batch: DiracBatch,
    pool: Pool,
    residual: tuple[NDArray[Any], NDArray[Any]],
    share: float,
    count: int,
    rng: np.random.Generator,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Candidates that correlate best with each residual, out of a random share of the pool."""
    score = pool.scores(*residual)
    score[rng.random(score.shape, dtype=np.float32) > share] = -np.inf
    best = np.argpartition(-score, count - 1, axis=1)[:, :count]
    value = np.take_along_axis(score, best, 1)
    points = pool.points[batch.group[:, None], best]
    return points.reshape(-1, batch.n_features), value.ravel()


def add_atoms(
    batch: DiracBatch,
    points: NDArray[Any],
    weights: NDArray[Any],
    pool: Pool,
    *,
    share: float,
    count: int,
    max_iter: int,
    rng: np.random.Generator,
) -> NDArray[Any]:
    """Append to each problem the atom that correlates best with its residual.

    The best ``count`` candidates out of a random ``share`` of the pool are improved by ascent on
    ``Re <A(c), r>`` within the pool's box, and the best of them is taken.
    """
    every = np.arange(len(points))
    residual = batch.residual(points, weights, every)
    starts, value = _starts(batch, pool, residual, share, count, rng)
    owner = np.repeat(every, count)
    real, imaginary = residual

    def objective(x: NDArray[Any], which: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        rows = owner[which]
        height, slope = batch.correlation(x, real[rows], imaginary[rows], rows)
        return -height, -slope

    inverse = np.broadcast_to((1.0 / np.maximum(value, 0.05))[:, None], starts.shape)
    found, height = minimise(
        objective,
        starts,
        pool.box,
        inverse=inverse.astype(starts.dtype),
        tol=1e-3,
        memory=4,
        reach=np.full(batch.n_features, _REACH, starts.dtype),
        max_iter=max_iter,
    )
    best = np.argmin(height.reshape(-1, count), axis=1)
    chosen = found.reshape(-1, count, batch.n_features)[every, best]
    return np.concatenate([points, chosen[:, None]], axis=1)


def drop_lightest(
    batch: DiracBatch, points: NDArray[Any], n_clusters: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weigh the atoms; of one too many drop the lightest and weigh again."""
    every = np.arange(len(points))
    gram, product = batch.normal_equations(points, every)
    weights = nonnegative_weights(gram, product)
    if points.shape[1] <= n_clusters:
        return points, weights
    keep = np.ones(weights.shape, bool)
    keep[every, np.argmin(weights, axis=1)] = False
    shape = (len(points), n_clusters)
    gram = gram[keep[:, :, None] & keep[:, None, :]].reshape(*shape, n_clusters)
    weights = nonnegative_weights(gram, product[keep].reshape(shape))
    return points[keep].reshape(*shape, batch.n_features), weights


def adjust(
    batch: DiracBatch,
    points: NDArray[Any],
    weights: NDArray[Any],
    box: Box,
    *,
    max_iter: int,
    tol: float,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Descend on points and weights together; return them with the squared distances.

    The first inverse Hessian is that of well separated atoms: in scaled units the curvature is
    ``2 w^2`` along a point of weight w and 2 along a weight.
    """
    problems, count, dimension = points.shape
    size, kind = count * dimension, points.dtype

    def objective(x: NDArray[Any], which: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        places = x[:, :size].reshape(-1, count, dimension)
        value, slope, weight_slope = batch.misfit(places, x[:, size:], which)
        return value, np.concatenate([slope.reshape(len(x), -1), weight_slope], axis=1)

    heavy = np.maximum(weights, 0.1 * weights.max(axis=1, keepdims=True) + 1e-6)
    inverse = np.full((problems, size + count), 0.5, kind)
    inverse[:, :size] = np.repeat(0.5 / heavy**2, dimension, axis=1)
    low = np.concatenate([np.tile(box[0], count), np.zeros(count, kind)])
    high = np.concatenate([np.tile(box[1], count), np.full(count, np.inf, kind)])
    reach = np.concatenate([np.full(size, _REACH, kind), np.full(count, np.inf, kind)])
    x, value = minimise(
        objective,
        np.concatenate([points.reshape(problems, -1), weights], axis=1),
        (low, high),
        inverse=inverse,
        reach=reach,
        max_iter=max_iter,
        tol=tol,
    )
    return x[:, :size].reshape(points.shape), x[:, size:], value
