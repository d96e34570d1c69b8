"""A stochastic differential equation and the gradient of what it gives."""

import torch
import torchsde

torch.manual_seed(0)


class SDE(torch.nn.Module):
    noise_type = "general"
    sde_type = "ito"

    def __init__(self):
        super().__init__()
        self.mu = torch.nn.Linear(3, 3)
        self.sigma = torch.nn.Linear(3, 6)

    def f(self, t, y):
        return self.mu(y)

    def g(self, t, y):
        return self.sigma(y).view(4, 3, 2)


sde = SDE()
start = torch.full((4, 3), 0.1)
times = torch.linspace(0, 1, 20)
noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 2), entropy=7)
path = torchsde.sdeint(sde, start, times, bm=noise)
path.square().mean().backward()
print(path[-1].sum().item(), sde.mu.weight.grad.norm().item(), sde.sigma.weight.grad.norm().item())
