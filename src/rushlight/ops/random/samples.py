"""New tensors of random numbers: rand, randn, randint, randperm, normal, multinomial, ..."""

from __future__ import annotations

from operator import index as as_int
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._core import Op, Tensor
from ..._devices import of
from ..._devices.generator import fill as draw_into
from ..._devices.generator import for_host, state_of
from ..._levels.running import draws
from ..layout.shape import common_shape
from ..making.creation import empty_like, zeros_like
from ..making.factory import check_keywords, destination, finished, shape_of, type_of
from ..table.arrays import fitted_number
from ..table.kinds import composite, general
from ..table.outputs import resize
from ..table.signature import Generator, Ints, Keywords, memory_format
from .fills import DIGITS, bernoulli_, check_deviation, check_type, integer_range

_kernels = _core.kernels


def _drawn_like(
    name: str, input: Tensor, place: Any, kernel: str, generator: Any, *args: float
) -> Any:
    """The result of a like function: numbers that a kernel draws. place: the memory format and the
    keywords of the call."""
    memory_format, how = place
    check_keywords(how, name)
    made = empty_like(input, memory_format=memory_format, **how)
    if of(made).has_memory:
        draw_into(kernel, generator, made, *args)
    return made


def _drawn(
    where: Any, shape: tuple[int, ...], kind: dtypes.dtype, kernel: str, generator: Any, *args: Any
) -> Any:
    """A new tensor with numbers that a kernel draws."""
    made = where.made(shape, kind)
    if where.has_memory:
        draw_into(kernel, generator, made, *args)
    return made


def _sampled(name: str, kernel: str, args: tuple[float, ...], said: str, doc: str) -> Any:
    """A function of sizes and its like function; said: torch's name of the kernel in errors."""
    called = name + "_like"

    def check(kind: dtypes.dtype) -> None:
        check_type(kind, "fc", said)

    @composite(
        method=False,
        name=name,
        doc=f"A tensor of the given size with numbers {doc}.",
        native=getattr(_kernels, name),
        overloads=(
            "(size: Sizes, *, generator: Generator | None, out, ...)",
            "(size: Sizes, *, out, ...)",
        ),
    )
    @draws()
    def create(
        *size: Ints,
        generator: Generator | None = None,
        out: Tensor | None = None,
        **how: Keywords,
    ) -> Tensor:
        if "size" in how and not size:
            size = (how.pop("size"),)
        kind = type_of(how.get("dtype"), name, out)
        check(kind)
        where = destination(how, name, out)
        made = _drawn(where, shape_of(name, size), kind, kernel, generator, *args)
        return finished(made, how, out, name)

    @composite(
        method=False,
        name=called,
        doc=f"A tensor of another's size and dtype with numbers {doc}.",
        overloads=(
            "(input, *, generator: Generator | None, memory_format, ...)",
            "(input, *, memory_format, ...)",
        ),
    )
    @draws()
    def like(
        input: Tensor,
        *,
        memory_format: memory_format | None = None,
        generator: Generator | None = None,
        **how: Keywords,
    ) -> Tensor:
        check(how.get("dtype") or input.dtype)
        return _drawn_like(called, input, (memory_format, how), kernel, generator, *args)

    return create, like


rand, rand_like = _sampled(
    "rand", "uniform_", (0.0, 1.0), "check_uniform_bounds", "drawn evenly from [0, 1)"
)
randn, randn_like = _sampled(
    "randn", "normal_", (0.0, 1.0), "normal_kernel_cpu", "of the standard normal distribution"
)


