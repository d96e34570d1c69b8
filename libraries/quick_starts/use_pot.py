"""Optimal transport with gradients through the plan."""

import ot
import torch

torch.manual_seed(0)
a = torch.randn(20, 2, requires_grad=True)
b = torch.randn(25, 2) + 1
weights_a, weights_b = torch.full((20,), 1 / 20), torch.full((25,), 1 / 25)
cost = ot.dist(a, b)
exact = ot.emd2(weights_a, weights_b, cost)
exact.backward(retain_graph=True)
print(exact.item(), a.grad.norm().item())
smooth = ot.sinkhorn2(weights_a, weights_b, cost / cost.max().detach(), 0.1)
print(float(smooth), ot.sliced_wasserstein_distance(a, b, seed=0).item())
