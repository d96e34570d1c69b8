"""Bad input: PyTorch's exception type and first sentence, nothing changed, nothing crashes.

The expectations are written out here, so PyTorch is not needed. Probes that could take the
interpreter down (memory that runs out, hostile objects, torn graphs) run in a process of their own.
"""

import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from _alone import PATIENCE
from _subject import NAME, torch


def starts(text: str) -> str:
    """A pattern for a message that begins with `text`."""
    return "^" + re.escape(text)


def x():
    return torch.arange(12.0).reshape(3, 4)


REFUSED = [
    # shapes
    (lambda: x() + torch.ones(3), RuntimeError,
     "The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1"),
    (lambda: x() @ x(), RuntimeError, "mat1 and mat2 shapes cannot be multiplied (3x4 and 3x4)"),
    (lambda: torch.mm(x(), torch.ones(4)), RuntimeError, "mat2 must be a matrix"),
    (lambda: torch.bmm(x(), x()), RuntimeError, "batch1 must be a 3D tensor"),
    (lambda: torch.dot(torch.ones(3), torch.ones(4)), RuntimeError,
     "inconsistent tensor size, expected tensor [3] and src [4] to have the same number of"),
    (lambda: x().view(5), RuntimeError, "shape '[5]' is invalid for input of size 12"),
    (lambda: x().reshape(-1, 5), RuntimeError, "shape '[-1, 5]' is invalid for input of size 12"),
    (lambda: x().view(-1, -1), RuntimeError, "only one dimension can be inferred"),
    (lambda: x().view(-2, 6), RuntimeError, "invalid shape dimension -2"),
    (lambda: x().t().view(12), RuntimeError,
     "view size is not compatible with input tensor's size and stride (at least one dimension "
     "spans across two contiguous subspaces). Use .reshape(...) instead."),
    (lambda: torch.cat([x(), torch.ones(3, 3)]), RuntimeError,
     "Sizes of tensors must match except in dimension 0. Expected size 4 but got size 3 for tensor "
     "number 1 in the list."),
    (lambda: torch.cat([]), (RuntimeError, ValueError),
     "torch.cat(): expected a non-empty list of Tensors"),
    (lambda: torch.stack([x(), torch.ones(2)]), RuntimeError,
     "stack expects each tensor to be equal size, but got [3, 4] at entry 0 and [2] at entry 1"),
    (lambda: torch.zeros(2, -1), RuntimeError,
     "zeros: Dimension size must be non-negative."),
    (lambda: x().expand(3, 5), RuntimeError,
     "The expanded size of the tensor (5) must match the existing size (4) at non-singleton "
     "dimension 1."),
    (lambda: x().split(-1), RuntimeError, "split expects split_size be non-negative"),
    (lambda: x().chunk(0), RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0"),
    (lambda: x().permute(0, 0), RuntimeError, "permute(): duplicate dims are not allowed."),
    (lambda: x().repeat(2), RuntimeError,
     "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"),
    # places
    (lambda: x()[3], IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
    (lambda: x()[-4], IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
    (lambda: x()[0, 4], IndexError, "index 4 is out of bounds for dimension 1 with size 4"),
    (lambda: x()[0, 0, 0], IndexError, "too many indices for tensor of dimension 2"),
    (lambda: x()[torch.tensor([3])], IndexError,
     "index 3 is out of bounds for dimension 0 with size 3"),
    (lambda: x()[torch.ones(4).bool()], IndexError,
     "The shape of the mask [4] at index 0 does not match the shape of the indexed tensor [3, 4] "
     "at index 0"),
    (lambda: x()[torch.ones(1)], IndexError,
     "tensors used as indices must be long, int, byte or bool tensors"),
    (lambda: x()[::-1], ValueError, "step must be greater than zero"),
    (lambda: x().sum(2), IndexError,
     "Dimension out of range (expected to be in range of [-2, 1], but got 2)"),
    (lambda: x().transpose(0, -3), IndexError,
     "Dimension out of range (expected to be in range of [-2, 1], but got -3)"),
    (lambda: torch.gather(x(), 1, torch.tensor([[9]])), (RuntimeError, IndexError),
     "index 9 is out of bounds for dimension 1 with size 4"),
    (lambda: x().index_select(0, torch.tensor([7])), (IndexError, RuntimeError),
     "index out of range in self"),
    (lambda: x().topk(5), RuntimeError, "selected index k out of range"),
    (lambda: iter(torch.tensor(1.0)), TypeError, "iteration over a 0-d tensor"),
    (lambda: len(torch.tensor(1.0)), TypeError, "len() of a 0-d tensor"),
    (lambda: torch.tensor(1.0)[0], IndexError, "invalid index of a 0-dim tensor."),
    # types
    (lambda: x() + "a", TypeError, "unsupported operand type(s) for +: 'Tensor' and 'str'"),
    (lambda: x() < None, TypeError,
     "'<' not supported between instances of 'Tensor' and 'NoneType'"),
    (lambda: torch.exp("a"), TypeError,
     "exp(): argument 'input' (position 1) must be Tensor, not str"),
    (lambda: torch.exp(), TypeError, 'exp() missing 1 required positional arguments: "input"'),
    (lambda: torch.tensor("a"), TypeError, "new(): invalid data type 'str'"),
    (lambda: torch.tensor([[1, 2], [3]]), ValueError,
     "expected sequence of length 2 at dim 1 (got 1)"),
    (lambda: torch.tensor({}), RuntimeError, "Could not infer dtype of dict"),
    (lambda: torch.tensor(object()), RuntimeError, "Could not infer dtype of object"),
    (lambda: torch.tensor(2**70), ValueError, "Overflow when unpacking long"),
    (lambda: torch.from_numpy([1]), TypeError, "expected np.ndarray (got list)"),
    (lambda: torch.from_numpy(np.array(["a"])), TypeError,
     "can't convert np.ndarray of type numpy.str_."),
    (lambda: torch.from_numpy(np.arange(3)[::-1]), ValueError,
     "At least one stride in the given numpy array is negative, and tensors with negative strides "
     "are not currently supported."),
    (lambda: torch.zeros("a"), TypeError, "zeros(): argument 'size' "),
    (lambda: torch.zeros(2.5), TypeError, "zeros(): argument 'size' "),
    (lambda: torch.cat(3), TypeError, "cat(): argument 'tensors' (position 1) must be tuple of"),
    (lambda: torch.device("nowhere"), RuntimeError, "Expected one of cpu, "),
    # values
    (lambda: bool(x()), RuntimeError,
     "Boolean value of Tensor with more than one value is ambiguous"),
    (lambda: x().item(), RuntimeError, "a Tensor with 12 elements cannot be converted to Scalar"),
    (lambda: float(x()), ValueError, "only one element tensors can be converted to Python scalars"),
    (lambda: torch.zeros(0).max(), RuntimeError,
     "max(): Expected reduction dim to be specified for input.numel() == 0."),
    (lambda: torch.zeros(0).argmax(), IndexError,
     "argmax(): Expected reduction dim to be specified for input.numel() == 0."),
    (lambda: torch.arange(3).mean(), RuntimeError,
     "mean(): could not infer output dtype. Input dtype must be either a floating point or"),
    (lambda: torch.arange(3) // 0, RuntimeError, "ZeroDivisionError"),
    (lambda: torch.arange(0, 5, 0), RuntimeError, "step must be nonzero"),
    (lambda: torch.arange(5, 0), RuntimeError,
     "upper bound and lower bound inconsistent with step sign"),
    (lambda: torch.arange(3) ** -1, RuntimeError,
     "Integers to negative integer powers are not allowed."),
    (lambda: torch.randperm(-1), RuntimeError,
     "Trying to create tensor with negative dimension -1: [-1]"),
    (lambda: torch.multinomial(torch.tensor([0.5, 0.5]), 3), RuntimeError,
     "cannot sample n_sample > prob_dist.size(-1) samples without replacement"),
    # dtypes
    (lambda: x() @ x().t().double(), RuntimeError,
     "expected m1 and m2 to have the same dtype, but got: float != double"),
    (lambda: torch.ones(2).bool() - torch.ones(2).bool(), RuntimeError,
     "Subtraction, the `-` operator, with two bool tensors is not supported."),
    (lambda: torch.where(x(), x(), x()), RuntimeError,
     "where expected condition to be a boolean tensor, but got a tensor with dtype Float"),
    (lambda: torch.zeros(2, dtype=torch.int64, requires_grad=True), RuntimeError,
     "Only Tensors of floating point and complex dtype can require gradients"),
    (lambda: torch.arange(2).requires_grad_(), RuntimeError,
     "only Tensors of floating point dtype can require gradients"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusal(number):
    call, error, text = REFUSED[number]
    with pytest.raises(error, match=starts(text)):
        call()


WRITES = [
    (lambda t: t.add_(torch.ones(3)), RuntimeError, "The size of tensor a (4) must match the size"),
    (lambda t: t[0].add_(x()), RuntimeError,
     "output with shape [4] doesn't match the broadcast shape"),
    (lambda t: t.copy_(torch.ones(4, 3)), RuntimeError, "The size of tensor a (4) must match"),
    (lambda t: t.__setitem__(0, torch.ones(3)), RuntimeError,
     "expand(torch.FloatTensor{[3]}, size=[4]): |The expanded size of the tensor (4) must match"),
    (lambda t: t.__setitem__(9, 1.0), IndexError, "index 9 is out of bounds for dimension 0"),
    (lambda t: t.__setitem__((0, 9), 1.0), IndexError, "index 9 is out of bounds for dimension 1"),
    (lambda t: t.__setitem__(torch.tensor([0, 9]), 1.0), IndexError, "index 9 is out of bounds"),
    (lambda t: t.__setitem__(torch.ones(2).bool(), 1.0), IndexError, "The shape of the mask [2]"),
    (lambda t: t.__setitem__(0, "a"), TypeError, "can't assign a str to a torch.FloatTensor"),
    (lambda t: t.mul_("a"), TypeError, "mul_(): argument 'other' (position 1) must be Tensor, not"),
    (lambda t: t.add_(1j), RuntimeError, "result type ComplexFloat can't be cast to the desired"),
    (lambda t: t.index_add_(0, torch.tensor([0, 9]), torch.ones(2, 4)), (IndexError, RuntimeError),
     "index 9 is out of bounds for dimension 0 with size 3"),
    (lambda t: t.index_fill_(0, torch.tensor([9]), 1.0), IndexError, "index 9 is out of bounds"),
    (lambda t: t.scatter_(1, torch.tensor([[0, 9]]), 1.0), (IndexError, RuntimeError),
     "index 9 is out of bounds for dimension 1 with size 4"),
    (lambda t: t.masked_fill_(torch.ones(2).bool(), 0.0), RuntimeError, "The size of tensor a (4)"),
    (lambda t: t.fill_(torch.ones(2)), RuntimeError,
     "fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions."),
    (lambda t: t.normal_(0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    (lambda t: t.uniform_(1, 0), RuntimeError, "uniform_ expects to return a [from, to) range"),
    (lambda t: torch.add(t, 1, out=torch.zeros(1, dtype=torch.int64)), RuntimeError,
     "result type Float can't be cast to the desired output type Long"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRITES)))
def test_refused_write_leaves_the_tensor_alone(number):
    write, error, text = WRITES[number]
    tensor = x()
    version = tensor._version
    pattern = "|".join(starts(part) for part in text.split("|"))
    with pytest.raises(error, match=pattern):
        write(tensor)
    if NAME != "torch":  # PyTorch writes the elements before the bad one, and counts the write.
        assert tensor.tolist() == x().tolist() and tensor.shape == (3, 4)
        assert tensor._version == version


def test_a_failed_backward_changes_no_gradient():
    a = torch.ones(3, requires_grad=True)
    (a * 2).sum().backward()
    before = a.grad.tolist()
    for bad in (
        lambda: (a * 2).backward(),
        lambda: (a * 2).backward(torch.ones(4)),
        lambda: torch.autograd.grad(a.sum(), torch.ones(1)),
        lambda: torch.ones(1).backward(),
    ):
        with pytest.raises(RuntimeError):
            bad()
        assert a.grad.tolist() == before


# Probes in a process of their own


def survives(program: str) -> str:
    """Run a program that must end by itself with status 0; what it printed."""
    source = f"import {NAME} as torch, numpy as np, sys\n" + textwrap.dedent(program)
    try:
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", source],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=os.environ,
        )
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode() + (late.stderr or b"").decode()
        pytest.fail(f"did not end in {PATIENCE} s; the last it said:\n{said[-500:]}", pytrace=False)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr[-3000:]}"
    return done.stdout


ATTEMPT = """
def attempt(*calls):
    for call in calls:
        try:
            call()
        except Exception as error:
            assert type(error) is not SystemError, repr(error)
            print(type(error).__name__)
        else:
            print("accepted")
"""


def test_huge_shapes():
    out = survives(
        ATTEMPT
        + """
big = 2**62
attempt(
    lambda: torch.zeros(big), lambda: torch.zeros(big, big),
    lambda: torch.empty(2**31, 2**31, 2**31),
    lambda: torch.ones(2**50), lambda: torch.full((2**48,), 1.0), lambda: torch.rand(2**48),
    lambda: torch.arange(2**60), lambda: torch.eye(2**40),
    lambda: torch.ones(2).repeat(2**50, 2**20),
    lambda: torch.ones(2).expand(2**62, 2).contiguous(), lambda: torch.linspace(0, 1, 2**55),
    lambda: torch.ones(2).expand(2**50, 2) + 1, lambda: torch.ones(1).view(2**63),
    lambda: torch.zeros(10**30), lambda: torch.ones(3)[10**30], lambda: torch.zeros(2, 2**63),
)
x = torch.ones(2).expand(2**40, 2)
attempt(lambda: x * 2, lambda: x.clone(), lambda: torch.cat([x, x]), lambda: x @ torch.ones(2, 2),
        lambda: x.reshape(-1), lambda: torch.ones(2**24, 1) @ torch.ones(1, 2**24))
"""
    )
    assert "accepted" not in out
    assert set(out.split()) <= {"RuntimeError", "MemoryError", "OverflowError", "TypeError",
                                "IndexError", "ValueError"}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="reads what is mapped from /proc")
def test_memory_that_runs_out():
    # 2 GiB beyond what the started process has mapped: a sanitizer alone maps terabytes of shadow.
    out = survives(
        ATTEMPT
        + """
import resource
x = torch.ones(1024, 1024, requires_grad=True)
(x * 2).sum().backward()
x.grad = None
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + (2 << 30), mapped + (2 << 30)))
def fill():
    kept = []
    while True:
        kept.append((x * 2).exp())
attempt(fill)
y = (x * 2).sum()
y.backward()
print(x.grad[0, 0].item())
"""
    )
    lines = out.split()
    assert lines[0] in ("MemoryError", "RuntimeError") and lines[-1] == "2.0"


def test_negative_and_odd_sizes():
    out = survives(
        ATTEMPT
        + """
x = torch.ones(3, 4)
for bad in (-1, -2**63, 2**63 - 1, 2.5, "a", None, [], [[1]], (1, None), float("nan"), 1j, {}, b"x",
            object(), True, np.float64(2), np.array([1.5])):
    attempt(lambda: torch.zeros(bad), lambda: x.view(bad), lambda: x.expand(bad),
            lambda: x.sum(bad),
            lambda: x.repeat(bad), lambda: x.unsqueeze(bad), lambda: x.transpose(bad, 0),
            lambda: x.split(bad), lambda: x.topk(bad), lambda: x.narrow(0, bad, 2), lambda: x[bad],
            lambda: x.roll(bad), lambda: x.chunk(bad), lambda: torch.arange(bad),
            lambda: torch.eye(bad), lambda: x.permute(bad), lambda: x.flip(bad),
            lambda: x.softmax(bad),
            lambda: x.as_strided(bad, (1,)), lambda: x.select(0, bad))
print("alive")
"""
    )
    assert out.split()[-1] == "alive"


def test_strides_outside_the_memory():
    out = survives(
        ATTEMPT
        + """
x = torch.ones(4)
attempt(lambda: x.as_strided((100,), (1,)), lambda: x.as_strided((2,), (10,)),
        lambda: x.as_strided((2,), (1,), 5), lambda: x.as_strided((2,), (-1,)),
        lambda: x.as_strided((2**62,), (2**62,)), lambda: x.as_strided((2, 2), (1,)))
"""
    )
    assert "accepted" not in out


@pytest.mark.xfail(NAME == "torch", reason="PyTorch crashes on a list that lies about its length")
def test_hostile_objects():
    out = survives(
        ATTEMPT
        + """
class Raises:
    def __array__(self, *a, **k): raise KeyError("mine")
class Lies:
    def __array__(self, *a, **k): return "not an array"
class Loops:
    def __array__(self, *a, **k): return np.asarray(self)
class Objects:
    def __array__(self, *a, **k): return np.array([object()])
class Interface:
    __array_interface__ = {"shape": (10**9,), "typestr": "<f4", "data": (8, False), "version": 3}
class BadInterface:
    __array_interface__ = {"shape": "x"}
class Sequence:
    def __len__(self): return 5
    def __getitem__(self, i): raise IndexError if i else OSError("mine")
class Grows(list):
    def __len__(self): return 10**6
class Negative:
    def __len__(self): return -1
    def __getitem__(self, i): return 1.0
class Index:
    def __index__(self): raise ZeroDivisionError
class Float:
    def __float__(self): raise ZeroDivisionError
class Operand:
    def __radd__(self, other): raise LookupError
    def __rmul__(self, other): return "taken"
class Attributes:
    def __getattribute__(self, name): raise OSError(name)
x = torch.ones(3)
for kind in (Raises, Lies, Loops, Objects, BadInterface, Sequence, Grows, Negative, Index, Float,
             Operand, Attributes):
    thing = kind()
    attempt(lambda: torch.tensor(thing), lambda: torch.tensor([thing]),
            lambda: torch.as_tensor(thing), lambda: torch.Tensor(thing), lambda: x + thing,
            lambda: x * thing, lambda: x[thing],
            lambda: x.__setitem__(0, thing), lambda: x.__setitem__(thing, 1),
            lambda: torch.zeros(thing), lambda: torch.cat(thing),
            lambda: torch.cat([x, thing]), lambda: x.add_(thing),
            lambda: x.fill_(thing), lambda: torch.exp(thing), lambda: x.sum(thing),
            lambda: x == thing, lambda: x.backward(thing), lambda: x.view(thing),
            lambda: torch.stack([thing, thing]),
            lambda: setattr(x, "data", thing), lambda: setattr(x, "grad", thing),
            lambda: torch.where(x > 0, x, thing), lambda: x.to(thing), lambda: x.clamp(thing))
assert x.shape == (3,)
print("alive")
"""
    )
    assert out.split()[-1] == "alive"


def test_nested_and_self_containing_lists():
    out = survives(
        ATTEMPT
        + """
deep = 1.0
for _ in range(5000):
    deep = [deep]
loop = []
loop.append(loop)
attempt(lambda: torch.tensor(deep), lambda: torch.tensor(loop),
        lambda: torch.tensor([[1.0]] * 3 + [[]]), lambda: torch.tensor([[[1]], [[2, 3]]]),
        lambda: torch.ones(*[1] * 100),
        lambda: torch.ones(3)[deep], lambda: torch.ones(3)[loop])
print("alive")
"""
    )
    assert out.split()[-1] == "alive"


def test_every_function_with_nonsense():
    """All public functions and methods, called with arguments that make no sense."""
    out = survives(
        """
x = torch.ones(2, 3)
skip = ("set_num", "save", "load", "compile", "_", "cuda", "seed", "fork", "share_memory", "manual",
        "wait", "sleep", "profiler", "package", "use_deterministic", "set_", "mps",
        "xpu", "hub", "exit", "import_ir", "init", "autocast", "futures", "jit", "to_dlpack",
        "from_file", "vitals")
nonsense = [(), (None,), ("a",), (x, None), (x, "a"), (x, x, x, x, x, x), (-1,), (x, -7),
            (x, 1e300), (x, [None]), ([],), ([x, None],), (x, {}), (object(),), (2**70,),
            (x, 2**70), (x[:0],),
            (x.long(), x), (x, x.t()), (float("nan"),)]
count = 0
for owner in (torch, x):
    for name in sorted(dir(owner)):
        if any(name.startswith(s) or s in name and s != "_" for s in skip):
            continue
        try:
            thing = getattr(owner, name)
        except Exception:
            continue
        if not callable(thing) or isinstance(thing, type) and owner is torch:
            continue
        for args in nonsense:
            print(name, args if len(repr(args)) < 60 else "...", file=sys.stderr, flush=True)
            try:
                thing(*args)
            except (SystemError, RecursionError) as error:
                print("BAD", name, args, repr(error))
            except Exception:
                pass
            count += 1
        sys.stderr.seek(0) if sys.stderr.seekable() else None
print("alive", count)
"""
    )
    assert "BAD" not in out and out.split()[-2] == "alive"


def test_freed_and_foreign_parts():
    out = survives(
        ATTEMPT
        + """
x = torch.ones(3, requires_grad=True)
y = (x * x).exp()
node = y.grad_fn
y.sum().backward()
attempt(lambda: node._saved_result, lambda: node(torch.ones(3)), lambda: node(), lambda: node("a"),
        lambda: node(torch.ones(7)), lambda: type(node)(), lambda: node.next_functions[0][0]("a"),
        lambda: setattr(node, "next_functions", None))
array = np.ones(3)
t = torch.from_numpy(array)
del array
t.add_(1)
try:
    a = np.arange(6.0)
    b = torch.from_numpy(a)
    a.resize(100000)
    b.sum()
except ValueError:
    print("ValueError")
r = np.arange(3.0)
r.flags.writeable = False
attempt(lambda: torch.from_numpy(r).sum())
class Sub(torch.Tensor):
    pass
attempt(lambda: Sub(), lambda: torch.Tensor.__new__(Sub), lambda: object.__new__(torch.Tensor),
        lambda: torch.Tensor.__init__(3), lambda: torch.Tensor.add(3, 4),
        lambda: torch.Tensor.shape.__get__(3))
print("alive")
"""
    )
    assert out.split()[-1] == "alive"


def test_changing_things_while_backward_runs():
    out = survives(
        ATTEMPT
        + """
x = torch.ones(3, requires_grad=True)
def clear(g):
    global y
    y = None
y = x.exp()
y.register_hook(clear)
(y * 2).sum().backward()
z = x * 2
handles = []
def remove(g):
    for h in handles: h.remove()
handles += [z.register_hook(remove) for _ in range(5)]
z.sum().backward()
w = x * 3
def again(g):
    w.register_hook(lambda g: None)
w.register_hook(again)
w.sum().backward()
v = x * x
def twice(g):
    with torch.enable_grad():
        v.sum().backward(retain_graph=True)
count = [0]
def bounded(g):
    count[0] += 1
    if count[0] < 20: twice(g)
v.register_hook(bounded)
v.sum().backward(retain_graph=True)
def swap(g):
    x.grad = None
    x.data = torch.ones(7)
u = x * 4
u.register_hook(swap)
attempt(lambda: u.sum().backward())
print("alive")
"""
    )
    assert out.split()[-1] == "alive"


def test_interpreter_exit_with_a_live_graph():
    out = survives(
        """
import threading
x = torch.ones(3, requires_grad=True)
y = x
for _ in range(100_000):
    y = y * 1.0
x.keep = y
class AtExit:
    def __del__(self):
        try: (x * 2).sum().backward()
        except Exception: pass
keep = AtExit()
threading.Thread(target=lambda: (x * 2).sum().backward()).start()
print("alive")
"""
    )
    assert out.split()[-1] == "alive"


def test_interrupt_during_a_long_loop():
    out = survives(
        """
import signal, os, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
x = torch.ones(100, requires_grad=True)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        (x * 2).exp().sum().backward()
except KeyboardInterrupt:
    print("interrupted")
x.grad = None
(x * 2).sum().backward()
print(x.grad[0].item())
"""
    )
    assert out.split() == ["interrupted", "2.0"]


def test_fork_after_use():
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    out = survives(
        """
import os
x = torch.ones(300, 300, requires_grad=True)
(x @ x).sum().backward()
pid = os.fork()
if pid == 0:
    x.grad = None
    (x * x).sum().backward()
    os._exit(0 if x.grad[0, 0].item() == 2.0 else 1)
print(os.waitpid(pid, 0)[1])
"""
    )
    assert out.split() == ["0"]


def test_a_tensor_where_a_program_reads_a_number():
    # Its memory was read as if it had the shape of the other argument.
    x = torch.ones(2, 3)
    with pytest.raises(
        TypeError, match=r"^celu\(\): argument 'alpha' \(position 2\) must be Number"
    ):
        torch.nn.functional.celu(x, torch.ones(3, 2))
    with pytest.raises(TypeError):
        torch.nn.functional.celu(x, torch.ones(1, 1, 1, 1))


@pytest.mark.skipif(NAME != "rushlight", reason="PyTorch's tensors may have more dimensions")
@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.ones([1] * 65),
        lambda: torch.rand([1] * 65),
        lambda: torch.ones(1).repeat([1] * 65),
        lambda: torch.ones(1).view([1] * 65),
        lambda: torch.ones([1] * 64)[None],
        lambda: torch.stack([torch.ones([1] * 64)]),
        lambda: torch.tensor(eval("[" * 65 + "1.0" + "]" * 65)),
        lambda: torch.tensordot(torch.ones([1] * 40), torch.ones([1] * 40), 0),
    ],
)
def test_more_dimensions_than_arrays_have(call):
    with pytest.raises(RuntimeError, match="a tensor has at most 64 dimensions"):
        call()
