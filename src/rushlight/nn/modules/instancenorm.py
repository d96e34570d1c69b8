"""Instance normalisation: each channel of each sample by its own mean and variance."""

from __future__ import annotations

from typing import Any, ClassVar

from rushlight._root import Tensor

from ..._base import dtypes
from ..._base.device import DeviceLike
from ..._base.errors import warn
from ..._base.missing import missing_name as _missing_name
from .. import functional as F
from .batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    _dims: ClassVar[int]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _get_no_batch_dim(self) -> int:
        return self._dims + 1

    def _check_input_dim(self, input: Tensor) -> None:
        least = self._dims + 1
        if input.dim() not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        alone = input.dim() == self._get_no_batch_dim()
        channels = input.dim() - self._dims - 1
        if input.shape[channels] != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channels} to match num_features"
                    f" ({self.num_features}), but got: {input.shape[channels]}."
                )
            warn(
                f"input's size at dim={channels} does not match num_features. "
                "You can silence this warning by not passing in num_features, "
                "which is not used because affine=False"
            )
        normed = F.instance_norm(
            input.unsqueeze(0) if alone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return normed.squeeze(0) if alone else normed

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, int],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        # Checkpoints of version 1 have running statistics whether they were asked for or not.
        if local_metadata.get("version") is None and not self.track_running_stats:
            names = ("running_mean", "running_var")
            found = [name for name in names if prefix + name in state_dict]
            if found:
                kind = type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {' and '.join(map(_quoted, found))} for "
                    f"{kind} with track_running_stats=False. If state_dict is a checkpoint saved "
                    f"before 0.4.0, this may be expected because {kind} does not track running "
                    "stats by default since 0.4.0. Please remove these keys from state_dict. If "
                    "the running stats are actually needed, instead set track_running_stats=True "
                    f"in {kind} to enable them."
                )
                for name in found:
                    state_dict.pop(prefix + name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


def _quoted(name: str) -> str:
    return f'"{name}"'


class InstanceNorm1d(_InstanceNorm):
    """Normalises each channel of (N, C, L) or (C, L) over L.

    >>> nn.InstanceNorm1d(1)(torch.tensor([[[0.0, 1.0, 2.0]]]))
    tensor([[[-1.2247,  0.0000,  1.2247]]])
    """

    _dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalises each channel of (N, C, H, W) or (C, H, W) over H and W.

    >>> y = nn.InstanceNorm2d(3)(torch.rand(4, 3, 5, 5))
    >>> torch.allclose(y.mean(dim=(2, 3)), torch.zeros(4, 3), atol=1e-5)
    True
    """

    _dims = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalises each channel of (N, C, D, H, W) or (C, D, H, W) over the last three.

    >>> nn.InstanceNorm3d(3, affine=True)(torch.rand(4, 3, 2, 2, 2)).shape
    torch.Size([4, 3, 2, 2, 2])
    """

    _dims = 3


_LATE = [f"LazyInstanceNorm{n}d" for n in (1, 2, 3)]
__getattr__ = _missing_name(
    __name__, late=dict.fromkeys(_LATE, "rushlight.nn.modules._lazy_layers")
)
