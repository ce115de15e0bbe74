"""Fair private baselines: linear models on given features, k-means, components.

Strong simple methods, with exact calibration and tight sensitivities, so that a comparison with
them means something: noisy sufficient statistics (one release, then any ridge parameter for free)
and full-batch noisy gradient descent, for regression, each as a function on arrays and as a
scikit-learn estimator that clips records and labels to bounds the caller must state; AdaSSP, the
rival of the former that spends on its penalty; objective
perturbation, for classification, as a function and as an estimator, and noisy gradient descent for
any number of classes; additive models, both tasks, on public knots; Lloyd's algorithm with noisy
sums and counts, for clustering, as a function and as an estimator; components of noisy second
moments, as an estimator.
"""

from __future__ import annotations

from dplit._estimators import nearest_center
from dplit.baselines.adaptive import AdaSSPRegressor
from dplit.baselines.additive import (
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    Shape,
)
from dplit.baselines.components import PrivatePCA
from dplit.baselines.gradient_classifier import NoisyGradientClassifier
from dplit.baselines.linear import (
    NoisyGradientRegressor,
    PrivateCoefficients,
    PrivateMoments,
    SufficientStatisticsRegressor,
    moment_sensitivity,
    noisy_gradient_descent,
    squared_loss_derivative,
    sufficient_statistics,
)
from dplit.baselines.lloyd import (
    LloydNoise,
    PrivateCenters,
    PrivateLloyd,
    lloyd_noise,
    private_lloyd,
    spread_centers,
)
from dplit.baselines.objective import (
    PerturbedObjective,
    SmoothLoss,
    check_delta,
    loss_slopes,
    objective_noise,
    objective_perturbation,
    smallest_regularization,
)
from dplit.baselines.objective_classifier import (
    ObjectivePerturbationClassifier,
    objective_penalty,
)

__all__ = [
    "AdaSSPRegressor",
    "LloydNoise",
    "NoisyGradientClassifier",
    "NoisyGradientRegressor",
    "ObjectivePerturbationClassifier",
    "PerturbedObjective",
    "PrivateAdditiveClassifier",
    "PrivateAdditiveRegressor",
    "PrivateCenters",
    "PrivateCoefficients",
    "PrivateLloyd",
    "PrivateMoments",
    "PrivatePCA",
    "Shape",
    "SmoothLoss",
    "SufficientStatisticsRegressor",
    "check_delta",
    "lloyd_noise",
    "loss_slopes",
    "moment_sensitivity",
    "nearest_center",
    "noisy_gradient_descent",
    "objective_noise",
    "objective_penalty",
    "objective_perturbation",
    "private_lloyd",
    "smallest_regularization",
    "spread_centers",
    "squared_loss_derivative",
    "sufficient_statistics",
]
