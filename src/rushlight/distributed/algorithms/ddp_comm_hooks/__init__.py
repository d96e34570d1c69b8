"""How gradients are sent: hooks of DistributedDataParallel, which has nobody to send to."""

from __future__ import annotations

import enum
from typing import Any

from ...._missing import missing_name as _missing_name

DDPCommHookType = enum.Enum(
    "DDPCommHookType",
    """ALLREDUCE FP16_COMPRESS BF16_COMPRESS QUANTIZE_PER_TENSOR QUANTIZE_PER_CHANNEL POWER_SGD
    POWER_SGD_RANK2 BATCHED_POWER_SGD BATCHED_POWER_SGD_RANK2 NOOP""",
)


def register_ddp_comm_hook(comm_hook_type: Any, model: Any, state: Any = None) -> None:
    """Nothing to do: gradients are not sent."""


__getattr__ = _missing_name(__name__, late={"default_hooks": "default_hooks"})
