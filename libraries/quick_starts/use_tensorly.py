"""CP and Tucker decompositions, and the gradient of a reconstruction."""

import tensorly as tl
import torch
from tensorly.decomposition import parafac, tucker

tl.set_backend("pytorch")
torch.manual_seed(0)
tensor = tl.tensor(torch.randn(4, 5, 6))
factors = parafac(tensor, rank=3, init="svd", n_iter_max=20)
core, _ = tucker(tensor, rank=[2, 3, 2], n_iter_max=20)
full = tl.cp_to_tensor(factors)
print(tl.norm(full).item(), (tl.norm(tensor - full) / tl.norm(tensor)).item(), tl.norm(core).item())
weights, matrices = factors
matrices = [(m + 0.1).requires_grad_(True) for m in matrices]
loss = tl.norm(tl.cp_to_tensor((weights, matrices)) - tensor, 2)
loss.backward()
print(loss.item(), *[m.grad.norm().item() for m in matrices])
