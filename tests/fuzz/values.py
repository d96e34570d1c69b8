"""What random programs are made of: tensors of every kind, and objects that misbehave.

A program is text, so that one that crashes can be printed: `t((2, 3), "float32", "strided")` is a
tensor. Its elements follow from its shape, so that a program means the same each time it runs.
"""

from __future__ import annotations

import copy
import gc
import itertools
import math
import pickle
import random
import sys
import threading
import weakref
from typing import Any

import numpy as np

import rushlight as torch

DTYPES = """float32 float64 float32 float64 float16 bfloat16 complex64 complex128 int64 int64 int32
int16 int8 uint8 uint16 uint32 uint64 bool float8_e4m3fn float8_e5m2 complex32""".split()

SHAPES = [
    (), (0,), (1,), (3,), (5,), (2, 3), (3, 2), (3, 3), (4, 4), (0, 3), (3, 0), (1, 1), (1, 4),
    (2, 3, 4), (2, 0, 3), (1, 1, 1), (2, 4, 4), (1, 2, 8, 8), (2, 3, 5, 5), (1, 1, 4, 4, 4),
    (2, 1, 2, 1, 2, 1), (40,), (7, 9),
]  # fmt: skip
LARGE = [(70_000,), (300, 300), (40_000, 2), (1, 3, 150, 150)]  # computed without the GIL
LAYOUTS = """plain plain plain turned strided spread shifted readonly leaf inference view conjugate negative
subclass taker coo csr csc bsr masked""".split()


def t(shape: tuple[int, ...], dtype: str = "float32", layout: str = "plain", grad: bool = False):
    """A tensor whose elements are small and follow from its shape.

    layout: "turned" (dimensions reversed in memory), "strided" (every second element), "spread" (the
    first dimension has stride 0), "shifted" (begins inside its memory), "readonly" (over a NumPy
    array that may not be written), "leaf" (a leaf that requires grad), "view" (of such a leaf),
    "inference" (made in inference mode), "conjugate" and "negative" (views that put that off),
    "subclass" (of Tensor), "taker" (of a class with a `__torch_function__` of its own), "coo", "csr",
    "csc" and "bsr" (sparse), "masked" (a MaskedTensor).
    """
    kind = getattr(torch, dtype)
    if layout == "inference":
        with torch.inference_mode():
            return t(shape, dtype)
    n = math.prod(shape)
    values = (np.arange(n) * 7 % 11 - 5) / 2
    if dtype in ("bool", "uint8", "uint16", "uint32", "uint64"):
        values = np.abs(values)
    if layout == "readonly" and dtype not in ("bfloat16",):
        array = values.reshape(shape).astype(str(kind).removeprefix("torch."))
        array.setflags(write=False)
        return torch.as_tensor(array)
    x = torch.tensor(values.tolist(), dtype=torch.float64).reshape(shape).to(kind)
    if layout == "turned":
        x = x.permute(*reversed(range(x.dim()))).contiguous().permute(*reversed(range(x.dim())))
    elif layout == "strided" and shape:
        x = torch.stack([x, x], -1)[..., 0]
    elif layout == "spread" and shape:
        x = x[:1].expand(shape) if shape[0] else x
    elif layout == "shifted":
        x = torch.cat([x.reshape(-1)[:1], x.reshape(-1)])[min(1, n) :].reshape(shape)
    differentiable = kind.is_floating_point or kind.is_complex
    if (grad or layout in ("leaf", "view")) and differentiable:
        x = x.detach().requires_grad_()
    if layout == "view":
        x = x.view(shape) if differentiable else x
    elif layout == "conjugate":
        x = x.conj()
    elif layout == "negative" and dtype in ("float32", "float64"):
        x = torch.complex(torch.zeros_like(x), x).conj().imag
    elif layout in ("subclass", "taker"):
        x = x.as_subclass(Subclass if layout == "subclass" else Taker)
    elif layout == "masked":
        x = torch.masked.masked_tensor(x, x != 0)
    elif layout in SPARSE and n < 1000:
        x = SPARSE[layout](x)
    return x


SPARSE: dict[str, Any] = {
    "coo": lambda x: x.to_sparse(),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((1, 1)),
}


class Subclass(torch.Tensor):
    """A tensor whose class results keep."""


class Taker(torch.Tensor):
    """A tensor that is asked about every call, and leaves some to others."""

    asked = 0

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Taker.asked += 1
        if Taker.asked % 7 == 0:
            return NotImplemented
        if Taker.asked % 11 == 0:  # a young generation: calls nest a thousand deep
            gc.collect(1)
        return super().__torch_function__(func, types, args, kwargs)


