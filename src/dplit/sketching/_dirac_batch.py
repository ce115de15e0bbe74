"""Sketches of weighted points, batched over independent problems: values, gradients, correlations.

A batch holds P problems with m frequencies each. Problems of one group share their frequencies;
groups are stored one after the other, so that an ascending list of problems splits into a few
blocks, each with one matrix product, one cosine and one sine per pair of a point and a frequency.

Everything is in scaled units: points are multiplied by the standard deviation of the frequencies
(one unit is the width of the kernel), sketches are divided by their norm and atoms by sqrt(m).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["DiracBatch", "cosine_and_sine"]

Array = NDArray[Any]

#: Pairs of a point and a frequency per block: cosine, sine and one temporary stay in cache.
_PAIRS = 1 << 16


def cosine_and_sine(phase: Array) -> tuple[Array, Array]:
    """Return cosine and sine; ``phase`` is destroyed.

    float32 uses numpy's vector routines. float64 goes through the half-angle tangent, which is
    exact to rounding and vectorised where numpy's float64 cosine is not.
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
    """Targets and frequencies of P problems, ready for repeated evaluation.

    Parameters
    ----------
    real, imaginary : ndarray of shape (P, m)
        Normalised targets.
    frequencies : ndarray of shape (G, d, m)
        Scaled frequencies, one matrix per group.
    group : ndarray of shape (P,)
        Group of each problem, ascending.
    """

    def __init__(self, real: Array, imaginary: Array, frequencies: Array, group: Array) -> None:
        self.real, self.imaginary = real, imaginary
        self.frequencies, self.group = frequencies, group
        self.n_features, self.n_components = frequencies.shape[1:]
        self._root = real.dtype.type(1.0 / np.sqrt(self.n_components))

    def blocks(self, index: Array, points: int) -> Iterator[_Block]:
        """Split an ascending list of problems, with so many points each, into blocks."""
        size = max(1, _PAIRS // (points * self.n_components))
        group = self.group[index]
        edges = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(index)]
        for low, high in pairwise(edges):
            for start in range(low, high, size):
                yield _Block(slice(start, min(start + size, high)), int(group[low]))

    def waves(self, points: Array, group: int) -> tuple[Array, Array]:
        """Cosines and sines, of shape (..., m), of points of shape (..., d) in one group."""
        flat = points.reshape(-1, self.n_features) @ self.frequencies[group]
        return cosine_and_sine(flat.reshape(*points.shape[:-1], self.n_components))

    def misfit(self, points: Array, weights: Array, index: Array) -> tuple[Array, Array, Array]:
        """Squared distance of targets to mixtures, with its gradients.

        Parameters
        ----------
        points : ndarray of shape (A, k, d)
            Points.
        weights : ndarray of shape (A, k)
            Weights.
        index : ndarray of shape (A,)
            Problems, ascending.

        Returns
        -------
        value, point_gradient, weight_gradient : ndarrays of shapes (A,), (A, k, d), (A, k)
            ``|z - sum_l w_l A(c_l)|^2`` and its derivatives.
        """
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

    def residual(self, points: Array, weights: Array, index: Array) -> tuple[Array, Array]:
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

    def normal_equations(self, points: Array, index: Array) -> tuple[Array, Array]:
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
        self, points: Array, real: Array, imaginary: Array, index: Array
    ) -> tuple[Array, Array]:
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
