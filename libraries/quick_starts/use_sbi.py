"""Neural posterior estimation of a Gaussian's mean."""

import warnings

import torch
from sbi.inference import NPE
from sbi.utils import BoxUniform

warnings.filterwarnings("ignore")
torch.manual_seed(0)
prior = BoxUniform(low=-2 * torch.ones(3), high=2 * torch.ones(3))
theta = prior.sample((200,))
x = theta + 1.0 + torch.randn_like(theta) * 0.1
inference = NPE(prior=prior, show_progress_bars=False)
inference = inference.append_simulations(theta, x)
inference.train(max_num_epochs=3, training_batch_size=50)
posterior = inference.build_posterior()
samples = posterior.sample((20,), x=torch.ones(3), show_progress_bars=False)
print(samples.mean().item(), posterior.log_prob(samples, x=torch.ones(3)).mean().item())
