"""Figures 1 to 6 and Table 1 at the paper's sizes, with closed forms beside the simulations.

Three devices keep them short. The expected private error given the features is the non-private
error plus sigma^2 times the mean squared row norm, so no mean over noise is simulated; one pass
over nested frequencies serves all numbers of features; Kaczmarz and stochastic gradient steps run
on the Gram matrix. Simulated errors are kept too: they must scatter around the closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array, check_choice, check_integer
from dplit.features import phased_cosine_features
from dplit.random_features.data import Prepared, draw_data, split
from dplit.random_features.interpolation import distinct_rows, kaczmarz, min_norm_dual
from dplit.random_features.release import correct_scale, gamma_scale, published_scale, sgd_scale
from dplit.streams import stream
from dplit.trials import Estimate, Runs, mean_and_se, run_trials

__all__ = [
    "SETTINGS",
    "Curves",
    "Setting",
    "Version",
    "crossing_position",
    "differences",
    "feature_curves",
    "real_curves",
    "record_curves",
    "sentences",
    "setting",
]


# One pass over random frequencies that serves every number of features of a figure.
#
# The first N of one sequence of frequencies are a valid draw of N frequencies, so the Gram
# matrices
# of all N are partial sums of one pass, rescaled by 2/N. Coefficients are kept as c = Phi^T a: a
# vector of length m instead of N.


_BLOCK = 1024


@dataclass(frozen=True)
class NestedGram:
    """What one number of features N needs, for Phi = sqrt(2/N) cos(X Omega + b).

    gram (m, m) is Phi_train Phi_train^T, cross (n, m) is Phi_test Phi_train^T, row_norms2 (n,) are
    the squared norms of the test rows, responses (n, q) is Phi_test Z with standard normal Z of
    shape (N, q) and direction_norms2 (q,) are the squared norms of its columns.
    """

    n_components: int
    gram: Array
    cross: Array
    row_norms2: Array
    responses: Array
    direction_norms2: Array


def nested_grams(
    X_train: Array,
    X_test: Array,
    components: Sequence[int],
    *,
    frequency_sd: float,
    rng: np.random.Generator,
    noise_rng: np.random.Generator | None = None,
    directions: int = 0,
) -> Iterator[NestedGram]:
    """Yield the Gram matrices of cosine features for increasing numbers of features."""
    m, n = len(X_train), len(X_test)
    X = np.vstack([X_train, X_test])
    gram, cross = np.zeros((m, m)), np.zeros((n, m))
    norms, responses, squares = np.zeros(n), np.zeros((n, directions)), np.zeros(directions)
    done = 0
    for target in components:
        while done < target:
            width = min(_BLOCK, target - done)
            omega = frequency_sd * rng.standard_normal((X.shape[1], width))
            phases = rng.uniform(0.0, 2.0 * np.pi, width)
            F = phased_cosine_features(X, omega, phases, normalize=False)
            train, test = F[:m], F[m:]
            gram += train @ train.T
            cross += test @ train.T
            norms += np.einsum("ij,ij->i", test, test)
            if directions and noise_rng is not None:
                Z = noise_rng.standard_normal((width, directions))
                responses += test @ Z
                squares += np.einsum("ij,ij->j", Z, Z)
            done += width
        factor = 2.0 / target
        yield NestedGram(
            target,
            factor * gram,
            factor * cross,
            factor * norms,
            np.sqrt(factor) * responses,
            squares.copy(),
        )


def gradient_dual(gram: Array, y: Array, rows: NDArray[np.intp], step: float) -> Array:
    """Return the dual vector of stochastic gradient descent from zero on half the squared loss.

    Step t adds ``step * (y_i - <c, phi_i>) phi_i`` with i = rows[t].
    """
    dual = np.zeros(len(y))
    for i in rows.tolist():
        dual[i] += step * (y[i] - gram[i] @ dual)
    return dual


def min_norm_dual_distinct(gram: Array, y: Array, X: Array) -> Array:
    """Return the dual vector of the minimum-norm least-squares fit where rows may repeat.

    Equal rows of X have equal features: the least-squares fit interpolates the mean of their
    labels. One representative of each carries the coefficient, and its Gram matrix is regular.
    """
    first, inverse = distinct_rows(X)
    means = np.bincount(inverse, weights=y) / np.bincount(inverse)
    dual = np.zeros(len(y))
    dual[first] = min_norm_dual(gram[np.ix_(first, first)], means)
    return dual


# The settings of every experiment of the paper: what its text states and what its code does.
#
# Where the two differ, both are kept; :func:`differences` lists the fields that differ. A field
# that
# a source leaves unstated is None.


Version = Literal["text", "code"]


@dataclass(frozen=True)
class Setting:
    """The settings of one experiment, as one source states them.

    Attributes
    ----------
    data : str
        ``"f1"``, ``"f2"`` (synthetic), ``"medical"``, ``"red wine"``, ``"wine"``.
    components : tuple of int
        Numbers of features N, in the order of the horizontal axis; for Figure 3 one per number of
        records.
    records : tuple of int or None
        Numbers of training records m.
    test_records : int or None
        Number of test records.
    dimension : int or None
        Number of inputs d of the synthetic data.
    frequency_sd : float
        Standard deviation of each coordinate of a frequency.
    epsilons : tuple of float
        Privacy budgets.
    delta : float
        Privacy parameter.
    sensitivity : float
        Numerator of the sensitivity: Delta = sensitivity / sqrt(N).
    noise : {"classical", "5/sqrt(2 epsilon)"}
        Multiplier of Delta: the classical Gaussian calibration, or that of the fairness code.
    labels : str
        Scaling of the labels.
    learning_rates : tuple of float
        Step sizes of the SGD baseline, in units of 1/m.
    repeats : int
        Number of repetitions.
    """

    data: str
    components: tuple[int, ...]
    records: tuple[int, ...] | None
    test_records: int | None
    frequency_sd: float
    epsilons: tuple[float, ...]
    labels: str
    dimension: int | None = None
    delta: float = 1e-5
    sensitivity: float = 4.0
    noise: Literal["classical", "5/sqrt(2 epsilon)"] = "classical"
    learning_rates: tuple[float, ...] = (1.0,)
    repeats: int = 10


_NARROW_TEXT, _NARROW_CODE = 40.0**0.5, 40.0

_BROAD_TEXT, _BROAD_CODE = 2.0**0.5, 4.0

_FIG3_RECORDS = tuple(range(1000, 2001, 200))

#: The twenty privacy budgets of Figures 7 and 8.
_FAIR_EPSILONS = tuple(0.05 + 0.25 * k / 19 for k in range(20))

_fig1 = Setting(
    data="f1",
    components=tuple(range(1500, 5001, 500)),
    records=(1000,),
    test_records=1000,
    frequency_sd=_NARROW_CODE,
    epsilons=(0.5, 1.0),
    labels="divided by the norm of all labels",
    dimension=5,
)

_fig2 = replace(_fig1, data="f2", dimension=100, components=tuple(range(1500, 3501, 500)))

_fig3a = replace(
    _fig1,
    components=tuple(2 * m for m in _FIG3_RECORDS),
    records=_FIG3_RECORDS,
    test_records=200,
    epsilons=(1.0,),
)

_fig4m = Setting(
    data="medical",
    components=tuple(range(2000, 10001, 2000)),
    records=(1204,),
    test_records=134,
    frequency_sd=_NARROW_CODE,
    epsilons=(0.25, 0.5, 1.0),
    labels="min-max",
)

_fig4w = replace(_fig4m, data="red wine", records=(1439,), test_records=160)

_fig5 = replace(
    _fig4m,
    components=tuple(range(10000, 20001, 2000)),
    frequency_sd=_BROAD_CODE,
    epsilons=(0.5,),
    sensitivity=2.0,
    learning_rates=(1.0, 1 / 4, 1 / 16),
)

_fig6 = replace(_fig5, data="red wine", records=(1439,), test_records=160, sensitivity=4.0)

_fig7 = Setting(
    data="medical",
    components=(4000,),
    records=(1203,),
    test_records=135,
    frequency_sd=(2e-5) ** 0.5,
    epsilons=_FAIR_EPSILONS,
    labels="min-max in each group",
    noise="5/sqrt(2 epsilon)",
)

_fig8 = replace(_fig7, data="wine", frequency_sd=20.0**0.5, records=(1000,), test_records=2000)

_tab2 = replace(
    _fig7,
    records=(1338,),
    test_records=None,
    epsilons=(0.5,),
    labels="divided by their norm",
    noise="classical",
    repeats=20,
)


def _text(code: Setting, **stated: Any) -> Setting:
    return replace(code, **stated)


_fair_text: dict[str, Any] = {"labels": "divided by their norm", "noise": "classical"}

_stated: dict[str, Any] = {"frequency_sd": _NARROW_TEXT, "dimension": None}

_real: dict[str, Any] = {"frequency_sd": _NARROW_TEXT, "records": None, "test_records": None}

_rates: dict[str, Any] = {"frequency_sd": _BROAD_TEXT, "sensitivity": 4.0}

_rates |= {"learning_rates": (1.0, 1 / 2, 1 / 8), "records": None, "test_records": None}

#: Settings by experiment and source. Table 2 and Figure 9 have no published code.
SETTINGS: dict[str, dict[Version, Setting]] = {
    "fig1": {"code": _fig1, "text": _text(_fig1, **_stated)},
    "fig2": {"code": _fig2, "text": _text(_fig2, **_stated)},
    "fig3a": {
        "code": _fig3a,
        "text": _text(_fig3a, components=tuple(m + 200 for m in _FIG3_RECORDS), **_stated),
    },
    "fig3b": {
        "code": replace(_fig3a, dimension=100),
        "text": _text(
            _fig3a, data="f2", components=tuple(m + 200 for m in _FIG3_RECORDS), **_stated
        ),
    },
    "fig4-medical": {"code": _fig4m, "text": _text(_fig4m, **_real)},
    "fig4-wine": {"code": _fig4w, "text": _text(_fig4w, **{**_real, "data": "wine"})},
    "fig5": {"code": _fig5, "text": _text(_fig5, **_rates)},
    "fig6": {"code": _fig6, "text": _text(_fig6, **{**_rates, "data": "wine"})},
    "fig7": {"code": _fig7, "text": _text(_fig7, **_fair_text)},
    "fig8": {
        "code": _fig8,
        "text": _text(_fig8, records=(2000,), test_records=1000, **_fair_text),
    },
    "tab2-medical": {"text": _tab2},
    "tab2-wine": {
        "text": replace(
            _tab2, data="wine", records=(6497,), frequency_sd=20.0**0.5, epsilons=(0.05,)
        )
    },
}


def setting(experiment: str, version: Version = "code") -> Setting:
    """Return the settings of one experiment as the text or the code of the paper has them.

    Parameters
    ----------
    experiment : str
        A key of ``SETTINGS``: ``"fig1"``, ``"fig3b"``, ``"fig4-medical"``, ``"tab2-wine"``, ...
    version : {"code", "text"}, default="code"
        The source. Table 2 (and Figure 9) exist as text only.

    Returns
    -------
    Setting

    Raises
    ------
    ValueError
        If the experiment is unknown, or has no such version.

    References
    ----------
    Liao, Needell, Schaeffer, Xue (2025), Section 4; code at github.com/liaochunyang/DPRFM.

    Examples
    --------
    >>> setting("fig3a", "text").components[0], setting("fig3a").components[0]
    (1200, 2000)
    """
    check_choice("experiment", experiment, SETTINGS)
    check_choice("version", version, SETTINGS[experiment])
    return SETTINGS[experiment][version]


def differences(experiment: str) -> list[dict[str, Any]]:
    """Return the fields in which text and code of one experiment differ.

    Parameters
    ----------
    experiment : str
        A key of ``SETTINGS``.

    Returns
    -------
    list of dict
        One dict per field with keys ``field``, ``text``, ``code``; empty where only one source
        exists.

    Raises
    ------
    ValueError
        If the experiment is unknown.

    Examples
    --------
    >>> [row["field"] for row in differences("fig1")]
    ['frequency_sd', 'dimension']
    """
    check_choice("experiment", experiment, SETTINGS)
    versions = SETTINGS[experiment]
    if len(versions) < 2:
        return []
    text, code = asdict(versions["text"]), asdict(versions["code"])
    names = [field.name for field in fields(Setting)]
    return [
        {"field": name, "text": text[name], "code": code[name]}
        for name in names
        if text[name] != code[name]
    ]


# Test errors of all compared methods for one draw of features, at one number of features.


@dataclass(frozen=True)
class Curves(Runs):
    """Mean squared test errors by method along ``axis``, as (repetition, position[, column]).

    A column is a privacy budget, for SGD a pair of learning rate (in units of 1/m) and budget;
    ``components`` are the numbers of features at the positions.
    """

    axis: Array
    axis_name: str
    epsilons: tuple[float, ...]
    components: tuple[int, ...]
    learning_rates: tuple[float, ...] = (1.0,)

    def increment(self, method: str = "ours", base: str = "nonprivate") -> Estimate:
        """Return the private minus the non-private error, (position, budget), on shared splits."""
        private, plain = self.of(method), self.of(base)
        return mean_and_se(private - (plain if plain.ndim == private.ndim else plain[:, :, None]))


_Indices = NDArray[np.intp]


def _mean_square(residual: Array) -> Array:
    return np.asarray(np.mean(residual**2, axis=0))


def _ours(block: NestedGram, residual: Array, exact: Array | None, s: Setting,
          normals: Array) -> dict[str, Array]:  # fmt: skip
    sigma = np.array([
        published_scale(block.n_components, epsilon=e, delta=s.delta, sensitivity=s.sensitivity)
        for e in s.epsilons
    ])  # fmt: skip
    correct = np.array([correct_scale(epsilon=e, delta=s.delta) for e in s.epsilons])
    spread = block.row_norms2.mean()
    noise = sigma * normals
    errors = {
        "nonprivate": _mean_square(residual),
        "ours": _mean_square(residual[:, None] - noise),
        "ours_expected": _mean_square(residual) + sigma**2 * spread,
        "corrected_expected": _mean_square(residual) + correct**2 * spread,
    }
    if exact is not None:
        errors["min_norm"] = _mean_square(exact)
        errors["min_norm_private"] = _mean_square(exact[:, None] - noise)
        errors["min_norm_private_expected"] = errors["min_norm"] + sigma**2 * spread
    return errors


def _gamma(block: NestedGram, residual: Array, s: Setting, normals: Array, norms: Array,
           rng: np.random.Generator) -> dict[str, Array]:  # fmt: skip
    n = block.n_components
    scale = s.sensitivity / np.sqrt(n) / np.array(s.epsilons)
    radius = scale * rng.gamma(n, size=len(s.epsilons))
    expected = [gamma_scale(n, epsilon=e, sensitivity=s.sensitivity) ** 2 for e in s.epsilons]
    return {
        "gamma": _mean_square(residual[:, None] - normals * (radius / norms)),
        "gamma_expected": _mean_square(residual) + np.array(expected) * block.row_norms2.mean(),
    }


def _sgd(block: NestedGram, y: tuple[Array, Array], rows: _Indices, s: Setting,
         normals: Array) -> dict[str, Array]:  # fmt: skip
    m = len(y[0])
    plain = np.column_stack([
        y[1] - block.cross @ gradient_dual(block.gram, y[0], rows, rate / m)
        for rate in s.learning_rates
    ])  # fmt: skip
    sigma = np.array([
        sgd_scale(m, epsilon=e, delta=s.delta, learning_rate=rate / m)
        for rate in s.learning_rates for e in s.epsilons
    ])  # fmt: skip
    residual = np.repeat(plain, len(s.epsilons), axis=1)
    return {
        "sgd_nonprivate": _mean_square(plain),
        "sgd": _mean_square(residual - sigma * normals),
        "sgd_expected": _mean_square(residual) + sigma**2 * block.row_norms2.mean(),
    }


def method_errors(
    X: tuple[Array, Array],
    y: tuple[Array, Array],
    components: Sequence[int],
    setting: Setting,
    *,
    seed: int,
    name: str,
    trial: int,
    methods: tuple[str, ...] = ("ours", "gamma", "sgd"),
    exact: bool = True,
) -> list[Mapping[str, Array]]:
    """Return the errors of every method at every number of features, one nested draw.

    X and y are pairs (training, test). Features, row sequences and noise have streams of their own.
    ``exact`` adds the minimum-norm fit, which takes one factorisation per number of features.
    """
    q = len(setting.epsilons)
    widths = {"ours": q, "gamma": q, "sgd": q * len(setting.learning_rates)}
    per_block = sum(widths[method] for method in methods)
    noise_rng = stream(seed, name, "noise", trial)
    radius_rng = stream(seed, f"{name}-radius", "noise", trial)
    rows_rng = stream(seed, f"{name}-rows", "public", trial)
    m = len(y[0])
    blocks = nested_grams(
        *X, components, frequency_sd=setting.frequency_sd, rng=stream(seed, name, "public", trial),
        noise_rng=noise_rng, directions=per_block * len(components),
    )  # fmt: skip
    results: list[Mapping[str, Array]] = []
    for k, block in enumerate(blocks):
        at = k * per_block
        rows, sgd_rows = rows_rng.integers(m, size=(2, m))
        residual = y[1] - block.cross @ kaczmarz(block.gram, y[0], rows)
        best = None
        if exact:
            best = y[1] - block.cross @ min_norm_dual_distinct(block.gram, y[0], X[0])
        errors: dict[str, Array] = {}
        for method in methods:
            use = slice(at, at + widths[method])
            at += widths[method]
            normals, norms = block.responses[:, use], np.sqrt(block.direction_norms2[use])
            if method == "ours":
                errors |= _ours(block, residual, best, setting, normals)
            elif method == "gamma":
                errors |= _gamma(block, residual, setting, normals, norms, radius_rng)
            else:
                errors |= _sgd(block, y, sgd_rows, setting, normals)
        errors["zero"] = _mean_square(y[1])
        errors["constant"] = _mean_square(y[1] - y[0].mean())
        results.append(errors)
    return results


_Errors = list[Mapping[str, Array]]


def _stack(trials: Sequence[_Errors]) -> dict[str, Array]:
    """Return arrays (repetition, position, ...) from one list of errors per repetition."""
    names = trials[0][0]
    return {name: np.array([[point[name] for point in t] for t in trials]) for name in names}


def _sizes(s: Setting) -> tuple[tuple[int, ...], int, int]:
    """Return numbers of training records, of test records and of inputs of synthetic data."""
    if s.records is None or s.test_records is None or s.dimension is None:
        raise ValueError("base must state records, test_records and dimension (the text does not)")
    return s.records, s.test_records, s.dimension


def _feature_trial(
    trial: int, *, seed: int, name: str, s: Setting, X: Array, y: Array, m: int
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
    >>> curves.values["ours"].shape
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
        _stack(trials), axis=np.array(s.components, dtype=float),
        axis_name="number of features N", epsilons=s.epsilons, components=s.components,
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
            _stack([trial[version] for trial in trials]), axis=np.array(records, dtype=float),
            axis_name="number of records m", epsilons=s.epsilons,
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
    >>> real_curves("fig5", data, seed=0, n_repeats=2, base=small).values["sgd"].shape
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
        _stack(trials), axis=np.array(s.components, dtype=float),
        axis_name="number of features N", epsilons=s.epsilons, components=s.components,
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
    >>> crossing_position(Curves(errors, np.array([1.0, 3.0]), "m", (1.0,), (2, 6)))
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
    >>> one = np.ones((2, 2, 1))
    >>> errors = {"ours_expected": one * [[2.0], [1.0]], "corrected_expected": one * 9,
    ...           "nonprivate": one[:, :, 0] * 0.5, "zero": one[:, :, 0], "constant": one[:, :, 0]}
    >>> sentences(Curves(errors, np.array([1.0, 2.0]), "N", (1.0,), (1, 2)))["decreases with N"]
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
        if f"{other}_expected" in curves.values:
            rival = curves.mean(f"{other}_expected")
            result[f"beats {other} everywhere"] = bool(np.all(ours < rival))
            result[f"beats {other} for the Delta of unit rows"] = bool(np.any(corrected < rival))
    return result
