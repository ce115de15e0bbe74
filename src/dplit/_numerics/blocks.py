"""Blocks of a random feature map: the one place where angles become coordinates."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from dplit._checks import check_angles, check_finite_array, check_real_array
from dplit._numerics.trigonometry import angle_factor, scaled_cosine, scaled_cosine_and_sine

#: Bytes of a cache line, and of the widest vector register.
LINE = 64


def aligned_empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array whose first byte starts a cache line.

    Otherwise vectors of 64 bytes straddle two lines: three to five per cent of a feature map.
    """
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    raw = np.empty(size + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + size].view(kind).reshape(shape)


Kind = Literal["phased_cosine", "cos_sin", "complex"]

#: Rows and frequencies of a block: 2 MB in float64, about the second-level cache of one core.
BLOCK_ROWS = 128

BLOCK_FREQUENCIES = 2048


@dataclass(frozen=True)
class Plan:
    """A checked map: records (n, d), augmented weights (d + 1, K), kind, scale and output size.

    ``weights`` stacks the frequencies on the phases and carries the angle factor, so that one
    product with ``[x, 1]`` gives the angles that ``dplit._numerics.trigonometry`` expects.
    """

    X: NDArray[Any]
    weights: NDArray[Any]
    kind: Kind
    scale: float

    @classmethod
    def make(
        cls,
        X: ArrayLike,
        frequencies: ArrayLike,
        phases: ArrayLike | None,
        *,
        kind: Kind,
        normalize: bool,
    ) -> Self:
        """Check the three arrays and fold phases, angle factor and normalisation together."""
        records = check_finite_array("X", X, ndim=2)
        columns = check_finite_array("frequencies", frequencies, ndim=2)
        dtype = np.dtype(np.float32 if records.dtype == np.float32 else np.float64)
        for name, array in (("X", records), ("frequencies", columns)):
            if array.dtype.kind == "c":
                raise TypeError(f"{name} must be real, got {name} of dtype {array.dtype}")
        if columns.shape[0] != records.shape[1]:
            raise ValueError(
                f"frequencies must have one row per column of X ({records.shape[1]}), "
                f"got frequencies of shape {columns.shape}"
            )
        check_angles(records, columns, dtype)
        count = columns.shape[1]
        if kind == "phased_cosine":
            if phases is None:
                raise ValueError("phases must be given for phased cosine features, got phases=None")
            offset = check_real_array("phases", phases, 1)
            if offset.shape != (count,):
                raise ValueError(
                    f"phases must have one entry per frequency ({count}), "
                    f"got phases of shape {offset.shape}"
                )
        elif phases is not None:
            raise ValueError(f"phases must be None for {kind} features, got phases={phases!r}")
        else:
            offset = np.zeros(count)
        weights = np.vstack([columns, offset]) * angle_factor(dtype)
        scale = (2.0 / count if kind == "phased_cosine" else 1.0 / count) ** 0.5
        return cls(records, weights.astype(dtype), kind, scale if normalize else 1.0)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the map's entries."""
        if self.kind == "complex":
            return np.result_type(self.weights.dtype, np.complex64)
        return self.weights.dtype

    @property
    def n_outputs(self) -> int:
        """Number of columns of the map."""
        return int(self.weights.shape[1]) * (2 if self.kind == "cos_sin" else 1)

    def beside(self, Y: ArrayLike) -> Self:
        """Return the plan of the same map for other records."""
        records = check_finite_array("Y", Y, ndim=2)
        if records.dtype.kind == "c" or records.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"Y must be real with {self.X.shape[1]} columns, "
                f"got Y of shape {records.shape} and dtype {records.dtype}"
            )
        check_angles(records, self.weights[:-1], self.weights.dtype)
        return replace(self, X=records)

    def restrict(self, *, rows: slice = slice(None), frequencies: slice = slice(None)) -> Self:
        """Return the plan of some records and some frequencies, at the scale of the whole map."""
        weights = self.weights[:, frequencies]
        return replace(self, X=self.X[rows], weights=np.ascontiguousarray(weights))

    def targets(
        self, out: NDArray[Any], frequencies: slice
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Return the views of ``out`` (n, n_outputs) that take the cosines and the sines."""
        if self.kind == "phased_cosine":
            return out[:, frequencies], None
        if self.kind == "complex":
            return out[:, frequencies].real, out[:, frequencies].imag
        count = self.weights.shape[1]
        return out[:, frequencies], out[:, frequencies.start + count : frequencies.stop + count]


@functools.cache
def _blas() -> Any:
    """Return the handle of numpy's BLAS, whose search among the loaded libraries takes 2 ms."""
    return ThreadpoolController()


class _OneThread:
    """A limit of BLAS to one thread that counts who wants it: the whole process has one limit.

    The first sets it and the last restores what was before. Nested limits of several threads, each
    of which restores what *it* found, leave one thread for good where they overlap.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Hold BLAS at one thread; any number of threads may do so at once."""
        with self._lock:
            if not self._holders:
                self._limit = _blas().limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if not self._holders:
                    self._limit.__exit__(None, None, None)


one_blas_thread = _OneThread()


def fill(plan: Plan, n_jobs: int | None = 1) -> NDArray[Any]:
    """Return the map (n, n_outputs) of the plan; blocks of rows are shared among threads.

    The blocks start at multiples of ``BLOCK_ROWS`` whatever the number of threads, so that the
    same matrix products are made and the result has the same bytes.
    """
    n = len(plan.X)
    out = np.empty((n, plan.n_outputs), plan.dtype)
    threads = min(joblib.effective_n_jobs(n_jobs), -(-n // BLOCK_ROWS))
    if threads == 1:
        _fill_rows(plan, out, 0, n)
        return out
    share = -(-n // (threads * BLOCK_ROWS)) * BLOCK_ROWS
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        parts = [
            pool.submit(_fill_rows, plan, out, start, min(start + share, n))
            for start in range(0, n, share)
        ]
        for part in parts:
            part.result()
    return out


def _fill_rows(plan: Plan, out: NDArray[Any], first: int, last: int) -> None:
    """Fill rows first to last of ``out`` block by block, in scratch memory of one block."""
    lift, count = plan.weights.shape
    width = min(count, BLOCK_FREQUENCIES)
    pieces = [slice(k, min(k + width, count)) for k in range(0, count, width)]
    blocks = [np.ascontiguousarray(plan.weights[:, piece]) for piece in pieces]
    lifted = np.ones((min(BLOCK_ROWS, last - first), lift), plan.weights.dtype)
    scratch = aligned_empty((len(lifted) * width,), plan.weights.dtype)
    for start in range(first, last, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, last))
        n = rows.stop - start
        lifted[:n, :-1] = plan.X[rows]  # (n, d + 1): a last column of ones carries the phases
        for piece, weights in zip(pieces, blocks, strict=True):
            angle = scratch[: n * weights.shape[1]].reshape(n, -1)  # (n, frequencies)
            np.matmul(lifted[:n], weights, out=angle)
            cosine, sine = plan.targets(out[rows], piece)
            if sine is None:
                scaled_cosine(angle, cosine, plan.scale)
            else:
                scaled_cosine_and_sine(angle, cosine, sine, plan.scale)


def row_blocks(plan: Plan, rows: int) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield the map in blocks of at most ``rows`` records, with the records they belong to."""
    for start in range(0, len(plan.X), rows):
        piece = slice(start, min(start + rows, len(plan.X)))
        yield piece, fill(plan.restrict(rows=piece))


def frequency_blocks(plan: Plan, step: int) -> Iterator[NDArray[Any]]:
    """Yield the coordinates of all records at ``step`` frequencies after the other."""
    for start in range(0, plan.weights.shape[1], step):
        yield fill(plan.restrict(frequencies=slice(start, start + step)))
