"""Optimising on a sphere and in the Poincare ball."""

import geoopt
import torch

torch.manual_seed(0)
sphere = geoopt.ManifoldParameter(torch.randn(5), manifold=geoopt.Sphere())
with torch.no_grad():
    sphere.proj_()
target = torch.nn.functional.normalize(torch.randn(5), dim=0)
ball = geoopt.PoincareBall()
point = geoopt.ManifoldParameter(ball.expmap0(torch.randn(3) * 0.1), manifold=ball)
goal = ball.expmap0(torch.tensor([0.5, -0.2, 0.1]))
optimizer = geoopt.optim.RiemannianAdam([sphere, point], lr=1e-2)
for _ in range(10):
    optimizer.zero_grad()
    loss = (sphere - target).pow(2).sum() + ball.dist(point, goal).square()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(sphere.norm().item())
