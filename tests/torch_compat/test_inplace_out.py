"""In-place methods and `out=`: value, identity, version counter, grad_fn, and what is refused."""

import pytest
from compat import cases, check

UNARY = """
abs acos asin atan ceil cos cosh erf exp expm1 floor frac log log10 log1p log2 neg reciprocal round
rsqrt sgn sigmoid sign sin sinh sqrt square tan tanh trunc relu logical_not nan_to_num
""".split()
BINARY = """
add sub mul div eq ne lt le gt ge logical_and logical_or atan2 fmod remainder
""".split()

LINES = [f"prob.{name}_()    # mix" for name in UNARY]
LINES += [f"o = prob.clone(); o.{name}_(); o    # f" for name in UNARY]
LINES += [f"x.{name}_(nz)    # mix" for name in BINARY]
LINES += [f"o = x.clone(); o.{name}_(nz); o    # f" for name in BINARY]
LINES += [f"o = x.clone(); o.{name}_(2); o    # f i64" for name in BINARY if name != "atan2"
          and not name.startswith("logical")]  # fmt: skip
LINES += [f"o = t.empty(0, dtype=dt); t.{name}(prob, out=o); o    # f nograd"
          for name in UNARY if name not in ("relu", "logical_not")]  # fmt: skip
LINES += [f"o = t.empty(3, 4, dtype=dt); t.{name}(x, nz, out=o); o    # f nograd"
          for name in ("add", "sub", "mul", "div", "atan2", "fmod", "maximum", "pow")]  # fmt: skip
# what type `out` may have
KEEPING = """
neg abs sign sgn floor ceil trunc round signbit isposinf isneginf nan_to_num
""".split()
LINES += [f"t.{name}(x, out=t.empty(3, 4, dtype=t.float64))    # f32 i64 raises"
          for name in KEEPING]  # fmt: skip
LINES += [f"o = t.empty(3, 4); t.{name}(x, 0, dtype=t.float32, out=o); o    # f64 nograd"
          for name in ("cumsum", "cumprod")]  # fmt: skip
LINES += [f"t.{name}(x, 0, dtype=t.float64, out=t.empty(4))    # f32 i64 raises"
          for name in ("sum", "mean", "prod", "cumsum", "cumprod")]  # fmt: skip

