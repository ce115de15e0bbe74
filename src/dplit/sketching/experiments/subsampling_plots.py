"""The figures of subsampling: Figures 6 and 7 of the paper, and its price in noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter
from numpy.typing import ArrayLike

from dplit.mechanisms import gaussian_sigma
from dplit.sketching.subsampling.gaussian import fourier_sigma
from dplit.sketching.subsampling.masks import Scheme, fourier_epsilon, mask_law
from dplit.sketching.utility import fourier_noise_nsr, subsampling_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "noise_figure",
    "price_figure",
    "sigma_ratios",
    "total_figure",
]


_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8c6d1f")

_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)))

_MARKERS = ("o", "s", "^", "v", "d")


def _line(axes: Axes, index: int, x: Any, y: Any, label: str, every: int) -> None:
    axes.plot(
        x,
        y,
        color=_COLOURS[index],
        linestyle=_DASHES[index],
        marker=_MARKERS[index],
        markevery=(index % every, every),
        label=label,
    )


def noise_figure(epsilons: ArrayLike, betas: Sequence[float]) -> Figure:
    r"""Figure 6: noise part of the ratio against epsilon, for several rates of sampled records.

    Parameters
    ----------
    epsilons : array_like
        Budgets, increasing.
    betas : sequence of float
        At most five sampling rates.

    Returns
    -------
    matplotlib.figure.Figure
        :math:`1/(\beta\varepsilon')^2`, as (23) is drawn in the paper.
    """
    budgets = np.asarray(epsilons, dtype=float)
    fig, axes = plt.subplots(figsize=(6.6, 3.8))
    for i, beta in enumerate(betas):
        values = [
            fourier_noise_nsr(
                epsilon=float(e), n_samples=1.0, n_components=1, c0=1.0, beta=beta, as_printed=True
            )
            for e in budgets
        ]
        _line(axes, i, budgets, values, rf"$\beta={beta:g}$", max(1, len(budgets) // 8))
    axes.set(xscale="log", yscale="log", xlabel=r"$\varepsilon$")
    axes.set_ylabel(r"$1/(\beta\varepsilon')^2$")
    axes.legend(handlelength=3.2)
    return fig


def total_figure(
    rates: ArrayLike, epsilons: Sequence[float], *, n_samples: int, n_components: int, c0: float
) -> Figure:
    r"""Figure 7: total ratio against the share of work, sampled features beside sampled records.

    Parameters
    ----------
    rates : array_like
        Shares :math:`\alpha\beta`, increasing; a curve starts at 1/m (features) or 1/n (records).
    epsilons : sequence of float
        At most five budgets.
    n_samples, n_components : int
        Numbers n and m.
    c0 : float
        The constant :math:`m/\|z\|^2`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    shares = np.asarray(rates, dtype=float)
    fig, axes = plt.subplots(figsize=(7.0, 4.2))
    ways: tuple[tuple[Literal["features", "data"], float, str], ...] = (
        ("features", 1.0 / n_components, "-"),
        ("data", 1.0 / n_samples, "--"),
    )
    for i, epsilon in enumerate(epsilons):
        for sampled, least, dashes in ways:
            kept = shares[shares >= least * (1 - 1e-9)]
            values = subsampling_curve(
                kept,
                sampled=sampled,
                epsilon=epsilon,
                n_samples=n_samples,
                n_components=n_components,
                c0=c0,
            )
            label = rf"$\varepsilon={epsilon:g}$, {'features' if dashes == '-' else 'records'}"
            axes.plot(
                kept,
                values,
                dashes,
                color=_COLOURS[i],
                marker=_MARKERS[i],
                markevery=max(1, len(shares) // 6),
                label=label,
            )
    axes.set(xscale="log", yscale="log", xlabel=r"share of the work, $\alpha\beta$")
    axes.set_ylabel("total noise-to-signal ratio")
    axes.legend(ncols=2, fontsize=8.5, handlelength=3.2)
    return fig


def sigma_ratios(
    alphas: ArrayLike, budgets: Sequence[tuple[float, float]], *, n_components: int
) -> dict[tuple[float, float], np.ndarray[Any, Any]]:
    r"""Gaussian noise with independent masks, over that without subsampling, exactly.

    Parameters
    ----------
    alphas : array_like
        Sampling rates.
    budgets : sequence of (epsilon, delta)
    n_components : int
        Number m of Fourier features.

    Returns
    -------
    dict
        Budget -> ratios of the least sigmas, at equal guarantee under "add_remove".

    Examples
    --------
    >>> from dplit.sketching.experiments.subsampling_plots import sigma_ratios
    >>> [r.round(3).tolist() for r in sigma_ratios([0.5], [(1.0, 1e-5)], n_components=4).values()]
    [[1.11]]
    """
    ratios = {}
    for epsilon, delta in budgets:
        plain = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=float(n_components) ** 0.5)
        laws = [
            mask_law("bernoulli", n_components, alpha=float(a))
            for a in np.asarray(alphas, dtype=float)
        ]
        values = [fourier_sigma(law, epsilon=epsilon, delta=delta) / plain for law in laws]
        ratios[epsilon, delta] = np.array(values)
    return ratios


def price_figure(
    alphas: ArrayLike,
    ratios: Mapping[tuple[float, float], Any],
    *,
    n_components: int,
) -> Figure:
    r"""What subsampling costs at equal rescaled noise (Laplace) and at equal guarantee (Gaussian).

    Parameters
    ----------
    alphas : array_like
        Sampling rates, increasing.
    ratios : mapping
        From :func:`sigma_ratios` at these rates.
    n_components : int
        Number m of Fourier features.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rates = np.asarray(alphas, dtype=float)
    fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8))
    scale = 2.0**0.5 * n_components
    kinds: tuple[tuple[Scheme, str], ...] = (
        ("data", "whole records"),
        ("bernoulli", "independent features"),
    )
    for i, (scheme, label) in enumerate(kinds):
        laws = [mask_law(scheme, n_components, alpha=float(a)) for a in rates]
        values = [fourier_epsilon(law, scale=scale) for law in laws]
        _line(left, i, rates, values, label, 2)
    _line(left, 2, rates, np.ones_like(rates), "fixed number of features", 2)
    left.set_ylabel(r"exact $\varepsilon$ where 1 was meant")
    left.set_title("Laplace", fontsize=10)
    for i, ((epsilon, delta), values) in enumerate(ratios.items()):
        power = round(np.log10(delta))
        _line(right, i, rates, values, rf"$({epsilon:g},10^{{{power}}})$", 2)
    right.plot(rates, 1.0 / rates, color="black", linewidth=1, label="Lemma 23")
    right.set_ylabel(r"$\sigma$ over that without sampling")
    right.set_title("Gaussian, independent features", fontsize=10)
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel=r"sampling rate $\alpha$")
        axes.set_xticks(rates, [f"1/{round(1 / rate)}" for rate in rates])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.legend(fontsize=8.5, handlelength=3.2)
    return fig
