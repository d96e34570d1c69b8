"""Views, copies of another shape, joining and splitting: values, strides, memory shared or not."""

import pytest
from compat import cases, check, check_second_order, second_order

CASES = cases("""
# view and reshape
x.view(12)                        # all
x.view(4, 3)                      # mix
x.view(2, -1)                     # mix
x.view(-1)                        # mix
x.view((6, 2))                    # f
x.view([2, 2, 3])                 # f
x.view(t.Size([12, 1]))           # f
x.view(x.size())                  # f
x.view(x.size(0), -1)             # f
x.view(-1, 4)                     # f
x.view(1, 3, 4, 1)                # f
s.view(1)                         # f
s.view(1, 1)                      # f
one.view(())                      # f
e.view(4, 0)                      # f
e.view(-1, 4)                     # f
x.view(5)                         # raises
x.view(-1, -1)                    # raises
x.view(-1, 5)                     # raises
x.view(3, -2)                     # raises
x.t().view(12)                    # raises
e.view(-1, 0)                     # raises
x.view()                          # raises
x.view('a')                       # raises
x.view(1.5)                       # raises
b3.transpose(0, 1).view(24)       # raises
b3[:, :, ::2].view(2, 3, 2)       # f
b3.permute(1, 0, 2).view(3, 2, 2, 2)   # f
x.view_as(x43)                    # f
x.view_as(v)                      # raises
x.view(t.int32)                   # f32
x.view(t.float32)                 # i32
x.view(t.uint8)                   # f32
x.reshape(12)                     # all
x.reshape(4, 3)                   # mix
x.reshape((2, 6))                 # f
x.reshape(-1)                     # mix
x.reshape(3, 2, 2)                # f
x.reshape(-1, 1)                  # f
x.t().reshape(12)                 # mix
x.t().reshape(2, 6)               # f
nc.reshape(-1)                    # mix
step.reshape(12)                  # f
s.reshape(1)                      # f
one.reshape(())                   # f
e.reshape(0)                      # f
t.reshape(x, (4, 3))              # f
t.reshape(x, (-1,))               # f
x.reshape(7)                      # raises
x.reshape_as(x43)                 # f
x.flatten()                       # mix
t.flatten(b3)                     # f
b3.flatten(1)                     # f
b3.flatten(0, 1)                  # f
h4.flatten(1, -2)                 # f
t.flatten(h4, start_dim=1)        # f
t.flatten(h4, 1)                  # f
s.flatten()                       # f
b3.transpose(1, 2).flatten()      # f
b3.transpose(0, 1).flatten(1)     # f
b3.flatten(2, 1)                  # raises
x.ravel()                         # f
x.t().ravel()                     # f
x.unflatten(1, (2, 2))            # f
x.unflatten(1, (2, -1))           # f
# squeeze and unsqueeze
x.unsqueeze(0)                    # all
x.unsqueeze(1)                    # mix
x.unsqueeze(-1)                   # mix
x.unsqueeze(dim=2)                # f
t.unsqueeze(x, 0)                 # f
s.unsqueeze(0)                    # f
s.unsqueeze(-1)                   # f
nc.unsqueeze(1)                   # f
x.unsqueeze(3)                    # raises
x.unsqueeze(-4)                   # raises
b1.squeeze()                      # all
b1.squeeze(0)                     # mix
b1.squeeze(1)                     # mix
b1.squeeze(-2)                    # f
b1.squeeze((0, 2))                # f
b1.squeeze(dim=0)                 # f
t.squeeze(b1)                     # f
t.squeeze(b1, 2)                  # f
x.squeeze()                       # f
one.squeeze()                     # f
s.squeeze()                       # f
s.squeeze(0)                      # f
b1.squeeze(4)                     # raises
# transpose and permute
x.t()                             # all
v.t()                             # f
s.t()                             # f
b3.t()                            # raises
t.t(x)                            # f
x.T                               # mix
b3.mT                             # f
b3.mH                             # f c64
x.H                               # f c64
x.transpose(0, 1)                 # mix
b3.transpose(1, 2)                # mix
b3.transpose(-1, 0)               # f
h4.transpose(1, 3)                # f
b3.transpose(1, 1)                # f
t.transpose(x, 0, 1)              # f
t.transpose(b3, 1, 2)             # f
s.transpose(0, 0)                 # f
x.transpose(0, 2)                 # raises
x.transpose(0)                    # raises
b3.permute(2, 0, 1)               # mix
b3.permute((1, 2, 0))             # f
b3.permute([0, 2, 1])             # f
h4.permute(0, 3, 1, 2)            # mix
h4.permute(0, -1, 1, 2)           # f
t.permute(b3, (2, 1, 0))          # f
b3.permute(dims=(2, 1, 0))        # f
b3.permute(0, 1)                  # raises
b3.permute(0, 0, 1)               # raises
b3.permute(0, 1, 5)               # raises
b3.swapaxes(0, 1)                 # f
b3.swapdims(0, 2)                 # f
b3.movedim(0, 2)                  # f
t.movedim(b3, (0, 1), (1, 0))     # f
b3.moveaxis(2, 0)                 # f
t.adjoint(b3)                     # f
# views in memory of their own
t.permute_copy(b3, (2, 0, 1))     # mix
t.permute_copy(b3, (0, 1))        # raises
t.select_copy(b3, -1, 1)          # f i64
t.select_copy(b3, 3, 0)           # raises
t.alias_copy(x.t())               # mix
t.as_strided_copy(x, (2, 2), (1, 4))      # mix
t.as_strided_copy(x[1:], (2, 2), (1, 2), 1)   # f
t.as_strided_copy(x, (9, 9), (9, 9))      # raises
t.detach_copy(x.t())              # mix nograd
t.diagonal_copy(b3, 1, 0, -1)     # mix
t.diagonal_copy(x, dim1=1, dim2=1)    # raises
t.expand_copy(v, (2, 4))          # mix
t.expand_copy(x, (2, 4))          # raises
t.narrow_copy(x, 1, -3, 2)        # mix
x.narrow_copy(0, 1, 2)            # f
t.narrow_copy(x, 1, 3, 2)         # raises
t.narrow_copy(s, 0, 0, 1)         # raises
t.slice_copy(x, 1, 0, -1, 2)      # real bool
t.slice_copy(x)                   # f
t.slice_copy(x, 0, 0, 2, 0)       # raises
t.split_copy(x, 3, 1)             # mix
t.split_copy(x, -1)               # raises
t.split_with_sizes_copy(x, [1, 3], 1) # mix
t.split_with_sizes_copy(x, [1, 1])    # raises
t.squeeze_copy(x[:1])             # mix
t.squeeze_copy(x[:, :1], 1)       # f
t.squeeze_copy(x[:1, :1], (0, 1)) # f
t.squeeze_copy(x, 5)              # raises
t.t_copy(x)                       # mix
t.t_copy(b3)                      # raises
t.transpose_copy(b3, 0, -1)       # mix
t.transpose_copy(b3, 0, 7)        # raises
t.unbind_copy(x, 1)               # mix
t.unbind_copy(s)                  # raises
t.unfold_copy(x, 1, 2, 2)         # mix
t.unfold_copy(x, 1, 9, 2)         # raises
t.unsqueeze_copy(x, -1)           # mix
t.unsqueeze_copy(x, 4)            # raises
t.view_as_real_copy(x)            # cplx
t.view_as_real_copy(x)            # raises
t.view_as_complex_copy(x.reshape(-1, 2))  # f nograd
t.view_as_complex_copy(x)         # raises
t.view_copy(x.t(), (2, -1))       # mix
t.view_copy(x, t.int32)           # f32
t.view_copy(x, (5,))              # raises
t.slice_inverse(x[:2], x, 0, 0, 2)    # f nograd
t.unsafe_chunk(x, 2, 1)           # mix
x.unsafe_chunk(3)                 # f
t.unsafe_chunk(x, 0)              # raises
t.unsafe_split(x, 3, 1)           # mix
x.unsafe_split(2)                 # f
t.unsafe_split_with_sizes(x, [1, 3], 1)   # mix
x.unsafe_split_with_sizes([1, 1]) # raises
o = x * 1; p = o.unsafe_split(2); p[0].mul_(2); p   # f
o = x.new_empty(0); t.transpose_copy(x, 0, 1, out=o); o   # f nograd

# expand and repeat
v.expand(3, 4)                    # all
v.expand(3, -1)                   # mix
c.expand(3, 4)                    # mix
r.expand(3, 4)                    # f
c.expand(-1, 4)                   # f
c.expand(2, 3, 4)                 # f
s.expand(2, 2)                    # mix
v.expand((2, 4))                  # f
v.expand(x.size())                # f
v.expand(x.shape)                 # f
x.expand(3, 4)                    # f
s.expand(())                      # f
c.expand(3, 0)                    # f
x.expand(3, 5)                    # raises
x.expand(4)                       # raises
v.expand(-1, 4)                   # raises
v.expand_as(x)                    # mix
c.expand_as(x)                    # f
x.expand_as(v)                    # raises
v.expand(3, 4).sum()              # f
v.expand(3, 4).contiguous()       # f
t.broadcast_to(v, (3, 4))         # f
v.broadcast_to((2, 4))            # f
t.broadcast_tensors(v, c)         # f
t.broadcast_shapes((3, 1), (4,))
t.broadcast_shapes((3,), (4,))    # raises
x.repeat(2, 1)                    # all
x.repeat(2, 3)                    # mix
v.repeat(3)                       # mix
v.repeat(2, 3, 1)                 # f
x.repeat((1, 2))                  # f
x.repeat(1, 1)                    # f
x.repeat(0, 1)                    # f
s.repeat(3)                       # f
c.repeat(1, 4)                    # f
x.repeat(2)                       # raises
x.repeat(-1, 2)                   # raises
x.tile((2,))                      # f
t.tile(x, (2, 2))                 # f
t.repeat_interleave(v, 2)         # f i64
x.repeat_interleave(2, dim=0)     # f
x.repeat_interleave(i3, dim=0)    # f
t.repeat_interleave(i3)
# cat and stack
t.cat([x, y])                     # all
t.cat((x, y), 0)                  # mix
t.cat([x, y], 1)                  # mix
t.cat([x, y], dim=-1)             # mix
t.cat([x, y, z], dim=0)           # f
t.cat([x])                        # f
t.cat([b3, b3b], 2)               # f
t.cat([x, r])                     # f
t.cat([x, c], 1)                  # f
t.cat([e, x])                     # f
t.cat([e0, x])                    # f
t.cat([nc, step])                 # f
t.cat([x.t(), n], 1)              # f
t.cat([x, m_int64])               # f
t.cat([m_int8, m_int64])
t.cat([m_int64, m_float16])
t.cat([m_bool, m_uint8])
t.cat([m_float32, m_float64])
t.cat([m_float32, m_complex64], 1)
t.cat([x, x])                     # f
t.cat(tensors=[x, y], dim=0)      # f
t.concat([x, y], 1)               # f
t.concatenate([x, y])             # f
t.cat([v, u, nzv])                # mix
t.cat([])                         # raises
t.cat([x, v])                     # raises
t.cat([x, m])                     # raises
t.cat([x, x43], 1)                # raises
t.cat([x, y], 2)                  # raises
t.cat([s, s2])                    # raises
t.cat(x)                          # raises
t.cat([x, 1])                     # raises
t.stack([x, y])                   # all
t.stack([x, y], 1)                # mix
t.stack([x, y], dim=-1)           # mix
t.stack((x, y, z), 2)             # f
t.stack([s, s2])                  # mix
t.stack([v, u])                   # f
t.stack([x, nc])                  # f
t.stack([m_float32, m_int64])
t.stack([x, y], 3)                # raises
t.stack([x, v])                   # raises
t.stack([])                       # raises
t.hstack([x, y])                  # f
t.hstack([v, u])                  # f
t.vstack([x, r])                  # f
t.vstack([v, u])                  # f
t.dstack([x, y])                  # f
t.column_stack([v, u])            # f
t.block_diag(x, sq)               # f
t.cartesian_prod(v, u)            # f
t.meshgrid(v, w, indexing='ij')   # f
t.meshgrid(v, w, indexing='xy')   # f
t.meshgrid([v, w], indexing='ij') # f
t.combinations(v)                 # f
# split and chunk
x.split(2)                        # mix
x.split(2, 1)                     # mix
x.split(2, dim=1)                 # f
x.split([1, 2])                   # mix
x.split([1, 3], dim=1)            # f
x.split((2, 1))                   # f
line.split(16)                    # f
t.split(x, 2)                     # f
t.split(x, [1, 1, 2], dim=1)      # f
t.split(x, 2, -1)                 # f
x.split(5)                        # f
x.split(0)                        # raises
x.split(-1)                       # raises
x.split([1, 1])                   # raises
x.split([4, -1], 1)               # raises
x.split(2, 2)                     # raises
x.chunk(2)                        # mix
x.chunk(2, 1)                     # mix
x.chunk(2, dim=1)                 # f
x.chunk(5)                        # f
x.chunk(3, -1)                    # f
t.chunk(x, 2)                     # f
t.chunk(x, 4, dim=1)              # f
v6.chunk(4)                       # f
x.chunk(0)                        # raises
x.unbind()                        # f i64
x.unbind(1)                       # f
t.unbind(x, dim=1)                # f
t.tensor_split(v6, 4)             # f
t.tensor_split(x, (1, 3), dim=1)  # f
t.hsplit(x, 2)                    # f
t.vsplit(sq, 2)                   # f
# narrow, select, diagonal, unfold, as_strided
x.narrow(0, 1, 2)                 # mix
x.narrow(1, 0, 3)                 # f
x.narrow(1, -2, 2)                # f
t.narrow(x, 0, 0, 1)              # f
x.narrow(0, 2, 2)                 # raises
x.narrow(0, 0, -1)                # raises
x.narrow(0, 5, 1)                 # raises
x.select(0, 1)                    # f
x.select(1, -1)                   # f
t.select(x, 0, 2)                 # f
x.select(0, 3)                    # raises
sq.diagonal()                     # f
x.diagonal(1)                     # f
x.diagonal(-1)                    # f
b3.diagonal(dim1=1, dim2=2)       # f
t.diagonal(x, offset=1)           # f
t.diag(v)                         # mix
t.diag(x)                         # mix
t.diag(sq, 1)                     # f
t.diag(v, -1)                     # f
v.diag()                          # f
sq.diag()                         # f
t.diag(b3)                        # raises
t.diag_embed(x)                   # f
t.diagflat(x)                     # f
t.tril(sq)                        # all
t.triu(sq)                        # all
t.tril(x, 1)                      # f
t.triu(x, diagonal=-1)            # f
t.tril(b3, -1)                    # f
x.tril()                          # f
x.triu(1)                         # f
t.tril(t.ones(4, 4, dtype=dt))    # mix
t.triu(t.ones(3, 3), 1).bool()
t.tril(v)                         # raises
v6.unfold(0, 3, 1)                # f
x.unfold(1, 2, 2)                 # f
x.as_strided((2, 2), (1, 2))      # f
x.as_strided((3, 3), (1, 1), 2)   # f
t.as_strided(x, (2, 3), (4, 1))   # f
# flip, roll, rot90, contiguous, clone
t.flip(x, (0,))                   # mix
x.flip(0)                         # f
x.flip(0, 1)                      # f
x.flip([1])                       # f
x.flip(-1)                        # f
t.fliplr(x)                       # f
t.flipud(x)                       # f
t.roll(x, 1)                      # f
t.roll(x, 1, 0)                   # f
t.roll(x, (1, -1), (0, 1))        # f
x.roll(2, dims=1)                 # f
t.rot90(x)                        # f
t.rot90(x, 2, (0, 1))             # f
x.contiguous()                    # mix
x.t().contiguous()                # mix
step.contiguous()                 # mix
x.contiguous() is x
x.t().contiguous().stride()
x.is_contiguous()                 # f
x.t().is_contiguous()             # f
nc.is_contiguous()                # f
v.expand(3, 4).is_contiguous()    # f
e.is_contiguous()                 # f
x.clone()                         # all
nc.clone()                        # mix
nc.clone().stride()               # f
step.clone().stride()             # f
v.expand(3, 4).clone().stride()   # f
b3.permute(2, 0, 1).clone().stride()   # f
t.clone(x)                        # f
x.detach()                        # mix
x.detach().requires_grad
x.data                            # mix
x.data.requires_grad
x.detach().clone()                # f
x.clone().detach()                # f
x.clone().data                    # f
t.zeros_like(nc).stride()         # f
(nc + nc).stride()                # f
(x.t() * 2).stride()              # f
(nc + x).stride()                 # f
(x + nc).stride()                 # f
(b3.permute(2, 0, 1) + 1).stride()     # f
(step * 2).stride()               # f
t.exp(nc).stride()                # f
(v.expand(3, 4) + 1).stride()     # f
nc.sum(0).stride()                # f
t.cat([nc, nc]).stride()          # f
# sizes
x.size()                          # f
x.size(0)                         # f
x.size(-1)                        # f
x.size(dim=1)                     # f
x.shape                           # f
x.shape[1]                        # f
x.shape[-1:]                      # f
x.shape + (5,)                    # f
x.shape == (3, 4)                 # f
x.shape == y.size()               # f
len(x.shape)                      # f
x.shape.numel()                   # f
x.size(2)                         # raises
x.size('a')                       # raises
s.size()                          # f
s.shape                           # f
s.size(0)                         # raises
e.shape                           # f
x.stride()                        # mix
x.stride(0)                       # f
x.t().stride()                    # f
x[:, ::2].stride()                # f
s.stride()                        # f
e.stride()                        # f
x.numel()                         # f
t.numel(x)                        # f
x.nelement()                      # f
x.dim()                           # f
x.ndim                            # f
x.ndimension()                    # f
x.element_size()                  # all
x.itemsize                        # all
x.nbytes                          # all
x.storage_offset()                # f
x[1:].storage_offset()            # f
len(x)                            # f
len(s)                            # raises
x.device
x.device.type
x.is_cuda
x.is_leaf                         # f
x.layout
x.dtype                           # all
x.type()                          # all
x.is_sparse
x.is_contiguous()                 # all
list(x.shape)
tuple(x.size())
t.Size([2, 3])
t.Size((2, 3)).numel()
t.Size([2, 3])[0]
t.Size([1]) + t.Size([2])
t.Size([2.5])                     # raises
t.is_tensor(x)
t.is_tensor([1])
x.tolist()                        # all
s.tolist()                        # all
e.tolist()                        # f
b3.tolist()                       # f i64
x.numpy().shape
list(x)                           # f
list(v)                           # f i64
[float(i) for i in v]             # f
list(s)                           # raises
a, b, o = x; o                    # f
v.item()                          # raises
s.item()                          # all
one.item()                        # all
e0.item()                         # raises
float(s)                          # real
int(s)                            # real
bool(s)                           # all
complex(s)                        # f c64
bool(x)                           # raises
bool(e0)                          # raises
float(v)                          # raises
int(one)                          # f i64
s.__index__()                     # i64
s.__index__()                     # f32 raises
[10, 20, 30][idx[0]]
range(5)[idx[1]]
'%.3f' % s                        # f
f'{s:.2f}'                        # f
f'{s}'                            # f i64
f'{s.item():.4f}'                 # f
'{:5.1f}'.format(s)               # f
f'{x:.2f}'                        # raises
str(s.item())                     # f64 i64
hash(x) == hash(x)
x in [x]
1.0 in t.ones(3)
(x == 99).any().item() is False
x is x.view(3, 4)
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)


@pytest.mark.parametrize("case", second_order(CASES), ids=str)
def test_second_order(case):
    check_second_order(case)
