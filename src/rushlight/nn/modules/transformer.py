"""Transformers: layers of attention and a feed-forward network, stacks of them, and the pair of an
encoder and a decoder.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base import dtypes
from ..._base.device import DeviceLike
from ..._base.errors import warn
from ..._base.missing import missing_name as _missing_name
from .. import functional as F
from .. import init
from .activation import GELU, MultiheadAttention, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

Activation = str | Callable[[Tensor], Tensor]


def _causal_mask(
    size: int, device: DeviceLike | None = None, dtype: dtypes.dtype | None = None
) -> Tensor:
    """(size, size), -inf above the diagonal and 0 elsewhere."""
    return rl.full((size, size), float("-inf"), dtype=dtype, device=device).triu_(1)


def _is_causal(mask: Tensor | None, hint: bool | None, size: int) -> bool:
    """Whether a mask is the causal one; the caller's hint is taken at its word."""
    if hint is not None or mask is None:
        return bool(hint)
    if mask.shape[-2:] != (size, size):
        return False
    causal = _causal_mask(size, mask.device)
    causal = causal < 0 if mask.dtype is rl.bool else causal.to(mask.dtype)
    return bool((mask == causal).all())


def _copies(layer: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(n)])


def _activation(given: Activation) -> Any:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return getattr(F, given)


class _Layer(Module):
    """Attention and a feed-forward network, each with a sum around it and a norm.

    The norm is before the block with `norm_first`, else behind the sum.
    """

    _attentions: tuple[str, ...] = ("self_attn",)
    self_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__()
        where: Any = {"device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias=bias, batch_first=batch_first, **where
            )
            setattr(self, name, attention)
        self.linear1: Linear = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout: Dropout = Dropout(dropout)
        self.linear2: Linear = Linear(dim_feedforward, d_model, bias=bias, **where)
        self.norm_first = norm_first
        blocks = range(1, len(self._attentions) + 2)
        for i in blocks:
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where))
        for i in blocks:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation: Any = _activation(activation)

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        if "activation" not in self._modules:
            self.__dict__.setdefault("activation", F.relu)

    def _around(
        self, x: Tensor, norm: Module, block: Callable[..., Tensor], *args: object
    ) -> Tensor:
        """One block with the sum around it and the norm."""
        if self.norm_first:
            return x + block(norm(x), *args)
        return norm(x + block(x, *args))

    def _sa_block(
        self,
        x: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        x = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )[0]
        return self.dropout1(x)

    def _network(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, and a feed-forward network at each of its places.

    `src` is (S, N, d_model), or (N, S, d_model) with `batch_first`, or without N; masks as in
    `MultiheadAttention`.

    >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(torch.zeros(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__(
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )
        made: object = self.activation
        is_relu = made is F.relu or isinstance(made, ReLU)
        is_gelu = made is F.gelu or isinstance(made, GELU)
        self.activation_relu_or_gelu = 1 if is_relu else 2 if is_gelu else 0

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        x = self._around(src, self.norm1, self._sa_block, src_mask, src_key_padding_mask, is_causal)
        return self._around(x, self.norm2, self._ff_block)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self._network(x))


class TransformerDecoderLayer(_Layer):
    """Attention of a sequence to itself, then to `memory`, and a feed-forward network.

    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
    >>> layer(torch.zeros(5, 3, 8), torch.zeros(4, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    _attentions = ("self_attn", "multihead_attn")
    multihead_attn: MultiheadAttention
    norm3: LayerNorm
    dropout3: Dropout

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        of_tgt = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        of_memory = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = self._around(tgt, self.norm1, self._sa_block, *of_tgt)
        x = self._around(x, self.norm2, self._mha_block, memory, *of_memory)
        return self._around(x, self.norm3, self._ff_block)

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        x = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )[0]
        return self.dropout2(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self._network(x))


def _no_nested(layer: object) -> str:
    """Why PyTorch would not cut padding off for this layer; "" where it would."""
    name = "encoder_layer"
    if not isinstance(layer, TransformerEncoderLayer):
        return f"{name} was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        f"{name}.norm_first was True": layer.norm_first,
        f"{name}.self_attn.batch_first was not True"
        "(use batch_first for better inference performance)": not attention.batch_first,
        f"{name}.self_attn was passed bias=False": attention.in_proj_bias is None,
        f"{name}.self_attn._qkv_same_embed_dim was not True": not attention._qkv_same_embed_dim,
        f"{name}.activation_relu_or_gelu was not True": not layer.activation_relu_or_gelu,
        f"{name}.norm1.eps was not equal to {name}.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        f"{name}.self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


class TransformerEncoder(Module):
    """`num_layers` copies of a layer, one behind the other, and a norm at the end.

    In evaluation without gradients, where only `src_key_padding_mask` is given and padding is at
    the ends, the padded places are 0 before the norm, as PyTorch leaves them.

    >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> nn.TransformerEncoder(layer, num_layers=2)(torch.zeros(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    layers: ModuleList

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor: bool = enable_nested_tensor
        self.mask_check = mask_check
        why_not = _no_nested(encoder_layer)
        if enable_nested_tensor and why_not:
            warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                + why_not
            )
            self.use_nested_tensor = False

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        size = src.shape[1 if src.dim() == 3 and self._batch_first() else 0]
        hint = _is_causal(mask, is_causal, size)
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=hint, src_key_padding_mask=src_key_padding_mask)
        if mask is None and src_key_padding_mask is not None:
            padded = src_key_padding_mask != 0
            if self._cuts(src, padded):
                x = x.masked_fill(padded.unsqueeze(-1), 0.0)
        return x if self.norm is None else self.norm(x)

    def _batch_first(self) -> bool:
        attention = getattr(self.layers[0], "self_attn", None)
        return getattr(attention, "batch_first", False)

    def _cuts(self, src: Tensor, padded: Tensor) -> bool:
        """Whether PyTorch would leave the padded places out of the computation."""
        if not self.use_nested_tensor or self.training or src.dim() != 3:
            return False
        read = [src, *self.layers[0].parameters()]
        if rl.is_grad_enabled() and any(t.requires_grad for t in read):
            return False
        return not self.mask_check or bool((padded[:, 1:] >= padded[:, :-1]).all())


class TransformerDecoder(Module):
    """`num_layers` copies of a layer, one behind the other, and a norm at the end.

    >>> layer = nn.TransformerDecoderLayer(8, 2, 16)
    >>> nn.TransformerDecoder(layer, num_layers=2)(torch.zeros(5, 3, 8), torch.zeros(4, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    layers: ModuleList

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        attention = getattr(self.layers[0], "self_attn", None)
        batch_first = tgt.dim() == 3 and getattr(attention, "batch_first", False)
        hint = _is_causal(tgt_mask, tgt_is_causal, tgt.shape[1 if batch_first else 0])
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=hint,
                memory_is_causal=memory_is_causal,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder of the source, and a decoder that attends to the encoder's result.

    >>> net = nn.Transformer(8, 2, 1, 1, dim_feedforward=16, batch_first=True)
    >>> net(torch.zeros(3, 5, 8), torch.zeros(3, 4, 8)).shape
    torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        super().__init__()
        settings: Any = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        settings += (batch_first, norm_first, bias, device, dtype)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            layer = TransformerEncoderLayer(*settings)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*settings)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if not src.shape[-1] == tgt.shape[-1] == self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: DeviceLike | None = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """The (sz, sz) mask by which each place attends to earlier places and itself.

        >>> nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)


__getattr__ = _missing_name(__name__)
