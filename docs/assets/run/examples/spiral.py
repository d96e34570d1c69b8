"""Three arms of a spiral, told apart by a network of two hidden layers.

While it learns, the plane is drawn in the colours that the network sees.
"""

import math

import rushlight as torch
from rushlight import explain, nn

torch.manual_seed(0)
COLOURS = "#d9730d", "#3b7fc4", "#4f9d5b"
POINTS, CELLS = 60, 40

radius = torch.linspace(0.05, 1, POINTS)
arms = []
for arm in range(3):
    angle = 4 * radius + 2 * math.pi * arm / 3 + 0.15 * torch.randn(POINTS)
    arms.append(torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1))
x = torch.cat(arms)
y = torch.arange(3).repeat_interleave(POINTS)

relu = nn.ReLU()
model = nn.Sequential(nn.Linear(2, 32), relu, nn.Linear(32, 32), relu, nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

side = (torch.arange(CELLS) + 0.5) / CELLS * 2.4 - 1.2
plane = torch.cartesian_prod(side, side)
dots = "".join(
    f'<circle cx="{a:.1f}" cy="{b:.1f}" r="0.5" fill="{COLOURS[arm]}" stroke="white"'
    ' stroke-width="0.15"/>'
    for (a, b), arm in zip(((x + 1.2) / 2.4 * CELLS).tolist(), y.tolist())
)


def draw():
    """The plane as the network sees it, a square for each cell."""
    with torch.no_grad():
        seen = model(plane).argmax(dim=1).tolist()
    cells = ["", "", ""]
    for place, arm in enumerate(seen):
        cells[arm] += f"M{place // CELLS} {place % CELLS}h1v1h-1z"
    areas = [f'<path d="{d}" fill="{c}" opacity="0.45"/>' for d, c in zip(cells, COLOURS)]
    explain.show(
        f'<svg id="spiral" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {CELLS} {CELLS}"'
        ' width="320" height="320"><title>The plane in three colours</title>'
        f"{''.join(areas)}{dots}</svg>"
    )


for step in range(201):
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    explain.live(step=step, loss=loss)
    if step % 20 == 0:
        draw()
        right = (logits.argmax(dim=1) == y).float().mean().item()
        print(f"step {step:3}  loss {loss.item():.3f}  right {right:.0%}")
