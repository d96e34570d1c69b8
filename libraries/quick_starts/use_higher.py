"""Unrolled steps of an inner optimizer, and the gradient of the outer loss."""

import higher
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
inner = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 1)
with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (fmodel, diffopt):
    for _ in range(3):
        diffopt.step((fmodel(x) - y).square().mean())
    outer = (fmodel(x) - y).square().mean()
    outer.backward()
print(outer.item(), *[p.grad.norm().item() for p in model.parameters()])
