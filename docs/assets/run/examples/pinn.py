"""A physics-informed network finds the curve of an equation and a start:

    u'' + 0.4 u' + 4 u = 0,   u(0) = 1,   u'(0) = 0

Its loss is by how much it misses the equation, with derivatives by autograd.
"""

import math

import rushlight as torch
from rushlight import explain, nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
END, W, H = 5.0, 480, 200
tanh = nn.Tanh()
network = nn.Sequential(nn.Linear(1, 24), tanh, nn.Linear(24, 24), tanh, nn.Linear(24, 1))
search = {"max_iter": 5, "line_search_fn": "strong_wolfe"}
optimizer = torch.optim.LBFGS(network.parameters(), **search)
t = torch.linspace(0, END, 50).reshape(-1, 1).requires_grad_()


def solution(t):
    """The network, made to start as the equation asks."""
    return 1 + t.tanh() ** 2 * network(t - END / 2)


def exact(t):
    """The solution by hand: a wave that dies away."""
    w = math.sqrt(4 - 0.2**2)
    return math.exp(-0.2 * t) * (math.cos(w * t) + 0.2 / w * math.sin(w * t))


def closure():
    """Two derivatives along t, and the loss."""
    optimizer.zero_grad()
    u = solution(t)
    (u1,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    (u2,) = torch.autograd.grad(u1.sum(), t, create_graph=True)
    loss = (u2 + 0.4 * u1 + 4 * u).square().mean()
    loss.backward()
    return loss


def line(values, style):
    points = " ".join(f"{i * W / 49:.1f},{H / 2 - 90 * u:.1f}" for i, u in enumerate(values))
    return f'<polyline points="{points}" fill="none" {style}/>'


truth = [exact(time) for time in t.flatten().tolist()]
for step in range(60):
    loss = optimizer.step(closure)
    found = solution(t).detach().flatten().tolist()
    explain.live(step=step, loss=loss)
    curves = line(truth, 'stroke="#8a8f98" stroke-width="5" stroke-dasharray="8 6"')
    curves += line(found, 'stroke="#d9730d" stroke-width="2.5"')
    explain.show(
        f'<svg id="pinn" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {W} {H}" width="{W}">'
        f"<title>The exact curve, dashed, and the network's</title>{curves}</svg>"
    )
    if step % 10 == 9:
        error = max(abs(a - b) for a, b in zip(found, truth))
        print(f"step {step + 1:2}  loss {loss.item():.2e}  largest error {error:.4f}")

explain.show(explain.graph(solution(t[:1])))
