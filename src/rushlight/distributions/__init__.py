"""Probability distributions: `torch.distributions`."""

from .._missing import missing_name as _missing_name
from . import constraints as constraints
from . import transforms as transforms
from .bernoulli import Bernoulli as Bernoulli
from .beta import Beta as Beta
from .categorical import Categorical as Categorical
from .cauchy import Cauchy as Cauchy
from .chi2 import Chi2 as Chi2
from .dirichlet import Dirichlet as Dirichlet
from .distribution import Distribution as Distribution
from .exp_family import ExponentialFamily as ExponentialFamily
from .exponential import Exponential as Exponential
from .gamma import Gamma as Gamma
from .geometric import Geometric as Geometric
from .independent import Independent as Independent
from .kl import kl_divergence as kl_divergence
from .kl import register_kl as register_kl
from .laplace import Laplace as Laplace
from .multivariate_normal import MultivariateNormal as MultivariateNormal
from .normal import Normal as Normal
from .transformed_distribution import TransformedDistribution as TransformedDistribution
from .transforms import *  # noqa: F403
from .uniform import Uniform as Uniform

__getattr__ = _missing_name(__name__)
