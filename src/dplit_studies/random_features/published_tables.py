"""Rows that compare printed numbers with ours, as ``Claim.reproduce`` takes them.

They have setting, paper, paper_se, reading_error, ours, ours_se and miss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dplit._checks import Array, check_choice
from dplit.notebook.claims import row
from dplit.papers.random_features.fairness import _expected_absolute_error
from dplit_studies.random_features.comparison import _Curves
from dplit_studies.random_features.parity import _GapCurves, _ParityScores


def _row(
    entry: Mapping[str, Any], place: str, ours: float, ours_se: float, paper_se: float
) -> dict[str, Any]:
    return row(
        place,
        entry["paper"],
        ours,
        paper_se=paper_se,
        ours_se=ours_se,
        reading_error=entry.get("reading_error", 0.0),
        miss=entry.get("miss", False),
    )


def _column(entry: Mapping[str, Any], curves: _Curves) -> tuple[int, ...]:
    if "epsilon" in entry and len(curves.epsilons) > 1:
        return (curves.epsilons.index(entry["epsilon"]),)
    if "rate" in entry:
        return (curves.learning_rates.index(entry["rate"]),)
    return (0,)


#: The non-private error that a private one is built on.
_BASE = {"ours": "nonprivate", "min_norm_private": "min_norm"}


def _paper_se(
    curves: _Curves, method: str, at: tuple[int, ...], one_split: bool, repeats: int
) -> float:
    """Standard error of the paper's mean of ``repeats`` runs, from our relative scatter, pooled
    over positions and budgets, where it is nearly constant: five runs alone are too rough to judge
    by.
    """
    if not one_split:
        spread = _relative_sd(curves.values[method]) * float(curves.mean(method)[at])
        return spread / math.sqrt(repeats)
    base = _BASE.get(method, method)
    plain = curves.values[base]
    split = _relative_sd(plain) * float(curves.mean(base)[at[: plain.ndim - 1]])
    if base == method:
        return split
    return math.hypot(split, _noise_sd(curves, method, at) / math.sqrt(repeats))


def _relative_sd(values: Array) -> float:
    """Root mean square over positions of standard deviation over mean, along axis 0."""
    return float(np.sqrt(np.mean(values.var(axis=0, ddof=1) / values.mean(axis=0) ** 2)))


def _noise_sd(curves: _Curves, method: str, at: tuple[int, ...]) -> float:
    """Standard deviation of one run's increment over its non-private error, pooled likewise."""
    plain = curves.values[_BASE[method]][:, :, None]
    expected = (curves.values[f"{method}_expected"] - plain).mean(axis=0)
    scatter = (curves.values[method] - plain).var(axis=0, ddof=1)
    return float(np.sqrt(np.mean(scatter / expected**2)) * expected[at])


def reproduction_rows(
    entries: Sequence[Mapping[str, Any]], curves: _Curves, *, one_split: bool, repeats: int = 10
) -> list[dict[str, Any]]:
    """Rows of a figure from entries of ``targets.yml``: method (or "increment"), at, epsilon, rate.
    Ours is the closed-form expectation where there is one. With ``one_split`` the paper's mean of
    ``repeats`` runs belongs to one split: only the part due to the noise is averaged.
    """
    rows = []
    for entry in entries:
        method, at = entry["method"], list(curves.axis).index(entry["at"])
        if method == "increment":
            column = _column(entry, curves)
            gap = curves.mean("ours_expected") - curves.mean("nonprivate")[:, None]
            ours, se = gap[(at, *column)], 0.0
            paper_se = _noise_sd(curves, "ours", (at, *column)) / math.sqrt(repeats)
        else:
            column = _column(entry, curves) if curves.values[method].ndim == 3 else ()
            best = f"{method}_expected" if f"{method}_expected" in curves.values else method
            ours, se = curves.mean(best)[(at, *column)], curves.se(best)[(at, *column)]
            paper_se = _paper_se(curves, method, (at, *column), one_split, repeats)
        extra = [f"{key} = {entry[key]:g}" for key in ("epsilon", "rate") if key in entry]
        place = ", ".join([method, f"at {entry['at']}", *extra])
        rows.append(_row(entry, place, ours, se, paper_se))
    return rows


def table1_rows(
    entries: Sequence[Mapping[str, Any]], medical: _Curves, wine: _Curves, *, repeats: int = 10
) -> list[dict[str, Any]]:
    """Rows of Table 1 (test errors at epsilon = 1) from the curves of Figure 4, all on one split.

    "pinv" is the minimum-norm least-squares fit, here from the Gram matrix of the distinct rows.
    """
    rows = []
    for entry in entries:
        curves = {"medical": medical, "wine": wine}[entry["data"]]
        method = {"pinv": "min_norm_private", "kaczmarz": "ours"}[entry["method"]]
        at, k = list(curves.axis).index(entry["at"]), curves.epsilons.index(1.0)
        place, exact = (
            f"{entry['data']}, {entry['method']}, N = {entry['at']}",
            f"{method}_expected",
        )
        ours, se = curves.mean(exact)[at, k], curves.se(exact)[at, k]
        rows.append(_row(entry, place, ours, se, _paper_se(curves, method, (at, k), True, repeats)))
    return rows


