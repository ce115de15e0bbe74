r"""Table 2: noise for subsampled sums, as printed, as reached by records, and as it has to be.

Cells are distances Q that one record moves the sum under the worst mask; the noise is
:math:`Q/\varepsilon` (Laplace) or :math:`\eta Q/\sqrt{2\varepsilon}` (Gaussian).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dplit._checks import (
    Array,
    Neighboring,
    check_choice,
    check_finite_array,
    check_integer,
    check_real_array,
    check_rng,
)
from dplit.features import complex_features, orthonormal_blocks, quantized_features
from dplit.mechanisms import gaussian_sigma
from dplit.sketching.sensitivity import (
    replace_l1_bound,
    replace_l1_exact,
    s4_ascent,
    s4_certificate,
    sketch_sensitivity,
    spectral_sensitivity,
    sum_sensitivity,
)
from dplit.sketching.subsampling.gaussian import fourier_q2, fourier_sigma
from dplit.sketching.subsampling.laplace import masked_norms
from dplit.sketching.subsampling.masks import _MaskLaw, mask_law, mask_support
from dplit.sketching.subsampling.quadratic import masked_quartic, quadratic_q1, quadratic_q2
from dplit.trials import Trial, run_trials
from dplit_studies.sketching.searches import alignment_search, replace_search

# Table 1 computed: every sensitivity as printed, as corrected, and as reached by records.


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
            name, relation, norm, texts[norm][relation == "replace_one"],
            sketch_sensitivity(name, omega, norm=norm, neighboring=relation, as_printed=True),
            sketch_sensitivity(name, omega, norm=norm, neighboring=relation),
            sum_sensitivity(features, norm=norm, neighboring=relation),
        )
        for norm in _NORMS
        for relation in _RELATIONS
    ]  # fmt: skip


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


# Two studies over draws of frequencies: how near searches come to the bounds, and what a
# replacement adds for quadratic features.


_Design = Literal["gaussian", "blocks"]


def alignment_curves(
    n_features: int, sizes: Sequence[int], radii: Sequence[float], *, n_trials: int, seed: int,
    name: str = "sketch-alignment", n_draws: int = 2000,
) -> Array:  # fmt: skip
    """Return the best ratios to Lemmas 7 and 12 that searches find, (2, n_trials, sizes, radii).

    Standard normal frequencies, nested over the sizes; radii in units of the inverse frequency.
    """
    check_integer("n_features", n_features)

    def one(trial: Trial) -> Array:
        public, search = trial.stream("public"), trial.stream("data")
        omega = public.standard_normal((max(sizes), n_features)).T
        found = [
            alignment_search(omega[:, :m], norm=norm, radius=r, rng=search, n_draws=n_draws).ratio
            for norm in (1, 2)
            for m in sizes
            for r in radii
        ]
        return np.reshape(found, (2, len(sizes), len(radii)))

    return np.stack(run_trials(one, n_trials, seed=seed, name=name, n_jobs=1), axis=1)


class _Replacement(NamedTuple):
    """Replace-one sensitivities over the printed ones: reached by records, and bounded."""

    reached_l1: float
    bound_l1: float
    reached_l2: float
    bound_l2: float


def _replacement_ratios(
    frequencies: Array, *, rng: np.random.Generator, n_starts: int = 20
) -> _Replacement:
    """Return by which factors a replacement moves quadratic features more than is printed.

    In l2 over the certificate of S4, so that the factor is understated.
    """
    top = spectral_sensitivity(frequencies)
    first, second = (
        replace_search(frequencies, norm=p, rng=rng, n_starts=n_starts).value for p in (1, 2)
    )
    best = s4_ascent(frequencies, rng=rng, n_starts=n_starts).value
    certified = s4_certificate(frequencies)
    if best > certified:
        raise ArithmeticError(f"a record exceeds the certificate: {best!r} > {certified!r}")
    return _Replacement(
        first / top, replace_l1_bound(frequencies) / top, second / certified, np.sqrt(2.0).item()
    )


def replacement_curves(
    n_features: int, sizes: Sequence[int], *, design: _Design, n_trials: int, seed: int,
    name: str = "sketch-replacement",
) -> Array:  # fmt: skip
    """Return ``_replacement_ratios`` over draws of the frequencies, (4, n_trials, sizes)."""
    check_choice("design", design, ("gaussian", "blocks"))

    def one(trial: Trial) -> Array:
        public, search = trial.stream("public"), trial.stream("data")
        rows = []
        for m in sizes:
            if design == "gaussian":
                omega = public.standard_normal((n_features, m)) / np.sqrt(n_features)
            else:
                omega = orthonormal_blocks(n_features, m, rng=public)
            rows.append(_replacement_ratios(omega, rng=search))
        return np.array(rows).T

    return np.stack(run_trials(one, n_trials, seed=seed, name=name, n_jobs=1), axis=1)


# The price of subsampling in Gaussian noise.


def sigma_ratios(
    alphas: ArrayLike, budgets: Sequence[tuple[float, float]], *, n_components: int
) -> dict[tuple[float, float], Array]:
    """Gaussian noise with independent masks over that without subsampling, by (epsilon, delta).

    At equal guarantee under "add_remove", both exact; one ratio per rate of ``alphas``.
    """
    laws = [mask_law("bernoulli", n_components, alpha=float(a)) for a in np.asarray(alphas)]
    ratios = {}
    for epsilon, delta in budgets:
        plain = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=float(n_components) ** 0.5)
        sigmas = [fourier_sigma(law, epsilon=epsilon, delta=delta) for law in laws]
        ratios[epsilon, delta] = np.array([sigma / plain for sigma in sigmas])
    return ratios
