"""A tensor product that commutes with rotations, spherical harmonics, and a gate."""

import torch
from e3nn import nn, o3

torch.manual_seed(0)
irreps = o3.Irreps("2x0e + 1x1o")
product = o3.FullyConnectedTensorProduct(irreps, irreps, irreps)
x = irreps.randn(3, -1)
y = product(x, x)
y.square().sum().backward()
print(*y.flatten().tolist(), product.weight.grad.norm().item())
rotation = irreps.D_from_matrix(o3.rand_matrix())
turned = product(x @ rotation.T, x @ rotation.T)
print((turned - y @ rotation.T).abs().max().item() < 1e-4)
print(*o3.spherical_harmonics([0, 1, 2], torch.randn(2, 3), normalize=True).flatten().tolist())
print(o3.wigner_3j(1, 1, 2).norm().item(), o3.Linear(irreps, "3x0e + 2x1o")(x).norm().item())
gate = nn.Gate("4x0e", [torch.tanh], "2x0e", [torch.sigmoid], "2x1o")
print(gate(gate.irreps_in.randn(2, -1)).norm().item())
