"""A conditional neural spline flow."""

import torch
import zuko

torch.manual_seed(0)
flow = zuko.flows.NSF(features=3, context=5, transforms=2, hidden_features=(32, 32))
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)
x, c = torch.randn(64, 3), torch.randn(64, 5)
for _ in range(5):
    loss = -flow(c).log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(flow(c[0]).sample((4,)).sum().item())
