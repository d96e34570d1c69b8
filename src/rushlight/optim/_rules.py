"""The base of the update rules: how a step runs, the checks of the options, and common arithmetic.

Note: how a step runs
    A subclass of `FusedOptimizer` gives `_update(group, params, grads)`: for all parameters of a
    group at once. `_update` first tries a native call (`rl._core.kernels.*_step`), which touches
    every element once; without a kernel for these tensors the call returns NotImplemented and
    changes nothing, and the rule written in tensor operations runs instead. A subclass of
    `RuleOptimizer` gives `_start` and `_rule` for one parameter, in tensor operations only. State
    tensors are looked up anew in every step, so programs may change `optimizer.state` as they like.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rushlight import _root as rl
from rushlight._root import Tensor

from .._core import accelerator_is_capturing, read_number
from .optimizer import Closure, Group, Optimizer
from .optimizer import State as State


class FusedOptimizer(Optimizer):
    """An optimizer whose rule updates all parameters of a group together.

    `checks` names the options whose range is checked, in that order.
    """

    _newer_options: ClassVar[dict[str, object]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
    }

    def __init__(self, params: object, defaults: dict[str, object], checks: str) -> None:
        check_options(defaults, checks)
        super().__init__(params, defaults)
        if defaults.get("fused"):
            if defaults["differentiable"]:
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults["foreach"]:
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        for own in self.state.values():  # older versions counted in Python numbers
            if "step" in own and not isinstance(own["step"], rl.Tensor):
                own["step"] = rl.tensor(float(own["step"]), dtype=rl.float32)

    def step(self, closure: Closure | None = None) -> Any:
        """Updates the parameters once; `closure` computes the loss anew and returns it."""
        loss = None
        if accelerator_is_capturing(-1):
            self._check_captured()
        if closure is not None:
            with rl.enable_grad():
                loss = closure()
        for group in self.param_groups:
            params = []
            grads = []
            for p in group["params"]:
                grad = p.grad
                if grad is not None:
                    if type(grad) is not rl.Tensor and grad.is_sparse:
                        self._check_sparse()
                    params.append(p)
                    grads.append(grad)
            if params:
                self._update(group, params, grads)
        return loss

    def _check_captured(self) -> None:
        """Raise where a graph would keep the number of this step: the host counts it."""
        for group in self.param_groups:
            if not group.get("capturable", not group.get("lr_decay")):
                raise RuntimeError(
                    f"Attempting CUDA graph capture of step() for an instance of "
                    f"{type(self).__name__} but param_groups' capturable is False."
                )
            if group.get("capturable"):
                counts = [self.state[p].get("step") for p in group["params"] if p in self.state]
                if any(isinstance(n, rl.Tensor) and n._accelerator is None for n in counts):
                    raise AssertionError("If capturable=True, state_steps must be on the device.")

    def _check_sparse(self) -> None:
        """Raise, unless the rule has a meaning for sparse gradients."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        raise NotImplementedError


