"""One step of Bayesian optimisation."""

import warnings

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.filterwarnings("ignore")
torch.manual_seed(0)
train_X = torch.rand(10, 2, dtype=torch.double) * 2
Y = 1 - torch.linalg.norm(train_X - 0.5, dim=-1, keepdim=True)
Y = Y + 0.1 * torch.randn_like(Y)
gp = SingleTaskGP(train_X, Y, input_transform=Normalize(d=2), outcome_transform=Standardize(m=1))
fit_gpytorch_mll(ExactMarginalLogLikelihood(gp.likelihood, gp))
acquisition = LogExpectedImprovement(model=gp, best_f=Y.max())
bounds = torch.stack([torch.zeros(2), torch.ones(2)]).to(torch.double)
candidate, value = optimize_acqf(acquisition, bounds=bounds, q=1, num_restarts=5, raw_samples=20)
print(*candidate.flatten().tolist(), value.item())
