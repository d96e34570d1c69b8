"""Five neurons: a network small enough to follow each number.

Two ways lead from a to L. Along a way the local gradients multiply; over
several ways they add.
"""

import rushlight as torch
from rushlight import explain

a = torch.tensor(2.0, requires_grad=True)
w1 = torch.tensor(3.0, requires_grad=True)
w2 = torch.tensor(-1.0, requires_grad=True)
w3 = torch.tensor(0.5, requires_grad=True)
w4 = torch.tensor(2.0, requires_grad=True)

b = w1 * a
c = w2 * a
d = w3 * b + w4 * c
L = 10 - d
print(f"b = {b.item():g}, c = {c.item():g}, d = {d.item():g}, L = {L.item():g}")

L.backward()
for name, leaf in {"a": a, "w1": w1, "w2": w2, "w3": w3, "w4": w4}.items():
    print(f"dL/d{name} = {leaf.grad.item():g}")

by_hand = -1 * w3 * w1 + -1 * w4 * w2
print(f"dL/da over both ways, by hand: {by_hand.item():g}")

explain.show(explain.graph(L))
