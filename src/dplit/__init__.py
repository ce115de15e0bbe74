"""dplit: differentially private learning, literately.

All estimators, the calibrations of noise, and what publishes a table are found here, ``from dplit
import gaussian_sigma``; a name is imported when it is first asked for. Type checkers read
``__init__.pyi``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "_checks": ("NoiseWarning",),
    "accounting": (
        "Budget",
        "BudgetError",
        "noise_multiplier",
        "sampled_gaussian_sigma",
        "zcdp_epsilon",
        "zcdp_rho",
    ),
    "additive": ("PrivateAdditiveClassifier", "PrivateAdditiveRegressor"),
    "advice.tables": ("recommend",),
    "clusters.estimator": ("PrivateLloyd",),
    "components": ("PrivatePCA",),
    "constant": ("PrivateConstantClassifier", "PrivateConstantRegressor"),
    "entries.estimators": ("AdditiveNoiseRegressor", "RandomProjectionRegressor"),
    "entries.moments": ("EntryMomentsRegressor",),
    "features.hats": ("HatFeatures",),
    "kernels.machines": ("PrivateKernelClassifier", "PrivateKernelMachine"),
    "kernels.random_features": ("PrivateRandomFeatureRegressor",),
    "linear.adaptive": ("AdaSSPRegressor",),
    "linear.gradient_classifier": ("NoisyGradientClassifier",),
    "linear.objective_classifier": ("ObjectivePerturbationClassifier",),
    "linear.regressors": ("NoisyGradientRegressor", "SufficientStatisticsRegressor"),
    "margins.estimators": ("PrivateMarginClassifier",),
    "margins.kernel_estimators": ("PrivateKernelMarginClassifier",),
    "margins.projected": ("ProjectedObjectiveClassifier",),
    "mechanisms": (
        "classical_gaussian_sigma",
        "gaussian_delta",
        "gaussian_epsilon",
        "gaussian_sigma",
        "laplace_scale",
    ),
    "persons": ("PerPerson",),
    "sketching.estimators": ("CompressiveGaussianMixture", "CompressiveKMeans", "CompressivePCA"),
    "tables._chunks": ("TableError",),
    "tables.choosing": ("choose",),
    "tables.exploring": ("explore",),
    "tables.released": ("load_model",),
    "tables.releasing": ("release",),
}

_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
