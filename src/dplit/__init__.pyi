__version__: str

from dplit.accounting import (
    noise_multiplier as noise_multiplier,
)
from dplit.accounting import (
    sampled_gaussian_sigma as sampled_gaussian_sigma,
)
from dplit.accounting import (
    zcdp_epsilon as zcdp_epsilon,
)
from dplit.accounting import (
    zcdp_rho as zcdp_rho,
)
from dplit.baselines import (
    AdaSSPRegressor as AdaSSPRegressor,
)
from dplit.baselines import (
    NoisyGradientClassifier as NoisyGradientClassifier,
)
from dplit.baselines import (
    NoisyGradientRegressor as NoisyGradientRegressor,
)
from dplit.baselines import (
    ObjectivePerturbationClassifier as ObjectivePerturbationClassifier,
)
from dplit.baselines import (
    PrivateAdditiveClassifier as PrivateAdditiveClassifier,
)
from dplit.baselines import (
    PrivateAdditiveRegressor as PrivateAdditiveRegressor,
)
from dplit.baselines import (
    PrivateLloyd as PrivateLloyd,
)
from dplit.baselines import (
    PrivatePCA as PrivatePCA,
)
from dplit.baselines import (
    SufficientStatisticsRegressor as SufficientStatisticsRegressor,
)
from dplit.erm.estimators import (
    PrivateKernelClassifier as PrivateKernelClassifier,
)
from dplit.erm.estimators import (
    PrivateKernelMachine as PrivateKernelMachine,
)
from dplit.features.hats import (
    HatFeatures as HatFeatures,
)
from dplit.margin.estimators import (
    PrivateKernelMarginClassifier as PrivateKernelMarginClassifier,
)
from dplit.margin.estimators import (
    PrivateMarginClassifier as PrivateMarginClassifier,
)
from dplit.margin.projected import (
    ProjectedObjectiveClassifier as ProjectedObjectiveClassifier,
)
from dplit.mechanisms import (
    classical_gaussian_sigma as classical_gaussian_sigma,
)
from dplit.mechanisms import (
    gaussian_delta as gaussian_delta,
)
from dplit.mechanisms import (
    gaussian_epsilon as gaussian_epsilon,
)
from dplit.mechanisms import (
    gaussian_sigma as gaussian_sigma,
)
from dplit.mechanisms import (
    laplace_scale as laplace_scale,
)
from dplit.projection.estimators import (
    AdditiveNoiseRegressor as AdditiveNoiseRegressor,
)
from dplit.projection.estimators import (
    RandomProjectionRegressor as RandomProjectionRegressor,
)
from dplit.projection.moments import (
    EntryMomentsRegressor as EntryMomentsRegressor,
)
from dplit.random_features.estimators import (
    PrivateRandomFeatureRegressor as PrivateRandomFeatureRegressor,
)
from dplit.sketching.estimators import (
    CompressiveGaussianMixture as CompressiveGaussianMixture,
)
from dplit.sketching.estimators import (
    CompressiveKMeans as CompressiveKMeans,
)
from dplit.sketching.estimators import (
    CompressivePCA as CompressivePCA,
)
