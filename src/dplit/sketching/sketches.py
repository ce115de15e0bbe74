"""Sketches: sums of a feature map over records, with their count, that merge.

Sums rather than means are kept because sums add. They need no more memory than a block of records
and are exact: no bit depends on the order of records, on blocks, threads, chunks or merges.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast, get_args

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from dplit._checks import (
    Neighboring,
    as_numbers,
    check_choice,
    check_finite_array,
    check_integer,
    check_real_array,
    quiet,
)
from dplit._numerics.clipping import clip_rows
from dplit._persons import person_names
from dplit.features import complex_features, quadratic_features, quantized_features
from dplit.sketching._exact_sums import (
    FEATURE_BITS,
    FEATURE_ERROR,
    PhaseAdder,
    QuadraticAdder,
    angle_error,
    default_bound,
    feature_adder,
    quadratic_factor,
)
from dplit.sketching._kinds import Kind, Unit
from dplit.sketching._threads import _in_order

#: Records per block: the angles and cosines of one block stay in the second-level cache.
_BLOCK_ROWS = 128

#: Angles at the bound must be smaller.
_LARGEST_ANGLE = 1e300

#: Blocks whose records are checked together, and whose sums are one part of the total.
_SLAB = 16


@dataclass(frozen=True, eq=False)
class SketchMap:
    r"""The public part of a sketch: which map, at which frequencies, with which dither.

    Parameters
    ----------
    kind : {"fourier", "quantized", "quadratic"}
        :math:`e^{i\omega_j^\top x}`, its one-bit version
        :math:`2^{-1/2}(\mathrm{sign}\cos t+i\,\mathrm{sign}\cos(t-\pi/2))` with
        :math:`t=\omega_j^\top x+u_j`, or :math:`(\omega_j^\top x)^2` on the unit ball.
    frequencies : array_like of shape (n_features, n_components)
        Finite, one frequency per column; arrays are copied and made read-only.
    dither : array_like of shape (n_components,), optional
        Phases u of the quantized map, radians; needed by it and refused by the others.
    bound : float or array_like of shape (n_features,), optional
        Public bound of the absolute values of entries, which :func:`sketch` clamps to it and rounds
        to a fraction of it. By default a power of two at which a coordinate makes 256 to 1024
        turns, over the root of n_features, at its fastest frequency. Refused by the quadratic map.

    >>> fourier = SketchMap("fourier", [[0.0, 1.0]])
    >>> fourier.transform([[0.0]])
    array([[1.+0.j, 1.+0.j]])
    """

    kind: Kind
    frequencies: NDArray[np.float64]
    dither: NDArray[np.float64] | None = None
    bound: NDArray[np.float64] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, get_args(Kind))
        frequencies = check_real_array("frequencies", self.frequencies, 2)
        frequencies.setflags(write=False)
        object.__setattr__(self, "frequencies", frequencies)
        if (self.dither is None) == (self.kind == "quantized"):
            rule = "given for" if self.kind == "quantized" else "None for"
            raise ValueError(f"dither must be {rule} kind={self.kind!r}, got dither={self.dither}")
        if self.dither is not None:
            dither = check_real_array("dither", self.dither, 1)
            if dither.shape != (self.n_components,):
                raise ValueError(
                    f"dither must have one entry per frequency ({self.n_components}), "
                    f"got dither of shape {dither.shape}"
                )
            dither.setflags(write=False)
            object.__setattr__(self, "dither", dither)
        object.__setattr__(self, "bound", self._checked_bound())

    def _checked_bound(self) -> NDArray[np.float64] | None:
        """Return the bound of every coordinate, read-only."""
        if self.kind == "quadratic":
            if self.bound is not None:
                raise ValueError(f"bound must be None for kind='quadratic', got bound={self.bound}")
            return None
        if self.bound is None:
            bound = default_bound(self.frequencies)
        else:
            given = np.asarray(check_finite_array("bound", np.atleast_1d(self.bound), ndim=1))
            if given.shape not in ((1,), (self.n_features,)) or not (given > 0).all():
                raise ValueError(
                    f"bound must be one or {self.n_features} positive numbers, "
                    f"got bound={self.bound}"
                )
            bound = np.broadcast_to(given.astype(np.float64), (self.n_features,)).copy()
            with np.errstate(over="ignore"):
                largest = (bound @ np.abs(self.frequencies)).max()
            if not largest < _LARGEST_ANGLE:
                raise ValueError(f"bound times frequencies must be below 1e300, got {largest:.3g}")
        bound.setflags(write=False)
        return bound

    @property
    def n_features(self) -> int:
        """Dimension d of the records."""
        return int(self.frequencies.shape[0])

    @property
    def n_components(self) -> int:
        """Number m of features; a complex one is two real numbers."""
        return int(self.frequencies.shape[1])

    @property
    def is_complex(self) -> bool:
        """Whether the features are complex: everything but quadratic ones."""
        return self.kind != "quadratic"

    @cached_property
    def fingerprint(self) -> str:
        """Digest of kind, frequencies, dither and bound: equal for equal maps alone."""
        digest = hashlib.sha256(f"{self.kind} {self.frequencies.shape}".encode())
        digest.update(np.ascontiguousarray(self.frequencies).tobytes())
        for more in (self.dither, self.bound):
            if more is not None:
                digest.update(more.tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def angle_error(self) -> NDArray[np.float64]:
        """Most that rounding changes the angles (m,) of records within the bound, in radians."""
        if self.bound is None:
            raise ValueError("kind must be 'fourier' or 'quantized', got kind='quadratic'")
        return angle_error(self.frequencies, self.bound)

    @cached_property
    def feature_error(self) -> NDArray[np.float64]:
        """Most by which a summed feature (m,) differs from :meth:`transform`.

        For a record within the bound, its one-bit feature no closer than :attr:`angle_error` to a
        jump.
        """
        if self.kind == "fourier":
            return FEATURE_ERROR + self.angle_error
        if self.kind == "quantized":
            return np.full(self.n_components, FEATURE_ERROR)
        lost = 1.0 - quadratic_factor(self.n_features)
        return np.asarray(2.0 * lost * np.linalg.norm(self.frequencies, axis=0) ** 2)

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Map records (n, d) to features (n, m) in float64, as the definition says.

        For the quadratic map rows longer than 1 are scaled back to its domain, the unit ball.
        """
        records = check_real_array("X", X, 2, copy=False)
        if records.shape[1] != self.n_features:
            raise ValueError(
                f"X must have {self.n_features} columns, got X of shape {records.shape}"
            )
        if self.kind == "quadratic":
            return quadratic_features(clip_rows(records, 1.0), self.frequencies)
        if self.dither is not None:
            return quantized_features(records, self.frequencies, self.dither)
        return complex_features(records, self.frequencies, normalize=False)

    def column_slice(self, n_components: int) -> SketchMap:
        """Return the map of the first ``n_components`` frequencies."""
        count = check_integer("n_components", n_components, maximum=self.n_components)
        dither = None if self.dither is None else self.dither[:count]
        return SketchMap(self.kind, self.frequencies[:, :count], dither, self.bound)


