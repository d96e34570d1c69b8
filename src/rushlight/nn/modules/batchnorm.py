"""Batch normalisation, of a process or of several; with running statistics for evaluation."""

from __future__ import annotations

from typing import Any

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base import dtypes
from ..._base.device import DeviceLike
from ..._base.missing import missing_name as _missing_name
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._sync_batch_norm import group_of_several, sync_batch_norm
from .module import Module


class _NormBase(Module):
    """Parameters, running statistics and printing of the norms that keep statistics a channel."""

    _version = 2
    weight: Parameter
    bias: Parameter
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats

        def empty() -> Parameter:
            return Parameter(rl.empty(num_features, device=device, dtype=dtype))

        self.register_parameter("weight", empty() if affine else None)
        self.register_parameter("bias", empty() if affine and bias else None)
        if track_running_stats:
            self.register_buffer("running_mean", rl.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", rl.ones(num_features, device=device, dtype=dtype))
            count = rl.tensor(0, dtype=rl.long, device=device)
            self.register_buffer("num_batches_tracked", count)
        else:
            self.register_buffer("running_mean", None)
            self.register_buffer("running_var", None)
            self.register_buffer("num_batches_tracked", None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forgets what was tracked: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()  # type: ignore[union-attr]
            self.running_var.fill_(1)  # type: ignore[union-attr]
            self.num_batches_tracked.zero_()  # type: ignore[union-attr]

    def reset_parameters(self) -> None:
        """Scale 1, shift 0, statistics forgotten."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, int], *rest: Any
    ) -> None:
        # Checkpoints of version 1 do not have the count of batches.
        version = local_metadata.get("version")
        key = prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = rl.tensor(0, dtype=rl.long) if count is None else count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        training = self.training
        mean, var = self.running_mean, self.running_var
        factor = 0.0 if self.momentum is None else self.momentum
        if training and self.track_running_stats:
            count = self.num_batches_tracked
            if count is not None:
                count.add_(1)
                if self.momentum is None:  # the plain average over all batches
                    factor = 1.0 / float(count)
        elif training:
            mean = var = None
        return self._normalized(
            input, mean, var, training or (mean is None and var is None), factor
        )

    def _normalized(
        self, input: Tensor, mean: Tensor | None, var: Tensor | None, measures: bool, factor: float
    ) -> Tensor:
        """The result; measures: by the batch's own statistics, which move mean and var."""
        return F.batch_norm(input, mean, var, self.weight, self.bias, measures, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalises each channel of (N, C) or (N, C, L) over the batch.

    >>> norm = nn.BatchNorm1d(2)
    >>> norm(torch.tensor([[0.0, 10.0], [2.0, 30.0]])).detach()
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    >>> norm.running_mean
    tensor([0.1000, 2.0000])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """Normalises each channel of (N, C, H, W) over the batch.

    >>> y = nn.BatchNorm2d(3)(torch.rand(4, 3, 5, 5))
    >>> torch.allclose(y.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-5)
    True
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Normalises each channel of (N, C, D, H, W) over the batch.

    >>> nn.BatchNorm3d(3, affine=False)(torch.rand(4, 3, 2, 2, 2)).shape
    torch.Size([4, 3, 2, 2, 2])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    """`BatchNorm` of (N, C, ...) over the batches of all processes of a group, in training.

    process_group: None means all processes. Each may have a batch of its own size, also an empty
    one. The gradients of weight and bias are those of a process's own batch, to be added up as
    those of other layers are. Without `torch.distributed`'s group, or in a group of one process,
    the batch is that of the process.

    >>> nn.SyncBatchNorm(3)(torch.rand(4, 3, 5)).shape
    torch.Size([4, 3, 5])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: DeviceLike | None = None,
        dtype: dtypes.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def _normalized(
        self, input: Tensor, mean: Tensor | None, var: Tensor | None, measures: bool, factor: float
    ) -> Tensor:
        group = group_of_several(self.process_group) if self.training else None
        if group is None:
            return super()._normalized(input, mean, var, measures, factor)
        return sync_batch_norm(input, mean, var, self.weight, self.bias, factor, self.eps, group)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with every `BatchNorm` in it replaced; parameters and statistics stay.

        >>> nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(3)))
        Sequential(
          (0): SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
        )
        """  # noqa: E501
        made = module
        if isinstance(module, _BatchNorm):
            made = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


_LATE = [f"LazyBatchNorm{n}d" for n in (1, 2, 3)]
__getattr__ = _missing_name(
    __name__, late=dict.fromkeys(_LATE, "rushlight.nn.modules._lazy_layers")
)