CASES = cases(
    "\n".join(LINES)
    + """
# operators
o = x.clone(); o += y; o          # all
o = x.clone(); o -= y; o          # num
o = x.clone(); o *= y; o          # all
o = x.clone(); o /= nz; o         # fc
o = x.clone(); o /= nz            # i64 raises
o = x.clone(); o //= nz; o        # real nograd
o = x.clone(); o %= nz; o         # real
o = x.clone(); o **= 2; o         # num
o = x.clone(); o += 1; o          # all
o = x.clone(); o *= 2.5; o        # fc
o = x.clone(); o *= 2.5           # i64 raises
o = x.clone(); o += 1.5           # i64 raises
o = x.clone(); o &= y; o          # intb
o = x.clone(); o |= y; o          # intb
o = x.clone(); o ^= y; o          # intb
o = x.clone(); o <<= 1; o         # int
o = x.clone(); o @= sq; o         # f
o = x.clone(); o += s; o          # f
o = x.clone(); o += v; o          # mix
o = x.clone(); o += m_float64     # f32
o = x.clone(); o += m_float64     # i64 raises
o = x.clone(); o += 1j            # f raises
o = x.clone(); o += m_complex64   # f raises
o = v.clone(); o += x             # raises
o = s.clone(); o += v             # raises
o = c.clone(); o *= r             # raises
o = x.clone(); o += x; o          # f
o = x.clone(); o *= o; o          # f
o = x.clone(); o -= o.mean(); o   # f
o = sq.clone(); o += o.t()        # raises
o = x.clone(); o[1:] += o[:-1]   # raises
a = x.clone(); o = a; o += 1; o is a
x += 1                            # f
x += 1; x                         # i64
# add_ and friends as optimisers use them
o = x.clone(); o.add_(y, alpha=-0.1); o        # fc
o = x.clone(); o.add_(3); o                    # mix
o = x.clone(); o.add_(y).mul_(2).sub_(1); o    # f
o = x.clone(); o.sub_(y, alpha=2); o           # f
o = x.clone(); o.mul_(0.9).add_(y, alpha=0.1); o       # f
o = x.clone(); o.addcmul_(y, z, value=0.1); o  # f
o = x.clone(); o.addcdiv_(y, nz, value=-0.1); o        # f
o = x.clone(); o.lerp_(y, 0.1); o              # f
o = x.clone(); o.pow_(2); o                    # mix
o = x.clone(); o.pow_(3); o                    # f
o = p.clone(); o.pow_(q); o                    # f
o = x.clone(); o.clamp_(-1, 1); o              # mix
o = x.clone(); o.clamp_(min=0); o              # f i64
o = x.clone(); o.clamp_(max=0.5); o            # f
o = x.clone(); o.clamp_(0); o                  # f
o = x.clone(); o.clamp_min_(0); o              # f
o = x.clone(); o.clip_(-1, 1); o               # f
o = x.clone(); o.zero_(); o                    # all
o = x.clone(); o.fill_(2); o                   # all
o = x.clone(); o.fill_(1.5); o                 # mix
o = x.clone(); o.fill_(s); o                   # f
o = x.clone(); o.fill_(v)                      # raises
o = x.clone(); o.fill_(1j)                     # f raises
o = x.clone(); o.copy_(y); o                   # all
o = x.clone(); o.copy_(v); o                   # f
o = x.clone(); o.copy_(m_int64); o             # f
o = x.clone(); o.copy_(m_float64); o           # f32 i64
o = x.clone(); o.copy_(nc); o                  # f
o = x.t().clone(); o.copy_(n); o               # f
o = x.clone(); o.copy_(x43)                    # raises
o = x.clone(); o.copy_(3); o                   # f
o = x.clone(); o.data.copy_(y); o              # f
o = x.clone(); o.data = y; o                   # f nograd
o = x.clone(); o.data.add_(1); o               # f
o = x.clone(); o.detach().mul_(2); o           # f
o = x.clone(); o.uniform_(0, 1); o             # f nonode
o = x.clone(); o.normal_(0, 0.02); o           # f nonode
o = x.clone(); o.addmm_(x, sq); o              # f
o = x.clone(); o.cumsum_(0); o                 # f
o = x.clone(); o.tril_(); o                    # f
o = x.clone(); o.triu_(1); o                   # f
o = x.clone(); o.t_(); o                       # f
o = x.clone(); o.transpose_(0, 1); o           # f
o = x.clone(); o.unsqueeze_(0); o              # f
o = b1.clone(); o.squeeze_(); o                # f
o = b1.clone(); o.squeeze_(0); o               # f
o = x.clone(); o.resize_(2, 6); o              # f nograd
o = x.clone(); o.resize_(2, 2); o              # f nograd
o = x.clone(); o.resize_(4).stride()           # f nograd
o = x.clone(); o.masked_fill_(msk, 0); o       # f
o = x.clone(); o.index_fill_(0, idx, 2); o     # f
o = x.clone(); o.index_add_(0, idx, y[:2]); o  # f
o = x.clone(); o.scatter_(1, gj, 1); o         # f
o = x.clone(); o.scatter_add_(1, gj, y); o     # f
o = x.clone(); o.fill_diagonal_(0); o          # f
o = x.clone(); o.bitwise_and_(y); o            # int
o = x.clone(); o.floor_divide_(nz); o          # real nograd
o = x.clone(); o.requires_grad_(); o.requires_grad     # f
o = x.clone(); o.detach_(); o.requires_grad    # f
F.relu_(x.clone())                             # f
t.relu_(x.clone())                             # f
o = x.clone(); F.leaky_relu(o, 0.1, inplace=True); o   # f
o = x.clone(); F.elu(o, inplace=True); o       # f
o = x.clone(); F.dropout(o, 0.5, inplace=True); o      # f nonode
o = x.clone(); t.exp_(o); o                    # f
o = x.clone(); t.clamp_(o, 0, 1); o            # f
# the type of out
t.frac(x, out=t.empty(3, 4, dtype=t.float64))  # f32 raises
t.conj_physical(x, out=t.empty(3, 4, dtype=t.float64))   # i64 raises
t.bitwise_not(x, out=t.empty(3, 4, dtype=t.float64))     # i64 raises
t.clamp(x, 0, 1, out=t.empty(3, 4, dtype=t.float64))     # f32 raises
t.clamp(x, 0.5, out=t.empty(3, 4, dtype=t.float64))      # i64 raises
t.lerp(x, y, z, out=t.empty(3, 4, dtype=t.float64))      # f32 raises nograd
t.lerp(x, y, 0.5, out=t.empty(3, 4, dtype=t.float64))    # f32 nograd
t.hardshrink(x, out=t.empty(3, 4, dtype=t.float64))      # f32 raises
t.heaviside(x, y.to(t.float64))                # f32 raises
t.heaviside(x, y, out=t.empty(3, 4, dtype=t.int32))      # f32 raises nograd
o = x.clone(); o.heaviside_(m_float64)         # f32 raises
o = t.empty(4, dtype=t.float64); t.sum(x, 0, out=o); o   # f32 nograd
o = t.empty(4, dtype=t.int64); t.sum(x, 0, out=o); o     # f32 c64 nograd
o = t.empty(4, dtype=t.float64); t.mean(x, 0, out=o); o  # f32 nograd
t.mean(x, 0, out=t.empty(4, dtype=t.int64))    # f32 raises
o = t.empty(4, dtype=t.int64); t.prod(x, 0, out=o); o    # f32 nograd
o = t.empty(3, 4, dtype=t.int64); t.cumsum(x, 0, out=o); o  # f32 c64 nograd
t.cumsum(x, 0, out=t.empty(3, 4, dtype=t.bool))          # f32 raises
t.cumprod(x, 0, dtype=t.bool)                  # f32 raises
t.nansum(x, 0, dtype=t.float64, out=t.empty(4))          # f32 raises
t.nansum(x, 0, dtype=t.complex64)              # f32 raises
t.norm(x, 2, 0, dtype=t.float64, out=t.empty(4))         # f32 raises nograd
t.norm(x, 2, 0, out=t.empty(4, dtype=t.float64))         # f32 raises nograd
linalg.vector_norm(x, 2, 0, dtype=t.float64, out=t.empty(4))  # f32 raises nograd
linalg.norm(x, 2, 0, out=t.empty(4, dtype=t.float64))    # f32 raises nograd
linalg.vector_norm(x, dtype=t.int64)           # f32 c64 raises
linalg.vector_norm(x, dtype=t.float64)         # c64 raises
linalg.vector_norm(x, dtype=t.complex64)       # f32 raises
linalg.matrix_norm(x, dtype=t.float16)         # f32 raises
t.logsumexp(x, 0, out=t.empty(4, dtype=t.int64))         # f32 raises
t.cat([x, y], out=t.empty(6, 4, dtype=t.int64))          # f32 raises
t.stack([x, y], out=t.empty(2, 3, 4, dtype=t.int64))     # f32 raises
linalg.pinv(x, out=t.empty(4, 3, dtype=t.int64))         # f32 raises nograd
# numbers of complex tensors
float(s)                                       # c64 raises
int(s)                                         # c64 raises
float(t.tensor(1.5 + 0j))                      # f32
int(t.tensor(1.5 + 0j))                        # f32
complex(s)                                     # c64 f32
# no elements, no address
x[3:].data_ptr()
t.empty(0).untyped_storage().data_ptr()
# a negative slope in place has no gradient
F.elu_((x * 1).requires_grad_() * 1, -1).sum().backward()             # raises
F.celu_((x * 1).requires_grad_() * 1, -1).sum().backward()            # raises
F.leaky_relu_((x * 1).requires_grad_() * 1, -1).sum().backward()  # raises
F.elu((x * 1).requires_grad_() * 1, -1, inplace=True).sum().backward()    # raises
F.rrelu_((x * 1).requires_grad_() * 1, -1, -0.5).sum().backward() # raises
o = x.clone(); F.elu_(o, -1); o                # f nograd
o = x.clone(); F.leaky_relu_(o, -0.5); o       # f nograd
o = x.clone(); F.rrelu_(o, -1, -0.5); o        # f nograd
o = x.clone(); F.elu(o, -1, inplace=True); o   # f nograd
# identity and versions
x.add_(1) is x                                 # i64
o = x.clone(); o.mul_(2) is o                  # f
o = x.clone(); o.add_(1); o._version           # f
o = x.clone(); o[0] = 1; o.zero_(); o += 1; o._version # f
o = x.clone(); a = o[0]; a.add_(1); (o._version, a._version)   # f
o = x.clone(); a = o.detach(); a.add_(1); o._version   # f
o = x.clone(); a = o.data; a.add_(1); o._version       # f
o = x.clone(); o.view(-1).mul_(2); o._version  # f
o = x.clone(); o._version
# views written in place
o = x.clone(); o[0].mul_(2); o                 # f
o = x.clone(); a = o[1]; a *= 3; (a, o)        # f
o = x.clone(); o.t().add_(n); o                # f
o = x.clone(); o.view(12)[2:5].zero_(); o      # f
o = x.clone(); o[:, 1:3].copy_(y[:, :2]); o    # f
o = x.clone(); a = o.view(-1); o.mul_(2); a    # f
o = x.clone(); a = o[0]; b = o[0]; a.add_(1); b        # f
o = x.clone(); o.unsqueeze(0).mul_(2); o       # f
o = x.clone(); o.expand(3, 4).add_(1); o       # f
o = x.clone(); a = o[:, 0]; o[1] = 5; a        # f
o = x * 1; o.diagonal().fill_(3); o            # f
x[0].add_(1)                                   # f
x.view(-1).mul_(2)                             # f
v.expand(3, 4).add_(1)                         # raises
x.split(2)[0].add_(1)                          # f
o = x.clone(); o.split(2)[0].add_(1)           # f
o = x.clone(); o.unbind(0)[0].mul_(2)          # f
# refused
x.sqrt_()                                      # i64 raises
x.exp_()                                       # i64 raises
x.add_('a')                                    # raises
x.add_(x43)                                    # raises
x.add_(b3)                                     # raises
x.copy_(b3)                                    # raises
x.mul_(None)                                   # raises
x.zero_(1)                                     # raises
x.sigmoid_()                                   # i64 raises
x.logical_and_(x43)                            # raises
x.clamp_()                                     # raises
# out=
o = t.empty(3, 4, dtype=dt); t.add(x, y, out=o) is o           # f nograd
o = t.empty(0, dtype=dt); t.add(x, y, out=o); o                # mix nograd
o = t.empty(3, 4, dtype=t.float64); t.add(x, y, out=o); o      # f32 i64 nograd
o = t.empty(4, 3, dtype=dt).t(); t.mul(x, y, out=o); o         # f nograd
o = t.zeros(6, 8, dtype=dt)[::2, ::2]; t.mul(x, y, out=o); o   # f nograd
o = t.empty(3, 4, dtype=t.bool); t.eq(x, y, out=o); o          # f nograd
o = t.empty(3, 5, dtype=dt); t.mm(x, m, out=o); o              # f nograd
o = t.empty(3, 5, dtype=dt); t.matmul(x, m, out=o); o          # f nograd
o = t.empty(3, dtype=dt); t.sum(x, 1, out=o); o                # f nograd
o = t.empty(4, dtype=dt); t.mean(x, 0, out=o); o               # f nograd
o = t.empty(6, 4, dtype=dt); t.cat([x, y], out=o); o           # f nograd
o = t.empty(2, 3, 4, dtype=dt); t.stack([x, y], out=o); o      # f nograd
o = t.empty(3, 4, dtype=dt); t.clamp(x, 0, 1, out=o); o        # f nograd
o = t.empty(3, 4, dtype=dt); t.where(msk, x, y, out=o); o      # f nograd
o = t.empty(3, 4, dtype=dt); t.cumsum(x, 0, out=o); o          # f nograd
o = t.empty(2, 4, dtype=dt); t.index_select(x, 0, idx, out=o); o       # f nograd
o = t.empty(2, 4, dtype=dt); t.gather(x, 0, gi, out=o); o      # f nograd
a = t.empty(0, dtype=dt); o = t.empty(0, dtype=t.long); t.max(x, 1, out=(a, o)); (a, o)  # f nograd
a = t.empty(0, dtype=dt); o = t.empty(0, dtype=t.long); t.sort(x, out=(a, o)); (a, o)  # f nograd
a = t.empty(0, dtype=dt); o = t.empty(0, dtype=t.long); t.topk(x, 2, out=(a, o)); (a, o)  # f nograd
t.zeros(3, out=t.empty(3))                     # nograd
t.arange(4, out=t.empty(4))                    # nograd
t.add(x, y, out=x); x                          # f nograd
o = t.empty(2, dtype=dt); t.add(x, y, out=o); o        # f nograd
o = t.empty(3, 4, dtype=t.int64); t.add(x, y, out=o)   # f nograd raises
o = t.empty(3, 4, dtype=t.int64); t.sin(x, out=o)      # f nograd raises
o = t.empty(3, 4); t.add(x, y, out=o)          # f
t.add(x, y, out=3)                             # raises
t.add(x, y, out=[x])                           # raises
t.mm(x, m, out=t.empty(3, 5, dtype=t.float64)) # raises nograd
t.mm(x, m, out=t.empty(3, 5, dtype=t.float16)) # raises
t.mm(x, m, out=t.empty(3, 5, dtype=t.int64)) # raises
t.matmul(x, m, out=t.empty(3, 5, dtype=t.float64)) # raises
t.bmm(x[None], m[None], out=t.empty(1, 3, 5, dtype=t.float64)) # raises
t.mv(m, t.ones(5), out=t.empty(4, dtype=t.float64)) # raises
t.dot(v, v, out=t.empty((), dtype=t.float64)) # raises
t.addmm(t.ones(3, 5), x, m, out=t.empty(3, 5, dtype=t.float64)) # raises
t.gather(x, 1, gj, out=t.empty(3, 2, dtype=t.float64)) # raises
t.index_select(x, 0, t.tensor([0]), out=t.empty(1, 4, dtype=t.float64)) # raises
t.max(x, 0, out=(t.empty(4, dtype=t.float64), t.empty(4, dtype=t.int64))) # raises
t.max(x, 0, out=(t.empty(4), t.empty(4))) # raises
t.sort(x, out=(t.empty(3, 4, dtype=t.float64), t.empty(3, 4, dtype=t.int64))) # raises
t.topk(x, 1, out=(t.empty(3, 1, dtype=t.float64), t.empty(3, 1, dtype=t.int64))) # raises
t.cummax(x, 0, out=(t.empty(3, 4, dtype=t.float64), t.empty(3, 4, dtype=t.int64))) # raises
t.argmax(x, 0, out=t.empty(4)) # raises
t.tril(x, out=t.empty(3, 4, dtype=t.float64)) # raises
t.take(x, t.tensor([0]), out=t.empty(1, dtype=t.float64)) # raises
t.masked_select(x, x > 0, out=t.empty(1, dtype=t.float64)) # raises
t.nonzero(x, out=t.empty(1)) # raises
t.where(x > 0, x, y, out=t.empty(3, 4, dtype=t.float64)) # raises
t.softmax(x, 0, out=t.empty(3, 4, dtype=t.float64)) # raises nograd
t.linalg.inv(t.eye(2), out=t.empty(2, 2, dtype=t.float64)) # raises
t.all(x, 0, out=t.empty(4)) # raises
t.amax(x, 0, out=t.empty(4, dtype=t.float64)) # raises
t.scatter_add(x, 0, gi, y, out=t.empty(3, 4, dtype=t.float64)) # raises
t.cat([x, x], out=t.empty(6, 4, dtype=t.float64))
t.stack([x, x], out=t.empty(2, 3, 4, dtype=t.float64))
t.sum(x.floor(), 0, out=t.empty(4, dtype=t.float64))
t.prod(x.floor(), 0, out=t.empty(4, dtype=t.float64))
t.cumsum(x.floor(), 0, out=t.empty(3, 4, dtype=t.float64))
t.exp(x, out=t.empty(3, 4, dtype=t.float64))
t.full((3,), 1.5, out=t.empty(3, dtype=t.int64))
t.arange(3, out=t.empty(3))
t.linspace(0, 1, 3, out=t.empty(3, dtype=t.float64))
o = t.empty(3, 4, requires_grad=True); t.add(x, y, out=o)      # raises
"""
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)