@dataclass(frozen=True)
class NoiseRecord:
    """Which noise a released sum carries, ``collected / n_shares`` times one release's variance.

    ``scale`` is that of one party's release: Laplace b, Gaussian sigma (per real coordinate), or
    one over the rate; ``count_scale`` that of the Laplace noise on the count (None: public or
    withheld). The guarantee, under ``neighboring``, is reached when ``collected >= n_shares``.

    >>> share = NoiseRecord("laplace", 1.0, n_shares=2)
    >>> share.complete, share.merge(share).complete
    (False, True)
    """

    kind: str
    scale: float
    count_scale: float | None = None
    n_shares: int = 1
    collected: int = 1
    neighboring: Neighboring = "add_remove"

    @property
    def variance_factor(self) -> float:
        """Variance over that of one full release."""
        return self.collected / self.n_shares

    @property
    def complete(self) -> bool:
        """Whether all shares have been collected."""
        return self.collected >= self.n_shares

    def merge(self, other: NoiseRecord) -> NoiseRecord:
        """Return the record of the sum of two independent releases; refuse unlike ones."""
        if replace(self, collected=1) != replace(other, collected=1):
            raise ValueError(f"sketches must carry the same noise, got {self} and {other}")
        collected = self.collected + other.collected
        if self.n_shares > 1 and collected > self.n_shares:
            raise ValueError(
                f"at most {self.n_shares} noise shares must be merged, got {collected} of them"
            )
        return replace(self, collected=collected)


