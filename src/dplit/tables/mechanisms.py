"""The mechanisms that are compared: one name, one estimator, what it is told, what it releases.

All can guarantee (epsilon, delta) under ``replace_one``, some under ``add_remove``. The estimators
of random projections are left out: they protect entries and treat responses as public.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from dplit._base import RandomState
from dplit._labels import stated_classes, stated_weights
from dplit.additive import PrivateAdditiveClassifier, PrivateAdditiveRegressor
from dplit.clusters.estimator import PrivateLloyd
from dplit.components import PrivatePCA
from dplit.constant import PrivateConstantClassifier, PrivateConstantRegressor
from dplit.kernels.machines import PrivateKernelClassifier, PrivateKernelMachine
from dplit.kernels.random_features import PrivateRandomFeatureRegressor
from dplit.linear.gradient_classifier import NoisyGradientClassifier
from dplit.linear.objective_classifier import ObjectivePerturbationClassifier
from dplit.linear.regressors import NoisyGradientRegressor, SufficientStatisticsRegressor
from dplit.margins.estimators import PrivateMarginClassifier
from dplit.margins.kernel_estimators import PrivateKernelMarginClassifier
from dplit.sketching.estimators import CompressiveKMeans, CompressivePCA
from dplit.tables.facts import Problem

_BOTH = ("replace_one", "add_remove")


@dataclass(frozen=True)
class TableMechanism:
    """An estimator under the name by which a reader asks for it.

    Attributes
    ----------
    name, task : str
    estimator : type
    released : tuple of str
        Attributes that predictions need: all that a release consists of, beside what is public.
    relations : tuple of str
        Neighbouring relations that it can guarantee.
    told : tuple of str
        Public facts that it asks for, beside ``epsilon``: ``data_norm``, ``box`` (as its bounds),
        ``columns`` (the box, which entries are indicators, and pairs), ``delta``; ``noise`` where
        its noise is Gaussian as soon as a delta is allowed; ``scale`` (the box, by which it scales
        the columns itself; and where there are indicators a kernel of one over the number of
        columns, unless set).
    grid : mapping
        Settings to choose from in hindsight, which is not private; lengths in units of the rows.
    held : int
        Numbers that a fit at the defaults holds for each record, where it holds its features.
    many : bool
        Whether it learns more than two classes.
    drawn : bool
        Whether a fit draws public numbers too, such as features or starting points: its releases
        alone do not make the model.

    Examples
    --------
    >>> [one.name for one in MECHANISMS if one.task == "classification" and one.many]
    ['additive', 'noisy_gradient', 'constant']
    """

    name: str
    task: str
    estimator: type[BaseEstimator]
    released: tuple[str, ...]
    relations: tuple[str, ...] = ("replace_one",)
    told: tuple[str, ...] = ("delta",)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    held: int = 0
    many: bool = False
    drawn: bool = False

    def make(
        self,
        problem: Problem,
        *,
        epsilon: float,
        delta: float,
        neighboring: str = "replace_one",
        random_state: RandomState = None,
        settings: Mapping[str, Any] = MappingProxyType({}),
    ) -> Any:
        """Return the unfitted estimator, told of what is public about the problem.

        Parameters
        ----------
        problem : Problem
            Only what is public about it is used.
        epsilon, delta : float
            Budget; with ``noise="laplace"`` and the like among the settings, epsilon alone.
        neighboring : {"replace_one", "add_remove"}, default="replace_one"
            A ``ValueError`` says which relations the mechanism can guarantee.
        random_state : int, Generator, RandomState or None, default=None
            None for releases; anything else voids the guarantee.
        settings : mapping, optional
            Public settings of the estimator, which replace its defaults.
        """
        if neighboring not in self.relations:
            rule = f"neighboring must be {' or '.join(self.relations)} for {self.name}"
            raise ValueError(f"{rule}, got neighboring={neighboring!r}")
        self._check_classes(problem.public)
        settings = _by_class(settings, problem.public)
        facts = {**problem.public, "epsilon": epsilon, "random_state": random_state}
        if len(self.relations) > 1:
            facts["neighboring"] = neighboring
        if "data_norm" in self.told:
            facts["data_norm"] = problem.data_norm
        if "box" in self.told:
            facts["bounds"] = problem.box
        if "columns" in self.told:
            facts |= {"box": problem.box, "indicators": problem.indicators}
            if problem.facts is not None and problem.facts.interactions:
                facts["interactions"] = problem.facts.pairs
        if "noise" in self.told and "noise" not in settings and delta > 0:
            facts["noise"] = "gaussian"
        if "scale" in self.told:
            facts["box"] = problem.box
            if problem.indicators and "gamma" not in settings:
                facts["gamma"] = 1.0 / problem.X.shape[1]
        if "delta" in self.told or {**facts, **settings}.get("noise") == "gaussian":
            facts["delta"] = delta
        if stated := sorted(facts.keys() & settings.keys()):
            raise ValueError(f"settings must leave {', '.join(stated)} to what is stated elsewhere")
        known = signature(self.estimator).parameters.keys() - facts.keys()
        if unknown := sorted(settings.keys() - known):
            rule = f"settings of {self.name} must be among {', '.join(sorted(known))}"
            raise ValueError(f"{rule}, got {', '.join(unknown)}")
        return self.estimator(**facts, **settings)

    def _check_classes(self, public: Mapping[str, Any]) -> None:
        """Refuse more classes than are learnt."""
        if not self.many and len(classes := public.get("classes", ())) > 2:
            others = ", ".join(m.name for m in MECHANISMS if m.task == self.task and m.many)
            raise ValueError(
                f"classes must be two for {self.name} ({others} learn more), got {classes!r}"
            )

    def fit(
        self, problem: Problem, *, rows: np.ndarray | None = None, **options: Any
    ) -> tuple[Any, list[str]]:
        """Return the estimator fitted to the problem's rows, and what it warned of.

        ``rows`` (n,) are those to fit to, by default all; ``options`` are those of ``make``.
        """
        model = self.make(problem, **options)
        kept = slice(None) if rows is None else rows
        X, y = problem.X[kept], problem.labels(kept)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, None if problem.task in ("clustering", "components") else y)
        return model, [str(warning.message) for warning in caught]

    def settings(self, problem: Problem) -> Iterator[dict[str, Any]]:
        """Yield the settings to choose from in hindsight, in the units of the problem."""
        d, norm = problem.X.shape[1], problem.data_norm
        units = {"width": d**0.5, "gamma": 1.0 / d, "alpha": norm**2, "margin": norm}
        if "data_norm" not in self.told:  # records are mapped to rows of norm 1 first
            units |= {"alpha": 1.0, "margin": 1.0}
        for values in product(*self.grid.values()):
            at = dict(zip(self.grid, values, strict=True))
            yield {k: v * units.get(k, 1) if isinstance(v, float) else v for k, v in at.items()}


def _by_class(settings: Mapping[str, Any], public: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings with the weights of classes in the order of these, as JSON keeps them: its
    names are texts, so that a class may be told by its own.
    """
    told = settings.get("class_weight")
    if told is None or "classes" not in public:
        return settings
    classes = stated_classes(public["classes"], binary=False)
    if isinstance(told, Mapping):
        named = {str(label): label for label in classes.tolist()}
        told = {named.get(key, key) if isinstance(key, str) else key: v for key, v in told.items()}
    weights = stated_weights(told, classes)
    return {**settings, "class_weight": None if weights is None else weights.tolist()}


