"""Making tensors: factories, from data and NumPy, like-factories, ranges, casts, seeded random."""

import numpy as np
import pytest
from compat import cases, check, check_second_order, oracle, second_order

from _subject import torch as subject

CASES = cases("""
# factories
t.zeros(3, 4)
t.zeros((3, 4))
t.zeros([2, 3])
t.zeros(3)
t.zeros(())
t.zeros(0)
t.zeros(2, 0, 3)
t.zeros(t.Size([2, 3]))
t.zeros(x.shape)
t.zeros(x.size(0), x.size(1))
t.zeros(*x.shape)
t.zeros(2, dtype=dt)              # all
t.zeros(2, dtype=t.long)
t.zeros(2, requires_grad=True)
t.zeros(2, 3, dtype=t.float64, requires_grad=True)
t.zeros(2, device='cpu')
t.zeros(2, device=t.device('cpu'))
t.zeros(np.int64(3), 2)
t.zeros(size=(2, 3))
t.zeros(idx[1], 2)
t.zeros(-1)                       # raises
t.zeros(2, -3)                    # raises
t.zeros(2.5)                      # raises
t.zeros('a')                      # raises
t.zeros(2, dtype='float32')       # raises
t.zeros(2, dtype=t.int64, requires_grad=True)      # raises
t.zeros(2, device='nowhere')      # raises
t.ones(3, 4)
t.ones((2, 3), dtype=dt)          # all
t.ones(2, requires_grad=True)
t.ones(())
t.ones(4).sum()
t.ones(x.size())
t.full((2, 3), 7)
t.full((2, 3), 7.5)
t.full((2,), True)
t.full((2,), 1j)
t.full((2, 3), 1, dtype=dt)       # all
t.full((2, 3), 1.0, dtype=t.long)
t.full((), 3.0)
t.full((2,), float('inf'))
t.full((2,), float('nan'))
t.full([2], 3, requires_grad=True)     # raises
t.full((2,), 0.5, requires_grad=True)
t.full(2, 3)                      # raises
t.empty(3, 4).shape
t.empty(3, 4)                     # novalue
t.empty((2, 3), dtype=dt)         # all novalue
t.empty(0)
t.empty(2, requires_grad=True)    # novalue
t.empty(2, 3).fill_(1.5)
t.eye(3)
t.eye(3, 4)
t.eye(2, dtype=dt)                # all
t.eye(0)
t.eye(3, requires_grad=True)
t.eye(-1)                         # raises
t.zeros_like(x)                   # all
t.ones_like(x)                    # all
t.full_like(x, 2)                 # all
t.full_like(x, 1.5)               # mix
t.empty_like(x)                   # all novalue
t.zeros_like(x, dtype=t.int64)    # mix
t.ones_like(x, requires_grad=True)     # f
t.zeros_like(x, device='cpu')     # f
t.ones_like(x).requires_grad      # f
t.zeros_like(nc)                  # f
t.zeros_like(s)                   # f
t.zeros_like(e)                   # f
t.zeros_like([1.0])               # raises
x.new_zeros(2, 3)                 # mix
x.new_zeros((2, 3))               # f
x.new_ones(2)                     # mix
x.new_full((2,), 3)               # mix
x.new_empty(2, 2)                 # novalue
x.new_tensor([1, 2])              # mix
x.new_zeros(2, dtype=t.int64)     # f
x.new(2, 3).shape                 # f
x.new([1, 2, 3])                  # f i64
x.new(2, 3).zero_()               # f i64
x.new().shape                     # f
x.new(x.size()).fill_(1)          # f
# ranges
t.arange(5)
t.arange(0)
t.arange(2, 7)
t.arange(2, 10, 3)
t.arange(5, 0, -1)
t.arange(5.0)
t.arange(0, 1, 0.25)
t.arange(1, 2, 0.1)
t.arange(0.5, 3)
t.arange(5, dtype=dt)             # num
t.arange(0, 5, dtype=t.float32)
t.arange(3, requires_grad=True)   # raises
t.arange(3.0, requires_grad=True)
t.arange(start=1, end=4)
t.arange(end=4)
t.arange(1, 4, step=2)
t.arange(x.size(0))
t.arange(5, device='cpu')
t.arange(-3, 3)
t.arange(0, 10, 4)
t.arange(idx[1])
t.arange(np.int64(4))
t.arange(3, 1)                    # raises
t.arange(1, 3, 0)                 # raises
t.arange(1, 3, -1)                # raises
t.arange('a')                     # raises
t.arange(float('nan'))            # raises
t.arange(0, float('inf'))         # raises
t.range(1, 4)
t.linspace(0, 1, 5)
t.linspace(0, 1, 11)
t.linspace(-10, 10, 7)
t.linspace(1, 1, 3)
t.linspace(0, 1, 1)
t.linspace(0, 1, 0)
t.linspace(5, 0, 6)
t.linspace(0, 10, steps=5)
t.linspace(start=0, end=2, steps=3)
t.linspace(0, 2 * math.pi, 25)
t.linspace(0., 1., 100)
t.linspace(0, 1, 5, dtype=dt)     # fc
t.linspace(0, 9, 4, dtype=t.int64)
t.linspace(0, 1, 5, requires_grad=True)
t.linspace(0, 1, -1)              # raises
t.linspace(0, 1)                  # raises
t.logspace(0, 2, 3)
t.logspace(-1, 1, 5)
t.tril_indices(3, 3)
t.triu_indices(3, 4, 1)
t.vander(v)                       # f
t.hann_window(8)
t.hamming_window(5)
# from data
t.tensor(1)
t.tensor(1.5)
t.tensor(True)
t.tensor(1j)
t.tensor([1, 2, 3])
t.tensor([1.0, 2, 3])
t.tensor([True, False])
t.tensor([1, True])
t.tensor([1.5, True])
t.tensor([1, 2j])
t.tensor([])
t.tensor([[]])
t.tensor([[], []])
t.tensor(())
t.tensor([[1, 2], [3, 4]])
t.tensor(((1, 2), (3, 4)))
t.tensor([(1, 2), [3, 4]])
t.tensor([[[1.0]]])
t.tensor(range(4))
t.tensor([1, 2], dtype=dt)        # all
t.tensor([0, 3], dtype=t.bool)
t.tensor([1.7, -1.7], dtype=t.int64)
t.tensor([1.0, 2.0], requires_grad=True)
t.tensor(3.0, requires_grad=True)
t.tensor(2.0, dtype=t.float64, requires_grad=True)
t.tensor([1.0], device='cpu')
t.tensor(np.array([1, 2, 3]))
t.tensor(np.array([1.0, 2.0]))
t.tensor(np.array([1, 2], dtype=np.int8))
t.tensor(np.array([True]))
t.tensor(np.array(2.5))
t.tensor(np.float32(2.5))
t.tensor(np.float64(2.5))
t.tensor(np.int64(2))
t.tensor(np.bool_(True))
t.tensor([np.float32(1), np.float32(2)])
t.tensor([np.float64(1), 2])
t.tensor([np.array([1, 2]), np.array([3, 4])])
t.tensor(x)                       # mix nograd
t.tensor([s.item(), 2])           # f
t.tensor([t.tensor(1.0), t.tensor(2.0)])
t.tensor([t.tensor(1), t.tensor(2)])
t.tensor([1e10, 1e-10])
t.tensor(2**40)
t.tensor([2**62, -2**62])
t.tensor([float('nan'), float('inf'), -float('inf')])
t.tensor(255, dtype=t.uint8)
t.tensor([1, 2], dtype=t.complex64)
t.tensor('a')                     # raises
t.tensor(['a'])                   # raises
t.tensor(None)                    # raises
t.tensor([1, None])               # raises
t.tensor([[1, 2], [3]])           # raises
t.tensor([1, [2]])                # raises
t.tensor([[1], 2])                # raises
t.tensor({})                      # raises
t.tensor({1, 2})                  # raises
t.tensor(object())                # raises
t.tensor(2**70)                   # raises
t.tensor([1, 2], requires_grad=True)   # raises
t.tensor(300, dtype=t.uint8)      # raises
t.tensor([1j], dtype=t.float32)   # raises
t.tensor()                        # raises
t.tensor([1], dtype=np.float32)   # raises
t.tensor(np.array(['a']))         # raises
t.tensor(np.array([object()]))    # raises
t.as_tensor([1.0, 2.0])
t.as_tensor(np.array([1, 2]))
t.as_tensor(x) is x               # f
t.as_tensor(x, dtype=t.float64)   # f
t.as_tensor(3)
t.as_tensor([1, 2], dtype=t.float32)
t.as_tensor(np.float64(1.5))
t.as_tensor(range(3))
t.asarray([1, 2])
t.from_numpy(np.arange(6).reshape(2, 3))
t.from_numpy(np.arange(6.0)[::2])
t.from_numpy(np.arange(6).reshape(2, 3).T)
t.from_numpy(np.array(5))
t.from_numpy(np.zeros((0, 3), np.float32))
t.from_numpy(np.array([1, 2], np.uint8))
t.from_numpy(np.array([1.5], np.float16))
t.from_numpy(np.array([1 + 2j]))
t.from_numpy(np.arange(3)[::-1])  # raises
t.from_numpy([1, 2])              # raises
t.from_numpy(3)                   # raises
t.from_numpy(np.array(['a']))     # raises
t.from_numpy(np.array([None]))    # raises
t.from_numpy(np.array([1], dtype='>i4'))   # raises
t.from_numpy(np.array([1], dtype=np.longdouble))   # raises
t.from_numpy(np.array(['2020-01-01'], dtype='datetime64[D]'))  # raises
t.Tensor([1, 2, 3])
t.Tensor([[1, 2], [3, 4]])
t.Tensor([1.5])
t.Tensor([])
t.Tensor()
t.Tensor(2, 3).shape
t.Tensor(2, 3).dtype
t.Tensor(t.Size([2, 3])).shape
t.Tensor(np.array([1.0, 2.0]))
t.Tensor(np.array([1, 2]))
t.Tensor(x) is x
t.Tensor([True])
t.Tensor(1.5)                     # raises
t.Tensor('a')                     # raises
t.Tensor([1], dtype=t.int64)      # raises
t.FloatTensor([1, 2])
t.FloatTensor(2, 3).shape
t.FloatTensor(2, 3).zero_()
t.FloatTensor(np.array([1.0, 2.0], dtype=np.float32))
t.FloatTensor([1.0, 1.0, 1.0]).requires_grad
t.LongTensor([1, 2])
t.LongTensor(2).dtype
t.LongTensor([[1], [2]])
t.DoubleTensor([1, 2])
t.IntTensor([1])
t.ByteTensor([1, 0])
t.BoolTensor([True, False])
t.HalfTensor([1.5])
t.ShortTensor([1])
t.CharTensor([1])
t.complex(t.tensor(1.0), t.tensor(2.0))
t.autograd.Variable(x) is x
t.autograd.Variable(x, requires_grad=True).requires_grad
t.autograd.Variable(t.ones(2), requires_grad=True)
nn.Parameter(x)                   # f nograd
nn.Parameter(t.ones(2))
nn.Parameter(t.ones(2), requires_grad=False)
nn.Parameter(t.arange(2))         # raises
nn.Parameter()
isinstance(nn.Parameter(t.ones(2)), t.Tensor)
type(nn.Parameter(t.ones(2)) * 2).__name__
# casts
x.to(t.float64)                   # all
x.to(t.float32)                   # all
x.to(t.float16)                   # mix
x.to(t.bfloat16)                  # mix
x.to(t.int64)                     # real bool
x.to(t.int32)                     # mix
x.to(t.uint8)                     # i64 i8
x.to(t.bool)                      # all
x.to(t.complex64)                 # mix
x.float()                         # all
x.double()                        # all
x.half()                          # mix
x.bfloat16()                      # mix
x.long()                          # real bool
x.int()                           # real bool
x.short()                         # f i64
x.char()                          # f i64
x.byte()                          # i64 bool
x.bool()                          # all
x.cfloat()                        # f
x.cdouble()                       # f
x.float() is x                    # f
x.to(x.dtype) is x                # f i64
x.to('cpu') is x
x.cpu() is x
x.to(t.device('cpu')) is x
x.to('cpu', t.float64)            # f32
x.to(device='cpu', dtype=t.float16)    # f
x.to(dtype=t.int32)               # f
x.to(m_float64)                   # f
x.to(y) is x                      # f
x.to(x.dtype, copy=True) is x
x.to('cpu', non_blocking=True) is x
x.to('nowhere')                   # raises
x.to('float32')                   # raises
x.to() is x
x.to(3)                           # raises
x.type(t.float64)                 # mix
x.type(t.LongTensor)              # f
x.type('torch.DoubleTensor')      # f
x.type(t.FloatTensor)             # f i64
x.type('nonsense')                # raises
x.type()                          # all
x.type_as(m_float64)              # mix
x.type_as(m_int64)                # f
(x > 0).float()                   # f
(x > 0).long()                    # f
(x > 0).int()                     # f
special.long()                    # f nograd notext novalue
t.tensor([1.9, -1.9]).int()
t.tensor([300, -1]).to(t.uint8)
t.tensor([1e10]).half()
nc.double()                       # f32
nc.double().stride()              # f32
x.numpy()                         # f nograd
x.tolist()                        # mix
x.cuda()                          # raises
t.cuda.is_available()
isinstance(t.__version__, str)
# default dtype, devices, types
t.get_default_dtype()
t.float32
t.float
t.double
t.half
t.long
t.int
t.short
t.bfloat16
t.bool
t.uint8
t.cfloat
t.complex128
t.float is t.float32
t.long is t.int64
t.int is t.int32
t.half is t.float16
t.double is t.float64
t.float32.is_floating_point
t.int64.is_floating_point
t.complex64.is_complex
t.float32.itemsize
t.int8.is_signed
t.uint8.is_signed
t.device('cpu')
t.device('cpu').type
t.device('cpu').index
t.device('cpu') == t.device('cpu')
str(t.device('cpu'))
t.device('cuda:1').index
t.device('cuda', 1)
t.device('cuda').type
t.device('nowhere')               # raises
t.device('cpu:x')                 # raises
t.finfo(t.float32).eps
t.finfo(t.float32).max
t.finfo(t.float16).tiny
t.finfo(t.float64).min
t.finfo().eps
t.iinfo(t.int64).max
t.iinfo(t.uint8).min
t.finfo(t.int64)                  # raises
t.iinfo(t.float32)                # raises
# seeded random: the same numbers
t.rand(3)
t.rand(2, 3)
t.rand((2, 3))
t.rand(5, dtype=t.float64)
t.rand(40)
t.rand(3, requires_grad=True)
t.rand(())
t.rand(0)
t.randn(3)
t.randn(15)
t.randn(16)
t.randn(17)
t.randn(2, 3)
t.randn(5, 7)
t.randn(64)
t.randn(3, dtype=t.float64)
t.randn(20, dtype=t.float64)
t.randn(2, requires_grad=True)
t.randn((3, 3), requires_grad=True)
t.randint(10, (5,))
t.randint(0, 10, (3, 4))
t.randint(3, 5, (2, 2))
t.randint(0, 2, (4,), dtype=t.float32)
t.randint(5, size=(3,))
t.randint(low=0, high=4, size=(6,))
t.randint(0, 2**40, (3,))
t.randint(5, 5, (2,))             # raises
t.randperm(10)
t.randperm(1)
t.randperm(0)
t.randperm(100)
t.randperm(5, dtype=t.int32)
t.randperm(-1)                    # raises
t.rand_like(x)                    # f
t.randn_like(x)                   # f
t.randn_like(h4)                  # f
t.randint_like(x, 5)              # f
t.normal(0.0, 1.0, (3,))
t.normal(x, 1.0)                  # f nograd
t.normal(t.zeros(3), t.ones(3))
t.normal(mean=t.zeros(20), std=2.0)
t.bernoulli(prob)                 # f nograd
t.bernoulli(t.full((20,), 0.3))
t.multinomial(t.tensor([0.1, 0.2, 0.7]), 1)
t.multinomial(t.tensor([0.1, 0.2, 0.7]), 5, replacement=True)
t.multinomial(t.tensor([0.1, 0.2, 0.7]), 2)
t.multinomial(prob, 2)            # f nograd
t.multinomial(prob, num_samples=3, replacement=True)   # f nograd
F.softmax(x, 1).multinomial(1)    # f nograd
t.multinomial(t.tensor([-1.0]), 1)     # raises
t.multinomial(t.tensor([0.5, 0.5]), 3) # raises
t.zeros(3).uniform_()
t.zeros(20).uniform_(-1, 1)
t.zeros(3).normal_()
t.zeros(20).normal_(2, 0.5)
t.zeros(3, 4).normal_(mean=0, std=0.02)
t.zeros(5).bernoulli_(0.5)
t.zeros(5).exponential_()
t.zeros(5, dtype=t.long).random_(10)
t.empty(3, 4).uniform_(-0.1, 0.1)
t.manual_seed(3) is not None
(t.manual_seed(3), t.rand(2))[1]
(t.manual_seed(0), t.rand(3))[1]
(t.manual_seed(0), t.rand(2), t.randn(2), t.randint(9, (2,)), t.randn(20))[1:]
(t.rand(3), t.manual_seed(1), t.rand(3))[2]
a = t.get_rng_state(); o = t.rand(2); t.set_rng_state(a); (o == t.rand(2)).all()
t.initial_seed()
t.rand(2, generator=t.Generator().manual_seed(5))
t.randn(-1)                       # raises
t.rand('a')                       # raises
t.randn(2, dtype=t.int64)         # raises
t.zeros(2, dtype=t.int64).normal_()    # raises
t.zeros(2).uniform_(1, 0)         # raises
t.zeros(2).normal_(0, -1)         # raises
F.dropout(x)                      # f
F.dropout(x, 0.5)                 # f
F.dropout(x, p=0.2, training=True)     # f
F.dropout(x, 0.5, training=False) is x # f
F.dropout(x, 1.0)                 # f
F.dropout(x, 0.0)                 # f
F.dropout(x, 1.5)                 # raises
""")


@pytest.mark.usefixtures("no_accelerator")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)


@pytest.mark.parametrize("case", second_order(CASES), ids=str)
def test_second_order(case):
    check_second_order(case)


def _storage_stays(library):
    """What `from_numpy` and `numpy()` promise: one memory, seen from both sides."""
    array = np.arange(4.0)
    tensor = library.from_numpy(array)
    array[0] = 9
    tensor[1] = 8
    back = tensor.numpy()
    back[2] = 7
    copied = library.tensor(array)
    array[3] = 6
    return tensor.tolist(), array.tolist(), copied.tolist()


def test_numpy_memory_is_shared():
    assert _storage_stays(subject) == _storage_stays(oracle)
