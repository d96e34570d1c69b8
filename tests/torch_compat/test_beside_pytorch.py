"""Both libraries in one process: tensors of PyTorch in this library's functions, and the other way
round. They are taken on the same memory, or refused in a sentence that names PyTorch; see
native/core/pytorch.h."""

import operator

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
NAMES = "PyTorch"


def both():
    return torch.tensor([4.0, 2.0]), rl.tensor([3.0, 5.0])


OPERATORS = [
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"),
    *("eq", "ne", "lt", "le", "gt", "ge"),
]


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name):
    f, (theirs, ours) = getattr(operator, name), both()
    for a, b in ((theirs, ours), (ours, theirs)):
        found = f(a, b)
        assert isinstance(found, rl.Tensor)
        assert found.tolist() == f(rl.tensor(a), rl.tensor(b)).tolist()


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv"])
def test_in_place(name):
    f, (theirs, ours) = getattr(operator, name), both()
    for a, b in ((theirs.clone(), ours), (ours.clone(), theirs)):
        want = f(rl.tensor(a), rl.tensor(b)).tolist()
        assert f(a, b) is a
        assert a.tolist() == want


@pytest.mark.parametrize("name", ["and_", "or_", "xor"])
def test_bitwise(name):
    f = getattr(operator, name)
    theirs, ours = torch.tensor([True, False]), rl.tensor([True, True])
    for a, b in ((theirs, ours), (ours, theirs)):
        assert f(a, b).tolist() == f(rl.tensor(a), rl.tensor(b)).tolist()


def test_the_gradient_is_this_librarys():
    theirs, _ = both()
    weight = rl.ones(2, requires_grad=True)
    (theirs - weight * theirs).sum().backward()
    assert weight.grad.tolist() == [-4.0, -2.0]


def test_memory_is_shared():
    theirs, ours = both()
    assert rl.detach(theirs).data_ptr() == theirs.data_ptr()
    rl.relu_(theirs.neg_())
    assert theirs.tolist() == [0, 0]
    rl.add(ours, ours, out=theirs)
    assert theirs.tolist() == [6, 10]


CALLS = {
    "layer": lambda t: rl.nn.Linear(2, 3)(t).shape == (3,),
    "sin": lambda t: rl.sin(t).tolist() == rl.sin(rl.tensor(t)).tolist(),
    "cat": lambda t: rl.cat([t, rl.ones(1)]).tolist() == [4, 2, 1],
    "stack": lambda t: rl.stack((t, t)).shape == (2, 2),
    "mse_loss": lambda t: rl.nn.functional.mse_loss(rl.zeros(2), t).item() == 10,
    "index": lambda t: rl.arange(6)[t.long()].tolist() == [4, 2],
    "index in a tuple": lambda t: rl.arange(6)[(t.long(),)].tolist() == [4, 2],
    "assignment": lambda t: _assigned(t) == [4, 2],
    "copy_": lambda t: rl.zeros(2).copy_(t).tolist() == [4, 2],
    "keyword": lambda t: rl.add(input=t, other=t).tolist() == [8, 4],
    "method": lambda t: rl.ones(2).add(t).tolist() == [5, 3],
    "where": lambda t: rl.where(t > 3, t, rl.zeros(2)).tolist() == [4, 0],
    "einsum": lambda t: rl.einsum("i,i", t, rl.ones(2)).item() == 6,
    "equal": lambda t: rl.equal(t, rl.tensor([4.0, 2.0])),
    "tensor": lambda t: rl.tensor(t).tolist() == [4, 2],
    "from_dlpack": lambda t: rl.from_dlpack(t).tolist() == [4, 2],
    "a Parameter without grad": lambda t: _added(torch.nn.Parameter(t), grad=False) == [5, 3],
    "conjugate": lambda t: (rl.zeros(2) + (t * 1j).conj()).tolist() == [-4j, -2j],
    "in": lambda t: t in rl.tensor([4.0, 3.0]) and t not in rl.ones(2),
    "NumPy": lambda t: np.add(t, rl.ones(2)).tolist() == [5, 3],
}


def _assigned(t):
    x = rl.zeros(2)
    x[:] = t
    return x.tolist()


def _added(t, grad):
    with rl.set_grad_enabled(grad):
        return (t + rl.ones(2)).tolist()


@pytest.mark.parametrize("name", CALLS)
def test_taken(name):
    assert CALLS[name](both()[0])


REFUSED = {
    "requires grad": lambda t: rl.ones(2) * t.requires_grad_(),
    "requires grad, on the left": lambda t: t.requires_grad_() * rl.ones(2),
    "meta": lambda t: rl.ones(2) + t.to("meta"),
    "sparse": lambda t: rl.ones(2) + t.to_sparse(),
    "function of PyTorch": lambda t: torch.sin(rl.ones(2)),
    "method of PyTorch": lambda t: t.add(rl.ones(2)),
    "compiled function of PyTorch": lambda t: torch.nn.functional.gelu(rl.ones(2)),
    "module of PyTorch": lambda t: torch.nn.Linear(2, 2)(rl.ones(2)),
    "parameter in PyTorch": lambda t: torch.sin(rl.nn.Parameter(rl.ones(2))),
    "index of PyTorch": lambda t: t[rl.tensor([0])],
    "optimizer": lambda t: rl.optim.SGD([t], 0.1),
    "load_state_dict": lambda t: rl.nn.Linear(2, 2).load_state_dict(
        torch.nn.Linear(2, 2).state_dict()
    ),
    "parameter": lambda t: setattr(rl.nn.Linear(2, 2), "weight", torch.nn.Parameter(t)),
    "buffer": lambda t: rl.nn.Module().register_buffer("b", t),
    "DataLoader": lambda t: list(rl.utils.data.DataLoader([t, t], batch_size=2)),
    "assert_close": lambda t: rl.testing.assert_close(t, t),
    "vmap": lambda t: rl.func.vmap(lambda x: x)(t),
    "LSTM": lambda t: rl.nn.LSTM(2, 2)(t[None]),
    "log_prob": lambda t: rl.distributions.Normal(0.0, 1.0).log_prob(t),
    "pad_sequence": lambda t: rl.nn.utils.rnn.pad_sequence([t, t]),
    "grad": lambda t: setattr(rl.ones(2, requires_grad=True), "grad", t),
    "data": lambda t: setattr(rl.ones(2), "data", t),
    "dtype": lambda t: rl.ones(2, dtype=torch.float32),
    "device": lambda t: rl.ones(2, device=torch.device("cpu")),
    "to": lambda t: rl.ones(2).to(torch.float64),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name):
    with pytest.raises((TypeError, ValueError, RuntimeError), match=NAMES) as caught:
        REFUSED[name](both()[0])
    assert not isinstance(caught.value, RecursionError)
