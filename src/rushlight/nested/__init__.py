"""`torch.nested`: tensors of different lengths as one, of jagged layout; the layout strided, which
PyTorch has as a prototype, is refused."""

from __future__ import annotations

from typing import Any

from .. import _root as rl
from .._core import Tensor
from .._device import jagged as _jagged_layout
from .._elsewhere import refusing as _refusing
from .._missing import missing_name as _missing_name
from ._jagged import NestedTensor as _NestedTensor
from ._jagged import padded as _padded

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]

_WHY = "pad the tensors to one shape (torch.nn.utils.rnn.pad_sequence), or keep them in a list."
for _name in ("masked_select", "narrow"):
    globals()[_name] = _refusing(f"torch.nested.{_name}", _WHY)


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: rl.dtype | None = None,
    layout: rl.layout | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Tensors that differ in the size of one dimension, copied into one of jagged layout.

    >>> parts = [torch.ones(2, 3), torch.ones(4, 3)]
    >>> torch.nested.nested_tensor(parts, layout=torch.jagged).offsets()
    tensor([0, 2, 6])
    """
    parts = [rl.as_tensor(part).detach() for part in tensor_list]
    return as_nested_tensor(parts, dtype, device, layout).requires_grad_(requires_grad)


def as_nested_tensor(
    ts: Any,
    dtype: rl.dtype | None = None,
    device: Any = None,
    layout: rl.layout | None = None,
) -> Tensor:
    """The same, and gradients flow to the tensors.

    >>> parts = [torch.ones(1), torch.ones(2)]
    >>> torch.nested.as_nested_tensor(parts, layout=torch.jagged).to_padded_tensor(0.0)
    tensor([[1., 0.],
            [1., 1.]])
    """
    if isinstance(ts, _NestedTensor):
        return ts.to(device=device, dtype=dtype)
    if layout is not _jagged_layout:
        raise NotImplementedError(
            "torch.nested makes tensors of layout=torch.jagged; the layout strided, PyTorch's "
            f"default, is not here: {_WHY}"
        )
    parts = list(ts)
    if not parts:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    if len({part.dim() for part in parts}) > 1:
        raise RuntimeError(
            "When constructing a nested tensor, all tensors in list must have the same dim"
        )
    if not parts[0].dim():
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    differ = [
        d
        for d, sizes in enumerate(zip(*(p.shape for p in parts), strict=True))
        if len(set(sizes)) > 1
    ]
    if len(differ) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note "
            "that the jagged layout only allows for a single ragged dimension. For example: "
            "(B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
    at = differ[0] if differ else 0
    lengths = rl.tensor([0, *(part.shape[at] for part in parts)])
    values = rl.cat(parts, at).to(device=device, dtype=dtype)
    return _NestedTensor._of(values, lengths.cumsum(0).to(values.device), at + 1)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """The tensor of these values, whose parts begin at the offsets or have the lengths.

    >>> made = torch.nested.nested_tensor_from_jagged(torch.arange(6), torch.tensor([0, 2, 6]))
    >>> made.unbind()
    (tensor([0, 1]), tensor([2, 3, 4, 5]))
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError(
                "nested_tensor_from_jagged(): At least one of offsets or lengths is required."
            )
        offsets = rl.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    elif lengths is not None:
        raise NotImplementedError(
            "nested_tensor_from_jagged(): not supported with offsets and lengths; parts fill the "
            "values here"
        )
    at = 0 if jagged_dim is None else jagged_dim - 1
    steps = offsets.diff()
    if offsets[0] != 0 or bool((steps < 0).any()) or offsets[-1] != values.shape[at]:
        raise RuntimeError(
            f"offsets rise from 0 to the size {values.shape[at]}, but got {offsets.tolist()}"
        )
    return _NestedTensor._of(values.view_as(values), offsets, at + 1)


def to_padded_tensor(input: Tensor, padding: float, output_size: Any = None) -> Tensor:
    """A dense tensor, with `padding` behind the shorter parts.

    >>> parts = [torch.ones(1), torch.ones(2)]
    >>> nested = torch.nested.nested_tensor(parts, layout=torch.jagged)
    >>> torch.nested.to_padded_tensor(nested, -1.0)
    tensor([[ 1., -1.],
            [ 1.,  1.]])
    """
    if not isinstance(input, _NestedTensor):
        raise RuntimeError("to_padded_tensor(): expected a NestedTensor")
    return _padded(input, padding, output_size)


__getattr__ = _missing_name(__name__)
