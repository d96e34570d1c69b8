"""`__torch_function__` against PyTorch: which functions can be taken over, what a class and a mode
are told of, and what classes the results have.

A case is an expression of tensors of a subclass x (4), m (2, 2), i (4 ints), b (4 bools), s (a
number), of plain tensors y (4), j (4 ints), and of the library `t`.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from both import first_sentence

import rushlight
from rushlight import _torch
from rushlight import overrides as own_overrides

pytorch = pytest.importorskip("torch")

# ruff: noqa: E501  many cases a line

NAMESPACES = ("", "nn.functional", "linalg", "special", "Tensor")
# Of PyTorch's names, those that stand here for another function of the table, which has its say.
ELSEWHERE = {"linalg.vander", "autocast"}  # a class: PyTorch asks about its scripted form


def _reach(library: Any, path: str) -> Any:
    for name in filter(None, path.split(".")):
        library = getattr(library, name)
    return library


def _overridable(library: Any) -> set[Any]:
    found = library.overrides.get_overridable_functions()
    return {f for functions in found.values() for f in functions}


def _members(space: Any) -> dict[str, Any]:
    found = {}
    for name in dir(space):
        if name.startswith("_") and not name.startswith("__"):
            continue
        member = getattr(space, name)
        found[name] = member if callable(member) else getattr(member, "__get__", None)
    return found


def test_what_pytorch_lets_take_over_can_be_here_too():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = _overridable(pytorch), _overridable(rushlight)
        missing, both = [], 0
        for where in NAMESPACES:
            here = _members(_reach(rushlight, where))
            for name, function in _members(_reach(pytorch, where)).items():
                own = here.get(name)
                try:
                    wanted = function in theirs and own is not None
                except TypeError:
                    continue  # not hashable, so no function
                if wanted and own in ours:
                    both += 1
                elif wanted:
                    missing.append(f"{where}.{name}".lstrip("."))
    # Rare names: of other devices, of quantized tensors, of symbolic numbers: no tensor here has any.
    # What is imported late stands in no list; functions of sparse tensors ask their own class.
    assert set(missing) <= ELSEWHERE | _torch.listed("torch") | rushlight._LATE.keys()
    assert both >= 1090, both


CASES = """
x + y; y + x; x + 2; 2 + x; x - y; y - x; x - 2; 2 - x; x * y; y * x; 2 * x; x / y; y / x; 2 / x
x // y; y // x; 2 // x; x % y; y % x; 2 % x; x ** y; y ** x; x ** 2; 2 ** x; x @ y; y @ x
i & j; j & i; i & 2; 2 & i; i | j; 2 | i; i ^ j; 2 ^ i; i << j; 2 << i; i >> j; 2 >> i
x < y; y < x; x < 2; 2 < x; x <= y; x == y; y == x; x != y; x > y; y > x; x >= y; x == 2; x == None
-x; +x; abs(x); ~i; len(x); bool(s); float(s); int(s); complex(s); reversed(x); repr(x); str(x)
list(x); 1 in x; x in [x]; y[i - 1]; y[(i - 1,)]; y[0:2]; x[0]; x[[0, 1]]; x[b]; y[b]; m[0, 1]; m[0]
x.__array__(); x.tolist(); s.item(); x.numpy(); x.detach(); x.dim(); x.size(); x.size(0); x.stride()
x.numel(); x.nelement(); x.element_size(); x.storage_offset(); x.is_contiguous(); x.contiguous()
x.requires_grad_(); x.is_inference(); x.shape; x.dtype; x.device; x.layout; x.ndim; x.grad_fn; x.grad
x._base; x._version; x.data; x.is_leaf; x.requires_grad; x.output_nr; x.retains_grad; x.real; x.imag
x.itemsize; x.nbytes; x.is_cuda; x.is_meta; x.is_quantized; x.volatile; x.name; x.grad_dtype; x.mT
m.mT; m.T; m.H; m.mH; x._backward_hooks; x._is_view(); x.is_shared(); x.share_memory_(); x.is_pinned()
x.new_tensor([1.]); x.new_full((2,), 1.); x.new_zeros(2); x.type(); x.type(t.float64); x.type_as(y)
y.type_as(x); x.get_device(); x.is_floating_point(); x.is_complex(); x.is_signed(); x.is_conj()
x.resolve_conj(); x.apply_(lambda v: v); x.map_(y, lambda v, w: v + w); x.cpu(); x.to('cpu'); x.float()
x.to(t.float64); x.sum(); x.sum(dim=0); x.max(0); t.max(x, 0); x.sort(); x.split(2); x.unbind(0)
x.chunk(2); x.unique(); t.unique(x); x.where(b, y); x.masked_fill(b, 0.); x.clone(); x.expand(2, 4)
x.view_as(y); x.reshape(2, 2); x.fill_(1.); x.zero_(); x.copy_(y); y.copy_(x); x.add_(y); y.add_(x)
x.resize_(2); x.resize_as_(y); x.as_strided((2,), (1,)); x.equal(y); x.allclose(y); x.nonzero()
x.index_select(0, i - 1); x.norm(); t.norm(x); x.unflatten(0, (2, 2)); x.register_hook(print)
x.retain_grad(); x.backward(); x.detach_(); x.bernoulli(); x.as_subclass(t.Tensor); x.foo; hash(x) * 0
t.tensor(x); t.as_tensor(x); t.asarray(x); t.is_tensor(x); t.arange(s); t.full((2,), s); t.typename(x)
t.empty_like(x).zero_(); t.ones_like(x); t.full_like(x, 1.); t.zeros_like(x); t.result_type(x, x)
t.add(y, x); t.add(y, 1, out=x); t.add(input=y, other=x); t.cat((y, x)); t.stack([x, y]); t.hstack([y, x])
t.einsum('i,i', y, x); t.where(b, x, y); t.where(b); t.broadcast_tensors(y, x); t.meshgrid(x, y)
t.atleast_2d(x, y); t.tensordot(x, y, 1); t.block_diag(x, y); t.cartesian_prod(x, x); t.cdist(m, m)
t.var_mean(x); t.frexp(x); t.searchsorted(x, y); t.isin(x, y); t.diff(x); t.vander(x); t.logical_and(x, y)
t.is_floating_point(x); t.is_complex(x); t.numel(x); t.is_nonzero(s); t.nonzero(x, as_tuple=True)
t.nn.functional.softmax(x, dim=0); t.nn.functional.linear(x, y); t.nn.functional.pad(x, (1, 1))
t.nn.functional.gelu(x); t.nn.functional.mse_loss(x, y); t.nn.functional.normalize(x, dim=0)
t.nn.functional.log_softmax(x, 0); t.nn.functional.cross_entropy(x, x); t.nn.functional.hardswish(x)
t.nn.functional.one_hot(i); t.nn.functional.embedding(i - 1, t.ones(4, 2)); t.nn.functional.layer_norm(x, (4,))
t.nn.functional.scaled_dot_product_attention(m, m, m); t.linalg.norm(x); t.linalg.svd(m); t.linalg.qr(m)
t.nn.ReLU()(x); t.unique(x); t.einsum('i,i', x, y); t.meshgrid(x, y); t.tensordot(x, y, 1); t.softmax(x, 0)
t.det(m); t.digamma(x); t.nn.Parameter(x.detach()); t.nn.init.zeros_(x)
t.nn.init.constant_(x, 1.); t.autograd.grad(x.sum(), x, allow_unused=True); t.autograd.backward(x.sum())
t.nn.utils.clip_grad_norm_([x], 1.); (x * x).requires_grad_().sum().backward(); t.Tensor(x); t.is_grad_enabled()
"""
EXPRESSIONS = [e.strip() for line in CASES.strip().splitlines() for e in line.split(";")]


def _tell(library: Any, expression: str, as_mode: bool) -> tuple[Any, ...]:
    calls: list[str] = []

    class Mine(library.Tensor):  # type: ignore[misc, name-defined]
        if not as_mode:

            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                calls.append(library.overrides.resolve_name(func))
                return super().__torch_function__(func, types, args, kwargs or {})

    class Mode(library.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = library.overrides.resolve_name(func)
            if name is not None:  # PyTorch shows the switching of gradients, too
                calls.append(name)
            return func(*args, **(kwargs or {}))

    def of(values: Any) -> Any:
        made = library.tensor(values)
        return made if as_mode else made.as_subclass(Mine)

    values = {
        "t": library,
        "x": of([1.0, 2.0, 3.0, 4.0]),
        "m": of([[2.0, 1.0], [1.0, 3.0]]),
        "i": of([1, 2, 3, 4]),
        "b": of([True, False, True, False]),
        "s": of(1.0),
        "y": library.tensor([2.0, 1.0, 1.0, 2.0]),
        "j": library.tensor([1, 1, 1, 1]),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if as_mode:
                with Mode():
                    result = eval(expression, values)
            else:
                result = eval(expression, values)
        except Exception as error:
            return type(error).__name__, first_sentence(error).rstrip("."), calls
    several = result if isinstance(result, (tuple, list)) else [result]
    return type(result).__name__, [type(r).__name__ for r in several], calls


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_subclass_is_told_of_the_same(expression):
    assert _tell(rushlight, expression, False) == _tell(pytorch, expression, False)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_mode_is_told_of_the_same(expression):
    assert _tell(rushlight, expression, True) == _tell(pytorch, expression, True)


def test_the_names_are_here():
    for name in pytorch.overrides.__all__:
        assert hasattr(own_overrides, name) or name == "enable_reentrant_dispatch", name


def test_what_is_imported_late_can_be_taken_over():
    class Answer:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return function.__name__

    for name in ("svd_lowrank", "pca_lowrank", "lobpcg"):
        assert getattr(rushlight, name)(Answer()) == name


HANDED = """
F.dropout(x); F.dropout(x, 0.25, False); F.softmax(x); F.softmax(x, 0); F.cross_entropy(m, m); F.layer_norm(m, (2,))
F.mse_loss(x, x, reduction="sum"); F.l1_loss(x, x); F.pad(x, (1, 1)); F.normalize(m); F.gelu(x); F.linear(m, m)
F.relu(x, inplace=False); t.relu(x); F.max_pool1d(m, 2); F.batch_norm(m, None, None, training=True); F.logsigmoid(x)
F.interpolate(m[None], scale_factor=2); F.adaptive_avg_pool2d(m[None], 1); F.embedding(i, m, 1); F.threshold(x, 0., 1.)
t.norm(x); t.norm(x, 1); t.split(x, 2); t.split(x, split_size_or_sections=2); t.unique(x, False); t.tensordot(x, x, 1)
t.cdist(m, m); t.lu(m); t.unravel_index(i, (9,)); t.meshgrid(x, x); t.meshgrid([x, x], indexing="xy"); t.einsum("i,i", [x, x])
t.atleast_2d(x); t.broadcast_tensors(x, y); t.add(x, y); t.sum(x, 0); t.stft(x, 2, return_complex=True, window=y[:2])
x.norm(); x.split(2); x.unique(); x.unique_consecutive(True); x.stft(2, 1, return_complex=True); m.lu(); x.unflatten(0, (2, 2))
x.sum().requires_grad_().backward(); 1 - x; 2 // x; y @ m.repeat(2, 2); len(x); 1 in x; x.add(y); x.sum(0); x[0]; -x
"""  # fmt: skip


@pytest.mark.parametrize("expression", [e.strip() for e in HANDED.replace("\n", ";").split(";")])
def test_a_class_is_handed_the_same_arguments(expression):
    def told(library):
        calls = []

        class Mine(library.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                named = kwargs and [(k, v) for k, v in kwargs.items() if not hasattr(v, "shape")]
                calls.append((len(args), None if kwargs is None else named or []))
                return super().__torch_function__(func, types, args, kwargs or {})

        values = {"t": library, "F": library.nn.functional, "y": library.ones(4)}
        values["x"] = library.ones(4).as_subclass(Mine)
        values["m"] = library.eye(2).as_subclass(Mine)
        values["i"] = library.ones(2, dtype=library.long).as_subclass(Mine)
        try:
            eval(expression or "None", values)
        except (RuntimeError, NotImplementedError, ValueError) as error:
            calls.append(type(error).__name__)
        return calls

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert told(rushlight) == told(pytorch)
