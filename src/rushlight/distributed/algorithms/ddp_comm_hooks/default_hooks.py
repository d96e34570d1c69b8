"""Hooks of DistributedDataParallel: refused, for gradients are not sent."""

from ...._elsewhere import refuse_all as _refuse_all
from ...._missing import missing_name as _missing_name

globals().update(
    _refuse_all(
        "torch.distributed.algorithms.ddp_comm_hooks.default_hooks",
        "allreduce_hook bf16_compress_hook bf16_compress_wrapper fp16_compress_hook "
        "fp16_compress_wrapper",
        "gradients are not sent anywhere.",
    )
)

__getattr__ = _missing_name(__name__)
