r"""How private gradient descent depends on the dimension: projected, not projected, compressed.

The paper has no experiments; this one is ours.  Records have margin gamma in every dimension, so
that the best hinge loss of the unit ball is 0 at the margin gamma.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from dplit._checks import check_integer, check_positive, check_probability, check_rng
from dplit.conversions import gdp_budget
from dplit.margin._records import Array
from dplit.margin.bound_gap import margin_sample
from dplit.margin.compressed_learner import compress, draw_projection, expand
from dplit.margin.full_batch import noisy_hinge_descent
from dplit.margin.losses import hinge_loss, zero_one_loss
from dplit.streams import stream
from dplit.trials import Trial, run_trials

__all__ = [
    "METHODS",
    "DimensionCurves",
    "RankCheck",
    "Setting",
    "dimension_curves",
    "dimension_trial",
    "margin_data",
    "span_coordinates",
    "unprojected_excess",
]

METHODS = (
    "no noise",
    "ball, step for d",
    "ball, step without d",
    "no ball",
    "JL, lengths doubled",
    "JL, lengths kept",
)


class Setting(NamedTuple):
    """Sizes and budget of the experiment."""

    n_samples: int = 1000
    margin: float = 0.3
    epsilon: float = 0.5
    delta: float = 1e-6
    n_steps: int = 50
    n_components: int = 200
    n_test: int = 1000
    noise_draws: int = 1


class DimensionCurves(NamedTuple):
    """Means and standard errors over draws, arrays of shape (dimensions, methods, 3).

    The last axis holds test error, test hinge loss and training hinge loss.
    """

    dimensions: tuple[int, ...]
    mean: Array
    se: Array


def margin_data(
    n_samples: int, n_features: int, *, margin: float, flips: float = 0.0,
    rng: np.random.Generator,
) -> tuple[Array, Array]:  # fmt: skip
    r"""Draw unit records with a margin, and flip a share of the labels.

    Parameters
    ----------
    n_samples, n_features : int
        Records m and coordinates d >= 2.
    margin : float
        :math:`\gamma` in (0, 1): :math:`x=(\gamma y,\sqrt{1-\gamma^2}\,u)`, u uniform on a sphere.
    flips : float, default=0.0
        Probability in [0, 1) with which a label is flipped after the record was drawn.
    rng : numpy.random.Generator

    Returns
    -------
    tuple of ndarray
        Records (m, d) and labels -1 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.margin.dimension_experiment import margin_data
    >>> X, y = margin_data(1000, 5, margin=0.4, flips=0.1, rng=np.random.default_rng(0))
    >>> round(float((y * X[:, 0] < 0).mean()), 1)
    0.1
    """
    share = check_probability("flips", flips, zero=True)
    X, y = margin_sample(n_samples, n_features, normalized_margin=margin, rng=rng)
    return X, np.where(check_rng(rng).random(len(y)) < share, -y, y) if share else y


def span_coordinates(X: Array) -> tuple[Array, Array]:
    """Coordinates of records in an orthonormal basis of their span, and the basis.

    Parameters
    ----------
    X : ndarray of shape (m, d)

    Returns
    -------
    tuple of ndarray
        Coordinates (m, q) with q = min(m, d), and basis (d, q): ``X = coordinates @ basis.T``.
        Descent that is not projected has the same law in both, for all that the records see.

    Examples
    --------
    >>> import numpy as np
    >>> from dplit.margin.dimension_experiment import span_coordinates
    >>> coordinates, basis = span_coordinates(np.ones((2, 5)))
    >>> coordinates.shape, bool(np.allclose(coordinates @ basis.T, 1.0))
    ((2, 2), True)
    """
    if X.shape[1] <= X.shape[0]:
        return X, np.eye(X.shape[1])
    basis, upper = qr(X.T, mode="economic")
    return np.ascontiguousarray(upper.T), np.ascontiguousarray(basis)


def _learn_all(X: Array, y: Array, setting: Setting, trial: Trial) -> list[Array]:
    """Return weights (draws, d) of every method on one data set."""
    noise, public = trial.stream("noise"), trial.stream("public")
    mu = gdp_budget(epsilon=setting.epsilon, delta=setting.delta)
    phi = draw_projection(
        X.shape[1], min(setting.n_components, X.shape[1]), kind="sign", rng=public
    )
    small = compress(X, phi)
    plain = setting.margin / math.sqrt(setting.n_steps)  # R/(G sqrt T)
    cases = [
        (X, math.inf, 1.0, True, plain),
        (X, mu, 1.0, True, None),
        (X, mu, 1.0, True, plain),
        (X, mu, 1.0, False, plain),
        (small, mu, 2.0, True, plain),
        (small, mu, 1.0, True, plain),
    ]
    learnt = []
    for rows, level, length, ball, step in cases:
        weights = noisy_hinge_descent(
            rows, y, margin=setting.margin, radius=length, data_norm=length, mu=level,
            project=ball, n_steps=setting.n_steps, step=step, rng=noise,
            n_draws=1 if math.isinf(level) else setting.noise_draws,
        ).weights  # fmt: skip
        learnt.append(weights if rows is X else expand(weights, phi))
    return learnt


def dimension_trial(trial: Trial, n_features: int, setting: Setting) -> Array:
    """One data set in one dimension, all methods.

    Parameters
    ----------
    trial : Trial
        Its streams draw data, map and noise.
    n_features : int
        Dimension d, at least 2.
    setting : Setting

    Returns
    -------
    ndarray of shape (6, 3)
        For each of ``METHODS`` test error, test hinge and training hinge, means over noise draws.

    Examples
    --------
    >>> from dplit.margin.dimension_experiment import Setting, dimension_trial
    >>> from dplit.trials import Trial
    >>> dimension_trial(Trial(0, 0, "example"), 5, Setting(n_samples=50, n_test=50)).shape
    (6, 3)
    """
    check_positive("noise_draws", setting.noise_draws)
    data = trial.stream("data")
    X, y = margin_data(setting.n_samples, n_features, margin=setting.margin, rng=data)
    learnt = _learn_all(X, y, setting, trial)
    T, labels = margin_data(setting.n_test, n_features, margin=setting.margin, rng=data)
    rows = []
    for weights in learnt:
        test, train = labels * (weights @ T.T), y * (weights @ X.T)
        rows.append([
            zero_one_loss(test).mean(),
            hinge_loss(test, margin=setting.margin).mean(),
            hinge_loss(train, margin=setting.margin).mean(),
        ])  # fmt: skip
    return np.array(rows)


def dimension_curves(
    dimensions: tuple[int, ...], *, n_trials: int, seed: int, setting: Setting | None = None,
    n_jobs: int = 1,
) -> DimensionCurves:  # fmt: skip
    """Errors and hinge losses of all methods in several dimensions.

    Parameters
    ----------
    dimensions : tuple of int
    n_trials : int
        Data sets per dimension, at least 2.
    seed : int
    setting : Setting or None, default=None
        None: 1,000 records, margin 0.3, (0.5, 1e-6), 50 steps, 200 projected dimensions.
    n_jobs : int, default=1

    Returns
    -------
    DimensionCurves

    Examples
    --------
    >>> from dplit.margin.dimension_experiment import Setting, dimension_curves
    >>> curves = dimension_curves((5, 9), n_trials=2, seed=0, setting=Setting(50, n_test=50))
    >>> curves.mean.shape
    (2, 6, 3)
    """
    used = setting or Setting()
    means, errors = [], []
    for d in dimensions:
        size = check_integer("dimensions", d, minimum=2)
        results = run_trials(
            partial(dimension_trial, n_features=size, setting=used),
            check_integer("n_trials", n_trials, minimum=2),
            seed=seed,
            name=f"margin-exp-dim-{size}",
            n_jobs=n_jobs,
        )
        values = np.array(results)
        means.append(values.mean(axis=0))
        errors.append(values.std(axis=0, ddof=1) / math.sqrt(len(values)))
    return DimensionCurves(tuple(dimensions), np.array(means), np.array(errors))


class RankCheck(NamedTuple):
    """Mean training hinge of descent without a ball, and what bounds it."""

    mean: float
    se: float
    by_rank: float
    by_dimension: float


def unprojected_excess(
    n_features: int, *, n_draws: int, seed: int, in_span: bool = True,
    setting: Setting | None = None,
) -> RankCheck:  # fmt: skip
    """Training hinge of descent without a ball against its bounds; the least of the ball is 0.

    Parameters
    ----------
    n_features : int
        Dimension d.
    n_draws : int
        Draws of the noise, at least 2.
    seed : int
    in_span : bool, default=True
        Whether to work in coordinates of the span of the records, which has the same law.
    setting : Setting or None, default=None

    Returns
    -------
    RankCheck
        With the bound for q = min(m, d) noisy coordinates and the one for d of them, both at the
        step length for q.

    Examples
    --------
    >>> from dplit.margin.dimension_experiment import Setting, unprojected_excess
    >>> check = unprojected_excess(300, n_draws=4, seed=0, setting=Setting(n_samples=100))
    >>> check.mean < check.by_rank < check.by_dimension
    True
    """
    used = setting or Setting()
    name = f"margin-beyond-proj-{n_features}"
    X, y = margin_data(
        used.n_samples, n_features, margin=used.margin, rng=stream(seed, name, "data")
    )
    rows = span_coordinates(X)[0] if in_span else X
    mu = gdp_budget(epsilon=used.epsilon, delta=used.delta)
    rank = min(X.shape)
    noise = stream(seed, name, "noise", int(in_span))
    found = noisy_hinge_descent(
        rows, y, margin=used.margin, radius=1.0, data_norm=1.0, mu=mu, project=False,
        n_steps=used.n_steps, rng=noise, n_draws=check_integer("n_draws", n_draws, minimum=2),
    )  # fmt: skip
    losses = hinge_loss(y * (found.weights @ rows.T), margin=used.margin).mean(axis=1)
    by_rank, by_dimension = (
        0.5 / (found.step * used.n_steps)
        + 0.5 * found.step * (used.margin**-2 + q * found.sigma**2)
        for q in (rank, n_features)
    )
    spread = float(losses.std(ddof=1)) / math.sqrt(n_draws)
    return RankCheck(float(losses.mean()), spread, by_rank, by_dimension)
