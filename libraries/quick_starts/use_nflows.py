"""A masked autoregressive flow on two moons."""

import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation
from sklearn.datasets import make_moons

torch.manual_seed(0)
transforms = []
for _ in range(3):
    transforms.append(ReversePermutation(features=2))
    transforms.append(MaskedAffineAutoregressiveTransform(features=2, hidden_features=4))
flow = Flow(CompositeTransform(transforms), StandardNormal(shape=[2]))
optimizer = torch.optim.Adam(flow.parameters())
x = torch.tensor(make_moons(128, noise=0.1, random_state=0)[0], dtype=torch.float32)
for _ in range(5):
    optimizer.zero_grad()
    loss = -flow.log_prob(inputs=x).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(flow.sample(10).sum().item())
