__version__: str

from dplit._checks import NoiseWarning as NoiseWarning
from dplit.accounting import Budget as Budget
from dplit.accounting import BudgetError as BudgetError
from dplit.accounting import noise_multiplier as noise_multiplier
from dplit.accounting import sampled_gaussian_sigma as sampled_gaussian_sigma
from dplit.accounting import zcdp_epsilon as zcdp_epsilon
from dplit.accounting import zcdp_rho as zcdp_rho
from dplit.additive import PrivateAdditiveClassifier as PrivateAdditiveClassifier
from dplit.additive import PrivateAdditiveRegressor as PrivateAdditiveRegressor
from dplit.advice.tables import recommend as recommend
from dplit.clusters.estimator import PrivateLloyd as PrivateLloyd
from dplit.components import PrivatePCA as PrivatePCA
from dplit.constant import PrivateConstantClassifier as PrivateConstantClassifier
from dplit.constant import PrivateConstantRegressor as PrivateConstantRegressor
from dplit.entries.estimators import AdditiveNoiseRegressor as AdditiveNoiseRegressor
from dplit.entries.estimators import RandomProjectionRegressor as RandomProjectionRegressor
from dplit.entries.moments import EntryMomentsRegressor as EntryMomentsRegressor
from dplit.features.hats import HatFeatures as HatFeatures
from dplit.kernels.machines import PrivateKernelClassifier as PrivateKernelClassifier
from dplit.kernels.machines import PrivateKernelMachine as PrivateKernelMachine
from dplit.kernels.random_features import (
    PrivateRandomFeatureRegressor as PrivateRandomFeatureRegressor,
)
from dplit.linear.adaptive import AdaSSPRegressor as AdaSSPRegressor
from dplit.linear.gradient_classifier import NoisyGradientClassifier as NoisyGradientClassifier
from dplit.linear.objective_classifier import (
    ObjectivePerturbationClassifier as ObjectivePerturbationClassifier,
)
from dplit.linear.regressors import NoisyGradientRegressor as NoisyGradientRegressor
from dplit.linear.regressors import SufficientStatisticsRegressor as SufficientStatisticsRegressor
from dplit.margins.estimators import PrivateMarginClassifier as PrivateMarginClassifier
from dplit.margins.kernel_estimators import (
    PrivateKernelMarginClassifier as PrivateKernelMarginClassifier,
)
from dplit.margins.projected import ProjectedObjectiveClassifier as ProjectedObjectiveClassifier
from dplit.mechanisms import classical_gaussian_sigma as classical_gaussian_sigma
from dplit.mechanisms import gaussian_delta as gaussian_delta
from dplit.mechanisms import gaussian_epsilon as gaussian_epsilon
from dplit.mechanisms import gaussian_sigma as gaussian_sigma
from dplit.mechanisms import laplace_scale as laplace_scale
from dplit.persons import PerPerson as PerPerson
from dplit.sketching.estimators import CompressiveGaussianMixture as CompressiveGaussianMixture
from dplit.sketching.estimators import CompressiveKMeans as CompressiveKMeans
from dplit.sketching.estimators import CompressivePCA as CompressivePCA
from dplit.tables._chunks import TableError as TableError
from dplit.tables.choosing import choose as choose
from dplit.tables.exploring import explore as explore
from dplit.tables.released import load_model as load_model
from dplit.tables.releasing import release as release
