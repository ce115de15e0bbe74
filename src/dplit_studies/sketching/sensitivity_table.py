"""Table 1 computed: every sensitivity as printed, as corrected, and as reached by records."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    Neighboring,
    check_finite_array,
    check_integer,
    check_real_array,
    check_rng,
)
from dplit.features import complex_features, orthonormal_blocks, quantized_features
from dplit.papers.sketching.enumeration import sum_sensitivity
from dplit.papers.sketching.masks import _MaskLaw, mask_law, mask_support
from dplit.papers.sketching.quadratic import replace_l1_exact, s4_ascent
from dplit.papers.sketching.subsampled_gaussian import fourier_q2
from dplit.papers.sketching.subsampled_laplace import masked_norms
from dplit.papers.sketching.subsampled_quadratic import masked_quartic, quadratic_q1, quadratic_q2
from dplit.sketching.sensitivity import sketch_sensitivity
from dplit_studies.sketching.searches import replace_search

_RELATIONS: tuple[Neighboring, ...] = ("add_remove", "replace_one")

_NORMS: tuple[Literal[1, 2], ...] = (1, 2)


class _Cell(NamedTuple):
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
    r"""Return two records (2, d) that attain all sensitivities of Fourier features.

    Rank m: :math:`\omega_j^\top x=\pi/4` and :math:`5\pi/4` for all j, opposite features.
    """
    omega = check_finite_array("frequencies", frequencies, ndim=2)
    if np.linalg.matrix_rank(omega) < omega.shape[1]:
        raise ValueError(f"frequencies must have full column rank, got shape {omega.shape}")
    unit = np.linalg.pinv(omega.T) @ np.ones(omega.shape[1])
    return np.stack([0.25 * np.pi * unit, 1.25 * np.pi * unit])


def _fourier_cells(name: Literal["fourier", "quantized"], omega: Array) -> list[_Cell]:
    records = opposite_pair(omega)
    if name == "fourier":
        features = complex_features(records, omega, normalize=False)
    else:
        features = quantized_features(records, omega, np.zeros(omega.shape[1]))
    texts = {1: ("√2 m", "2√2 m"), 2: ("√m", "2√m")}
    return [
        _Cell(
            name,
            relation,
            norm,
            texts[norm][relation == "replace_one"],
            sketch_sensitivity(name, omega, norm=norm, neighboring=relation, as_printed=True),
            sketch_sensitivity(name, omega, norm=norm, neighboring=relation),
            sum_sensitivity(features, norm=norm, neighboring=relation),
        )
        for norm in _NORMS
        for relation in _RELATIONS
    ]


def _quadratic_cells(name: str, text: str, omega: Array, rng: np.random.Generator) -> list[_Cell]:
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
                _Cell(
                    name,
                    relation,
                    norm,
                    text if norm == 1 else "S4",
                    sketch_sensitivity(
                        "quadratic", omega, norm=norm, neighboring=relation, as_printed=True
                    ),
                    sketch_sensitivity("quadratic", omega, norm=norm, neighboring=relation),
                    reached,
                )
            )
    return cells


def sensitivity_table(
    n_features: int, n_components: int, *, rng: np.random.Generator
) -> list[_Cell]:
    """Return the cells of Table 1 for one draw of frequencies per row; m is a multiple of d.

    Fourier features use m = d, where suprema are attained. The printed :math:`S_4` stands at its
    certified bound: whatever exceeds it exceeds :math:`S_4`.
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


_BOTH: tuple[Neighboring, Neighboring] = ("add_remove", "replace_one")


class _TableCell(NamedTuple):
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


def fourier_cells(frequencies: ArrayLike, law: _MaskLaw) -> list[_TableCell]:
    """The four cells of random Fourier features, with the pair that attains them."""
    if law.n_kept is None:
        raise ValueError(f"law must have a fixed number of ones, got scheme={law.scheme!r}")
    features = complex_features(opposite_pair(frequencies), frequencies, normalize=False)
    masks, m = mask_support(law)[0], law.n_components
    cells = []
    for norm, lemmas in ((1, ("Lemma 18", "Lemmas 17, 23")), (2, ("Lemmas 23, 24",) * 2)):
        for lemma, relation in zip(lemmas, _BOTH, strict=True):
            other = None if relation == "add_remove" else features[1:]
            moved = masked_norms(
                features[:1], masks, alpha=law.alpha, norm=1 if norm == 1 else 2, other=other
            )
            factor = 1.0 if relation == "add_remove" else 2.0
            printed = factor * (math.sqrt(2.0) * m if norm == 1 else m / math.sqrt(law.n_kept))
            safe = printed if norm == 1 else fourier_q2(law, neighboring=relation)
            reached = float(moved.max())
            cells.append(_TableCell("Fourier", norm, relation, lemma, printed, reached, safe))
    return cells


def quadratic_cells(
    frequencies: ArrayLike, law: _MaskLaw, *, name: str, rng: np.random.Generator
) -> list[_TableCell]:
    """The four cells of quadratic features: printed, reached by a search, and safe."""
    columns = check_real_array("frequencies", frequencies, 2)
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
            cells.append(_TableCell(name, norm, relation, lemma, printed, found, safe))
    return cells


def table_cells(
    *, n_components: int, n_kept: int, n_features: int, rng: np.random.Generator
) -> list[_TableCell]:
    """All twelve cells of Table 2 for one draw of frequencies; d divides m and r <= 20."""
    m, d = check_integer("n_components", n_components), check_integer("n_features", n_features)
    gaussian = check_rng(rng).standard_normal((d, m)) / math.sqrt(d)
    blocks = orthonormal_blocks(d, m, rng=rng)
    uniform = mask_law("uniform", m, n_kept=n_kept)
    structured = mask_law("block", m, n_kept=n_kept, block=d)
    cells = fourier_cells(rng.standard_normal((m, m)), uniform)
    cells += quadratic_cells(gaussian, uniform, name="quadratic", rng=rng)
    cells += quadratic_cells(blocks, structured, name="quadratic, orthonormal blocks", rng=rng)
    return cells
