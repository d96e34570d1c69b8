"""Modules whose activations are computed again in the backward."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any

from .... import nn
from ...._base.missing import missing_name as _missing_name
from ....autograd.graph import save_on_cpu
from ....utils.checkpoint import checkpoint


class CheckpointImpl(enum.Enum):
    """Which way `checkpoint` goes."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(nn.Module):
    """A module around another, whose parameters and state dicts have the other's names."""

    def __init__(self, mod: nn.Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_checkpoint_wrapped_module"), name)

    def __getitem__(self, key: object) -> Any:
        inner: Any = self._checkpoint_wrapped_module
        return inner[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The parameters, by the other's names."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace("_checkpoint_wrapped_module.", ""), parameter

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The other's state dict."""
        return self._checkpoint_wrapped_module.state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Load the other's state dict."""
        return self._checkpoint_wrapped_module.load_state_dict(*args, **kwargs)


class OffloadWrapper(ActivationWrapper):
    """A module whose saved tensors wait on the CPU."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The other's result."""
        with save_on_cpu(pin_memory=False):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module whose activations are computed again in the backward."""

    def __init__(
        self,
        mod: nn.Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        self._settings = settings
        if checkpoint_fn is None:
            self._settings["use_reentrant"] = checkpoint_impl == CheckpointImpl.REENTRANT
        self._run = checkpoint_fn or checkpoint

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The other's result."""
        inner = self._checkpoint_wrapped_module
        if kwargs and self._settings.get("use_reentrant"):
            return self._run(lambda *a: inner(*a, **kwargs), *args, **self._settings)
        return self._run(inner, *args, **kwargs, **self._settings)


def offload_wrapper(module: nn.Module) -> nn.Module:
    """A module whose saved tensors wait on the CPU."""
    return OffloadWrapper(module)


def checkpoint_wrapper(module: nn.Module, *args: Any, **settings: Any) -> nn.Module:
    """A module whose activations are computed again in the backward."""
    return CheckpointWrapper(module, *args, **settings)


def apply_activation_checkpointing(
    model: nn.Module,
    checkpoint_wrapper_fn: Callable[[nn.Module], nn.Module] = checkpoint_wrapper,
    check_fn: Callable[[nn.Module], bool] = lambda _: True,
    auto_wrap_policy: object = None,
) -> None:
    """Wrap the children of a model for which a function says so."""
    for name, child in list(model.named_children()):
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn, auto_wrap_policy)
        if check_fn(child):
            setattr(model, name, checkpoint_wrapper_fn(child))


__getattr__ = _missing_name(__name__)
