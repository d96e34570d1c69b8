"""Layers that run one after the other, as quantization fuses them."""

from __future__ import annotations

from typing import Any

from .... import nn


class _FusedModule(nn.Sequential):
    pass


def _fused(name: str, *kinds: type[object]) -> type[object]:
    def __init__(self: Any, *layers: Any) -> None:
        if len(layers) != len(kinds) or not all(map(isinstance, layers, kinds)):
            found = "".join(type(x).__name__ for x in layers)
            raise AssertionError(f"Incorrect types for input modules{found}")
        nn.Sequential.__init__(self, *layers)

    doc = f"{' and '.join(k.__name__ for k in kinds)}, one after the other."
    return type(
        name, (_FusedModule,), {"__init__": __init__, "__doc__": doc, "__module__": __name__}
    )


ConvReLU1d = _fused("ConvReLU1d", nn.Conv1d, nn.ReLU)
ConvReLU2d = _fused("ConvReLU2d", nn.Conv2d, nn.ReLU)
ConvReLU3d = _fused("ConvReLU3d", nn.Conv3d, nn.ReLU)
LinearReLU = _fused("LinearReLU", nn.Linear, nn.ReLU)
BNReLU2d = _fused("BNReLU2d", nn.BatchNorm2d, nn.ReLU)
BNReLU3d = _fused("BNReLU3d", nn.BatchNorm3d, nn.ReLU)
ConvBn1d = _fused("ConvBn1d", nn.Conv1d, nn.BatchNorm1d)
ConvBn2d = _fused("ConvBn2d", nn.Conv2d, nn.BatchNorm2d)
ConvBn3d = _fused("ConvBn3d", nn.Conv3d, nn.BatchNorm3d)
ConvBnReLU1d = _fused("ConvBnReLU1d", nn.Conv1d, nn.BatchNorm1d, nn.ReLU)
ConvBnReLU2d = _fused("ConvBnReLU2d", nn.Conv2d, nn.BatchNorm2d, nn.ReLU)
ConvBnReLU3d = _fused("ConvBnReLU3d", nn.Conv3d, nn.BatchNorm3d, nn.ReLU)