class RuleOptimizer(FusedOptimizer):
    """An optimizer whose rule is said for one parameter.

    The step is counted, the gradient has its sign and the weight decay, and complex tensors are
    taken by their parts before the rule sees them.
    """

    _capturable_what: ClassVar[str] = "params and state_steps"
    _capturable_where: ClassVar[tuple[str, ...]] = ("cuda", "xpu", "hpu", "privateuseone", "xla")

    _decays_itself: ClassVar[bool] = False
    _reads_rate: ClassVar[bool] = True  # as a number

    def _start(self, p: Tensor, group: Group) -> State:
        """The state of a parameter before its first step, without the count."""
        raise NotImplementedError

    def _begin(self, p: Tensor, group: Group) -> State:
        """The first state of a parameter, made whole: an interrupt leaves no half of it."""
        state = self.state[p]
        count = new_count()
        if group.get("capturable") and p._accelerator is not None:  # a graph is to find the number
            count = count.to(p.device)
        state.update({"step": count} | self._start(p, group))
        return state

    def _rule(self, p: Tensor, grad: Tensor, state: State, lr: object, group: Group) -> None:
        """One step of one parameter; `state["step"]` is the number of this step.

        `lr` is a number, or a tensor in a step that is differentiable in it; None where
        `_reads_rate` is false. In such a step the tensors of `state` are copies that no earlier
        step reads.
        """
        raise NotImplementedError

    def _update(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        differentiable = group.get("differentiable", False)
        if group.get("capturable"):
            check_capturable(group, self._capturable_what, self._capturable_where)
        lr = scalar(group["lr"], differentiable) if self._reads_rate else None
        decay = 0 if self._decays_itself else scalar(group.get("weight_decay", 0), differentiable)
        decoupled = group.get("decoupled_weight_decay", False)
        with rl.set_grad_enabled(differentiable):
            for p, grad in zip(params, grads, strict=True):
                state = self.state[p]
                if not state:
                    self._begin(p, group)
                elif differentiable:
                    copies = {k: v.clone() for k, v in state.items() if isinstance(v, rl.Tensor)}
                    state.update(copies)
                state["step"].add_(1)
                if group["maximize"]:
                    grad = -grad
                if not decoupled:
                    grad = decayed(grad, p, decay)
                elif isinstance(decay, rl.Tensor) or decay != 0:
                    p.mul_(1 - group["lr"] * decay)
                self._rule(real(p), real(grad), state, lr, group)


def options(local: Mapping[str, object]) -> State:
    """The options that a constructor was given: of its `locals()`, all but its other parameters."""
    return {k: v for k, v in local.items() if k not in ("self", "params", "__class__")}


def scalar(value: float, differentiable: bool = False) -> Any:
    """An option as a number: it may be a tensor of one element.

    In a differentiable step, an option that requires grad stays a (0-dim) tensor.
    """
    if not isinstance(value, rl.Tensor):
        return value
    return value.reshape(()) if differentiable and value.requires_grad else read_number(value)


def number_of_state(value: float) -> Tensor:
    """A number of the state as a tensor, in the precision that counts of steps have."""
    return rl.tensor(value, dtype=dtype_of_numbers())


def dtype_of_numbers() -> rl.dtype:
    """The type of numbers of the state that are new."""
    return rl.float64 if rl.get_default_dtype() is rl.float64 else rl.float32


def new_count() -> Tensor:
    """The number of steps so far, before the first."""
    return number_of_state(0.0)


def real(tensor: Tensor) -> Tensor:
    """A complex tensor as real and imaginary parts, which the rules treat as separate numbers."""
    return rl.view_as_real(tensor) if tensor.is_complex() else tensor


def full_like(p: Tensor, value: float) -> Tensor:
    """A state tensor with `value` in each entry, in both parts of complex ones."""
    start: Any = complex(value, value) if p.is_complex() else value
    return rl.full_like(p, start)


def decayed(grad: Tensor, p: Tensor, decay: Any) -> Tensor:
    """The gradient with that of decay / 2 * p ** 2 added."""
    if isinstance(decay, rl.Tensor):
        return grad.addcmul(p.clone(), decay)
    return grad if decay == 0 else grad.add(p, alpha=decay)


def move(p: Tensor, rate: Any, along: Tensor, over: Tensor | None = None) -> None:
    """p -= rate * along / over, differentiable in a rate that is a tensor."""
    if isinstance(rate, rl.Tensor):
        p.addcmul_(along.clone() if over is None else along / over, rate, value=-1)
    elif over is None:
        p.add_(along, alpha=-rate)
    else:
        p.addcdiv_(along, over, value=-rate)


def root(square: Tensor, eps: float, differentiable: bool) -> Tensor:
    """sqrt(square) + eps; the root's derivative needs its result, which then may not be written."""
    spread = square.sqrt()
    return spread + eps if differentiable else spread.add_(eps)


def same_places(like: Any, values: Tensor) -> Any:
    """A sparse tensor with other values, at the places of a coalesced one."""
    return like._with_values(values)


_LABELS = {"lr": "learning rate", "eps": "epsilon value"}


def check_options(given: Mapping[str, Any], names: str) -> None:
    """Raises for the first of these options, in the order named, that is outside its range."""
    for name in names.split():
        value = given[name]
        if name == "betas":
            for i in range(2):
                if not 0.0 <= value[i] < 1.0:
                    raise ValueError(f"Invalid beta parameter at index {i}: {value[i]}")
            continue
        if name == "etas":
            if not 0.0 < value[0] < 1.0 < value[1]:
                raise ValueError(f"Invalid eta values: {value[0]}, {value[1]}")
            continue
        if name == "lr":
            check_one_element(value)
        if not value >= 0.0 or (name == "rho" and not value <= 1.0):
            raise ValueError(f"Invalid {_LABELS.get(name, f'{name} value')}: {value}")


def check_one_element(lr: Any) -> None:
    """Raises for a rate that is a tensor of several elements."""
    if isinstance(lr, rl.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_capturable(group: Group, what: str, where: tuple[str, ...]) -> None:
    """Graph capture is a matter of GPUs: raises where it is asked for on the CPU."""
    if any(p.device.type == "cpu" for p in group["params"]):
        raise AssertionError(
            f"If capturable=True, {what} must be on supported devices: {list(where)}."
        )