def _folded_sd(gaps: Array, floors: Array) -> float:
    """Standard deviation of ``|g + s Z|`` over splits with gaps g and floors ``sqrt(2/pi) s``."""
    s = floors * math.sqrt(math.pi / 2.0)
    means = _expected_absolute_error(gaps, s)
    within = np.mean(gaps**2 + s**2 - means**2)
    return float(np.sqrt(within + np.var(means)))


def _expected_gaps(curves: _GapCurves, model: str) -> Array:
    """Mean of the published estimate ``|g + s Z|`` on every split, (repetition, epsilon, group)."""
    exact, floor = curves.of(f"{model}_exact"), curves.of(f"{model}_floor")
    s = floor * math.sqrt(math.pi / 2.0)
    return _expected_absolute_error(exact.ravel(), s.ravel()).reshape(exact.shape)


def _gap_cell(entry: Mapping[str, Any], curves: _GapCurves) -> tuple[str, Any]:
    """Return the model of an entry and the index of its cell, over all splits."""
    model = check_choice("model", entry["model"], ("rf", "rls"))
    at = int(np.argmin(np.abs(curves.epsilons - entry["epsilon"])))
    return model, (slice(None), at, entry["group"] - 1)


def gap_rows(
    entries: Sequence[Mapping[str, Any]], curves: _GapCurves, *, repeats: int = 10
) -> list[dict[str, Any]]:
    """Rows of read-off gaps (model, group 1 or 2, epsilon) beside the expected published estimate,
    nearly ``|g + s Z|`` with the exact gap g and s from the floor, which gives the errors too.
    """
    rows = []
    for entry in entries:
        model, cell = _gap_cell(entry, curves)
        values = _expected_gaps(curves, model)[cell]
        exact, floor = (curves.of(f"{model}_{kind}")[cell] for kind in ("exact", "floor"))
        place = f"{curves.feature}, {model}, group {entry['group']}, at {entry['epsilon']:g}"
        se = float(values.std(ddof=1)) / math.sqrt(len(values))
        paper_se = _folded_sd(exact, floor) / math.sqrt(repeats)
        rows.append(_row(entry, place, float(values.mean()), se, paper_se))
    return rows


def pooled_gap_row(
    read_off: Sequence[tuple[Sequence[Mapping[str, Any]], _GapCurves]], *, repeats: int = 10
) -> dict[str, Any]:
    """One row for all read-off gaps: printed over expected, on average, beside our own estimates'.

    Single bands are as wide as the values; two groups at one epsilon share a draw: one value.
    """
    printed: dict[tuple[Any, ...], list[float]] = {}
    spread: dict[tuple[Any, ...], list[float]] = {}
    reading, ours = [], []
    for number, (entries, curves) in enumerate(read_off):
        for model in ("rf", "rls"):
            expected = _expected_gaps(curves, model)
            ours += list((curves.of(model) / expected).mean(axis=(1, 2)))
        for entry in entries:
            model, cell = _gap_cell(entry, curves)
            mean = float(_expected_gaps(curves, model)[cell].mean())
            sd = _folded_sd(curves.of(f"{model}_exact")[cell], curves.of(f"{model}_floor")[cell])
            key = number, model, entry["epsilon"]
            printed.setdefault(key, []).append(entry["paper"] / mean)
            spread.setdefault(key, []).append(sd / mean / math.sqrt(repeats))
            reading.append(entry["reading_error"] / mean)
    errors = np.array([np.mean(values) for values in spread.values()])
    return row(
        "printed over expected, on average",
        float(np.mean([np.mean(v) for v in printed.values()])),
        float(np.mean(ours)),
        paper_se=float(np.sqrt(np.sum(errors**2))) / len(errors),
        ours_se=float(np.std(ours, ddof=1)) / math.sqrt(len(ours)),
        reading_error=float(np.mean(reading)),
    )


def parity_rows(
    entries: Sequence[Mapping[str, Any]], scores: Mapping[str, _ParityScores], *, repeats: int = 20
) -> list[dict[str, Any]]:
    """Rows of Table 2 from entries of feature, model, paper, paper_sd (where printed). Our standard
    deviation is at least the printed one: few repetitions may have far too small a one.
    """
    rows = []
    for entry in entries:
        values = np.atleast_1d(getattr(scores[entry["feature"]], entry["model"]))
        printed = entry.get("paper_sd", 0.0)
        sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        se = max(sd, printed) / math.sqrt(len(values))
        place = f"{entry['feature']}, {entry['model']}"
        paper_se = printed / math.sqrt(repeats)
        rows.append(_row(entry, place, float(values.mean()), se, paper_se))
    return rows
