"""`Optimizer`: parameter groups, per-parameter state, saving and loading. What the update
rules share is in _rules.py, the rules are in the other files.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from types import MethodType
from typing import Any, ClassVar
from weakref import WeakSet

from rushlight import _root as rl
from rushlight._root import Tensor

from .._base.errors import taking_pytorchs, warn
from .._base.handles import Hooks, RemovableHandle, add_hook, listed, tables_lock
from .._base.missing import missing_name as _missing_name

Group = dict[str, Any]
State = dict[str, Any]
Closure = Callable[[], Any]
Lists = list[list[Tensor | None]]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Tensor | None]], with_indices: bool = False
) -> dict[tuple[rl.device, rl.dtype], tuple[Lists, list[int]]]:
    """Parallel lists in groups of one device and type, as the first list's tensors have them.

    Each group has the lists, and where with_indices the places that their items had.
    """
    groups: dict[tuple[rl.device, rl.dtype], tuple[Lists, list[int]]] = {}
    for place, first in enumerate(tensorlistlist[0]):
        if first is None:
            raise RuntimeError("tensors of the first list must be defined")
        empty: Lists = [[] for _ in tensorlistlist]
        lists, places = groups.setdefault((first.device, first.dtype), (empty, []))
        for group, items in zip(lists, tensorlistlist, strict=True):
            if items:
                group.append(items[place])
        if with_indices:
            places.append(place)
    return groups


class _Required:
    """Marks a default that every parameter group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: _Required = _Required()

_optimizers: WeakSet[Optimizer] = WeakSet()
_pre_hooks: Hooks = OrderedDict()
_post_hooks: Hooks = OrderedDict()


