"""A spiral learned by a neural ODE, with the adjoint method."""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)


class Spiral(nn.Module):
    def forward(self, t, y):
        return y**3 @ torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


class Learned(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


times = torch.linspace(0, 5, 20)
start = torch.tensor([[2.0, 0.0]])
with torch.no_grad():
    true = odeint(Spiral(), start, times, method="dopri5")
learned = Learned()
optimizer = torch.optim.RMSprop(learned.parameters(), lr=1e-3)
for _ in range(5):
    optimizer.zero_grad()
    loss = (odeint_adjoint(learned, start, times) - true).abs().mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