@dataclass(frozen=True, eq=False)
class Sketch:
    """Sum of a feature map over records, with their number: exact (int), noisy (float) or None.

    Of persons (``unit``) it is the sum of a mean each, with their number. Without noise it must not
    be published. The sum is copied and read-only: what a release says of itself stays true.

    ``made`` names what was summed, so that nothing counts twice in a merge: an exact sketch draws a
    name when it is made, which its copies keep, and that of a released one is a digest of what was
    published.

    >>> total = Sketch(np.array([4.0 + 2.0j]), 2, SketchMap("fourier", [[1.0]]))
    >>> total.mean, total.count_is_exact
    (array([2.+1.j]), True)
    """

    sum: NDArray[Any]
    count: float | None
    map: SketchMap
    noise: NoiseRecord | None = None
    unit: Unit = "record"
    made: frozenset[int] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        check_choice("unit", self.unit, get_args(Unit))
        total = np.array(self.sum)
        total.setflags(write=False)
        object.__setattr__(self, "sum", total)
        if not self.made:
            told = repr(self.count).encode() + total.tobytes()
            name = os.urandom(16) if self.noise is None else hashlib.sha256(told).digest()
            number = int.from_bytes(name[:16], "big") | 1 << 127  # of one length, whatever it is
            object.__setattr__(self, "made", frozenset({number}))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied sketch; NumPy forgets there that an array was read-only."""
        self.__dict__.update(state)
        self.sum.setflags(write=False)

    @property
    def count_is_exact(self) -> bool:
        """Whether the number is there without noise, so that it hides no record or person."""
        hidden = self.noise is not None and self.noise.count_scale is not None
        return self.count is not None and not hidden

    @property
    def mean(self) -> NDArray[Any]:
        """Sum over count; a noisy count is not repaired here (see ``release``)."""
        if self.count is None or self.count == 0:
            raise ValueError(f"count must be known and not zero, got count={self.count}")
        return cast("NDArray[Any]", self.sum / self.count)

    def merge(self, other: Sketch) -> Sketch:
        """Return the sketch of the union of two disjoint sets of records, or of persons.

        Raises
        ------
        ValueError
            If the two are no sketches of one kind; or if one sketch, or a copy of it, is in both.
            The same records in two calls of :func:`sketch` are not noticed.
        """
        if not isinstance(other, Sketch):
            raise TypeError(f"other must be a Sketch, got {type(other).__name__}")
        if self.map.fingerprint != other.map.fingerprint:
            raise ValueError(
                "sketches must have the same map, got fingerprints "
                f"{self.map.fingerprint} and {other.map.fingerprint}"
            )
        if self.unit != other.unit:
            raise ValueError(
                f"sketches must have one unit, got one of {self.unit}s and one of {other.unit}s"
            )
        if (self.noise is None) != (other.noise is None):
            raise ValueError("an exact and a noisy sketch must not be merged")
        if (self.count is None) != (other.count is None):
            raise ValueError(
                f"both counts must be known or none, got {self.count} and {other.count}"
            )
        noise = None
        if self.noise is not None and other.noise is not None:
            noise = self.noise.merge(other.noise)
        if self.made & other.made:
            raise ValueError(
                "sketches must be of different records, and one sketch is in both: each record "
                "would count twice; nothing is merged"
            )
        count = None if self.count is None or other.count is None else self.count + other.count
        made = self.made | other.made
        return Sketch(self.sum + other.sum, count, self.map, noise, self.unit, made)


def merge_all(parts: Iterable[Sketch]) -> Sketch:
    """Return the sketch of the union of disjoint parts, at least one: all exact or alike in noise.

    The noise record is complete then; a missing share is an error.

    >>> fourier = SketchMap("fourier", [[1.0, 2.0]])
    >>> X = np.array([[0.1], [0.2], [0.3]])
    >>> merged = merge_all([sketch(X[:1], fourier), sketch(X[1:], fourier)])
    >>> merged.count, bool((merged.sum == sketch(X, fourier).sum).all())  # to the last bit
    (3, True)
    """
    found = list(parts)
    if not found:
        raise ValueError("parts must not be empty, got 0 sketches")
    whole = functools.reduce(Sketch.merge, found)
    if whole.noise is not None and not whole.noise.complete:
        raise ValueError(
            f"all {whole.noise.n_shares} noise shares must be merged, "
            f"got {whole.noise.collected} of them; nothing is released"
        )
    return whole


def _chunks(X: Any, sketch_map: SketchMap) -> Iterator[NDArray[Any]]:
    """Yield the chunks of an array (one) or of an iterable of arrays; check their shapes."""
    if hasattr(X, "ndim"):
        parts: Iterable[Any] = (X,)
    elif isinstance(X, (list, tuple)):
        parts = (X,) if not any(hasattr(part, "ndim") and part.ndim == 2 for part in X) else X
    elif isinstance(X, Iterable):
        parts = X
    else:
        raise TypeError(f"X must be an array or an iterable of arrays, got {type(X).__name__}")
    for index, part in enumerate(parts):
        plain = isinstance(part, np.ndarray) and part.dtype.kind in "biuf"
        chunk = part if plain and part.itemsize <= 8 else as_numbers(f"chunk {index} of X", part)
        if chunk.dtype.kind not in "biuf":
            raise TypeError(f"chunk {index} of X must be real, got dtype {chunk.dtype}")
        if chunk.ndim != 2 or chunk.shape[1] != sketch_map.n_features:
            raise ValueError(
                f"chunk {index} of X must have shape (n, {sketch_map.n_features}), "
                f"got shape {chunk.shape}"
            )
        yield chunk


def _slabs(X: Any, sketch_map: SketchMap, size: int) -> Iterator[tuple[NDArray[Any], int, int]]:
    """Yield slabs of at most ``size`` records, each with its chunk and its first row there."""
    for index, chunk in enumerate(_chunks(X, sketch_map)):
        for start in range(0, len(chunk), size):
            yield np.asarray(chunk[start : start + size]), index, start


def _part(
    adder: PhaseAdder | QuadraticAdder, slab: NDArray[Any], chunk: int, start: int
) -> tuple[NDArray[Any], int]:
    """Return the part of one slab and its number of records, which are to be finite."""
    finite = np.isfinite(slab)
    if not finite.all():
        row = start + int(np.flatnonzero(~finite.all(axis=1))[0])
        raise ValueError(f"X must be finite, got NaN or infinity in chunk {chunk}, row {row}")
    return adder.part(slab), len(slab)


@quiet
def sketch(
    X: Any, sketch_map: SketchMap, *, block_rows: int = _BLOCK_ROWS, n_jobs: int | None = 1
) -> Sketch:
    r"""Exact sketch :math:`\Sigma(X)=\sum_i\Phi(x_i)`, with the count: not to be published.

    X are finite real records (n, d): an array, memory map, iterable of chunks (consumed once, one
    in memory at a time) or dask array, which its own workers sum. Memory is O(``block_rows`` m) for
    each of ``n_jobs`` threads. The sum has the same bits in every order and for every block,
    thread, chunk and BLAS, and merged sketches add to the bits of the whole, up to :math:`2^{30}`
    records: the sensitivity over the reals holds for what is computed. The mean is within
    :attr:`SketchMap.feature_error` of the exact one, a few 1e-6; entries beyond the map's bound are
    clamped to it.

    >>> fourier = SketchMap("fourier", [[1.0, 2.0]])
    >>> whole = sketch(np.array([[0.0], [np.pi]]), fourier)
    >>> whole.count, whole.mean.real.round(5).tolist()
    (2, [0.0, 1.0])
    """
    rows = check_integer("block_rows", block_rows)
    if not isinstance(sketch_map, SketchMap):
        raise TypeError(f"sketch_map must be a SketchMap, got {type(sketch_map).__name__}")
    if type(X).__module__.startswith("dask."):
        return _dask_sketch(X, sketch_map, rows)
    adders = [feature_adder(sketch_map, rows) for _ in range(effective_n_jobs(n_jobs))]
    total, count = np.zeros(adders[0].shape, np.int64), 0
    for part, size in _in_order(_part, _slabs(X, sketch_map, _SLAB * rows), adders):
        total += part
        count += size
    return Sketch(adders[0].total(total, count), count, sketch_map)


@quiet
def sketch_persons(X: ArrayLike, persons: ArrayLike, sketch_map: SketchMap) -> Sketch:
    r"""Exact sketch in which a person counts once: the mean of the features of their records.

    A mean lies in every convex set that holds all features, so that adding, removing or replacing
    *a person, with however many records,* changes the sum by no more than a record changes that of
    :func:`sketch`: a plan of :func:`~dplit.sketching.plans.plan_release` then protects persons,
    at the same noise. What is learnt is the law of a random record of a random person.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Finite real records, in memory, at least one.
    persons : array_like of shape (n,)
        Whose record each is: integers or texts. All records of a person must be in one call;
        sketches of different persons merge.
    sketch_map : SketchMap

    Returns
    -------
    Sketch
        Its ``unit`` is "person", which releases of it and what is decoded from them say, and its
        ``count`` is the number of persons; not to be published. Means are rounded towards zero to
        multiples of :math:`2^{-22}` (quadratic ones relative to their frequency, after a factor
        :math:`1-d2^{-19}` that pays for the rounding of a replacement), so that they add exactly:
        the bits depend on no order of records.

    Raises
    ------
    TypeError, ValueError
        If ``persons`` are not n integers or texts, or X is refused by :func:`sketch`.

    Examples
    --------
    >>> fourier = SketchMap("fourier", [[1.0, 2.0]])
    >>> often = sketch_persons([[0.0]] * 99 + [[np.pi]], ["a"] * 99 + ["b"], fourier)
    >>> often.count, often.mean.real.round(5).tolist()
    (2, [0.0, 1.0])
    """
    if not isinstance(sketch_map, SketchMap):
        raise TypeError(f"sketch_map must be a SketchMap, got {type(sketch_map).__name__}")
    (records,) = _chunks(check_finite_array("X", X, ndim=2), sketch_map)
    own = _rows_of(persons, len(records))
    adder = feature_adder(sketch_map, _BLOCK_ROWS)
    unit, kept = np.full(sketch_map.n_components, 2.0**-FEATURE_BITS), 1.0
    if isinstance(adder, QuadraticAdder):
        unit, kept = np.ldexp(unit, 2 * adder.exponents), 1.0 - sketch_map.n_features * 2.0**-19
    total = np.zeros(sketch_map.n_components, np.complex128 if sketch_map.is_complex else float)
    for rows in own:
        units = np.ascontiguousarray(adder.total(adder.part(records[rows]), len(rows)) / unit)
        total += np.trunc(units.view(float) / len(rows) * kept).view(total.dtype)
    return Sketch(total * unit, len(own), sketch_map, unit="person")


def _rows_of(persons: ArrayLike, n_records: int) -> list[NDArray[np.intp]]:
    """Return the rows of every person."""
    people = person_names("persons", persons)
    if people.shape != (n_records,):
        raise ValueError(f"persons must have shape ({n_records},), got shape {people.shape}")
    codes = np.unique(people, return_inverse=True)[1]
    starts = np.cumsum(np.bincount(codes))[:-1]
    return np.split(np.argsort(codes, kind="stable"), starts)


def _exact_part(index: int, X: Any, sketch_map: SketchMap, rows: int = _BLOCK_ROWS) -> Sketch:
    """Return the exact sketch of one part of the data; an error says which part it was."""
    try:
        return sketch(X, sketch_map, block_rows=rows)
    except (TypeError, ValueError) as error:
        raise type(error)(f"part {index}: {error}; nothing is released") from None


def _dask_sketch(X: Any, sketch_map: SketchMap, rows: int) -> Sketch:
    """Merge the exact sketches of a dask array, each made where its chunk lies: only they travel.

    The scheduler is the one in force. A worker that dies is replaced by dask up to
    ``distributed.scheduler.allowed-failures`` times.
    """
    if X.ndim != 2:
        raise ValueError(
            f"X must have shape (n, {sketch_map.n_features}), got {X.ndim} axes; "
            "nothing is released"
        )
    dask: Any = importlib.import_module("dask")
    part = dask.delayed(_exact_part, pure=False)
    whole = X.rechunk({1: -1}) if hasattr(X, "rechunk") else X  # a data frame
    blocks = np.ravel(whole.to_delayed()).tolist()
    tasks = [part(index, block, sketch_map, rows) for index, block in enumerate(blocks)]
    try:
        return merge_all(dask.compute(*tasks))
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        message = f"workers died while sketching, nothing is released: {error}"
        raise RuntimeError(message) from error
