"""Figures 1 to 6 and Table 1 at the paper's sizes, with closed forms beside the simulations.

Three devices keep them short. The expected private error given the features is the non-private
error plus sigma^2 times the mean squared row norm, so no mean over noise is simulated; one pass
over nested frequencies serves all numbers of features; Kaczmarz and stochastic gradient steps run
on the Gram matrix. Simulated errors are kept too: they must scatter around the closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dplit._checks import check_choice, check_integer
from dplit.random_features._methods import method_errors
from dplit.random_features.curves import Curves
from dplit.random_features.data import Prepared, split
from dplit.random_features.settings import Setting, setting
from dplit.random_features.synthetic import draw_data
from dplit.streams import stream
from dplit.trials import run_trials

__all__ = [
    "crossing_position",
    "feature_curves",
    "real_curves",
    "record_curves",
    "sentences",
]

_Array = NDArray[np.float64]
_Errors = list[Mapping[str, _Array]]


def _stack(trials: Sequence[_Errors]) -> dict[str, _Array]:
    """Return arrays (repetition, position, ...) from one list of errors per repetition."""
    names = trials[0][0]
    return {name: np.array([[point[name] for point in t] for t in trials]) for name in names}


def _sizes(s: Setting) -> tuple[tuple[int, ...], int, int]:
    """Return numbers of training records, of test records and of inputs of synthetic data."""
    if s.records is None or s.test_records is None or s.dimension is None:
        raise ValueError("base must state records, test_records and dimension (the text does not)")
    return s.records, s.test_records, s.dimension


def _feature_trial(
    trial: int, *, seed: int, name: str, s: Setting, X: _Array, y: _Array, m: int
) -> _Errors:
    return method_errors(
        (X[:m], X[m:]), (y[:m], y[m:]), s.components, s, seed=seed, name=name, trial=trial
    )


def feature_curves(
    figure: str, *, seed: int, n_repeats: int | None = None, n_jobs: int = 1,
    base: Setting | None = None,
) -> Curves:  # fmt: skip
    """Test errors against the number of features on synthetic data (Figures 1 and 2).

    Parameters
    ----------
    figure : {"fig1", "fig2"}
    seed : int
        Nonnegative.
    n_repeats : int, optional
        Draws of features, row sequences and noise; the paper's 10 by default. The data are drawn
        once, as in the paper.
    n_jobs : int, default=1
    base : Setting, optional
        Settings; those of the published code by default.

    Returns
    -------
    Curves
        Along N: ``nonprivate`` (Kaczmarz, m steps), ``min_norm`` (exact), ``ours``,
        ``ours_expected``, ``corrected_expected`` (the Delta that belongs to unit rows), ``gamma``,
        ``gamma_expected``, ``sgd_nonprivate``, ``sgd``, ``sgd_expected``, ``min_norm_private``,
        ``zero``, ``constant``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Liao, Needell, Schaeffer, Xue (2025), Figures 1 and 2.

    Examples
    --------
    >>> small = replace(setting("fig1"), components=(60,), records=(20,), test_records=20)
    >>> curves = feature_curves("fig1", seed=0, n_repeats=2, base=small)
    >>> curves.errors["ours"].shape
    (2, 1, 2)
    """
    check_choice("figure", figure, ("fig1", "fig2"))
    s = base or setting(figure)
    name = f"dprf-{figure}"
    (m, *_), n_test, dimension = _sizes(s)
    X, y = draw_data(m + n_test, dimension, s.data, rng=stream(seed, name, "data"))
    trials = run_trials(
        partial(_feature_trial, seed=seed, name=name, s=s, X=X, y=y, m=m),
        check_integer("n_repeats", s.repeats if n_repeats is None else n_repeats, minimum=2),
        seed=seed, name=name, n_jobs=n_jobs,
    )  # fmt: skip
    return Curves(
        axis=np.array(s.components, dtype=float), axis_name="number of features N",
        errors=_stack(trials), epsilons=s.epsilons, components=s.components,
    )  # fmt: skip


def _record_trial(trial: int, *, seed: int, name: str, s: Setting) -> dict[str, _Errors]:
    results: dict[str, _Errors] = {"text": [], "code": []}
    records, n_test, dimension = _sizes(s)
    for m in records:
        key = f"{name}-{m}"
        rng = stream(seed, key, "data", trial)
        X, y = draw_data(m + n_test, dimension, s.data, rng=rng)
        sizes = (m + 200, 2 * m) if m > 200 else (2 * m, 2 * m + 1)
        pair = method_errors(
            (X[:m], X[m:]), (y[:m], y[m:]), sizes, s, seed=seed, name=key, trial=trial, exact=False
        )
        for version, errors in zip(results, pair, strict=True):
            results[version].append(errors)
    return results


def record_curves(
    figure: str, *, seed: int, n_repeats: int | None = None, n_jobs: int = 1,
    base: Setting | None = None,
) -> dict[str, Curves]:  # fmt: skip
    """Test errors against the number of records (Figure 3), for N = m + 200 and for N = 2m.

    Parameters
    ----------
    figure : {"fig3a", "fig3b"}
        Panel (a) with f1; panel (b) with f2 as in the text (its code has f1 with d = 100, and the
        noise hides the difference).
    seed, n_repeats, n_jobs, base
        As in :func:`feature_curves`; data are drawn anew in every repetition.

    Returns
    -------
    dict of str to Curves
        ``"text"`` (N = m + 200) and ``"code"`` (N = 2m), from one nested draw.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Liao, Needell, Schaeffer, Xue (2025), Figure 3.

    Examples
    --------
    >>> small = replace(setting("fig3a"), records=(220, 240), test_records=20)
    >>> record_curves("fig3a", seed=0, n_repeats=2, base=small)["code"].components
    (440, 480)
    """
    check_choice("figure", figure, ("fig3a", "fig3b"))
    s = base or setting(figure)
    if figure == "fig3b" and base is None:
        s = replace(s, data="f2")
    name = f"dprf-{figure}"
    records = _sizes(s)[0]
    trials = run_trials(
        partial(_record_trial, seed=seed, name=name, s=s),
        check_integer("n_repeats", s.repeats if n_repeats is None else n_repeats, minimum=2),
        seed=seed, name=name, n_jobs=n_jobs,
    )  # fmt: skip
    sizes = {"text": tuple(m + 200 for m in records), "code": tuple(2 * m for m in records)}
    return {
        version: Curves(
            axis=np.array(records, dtype=float), axis_name="number of records m",
            errors=_stack([trial[version] for trial in trials]), epsilons=s.epsilons,
            components=sizes[version],
        )
        for version in sizes
    }  # fmt: skip


def _real_trial(
    trial: int, *, seed: int, name: str, s: Setting, data: Prepared, methods: tuple[str, ...]
) -> _Errors:
    n = len(data.y)
    train, test = split(
        math.ceil(0.1 * n), groups=np.zeros(n, dtype=int), rng=stream(seed, name, "data", trial)
    )
    return method_errors(
        (data.X[train], data.X[test]), (data.y[train], data.y[test]), s.components, s,
        seed=seed, name=name, trial=trial, methods=methods, exact="sgd" not in methods,
    )  # fmt: skip


def real_curves(
    figure: str, data: Prepared, *, seed: int, n_repeats: int | None = None, n_jobs: int = 1,
    base: Setting | None = None,
) -> Curves:  # fmt: skip
    """Test errors against the number of features on real data (Figures 4 to 6, Table 1).

    Parameters
    ----------
    figure : {"fig4-medical", "fig4-wine", "fig5", "fig6"}
    data : Prepared
        From :func:`dplit.random_features.data.prepare`: medical data for ``"fig4-medical"`` and
        ``"fig5"``, red wine for the others.
    seed, n_repeats, n_jobs, base
        As in :func:`feature_curves`. Every repetition draws its own split (90 % training); the
        paper shows one split, so its standard error is our standard deviation.

    Returns
    -------
    Curves
        As :func:`feature_curves`, without ``gamma``. Figure 4 has no ``sgd``; Figures 5 and 6 have
        no ``min_norm`` (their Gram matrices are singular to working precision) and ``sgd`` with the
        learning rates on its last axis.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Liao, Needell, Schaeffer, Xue (2025), Figures 4, 5, 6 and Table 1.

    Examples
    --------
    >>> from dplit.random_features.data import Prepared
    >>> rng = np.random.default_rng(0)
    >>> data = Prepared(rng.random((40, 2)), rng.random(40), ("a", "b"))
    >>> small = replace(setting("fig5"), components=(80,))
    >>> real_curves("fig5", data, seed=0, n_repeats=2, base=small).errors["sgd"].shape
    (2, 1, 3)
    """
    check_choice("figure", figure, ("fig4-medical", "fig4-wine", "fig5", "fig6"))
    s = base or setting(figure)
    name = f"dprf-{figure}"
    methods = ("ours",) if figure.startswith("fig4") else ("ours", "sgd")
    trials = run_trials(
        partial(_real_trial, seed=seed, name=name, s=s, data=data, methods=methods),
        check_integer("n_repeats", s.repeats if n_repeats is None else n_repeats, minimum=2),
        seed=seed, name=name, n_jobs=n_jobs,
    )  # fmt: skip
    return Curves(
        axis=np.array(s.components, dtype=float), axis_name="number of features N",
        errors=_stack(trials), epsilons=s.epsilons, components=s.components,
        learning_rates=s.learning_rates,
    )  # fmt: skip


def crossing_position(curves: Curves, *, rival: str = "sgd") -> float | None:
    """Position on the axis from which a baseline's expected error is below the published model's.

    Parameters
    ----------
    curves : Curves
        With one privacy budget, from :func:`record_curves`.
    rival : {"sgd", "gamma"}, default="sgd"

    Returns
    -------
    float or None
        Log-linear interpolation of the ratio of the two curves; None if they do not cross.

    Raises
    ------
    ValueError
        If the rival is unknown.

    Examples
    --------
    >>> errors = {"ours_expected": np.ones((2, 2, 1)), "sgd_expected": np.ones((2, 2, 1))}
    >>> errors["sgd_expected"] = errors["sgd_expected"] * [[4.0], [0.25]]
    >>> crossing_position(Curves(np.array([1.0, 3.0]), "m", errors, (1.0,), (2, 6)))
    2.0
    """
    check_choice("rival", rival, ("sgd", "gamma"))
    log_ratio = np.log(curves.mean(f"{rival}_expected")[:, 0] / curves.mean("ours_expected")[:, 0])
    below = np.flatnonzero((log_ratio[:-1] > 0) & (log_ratio[1:] <= 0))
    if not len(below):
        return None
    i = int(below[0])
    share = log_ratio[i] / (log_ratio[i] - log_ratio[i + 1])
    return float(curves.axis[i] + share * (curves.axis[i + 1] - curves.axis[i]))


def sentences(curves: Curves) -> dict[str, bool]:
    """Truth values of the sentences of Section 4.1 on one panel, from expected errors.

    Parameters
    ----------
    curves : Curves
        From :func:`feature_curves` or :func:`real_curves`.

    Returns
    -------
    dict of str to bool
        For every method present: whether the published curve beats it everywhere, whether it
        improves with N, whether the curve with the Delta of unit rows improves by 1 %, and whether
        predicting the constant beats every private and non-private curve.

    Examples
    --------
    >>> from dplit.random_features.curves import Curves
    >>> one = np.ones((2, 2, 1))
    >>> errors = {"ours_expected": one * [[2.0], [1.0]], "corrected_expected": one * 9,
    ...           "nonprivate": one[:, :, 0] * 0.5, "zero": one[:, :, 0], "constant": one[:, :, 0]}
    >>> sentences(Curves(np.array([1.0, 2.0]), "N", errors, (1.0,), (1, 2)))["decreases with N"]
    True
    """
    ours, corrected = curves.mean("ours_expected"), curves.mean("corrected_expected")
    result = {
        "decreases with N": bool(np.all(np.diff(ours, axis=0) < 0)),
        "decreases with N for the Delta of unit rows": bool(
            np.any(corrected[-1] < 0.99 * corrected[0])
        ),
        "constant predictor beats the private model": bool(
            np.all(curves.mean("constant")[:, None] < ours)
        ),
        "constant predictor beats the non-private model": bool(
            np.all(curves.mean("constant") < curves.mean("nonprivate"))
        ),
        "zero predictor beats the private model": bool(np.all(curves.mean("zero")[:, None] < ours)),
    }
    for other in ("gamma", "sgd"):
        if f"{other}_expected" in curves.errors:
            rival = curves.mean(f"{other}_expected")
            result[f"beats {other} everywhere"] = bool(np.all(ours < rival))
            result[f"beats {other} for the Delta of unit rows"] = bool(np.any(corrected < rival))
    return result