@composite(
    method=False,
    native=_kernels.randint,
    overloads=(
        "(high: int, size: Sizes, *, generator: Generator | None, out, ...)",
        "(high: int, size: Sizes, *, out, ...)",
        "(low: int, high: int, size: Sizes, *, generator: Generator | None, out, ...)",
        "(low: int, high: int, size: Sizes, *, out, ...)",
    ),
)
@draws(size_last=True)
def randint(
    low: Any = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **how: Keywords,
) -> Tensor:
    """A tensor of integers drawn evenly from [low, high)."""
    if size is None:
        if high is None or not isinstance(high, (tuple, list)):
            raise TypeError('randint() missing 1 required positional arguments: "size"')
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    kind = type_of(how.get("dtype") or (dtypes.int64 if out is None else None), "randint", out)
    low, high = integer_range(as_int(low), as_int(high), kind)
    where = destination(how, "randint", out)
    shape = shape_of("randint", tuple(size))
    made = _drawn(where, shape, kind, "randint_", generator, low, high)
    return finished(made, how, out, "randint")


@composite(
    method=False,
    overloads=(
        "(input, low: int, high: int, *, generator: Generator | None, memory_format, ...)",
        "(input, low: int, high: int, *, memory_format, ...)",
        "(input, high: Tensor, *, generator: Generator | None, memory_format, ...)",
        "(input, high: Tensor, *, memory_format, ...)",
        "(input, high: int, *, generator: Generator | None, memory_format, ...)",
        "(input, high: int, *, memory_format, ...)",
    ),
)
@draws()
def randint_like(
    input: Tensor,
    low: Any = 0,
    high: Any = None,
    *,
    memory_format: memory_format | None = None,
    generator: Generator | None = None,
    **how: Keywords,
) -> Tensor:
    """A tensor of another's size with integers drawn evenly from [low, high)."""
    if high is None:
        low, high = 0, low
    low, high = (int(n) if isinstance(n, Tensor) else n for n in (low, high))
    low, high = integer_range(as_int(low), as_int(high), how.get("dtype") or input.dtype)
    return _drawn_like(
        "randint_like", input, (memory_format, how), "randint_", generator, low, high
    )


@composite(
    method=False,
    native=_kernels.permutation,
    overloads=(
        "(n, *, generator: Generator | None, out, ...)",
        "(n, *, out, ...)",
    ),
)
@draws(one_by_one=True)
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **how: Keywords,
) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    n = as_int(n)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    wanted = type_of(how.get("dtype") or (dtypes.int64 if out is None else None), "randperm", out)
    check_type(wanted, "if", "randperm")
    if wanted.category == _core.Category.INTEGER and n:
        fitted_number(n - 1, wanted)
    elif wanted is not dtypes.bfloat16 and n > (1 << DIGITS.get(wanted.name, 64)) + 1:
        most = "2049" if wanted is dtypes.float16 else f"2^{DIGITS[wanted.name]}+1"
        raise RuntimeError(
            f"n cannot be greater than {most} for {wanted.scalar_name} type. It is {n}."
        )
    where = destination(how, "randperm", out)
    if where.makes:
        keys = _drawn(where, (n,), dtypes.int64, "random_", generator)
        made = keys.argsort().to(wanted)
    elif where.has_memory:
        made = _core.cast(_kernels.randperm(state_of(generator), n), wanted.code)
    else:
        made = where.made((n,), wanted)
    return finished(made, how, out, "randperm")


def _once(x: Tensor) -> Tensor:
    """Each element in memory once, whatever x was expanded to."""
    return x[tuple(slice(1) if step == 0 else slice(None) for step in x.stride())]


