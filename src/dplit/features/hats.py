"""Features of a column, or of a pair, on public knots: piecewise linear shapes, categories."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import helmert
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from dplit._base import whole
from dplit._bounds import Box, check_box
from dplit._checks import Array, check_integer, quiet
from dplit._numerics.clipping import clip_rows
from dplit._records import fitted_records, validated

#: Column numbers of each category's indicators.
_Indicators = tuple[tuple[int, ...], ...]

#: Share of a column's squares that its straight line has at the ends; waves have the rest.
_LINE = 0.3

#: How much shorter than 1 rows are made: more than the rounding of a weighted mean of two.
_SLACK = 2.0**-46

#: Knots of a numeric column in a pair, at most. Of 3 to 8, four to six are best on most of the ten
#: tables that were tried, and six where classes lie on a map. Products of :func:`_hat_basis`, or of
#: plain hats, gain less on most; shorter pairs cost less where they are useless, and gain less.
_PAIR_KNOTS = 6


def _hat_basis(n_hats: int) -> Array:
    """Values (n_hats, q) of a column's features at its knots; every row has norm at most 1.

    A line and ``n_hats - 1`` cosines of decreasing weight, the hats of these knots in another
    basis; with two knots the line alone.
    """
    place = np.linspace(-1.0, 1.0, n_hats)[:, None]
    if n_hats == 2:
        return place
    number = np.arange(1.0, n_hats)
    weights = math.sqrt((1.0 - _LINE) / np.sum(number**-2.0)) / number
    waves = weights * np.cos(np.pi * number * (place + 1.0) / 2.0)
    return np.asarray(np.hstack([math.sqrt(_LINE) * place, waves]) * (1.0 - _SLACK))


def _pair_basis(n_hats: int) -> Array:
    """Values (n_hats, n_hats - 1) of a column's features in a pair at its knots, of norm 1.

    The hats, centred as the indicators of a category are and in a basis of as many columns as they
    have directions: every two knots are as far apart.
    """
    if n_hats == 2:
        return _hat_basis(2)
    place = (np.arange(n_hats)[:, None] + 0.5) / n_hats
    waves = np.cos(np.pi * np.arange(1, n_hats) * place) * math.sqrt(2.0 / n_hats)
    return np.asarray(waves * (_contrast(n_hats) * (1.0 - _SLACK)))


def _hat_spread(basis: Array) -> tuple[Array, Array]:
    """Eigenvalues (q,) and eigenvectors of the second moments of the features whose values at the
    knots are ``basis`` (n_hats, q), where a column is uniform between its bounds.
    """
    n_hats = len(basis)
    sizes = np.full(n_hats, 2.0 / 3.0)
    sizes[[0, -1]] = 1.0 / 3.0
    mass = np.diag(sizes) + np.diag(np.full(n_hats - 1, 1.0 / 6.0), 1)
    mass += np.diag(np.full(n_hats - 1, 1.0 / 6.0), -1)
    values, vectors = np.linalg.eigh(basis.T @ (mass / (n_hats - 1)) @ basis)
    return np.maximum(values, 0.0), vectors


def _check_indicators(indicators: Any, n_features: int) -> _Indicators:
    """Return groups of different column numbers."""
    if not isinstance(indicators, (tuple, list)) or not all(
        isinstance(group, (tuple, list)) and len(group) > 0 for group in indicators
    ):
        raise ValueError(
            "indicators must be a tuple of nonempty tuples of column numbers, "
            f"got indicators={indicators!r}"
        )
    groups = tuple(
        tuple(check_integer("indicators", k, minimum=0, maximum=n_features - 1) for k in group)
        for group in indicators
    )
    named = [k for group in groups for k in group]
    if len(set(named)) < len(named):
        raise ValueError(f"indicators must name a column once, got indicators={indicators!r}")
    return groups


def _check_pairs(interactions: Any, groups: _Indicators) -> tuple[tuple[int, int], ...]:
    """Return pairs of places among the groups of column numbers."""
    if not isinstance(interactions, (tuple, list)) or not all(
        isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in interactions
    ):
        raise ValueError(
            "interactions must be a tuple of pairs of column numbers, "
            f"got interactions={interactions!r}"
        )
    place = {k: at for at, group in enumerate(groups) for k in group}
    last = len(place) - 1
    pairs: list[tuple[int, int]] = []
    for pair in interactions:
        one, other = (
            place[check_integer("interactions", k, minimum=0, maximum=last)] for k in pair
        )
        pairs.append((one, other))
    if any(one == other for one, other in pairs):
        raise ValueError(
            "interactions must be pairs of different columns or categories, "
            f"got interactions={interactions!r}"
        )
    if len(set(map(frozenset, pairs))) < len(pairs):
        raise ValueError(f"interactions must name a pair once, got interactions={interactions!r}")
    return tuple(pairs)


def _contrast(size: int) -> float:
    """Factor that brings the centred indicators of a category of ``size`` values to norm 1."""
    return math.sqrt(size / (size - 1.0))


def _category_spread(size: int) -> Array:
    """Eigenvalues (size,) of the second moments of a category's features, where its values are
    equally frequent; of a lone indicator, where it is 1 in half of the records.
    """
    return np.r_[0.0, np.full(size - 1, 1.0 / (size - 1.0))] if size > 1 else np.array([0.5])


def _centred(X: Array) -> Array:
    """Indicators (n, s) less their mean in each row, of norm at most 1; one alone stays."""
    rows = clip_rows(X, 1.0)
    if rows.shape[1] == 1:
        return rows
    rows = (rows - rows.mean(axis=1, keepdims=True)) * _contrast(rows.shape[1])
    return clip_rows(rows, 1.0)


def _stated_box(box: Any, n_features: int) -> Box:
    """``check_box``, whose refusals name the parameter ``box``."""
    try:
        return check_box(box, n_features)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).replace("bounds", "box")) from None


@dataclass(frozen=True)
class HatMap:
    """The map from records to features: made of public numbers alone.

    ``groups`` has the columns of each part of a row, in the order of the features; those that are
    ``numeric`` are one column, the others the indicators of one category. Behind them stand
    ``pairs``, by the places of their two groups.

    >>> hats = HatMap.of(4, (0.0, 1.0), ((1, 2),), 3)  # a column, and a category of two values
    >>> hats.groups, hats.numeric, hats(np.array([[0.5, 1.0, 0.0]])).shape
    (((0,), (1, 2)), (True, False), (1, 6))
    """

    box: Box
    groups: _Indicators
    numeric: tuple[bool, ...]
    basis: Array
    pairs: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(
        cls, n_hats: int, box: Any, indicators: Any, n_features: int, interactions: Any = ()
    ) -> Self:
        """Check the arguments of :class:`HatFeatures` for a number of columns."""
        knots = check_integer("n_hats", n_hats, minimum=2)
        checked = _stated_box(box, n_features)
        groups = _check_indicators(indicators, n_features)
        named = {k for group in groups for k in group}
        alone = [(k,) for k in range(n_features) if k not in named]
        order = tuple(sorted([*groups, *alone]))
        numeric = tuple(group[0] not in named for group in order)
        pairs = _check_pairs(interactions, order)
        return cls(checked, order, numeric, _hat_basis(knots), pairs)

    @property
    def parts(self) -> int:
        """Number of parts of a row, each of norm at most 1: groups and pairs."""
        return len(self.groups) + len(self.pairs)

    @property
    def paired(self) -> Array:
        """Values of a numeric group's features in a pair, at its knots there."""
        return _pair_basis(min(len(self.basis), _PAIR_KNOTS))

    def slices(self) -> list[slice]:
        """Return the place of each group, and then of each pair, among the features."""
        widths = [
            self.basis.shape[1] if numeric else len(group)
            for group, numeric in zip(self.groups, self.numeric, strict=True)
        ]
        widths += [
            math.prod(
                self.paired.shape[1] if self.numeric[k] else len(self.groups[k]) for k in pair
            )
            for pair in self.pairs
        ]
        ends = np.cumsum(widths).tolist()
        return [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]

    def __call__(self, X: Array) -> Array:
        """Features (n, D) of records (n, d): no row depends on another or on its place."""
        units, parts = self.box.unit(X), self.slices()
        out = np.empty((len(X), parts[-1].stop))
        for k, part in enumerate(parts[: len(self.groups)]):
            out[:, part] = self._own(X, units, k, self.basis)
        for (one, other), part in zip(self.pairs, parts[len(self.groups) :], strict=True):
            left = self._own(X, units, one, self.paired)
            right = self._own(X, units, other, self.paired)
            out[:, part] = (left[:, :, None] * right[:, None, :]).reshape(len(X), -1)
        return out

    def _own(self, X: Array, units: Array, group: int, basis: Array) -> Array:
        """Features (n, q) of one group, of a numeric one in a basis."""
        columns = self.groups[group]
        if not self.numeric[group]:
            return _centred(X[:, list(columns)])
        last = len(basis) - 2
        place = (units[:, columns[0]] + 1.0) * ((last + 1) / 2.0)
        left = np.minimum(place.astype(np.intp), last)
        share = (place - left)[:, None]
        return np.asarray((1.0 - share) * basis[left] + share * basis[left + 1])

    def _factor(self, group: int) -> tuple[Array, Array, Array]:
        """Values (K, q) of a group's features in a pair at its knots or of its indicators, and
        eigenvalues and eigenvectors of their second moments as :meth:`spread` has them.
        """
        if self.numeric[group]:
            return self.paired, *_hat_spread(self.paired)
        size, values = len(self.groups[group]), _category_spread(len(self.groups[group]))
        if size == 1:
            return np.ones((1, 1)), values, np.ones((1, 1))
        centred = (np.eye(size) - 1.0 / size) * _contrast(size)
        return centred, values, helmert(size, full=True).T

    def spread(self) -> list[Array]:
        """Eigenvalues of each part's second moments where columns are uniform in the box, values
        of a category equally frequent, and the two groups of a pair independent.
        """
        values = _hat_spread(self.basis)[0]
        alone = [
            values if numeric else _category_spread(len(group))
            for group, numeric in zip(self.groups, self.numeric, strict=True)
        ]
        return alone + [
            np.outer(self._factor(one)[1], self._factor(other)[1]).ravel()
            for one, other in self.pairs
        ]

    def shape(self, part: int, coef: Array) -> Array:
        """Values at the knots, or of the indicators, of coefficients (..., q) of one part."""
        if part >= len(self.groups):
            left, right = (self._factor(k)[0] for k in self.pairs[part - len(self.groups)])
            table = coef.reshape(*coef.shape[:-1], left.shape[1], right.shape[1])
            return np.asarray(left @ table @ right.T)
        if self.numeric[part]:
            return np.asarray(coef @ self.basis.T)
        size = coef.shape[-1]
        if size == 1:
            return coef.copy()
        return np.asarray((coef - coef.mean(axis=-1, keepdims=True)) * _contrast(size))

    def deviations(self, part: int, variance: Callable[[Array], Array]) -> Array:
        """Standard deviations of :meth:`shape` for coefficients of independent noise, whose
        variance is a function of the eigenvalues of :meth:`spread`.
        """
        if part >= len(self.groups):
            left, right = (self._factor(k) for k in self.pairs[part - len(self.groups)])
            gain = variance(np.outer(left[1], right[1]).ravel()).reshape(-1, len(right[1]))
            return np.sqrt(((left[0] @ left[2]) ** 2) @ gain @ ((right[0] @ right[2]) ** 2).T)
        if self.numeric[part]:
            values, vectors = _hat_spread(self.basis)
            return np.sqrt(((self.basis @ vectors) ** 2) @ variance(values))
        gain = variance(self.spread()[part][-1:])
        size = len(self.groups[part])
        return np.sqrt(np.repeat(gain, size))  # centred, and then longer by as much

    def knots(self, group: int, *, paired: bool = False) -> Array | None:
        """Knots of a numeric group, or its coarser ones in a pair, in the units of its column;
        None for a category.
        """
        if not self.numeric[group]:
            return None
        basis = self.paired if paired else self.basis
        place = np.linspace(-1.0, 1.0, len(basis))[:, None]
        return self.box.data(np.repeat(place, len(self.box.half), axis=1))[:, self.groups[group][0]]