_LINEAR = ("coef_", "intercept_")
_BOUNDED = (*_LINEAR, "_ends")  # between which predictions are clipped: the label bounds
_FUNCTION = ("coef_", "intercept_", "frequencies_", "bounds_")
_WIDTHS, _GAMMAS = (0.35, 0.7, 1.4), (0.5, 2.0, 8.0)
_PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3)

MECHANISMS: tuple[TableMechanism, ...] = (
    TableMechanism(
        "sufficient_statistics",
        "regression",
        SufficientStatisticsRegressor,
        _BOUNDED,
        _BOTH,
        ("delta", "data_norm"),
        {"alpha": (1.0, 10.0, 100.0, 1000.0)},
    ),
    TableMechanism(
        "noisy_gradient",
        "regression",
        NoisyGradientRegressor,
        _BOUNDED,
        ("replace_one",),
        ("delta", "data_norm"),
        {"clip": (0.1, 0.3, 1.0), "steps": (10, 50, 200)},
    ),
    TableMechanism(
        "additive",
        "regression",
        PrivateAdditiveRegressor,
        (*_BOUNDED, "shapes_"),
        told=("delta", "columns"),
        grid={"n_hats": (2, 4, 16)},
    ),
    TableMechanism(
        "random_features",
        "regression",
        PrivateRandomFeatureRegressor,
        _FUNCTION,
        told=("delta", "scale"),
        grid={"alpha": (3.0, 30.0, 300.0), "gamma": (0.1, 0.5, 2.0)},
        drawn=True,
    ),
    TableMechanism(
        "kernel_machine",
        "regression",
        PrivateKernelMachine,
        _FUNCTION,
        grid={"regularization": _PENALTIES, "width": _WIDTHS},
        drawn=True,
    ),
    TableMechanism(
        "constant",
        "regression",
        PrivateConstantRegressor,
        ("constant_", "interval_"),
        _BOTH,
        told=(),
    ),
    TableMechanism(
        "additive",
        "classification",
        PrivateAdditiveClassifier,
        (*_LINEAR, "classes_", "loss_", "shapes_"),
        told=("delta", "columns"),
        grid={"n_hats": (2, 4, 16)},
        many=True,
    ),
    TableMechanism(
        "objective_perturbation",
        "classification",
        ObjectivePerturbationClassifier,
        (*_LINEAR, "classes_", "data_norm_", "loss_"),
        told=("delta", "data_norm"),
        grid={"loss": ("huberised_hinge", "logistic")},
    ),
    TableMechanism(
        "noisy_gradient",
        "classification",
        NoisyGradientClassifier,
        (*_LINEAR, "classes_", "data_norm_"),
        told=("delta", "data_norm"),
        grid={"clip": (0.25, 0.5, 1.0), "steps": (10, 50, 200)},
        many=True,
    ),
    TableMechanism(
        "margin",
        "classification",
        PrivateMarginClassifier,
        (*_LINEAR, "classes_", "data_norm_"),
        told=("delta", "data_norm"),
        grid={"margin": (0.03, 0.1, 0.3), "fit_intercept": (False, True), "n_steps": (100,)},
    ),
    TableMechanism(
        "kernel_margin",
        "classification",
        PrivateKernelMarginClassifier,
        ("coef_", "features_", "classes_"),
        grid={"margin": (0.03, 0.1), "gamma": _GAMMAS, "n_steps": (100,)},
        held=800,
        drawn=True,
    ),
    TableMechanism(
        "kernel_machine",
        "classification",
        PrivateKernelClassifier,
        ("coef_", "frequencies_", "classes_"),
        grid={"regularization": (0.01, 0.1), "width": _WIDTHS},
        drawn=True,
    ),
    TableMechanism(
        "constant",
        "classification",
        PrivateConstantClassifier,
        ("shares_", "interval_", "classes_"),
        _BOTH,
        told=(),
        many=True,
    ),
    TableMechanism(
        "compressive_kmeans",
        "clustering",
        CompressiveKMeans,
        ("cluster_centers_",),
        _BOTH,
        ("box", "noise"),
        {"gamma": (None, 0.5, 2.0), "n_restarts": (1,)},
        drawn=True,
    ),
    TableMechanism(
        "lloyd",
        "clustering",
        PrivateLloyd,
        ("cluster_centers_",),
        _BOTH,
        ("box", "noise"),
        {"n_iter": (1, 3, 10)},
        drawn=True,
    ),
    TableMechanism(
        "noisy_moments",
        "components",
        PrivatePCA,
        ("components_",),
        _BOTH,
        ("delta", "data_norm"),
    ),
    TableMechanism(
        "compressive_pca",
        "components",
        CompressivePCA,
        ("components_",),
        _BOTH,
        ("data_norm", "noise"),
        drawn=True,
    ),
)


