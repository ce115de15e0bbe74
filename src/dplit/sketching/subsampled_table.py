r"""Table 2: noise for subsampled sums, as printed, as reached by records, and as it has to be.

Every cell is a distance Q that one record moves the sum under the worst mask; the noise is
:math:`Q/\varepsilon` (Laplace) or :math:`\eta Q/\sqrt{2\varepsilon}` (Gaussian). A cell is wrong if
two records move the sum further than it says.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Neighboring, check_finite_array, check_integer, check_rng
from dplit.features import complex_features, orthonormal_blocks
from dplit.sketching.masks import MaskLaw, mask_law, mask_support
from dplit.sketching.quadratic_sensitivity import replace_l1_exact, replace_search
from dplit.sketching.subsampled_gaussian import fourier_q2
from dplit.sketching.subsampled_laplace import masked_norms
from dplit.sketching.subsampled_quadratic import masked_quartic, quadratic_q1, quadratic_q2

__all__ = ["TableCell", "attaining_pair", "fourier_cells", "quadratic_cells", "table_cells"]

Array = NDArray[np.float64]
_BOTH: tuple[Neighboring, Neighboring] = ("add_remove", "replace_one")


class TableCell(NamedTuple):
    """One cell: features, norm, neighbours, its lemma, and three distances."""

    features: str
    norm: int
    neighboring: str
    lemma: str
    printed: float
    reached: float
    safe: float

    @property
    def wrong(self) -> bool:
        """Whether two records move the sum further than the cell says."""
        return self.reached > self.printed * (1 + 1e-9)


def attaining_pair(frequencies: ArrayLike) -> tuple[Array, Array]:
    r"""Two records at which all Fourier features are as large, and as far apart, as they can be.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        Linearly independent frequencies, so m is at most d.

    Returns
    -------
    x, y : ndarrays of shape (d,)
        Records with all angles :math:`\pi/4` and :math:`5\pi/4`.

    Raises
    ------
    ValueError
        If the frequencies are linearly dependent.

    References
    ----------
    Chatalic et al. (2022), Lemma 17.

    Examples
    --------
    >>> from dplit.sketching.subsampled_table import attaining_pair
    >>> [v.round(4).tolist() for v in attaining_pair([[1.0]])]
    [[0.7854], [3.927]]
    """
    columns = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    d, m = columns.shape
    if np.linalg.matrix_rank(columns) < m:
        raise ValueError(f"frequencies must be linearly independent, got shape {(d, m)}")
    angle = np.full(m, math.pi / 4)
    x = np.linalg.lstsq(columns.T, angle, rcond=None)[0]
    y = np.linalg.lstsq(columns.T, 5 * angle, rcond=None)[0]
    return x, y


def fourier_cells(frequencies: ArrayLike, law: MaskLaw) -> list[TableCell]:
    """The four cells of random Fourier features, with the pair that attains them.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        Linearly independent frequencies.
    law : MaskLaw
        With a fixed number of ones.

    Returns
    -------
    list of TableCell

    Raises
    ------
    ValueError
        If the frequencies are dependent, or the law has no fixed number of ones.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.subsampled_table import fourier_cells
    >>> any(cell.wrong for cell in fourier_cells(np.eye(4), mask_law("uniform", 4, n_kept=2)))
    False
    """
    if law.n_kept is None:
        raise ValueError(f"law must have a fixed number of ones, got scheme={law.scheme!r}")
    x, y = attaining_pair(frequencies)
    features = complex_features(np.stack([x, y]), frequencies, normalize=False)
    masks, m = mask_support(law)[0], law.n_components
    cells = []
    for norm, lemmas in ((1, ("Lemma 18", "Lemmas 17, 23")), (2, ("Lemmas 23, 24",) * 2)):
        for lemma, relation in zip(lemmas, _BOTH, strict=True):
            other = None if relation == "add_remove" else features[1:]
            moved = masked_norms(
                features[:1],
                masks,
                alpha=law.alpha,
                norm=1 if norm == 1 else 2,
                other=other,
            )
            factor = 1.0 if relation == "add_remove" else 2.0
            printed = factor * (math.sqrt(2.0) * m if norm == 1 else m / math.sqrt(law.n_kept))
            safe = printed if norm == 1 else fourier_q2(law, neighboring=relation)
            reached = float(moved.max())
            cells.append(TableCell("Fourier", norm, relation, lemma, printed, reached, safe))
    return cells


def quadratic_cells(
    frequencies: ArrayLike, law: MaskLaw, *, name: str, rng: np.random.Generator
) -> list[TableCell]:
    """The four cells of quadratic features: printed, reached by a search, and safe.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        One frequency per column; a mask keeps at most 20 of them.
    law : MaskLaw
        With a support that can be listed.
    name : str
        Name of the features in the table.
    rng : numpy.random.Generator
        Source of the starts of the searches.

    Returns
    -------
    list of TableCell
        ``printed`` of norm 2 uses the certified quartic, the kindest reading.

    Raises
    ------
    TypeError, ValueError
        If the frequencies do not fit the law.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.masks import mask_law
    >>> from dplit.sketching.subsampled_table import quadratic_cells
    >>> law, rng = mask_law("block", 2, n_kept=2, block=2), np.random.default_rng(0)
    >>> [cell.wrong for cell in quadratic_cells(np.eye(2), law, name="I", rng=rng)]
    [False, True, False, True]
    """
    columns = check_finite_array("frequencies", frequencies, ndim=2).astype(float)
    if columns.shape[1] != law.n_components:
        raise ValueError(f"frequencies must have {law.n_components} columns, got {columns.shape}")
    kept = [columns[:, mask] for mask in mask_support(law)[0] if mask.any()]
    reached = {
        (1, "add_remove"): quadratic_q1(columns, law),
        (1, "replace_one"): max(replace_l1_exact(part) for part in kept) / law.alpha,
        (2, "add_remove"): float(masked_quartic(columns, law, rng=check_rng(rng)).max())
        / law.alpha,
        (2, "replace_one"): max(replace_search(p, norm=2, rng=rng, n_starts=20).value for p in kept)
        / law.alpha,
    }
    lemmas = {1: ("Lemma 20", "Lemmas 19, 23"), 2: ("Lemmas 23, 25",) * 2}
    if law.scheme == "block":
        lemmas[1] = ("Lemma 22", "Lemmas 21, 23")
    cells = []
    for norm, distance in ((1, quadratic_q1), (2, quadratic_q2)):
        for lemma, relation in zip(lemmas[norm], _BOTH, strict=True):
            printed = distance(columns, law, neighboring=relation, as_printed=True)
            safe = distance(columns, law, neighboring=relation)
            found = reached[norm, relation]
            cells.append(TableCell(name, norm, relation, lemma, printed, found, safe))
    return cells


def table_cells(
    *, n_components: int, n_kept: int, n_features: int, rng: np.random.Generator
) -> list[TableCell]:
    """All cells of Table 2 for one draw of every kind of frequencies.

    Parameters
    ----------
    n_components, n_kept : int
        Numbers m of features and r of kept ones; r at most 20.
    n_features : int
        Dimension d of the quadratic features, a divisor of m and of r. The Fourier features have
        dimension m, where the worst records can be solved for.
    rng : numpy.random.Generator
        Source of the frequencies and of the searches.

    Returns
    -------
    list of TableCell
        Twelve cells: Fourier; quadratic, Gaussian frequencies; quadratic, orthonormal blocks.

    Raises
    ------
    TypeError, ValueError
        If the sizes do not fit.

    References
    ----------
    Chatalic et al. (2022), Table 2.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.subsampled_table import table_cells
    >>> sizes = dict(n_components=4, n_kept=2, n_features=2)
    >>> len(table_cells(**sizes, rng=np.random.default_rng(0)))
    12
    """
    m, d = check_integer("n_components", n_components), check_integer("n_features", n_features)
    gaussian = check_rng(rng).standard_normal((d, m)) / math.sqrt(d)
    blocks = orthonormal_blocks(d, m, rng=rng)
    uniform = mask_law("uniform", m, n_kept=n_kept)
    structured = mask_law("block", m, n_kept=n_kept, block=d)
    cells = fourier_cells(rng.standard_normal((m, m)), uniform)
    cells += quadratic_cells(gaussian, uniform, name="quadratic", rng=rng)
    cells += quadratic_cells(blocks, structured, name="quadratic, orthonormal blocks", rng=rng)
    return cells
