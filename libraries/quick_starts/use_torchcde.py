"""A neural controlled differential equation along three irregular paths."""

import torch
import torchcde

torch.manual_seed(0)
times = torch.linspace(0, 1, 6)
paths = torch.stack([times.expand(3, 6), torch.randn(3, 6)], -1)
for coefficients in (torchcde.natural_cubic_coeffs, torchcde.linear_interpolation_coeffs):
    print(coefficients(paths).sum().item())
path = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(paths))
layer = torch.nn.Linear(3, 6)
optimizer = torch.optim.Adam(layer.parameters(), lr=1e-2)
for _ in range(3):
    z = torchcde.cdeint(
        X=path,
        func=lambda t, z: layer(z).tanh().view(3, 3, 2),
        z0=torch.ones(3, 3),
        t=path.interval,
        adjoint=False,
        method="rk4",
        options={"step_size": 0.2},
    )
    loss = z[:, -1].pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
