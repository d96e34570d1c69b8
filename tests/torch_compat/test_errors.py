"""Errors that people meet: type and first sentence, and inputs unchanged after a refusal."""

import pytest
from compat import cases, check

CASES = cases("""
# shapes that do not broadcast
x + w                             # raises
x * x43                           # raises
x - m                             # raises
x / b4                            # raises
x == w                            # raises
x > x43                           # raises
x & w.bool()                      # raises
t.maximum(x, w)                   # raises
t.where(msk, x, w)                # raises
t.where(msk, x, x43)              # raises
t.atan2(x, w)                     # raises
x ** w                            # raises
t.lerp(x, w, 0.5)                 # raises
t.addcmul(x, w, y)                # raises
# wrong types
x + 'a'                           # raises
'a' + x                           # raises
x + None                          # raises
x * [1, 2]                        # raises
x - {}                            # raises
x @ [1]                           # raises
x @ 3                             # raises
x @ None                          # raises
3 @ x                             # raises
x @ 2.5                           # raises
x < 'a'                           # raises
x < None                          # raises
x & 1.5                           # raises
x ** 'a'                          # raises
x / None                          # raises
x // 'a'                          # raises
x % None                          # raises
-x > None                         # raises
x + object()                      # raises
[1] + x                           # raises
None * x                          # raises
x += 'a'                          # raises
x(3)                              # raises
x.nothing                         # raises
t.nothing                         # raises
nn.Nothing                        # raises
F.nothing                         # raises
t.add(x)                          # raises
t.add(x, y, z)                    # raises
t.add(x, 'a')                     # raises
t.add('a', x)                     # raises
t.add(x, y, beta=1)               # raises
t.mul(x, None)                    # raises
t.exp(3)                          # raises
t.exp()                           # raises
t.exp(x, y)                       # raises
t.exp('a')                        # raises
t.exp([1.0])                      # raises
t.exp(None)                       # raises
t.sin(np.ones(3))                 # raises
t.tanh(x, 1)                      # raises
t.sqrt(x, dim=1)                  # raises
t.relu(3)                         # raises
t.abs('a')                        # raises
t.pow(2, 3)                       # raises
t.clamp(x)                        # raises
t.clamp(x, 'a', 1)                # raises
t.clamp(3, 0, 1)                  # raises
t.where(3, x, y)                  # raises
t.where(msk, 'a', x)              # raises
t.where(msk, x)                   # raises
t.where(m_float32, x, y)          # raises
t.cat(3)                          # raises
t.cat('ab')                       # raises
t.cat([x, None])                  # raises
t.cat([x, y], 'a')                # raises
t.stack(3)                        # raises
t.stack([x, 'a'])                 # raises
t.matmul(x, 3)                    # raises
t.mm(x, [1])                      # raises
t.einsum(x, 'ij')                 # raises
t.einsum('ij')                    # raises
t.sort('a')                       # raises
t.topk(x)                         # raises
t.topk(x, 'a')                    # raises
t.gather(x, 1)                    # raises
t.gather(x, 1, [0])               # raises
t.reshape(x, 'a')                 # raises
t.reshape(x, 2.5)                 # raises
t.transpose(x, 'a', 0)            # raises
t.permute(x, 1)                   # raises
t.squeeze(x, 'a')                 # raises
t.unsqueeze(x)                    # raises
t.split(x, 'a')                   # raises
t.chunk(x, 1.5)                   # raises
t.sum(x, dim='a')                 # raises
t.sum(x, dtype='float')           # raises
t.sum(x, keepdim=1, dim='b')      # raises
t.max(x, y, z)                    # raises
t.max(x, y, True)                 # raises
t.max(x, 1, y)                    # raises
t.max(x, y, keepdim=True)         # raises
t.max(x, None)                    # raises
t.max(x, 1, False, None)          # raises
t.max(x, dim=1, other=y)          # raises
t.min(x, y, z)                    # raises
x.max(y, z)                       # raises
x.min(1.5)                        # raises
t.argmax(x, dim='a')              # raises
t.norm(x, p='nothing')            # raises
t.softmax(x, 'a')                 # raises
t.manual_seed('a')                # raises
t.manual_seed(2**80)              # raises
t.eye('a')                        # raises
t.linspace('a', 1, 2)             # raises
t.full('a', 1)                    # raises
t.full((2,), 'a')                 # raises
t.full((2,), None)                # raises
t.full((2,), [1])                 # raises
t.zeros(None)                     # raises
t.zeros([1, 'a'])                 # raises
t.zeros((1, 2.5))                 # raises
t.zeros(2, 'a')                   # raises
t.zeros(2, dtype=3)               # raises
t.zeros(2, requires_grad='a')     # raises
t.zeros(2, nothing=1)             # raises
t.zeros()                         # raises
t.ones()                          # raises
t.rand(2, 'a')                    # raises
t.randint(3)                      # raises
t.randint(0, 5)                   # raises
t.arange()                        # raises
t.arange(1, 2, 3, 4)              # raises
x.view(None)                      # raises
x.expand()                        # raises
x.repeat()                        # raises
x.permute()                       # raises
x.reshape()                       # raises
x.add()                           # raises
x.add(1, 2, 3)                    # raises
x.fill_()                         # raises
x.fill_('a')                      # raises
x.copy_()                         # raises
x.copy_('a')                      # raises
x.masked_fill(3, 0)               # raises
x.masked_fill(msk)                # raises
x.masked_fill(msk, 'a')           # raises
x.index_select(0, [0])            # raises
x.scatter_(0, gi)                 # raises
x.scatter_(0, gi, 'a')            # raises
x.item(1, 2)                      # raises
x.sum('a', 'b')                   # raises
x.numpy(1, 2)                     # raises
x.size('b')                       # raises
x.size(dim='a')                   # raises
x.size(0, 1)                      # raises
x.size(1.5)                       # raises
x.size(5)                         # raises
x.stride('a')                     # raises
x.stride(7)                       # raises
x.clamp(min='a')                  # raises
x.split()                         # raises
x.item()                          # raises
t.renorm(x, -1, 0, 1.0)           # raises
t.renorm(x, 0, 0, 1.0)            # raises
t.renorm(x, 2, 0, -1.0)           # raises
t.renorm(x, 2, 5, 1.0)            # raises
t.renorm(v, 2, 0, 1.0)            # raises
t.renorm(x, 2, 0, 1.0)            # f16 bf16 f32 c64
t.renorm(x, 3.0, 1, 0.5)
o = x.clone(); o.renorm_(1, 0, 2.0); o
F.multi_margin_loss(x, t.tensor([0, 1]))         # raises
F.multi_margin_loss(x, t.tensor([0, 1, 4]))      # raises
F.multi_margin_loss(x, t.tensor([0., 1., 2.]))   # raises
F.multi_margin_loss(x, t.tensor([0, 1, 2]), weight=t.ones(2)) # raises
F.multi_margin_loss(x, t.tensor([0, 1, 2]), p=3) # raises
F.multi_margin_loss(x[None], t.tensor([0]))      # raises
F.multi_margin_loss(v, t.tensor(1), p=2, margin=0.5, weight=u.abs())
F.multi_margin_loss(v, t.tensor([1]), reduction='none')
F.multi_margin_loss(x, t.tensor([0, 1, 2]), reduction='none')
x.split('a')                      # raises
x.scatter(0, gi)                  # raises
x.scatter_(0, gi, y, reduce=1)    # raises
x.scatter_('a', gi, y)            # raises nograd
# attributes that cannot be written
x.device = 'cpu'                  # raises
x.layout = 1                      # raises
x.mT = 1                          # raises
x.itemsize = 1                    # raises
x.nbytes = 1                      # raises
x.shape = (1,)                    # raises
x.dtype = t.int64                 # raises
t.frombuffer(memoryview(bytearray(8))[::2], dtype=t.uint8)   # raises
x.grad_fn = None                  # raises
x.is_leaf = True                  # raises
x.T = 1                           # raises
x.ndim = 1                        # raises
x.data = 3                        # raises
x.data = None                     # raises
x.requires_grad = 'a'             # raises
x.requires_grad = 1               # raises
x.grad = 3                        # raises
x.grad = 'a'                      # raises
x.grad = x43                      # raises
x.grad = m_float64                # raises
x.grad = x                        # raises
x.grad = None
del x.grad
x.anything = 3; x.anything
# autograd at the door
x.backward()                      # raises
x.sum().backward()                # raises
x.backward(x43)                   # raises
m_int64.requires_grad_()          # raises
m_int64.requires_grad = True      # raises
m_bool.requires_grad_(True)       # raises
x.retain_grad()                   # raises
x.register_hook(print)            # raises nograd
x.register_hook(3)                # raises nograd
t.autograd.grad(x.sum(), x)       # raises
t.autograd.grad(x, x)             # raises
t.autograd.backward(x)            # raises
t.autograd.backward(3)            # raises
t.autograd.grad([], [])           # raises
t.autograd.grad(3, 4)             # raises
x.numpy()
np.asarray(x).sum()               # novalue
(x * 2).numpy()
float(x)                          # raises
int(x)                            # raises
bool(x)                           # raises
if_x = 1 if x else 0              # raises
not x                             # raises
x and y                           # raises
x.tolist(3)                       # raises
complex(x)                        # raises
range(x)                          # raises
[1, 2][x]                         # raises
x.__index__()                     # raises
x.__bool__()                      # raises
hash(x) is not None
s[0]                              # raises
len(s)                            # raises
list(s)                           # raises
iter(s)                           # raises
for_s = [i for i in s]            # raises
v.item()                          # raises
e0.max()                          # raises
e0.argmax()                       # raises
x.T.view(-1)                      # raises
b3.T                              # f
b3.t()                            # raises
x.data_ptr() == x.view(-1).data_ptr()
# dtypes that an operation does not take
x & y                             # float cplx
~x                                # float cplx
x << 1                            # f
x // y                            # cplx
x % y                             # cplx
x < y                             # cplx
x.max()                           # cplx
x.sort()                          # cplx
x.clamp(0, 1)                     # cplx
x.floor()                         # cplx
x.mean()                          # intb
x.std()                           # intb
x.norm()                          # intb
x - y                             # bool
x ** -2                           # raises int bool
x ** -1                           # raises int bool
x.pow(-2)                         # raises int
t.pow(x, -2)                      # raises int bool
o = x.clone(); o.pow_(-3); o      # raises int
t.pow(x, -2, out=t.empty(3, 4))   # raises int
t.pow(t.empty(0, dtype=dt), -2)   # raises int
t.pow(x, t.full_like(x, -2))      # i8 i16 i32 i64
x ** 256                          # raises u8 i8
x ** 2**40                        # raises u8 i8 i16 i32
x ** -2.0                         # int
x ** 0                            # int
t.clamp(x, False, True)           # bool
t.clamp(x, max=True)              # bool
t.clamp(x, x, x)                  # bool
-x                                # bool
x.cumprod(0)                      # bool
t.softmax(x, 0)                   # intb
F.relu(x)                         # bool
F.gelu(x)                         # intb
t.erfinv(x)                       # c64
t.dot(v, u)                       # bool
t.bmm(b3, b4)                     # bool
t.det(sq)                         # i64
x.exp_()                          # i64
x.bernoulli_()                    # i64
x.uniform_()                      # i64
t.rand(2, dtype=dt)               # intb
t.randn(2, dtype=dt)              # intb
t.linspace(0, 1, 3, dtype=dt)     # bool
t.complex(x, y)                   # i64 f16
t.complex(x, m_float64)           # f32
t.polar(x, y)                     # i64
t.lgamma(x)                       # c64
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)
