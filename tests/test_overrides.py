"""`__torch_function__`, TorchFunctionMode and torch.overrides, in plain torch API."""

import copy
import pickle
import re
import threading
import warnings
from typing import ClassVar

import pytest

from _alone import PATIENCE, run_alone
from _subject import NAME, submodule, torch

F = submodule("nn.functional")
overrides = submodule("overrides")
TorchFunctionMode = overrides.TorchFunctionMode
ours = pytest.mark.skipif(NAME == "torch", reason="a promise of rushlight alone")

Tensor = torch.Tensor


class Plain(Tensor):
    """Leaves everything to the default."""


class Logged(Tensor):
    """Notes what was called."""

    calls: ClassVar[list] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.fixture(autouse=True)
def _no_calls_yet():
    Logged.calls = []


class Duck:
    """No tensor, and takes every call."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return ("duck", func)


class Refusing:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Noting(TorchFunctionMode):
    """A mode that notes the names of what is called."""

    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(overrides.resolve_name(func))
        return func(*args, **(kwargs or {}))


def failed_for(name):
    return "^" + re.escape(f"Multiple dispatch failed for '{name}'; all __torch_function__ ")


def of(cls, *values, grad=False):
    made = torch.tensor(values).as_subclass(cls)
    return made.requires_grad_() if grad else made


# ---- what is taken over


X, Y = "x", "y"
CALLS = {
    "x + y": "add",
    "y + x": "add",
    "2 + x": "add",
    "x - y": "sub",
    "2 - x": "__rsub__",
    "x * y": "mul",
    "x / y": "div",
    "2 / x": "__rtruediv__",
    "x // y": "__floordiv__",
    "2 // x": "__rfloordiv__",
    "x % y": "remainder",
    "2 % x": "__rmod__",
    "x ** y": "__pow__",
    "2 ** x": "__rpow__",
    "x @ y": "matmul",
    "y @ x": "matmul",
    "x < y": "lt",
    "y < x": "gt",
    "x <= y": "le",
    "x == y": "__eq__",
    "y == x": "__eq__",
    "x != y": "ne",
    "x > 1": "gt",
    "x >= 1": "ge",
    "i & 1": "__and__",
    "1 & i": "bitwise_and",
    "i | 1": "__or__",
    "i ^ 1": "__xor__",
    "i << 1": "__lshift__",
    "1 << i": "__rlshift__",
    "i >> 1": "__rshift__",
    "-x": "neg",
    "+x": "positive",
    "abs(x)": "abs",
    "~i": "__invert__",
    "x[0]": "__getitem__",
    "y[i]": "__getitem__",
    "y[None, i]": "__getitem__",
    "len(x)": "__len__",
    "bool(s)": "__bool__",
    "float(s)": "__float__",
    "int(s)": "__int__",
    "complex(s)": "__complex__",
    "[10, 20][k]": "__index__",
    "1.0 in x": "__contains__",
    "repr(x)": "__repr__",
    "f'{x}'": "__format__",
    "reversed(x)": "__reversed__",
    "x.sum()": "sum",
    "x.size()": "size",
    "x.size(0)": "size",
    "x.dim()": "dim",
    "x.detach()": "detach",
    "x.requires_grad_()": "requires_grad_",
    "x.numpy()": "numpy",
    "x.tolist()": "tolist",
    "s.item()": "item",
    "x.to(torch.float64)": "to",
    "x.add_(1)": "add_",
    "y.add_(x)": "add_",
    "x.clamp(min=x)": "clamp",
    "y.where(x > 0, y)": ("gt", "where"),
    "x.new_zeros(2)": "new_zeros",
    "x.type()": "type",
    "x.is_floating_point()": "is_floating_point",
    "x.register_hook": (),
    "list(x)": ("dim", "unbind", "__len__"),
    "hash(x)": (),
    "x.as_subclass(Tensor)": (),
    "isinstance(x, Tensor)": (),
    "torch.is_tensor(x)": (),
    "torch.tensor(x)": (),
    "torch.as_tensor(x)": (),
    "torch.arange(s)": (),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_a_subclass_is_told_of(call):
    wanted = CALLS[call]
    names = (wanted,) if isinstance(wanted, str) else wanted
    values = {
        "x": of(Logged, 1.0, 2.0, 3.0),
        "y": torch.tensor([2.0, 1.0, 1.0]),
        "i": of(Logged, 0, 1, 2),
        "s": torch.tensor(1.0).as_subclass(Logged),
        "k": torch.tensor(1).as_subclass(Logged),
        "torch": torch,
        "Tensor": Tensor,
    }
    eval(call, values)
    assert [f for f in Logged.calls] == [getattr(Tensor, name) for name in names]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("x += y", "add_"),
        ("y += x", "add_"),
        ("x -= 1", "sub_"),
        ("x *= 2", "mul_"),
        ("x /= 2", "div_"),
        ("x //= 2", "floor_divide_"),
        ("x %= 2", "remainder_"),
        ("x **= 2", "__ipow__"),
        ("i &= 1", "__iand__"),
        ("i |= 1", "__ior__"),
        ("i ^= 1", "__ixor__"),
        ("i <<= 1", "__ilshift__"),
        ("i >>= 1", "__irshift__"),
        ("x[0] = 1", "__setitem__"),
        ("y[0] = x[0]", "__setitem__"),
        ("y[i] = 1", "__setitem__"),
    ],
)
def test_statements(statement, name):
    values = {"x": of(Logged, 1.0, 2.0), "y": torch.ones(2), "i": of(Logged, 0, 1)}
    exec(statement, values)
    assert Logged.calls[-1] == getattr(Tensor, name)


ATTRIBUTES = (
    "shape dtype ndim device layout grad_fn grad requires_grad is_leaf data output_nr retains_grad "
    "_version _base grad_dtype T real itemsize nbytes is_cuda is_cpu is_sparse is_meta name"
).split()


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name):
    getattr(of(Logged, 1.0), name)
    assert Logged.calls == [getattr(Tensor, name).__get__]


def test_setting_and_deleting_an_attribute():
    x = of(Logged, 1.0)
    x.requires_grad = True
    x.grad = None
    x.data = torch.ones(1)
    del x.grad
    grad = Tensor.grad
    assert Logged.calls == [
        Tensor.requires_grad.__set__,
        grad.__set__,
        Tensor.data.__set__,
        grad.__delete__,
    ]
    Logged.calls.clear()
    x.mine = 1
    assert Logged.calls == []


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: (torch.add, torch.add(y, x)),
        lambda x, y: (torch.add, torch.add(y, other=x)),
        lambda x, y: (torch.cat, torch.cat([y, x])),
        lambda x, y: (torch.stack, torch.stack((x, y))),
        lambda x, y: (torch.einsum, torch.einsum("i,i", y, x)),
        lambda x, y: (torch.broadcast_tensors, torch.broadcast_tensors(y, x)),
        lambda x, y: (torch.zeros_like, torch.zeros_like(x)),
        lambda x, y: (torch.allclose, torch.allclose(y, x)),
        lambda x, y: (torch.where, torch.where(y > 0, x, y)),
        lambda x, y: (torch.result_type, torch.result_type(x, 1)),
        lambda x, y: (torch.numel, torch.numel(x)),
        lambda x, y: (torch.normal, torch.normal(x, 1.0)),
        lambda x, y: (F.relu, F.relu(x)),
        lambda x, y: (F.linear, F.linear(y, x)),
        lambda x, y: (F.softmax, F.softmax(x, dim=0)),
        lambda x, y: (F.pad, F.pad(x, (1, 1))),
        lambda x, y: (F.mse_loss, F.mse_loss(y, x)),
        lambda x, y: (torch.linalg.vector_norm, torch.linalg.vector_norm(x)),
        lambda x, y: (torch.special.erf, torch.special.erf(x)),
        lambda x, y: (torch.nn.init.normal_, torch.nn.init.normal_(x)),
    ],
)
def test_functions_that_the_program_named(call):
    func, _ = call(of(Logged, 1.0, 2.0), torch.tensor([1.0, 2.0]))
    assert Logged.calls == [func]


def test_every_function_and_attribute_that_can_be_taken_over_is():
    class Taken(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return ("taken", func)

    x = torch.ones(1).as_subclass(Taken)
    private = [member for n, member in vars(torch._C.TensorBase).items() if n[0] == "_"]
    seen = 0
    for functions in overrides.get_overridable_functions().values():
        for function in functions:
            name = getattr(function, "__name__", "")
            if NAME == "torch" and (name != "__get__" or function.__self__ in private):
                continue  # its parser wants all arguments first
            if name in ("__len__", "__bool__", "__int__", "__index__", "__float__", "__complex__"):
                continue  # Python checks what these give: test_what_a_subclass_is_told_of
            if name in ("__setitem__", "__contains__") or (name[:2] == "__" and name != "__get__"):
                continue  # operators: the same
            what, func = function(x)
            assert what == "taken" and (func == function or name == "nelement"), function
            seen += 1
    assert seen > (30 if NAME == "torch" else 900)


# ---- what comes back


def test_results_are_of_the_class():
    x = of(Plain, 3.0, 1.0, 2.0)
    assert type(x + 1) is Plain and (x + 1).tolist() == [4.0, 2.0, 3.0]
    assert [type(t) for t in x.sort()] == [Plain, Plain]
    assert type(x.max(0)).__name__ == "max" and type(x.max(0).indices) is Plain
    assert [type(t) for t in x.split(2)] == [Plain, Plain]
    assert [type(t) for t in x] == [Plain] * 3
    assert type(x.tolist()) is list and type(x.shape) is torch.Size
    assert type(torch.add(torch.ones(3), x)) is Plain
    assert type(x.to(torch.float64)) is Plain and type(x.new_ones(1)) is Plain
    assert type(x.data) is Plain and type(x.detach()) is Plain
    assert repr(x) == "Plain([3., 1., 2.])"


def test_the_class_of_two_is_the_one_further_down():
    class Deeper(Plain):
        pass

    x, y = of(Plain, 1.0), of(Deeper, 2.0)
    assert type(x + y) is Deeper and type(y + x) is Deeper
    unrelated = of(Logged, 1.0)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"):
        x + unrelated
    with pytest.raises(TypeError, match=failed_for("torch.add")):
        torch.add(x, unrelated)


def test_in_place_and_out_give_the_tensor_itself():
    x = of(Plain, 1.0)
    assert x.add_(1) is x and x.tolist() == [2.0]
    y = x
    y += 1
    assert y is x
    out = torch.empty(1).as_subclass(Plain)
    assert torch.add(torch.ones(1), 1, out=out) is out and out.tolist() == [2.0]


def test_as_subclass_is_an_alias_in_the_graph():
    x = torch.ones(2, requires_grad=True)
    y = x.as_subclass(Plain)
    assert type(y) is Plain and type(y.grad_fn).__name__ == "AliasBackward0"
    assert y._base is x and y._is_view() and not y.is_leaf
    y.mul(3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and type(x.grad) is Tensor
    z = torch.zeros(2)
    z.as_subclass(Plain)[0] = 5
    assert z.tolist() == [5.0, 0.0] and z._version == 1
    with pytest.raises(TypeError, match="does not inherit from Tensor is not possible"):
        x.as_subclass(int)
    with pytest.raises(TypeError, match=r"cls must be a type \(got int\)"):
        x.as_subclass(3)
    with pytest.raises(TypeError, match="missing 1 required positional arguments"):
        x.as_subclass()


def test_a_constructor_keeps_the_history():
    x = torch.ones(2, requires_grad=True)
    Plain(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    assert type(Plain([1.0])) is Plain and Plain(2, 3).shape == (2, 3)
    Tensor(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_what_hands_out_a_tensor_gives_the_same_one_each_time():
    x = of(Plain, 1.0, grad=True)
    x.grad = torch.ones(1)
    assert x.grad is x.grad and type(x.grad) is Tensor
    assert x.view(1)._base is x.view(1)._base


def test_default_torch_function():
    y = torch.ones(2)
    call = Plain.__torch_function__
    assert type(call(torch.add, (Plain,), (y, y))) is Plain
    assert type(call(torch.add, (Plain,), (y, y), None)) is Plain
    assert type(call(torch.add, (Plain,), (), {"input": y, "other": y})) is Plain
    assert call(torch.add, (Duck,), (y, y)) is NotImplemented
    assert Tensor.__torch_function__(torch.add, (Plain,), (y, y)) is NotImplemented
    assert type(Tensor.__torch_function__(torch.add, (), (y, y))) is Tensor
    nested = call(lambda: [y, (y, 3)], (Plain,))
    assert type(nested[0]) is Plain and type(nested[1][0]) is Plain and nested[1][1] == 3
    disabled = torch._C._disabled_torch_function_impl
    assert type(disabled(torch.add, (), (of(Plain, 1.0), 1), {})) is Tensor
    assert torch.nn.Parameter.__torch_function__ is disabled
    assert torch.nn.Buffer.__torch_function__ is disabled


def test_an_attribute_of_the_class_is_found_first():
    class Odd(Tensor):
        @property
        def shape(self):
            return "mine"

        def sum(self):
            return ("sum", super().sum())

    x = of(Odd, 1.0, 2.0)
    assert x.shape == "mine" and x.size() == (2,)
    assert x.sum()[1].tolist() == 3.0


# ---- programs of the documentation


HANDLED = {}


def implements(function):
    def register(implementation):
        HANDLED[function] = implementation
        return implementation

    return register


class ScalarTensor:
    """N equal numbers on a diagonal, of which only one is kept."""

    def __init__(self, n, value):
        self.n, self.value = n, value

    def tensor(self):
        return self.value * torch.eye(self.n)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED or not all(issubclass(t, (Tensor, ScalarTensor)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))


def dense(x):
    return x.tensor() if isinstance(x, ScalarTensor) else x


@implements(torch.mean)
def _mean(input):
    return float(input.value) / input.n


@implements(torch.add)
def _add(input, other):
    if isinstance(input, ScalarTensor) and isinstance(other, ScalarTensor):
        return ScalarTensor(input.n, input.value + other.value)
    return torch.add(dense(input), dense(other))


def test_diagonal_tensor():
    d = ScalarTensor(5, 2)
    assert torch.mean(d) == 0.4
    assert torch.add(d, d).value == 4
    assert torch.add(torch.ones(5, 5), d).trace() == 15
    with pytest.raises(TypeError, match=failed_for("torch.mul")):
        torch.mul(d, 3)
    with pytest.raises(TypeError, match=failed_for("torch.mul")) as error:
        torch.mul(torch.ones(5, 5), d)
    assert "ScalarTensor" in str(error.value)


class MetadataTensor:
    def __init__(self, data, metadata=None, **kwargs):
        self._t = torch.as_tensor(data, **kwargs)
        self._metadata = metadata

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        metadatas = tuple(a._metadata for a in args if hasattr(a, "_metadata"))
        args = [getattr(a, "_t", a) for a in args]
        assert metadatas
        return MetadataTensor(func(*args, **(kwargs or {})), metadata=metadatas[0])


def test_metadata_tensor():
    data = torch.tensor([[1, 2], [3, 4]])
    m = MetadataTensor(data, metadata="M")
    total = torch.add(data, m)
    assert total._metadata == "M" and total._t.tolist() == [[2, 4], [6, 8]]
    product = data @ m
    assert product._metadata == "M" and product._t.tolist() == [[7, 10], [15, 22]]


class Metres(Tensor):
    """A tensor with a unit, kept by sums and multiplied by products."""

    @staticmethod
    def __new__(cls, values, power=1):
        made = torch.as_tensor(values).as_subclass(cls)
        made.power = power
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        powers = [a.power for a in args if isinstance(a, Metres)]
        if func in (torch.add, Tensor.add, Tensor.sub) and len(set(powers)) > 1:
            raise ValueError("different units")
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, Metres):
            product = func in (torch.mul, Tensor.mul, torch.matmul, Tensor.matmul)
            result.power = sum(powers) if product else powers[0]
        return result


def test_units():
    x, y = Metres([1.0, 2.0]), Metres([3.0, 4.0])
    assert (x + y).power == 1 and (x * y).power == 2 and (x @ y).power == 2
    assert (x * y)[0].power == 2 and (2 * x).power == 1
    with pytest.raises(ValueError, match="different units"):
        x * y + x


def test_a_subclass_that_unwraps():
    class Wrapper(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            plain = [a.as_subclass(Tensor) if isinstance(a, Wrapper) else a for a in args]
            return func(*plain, **(kwargs or {}))

    x = of(Wrapper, 1.0, 2.0)
    assert type(x + 1) is Tensor and type(torch.exp(x)) is Tensor
    assert x.shape == (2,) and x.sum().item() == 3.0


# ---- who is asked, and in which order


def order_of(call):
    asked = []

    class A(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append((cls, types))
            return NotImplemented

    class B(A):
        pass

    class C:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append((cls, types))
            return NotImplemented

    t = torch.ones(2)
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        call(t, t.as_subclass(A), t.as_subclass(B), C())
    assert len({types for _, types in asked}) == 1
    assert tuple(cls for cls, _ in asked) == asked[0][1]
    return [cls.__name__ for cls, _ in asked]


def test_subclasses_first_then_left_to_right():
    assert order_of(lambda t, a, b, c: torch.add(a, b)) == ["B", "A"]
    assert order_of(lambda t, a, b, c: torch.add(b, a)) == ["B", "A"]
    assert order_of(lambda t, a, b, c: torch.stack([t, a, c, b, c])) == ["B", "A", "C"]
    assert order_of(lambda t, a, b, c: torch.where(c, b, a)) == ["C", "B", "A"]
    assert order_of(lambda t, a, b, c: torch.add(t, c, out=a)) == ["C", "A"]


def test_types_are_those_with_a_say():
    seen = []

    class T(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((types, kwargs))

    t = torch.ones(2)
    torch.add(t, t.as_subclass(T))
    torch.add(torch.nn.Parameter(t), t.as_subclass(T), alpha=2)
    assert seen == [((T,), None), ((T,), {"alpha": 2})]


def test_ducks():
    y = torch.ones(2)
    assert torch.exp(Duck()) == ("duck", torch.exp)
    assert (y + Duck(), Duck() + y) == (("duck", Tensor.add),) * 2
    assert (y - Duck(), Duck() - y) == (("duck", Tensor.sub), ("duck", Tensor.__rsub__))
    assert (y @ Duck())[0] == "duck" and (y == Duck())[0] == "duck"
    assert y[Duck()] == ("duck", Tensor.__getitem__) and y[0, Duck()][0] == "duck"
    y[Duck()] = 1
    y[0] = Duck()
    assert y.tolist() == [1.0, 1.0]
    assert torch.sum(y, Duck()) == ("duck", torch.sum)
    assert torch.stack([y, Duck()]) == ("duck", torch.stack)
    assert F.relu(Duck()) == ("duck", F.relu)
    assert torch.autograd.grad(Duck(), y)[0] == "duck"
    assert torch.autograd.grad([y], [Duck()])[0] == "duck"
    assert torch.autograd.backward(Duck())[0] == "duck"
    y += Duck()
    assert y == ("duck", Tensor.add_)


def test_all_refuse():
    y = torch.ones(2)
    for call in (
        lambda: torch.add(y, Refusing()),
        lambda: torch.exp(Refusing()),
        lambda: y.add(Refusing()),
        lambda: y.mul_(Refusing()),
        lambda: torch.cat([y, Refusing()]),
        lambda: torch.sum(y, dim=Refusing()),
        lambda: y[Refusing()],
    ):
        with pytest.raises(
            TypeError,
            match="^Multiple dispatch failed for 'torch.*'; all __torch_function__ handlers "
            r"returned NotImplemented:\n\n  - tensor subclass <class '.*Refusing'>\n",
        ):
            call()
    for operation in (lambda: y + Refusing(), lambda: Refusing() + y, lambda: y < Refusing()):
        with pytest.raises(TypeError, match=r"(unsupported operand|not supported between)"):
            operation()
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+="):
        y += Refusing()
    assert (y == Refusing()) is False


def test_an_exception_of_the_handler_stands():
    class Broken(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise KeyError("mine")

    x = of(Broken, 1.0)
    for call in (
        lambda: x + 1,
        lambda: torch.exp(x),
        lambda: x.shape,
        lambda: x[0],
        lambda: len(x),
    ):
        with pytest.raises(KeyError, match="mine"):
            call()


def test_a_plain_method_is_deprecated():
    class Old:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 7

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert torch.exp(Old()) == 7
    assert not said or "`__torch_function__` as a plain method is deprecated" in str(
        said[0].message
    )
    assert said or NAME == "torch"  # which says it once a process

    class Static:
        @staticmethod
        def __torch_function__(func, types, args=(), kwargs=None):
            return 8

    assert torch.exp(Static()) == 8


# ---- switches


def test_disabled_for_subclasses():
    x = of(Logged, 1.0)
    noting = Noting()
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is Tensor and not torch._C._is_torch_function_enabled()
        with noting:
            x + 1
    assert Logged.calls == [] and noting.names == ["torch.Tensor.add"]
    assert torch._C._is_torch_function_enabled()
    x + 1
    assert len(Logged.calls) == 1


def test_disabled_for_all():
    noting = Noting()
    with noting, torch._C.DisableTorchFunction():
        assert type(of(Logged, 1.0) + 1) is Tensor
        assert not torch._C._is_torch_function_mode_enabled()
    assert noting.names == [] and Logged.calls == []


def test_the_switch_is_reset_by_an_exception():
    with pytest.raises(RuntimeError, match="size of tensor"):
        of(Plain, 1.0, 2.0) + torch.ones(3)
    assert torch._C._is_torch_function_enabled()
    noting = Noting()
    with pytest.raises(KeyError), noting:
        raise KeyError
    torch.ones(1)
    assert noting.names == []


def test_redispatch():
    class Deep(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            Logged.calls.append(func)
            return overrides.redispatch_function(func, types, args, kwargs or {})

    def scaled(a, b):
        if overrides.has_torch_function((a, b)):
            return overrides.handle_torch_function(scaled, (a, b), a, b)
        return a * b + 1

    x = of(Deep, 3.0)
    result = scaled(x, x)
    assert type(result) is Tensor and result.tolist() == [10.0]
    assert Logged.calls == [scaled, Tensor.mul]
    Logged.calls.clear()
    assert x.shape == (1,) and x[0].item() == 3.0 and (x - 2).tolist() == [1.0]
    assert Logged.calls == [Tensor.shape.__get__, Tensor.__getitem__, Tensor.sub]


# ---- modes


def test_a_mode_sees_calls_and_factories():
    with Noting() as noting:
        x = torch.ones(2, 2)
        y = torch.tensor(1.0)
        x + y
        x.sum()
        x[0].size()
        F.softmax(x, dim=0)
        torch.as_tensor([1.0])
    assert noting.names == [
        "torch.ones",
        "torch.tensor",
        "torch.Tensor.add",
        "torch.Tensor.sum",
        "torch.Tensor.__getitem__",
        "torch.Tensor.size",
        "torch.nn.functional.softmax",
        "torch.as_tensor",
    ]
    noting.names.clear()
    x + y
    assert noting.names == []


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.is_tensor(1),
        lambda: torch.manual_seed(0),
        lambda: torch.from_numpy(__import__("numpy").ones(2)),
        lambda: torch.frombuffer(b"1234", dtype=torch.int8),
        lambda: torch.broadcast_shapes((2,), (1,)),
        lambda: torch.is_grad_enabled(),
        lambda: torch.get_default_dtype(),
        lambda: torch.Tensor([1.0]),
        lambda: torch.FloatTensor([1.0]),
        lambda: torch.Size([1]),
        lambda: torch.finfo(torch.float32),
    ],
)
def test_what_no_mode_sees(call):
    with Noting() as noting:
        call()
    assert noting.names == []


def test_modes_in_one_another():
    class Adding(TorchFunctionMode):
        def __init__(self, seen, tag):
            self.seen, self.tag = seen, tag

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen.append(self.tag)
            result = func(*args, **(kwargs or {}))
            torch.ones(1)  # goes to the modes below
            return result

    seen = []
    with Adding(seen, "outer"), Adding(seen, "inner"):
        assert (torch.ones(1) + 1).item() == 2.0
    assert seen == ["inner", "outer", "outer"] * 3


def test_a_mode_goes_before_subclasses():
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(("mode", types))
            return func(*args, **(kwargs or {}))

    with Mode():
        y = of(Plain, 1.0, 2.0)
        seen.clear()
        assert type(torch.exp(y)) is Plain
    assert seen == [("mode", (Plain,))]


def test_a_mode_may_refuse_and_replace():
    class Sevens(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 7 if func is torch.exp else NotImplemented

    x = torch.ones(1)
    with Sevens():
        assert torch.exp(x) == 7
        assert torch.add(x, Duck()) == ("duck", torch.add)
        with pytest.raises(TypeError, match="  - mode object"):
            torch.add(x, 1)
        with pytest.raises(TypeError, match="unsupported operand"):
            x + 1
    with pytest.raises(NotImplementedError), TorchFunctionMode():
        torch.add(x, 1)
    with overrides.BaseTorchFunctionMode():
        assert torch.add(x, 1).item() == 2.0


def test_the_mode_entered_again_in_its_handler():
    class Deep(TorchFunctionMode):
        names: ClassVar[list] = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.names.append(overrides.resolve_name(func))
            with self:
                return overrides.redispatch_function(func, types, args, kwargs or {})

    x = torch.ones(2)
    with Deep():
        y = x * 2
    assert y.tolist() == [2.0, 2.0] and Deep.names == ["torch.Tensor.mul"]


def test_the_stack_of_modes():
    assert overrides._get_current_function_mode() is None
    first, second = Noting(), Noting()
    with first, second:
        assert overrides._get_current_function_mode() is second
        assert overrides._get_current_function_mode_stack() == [first, second]
        assert torch._C._len_torch_function_stack() == 2
        assert torch._C._get_function_stack_at(0) is first
        with overrides._pop_mode_temporarily() as popped:
            assert popped is second and overrides._get_current_function_mode() is first
        assert overrides.has_torch_function((1,)) and not overrides.has_torch_function(())
    assert torch._C._len_torch_function_stack() == 0
    with pytest.raises(RuntimeError, match="trying to pop from empty mode stack"):
        torch._C._pop_torch_function_stack()


def test_modes_and_switches_belong_to_a_thread():
    entered, done = threading.Event(), threading.Event()
    seen = []

    def other():
        with Noting() as noting, torch._C.DisableTorchFunctionSubclass():
            entered.set()
            done.wait(PATIENCE)
            torch.ones(1)
        seen.extend(noting.names)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(PATIENCE)
    x = of(Logged, 1.0) + 1
    assert type(x) is Logged and Logged.calls == [Tensor.add]
    done.set()
    thread.join()
    assert seen == ["torch.ones"]


def test_a_thread_that_ends_with_its_mode_entered():
    """In a process of its own: the mode counts as entered to the end."""
    run_alone("""
        mode = torch.overrides.TorchFunctionMode()
        thread = threading.Thread(target=mode.__enter__)
        thread.start()
        thread.join()
        assert (torch.ones(2) + 1).tolist() == [2.0, 2.0]
        assert torch.ones(2).shape == (2,)
    """)


# ---- gradients


def test_backward_through_instances():
    x = of(Plain, 1.0, 2.0, 3.0, grad=True)
    y = (x * x).sum()
    assert type(y.grad_fn).__name__ == "AliasBackward0" and x.is_leaf
    y.backward()
    assert type(x.grad) is Tensor and x.grad.tolist() == [2.0, 4.0, 6.0]


def test_the_rules_of_ops_take_nobody_over():
    x = of(Logged, 1.0, 2.0, grad=True)
    y = F.softmax(x * x, dim=0).prod() + torch.where(x > 0, x, 1).sum() + x.cumsum(0).std()
    Logged.calls.clear()
    y.backward()
    assert Logged.calls == [Tensor.backward]
    (g,) = torch.autograd.grad((x * x).sum(), x, create_graph=True)
    assert type(g) is Logged
    Logged.calls.clear()
    torch.autograd.grad(g.sum(), x)
    assert Logged.calls == [Tensor.sum, torch.autograd.grad]


def test_hooks_see_plain_gradients():
    x = of(Plain, 1.0, 2.0, grad=True)
    y = x * 2
    seen = []
    x.register_hook(lambda g: seen.append(type(g)))
    y.register_hook(lambda g: seen.append(type(g)))
    y.retain_grad()
    y.sum().backward()
    assert seen == [Tensor, Tensor] and type(y.grad) is Tensor


def test_hooks_run_with_the_callers_switches():
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    x.register_hook(lambda g: of(Logged, 5.0) * g)
    Logged.calls.clear()
    y.backward()
    assert Logged.calls[-1] == Tensor.mul and x.grad.tolist() == [10.0]


def test_function_keeps_the_class():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(type(x))
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            seen.append((type(x), type(g)))
            return 2 * x * g

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g

    seen = []
    x = of(Logged, 1.0, 2.0, grad=True)
    Logged.calls.clear()
    y = Square.apply(x)
    assert Logged.calls == [Tensor.mul]
    assert type(y) is Logged and y.grad_fn.name() == "SquareBackward"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0] and type(x.grad) is Tensor
    assert seen == [Logged, (Logged, Tensor)]
    z = Same.apply(of(Plain, 1.0, grad=True))
    assert type(z) is Plain and z.grad_fn.name() == "SameBackward"
    assert type(Same.apply(torch.nn.Parameter(torch.ones(1)))) is Tensor


def test_gradcheck():
    x = torch.tensor([0.1, 0.5], dtype=torch.float64)
    check = torch.autograd.gradcheck
    assert check(lambda v: (v * v).sin(), x.as_subclass(Plain).requires_grad_())
    assert check(lambda v: (v.as_subclass(Plain) * v).sin(), x.clone().requires_grad_())


def test_in_place_writes_keep_the_graph():
    x = of(Plain, 1.0, 2.0, grad=True)
    y = x * 2
    y.mul_(3)
    y[0] = 0
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 6.0]


def test_modes_of_autograd():
    with torch.no_grad():
        x = of(Plain, 1.0) * 2
    assert not x.requires_grad and type(x) is Plain
    with torch.inference_mode():
        x = of(Plain, 1.0) * 2
    assert x.is_inference() and type(x) is Plain


def test_transforms():
    x = of(Plain, 1.0, 2.0)
    assert torch.vmap(lambda v: v * 2)(x).tolist() == [2.0, 4.0]
    assert torch.func.grad(lambda v: (v * v).sum())(x).tolist() == [2.0, 4.0]


# ---- parameters, modules, copies


def test_a_parameter_of_a_subclass():
    p = torch.nn.Parameter(of(Plain, 1.0, 2.0))
    assert type(p) is Plain and isinstance(p, torch.nn.Parameter) and p.requires_grad
    assert repr(p) == "Parameter(Plain([1., 2.], requires_grad=True))"
    plain = torch.nn.Parameter(torch.ones(1))
    assert type(plain + 1) is Tensor and type(plain.detach()) is Tensor
    layer = torch.nn.Linear(2, 1, bias=False)
    layer.weight = torch.nn.Parameter(torch.ones(1, 2).as_subclass(Plain))
    out = layer(torch.ones(1, 2))
    out.sum().backward()
    assert type(out) is Plain and type(layer.weight.grad) is Tensor
    assert [type(q) for q in layer.parameters()] == [Plain]
    torch.optim.SGD(layer.parameters(), lr=0.5).step()
    assert layer.weight.tolist() == [[0.5, 0.5]]


def test_a_subclass_of_parameter_has_its_own_say():
    class Quiet(torch.nn.Parameter):
        pass

    class Loud(torch.nn.Parameter):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return 5

    assert type(Quiet(torch.ones(1)) + 1) is Tensor
    assert torch.add(Loud(torch.ones(1)), 1) == 5


def test_copies():
    x = of(Plain, 1.0, 2.0)
    x.tag = "kept"
    for y in (copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert type(y) is Plain and y.tag == "kept" and y.tolist() == [1.0, 2.0]
    p = torch.nn.Parameter(torch.ones(2))
    assert type(copy.deepcopy(p)) is torch.nn.Parameter


@ours
def test_deep_copy():
    x = of(Plain, 1.0, 2.0)
    x.tag = ["kept"]
    y = copy.deepcopy(x)
    assert type(y) is Plain and y.tag == ["kept"] and y.tag is not x.tag


def test_members_and_functions_pickle():
    for f in (torch.add, torch.nonzero, Tensor.backward, F.softmax):
        assert pickle.loads(pickle.dumps(f)) is not None


@ours
def test_pickled_functions_are_the_same():
    for f in (torch.add, torch.nonzero, torch.autograd.grad, torch.nn.init.normal_, F.softmax):
        assert pickle.loads(pickle.dumps(f)) is f


# ---- torch.overrides


def test_has_torch_function():
    y = torch.ones(1)
    has = overrides.has_torch_function
    assert has((y, Duck())) and has([Duck()])
    assert not has((y, torch.nn.Parameter(y), 3)) and not has(())
    assert overrides.has_torch_function_unary(Duck())
    assert not overrides.has_torch_function_unary(y)
    assert overrides.has_torch_function_variadic(y, Duck())
    assert not overrides.has_torch_function_variadic()
    with pytest.raises(TypeError, match="expected a sequence"):
        has(3)
    with torch._C.DisableTorchFunctionSubclass():
        assert not has((Duck(),))


def test_handle_torch_function():
    def mine(a, b=1):
        if overrides.has_torch_function_variadic(a, b):
            return overrides.handle_torch_function(mine, (a, b), a, b=b)
        return "plain"

    assert mine(torch.ones(1)) == "plain"
    assert mine(Duck()) == ("duck", mine)
    with pytest.raises(
        TypeError, match=r"^no implementation found for '.*mine' on types that impl"
    ):
        mine(Refusing(), torch.ones(1))
    with Noting() as noting:
        assert mine(torch.ones(1)) == "plain"
    assert noting.names == ["torch.ones", None]


def test_wrap_torch_function():
    @overrides.wrap_torch_function(lambda x: (x,))
    def mine(x):
        """Says so."""
        return x + 0

    assert mine(torch.ones(1)).item() == 1.0 and mine.__doc__ == "Says so."
    assert mine(Duck()) == ("duck", mine)


def test_names():
    for name in (
        "torch.add",
        "torch.Tensor.add",
        "torch.Tensor.add_",
        "torch.Tensor.shape.__get__",
        "torch.Tensor.grad.__set__",
        "torch.Tensor.device.__get__",
        "torch.Tensor.__add__",
        "torch.nn.functional.softmax",
        "torch.nn.functional.linear",
        "torch.linalg.vector_norm",
        "torch.functional.einsum",
        "torch.fft.rfft",
        "torch.Tensor.sub_",
        "torch.digamma",
    ):
        found = eval(name, {"torch": torch})
        assert overrides.resolve_name(found) == name
    assert overrides.resolve_name(len) is None


def test_lists_of_functions():
    can = overrides.get_overridable_functions()
    cannot = overrides.get_ignored_functions()
    assert torch.add in can[torch] and Tensor.add in can[Tensor]
    assert Tensor.shape.__get__ in can[Tensor.shape]
    assert Tensor.as_subclass in cannot and torch.as_tensor in cannot and torch.add not in cannot
    method = overrides.is_tensor_method_or_property
    assert method(Tensor.add) and method(Tensor.shape.__get__) and not method(torch.add)
    assert overrides.get_testing_overrides()[torch.add](torch.ones(1), 1) == -1
    nowrap = overrides.get_default_nowrap_functions()
    assert Tensor.grad.__get__ in nowrap and len(nowrap) == 3
    like = overrides.is_tensor_like
    assert like(torch.ones(1)) and like(Duck()) and not like(3)


def test_tensor_base():
    base = torch._C.TensorBase
    assert isinstance(torch.ones(1), base) and issubclass(Plain, base) and not isinstance(3, base)
    with pytest.raises(RuntimeError, match="Cannot directly construct TensorBase"):
        base()
    with pytest.raises(RuntimeError, match="Cannot subclass _TensorBase directly"):
        type("Mine", (base,), {})
    with pytest.raises(TypeError, match=r"type 'torch\.FloatTensor' is not an acceptable base"):
        type("Mine", (torch.FloatTensor,), {})


# ---- nothing crashes


def test_handlers_that_do_odd_things():
    class Odd(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    x = of(Odd, 1.0)
    with pytest.raises(TypeError):
        len(x)
    with pytest.raises(TypeError):
        float(x)
    with pytest.raises(TypeError):
        repr(x)
    x.grad = None
    del x.grad
    x[0] = 1

    class Emptying:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            operands.clear()
            return "emptied"

    operands = [torch.ones(1), Emptying(), Emptying()]
    assert torch.stack(operands) == "emptied" and operands == []

    class Leaving(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if torch._C._len_torch_function_stack():
                torch._C._pop_torch_function_stack()
            return NotImplemented

    with pytest.raises((TypeError, RuntimeError)), Noting(), Leaving():
        torch.add(torch.ones(1), 1)
    while torch._C._len_torch_function_stack():
        torch._C._pop_torch_function_stack()


def test_a_handler_that_calls_itself():
    class Endless(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RecursionError):
        of(Endless, 1.0) + 1


def test_an_object_may_have_a_handler_of_its_own():
    class Instance:
        def __init__(self):
            self.__torch_function__ = lambda func, types, args=(), kwargs=None: "in the dict"

    class Asked:
        def __getattr__(self, name):
            if name != "__torch_function__":
                raise AttributeError(name)
            return lambda func, types, args=(), kwargs=None: "by getattr"

    x = torch.ones(2)
    assert torch.add(x, Instance()) == torch.cat([x, Instance()]) == "in the dict"
    assert torch.add(x, Asked()) == "by getattr"


def test_a_class_is_told_of_deletions():
    told = []

    class Told(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append((func.__name__, len(args)))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Told)
    del x.volatile
    assert told == [("__delete__", 1)]
    told.clear()
    with pytest.raises(RuntimeError, match=r"^Deletion of _backward"):
        del x._backward_hooks
    assert told == [("__delete__", 1)]
    with pytest.raises(AttributeError, match=r"is not writable$"):
        del x.T
    assert told == [("__delete__", 1)]


@pytest.mark.skipif(NAME == "torch", reason="an empty list is an error of its own there")
def test_a_handler_may_change_the_list_that_holds_it():
    class Clearing(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            tensors.clear()
            return len(types)

    tensors = [torch.ones(2).as_subclass(Clearing) for _ in range(3)]
    assert torch.cat(tensors) == 1 and tensors == []
