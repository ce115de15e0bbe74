"""Table 1 computed: every sensitivity as printed, as corrected, and as reached by records."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit._checks import Neighboring, check_finite_array, check_integer, check_rng
from dplit.features import complex_features, orthonormal_blocks, quantized_features
from dplit.sketching.quadratic_sensitivity import replace_search, s4_ascent
from dplit.sketching.sensitivity import sketch_sensitivity, sum_sensitivity

__all__ = ["Cell", "opposite_pair", "sensitivity_table"]

Array = NDArray[np.float64]
_RELATIONS: tuple[Neighboring, ...] = ("add_remove", "replace_one")
_NORMS: tuple[Literal[1, 2], ...] = (1, 2)


class Cell(NamedTuple):
    """One sensitivity: what is printed, what noise is calibrated to, what records reach."""

    features: str
    neighboring: Neighboring
    norm: Literal[1, 2]
    formula: str
    printed: float
    corrected: float
    reached: float

    @property
    def holds(self) -> bool:
        """Whether no records were found beyond the printed value."""
        return bool(self.reached <= self.printed * (1 + 1e-9))


def opposite_pair(frequencies: ArrayLike) -> Array:
    r"""Return two records that attain all sensitivities of Fourier features, plain and one-bit.

    Parameters
    ----------
    frequencies : array_like of shape (d, m)
        Frequencies of rank m, so m <= d.

    Returns
    -------
    ndarray of shape (2, d)
        x with :math:`\omega_j^\top x=\pi/4` for all j, and y with :math:`5\pi/4`: the features of x
        are :math:`e^{i\pi/4}`, those of y their opposites.

    Raises
    ------
    TypeError, ValueError
        If ``frequencies`` has not full column rank.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.sensitivity_table import opposite_pair
    >>> (opposite_pair(np.eye(2)) / np.pi).round(9)
    array([[0.25, 0.25],
           [1.25, 1.25]])
    """
    omega = check_finite_array("frequencies", frequencies, ndim=2)
    if np.linalg.matrix_rank(omega) < omega.shape[1]:
        raise ValueError(f"frequencies must have full column rank, got shape {omega.shape}")
    unit = np.linalg.pinv(omega.T) @ np.ones(omega.shape[1])
    return np.stack([0.25 * np.pi * unit, 1.25 * np.pi * unit])


def _fourier_cells(name: Literal["fourier", "quantized"], omega: Array) -> list[Cell]:
    records = opposite_pair(omega)
    if name == "fourier":
        features = complex_features(records, omega, normalize=False)
    else:
        features = quantized_features(records, omega, np.zeros(omega.shape[1]))
    texts = {1: ("√2 m", "2√2 m"), 2: ("√m", "2√m")}
    return [
        Cell(
            name, relation, norm, texts[norm][relation == "replace_one"],
            sketch_sensitivity(name, omega, norm=norm, neighboring=relation, as_printed=True),
            sketch_sensitivity(name, omega, norm=norm, neighboring=relation),
            sum_sensitivity(features, norm=norm, neighboring=relation),
        )
        for norm in _NORMS
        for relation in _RELATIONS
    ]  # fmt: skip


def _quadratic_cells(name: str, text: str, omega: Array, rng: np.random.Generator) -> list[Cell]:
    cells = []
    for norm in _NORMS:
        for relation in _RELATIONS:
            if relation == "replace_one":
                reached = replace_search(omega, norm=norm, rng=rng).value
            elif norm == 2:
                reached = s4_ascent(omega, rng=rng).value
            else:
                top = np.linalg.eigh(omega @ omega.T)[1][:, -1]
                reached = float(np.sum((omega.T @ top) ** 2))
            cells.append(
                Cell(
                    name, relation, norm, text if norm == 1 else "S4",
                    sketch_sensitivity(
                        "quadratic", omega, norm=norm, neighboring=relation, as_printed=True
                    ),
                    sketch_sensitivity("quadratic", omega, norm=norm, neighboring=relation),
                    reached,
                )
            )  # fmt: skip
    return cells


def sensitivity_table(
    n_features: int, n_components: int, *, rng: np.random.Generator
) -> list[Cell]:
    r"""Return the cells of Table 1 for one draw of frequencies per row.

    Parameters
    ----------
    n_features : int
        Dimension d.
    n_components : int
        Size m of the quadratic sketches, a multiple of d. Fourier features use m = d frequencies,
        at which the suprema are attained.
    rng : numpy.random.Generator
        Source of the frequencies and of the searches.

    Returns
    -------
    list of Cell
        Two norms and two relations for Fourier, one-bit, Gaussian quadratic features and for
        quadratic features of orthonormal bases. The printed :math:`S_4` stands at its certified
        upper bound: whatever exceeds it exceeds :math:`S_4`.

    Raises
    ------
    TypeError, ValueError
        If a size is not a positive integer, or m is not a multiple of d.

    References
    ----------
    Chatalic et al., Compressive learning with privacy guarantees, Information and Inference 11
    (2022), Table 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.sketching.sensitivity_table import sensitivity_table
    >>> cells = sensitivity_table(2, 4, rng=np.random.default_rng(0))
    >>> [cell.holds for cell in cells[-4:]]
    [True, False, True, False]
    """
    d, m = check_integer("n_features", n_features), check_integer("n_components", n_components)
    check_rng(rng)
    fourier = rng.standard_normal((d, d))
    gaussian = rng.standard_normal((d, m)) / np.sqrt(d)
    blocks = orthonormal_blocks(d, m, rng=rng)
    return [
        *_fourier_cells("fourier", fourier),
        *_fourier_cells("quantized", fourier),
        *_quadratic_cells("quadratic, Gaussian", "‖Ω‖²", gaussian, rng),
        *_quadratic_cells("quadratic, bases", "m/d", blocks, rng),
    ]
