"""XOR: what no single neuron can do, and four hidden ones learn.

The graph is that of the last loss: two layers, and what flows back through them.
"""

import rushlight as torch
from rushlight import explain, nn

torch.manual_seed(2)
x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])

model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

for step in range(201):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    explain.live(step=step, loss=loss)
    if step % 40 == 0:
        print(f"step {step:3}  loss {loss.item():.4f}")

print()
for (p, q), result in zip(x.tolist(), model(x).sigmoid()):
    print(f"{p:g} xor {q:g} = {result.item():.3f}")

explain.show(explain.graph(loss))
