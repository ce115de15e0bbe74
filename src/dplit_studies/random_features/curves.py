"""Figures 1 to 6 and Table 1 at the paper's sizes: closed forms beside simulations.

No mean over noise is simulated, one pass over nested frequencies serves all numbers of features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplit._checks import Array, check_choice, check_integer
from dplit.features import phased_cosine_features
from dplit.random_features.interpolation import _distinct_rows, _min_norm_dual, kaczmarz
from dplit.random_features.release import _correct_scale, _gamma_scale, _sgd_scale, published_scale
from dplit.streams import stream
from dplit.trials import Estimate, Runs, Trial, mean_and_se, run_trials
from dplit_studies.random_features.data import _draw_data, _Prepared, _split

T = TypeVar("T")

# One pass over random frequencies serves every number of features of a figure: the first N of one
# sequence are a valid draw of N, so the Gram matrices of all N are partial sums, rescaled by 2/N.
# Coefficients are kept as c = Phi^T a: a vector of length m instead of N.

_BLOCK = 1024


@dataclass(frozen=True)
class _NestedGram:
    """What one number of features N needs, for Phi = sqrt(2/N) cos(X Omega + b)."""

    n_components: int
    gram: Array  # Phi_train Phi_train^T, (m, m)
    cross: Array  # Phi_test Phi_train^T, (n, m)
    row_norms2: Array  # squared norms of the test rows, (n,)
    responses: Array  # Phi_test Z for standard normal Z of shape (N, q), (n, q)
    direction_norms2: Array  # squared norms of the columns of Z, (q,)


def _nested_grams(
    X_train: Array, X_test: Array, components: Sequence[int], *, frequency_sd: float,
    rng: np.random.Generator, noise_rng: np.random.Generator | None = None, directions: int = 0,
) -> Iterator[_NestedGram]:  # fmt: skip
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
        f = 2.0 / target
        yield _NestedGram(
            target, f * gram, f * cross, f * norms, np.sqrt(f) * responses, squares.copy()
        )


def _gradient_dual(gram: Array, y: Array, rows: NDArray[np.intp], step: float) -> Array:
    """Return the dual vector of stochastic gradient descent from zero on half the squared loss.

    Step t adds ``step * (y_i - <c, phi_i>) phi_i`` with i = rows[t].
    """
    dual = np.zeros(len(y))
    for i in rows.tolist():
        dual[i] += step * (y[i] - gram[i] @ dual)
    return dual


def _min_norm_dual_distinct(gram: Array, y: Array, X: Array) -> Array:
    """Return the dual vector of the minimum-norm least-squares fit where rows of X may repeat: the
    fit interpolates the mean of the labels of equal rows, of which one carries the coefficient.
    """
    first, inverse = _distinct_rows(X)
    means = np.bincount(inverse, weights=y) / np.bincount(inverse)
    dual = np.zeros(len(y))
    dual[first] = _min_norm_dual(gram[np.ix_(first, first)], means)
    return dual


_Version = Literal["text", "code"]


@dataclass(frozen=True)
class _Setting:
    """The settings of one experiment as one source states them; None where it does not."""

    data: str  # "f1", "f2" (synthetic), "medical", "red wine", "wine"
    components: tuple[int, ...]  # numbers of features N along the axis
    records: tuple[int, ...] | None  # numbers of training records m
    test_records: int | None
    frequency_sd: float  # of each coordinate of a frequency
    epsilons: tuple[float, ...]
    labels: str  # their scaling
    dimension: int | None = None  # inputs of the synthetic data
    delta: float = 1e-5
    sensitivity: float = 4.0  # numerator of Delta = sensitivity / sqrt(N)
    noise: Literal["classical", "5/sqrt(2 epsilon)"] = "classical"  # multiplier of Delta
    learning_rates: tuple[float, ...] = (1.0,)  # of SGD, in units of 1/m
    repeats: int = 10


_FIG3_RECORDS = tuple(range(1000, 2001, 200))

_fig1 = _Setting(
    data="f1", components=tuple(range(1500, 5001, 500)), records=(1000,), test_records=1000,
    frequency_sd=40.0, epsilons=(0.5, 1.0), labels="divided by the norm of all labels", dimension=5,
)  # fmt: skip

_fig2 = replace(_fig1, data="f2", dimension=100, components=tuple(range(1500, 3501, 500)))

_fig3 = replace(
    _fig1, components=tuple(2 * m for m in _FIG3_RECORDS), records=_FIG3_RECORDS, test_records=200,
    epsilons=(1.0,),
)  # fmt: skip

_fig4m = _Setting(
    data="medical", components=tuple(range(2000, 10001, 2000)), records=(1204,), test_records=134,
    frequency_sd=40.0, epsilons=(0.25, 0.5, 1.0), labels="min-max",
)  # fmt: skip

_fig4w = replace(_fig4m, data="red wine", records=(1439,), test_records=160)

_fig5 = replace(
    _fig4m, components=tuple(range(10000, 20001, 2000)), frequency_sd=4.0, epsilons=(0.5,),
    sensitivity=2.0, learning_rates=(1.0, 1 / 4, 1 / 16),
)  # fmt: skip

_fig6 = replace(_fig5, data="red wine", records=(1439,), test_records=160, sensitivity=4.0)

_fig7 = _Setting(
    data="medical", components=(4000,), records=(1203,), test_records=135,
    frequency_sd=(2e-5) ** 0.5, epsilons=tuple(0.05 + 0.25 * k / 19 for k in range(20)),
    labels="min-max in each group", noise="5/sqrt(2 epsilon)",
)  # fmt: skip

_fig8 = replace(_fig7, data="wine", frequency_sd=20.0**0.5, records=(1000,), test_records=2000)

_tab2 = replace(
    _fig7, records=(1338,), test_records=None, epsilons=(0.5,), labels="divided by their norm",
    noise="classical", repeats=20,
)  # fmt: skip

# What the text states instead: for synthetic data, for Figure 3, for Figure 4, for Figures 5 and
# 6, for Figures 7 and 8.
_stated: dict[str, Any] = {"frequency_sd": 40.0**0.5, "dimension": None}

_stated3 = {**_stated, "components": tuple(m + 200 for m in _FIG3_RECORDS)}

_real: dict[str, Any] = {"frequency_sd": 40.0**0.5, "records": None, "test_records": None}

_rates = {
    **_real, "frequency_sd": 2.0**0.5, "sensitivity": 4.0, "learning_rates": (1.0, 1 / 2, 1 / 8)
}  # fmt: skip

_fair: dict[str, Any] = {"labels": "divided by their norm", "noise": "classical"}

#: Settings by experiment and source. Table 2 and Figure 9 have no published code.
SETTINGS: dict[str, dict[_Version, _Setting]] = {
    "fig1": {"code": _fig1, "text": replace(_fig1, **_stated)},
    "fig2": {"code": _fig2, "text": replace(_fig2, **_stated)},
    "fig3a": {"code": _fig3, "text": replace(_fig3, **_stated3)},
    "fig3b": {
        "code": replace(_fig3, dimension=100), "text": replace(_fig3, data="f2", **_stated3)
    },
    "fig4-medical": {"code": _fig4m, "text": replace(_fig4m, **_real)},
    "fig4-wine": {"code": _fig4w, "text": replace(_fig4w, data="wine", **_real)},
    "fig5": {"code": _fig5, "text": replace(_fig5, **_rates)},
    "fig6": {"code": _fig6, "text": replace(_fig6, data="wine", **_rates)},
    "fig7": {"code": _fig7, "text": replace(_fig7, **_fair)},
    "fig8": {"code": _fig8, "text": replace(_fig8, records=(2000,), test_records=1000, **_fair)},
    "tab2-medical": {"text": _tab2},
    "tab2-wine": {"text": replace(
        _tab2, data="wine", records=(6497,), frequency_sd=20.0**0.5, epsilons=(0.05,)
    )},
}  # fmt: skip


def _setting(experiment: str, version: _Version = "code") -> _Setting:
    """Return the settings of one experiment, a key of ``SETTINGS``, from the text or the code.

    The code is at github.com/liaochunyang/DPRFM; Table 2 exists as text only.
    """
    check_choice("experiment", experiment, SETTINGS)
    check_choice("version", version, SETTINGS[experiment])
    return SETTINGS[experiment][version]


def differences(experiment: str) -> list[dict[str, Any]]:
    """Return a dict (field, text, code) for every field in which text and code differ.

    Empty where only one source exists.
    """
    check_choice("experiment", experiment, SETTINGS)
    versions = SETTINGS[experiment]
    if len(versions) < 2:
        return []
    text, code = asdict(versions["text"]), asdict(versions["code"])
    return [{"field": k, "text": text[k], "code": code[k]} for k in text if text[k] != code[k]]


# Test errors of all compared methods for one draw of features, at every number of features.


@dataclass(frozen=True)
class _Curves(Runs):
    """Mean squared test errors by method along ``axis``, as (repetition, position[, column]). A
    column is a privacy budget, for ``sgd`` a learning rate (in units of 1/m) with each budget;
    ``components`` are the numbers of features at the positions.
    """

    axis: Array
    axis_name: str
    epsilons: tuple[float, ...]
    components: tuple[int, ...]
    learning_rates: tuple[float, ...] = (1.0,)

    def increment(self, method: str = "ours", base: str = "nonprivate") -> Estimate:
        """Return the private minus the non-private error, (position, budget), on shared splits."""
        return mean_and_se(self.of(method) - self.of(base)[:, :, None])


_Indices = NDArray[np.intp]

_Pair = tuple[Array, Array]  # training, test

_Errors = list[Mapping[str, Array]]


def _mean_square(residual: Array) -> Array:
    return np.asarray(np.mean(residual**2, axis=0))


def _ours(
    block: _NestedGram, residual: Array, exact: Array | None, s: _Setting, normals: Array
) -> dict[str, Array]:
    sigma = np.array([
        published_scale(block.n_components, epsilon=e, delta=s.delta, sensitivity=s.sensitivity)
        for e in s.epsilons
    ])  # fmt: skip
    correct = np.array([_correct_scale(epsilon=e, delta=s.delta) for e in s.epsilons])
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


def _gamma(
    block: _NestedGram, residual: Array, s: _Setting, normals: Array, norms: Array,
    rng: np.random.Generator,
) -> dict[str, Array]:  # fmt: skip
    n = block.n_components
    scale = s.sensitivity / np.sqrt(n) / np.array(s.epsilons)
    radius = scale * rng.gamma(n, size=len(s.epsilons))
    size = partial(_gamma_scale, n)
    published = np.array([size(epsilon=e, sensitivity=s.sensitivity) for e in s.epsilons])
    correct = np.sqrt(n) * np.array([size(epsilon=e) for e in s.epsilons])
    spread, plain = block.row_norms2.mean(), _mean_square(residual)
    return {
        "gamma": _mean_square(residual[:, None] - normals * (radius / norms)),
        "gamma_expected": plain + published**2 * spread,
        "gamma_corrected_expected": plain + correct**2 * spread,
    }


def _sgd(
    block: _NestedGram, y: _Pair, rows: _Indices, s: _Setting, normals: Array
) -> dict[str, Array]:
    m = len(y[0])
    plain = np.column_stack([
        y[1] - block.cross @ _gradient_dual(block.gram, y[0], rows, rate / m)
        for rate in s.learning_rates
    ])  # fmt: skip
    sigma = np.array([
        _sgd_scale(m, epsilon=e, delta=s.delta, learning_rate=rate / m)
        for rate in s.learning_rates for e in s.epsilons
    ])  # fmt: skip
    residual = np.repeat(plain, len(s.epsilons), axis=1)
    return {
        "sgd_nonprivate": _mean_square(plain),
        "sgd": _mean_square(residual - sigma * normals),
        "sgd_expected": _mean_square(residual) + sigma**2 * block.row_norms2.mean(),
    }


def _method_errors(
    trial: Trial, X: _Pair, y: _Pair, components: Sequence[int], s: _Setting, *,
    methods: tuple[str, ...] = ("ours", "gamma", "sgd"), exact: bool = True,
) -> _Errors:  # fmt: skip
    """Return the errors of every method at every number of features, one nested draw.

    ``exact`` adds the minimum-norm fit, one factorisation per number of features.
    """
    q = len(s.epsilons)
    widths = {"ours": q, "gamma": q, "sgd": q * len(s.learning_rates)}
    per_block = sum(widths[method] for method in methods)
    radius_rng = stream(trial.seed, f"{trial.name}-radius", "noise", trial)
    rows_rng = stream(trial.seed, f"{trial.name}-rows", "public", trial)
    blocks = _nested_grams(
        *X, components, frequency_sd=s.frequency_sd, rng=trial.stream("public"),
        noise_rng=trial.stream("noise"), directions=per_block * len(components),
    )  # fmt: skip
    results: _Errors = []
    for k, block in enumerate(blocks):
        at = k * per_block
        rows, sgd_rows = rows_rng.integers(len(y[0]), size=(2, len(y[0])))
        residual = y[1] - block.cross @ kaczmarz(block.gram, y[0], rows)
        best = None
        if exact:
            best = y[1] - block.cross @ _min_norm_dual_distinct(block.gram, y[0], X[0])
        errors: dict[str, Array] = {}
        for method in methods:
            use = slice(at, at + widths[method])
            at += widths[method]
            normals, norms = block.responses[:, use], np.sqrt(block.direction_norms2[use])
            if method == "ours":
                errors |= _ours(block, residual, best, s, normals)
            elif method == "gamma":
                errors |= _gamma(block, residual, s, normals, norms, radius_rng)
            else:
                errors |= _sgd(block, y, sgd_rows, s, normals)
        errors["zero"] = _mean_square(y[1])
        errors["constant"] = _mean_square(y[1] - y[0].mean())
        results.append(errors)
    return results


def _stack(trials: Sequence[_Errors]) -> dict[str, Array]:
    """Return arrays (repetition, position, ...) from one list of errors per repetition."""
    names = trials[0][0]
    return {name: np.array([[point[name] for point in t] for t in trials]) for name in names}


def _sizes(s: _Setting) -> tuple[tuple[int, ...], int, int]:
    """Return numbers of training records, of test records and of inputs of synthetic data."""
    if s.records is None or s.test_records is None or s.dimension is None:
        raise ValueError("base must state records, test_records and dimension (the text does not)")
    return s.records, s.test_records, s.dimension


def _repeated(
    function: Callable[..., T], n_repeats: int, *, seed: int, name: str, n_jobs: int, **fixed: Any
) -> list[T]:
    """Return ``function(trial, **fixed)`` for at least two trials."""
    n = check_integer("n_repeats", n_repeats, minimum=2)
    return run_trials(partial(function, **fixed), n, seed=seed, name=name, n_jobs=n_jobs)


def _stacked(trials: Sequence[Mapping[str, Any]]) -> dict[str, Array]:
    """Return arrays (repetition, ...) by key from one mapping per repetition."""
    return {key: np.array([trial[key] for trial in trials]) for key in trials[0]}


def _feature_trial(trial: Trial, *, s: _Setting, X: Array, y: Array, m: int) -> _Errors:
    return _method_errors(trial, (X[:m], X[m:]), (y[:m], y[m:]), s.components, s)


def feature_curves(
    figure: str, *, seed: int, n_repeats: int | None = None, n_jobs: int = 1,
    base: _Setting | None = None,
) -> _Curves:  # fmt: skip
    """Test errors along N on synthetic data, drawn once ("fig1", "fig2"). Methods: nonprivate
    (Kaczmarz, m steps), min_norm (exact), ours, corrected (the Delta of unit rows), gamma, sgd,
    zero, constant; ``*_expected`` are exact over the noise.
    """
    check_choice("figure", figure, ("fig1", "fig2"))
    s = base or _setting(figure)
    name = f"dprf-{figure}"
    (m, *_), n_test, dimension = _sizes(s)
    X, y = _draw_data(m + n_test, dimension, s.data, rng=stream(seed, name, "data"))
    trials = _repeated(
        _feature_trial, s.repeats if n_repeats is None else n_repeats, seed=seed, name=name,
        n_jobs=n_jobs, s=s, X=X, y=y, m=m,
    )  # fmt: skip
    axis = np.array(s.components, dtype=float)
    return _Curves(_stack(trials), axis, "number of features N", s.epsilons, s.components)


def _record_trial(trial: Trial, *, s: _Setting) -> dict[str, _Errors]:
    results: dict[str, _Errors] = {"text": [], "code": []}
    records, n_test, dimension = _sizes(s)
    for m in records:
        own = Trial(int(trial), trial.seed, f"{trial.name}-{m}")
        X, y = _draw_data(m + n_test, dimension, s.data, rng=own.stream("data"))
        sizes = (m + 200, 2 * m) if m > 200 else (2 * m, 2 * m + 1)
        pair = _method_errors(own, (X[:m], X[m:]), (y[:m], y[m:]), sizes, s, exact=False)
        for version, errors in zip(results, pair, strict=True):
            results[version].append(errors)
    return results


def record_curves(
    figure: str, *, seed: int, n_repeats: int | None = None, n_jobs: int = 1,
    base: _Setting | None = None,
) -> dict[str, _Curves]:  # fmt: skip
    """Test errors along m ("fig3a": f1, "fig3b": f2), data drawn anew in every repetition.

    For N = m + 200 ("text") and N = 2m ("code") from one nested draw.
    """
    check_choice("figure", figure, ("fig3a", "fig3b"))
    s = base or _setting(figure)
    if figure == "fig3b" and base is None:
        s = replace(s, data="f2")  # as in the text: the code has f1 with d = 100
    records = _sizes(s)[0]
    trials = _repeated(
        _record_trial, s.repeats if n_repeats is None else n_repeats, seed=seed,
        name=f"dprf-{figure}", n_jobs=n_jobs, s=s,
    )  # fmt: skip
    sizes = {"text": tuple(m + 200 for m in records), "code": tuple(2 * m for m in records)}
    axis = np.array(records, dtype=float), "number of records m", s.epsilons
    return {v: _Curves(_stack([trial[v] for trial in trials]), *axis, sizes[v]) for v in sizes}


def _real_trial(trial: Trial, *, s: _Setting, data: _Prepared, methods: tuple[str, ...]) -> _Errors:
    n = len(data.y)
    train, test = _split(
        math.ceil(0.1 * n), groups=np.zeros(n, dtype=int), rng=trial.stream("data")
    )
    return _method_errors(
        trial, (data.X[train], data.X[test]), (data.y[train], data.y[test]), s.components, s,
        methods=methods, exact="sgd" not in methods,
    )  # fmt: skip


def real_curves(
    figure: str, data: _Prepared, *, seed: int, n_repeats: int | None = None, n_jobs: int = 1,
    base: _Setting | None = None,
) -> _Curves:  # fmt: skip
    """Test errors along N on real data ("fig4-medical", "fig4-wine", "fig5", "fig6"), Table 1 too.
    Every repetition draws its own split (90 % training); the paper shows one: its standard error is
    our standard deviation. Figure 4 has no sgd, 5 and 6 no min_norm (singular matrices).
    """
    check_choice("figure", figure, ("fig4-medical", "fig4-wine", "fig5", "fig6"))
    s = base or _setting(figure)
    trials = _repeated(
        _real_trial, s.repeats if n_repeats is None else n_repeats, seed=seed,
        name=f"dprf-{figure}", n_jobs=n_jobs, s=s, data=data,
        methods=("ours",) if figure.startswith("fig4") else ("ours", "sgd"),
    )  # fmt: skip
    axis = np.array(s.components, dtype=float), "number of features N", s.epsilons, s.components
    return _Curves(_stack(trials), *axis, s.learning_rates)


def sentences(curves: _Curves) -> dict[str, bool]:
    """Truth values of the sentences of Section 4.1 on one panel, from expected errors. "Beats" is
    everywhere; an improvement with N, for the Delta of unit rows (Gamma has it too), is one of 1 %.
    """
    ours, corrected = curves.mean("ours_expected"), curves.mean("corrected_expected")
    constant, zero = curves.mean("constant"), curves.mean("zero")
    result: dict[str, Any] = {
        "decreases with N": np.all(np.diff(ours, axis=0) < 0),
        "decreases with N for the Delta of unit rows": np.any(corrected[-1] < 0.99 * corrected[0]),
        "constant predictor beats the private model": np.all(constant[:, None] < ours),
        "constant predictor beats the non-private model": np.all(
            constant < curves.mean("nonprivate")
        ),
        "zero predictor beats the private model": np.all(zero[:, None] < ours),
    }
    for other in ("gamma", "sgd"):
        if f"{other}_expected" in curves.values:
            result[f"beats {other} everywhere"] = np.all(ours < curves.mean(f"{other}_expected"))
            rival = curves.mean(f"{other}{'_corrected' * (other == 'gamma')}_expected")
            result[f"beats {other} for the Delta of unit rows"] = np.all(corrected < rival)
    return {sentence: bool(truth) for sentence, truth in result.items()}
