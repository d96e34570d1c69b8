"""How DistributedDataParallel sends gradients: hooks, for `register_comm_hook(state, hook)`.

A hook gets its state and a bucket of gradients: index(), buffer(), gradients(), parameters(),
is_last(), set_buffer(). It returns a future of what the buffer is to be.
"""

from __future__ import annotations

import enum
from typing import Any

from ...._base.missing import missing_name as _missing_name
from . import debugging_hooks, default_hooks, powerSGD_hook, quantization_hooks

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


class _Registers:
    """A member of the enumeration: registers its hook at a model."""

    def __init__(self, hook: Any, rank: int | None = None) -> None:
        self._hook, self._rank = hook, rank

    def __call__(self, model: Any, state: Any, start_powerSGD_iter: int = 1_000) -> None:
        if self._rank is not None:
            state = powerSGD_hook.PowerSGDState(state, self._rank, start_powerSGD_iter)
        model.register_comm_hook(state, self._hook)


class DDPCommHookType(enum.Enum):
    """The hooks of this package; `value(model=, state=)` registers one, state is a group."""

    ALLREDUCE = _Registers(default_hooks.allreduce_hook)
    FP16_COMPRESS = _Registers(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = _Registers(default_hooks.bf16_compress_hook)
    QUANTIZE_PER_TENSOR = _Registers(quantization_hooks.quantization_pertensor_hook)
    QUANTIZE_PER_CHANNEL = _Registers(quantization_hooks.quantization_perchannel_hook)
    POWER_SGD = _Registers(powerSGD_hook.powerSGD_hook, 1)
    POWER_SGD_RANK2 = _Registers(powerSGD_hook.powerSGD_hook, 2)
    BATCHED_POWER_SGD = _Registers(powerSGD_hook.batched_powerSGD_hook, 1)
    BATCHED_POWER_SGD_RANK2 = _Registers(powerSGD_hook.batched_powerSGD_hook, 2)
    NOOP = _Registers(debugging_hooks.noop_hook)


def register_ddp_comm_hook(
    comm_hook_type: DDPCommHookType, model: object, state: object = None
) -> None:
    """Register one of the hooks of `DDPCommHookType` at a model; state is a group of processes."""
    comm_hook_type.value(model=model, state=state)


__getattr__ = _missing_name(__name__, late={"post_localSGD_hook": "post_localSGD_hook"})
