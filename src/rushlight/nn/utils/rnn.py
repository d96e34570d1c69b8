"""Sequences of different lengths: padded into one tensor, or packed without padding for the
recurrent layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base.errors import taking_pytorchs
from ..._base.missing import missing_name as _missing_name
from ..._base.outside import np
from .._moving import target

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _PackedFields(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_PackedFields):
    """A batch of sequences step by step: `data` holds `batch_sizes[t]` rows for step t, longest
    sequence first.

    Made by `pack_padded_sequence` and `pack_sequence`; `sorted_indices` says how the batch was
    sorted for it.

    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    __slots__ = ()
    __annotations__: dict[str, Any] = {}

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: object = None,
    ) -> Self:
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. "
                "Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence "
                "and pack_padded_sequences in nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: object) -> Self:
        """The same sequences with the data moved or cast as by `Tensor.to`."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        target(args, kwargs)  # refuses copy=
        return self._with(data, lambda indices: indices.to(data.device))

    def _with(self, data: Tensor, change: Callable[[Tensor], Tensor]) -> Self:
        """The same sequences with other data, and the indices changed."""
        indices = [i if i is None else change(i) for i in (self[2], self[3])]
        return type(self)(data, self.batch_sizes, *indices)

    def _on(self, device: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Self:
        """`to`, with the device unless the arguments name one that is as good."""
        if self.data.new_empty(0).to(*args, **kwargs).device.type != device:
            kwargs["device"] = device
        return self.to(*args, **kwargs)

    def cpu(self, *args: object, **kwargs: object) -> Self:
        """Data on the CPU."""
        return self._on("cpu", args, kwargs)

    def cuda(self, *args: object, **kwargs: object) -> Self:
        """Data on the GPU."""
        return self._on("cuda", args, kwargs)

    def double(self) -> Self:
        """Data as float64."""
        return self.to(dtype=rl.double)

    def float(self) -> Self:
        """Data as float32."""
        return self.to(dtype=rl.float32)

    def half(self) -> Self:
        """Data as float16."""
        return self.to(dtype=rl.half)

    def long(self) -> Self:
        """Data as int64."""
        return self.to(dtype=rl.long)

    def int(self) -> Self:
        """Data as int32."""
        return self.to(dtype=rl.int32)

    def short(self) -> Self:
        """Data as int16."""
        return self.to(dtype=rl.short)

    def char(self) -> Self:
        """Data as int8."""
        return self.to(dtype=rl.int8)

    def byte(self) -> Self:
        """Data as uint8."""
        return self.to(dtype=rl.uint8)

    def pin_memory(self) -> Self:
        """Data in page-locked memory, for a GPU."""
        return self._with(self.data.pin_memory(), lambda indices: indices.pin_memory())

    def is_pinned(self) -> bool:
        """Whether the data are in page-locked memory."""
        return self.data.is_pinned()

    @property
    def is_cuda(self) -> bool:
        """Whether the data are on a GPU."""
        return self.data.device.type == "cuda"


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes the given one.

    >>> nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    output = rl.empty_like(permutation)
    output.scatter_(0, permutation, rl.arange(0, permutation.numel(), device=permutation.device))
    return output


def pack_padded_sequence(
    input: Tensor, lengths: object, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs a padded batch (T, N, ...), or (N, T, ...) with `batch_first`, of sequences of the
    given lengths.

    The lengths must fall, unless `enforce_sorted` is False: then the batch is sorted here.

    >>> padded = torch.tensor([[1, 4], [2, 5], [3, 0]])
    >>> nn.utils.rnn.pack_padded_sequence(padded, lengths=[3, 2]).data
    tensor([1, 4, 2, 5, 3])
    """
    lengths = rl.as_tensor(lengths, dtype=rl.int64, device="cpu")
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = rl.sort(lengths, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    steps = input.transpose(0, 1) if batch_first else input
    if not input.numel():
        raise RuntimeError(
            f"Cannot pack empty tensors. The input has the shape {list(input.shape)}"
        )
    if lengths.dim() != 1:
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got "
            f"{lengths.dim()}D cpu Long tensor"
        )
    counts: list[int] = lengths.tolist()
    batch = steps.size(1)
    if len(counts) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} "
            f"(batch_size={batch})"
        )
    if any(count <= 0 for count in counts):
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element "
            "in 'lengths' that is <= 0"
        )
    if max(counts) > steps.size(0):
        raise RuntimeError(
            f"Expected every length to be at most the padded batch's {steps.size(0)} steps, but "
            f"got {max(counts)}"
        )
    if counts != sorted(counts, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence "
            "to sidestep this requirement if you do not need ONNX exportability."
        )
    there = rl.tensor(counts) > rl.arange(counts[0])[:, None]
    at = there.flatten().nonzero().squeeze(1).to(steps.device)
    data = steps[: counts[0]].flatten(0, 1).index_select(0, at)
    return PackedSequence(data, there.sum(1), sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Undoes packing: the padded batch and the lengths.

    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
    >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 5, 0]]), tensor([3, 2]))
    """
    data, batch_sizes, _, unsorted_indices = sequence
    sizes: list[int] = batch_sizes.tolist()
    if not sizes:
        raise RuntimeError("batch_sizes can not be empty")
    length = len(sizes)
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                "Expected total_length to be at least the length "
                "of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {length}"
            )
        length = total_length
    batch = sizes[0]
    rest = tuple(data.shape[1:])
    # Step t of sequence i is row t * batch + i, and those that are there stand in the same order.
    there = np.flatnonzero(np.arange(batch) < np.array(sizes)[:, None])
    at = there.astype(np.int64)  # whatever NumPy counts with
    padded = data.new_full((length, batch, *rest), padding_value).flatten(0, 1)
    padded = padded.index_copy(0, rl.from_numpy(at).to(data.device), data)
    padded = padded.reshape(length, batch, *rest)
    if batch_first:
        padded = padded.transpose(0, 1)
    lengths = rl.from_numpy(np.bincount(at % batch, minlength=batch))
    if unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
        lengths = lengths[unsorted_indices.cpu()]
    return padded, lengths


def pad_sequence(
    sequences: object,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stacks tensors (L_i, ...) into (max L, N, ...), filled up to the longest with
    `padding_value`.

    >>> nn.utils.rnn.pad_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])], batch_first=True)
    tensor([[1, 2, 3],
            [4, 0, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    for i, s in enumerate(sequences):
        if not isinstance(s, rl.Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(s).__name__}"
                f"{taking_pytorchs(s)}"
            )
        if not s.dim():
            raise RuntimeError(f"pad_sequence: element {i} has no dimension that could be padded")
    length = max(s.shape[0] for s in sequences)
    rest = tuple(sequences[0].shape[1:])
    missing = [length - s.shape[0] for s in sequences]
    filler = sequences[0].new_full((max(missing), *rest), padding_value)
    pieces: list[Tensor] = []
    for s, n in zip(sequences, missing, strict=True):
        pair = (s.to(filler.dtype), filler[:n]) if n else (s.to(filler.dtype),)
        pieces += pair if padding_side == "right" else pair[::-1]
    padded = rl.cat(pieces).reshape(len(sequences), length, *rest)
    return padded if batch_first else padded.transpose(0, 1).contiguous()


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """Undoes `pad_sequence`: the sequences, cut to their lengths.

    >>> padded = torch.tensor([[1, 4], [2, 5], [3, 0]])
    >>> nn.utils.rnn.unpad_sequence(padded, torch.tensor([3, 2]))
    [tensor([1, 2, 3]), tensor([4, 5])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [
        sequence[:length]
        for sequence, length in zip(padded_sequences, lengths.tolist(), strict=True)
    ]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of tensors (L_i, ...).

    >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])]).batch_sizes
    tensor([2, 2, 1])
    """
    lengths = rl.tensor([s.shape[0] for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Undoes `pack_sequence`.

    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
    >>> nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2, 3]), tensor([4, 5])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


if not TYPE_CHECKING:  # to checkers a misspelt name is an error
    __getattr__ = _missing_name(__name__)
