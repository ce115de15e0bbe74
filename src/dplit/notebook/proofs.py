"""Proofs that run: every line of a derivation as numbers, and what each of its steps gives away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dplit.notebook import figures
from dplit.notebook.cells import _show_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MIMETYPE = "application/vnd.dplit.proof+json"

_RELATIONS = ("<=", "=", ">=")

#: A share of the largest line below which nothing is said to be lost.
_NOTHING = 1e-6


class ProofError(AssertionError):
    """A line of a running proof does not stand to the next one as it is said to."""


def running_proof(
    lines: Mapping[str, ArrayLike],
    relations: str,
    *,
    name: str,
    theorem: str,
    over: str,
    gain: Mapping[str, str] | None = None,
    rtol: float = 1e-9,
) -> None:
    """Check a chain of lines on many data sets, and draw what each of its steps gives away.

    The notebook stops where a relation fails by more than rounding. One compact figure shows each
    line as a share of the largest line of its data set: where two boxes lie side by side a step
    loses nothing, where one jumps it is there that the proof gives something away. The build
    collects the steps of all proofs on one page.

    Parameters
    ----------
    lines : mapping of str to array_like of shape (n,)
        The lines by their labels, from the start of the chain to its end, at least two; each holds
        one finite number per data set, or one for all.
    relations : str
        One of ``<=``, ``=`` and ``>=`` for each step, separated by spaces; ``<=`` and ``>=`` do not
        stand in one chain.
    name : str
        Lower case letters, digits and hyphens; the figure's anchor is ``proof-<name>``.
    theorem : str
        What is proved, in a few words.
    over : str
        What the numbers of a line range over, for example "1,000 pairs of neighbours".
    gain : mapping of str to str, optional
        For labels of lines, one sentence each: what would win back what the step to it loses. The
        caption ends in the one of the step that loses most.
    rtol : float, default=1e-9
        Rounding that is forgiven, relative to the largest line of the data set.

    Raises
    ------
    ProofError
        If a step fails: it names the step, the data set and both values.
    ValueError
        If the relations do not fit the lines.
    """
    steps = _steps(relations, len(lines))
    if unknown := sorted(set(gain or {}) - set(list(lines)[1:])):
        raise ValueError(f"gain must name lines after the first, got {', '.join(unknown)}")
    values = _values(name, lines)
    largest = np.abs(values).max(axis=0)
    _check(name, list(lines), steps, values, rtol * largest)
    shares = np.where(largest > 0, values / np.where(largest > 0, largest, 1.0), 1.0)
    lost = np.abs(np.diff(shares, axis=0))
    told = [
        {
            "line": label,
            "relation": step,
            "median": _rounded(np.median(loss)),
            "least": _rounded(loss.min()),
            "greatest": _rounded(loss.max()),
            "gain": (gain or {}).get(label, ""),
        }
        for label, step, loss in zip(list(lines)[1:], steps, lost, strict=True)
    ]
    record = {"name": name, "theorem": theorem, "over": over, "steps": told}
    caption = f"{theorem}, line by line, over {over}. "
    caption += _finding(told) + _cure(told)
    alt = f"Boxes of the {len(lines)} lines of the proof as shares of the largest. {_finding(told)}"
    fig = _drawn(list(lines), shares)
    _show_figure(fig, f"proof-{name}", caption, alt[:300], False, {_MIMETYPE: record})


def _rounded(value: Any) -> float:
    """Return a share to six digits after the point: its last bits differ between machines."""
    return round(float(value), 6) + 0.0


def _steps(relations: str, count: int) -> list[str]:
    steps = relations.split()
    if count < 2 or len(steps) != count - 1:
        raise ValueError(f"{count} lines need {max(count - 1, 1)} relations, got {relations!r}")
    if unknown := [step for step in steps if step not in _RELATIONS]:
        raise ValueError(f"relations must be of {', '.join(_RELATIONS)}, got {unknown[0]!r}")
    if "<=" in steps and ">=" in steps:
        raise ValueError(f"a chain rises or falls, it cannot do both, got {relations!r}")
    return steps


def _values(name: str, lines: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
    """Return the lines as an array of shape (lines, n), or raise for one that is not finite."""
    arrays = np.broadcast_arrays(
        *(np.asarray(line, dtype=float).ravel() for line in lines.values())
    )
    values = np.array(arrays)
    if not values.size:
        raise ValueError(f"{name}: the lines must not be empty")
    for label, line in zip(lines, values, strict=True):
        if (bad := np.flatnonzero(~np.isfinite(line))).size:
            where = f"data set {bad[0] + 1} of {len(line)}"
            raise ProofError(f"{name}: line {label!r} is {line[bad[0]]} for {where}")
    return values


def _check(
    name: str, labels: Sequence[str], steps: Sequence[str], values: Any, rounding: Any
) -> None:
    for k, step in enumerate(steps):
        left, right = values[k], values[k + 1]
        over = np.abs(left - right) if step == "=" else left - right
        excess = (-over if step == ">=" else over) - rounding
        at = int(np.argmax(excess))
        if excess[at] > 0:
            raise ProofError(
                f"{name}: the step {labels[k]!r} {step} {labels[k + 1]!r} fails for data set "
                f"{at + 1} of {len(left)}: {left[at]:.12g} against {right[at]:.12g}"
            )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def _worst(steps: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return max(steps, key=lambda step: (step["median"], step["greatest"]))


def _cure(steps: Sequence[Mapping[str, Any]]) -> str:
    """Return what is known to win back what the worst step loses, or nothing."""
    worst = _worst(steps)
    if worst["greatest"] < _NOTHING or not worst["gain"]:
        return ""
    return f" What would win that back? {worst['gain']}"


def _finding(steps: Sequence[Mapping[str, Any]]) -> str:
    """Return one sentence: which step loses most, how much, and whether always."""
    worst = _worst(steps)
    if worst["greatest"] < _NOTHING:
        return "No step loses anything."
    if worst["median"] < _NOTHING:
        return (
            f"In the typical case no step loses anything; the step to {worst['line']} can lose "
            f"{_percent(worst['greatest'])}."
        )
    least = _percent(worst["least"]) if worst["least"] >= _NOTHING else "nothing"
    return (
        f"The step to {worst['line']} loses most: {_percent(worst['median'])} at the median, "
        f"{least} at best."
    )


def _drawn(labels: Sequence[str], shares: NDArray[np.float64]) -> Figure:
    fig, (axes,) = figures.panels(1, width=6.4, height=0.75 + 0.24 * len(labels))
    look = figures.looks_of(box="", median="")
    drawn = axes.boxplot(
        list(shares),
        orientation="horizontal",
        tick_labels=list(labels),
        whis=(0, 100),
        widths=0.6,
        patch_artist=True,
        medianprops={"color": look["median"].colour, "linewidth": 2.0},
    )
    for box in drawn["boxes"]:
        box.set(facecolor=look["box"].colour, alpha=0.35)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    if shares.min() > 1.0 - _NOTHING:  # an identity: no axis of rounding errors
        axes.set_xlim(0.0, 1.05)
    axes.set(xlabel="share of the largest line", ylabel="line")
    return fig
