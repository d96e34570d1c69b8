"""Members of Tensor that few programs use: other devices and layouts, older names, and what only
quantized tensors have."""

from __future__ import annotations

from typing import Any, NoReturn

from .._base.device import channels_last, channels_last_3d, contiguous_format
from .._base.errors import warn
from .._base.late import late
from .._core import Tensor
from ..ops.making.creation import empty_strided
from ..ops.table.names import publish
from ..ops.table.signature import Keywords, Sizes, dtype
from ..storage import never

__all__ = ["not_on_cpu"]


def not_on_cpu(name: str) -> NotImplementedError:
    """torch's error for an operator that the CPU does not have."""
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. It is an operator of "
        "other devices, or of quantized, sparse or nested tensors."
    )


def _resize(self: Tensor, *sizes: Any) -> Tensor:
    """The same elements in another shape (deprecated: `reshape`)."""
    warn("non-inplace resize is deprecated")
    if not all(isinstance(n, int) for n in sizes):  # torch takes one tuple for one size
        sizes = sizes[0] if len(sizes) == 1 else sizes
    shape = tuple(sizes)
    count = 1
    for n in shape:
        count *= n
    said = "x".join(map(str, shape))
    if count != self.numel():
        raise RuntimeError(
            f"requested resize to {said} ({count} elements in total), but the given tensor has "
            f"a size of {'x'.join(map(str, self.shape))} ({self.numel()} elements). autograd's "
            "resize can only change the shape of a given tensor, while preserving the number of "
            "elements. "
        )
    return self.contiguous().view(shape)


def _resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The same elements in the shape of another tensor (deprecated: `reshape_as`)."""
    return _resize(self, *tensor.shape)


def _fix_weakref(self: Tensor) -> None:
    """Nothing: a tensor that a program has lost is not kept for it."""


def _storage_type(self: Tensor) -> type:
    """The class of storages with the tensor's dtype."""
    found: type = getattr(late.package(), f"{self.dtype.scalar_name}Storage")
    return found


def _new_empty_strided(self: Tensor, size: Sizes, stride: Sizes, **how: Keywords) -> Tensor:
    """A tensor of the given size and strides whose elements are not set, like this one else."""
    like = {"dtype": how.get("dtype") or self.dtype, "device": how.get("device") or self.device}
    return empty_strided(size, stride, **{**how, **like})


def _order(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions from the largest stride to the smallest. Of equal ones the larger stands
    first; a stride of 0 says nothing of its place."""
    order = list(reversed(range(len(sizes))))
    for i in range(1, len(order)):
        d = i
        for e in reversed(range(i)):
            inner, outer = order[e], order[d]
            if strides[inner] and strides[outer]:
                if (strides[inner], sizes[inner]) > (strides[outer], sizes[outer]):
                    order[e], order[d], d = outer, inner, e
                elif strides[inner] < strides[outer]:
                    break
    return tuple(reversed(order))


def _dim_order(self: Tensor, *, ambiguity_check: object = False) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost.

    ambiguity_check: True raises RuntimeError where sizes or strides of 1 or 0 leave a choice; a
    list of memory formats, where not exactly one of them fits.
    """
    formats = ambiguity_check if isinstance(ambiguity_check, (list, tuple)) else []
    known = (contiguous_format, channels_last, channels_last_3d)
    if not isinstance(ambiguity_check, (bool, list, tuple)) or any(f not in known for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    order = _order(self.shape, self.stride())
    unsure = len(set(self.stride())) < self.ndim or 1 in self.shape
    if ambiguity_check and unsure:
        fit = [f for f in formats if self.is_contiguous(memory_format=f)]
        if len(fit) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the "
                "given memory formats."
            )
        if fit[0] is contiguous_format:
            return tuple(range(self.ndim))
        return (0, *range(2, self.ndim), 1)
    return order


def _module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """The tensor that `load_state_dict` puts here, given the tensor of the checkpoint."""
    return other.detach() if assign else self.copy_(other).detach()


def _reinforce(self: Tensor, reward: object) -> NoReturn:
    """Refused: PyTorch removed it."""
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead: the log_prob of a sample, "
        "times the reward, is what to differentiate."
    )


def _is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return self.shape == other.shape