def _applicable(
    task: str, neighboring: str = "replace_one", n_classes: int = 2
) -> list[TableMechanism]:
    """Return the mechanisms of a task that learn of columns under a neighbouring relation."""
    return [
        m
        for m in MECHANISMS
        if m.task == task
        and neighboring in m.relations
        and (m.many or n_classes <= 2)
        and m.name != "constant"
    ]


def is_gaussian(found: TableMechanism, problem: Problem) -> bool:
    """Whether all noise of a fit is Gaussian, so that several compose exactly; additive models of
    two classes perturb a risk.

    >>> nothing = np.empty((0, 1))
    >>> facts = {"bounds": (0.0, 1.0)}
    >>> problem = Problem("", "regression", nothing, nothing, facts, 1.0, (nothing, nothing))
    >>> is_gaussian(mechanism("noisy_gradient", "regression"), problem)
    True
    """
    many = len(problem.public.get("classes", ())) > 2
    return getattr(found.estimator, "_gaussian", found.name == "additive" and many)


def mechanism(name: str, task: str) -> TableMechanism:
    """Return a task's mechanism by its name; a ``ValueError`` lists those that there are.

    >>> found = mechanism("additive", "regression")
    >>> found.estimator.__name__, found.relations
    ('PrivateAdditiveRegressor', ('replace_one',))
    """
    found = {m.name: m for m in MECHANISMS if m.task == task}
    if name not in found:
        rule = f"release must be one of {', '.join(found)} for {task}"
        raise ValueError(f"{rule}, got release={name!r}")
    return found[name]


def _ceilings(problem: Problem, rows: np.ndarray) -> dict[str, Any]:
    """Return models without privacy that can be fitted to some of the rows, by name: a linear one
    and one with a kernel, a constant where these rows have one class, or k-means.
    """
    if problem.task == "clustering":
        n_clusters = min(problem.public["n_clusters"], len(rows))
        return {"k-means": KMeans(n_clusters, n_init=5, random_state=0)}
    if problem.task == "components":
        return {}
    if problem.task == "classification" and len(np.unique(problem.y[rows])) == 1:
        return {"linear": DummyClassifier(), "kernel": DummyClassifier()}
    gamma, size = 1.0 / problem.X.shape[1], min(200, len(rows))
    lifted = Nystroem(gamma=gamma, n_components=size, random_state=0)
    plain: Any = Ridge(alpha=0.1)
    if problem.task == "classification":
        plain = LogisticRegression(C=10.0, max_iter=2000)
    return {"linear": plain, "kernel": make_pipeline(lifted, plain)}
