"""Lookup tables."""

from __future__ import annotations

from typing import Self

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base import dtypes
from ..._base.device import DeviceLike
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._of_function import WithSettings, layer
from .module import Module


def _row(index: int | None, rows: int, name: str) -> int | None:
    """The row that an index, which may count from the end, means."""
    if index is None:
        return None
    if not -rows <= index < rows and index != 0:
        raise AssertionError(f"{name} must be within num_embeddings")
    return index + rows if index < 0 else index


def _table(
    shape: tuple[int, int],
    given: Tensor | None,
    *,
    requires_grad: bool = True,
    device: DeviceLike | None,
    dtype: dtypes.dtype | None,
) -> Parameter:
    """The given rows, or memory for them, as a parameter."""
    if given is None:
        given = rl.empty(shape, device=device, dtype=dtype)
    elif tuple(given.shape) != shape:
        raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
    return Parameter(given, requires_grad=requires_grad)


def _draw(weight: Tensor, zero: int | None) -> None:
    """Standard normal values, and a row of zeros."""
    init.normal_(weight)
    if zero is not None:
        with rl.no_grad():
            weight[zero].fill_(0)


@layer(F.embedding, "weight padding_idx max_norm norm_type scale_grad_by_freq sparse")
class Embedding(WithSettings):
    """Rows of a (num_embeddings, embedding_dim) weight, picked by integer index.

    The row `padding_idx` starts at zero and takes no gradient.

    >>> words = nn.Embedding(10, 3, padding_idx=0)
    >>> words(torch.tensor([[1, 2, 0]])).shape
    torch.Size([1, 3, 3])
    >>> words(torch.tensor(0)).detach()
    tensor([0., 0., 0.])
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx: int | None = _row(padding_idx, num_embeddings, "Padding_idx")
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self.weight = _table(
            (num_embeddings, embedding_dim),
            _weight,
            requires_grad=not _freeze,
            device=device,
            dtype=dtype,
        )
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the starting values anew: standard normal, zero at `padding_idx`."""
        _draw(self.weight, self.padding_idx)

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with rl.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, default in (
            ("padding_idx", None),
            ("max_norm", None),
            ("norm_type", 2),
            ("scale_grad_by_freq", False),
            ("sparse", False),
        ):
            value = getattr(self, name)
            if value is not default and value != default:
                text += f", {name}={value}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """A table over given rows, frozen unless told otherwise."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(Module):
    """The sum, mean or maximum of the rows that each bag of indices picks.

    A bag is a row of a 2-dimensional input, or what lies between two `offsets` of a 1-dimensional
    one. The row `padding_idx` starts at zero, counts for nothing and takes no gradient.

    >>> bag = nn.EmbeddingBag.from_pretrained(torch.tensor([[1.0], [2.0], [4.0]]), mode="sum")
    >>> bag(torch.tensor([[0, 1], [1, 2]]))
    tensor([[3.],
            [6.]])
    >>> bag(torch.tensor([0, 1, 2]), offsets=torch.tensor([0, 1]))
    tensor([[1.],
            [6.]])
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx: int | None = _row(padding_idx, num_embeddings, "padding_idx")
        shape = (num_embeddings, embedding_dim)
        self.weight = _table(shape, _weight, device=device, dtype=dtype)
        if _weight is None:
            self.reset_parameters()
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def reset_parameters(self) -> None:
        """Draws the starting values anew: standard normal, zero at `padding_idx`."""
        _draw(self.weight, self.padding_idx)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        shown = [f"{self.num_embeddings}, {self.embedding_dim}"]
        for name, default in (("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            value = getattr(self, name)
            if value is not default and value != default:
                shown.append(f"{name}={value}")
        shown.append(f"mode={self.mode!r}")
        if self.padding_idx is not None:
            shown.append(f"padding_idx={self.padding_idx}")
        return ", ".join(shown)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """A table over given rows, frozen unless told otherwise."""
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        made.weight.requires_grad = not freeze
        return made