def _index(self: Tensor, dims: object, positions: object = None) -> NoReturn:
    """Refused: it binds first-class dimensions."""
    raise NotImplementedError(
        "Tensor.index binds first-class dimensions, which rushlight does not have. "
        "Write x[index], or torch.index_select."
    )


def _to_padded_tensor(self: Tensor, padding: float, output_size: Sizes | None = None) -> NoReturn:
    """Refused: it is for nested tensors."""
    raise not_on_cpu("to_padded_tensor")


def _to_mkldnn(self: Tensor, dtype: dtype | None = None) -> Tensor:
    """The tensor in oneDNN's own layout: here the tensor itself, or a copy in another dtype."""
    return self if dtype is None else self.to(dtype)


def _record_stream(self: Tensor, s: object) -> None:
    """Nothing: memory is not handed out by streams."""


def _elsewhere(device: str, name: str, error: type[Exception], text: str) -> Any:
    def method(self: Tensor, *args: object, **kwargs: object) -> NoReturn:
        raise error(text)

    method.__name__, method.__doc__ = name, f"Refused: there is no {device} here."
    return method


def _of_quantized(name: str) -> Any:
    def method(input: Tensor) -> NoReturn:
        raise not_on_cpu(name)

    method.__name__ = name
    method.__doc__ = "Refused: only quantized tensors have it."
    return method


def _dequantize(self: Tensor) -> Tensor:
    """The tensor as float32: it is not quantized."""
    return self.float()


# Methods that are functions of torch, too.
_BOTH = {
    "is_same_size": _is_same_size,
    "dequantize": _dequantize,
    **{
        name: _of_quantized(name)
        for name in """int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points
        q_scale q_zero_point""".split()
    },
}
_RARE = {
    **_BOTH,
    "qscheme": _of_quantized("qscheme"),
    "index": _index,
    "resize": _resize,
    "resize_as": _resize_as,
    "storage_type": _storage_type,
    "_fix_weakref": _fix_weakref,
    "new_empty_strided": _new_empty_strided,
    "dim_order": _dim_order,
    "module_load": _module_load,
    "reinforce": _reinforce,
    "record_stream": _record_stream,
    "to_mkldnn": _to_mkldnn,
    "to_padded_tensor": _to_padded_tensor,
    "is_distributed": lambda self: False,
    "const_data_ptr": lambda self: self.data_ptr(),
    "ipu": _elsewhere(
        "IPU", "ipu", RuntimeError, "PyTorch is not linked with support for ipu devices"
    ),
    "mtia": _elsewhere(
        "MTIA device", "mtia", AssertionError, "Torch not compiled with MTIA enabled"
    ),
    "xpu": _elsewhere("Intel GPU", "xpu", AssertionError, "Torch not compiled with XPU enabled"),
    "is_ipu": never("Whether it lives on an IPU"),
    "is_maia": never("Whether it lives on a Maia accelerator"),
    "is_mtia": never("Whether it lives on an MTIA accelerator"),
    "is_vulkan": never("Whether it lives in Vulkan's memory"),
    "is_xla": never("Whether it is an XLA tensor"),
}
_RARE["is_distributed"].__doc__ = "Whether it is spread over machines: never."
_RARE["const_data_ptr"].__doc__ = "The address of the first element."
_ONE = ">>> x = torch.arange(6.0).reshape(2, 3)\n"
_EXAMPLES = {
    "is_same_size": ">>> x.is_same_size(x.t())\nFalse",
    "dequantize": ">>> x.dequantize() is x\nTrue",
    "resize": ">>> x.resize(3, 2).shape\ntorch.Size([3, 2])",
    "resize_as": ">>> x.resize_as(x.t()).shape\ntorch.Size([3, 2])",
    "storage_type": ">>> x.storage_type() is torch.FloatStorage\nTrue",
    "new_empty_strided": ">>> x.new_empty_strided((2, 3), (1, 2)).stride()\n(1, 2)",
    "dim_order": ">>> x.t().dim_order()\n(1, 0)",
    "module_load": ">>> x.module_load(torch.zeros(2, 3)).sum(), x.sum()\n(tensor(0.), tensor(0.))",
    "to_mkldnn": ">>> x.to_mkldnn().shape\ntorch.Size([2, 3])",
    "is_distributed": ">>> x.is_distributed()\nFalse",
    "const_data_ptr": ">>> x.const_data_ptr() == x.data_ptr()\nTrue",
}
_RAISES = dict.fromkeys(
    """int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale
    q_zero_point qscheme""".split(),
    "",
)
_RAISES |= {"ipu": "", "mtia": "", "xpu": "", "reinforce": "1", "to_padded_tensor": "0.0"}
for _name, _given in _RAISES.items():
    _EXAMPLES[_name] = (
        f">>> try:\n...     x.{_name}({_given})\n... except (RuntimeError, AssertionError):\n"
        "...     'not here'\n'not here'"
    )
