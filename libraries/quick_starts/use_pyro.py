"""Stochastic variational inference of a coin's fairness, and NUTS."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from pyro.optim import Adam
from torch.distributions import constraints

pyro.set_rng_seed(0)
data = torch.cat([torch.ones(6), torch.zeros(4)])


def model(data):
    fairness = pyro.sample("latent_fairness", dist.Beta(torch.tensor(10.0), torch.tensor(10.0)))
    with pyro.plate("data", len(data)):
        pyro.sample("obs", dist.Bernoulli(fairness), obs=data)


def guide(data):
    alpha = pyro.param("alpha_q", torch.tensor(15.0), constraint=constraints.positive)
    beta = pyro.param("beta_q", torch.tensor(15.0), constraint=constraints.positive)
    pyro.sample("latent_fairness", dist.Beta(alpha, beta))


svi = SVI(model, guide, Adam({"lr": 0.005, "betas": (0.9, 0.999)}), loss=Trace_ELBO())
for _ in range(20):
    loss = svi.step(data)
print(loss, pyro.param("alpha_q").item(), pyro.param("beta_q").item())
mcmc = MCMC(NUTS(model), num_samples=10, warmup_steps=10, disable_progbar=True)
mcmc.run(data)
print(*mcmc.get_samples()["latent_fairness"].tolist())
