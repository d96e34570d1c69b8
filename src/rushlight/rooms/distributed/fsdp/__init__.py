"""`torch.distributed.fsdp`: modules whose parameters are divided over processes."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
from collections.abc import Iterator
from typing import Any

from ... import nn
from ..._base.missing import missing_name as _missing_name
from ..._core import Tensor
from ._fully_shard import FSDPModule as FSDPModule
from ._fully_shard import MixedPrecisionPolicy as MixedPrecisionPolicy
from ._fully_shard import UnshardHandle as UnshardHandle
from ._fully_shard import fully_shard as fully_shard
from ._fully_shard import register_fsdp_forward_method as register_fsdp_forward_method

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "OptimStateDictConfig",
    "OptimStateKeyType",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
]


ShardingStrategy = enum.Enum(
    "ShardingStrategy", "FULL_SHARD SHARD_GRAD_OP NO_SHARD HYBRID_SHARD _HYBRID_SHARD_ZERO2"
)
BackwardPrefetch = enum.Enum("BackwardPrefetch", "BACKWARD_PRE BACKWARD_POST")
StateDictType = enum.Enum("StateDictType", "FULL_STATE_DICT LOCAL_STATE_DICT SHARDED_STATE_DICT")
OptimStateKeyType = enum.Enum("OptimStateKeyType", "PARAM_NAME PARAM_ID")


@dataclasses.dataclass
class MixedPrecision:
    """The types of parameters, gradients and buffers: kept."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = ()


@dataclasses.dataclass
class CPUOffload:
    """Whether parameters wait on the CPU: kept."""

    offload_params: bool = False


@dataclasses.dataclass
class StateDictConfig:
    """Where what a state dict has lies: kept."""

    offload_to_cpu: bool = False


@dataclasses.dataclass
class FullStateDictConfig(StateDictConfig):
    """Settings of a state dict of everything: kept."""

    rank0_only: bool = False


@dataclasses.dataclass
class LocalStateDictConfig(StateDictConfig):
    """Settings of a state dict of the process's part: kept."""


@dataclasses.dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Settings of a state dict in parts: kept."""

    _use_dtensor: bool = False


@dataclasses.dataclass
class OptimStateDictConfig:
    """Where what an optimizer's state dict has lies: kept."""

    offload_to_cpu: bool = True


@dataclasses.dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dict of everything: kept."""

    rank0_only: bool = False


@dataclasses.dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dict of the process's part: kept."""

    offload_to_cpu: bool = False


@dataclasses.dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Settings of an optimizer's state dict in parts: kept."""

    _use_dtensor: bool = False


@dataclasses.dataclass
class StateDictSettings:
    """Which state dict is given, and how."""

    state_dict_type: Any
    state_dict_config: Any
    optim_state_dict_config: Any


@dataclasses.dataclass
class OffloadPolicy:
    """Nothing waits elsewhere."""


@dataclasses.dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Whether parameters wait in pinned memory: kept."""

    pin_memory: bool = True


class FullyShardedDataParallel(nn.Module):
    """A module of which one process has all: calls, parameters and state dicts are its own.

    The settings are those of PyTorch, and have no effect.
    """

    def __init__(
        self, module: nn.Module, process_group: Any = None, *args: Any, **settings: object
    ) -> None:
        super().__init__()
        self._fsdp_wrapped_module = module
        self.process_group = process_group

    @property
    def module(self) -> Any:
        """The module."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_fsdp_wrapped_module"), name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result."""
        return self._fsdp_wrapped_module(*args, **kwargs)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The module's state dict."""
        return self._fsdp_wrapped_module.state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load the module's state dict."""
        return self._fsdp_wrapped_module.load_state_dict(*args, **kwargs)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The module's parameters."""
        return self._fsdp_wrapped_module.named_parameters(*args, **kwargs)

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The module's buffers."""
        return self._fsdp_wrapped_module.named_buffers(*args, **kwargs)

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Make all gradients together no longer than that; returns their length before."""
        return nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block like any other."""
        yield

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(module: nn.Module, **settings: object) -> Iterator[None]:
        """A block like any other: the parameters are whole."""
        yield

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(module: nn.Module, *args: object, **settings: object) -> Iterator[None]:
        """A block like any other: state dicts have everything."""
        yield

    @staticmethod
    def set_state_dict_type(
        module: nn.Module, *args: object, **settings: object
    ) -> StateDictSettings:
        """The settings before; state dicts have everything."""
        full = StateDictType["FULL_STATE_DICT"]
        return StateDictSettings(full, FullStateDictConfig(), FullOptimStateDictConfig())

    @staticmethod
    def fsdp_modules(module: nn.Module, root_only: bool = False) -> list[Any]:
        """The modules of this class in a module."""
        return [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]

    @staticmethod
    def optim_state_dict(
        model: nn.Module, optim: Any, optim_state_dict: Any = None, **_: object
    ) -> Any:
        """The optimizer's state dict, by the parameters' names."""
        from ..checkpoint.state_dict import get_optimizer_state_dict

        return get_optimizer_state_dict(model, optim)

    full_optim_state_dict = sharded_optim_state_dict = optim_state_dict

    @staticmethod
    def optim_state_dict_to_load(
        model: nn.Module, optim: Any, optim_state_dict: dict[str, Any], **settings: object
    ) -> Any:
        """A state dict by names as one by numbers, which `optim.load_state_dict` takes."""
        from ..checkpoint.state_dict import by_number

        return by_number(model, optim, optim_state_dict)


__getattr__ = _missing_name(
    __name__,
    late={n: n for n in ("api", "fully_sharded_data_parallel", "sharded_grad_scaler", "wrap")},
)