@composite(
    method=False,
    overloads=(
        "(mean: Tensor, std: Tensor, *, generator, out)",
        "(mean: Tensor, std: float = 1, *, generator, out)",
        "(mean: float, std: Tensor, *, generator, out)",
        "(mean: float, std: float, size: Sizes, *, generator, out, ...)",
    ),
)
@draws(of_values=True, size_last=True)
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    **how: Keywords,
) -> Tensor:
    """Normal numbers; mean and std are numbers (with a size) or tensors."""
    like = mean if isinstance(mean, Tensor) else std
    if not isinstance(like, Tensor):
        if size is None:
            raise TypeError('normal() missing 1 required positional arguments: "size"')
        shape = shape_of("normal", tuple(size))
        kind = type_of(how.get("dtype"), "normal", out)
    else:
        shape = common_shape([a.shape for a in (mean, std) if isinstance(a, Tensor)])
        kind = (like if out is None else out)._form.dtype
    if not isinstance(std, Tensor):
        check_deviation(std)
    elif std.is_complex():
        raise RuntimeError("normal expects standard deviation to be non-complex")
    elif std.numel() and not std._on_meta and not bool((_once(std) >= 0).all()):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    check_type(kind, "fc", "normal_kernel_cpu")
    where = destination(how, "normal", out, like if isinstance(like, Tensor) else None)
    if not isinstance(like, Tensor):
        made = _drawn(where, shape, kind, "normal_", generator, float(mean), float(std))
        return finished(made, how, out, "normal")
    each = isinstance(std, Tensor)
    made = _drawn(where, tuple(shape), kind, "normal_", generator, 0.0, 1.0 if each else float(std))
    if where.has_memory:
        if each:
            made.mul_(std.detach())
        made.add_(mean.detach() if isinstance(mean, Tensor) else mean)
    if out is None and _wants_gradient(mean, std):
        tensors = [a for a in (mean, std) if isinstance(a, Tensor)]
        return _normal_of[isinstance(mean, Tensor), each](*tensors, made)
    if out is not None:
        resize(out, shape)
    return finished(made, how, out, "normal")


def _drawn_of(signature: str, names: tuple[str, ...], node: str) -> Op:
    """Numbers drawn already, as the result of the parameters' tensors: their gradient is zero."""
    return general(
        signature,
        is_=lambda *given: given[-1],
        vjp={name: lambda g: zeros_like(g) for name in names},
        jvp={name: lambda t, out: zeros_like(out) for name in names},
        node=node,
        method=False,
        out=False,
        doc="Numbers drawn by parameters that are tensors.",
        batch="trailing",
    )


_normal_of = {
    (True, False): _drawn_of("_normal_1(mean: Tensor, made: Any)", ("mean",), "NormalBackward1"),
    (False, True): _drawn_of("_normal_2(std: Tensor, made: Any)", ("std",), "NormalBackward2"),
    (True, True): _drawn_of(
        "_normal_3(mean: Tensor, std: Tensor, made: Any)", ("mean", "std"), "NormalBackward3"
    ),
}
_bernoulli_of = _drawn_of(
    "_bernoulli_0(input: Tensor, made: Any)", ("input",), "BernoulliBackward0"
)


def _wants_gradient(*given: object) -> bool:
    tensors = [a for a in given if isinstance(a, Tensor)]
    if any(a._wrapped is not None and not a._wrapped.level.maps for a in tensors):
        return True  # of a dual, too, the tangent is zero
    return _core.is_grad_enabled() and any(a.requires_grad for a in tensors)


@composite(
    native=_kernels.bernoulli,
    overloads=(
        "(input, *, generator, out)",
        "(input, p: float, *, generator)",
    ),
)
@draws(of_values=True)
def bernoulli(
    input: Tensor, p: Any = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """1 by the probability each element gives, else 0."""
    where = of(input)
    made = where.made(tuple(input.shape), (input if out is None else out).dtype)
    bernoulli_(made, input if p is None else p, generator=generator)
    if out is None and p is None and _wants_gradient(input):
        return _bernoulli_of(input, made)
    return finished(made, {}, out, "bernoulli")


@composite
@draws(of_values=True, one_by_one=True)
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn by the weights in each row."""
    where = of(input)
    kind = input._form.dtype
    if kind.kind not in "f" and kind.name != "bfloat16":
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{input.dtype.scalar_name}"
        )
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype.scalar_name}")
    if where.has_memory:
        state = state_of(for_host(generator, input))
        weights = input.detach().float() if kind.itemsize == 2 else input.detach()
        made = _kernels.multinomial(state, weights, num_samples, replacement)
    else:
        made = where.made((*input.shape[:-1], num_samples), dtypes.int64)
    return finished(made, {}, out, "multinomial")