class Duck:
    """No tensor, but asked as one; gives what its kind says."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.kind == "raise":
            raise ValueError("from a handler")
        if self.kind == "endless":
            return func(*args, **(kwargs or {}))
        if self.kind == "clear":
            for part in args:
                if isinstance(part, list):
                    part.clear()
        return t((2,)) if self.kind == "tensor" else NotImplemented


DUCKS = "tensor raise refuse endless clear".split()
MODES = "pass raise refuse nested".split()


class Mode(torch.overrides.TorchFunctionMode):
    """A mode that gives what its kind says."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.kind == "raise":
            raise ValueError("from a mode")
        if self.kind == "refuse":
            return NotImplemented
        if self.kind == "nested":
            with Mode("pass"):
                return func(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


class Index:
    """A whole number that does something before it answers."""

    def __init__(self, value: Any, act: Any = None) -> None:
        self.value, self.act = value, act

    def __index__(self) -> Any:
        if self.act:
            self.act()
        return self.value


class Number(float):
    """A float that does something before it answers."""

    act: Any = None

    def __float__(self) -> float:
        gc.collect()
        return 1.0

    def __eq__(self, other: object) -> bool:
        raise ValueError("not to be compared")

    __hash__ = None  # type: ignore[assignment]


class Raises:
    """Every way to ask it for something raises."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"asked for {name}")

    def __len__(self) -> int:
        raise RuntimeError("asked for its length")

    def __getitem__(self, key: Any) -> Any:
        raise RuntimeError("asked for an item")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("asked for an array")


class Array:
    """Has `__array__`, which gives something odd."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value


class Shrinks(list):
    """A list that is shorter each time somebody takes an item."""

    def __getitem__(self, key: Any) -> Any:
        item = super().__getitem__(key)
        self.pop()
        return item


def clearing(n: int) -> list[Any]:
    """A list of indices, one of which clears the list when it is asked."""
    items: list[Any] = [1] * n
    items[0] = Index(1, items.clear)
    return items


DISTRIBUTIONS = """Normal(t((3,)),2.0) Normal(0.0,1.0) Bernoulli(0.3) Bernoulli(logits=t((2,3)))
Categorical(logits=t((2,3))) OneHotCategorical(logits=t((3,))) Beta(2.0,3.0) Gamma(2.0,t((3,)).abs()+1)
Dirichlet(t((2,3)).abs()+1) Exponential(1.5) Poisson(2.0) Uniform(0.0,t((3,)).abs()+1) Laplace(0.0,1.0)
Cauchy(0.0,1.0) StudentT(3.0) VonMises(0.0,2.0) Weibull(1.0,2.0) Pareto(1.0,2.0) Kumaraswamy(2.0,3.0)
Geometric(0.3) Binomial(5,0.3) NegativeBinomial(5,0.3) Multinomial(4,t((3,)).abs()+1)
MultivariateNormal(torch.zeros(2),torch.eye(2)) LKJCholesky(3) Wishart(torch.tensor(4.0),torch.eye(2))
LowRankMultivariateNormal(torch.zeros(2),torch.ones(2,1),torch.ones(2)) HalfNormal(1.0)
RelaxedBernoulli(0.5,0.3) RelaxedOneHotCategorical(0.5,logits=t((3,))) LogNormal(0.0,1.0) Gumbel(0.0,1.0)
ContinuousBernoulli(0.3) FisherSnedecor(2.0,3.0) InverseGamma(2.0,1.0) LogisticNormal(t((2,)),1.0)""".split()
TRANSFORMS = """ExpTransform() AffineTransform(1.0,2.0) SigmoidTransform() TanhTransform() AbsTransform()
PowerTransform(2.0) SoftmaxTransform() StickBreakingTransform() SoftplusTransform()
LowerCholeskyTransform() CorrCholeskyTransform() ReshapeTransform((2,3),(6,)) ComposeTransform([])""".split()
NUMBERS = """0 1 -1 2 3 -2 7 64 -5 (1<<31) (1<<32) (1<<40) (1<<62) (1<<63)-1 -(1<<63) (1<<64) True False
0.0 0.5 1.5 -2.5 1e-3 1e300 -1e300 5e-324 float('inf') -float('inf') float('nan') 1j complex('nan') (2+0j)
np.float64(2) np.int64(3) np.float32('nan') np.bool_(True) Index(1) Index(-1) Index(1<<40) Index('a')
Number(2) Index(2,gc.collect)""".split()
WORDS = """'sum' 'mean' 'none' '' 'reflect' 'replicate' 'circular' 'constant' 'bilinear' 'nearest' 'fro' 'nuc'
'left' 'right' 'float32' 'cpu' 'cuda' 'meta' 'ij' 'x'*999 'ij,jk->ik' 'i...,...->i' 'prod' 'amax' 'linear'
'same' 'valid' 'relu' 'tanh' 'reduced' 'complete' 'max'""".split()
ODD = """None ... slice(None) slice(1,None,2) slice(-1,1<<62) object() Raises() Array(None) Array(np.ones(2))
Array('a') type int len (lambda*a:a) {} {'a':1} set() b'abc' bytearray(8) memoryview(b'abcdefgh')
np.ones((2,3)) np.zeros(0) np.array(['a']) np.array([None]) np.ones(3,'>f4') np.arange(6)[::-2]
np.ones((2,2),order='F') np.float16([1]) torch.Size([2,3]) torch.Generator() torch.device('cpu')
torch.contiguous_format torch.channels_last torch.strided range(3) (i\x20for\x20i\x20in\x20(1,2)) torch.float32
torch.complex64 torch.bool float complex bool torch.nn.Linear(2,2) torch.tensor torch.Tensor
Duck('tensor') Duck('raise') Duck('refuse') Duck('endless') Duck('clear') torch.float8_e4m3fn
torch.sparse_coo torch.distributions.Normal(0.0,1.0) torch.distributions.ExpTransform()
torch.distributions.constraints.positive""".split()
ODD = [text.replace("\\x20", " ") for text in ODD]
LISTS = """[] () [2,3] (0,) [-1] [0,1] (1,0) [2] [1,1,1] [3,-1] [1<<40,1<<40] [1<<62]*3 [[1,2],[3,4]] [[1],[2,3]]
[1.5] [None] ['a'] [True,False] [0]*70 clearing(2) clearing(5) Shrinks([1,2,3]) (2,3,4) [1,2] [(0,1)]
[Index(1),2] [[0,1],[1,0]] [1<<31] [0,0] [5,5] [2,2] [4,1]""".split()


def number(draw: random.Random) -> str:
    return draw.choice(NUMBERS)


def tensor(draw: random.Random, shape: Any = None, dtype: str | None = None) -> str:
    """The text of a random tensor, of a shape or a dtype where they are given."""
    if shape is None:
        shape = draw.choice(LARGE if draw.random() < 0.03 else SHAPES)
    parts = [repr(tuple(shape)), repr(dtype or draw.choice(DTYPES))]
    if draw.random() < 0.5:
        parts.append(repr(draw.choice(LAYOUTS)))
    return f"t({', '.join(parts)})"


def anything(draw: random.Random) -> str:
    """The text of any value at all."""
    roll = draw.random()
    if roll < 0.35:
        return tensor(draw)
    if roll < 0.6:
        return number(draw)
    if roll < 0.75:
        return draw.choice(LISTS)
    if roll < 0.82:
        return draw.choice(WORDS)
    if roll < 0.9:
        return f"[{', '.join(tensor(draw) for _ in range(draw.randint(1, 3)))}]"
    return draw.choice(ODD)


def use(result: Any, depth: int = 0) -> None:
    """Ask a result for what programs ask: its elements, its text, its gradient."""
    if depth > 3:
        return
    if isinstance(result, torch.Tensor):
        _use_tensor(result)
    elif isinstance(result, (tuple, list)):
        for part in result[:4]:
            use(part, depth + 1)
    elif isinstance(result, torch.nn.Module):
        for x in (t((2, 3)), t((2, 3, 4)), t((1, 2, 8, 8))):
            try:
                use(result(x), depth + 1)
            except Exception:
                continue
    elif isinstance(result, torch.distributions.Distribution):
        for x in DRAWS:
            _try(x, result)
    elif isinstance(result, torch.distributions.Transform):
        for x in (lambda f: f(t((2, 3))), lambda f: f.inv(t((2, 3))), lambda f: f.codomain):
            _try(x, result)
    elif isinstance(result, torch.optim.Optimizer):
        _try(lambda optimizer: optimizer.step(), result)
    elif isinstance(result, torch.utils.data.Dataset):
        _try(lambda pipe: use(list(itertools.islice(iter(pipe), 3))), result)
    elif isinstance(result, np.ndarray) and result.size < 100_000:
        result.sum() if result.dtype.kind in "biufc" else None
    elif hasattr(result, "shape") or isinstance(result, (int, float, str)):
        repr(result)[:100]


DRAWS: tuple[Any, ...] = (
    repr,
    lambda d: use(d.sample(), 2),
    lambda d: d.rsample((2,)),
    lambda d: d.log_prob(d.sample()),
    lambda d: d.log_prob(t((3,))),
    lambda d: d.entropy(),
    lambda d: (d.mean, d.variance),
    lambda d: d.cdf(t((3,))),
    lambda d: d.icdf(t((3,))),
    lambda d: d.enumerate_support() if d.batch_shape.numel() < 1000 else None,
    lambda d: d.expand((2, *d.batch_shape)),
)


def _try(act: Any, result: Any) -> None:
    try:
        act(result)
    except SystemError:
        raise
    except Exception:
        pass


def _use_tensor(x: torch.Tensor) -> None:
    if x.numel() < 1000:
        repr(x)
    if x.numel() < 100_000:
        x.detach().to(torch.float64 if not x.is_complex() else torch.complex128).sum().item()
    if x.requires_grad:
        total = x.sum()
        total = total.abs() if total.is_complex() else total
        total.backward(retain_graph=x.numel() % 2 == 0)


def names() -> dict[str, Any]:
    """What programs see."""
    space: dict[str, Any] = {
        "torch": torch, "np": np, "gc": gc, "t": t, "use": use, "Index": Index, "Number": Number,
        "Raises": Raises, "Array": Array, "Shrinks": Shrinks, "clearing": clearing, "copy": copy,
        "F": torch.nn.functional, "nn": torch.nn, "math": math, "pickle": pickle, "weakref": weakref,
        "hook": hook, "function": function, "Duck": Duck, "Mode": Mode, "Subclass": Subclass,
        "Taker": Taker,
    }  # fmt: skip
    space["together"] = lambda *texts, **options: together(space, *texts, **options)
    return space


# ---- graphs and threads: hooks and Functions that misbehave, in a word


def hook(kind: str, act: Any = None) -> Any:
    """A hook of a tensor or a node that does what hooks should not."""

    def run(*gradients: Any) -> Any:
        g = gradients[0][0] if isinstance(gradients[0], tuple) else gradients[0]
        if act is not None:
            act()
        if kind == "raise":
            raise ValueError("from a hook")
        if kind == "inplace" and isinstance(g, torch.Tensor):
            g.mul_(2)
        answers = {
            "shape": lambda: torch.ones(7),
            "dtype": lambda: g.to(torch.float16),
            "text": lambda: "gradient",
            "tuple": lambda: (g, g, g),
            "same": lambda: g,
            "more": lambda: g * 2,
            "graph": lambda: g.detach().requires_grad_() * 2,
        }
        return answers[kind]() if kind in answers else None

    return run


HOOKS = "none none raise inplace shape dtype text tuple same more graph".split()


def function(kind: str, act: Any = None) -> Any:
    """The `apply` of a custom Function with a backward that misbehaves."""

    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            ctx.n = len(inputs)
            x = inputs[0]
            if kind == "input":
                return x
            if kind == "view":
                return x.view(-1)
            if kind == "dirty":
                ctx.mark_dirty(x)
                return x.mul_(2)
            if kind == "false dirty":
                ctx.mark_dirty(x)
                return x * 2
            if kind == "several":
                ctx.save_for_backward(x, x * 2)
                return x * 2, x * 3, None
            if kind == "constant":
                y = x * 2
                ctx.mark_non_differentiable(y)
                return y
            y = x * 2
            ctx.save_for_backward(x, y)
            if kind == "cycle":
                ctx.y = y
            return "text" if kind == "text" else y

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            if act is not None:
                act()
            g = gradients[0]
            if kind == "raise":
                raise ValueError("from a Function")
            if kind == "inplace":
                g.mul_(2)
            if kind == "saved":
                ctx.saved_tensors[0].mul_(2)
            if kind == "twice":
                torch.autograd.grad(
                    (ctx.saved_tensors[1] * 1).sum(), ctx.saved_tensors[0], allow_unused=True
                )
            answers = {
                "short": lambda: (),
                "long": lambda: (g,) * (ctx.n + 1),
                "shape": lambda: (torch.ones(7),) * ctx.n,
                "none": lambda: (None,) * ctx.n,
                "list": lambda: [g] * ctx.n,
                "odd": lambda: ("gradient",) * ctx.n,
                "integer": lambda: (torch.ones(g.shape, dtype=torch.int64),) * ctx.n,
            }
            return answers[kind]() if kind in answers else (g,) * ctx.n

    return Odd.apply


FUNCTIONS = """good raise inplace saved twice short long shape none list odd integer input view dirty several
constant cycle text""".split()


def together(namespace: dict[str, Any], *texts: str, times: int = 30) -> None:
    """Run texts at the same time, each again and again, over the same names."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    gate = threading.Barrier(len(texts))
    codes = [[compile(part, "<thread>", "exec") for part in text.split("; ")] for text in texts]

    def loop(code: list[Any]) -> None:
        gate.wait()
        for _ in range(times):
            for part in code:
                try:
                    exec(part, namespace)
                except Exception as error:
                    unexpected(error)

    threads = [threading.Thread(target=loop, args=(code,), daemon=True) for code in codes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(before)


def unexpected(error: BaseException) -> None:
    """A SystemError is a defect of the library, whatever the program did."""
    if isinstance(error, SystemError):
        raise AssertionError(f"SystemError: {error}") from error


def run(text: str) -> None:
    """A program, a statement a line: exceptions are allowed, crashes are not."""
    space = names()
    for line in text.strip().splitlines():
        try:
            exec(line, space)
        except Exception as error:
            unexpected(error)
