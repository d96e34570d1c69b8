"""Types of results: each is the type said, and each line marked `wrong` is a mistake."""

from typing import Any, assert_type

import rushlight as torch
from rushlight import Tensor, return_types

u = torch.randn(3, 4)
assert_type(u, Tensor)
assert_type(torch.topk(u, 2).values, Tensor)
assert_type(u.topk(2), return_types.topk)
assert_type(torch.max(u), Tensor)
assert_type(torch.max(u, 1), return_types.max)
assert_type(u.max(dim=1).indices, Tensor)
assert_type(torch.sort(u), return_types.sort)
assert_type(torch.kthvalue(u, 2), return_types.kthvalue)
assert_type(u.mode(), return_types.mode)
assert_type(torch.cummax(u, 0), return_types.cummax)
assert_type(torch.aminmax(u).max, Tensor)
assert_type(torch.frexp(u).mantissa, Tensor)
assert_type(torch.linalg.svd(u).S, Tensor)
assert_type(torch.linalg.eigh(u @ u.T).eigenvalues, Tensor)
assert_type(torch.linalg.eig(u @ u.T).eigenvectors, Tensor)
assert_type(torch.linalg.qr(u).Q, Tensor)
assert_type(torch.linalg.slogdet(u @ u.T).logabsdet, Tensor)
assert_type(torch.linalg.lstsq(u, u).solution, Tensor)
assert_type(torch.linalg.cholesky_ex(u @ u.T).info, Tensor)
assert_type(torch.var_mean(u), tuple[Tensor, Tensor])
assert_type(u.split(2), tuple[Tensor, ...])
assert_type(u.chunk(2), tuple[Tensor, ...])
assert_type(u.unbind(), tuple[Tensor, ...])
assert_type(u.shape, torch.Size)
assert_type(u.shape[0], int)
assert_type(u.size(0), int)
assert_type(u.tolist(), list[Any])
assert_type(u.dtype, torch.dtype)
assert_type(u.device, torch.device)
assert_type(u.numel(), int)
assert_type(u.is_floating_point(), bool)
assert_type(u + 1, Tensor)
assert_type(2 * u, Tensor)
assert_type(u == 1, Tensor)
assert_type(u[0, 1:], Tensor)
assert_type(u.grad, Tensor | None)
assert_type(torch.autograd.grad(u.sum(), u), tuple[Tensor, ...])
assert_type(torch.allclose(u, u), bool)
total: float = u.sum().item()
count: int = (u > 0).sum().item()
values, indices = torch.topk(u, 2)
assert_type(indices, Tensor)

text: str = u.sum().item()  # wrong
u.reshpae(3)  # wrong
torch.Tensor.reshpae  # wrong
torch.randnn(3)  # wrong
torch.topk(u, 2).valeus  # wrong
torch.max(u, 1).sum()  # wrong
torch.max(u, 1) + 1  # wrong
torch.topk(u, k="2")  # wrong
number: int = torch.relu(u)  # wrong
torch.cat(3)  # wrong
torch.zeros(2, dtype="float32")  # wrong
u.transpose("a", "b")  # wrong
u.sum(dims=1)  # wrong
torch.matmul(u)  # wrong
torch.linalg.svd(u).V  # wrong
u.shape.foo  # wrong
u.grad.zero_()  # wrong
u @ "text"  # wrong
u.view(3, 4).T()  # wrong
torch.nn.functional.rellu(u)  # wrong
u.requires_grad_(False).numpyy()  # wrong
for part in u.split(2):
    part.shappe  # wrong
u.abs(out=u)  # wrong
torch.manual_seed("one")  # wrong
torch.arange(3).to(torch.flot32)  # wrong