_EXAMPLES |= {n: f">>> x.{n}\nFalse" for n in _RARE if isinstance(_RARE[n], property)}
_RARE["_grad_fn"] = property(lambda self: self.grad_fn)
for _name, _member in _RARE.items():
    if _name in _EXAMPLES and _member.__doc__:  # python -OO strips docstrings
        _member.__doc__ += f"\n\n{_ONE}{_EXAMPLES[_name]}"
    if callable(_member):
        _member.__name__ = _member.__qualname__ = _name
    publish("Tensor", _name, _member, plain=True)
for _name in ("div", "rdiv", "idiv"):  # Python 2's names of the operator
    publish("Tensor", f"__{_name}__", getattr(Tensor, f"__{_name.replace('div', 'truediv')}__"))


# ---- methods that torch has as functions, too


def detach(input: Tensor) -> Tensor:
    """The tensor without its history, in the same memory.

    >>> torch.detach(torch.ones(2, requires_grad=True)).requires_grad
    False
    """
    return input.detach()


def detach_(input: Tensor) -> Tensor:
    """Cuts a tensor off its history, in place.

    >>> torch.detach_(torch.ones(2, requires_grad=True)).requires_grad
    False
    """
    return input.detach_()


def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """In-place version of `addmv`: beta * input + alpha * (mat @ vec).

    >>> torch.addmv_(torch.ones(2), torch.eye(2), torch.tensor([1.0, 2.0]))
    tensor([2., 3.])
    """
    return input.addmv_(mat, vec, beta=beta, alpha=alpha)


def as_strided_(
    input: Tensor, size: Sizes, stride: Sizes, storage_offset: int | None = None
) -> Tensor:
    """Gives a tensor other sizes and strides over its storage, in place.

    >>> torch.as_strided_(torch.arange(4), (2, 2), (1, 2))
    tensor([[0, 2],
            [1, 3]])
    """
    return input.as_strided_(size, stride, storage_offset)


def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Resizes a tensor, in place, to the size of another.

    >>> torch.resize_as_(torch.arange(4), torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    if memory_format is None:
        return input.resize_as_(the_template)
    return input.resize_as_(the_template, memory_format=memory_format)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape.

    >>> torch.is_same_size(torch.zeros(2, 3), torch.zeros(3, 2))
    False
    """
    return _is_same_size(input, other)


def is_signed(input: Tensor) -> bool:
    """Whether a tensor's dtype has negative numbers.

    >>> torch.is_signed(torch.zeros(1, dtype=torch.uint8))
    False
    """
    return bool(input.dtype.is_signed)


def is_distributed(input: Tensor) -> bool:
    """Whether a tensor is spread over machines: never.

    >>> torch.is_distributed(torch.zeros(1))
    False
    """
    return False


def get_device(input: Tensor) -> int:
    """The number of a tensor's GPU; -1 in main memory.

    >>> torch.get_device(torch.zeros(1))
    -1
    """
    return input.get_device()


def dequantize(tensor: Any) -> Any:
    """A tensor as float32: it is not quantized. Of several tensors all must be.

    >>> torch.dequantize(torch.tensor([1.5]))
    tensor([1.5000])
    """
    if isinstance(tensor, Tensor):
        return _dequantize(tensor)
    raise not_on_cpu("dequantize.tensors")


for _function in (
    *(detach, detach_, addmv_, as_strided_, resize_as_, is_same_size, is_signed),
    *(is_distributed, get_device, dequantize),
):
    publish("torch", _function.__name__, _function, plain=True)
