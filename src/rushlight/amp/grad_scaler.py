"""`GradScaler`: losses are scaled up so that gradients of half precision do not vanish."""

from __future__ import annotations

import enum
import inspect
import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from .. import _root as rl
from .._base.errors import warn
from .._core import Tensor, compute, read_number
from ..optim import Optimizer
from .autocast_mode import is_autocast_available

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """The state of an optimizer since the last `update`: as it was, unscaled or stepped."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, object]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _infinite(states: Iterable[dict[str, Any]]) -> bool:
    """Whether a gradient of these optimizers is infinite or NaN."""
    return any(read_number(t) for s in states for t in s["found_inf_per_device"].values())


def _inverse(scale: float) -> float:
    return 1.0 / scale if scale else math.copysign(math.inf, scale)


class GradScaler:
    """Scales losses, and steps an optimizer only where its gradients are finite.

    init_scale: the first factor. The factor grows by growth_factor after growth_interval steps
    that were all finite, and falls by backoff_factor after a step that was not. device: "cpu"; a
    device that is not here is warned of, and then the scaler does nothing.

    >>> model = nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> scaler = torch.amp.GradScaler("cpu")
    >>> scaler.scale(model(torch.ones(1, 1)).sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> scaler.get_scale()
    65536.0
    """

    _scale: Tensor | None
    _growth_tracker: Tensor | None
    _per_optimizer_states: dict[int, dict[str, Any]]

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if enabled and not is_autocast_available(device):
            warn(
                f"torch.{device}.amp.GradScaler is enabled, but {device.upper()} is not "
                "available.  Disabling.",
            )
            self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
            # The attributes are those of PyTorch's files.
            self._init_scale, self._scale = init_scale, None
            self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
            self._growth_interval = growth_interval
            self._init_growth_tracker, self._growth_tracker = 0, None
            self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def __getstate__(self) -> dict[str, Any]:
        """Without what lives on a device: the first `scale` makes it anew."""
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            state["_init_scale"], state["_scale"] = self.get_scale(), None
            state["_init_growth_tracker"], state["_growth_tracker"] = self._growth(), None
        return state

    def _growth(self) -> int:
        """How many steps since the factor changed were finite."""
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker.item())

    def scale(self, outputs: Any) -> Any:
        """A loss, or losses in containers, times the factor."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = rl.full((), self._init_scale, dtype=rl.float32, device="cpu")
            self._growth_tracker = rl.full(
                (), self._init_growth_tracker, dtype=rl.int32, device="cpu"
            )
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            scaled = [self.scale(v) for v in outputs]
            return scaled if not isinstance(outputs, tuple) else tuple(scaled)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _started(self, what: str) -> Tensor:
        """The factor, once `scale` has made it."""
        if self._scale is None:
            raise AssertionError(
                f"Attempted {what} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale

    def _looked_at(self, optimizer: Optimizer, inverse: float | None) -> dict[str, object]:
        """Notes whether a gradient is infinite or NaN; all are multiplied by `inverse` first."""
        infinite: bool | None = None
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if inverse is not None:
                    if p.grad.dtype is rl.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    with rl.no_grad():
                        p.grad.mul_(inverse)
                held = p.grad._values() if p.grad.is_sparse else p.grad
                infinite = infinite or not bool(rl.isfinite(held).all())
        found: dict[Any, Any] = (
            {} if infinite is None else {rl.device("cpu"): rl.tensor(float(infinite))}
        )
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    # For optimizers that scale their gradients themselves.

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def _check_inf_per_device(self, optimizer: Optimizer) -> dict[str, object]:
        self._started("_check_inf_per_device")
        return self._looked_at(optimizer, None)

    def _found_inf_per_device(self, optimizer: Optimizer) -> dict[str, object]:
        found: dict[str, Any] = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return found

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide an optimizer's gradients by the factor, once before a step: to clip them, say."""
        if not self._enabled:
            return
        scale = self._started("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        self._looked_at(optimizer, compute(_inverse, read_number(scale)))
        state["stage"] = OptState.UNSCALED

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients, if that is not done, and step unless one is infinite or NaN.

        An optimizer with `_step_supports_amp_scaling` does both itself: it is given the scaler
        where its `step` takes `grad_scaler`, else the attributes `grad_scale` and `found_inf`.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        scale = self._started("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_its_own(optimizer, scale, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            result = None if _infinite([state]) else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_of_its_own(self, optimizer: Any, scale: Tensor, args: Any, kwargs: Any) -> Any:
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed "
                "optimizer. In the near future GradScaler registers `grad_scale: Tensor` and "
                "`found_inf: Tensor` to the passed optimizer and let the optimizer use them "
                "directly.",
                FutureWarning,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        state = self._per_optimizer_states[id(optimizer)]
        unscaled = state["stage"] is OptState.UNSCALED
        if not unscaled:
            self._check_inf_per_device(optimizer)
        optimizer.found_inf = sum(state["found_inf_per_device"].values())
        before: Any = getattr(optimizer, "grad_scale", None if unscaled else 1)
        optimizer.grad_scale = before if unscaled else scale * before
        result = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Set the factor for the next step: as given, or by what was found in the gradients."""
        if not self._enabled:
            return
        scale = self._started("update")
        assert self._growth_tracker is not None
        if new_scale is not None:
            scale.fill_(float(new_scale))
        elif not any(s["found_inf_per_device"] for s in self._per_optimizer_states.values()):
            raise AssertionError("No inf checks were recorded prior to update.")
        elif _infinite(self._per_optimizer_states.values()):
            scale.mul_(self._backoff_factor)
            self._growth_tracker.zero_()
        else:  # in tensors, so that torch.compile can capture it
            self._growth_tracker += 1
            due = self._growth_tracker == self._growth_interval
            grown = scale * self._growth_factor
            scale.copy_(rl.where(due & rl.isfinite(grown), grown, scale))
            self._growth_tracker.masked_fill_(due, 0)
        self._per_optimizer_states.clear()

    def get_scale(self) -> float:
        """The factor."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """The number by which the factor is multiplied when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the number by which the factor is multiplied when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The number by which the factor is multiplied when it falls."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the number by which the factor is multiplied when it falls."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many finite steps make it grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many finite steps make it grow."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The factor, how it changes, and how many finite steps there were; {} if disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])
