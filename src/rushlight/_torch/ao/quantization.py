"""`torch.ao.quantization`: layers are fused; nothing is quantized, and what would be is refused."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from ... import nn
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from .nn import intrinsic as _fused


class QConfig(NamedTuple):
    """How a layer would be quantized."""

    activation: Any
    weight: Any


default_qconfig = default_dynamic_qconfig = default_qat_qconfig = QConfig(None, None)
float16_dynamic_qconfig = float_qparams_weight_only_qconfig = per_channel_dynamic_qconfig = (
    default_qconfig
)


class _Stub(nn.Module):
    """Where values would be quantized, or floating point again: they stay as they are."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: object) -> Any:
        return x


class QuantStub(_Stub):
    """Where values would be quantized: they stay as they are."""


class DeQuantStub(_Stub):
    """Where values would be floating point again: they stay as they are."""


class QuantWrapper(nn.Module):
    """A module between a QuantStub and a DeQuantStub."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.quant, self.dequant, self.module = QuantStub(), DeQuantStub(), module
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        return self.dequant(self.module(self.quant(X)))


def _fuse_known(layers: list[Any]) -> list[object]:
    """Layers fused into the first of them; the others do nothing any more."""
    kinds = [type(x) for x in layers]
    names = [k.__name__ for k in kinds]
    if any(x.training for x in layers) and any(n.startswith("BatchNorm") for n in names):
        raise AssertionError("Fusing a BatchNorm for evaluation wants modules in eval mode.")
    fused, rest = layers[0], layers[1:]
    if rest and type(rest[0]).__name__.startswith("BatchNorm"):
        linear = isinstance(fused, nn.Linear)
        if not linear and "Conv" not in names[0]:
            raise NotImplementedError(f"Cannot fuse modules: {tuple(kinds)}")
        transposed = "Transpose" in names[0]
        norm = rest.pop(0)
        if linear:
            fused = fuse_linear_bn_eval(fused, norm)
        else:
            fused = fuse_conv_bn_eval(fused, norm, transposed)
    if rest:
        pairs: dict[object, Any] = {
            **{(c, nn.ReLU): getattr(_fused, f"ConvReLU{d}d") for c, d in _CONVOLUTIONS},
            (nn.Linear, nn.ReLU): _fused.LinearReLU,
            (nn.BatchNorm2d, nn.ReLU): _fused.BNReLU2d,
            (nn.BatchNorm3d, nn.ReLU): _fused.BNReLU3d,
        }
        kind = pairs.get((type(fused), type(rest[0]))) if len(rest) == 1 else None
        if kind is None:
            raise NotImplementedError(f"Cannot fuse modules: {tuple(kinds)}")
        fused = kind(fused, rest[0])
    return [fused, *(nn.Identity() for _ in layers[1:])]


_CONVOLUTIONS = ((nn.Conv1d, 1), (nn.Conv2d, 2), (nn.Conv3d, 3))


def fuse_modules(
    model: nn.Module,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = None,
    fuse_custom_config_dict: object = None,
) -> nn.Module:
    """A model, in eval mode, in which layers named in lists are one: convolution, norm, ReLU.

    The first of each list becomes the fused layer, the others nn.Identity.
    """
    if not inplace:
        model = copy.deepcopy(model)
    groups = modules_to_fuse
    if groups and isinstance(groups[0], str):
        groups = [groups]
    for names in groups:
        layers = (fuser_func or _fuse_known)([model.get_submodule(n) for n in names])
        for name, layer in zip(names, layers, strict=True):
            path, _, last = name.rpartition(".")
            setattr(model.get_submodule(path), last, layer)
    return model


for _stub in (QuantStub, DeQuantStub, QuantWrapper):
    _stub.__module__ = f"{__name__}.stubs"  # where PyTorch has them