class Optimizer:
    """Base of the optimizers: `params` are tensors or dicts of groups, `defaults` fill what a group
    leaves out.

    A subclass of a user implements `step(closure=None)`.

    >>> class Descent(torch.optim.Optimizer):
    ...     @torch.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Descent([x], defaults={"lr": 0.25})
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x
    tensor([0.5000, 1.0000], requires_grad=True)
    """

    defaults: State
    state: defaultdict[Any, Any]
    param_groups: list[Group]
    _newer_options: ClassVar[dict[str, object]] = {}
    """Options that a state saved by an older PyTorch may lack, with the values that it means."""

    def __init__(self, params: Any, defaults: State) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, rl.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be "
                f"an iterable of Tensors or dicts, but got {rl.typename(params)}"
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    _group_tensors_by_device_and_dtype = staticmethod(_group_tensors_by_device_and_dtype)

    def _make_hooks(self) -> None:
        self._optimizer_step_pre_hooks: Hooks = OrderedDict()
        self._optimizer_step_post_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: Hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: Hooks = OrderedDict()
        with tables_lock:
            _optimizers.add(self)
        if _pre_hooks or _post_hooks:
            self._hook_step()

    def __getstate__(self) -> State:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: State) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hooks()
        self.defaults.setdefault("differentiable", False)
        for name, value in self._newer_options.items():
            for group in self.param_groups:
                group.setdefault(name, value)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    # --- groups ---

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group of parameters, with options of its own: `{"params": ..., "lr": 0.1}`.

        >>> a, b = torch.zeros(1), torch.zeros(2)
        >>> optimizer = torch.optim.SGD([a], lr=0.1)
        >>> optimizer.add_param_group({"params": [b], "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but "
                "the ordering of tensors in sets will change between runs. "
                "Please use a list instead."
            )
        params = [params] if isinstance(params, rl.Tensor) else list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        params = [p[1] if isinstance(p, tuple) else p for p in params]
        param_group["params"] = params
        if names:
            if len(names) != len(params):
                raise ValueError(
                    "all optimizer params should be with/without names. "
                    "Some param names are missing"
                )
            param_group["param_names"] = names

        for param in params:
            if not isinstance(param, rl.Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, "
                    f"but one of the params is {rl.typename(param)}{taking_pytorchs(param)}"
                )
            if not self.defaults.get("differentiable") and not (
                param.is_leaf or param.retains_grad
            ):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    + name
                )
            param_group.setdefault(name, default)

        if len(params) != len(set(params)):
            warn(
                "optimizer contains a parameter group with duplicate parameters; "
                "in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information"
            )
        known: set[Tensor] = set()
        for group in self.param_groups:
            known.update(group["params"])
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. "
                    f"cannot add param group {kind} to the optimizer"
                )
        if not known.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    # --- stepping ---

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or fills them with zeros.

        >>> x = torch.ones(1, requires_grad=True)
        >>> optimizer = torch.optim.SGD([x], lr=0.1)
        >>> (2 * x).backward()
        >>> optimizer.zero_grad()
        >>> x.grad is None
        True
        """
        for group in self.param_groups:
            if set_to_none:
                for p in group["params"]:
                    p.grad = None
                continue
            for p in group["params"]:
                grad = p.grad
                if grad is not None:
                    if grad.grad_fn is not None:
                        grad.detach_()
                    else:
                        grad.requires_grad_(False)
                    grad.zero_()

    def step(self, closure: Closure | None = None) -> Any:
        """Updates the parameters once; `closure` computes the loss anew and returns it."""
        raise NotImplementedError

    def _patch_step_function(self) -> None:
        """Nothing to do: a step looks for its hooks by itself."""

    @property
    def _zero_grad_profile_name(self) -> str:
        return f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"

    def register_step_pre_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` before each step; may return new args and kwargs."""
        self._hook_step()
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., object]) -> RemovableHandle:
        """`hook(optimizer, args, kwargs)` after each step."""
        self._hook_step()
        return add_hook(self._optimizer_step_post_hooks, hook)

    def _hook_step(self) -> None:
        """Lets `step` of this instance run the hooks; an optimizer without hooks pays nothing for
        them.
        """

        def step(*args: Any, **kwargs: Any) -> object:
            # The class's may have changed meanwhile.
            inner = own or MethodType(type(self).step, self)
            for _, hook in listed(_pre_hooks, self._optimizer_step_pre_hooks):
                result = hook(self, args, kwargs)
                if result is None:
                    continue
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{inner} must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {result}."
                    )
                args, kwargs = result
            out = inner(*args, **kwargs)
            for _, hook in listed(self._optimizer_step_post_hooks, _post_hooks):
                hook(self, args, kwargs)
            return out

        with tables_lock:
            if "_step_without_hooks" not in self.__dict__:
                own = self._step_without_hooks = vars(self).get("step")
                self.step = step  # type: ignore[method-assign]

    # --- saving and loading ---

    def state_dict(self) -> State:
        """The state by number of the parameter, and the groups' options.

        >>> x = torch.ones(1, requires_grad=True)
        >>> optimizer = torch.optim.SGD([x], lr=0.1, momentum=0.9)
        >>> (2 * x).backward()
        >>> optimizer.step()
        >>> optimizer.state_dict()["state"]
        {0: {'momentum_buffer': tensor([2.])}}
        """
        for _, hook in listed(self._optimizer_state_dict_pre_hooks):
            hook(self)
        numbers: dict[int, int] = {}
        start = 0
        groups = []
        for group in self.param_groups:
            params = group["params"]
            for i, p in enumerate(params, start):
                numbers.setdefault(id(p), i)
            start += len(params)
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in params]
            groups.append(packed)
        state = {
            (numbers[id(key)] if isinstance(key, rl.Tensor) else key): value
            for key, value in self.state.items()
        }
        result: dict[str, object] = {"state": state, "param_groups": groups}
        for _, hook in listed(self._optimizer_state_dict_post_hooks):
            replaced = hook(self, result)
            if replaced is not None:
                result = replaced
        return result

    def load_state_dict(self, state_dict: State) -> None:
        """Takes over state and options; tensors are cast to the parameters' dtype and device.

        >>> x = torch.ones(1, requires_grad=True)
        >>> one, other = torch.optim.SGD([x], lr=0.1), torch.optim.SGD([x], lr=0.5)
        >>> one.load_state_dict(other.state_dict())
        >>> one.param_groups[0]["lr"]
        0.5
        """
        state_dict = state_dict.copy()
        for _, hook in listed(self._optimizer_load_state_dict_pre_hooks):
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        groups = self.param_groups
        saved = deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group "
                "that doesn't match the size of optimizer's group"
            )
        owners: dict[object, Tensor] = {}
        for group, saved_group in zip(groups, saved, strict=True):
            owners.update(zip(saved_group["params"], group["params"], strict=True))

        state: defaultdict[object, object] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owners:
                state[owners[key]] = _cast_state(owners[key], value)
            else:
                state[key] = value
        for group, saved_group in zip(groups, saved, strict=True):
            saved_group["params"] = group["params"]
            if "param_names" in group:
                saved_group.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for _, hook in listed(self._optimizer_load_state_dict_post_hooks):
            hook(self)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` before `state_dict`."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)` after `state_dict`; may return another dict."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer, state_dict)` before loading; may return another dict."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., object], prepend: bool = False
    ) -> RemovableHandle:
        """`hook(optimizer)` after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)


def _add_for_all(hooks: Hooks, hook: Callable[..., object]) -> RemovableHandle:
    handle = add_hook(hooks, hook)
    with tables_lock:
        optimizers = list(_optimizers)
    for optimizer in optimizers:
        optimizer._hook_step()
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., object]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` before each step of any optimizer; may return new args and
    kwargs.

    >>> import sys
    >>> module = sys.modules[torch.optim.Optimizer.__module__]  # torch.optim.optimizer
    >>> handle = module.register_optimizer_step_pre_hook(
    ...     lambda o, *_: print(type(o).__name__, "steps")
    ... )
    >>> torch.optim.SGD([torch.zeros(1)], lr=0.1).step()
    SGD steps
    >>> handle.remove()
    """
    return _add_for_all(_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., object]) -> RemovableHandle:
    """`hook(optimizer, args, kwargs)` after each step of any optimizer.

    >>> import sys
    >>> module = sys.modules[torch.optim.Optimizer.__module__]  # torch.optim.optimizer
    >>> handle = module.register_optimizer_step_post_hook(
    ...     lambda o, *_: print(type(o).__name__, "did")
    ... )
    >>> torch.optim.SGD([torch.zeros(1)], lr=0.1).step()
    SGD did
    >>> handle.remove()
    """
    return _add_for_all(_post_hooks, hook)


def _cast_state(param: Tensor, value: object, key: str | None = None) -> object:
    """A copy of loaded state with tensors cast for `param`; the step count keeps its own dtype."""
    if isinstance(value, rl.Tensor):
        if key == "step":
            return value
        dtype = param.dtype if param.is_floating_point() else value.dtype
        if value.dtype is dtype and value.device is param.device:
            return value
        return value.to(dtype=dtype, device=param.device)
    if isinstance(value, dict):
        return {k: _cast_state(param, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_cast_state(param, v) for v in value)  # type: ignore[call-arg]
    return value


__getattr__ = _missing_name(__name__)
