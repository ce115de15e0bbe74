"""The settings of the paper's experiments, and our choices where its text leaves one open."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dplit._checks import check_choice, check_integer

__all__ = [
    "OPEN_CHOICES",
    "RESPONSES",
    "SCHEMES",
    "SETTINGS",
    "Response",
    "Setting",
    "projection_sizes",
    "setting",
]

#: Projection sizes of the paper, and its logarithmic one read with base 2.
SCHEMES: tuple[str, ...] = ("log", "linear", "full", "log2")


@dataclass(frozen=True)
class Response:
    """One model of the responses that the paper leaves unstated: ``y = X theta + w``.

    Attributes
    ----------
    title : str
    coefficient_sd : float
        Standard deviation of the entries of theta, for entries of X uniform on [-1, 1]; those of
        w have standard deviation 1.
    """

    title: str
    coefficient_sd: float


#: Response models for uniform designs with 800 columns; the signal has energy 800 sd^2 / 3 per row.
RESPONSES: dict[str, Response] = {
    "unit": Response("standard normal coefficients", 1.0),
    "snr10": Response("signal 10 times the noise", math.sqrt(30 / 800)),
    "snr1": Response("signal as large as the noise", math.sqrt(3 / 800)),
    "noise": Response("responses that X does not explain", 0.0),
}


@dataclass(frozen=True)
class Setting:
    """The settings of one figure.

    Attributes
    ----------
    n_features : int
        Columns d.
    row_unit, sketch_unit : int
        n = row_unit * k, and n' in units of ``sketch_unit``.
    positions : tuple of int
        Values of k.
    epsilons : tuple of float
        Budgets in bits. The grid of Figure 2 is ours.
    repeats : int
        Trials that the paper averages.
    """

    n_features: int
    row_unit: int
    sketch_unit: int
    positions: tuple[int, ...]
    epsilons: tuple[float, ...]
    repeats: int


_GRID = (*(round(0.05 * i, 2) for i in range(1, 31)), 1.75, 2.0, 2.5, 3.0)
#: The settings by figure.
SETTINGS: dict[str, Setting] = {
    "fig1": Setting(800, 1000, 1000, tuple(range(1, 21)), (0.5,), 5),
    "fig2": Setting(800, 1000, 1000, (10,), _GRID, 5),
    "fig3": Setting(300, 1000, 500, tuple(range(1, 10)), (0.2,), 10),
}

#: What the text does not state, and what is done here: figure, question, choice.
OPEN_CHOICES: tuple[tuple[str, str, str], ...] = (
    ("1, 2", "the responses y", "four models; X theta + w with normal theta and w is drawn first"),
    ("1, 2", "what is drawn anew per trial", "X, theta, w and the noise"),
    ("1, 3", "base of the logarithm in n'", "e; base 2 beside it"),
    ("1, 3", "rounding of n'", "to the nearest integer"),
    ("2", "the budgets", "0.05 to 1.5 in steps of 0.05, then to 3"),
    ("3", "scale of the pixels", "[0, 1]"),
    ("3", "intercept and decision", "none; the sign of the fit"),
    ("3", "pixels chosen on", "all samples, as the text says; not a private step"),
    ("3", "rows that n counts", "training rows, so that k ends at 9"),
)


def setting(figure: str) -> Setting:
    """Return the settings of one figure.

    Parameters
    ----------
    figure : {"fig1", "fig2", "fig3"}

    Returns
    -------
    Setting

    Raises
    ------
    ValueError
        If the figure is unknown.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), Section V.

    Examples
    --------
    >>> setting("fig2").n_features, setting("fig3").positions[-1]
    (800, 9)
    """
    check_choice("figure", figure, SETTINGS)
    return SETTINGS[figure]


def projection_sizes(figure: str, k: int) -> dict[str, int]:
    r"""Numbers of projected rows of one figure at n = row_unit * k.

    Parameters
    ----------
    figure : {"fig1", "fig2", "fig3"}
    k : int
        At least 1.

    Returns
    -------
    dict of str to int
        With u the sketch unit: "log", :math:`u(\ln k+1)`; "linear", :math:`u(k+1)/2`; "full", n;
        and "log2", :math:`u(\log_2k+1)`, rounded to the nearest integer.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or range.

    References
    ----------
    Showkatbakhsh, Karakus, Diggavi (2018), Section V.

    Examples
    --------
    >>> projection_sizes("fig2", 10)
    {'log': 3303, 'linear': 5500, 'full': 10000, 'log2': 4322}
    """
    chosen = setting(figure)
    count = check_integer("k", k)
    unit = chosen.sketch_unit
    return {
        "log": round(unit * (math.log(count) + 1)),
        "linear": unit * (count + 1) // 2,
        "full": chosen.row_unit * count,
        "log2": round(unit * (math.log2(count) + 1)),
    }