class HatFeatures(
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Piecewise linear functions of each column on public knots, without learning anything.

    Parameters
    ----------
    n_hats : int, default=8
        Number of knots of a numeric column, equally spaced between its bounds, at least 2. As many
        features stand for the column; with 2 it is one, the column itself in [-1, 1].
    box : tuple
        Lowest and highest values of the columns: two numbers, or two rows with one for each. Must
        be given, and chosen without the data; values outside are clipped. Those of indicators are
        not used.
    indicators : tuple of tuples of int, default=()
        For each category the numbers of its indicator columns, as ``OneHotEncoder`` with stated
        categories makes them: 1 for the value of the record, which may be none of them. A feature
        stands for each, see the notes.
    interactions : tuple of pairs of int, default=()
        Pairs of columns that have features of their own, beside those of each column: two column
        numbers, of which one of its indicators stands for a category. Chosen without the data.

    Attributes
    ----------
    n_features_in_ : int
    n_features_out_ : int

    Notes
    -----
    The features of a column are a line and cosines, interpolated between the knots:

    .. math:: \phi(x)=\sum_kh_k(u)\,p_k,\qquad p_k=\Bigl(\sqrt a\,u_k,\ \tfrac{\sqrt{1-a}\,c}{j}
        \cos\frac{\pi j(u_k+1)}2\Bigr)_{j<K},

    with u the column in [-1, 1], a = 0.3 and c such that the factors of the cosines have squares
    that add to 1 - a. The hats :math:`h_k(u)\ge0` add to 1 and :math:`\|p_k\|\le1`, so that
    :math:`\|\phi(x)\|\le1` for every x, in floating point as well; so do those of a
    category of s values, its indicators less 1/s, times :math:`\sqrt{s/(s-1)}`, or all 0 where the
    value is none of them. The features of a record of m columns and categories have norm at most
    :math:`\sqrt m`. Hats alone would span the same functions (a constant beside): in this basis
    smooth shapes have short coefficients, which is what gradients learn first and penalties spare.
    A pair has the products :math:`\psi(x)\otimes\psi(x')`, of norm at most 1 too, so that with p of
    them m + p stands for m. On min(n_hats, 6) knots :math:`\psi(x)=\sum_kh_k(u)\,q_k`, where the
    :math:`q_k` are of norm 1 and each two as far apart as two values of a category, whose
    :math:`\psi` are its features; with two knots it is the line. The map uses no randomness and no
    data, only their number of columns.

    Examples
    --------
    >>> features = HatFeatures(5, box=(0.0, 10.0)).fit([[3.0, 1.0]])
    >>> rows = features.transform([[3.0, 1.0], [99.0, 5.0]])
    >>> rows.shape, bool((rows**2).sum(axis=1).max() <= 2.0)
    ((2, 10), True)
    """

    def __init__(
        self,
        n_hats: int = 8,
        *,
        box: Any = None,
        indicators: Any = (),
        interactions: Any = (),
    ) -> None:
        self.n_hats = n_hats
        self.box = box
        self.indicators = indicators
        self.interactions = interactions

    @whole
    @quiet
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Take the number of columns of ``X`` and nothing else; ``y`` is ignored.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.
        y : Ignored

        Returns
        -------
        HatFeatures
        """
        records = validated(self, X, dtype=np.float64)
        self._map = HatMap.of(
            self.n_hats, self.box, self.indicators, records.shape[1], self.interactions
        )
        self.n_features_out_ = self._map.slices()[-1].stop
        return self

    @quiet
    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Map every record to its features.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite records.

        Returns
        -------
        ndarray of shape (n_samples, D)
            With D = ``n_features_out_``.
        """
        return self._map(fitted_records(self, X))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Names of the features: of indicators their own, else ``<column>_line``, ``_wave1``, ...,
        and of pairs ``<column>_by_<column>_1``, with the first indicator of a category.

        Parameters
        ----------
        input_features : array_like of str or None, default=None
            Names of the columns; None: those seen by ``fit``, or ``x0``, ``x1``, ...

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        ends = ["line", *(f"wave{j}" for j in range(1, self._map.basis.shape[1]))]
        told: list[str] = []
        for group, numeric in zip(self._map.groups, self._map.numeric, strict=True):
            own = [str(names[k]) for k in group]
            told += [f"{own[0]}_{end}" for end in ends] if numeric else own
        parts = self._map.slices()[len(self._map.groups) :]
        for pair, part in zip(self._map.pairs, parts, strict=True):
            both = "_by_".join(str(names[self._map.groups[k][0]]) for k in pair)
            told += [f"{both}_{j}" for j in range(1, part.stop - part.start + 1)]
        return np.asarray(told, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
