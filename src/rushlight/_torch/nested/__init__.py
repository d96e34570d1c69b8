"""`torch.nested`: tensors of different lengths as one, of jagged layout; the layout strided, which
PyTorch has as a prototype, is refused."""

from __future__ import annotations

from typing import Any

from ... import _root as rl
from ..._base.device import jagged as _jagged_layout
from ..._core import Tensor
from ._jagged import NestedTensor as _NestedTensor
from ._jagged import offsets_of as _offsets_of
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


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: rl.dtype | None = None,
    layout: rl.layout | None = None,
    device: object = None,
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
        offsets, lengths = _offsets_of(lengths), None
    at = 0 if jagged_dim is None else jagged_dim - 1
    steps = offsets.diff()
    if offsets[0] != 0 or bool((steps < 0).any()) or offsets[-1] != values.shape[at]:
        raise RuntimeError(
            f"offsets rise from 0 to the size {values.shape[at]}, but got {offsets.tolist()}"
        )
    if lengths is not None and (len(lengths) != len(steps) or bool((lengths > steps).any())):
        raise RuntimeError(
            f"lengths reach at most from an offset to the next, but got {lengths.tolist()} for "
            f"offsets {offsets.tolist()}"
        )
    return _NestedTensor._of(values.view_as(values), offsets, at + 1, lengths)


def narrow(
    tensor: Tensor, dim: int, start: int | Tensor, length: int | Tensor, layout: object = rl.strided
) -> Tensor:
    """A view of rows of a tensor: of each the elements from its `start` on, of its `length`.

    >>> rows = torch.arange(6).reshape(2, 3)
    >>> starts, lengths = torch.tensor([0, 1]), torch.tensor([1, 2])
    >>> torch.nested.narrow(rows, 1, starts, lengths, layout=torch.jagged).unbind()
    (tensor([0]), tensor([4, 5]))
    """
    if layout is not _jagged_layout:
        if not (isinstance(start, int) and isinstance(length, int)):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        raise NotImplementedError(f"narrow(): the layout strided is not here: {_WHY}")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    rows, size = tensor.shape[:2]
    starts, lengths = (
        (rl.full((rows,), v) if isinstance(v, int) else v).to(tensor.device)
        for v in (start, length)
    )
    if bool(((starts < 0) | (lengths < 0) | (starts + lengths > size)).any()):
        raise RuntimeError(
            f"narrow(): start and length are within the size {size} of dim 1, but got "
            f"{starts.tolist()} and {lengths.tolist()}"
        )
    begins = starts + rl.arange(rows, device=tensor.device) * size
    offsets = rl.cat([begins, begins[-1:] + lengths[-1:]])
    return _NestedTensor._of(tensor.flatten(0, 1), offsets, 1, lengths)


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements of each row where a mask is True; rows run along the last dimension of the mask.

    >>> mask = torch.tensor([[True, False, True], [False, False, True]])
    >>> torch.nested.masked_select(torch.arange(6).reshape(2, 3), mask).unbind()
    (tensor([0, 2]), tensor([5]))
    """
    if tensor.layout is not rl.strided:
        raise RuntimeError(
            f"torch.nested.masked_select requires a strided tensor, given {tensor.layout}"
        )
    if mask.dtype is not rl.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    taken = mask.expand(tensor.shape)
    counts = taken.flatten(0, -2).sum(-1) if mask.ndim > 1 else mask.sum()[None]
    return _NestedTensor._of(tensor.masked_select(taken), _offsets_of(counts))


def to_padded_tensor(input: Tensor, padding: float, output_size: object = None) -> Tensor:
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
