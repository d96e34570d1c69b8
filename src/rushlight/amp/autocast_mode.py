"""`autocast`: products in a lower precision, and what would lose too much in float32.

On the CPU and on accelerators, with bfloat16 or float16. For a device that is not here it warns and
does nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .. import _core
from .._base import dtypes
from .._base.device import device as _device
from .._base.device import is_accelerator
from .._base.errors import warn
from .._core import Tensor
from ._casting import Caster, lower, state

__all__ = [
    "autocast",
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
]

_F = TypeVar("_F", bound=Callable[..., Any])


def is_autocast_available(device_type: str) -> bool:
    """Whether a kind of device has autocast.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    kind = _device(device_type).type
    if is_accelerator(kind):
        from .._devices.accelerators import count

        return count(kind) > 0
    return kind == "cpu"


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for a kind of device.

    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu")
    True
    """
    return state.enabled.get(_device(device_type).type, False)


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Turn autocast on or off for a kind of device; better is `with autocast(...)`."""
    if not isinstance(device_type, str):
        enabled, device_type = device_type, "cuda"
    state.enabled[_device(device_type).type] = bool(enabled)
    if enabled and is_autocast_available(device_type) and not state.entered:
        _core.enter_mode(Caster())
        state.entered = True


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The lower precision of a kind of device.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return lower(_device(device_type).type)


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Set the lower precision of a kind of device."""
    state.types[_device(device_type).type] = dtype


def is_autocast_cpu_enabled() -> bool:
    """Deprecated: `is_autocast_enabled("cpu")`."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Deprecated: `set_autocast_enabled("cpu", enabled)`."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtypes.dtype:
    """Deprecated: `get_autocast_dtype("cpu")`."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtypes.dtype) -> None:
    """Deprecated: `set_autocast_dtype("cpu", dtype)`."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtypes.dtype:
    """Deprecated: `get_autocast_dtype("cuda")`."""
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtypes.dtype) -> None:
    """Deprecated: `set_autocast_dtype("cuda", dtype)`."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether the cast of a weight is kept until the outermost block ends.

    >>> torch.is_autocast_cache_enabled()
    True
    """
    return state.keeps


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether the cast of a weight is kept until the outermost block ends."""
    state.keeps = enabled


def clear_autocast_cache() -> None:
    """Forget the casts that are kept."""
    state.kept.clear()


def autocast_increment_nesting() -> int:
    """Note that a block began; gives how deep it is."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Note that a block ended; gives how many are left."""
    state.nesting -= 1
    return state.nesting


class autocast:
    """Inside the block, or the decorated function, products are computed in a lower precision.

    device_type: "cpu" and "opencl" have it. dtype: bfloat16, the default on the CPU, or float16.
    enabled: False turns it off within an outer block. Do not run the backward pass inside.

    >>> a = torch.ones(2, 2)
    >>> with torch.autocast("cpu"):
    ...     b = a @ a
    >>> b.dtype
    torch.bfloat16
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device: str = _device(device_type).type
        self.fast_dtype: dtypes.dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = state.keeps if cache_enabled is None else cache_enabled
        self._enabled = enabled
        if is_autocast_available(self.device):
            if enabled and self.fast_dtype not in (dtypes.bfloat16, dtypes.float16):
                name = self.device.upper()
                warn(
                    f"In {name} autocast, but the target dtype is not supported. Disabling "
                    f"autocast.\n{name} Autocast only supports dtypes of torch.bfloat16, "
                    "torch.float16 currently.",
                )
                self._enabled = False
        elif enabled:
            warn(
                "CUDA is not available or torch_xla is imported. Disabling autocast."
                if self.device == "cuda"
                else f"User provided device_type of '{self.device}', but "
                f"{self.device.upper()} is not available. Disabling",
            )
            self._enabled = False
        self._before: list[tuple[bool, dtypes.dtype, bool, bool, int]] = []

    def __enter__(self) -> autocast:
        enters = self._enabled and not state.entered
        now = is_autocast_enabled(self.device), get_autocast_dtype(self.device)
        self._before.append((*now, state.keeps, enters, state.nesting))
        state.enabled[self.device] = self._enabled
        state.types[self.device] = self.fast_dtype
        state.keeps = self._cache_enabled
        autocast_increment_nesting()
        if enters:
            state.entered = True
            _core.enter_mode(Caster())
        return self

    def __exit__(self, *exc: object) -> None:
        enabled, kind, state.keeps, entered, state.nesting = self._before[-1]
        if entered:
            modes = _core.entered_modes()  # an interrupted block may have entered none yet
            if modes and isinstance(modes[-1], Caster):
                _core.leave_mode()
            state.entered = False
        if state.nesting == 0:
            clear_autocast_cache()
        state.enabled[self.device], state.types[self.device] = enabled, kind
        del self._before[-1]

    __enter__ = _core.beginning(__enter__, __exit__)
    __exit__ = _core.ending(__exit__)

    def __call__(self, func: _F) -> _F:
        @functools.wraps(func)
        def inside(*args: object, **kwargs: object) -> Any:
            with self:
                return func(*args, **kwargs)

        return inside  # type: ignore[return-value]


def _cast(value: object, device_type: str, dtype: dtypes.dtype) -> Any:
    """Floating-point tensors of the device in a type, within containers too; float64 as it is."""
    if isinstance(value, Tensor):
        fits = value.is_floating_point() and value.device.type == device_type
        return value.to(dtype) if fits and value.dtype is not dtypes.float64 else value
    if isinstance(value, Mapping):
        return {
            _cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()
        }
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value


def custom_fwd(
    fwd: Callable[..., object] | None = None,
    *,
    device_type: str,
    cast_inputs: dtypes.dtype | None = None,
) -> Callable[..., Any]:
    """Decorator of a `Function`'s forward: how it runs under autocast.

    cast_inputs: floating-point arguments are cast to it, and autocast is off inside.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: object, **kwargs: object) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        if cast_inputs is None:
            ctx._fwd_used_autocast = on
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        if not on:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            cast = _cast(args, device_type, cast_inputs), _cast(kwargs, device_type, cast_inputs)
            return fwd(ctx, *cast[0], **cast[1])

    return decorated


def custom_bwd(bwd: Callable[..., object] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorator of a `Function`'s backward: it runs with autocast as its forward did."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: object, **kwargs: object) -> Any:
        used = ctx._fwd_used_autocast
        with autocast(device_type=device_type, enabled=used, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return decorated
