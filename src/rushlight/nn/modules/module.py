"""`Module`: the base of every layer and network.

A module keeps its parameters, buffers and children in three dicts, `_parameters`, `_buffers` and
`_modules`, and nowhere else: what a program writes there is so. `Module.__getattr__` finds them, or
native/core/members.cpp in its place. Saving and loading are in `_state.py`, hooks in `_hooks.py`,
and what a call does when there are hooks in `_calling.py`.
"""

from __future__ import annotations

import copy
import copyreg
import sys
import types
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, Self

from rushlight import _root as rl
from rushlight._root import Tensor

from ..._base.device import DeviceLike
from ..._base.errors import taking_pytorchs, warn
from ..._base.late import late
from ..._base.missing import missing_name as _missing_name
from ...autograd._swapped import swap_tensors
from .._moving import Conversion, target
from ..parameter import Buffer, Parameter
from . import _hooks
from ._calling import GLOBAL, call_uncompiled, call_with_hooks, registered
from ._hooks import register_module_backward_hook as register_module_backward_hook
from ._hooks import (
    register_module_buffer_registration_hook as register_module_buffer_registration_hook,
)
from ._hooks import register_module_forward_hook as register_module_forward_hook
from ._hooks import register_module_forward_pre_hook as register_module_forward_pre_hook
from ._hooks import register_module_full_backward_hook as register_module_full_backward_hook
from ._hooks import register_module_full_backward_pre_hook as register_module_full_backward_pre_hook
from ._hooks import (
    register_module_module_registration_hook as register_module_module_registration_hook,
)
from ._hooks import (
    register_module_parameter_registration_hook as register_module_parameter_registration_hook,
)
from ._state import _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX
from ._state import StateMethods
from ._state import _IncompatibleKeys as _IncompatibleKeys

_Tensor = rl.Tensor
_REGISTRIES = ("_parameters", "_buffers", "_modules")


def _is_ours(function: object) -> bool:
    return function.__module__.startswith(("rushlight.nn.", "torch.nn."))


_COMPLEX = (
    "Complex modules are a new feature under active development whose design may change, "
    "and some modules might not work as expected when using complex tensors as parameters or "
    "buffers. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml "
    "if a complex module does not work as expected."
)

# Hooks common to all modules: programs read these names, and set them.
_GLOBAL_HOOKS = {
    "_global_backward_hooks": "backward",
    "_global_backward_pre_hooks": "backward_pre",
    "_global_buffer_registration_hooks": "on_buffer",
    "_global_forward_hooks": "forward",
    "_global_forward_hooks_always_called": "forward_always",
    "_global_forward_hooks_with_kwargs": "forward_with_kwargs",
    "_global_forward_pre_hooks": "forward_pre",
    "_global_module_registration_hooks": "on_module",
    "_global_parameter_registration_hooks": "on_parameter",
}
globals().update({name: getattr(GLOBAL, kind) for name, kind in _GLOBAL_HOOKS.items()})


class _WithHooks(ModuleType):
    def __setattr__(self, name: str, value: object) -> None:
        if name in _GLOBAL_HOOKS:
            setattr(GLOBAL, _GLOBAL_HOOKS[name], value)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _WithHooks
_WrappedHook = _hooks._WrappedHook


_read: dict[str, Any] = {}  # annotations of this package's classes, as objects


def _read_annotations(cls: type) -> None:
    """Make the annotations of a class objects: `typing.get_type_hints(loss, globalns={})` has no
    names to read them by."""
    own = vars(cls).get("__annotations__", {})
    for name, text in own.items():
        if not isinstance(text, str):
            continue
        if text not in _read:
            _read[text] = eval(text, _names_around(cls))
        own[name] = _read[text]


def _names_around(cls: type) -> dict[str, Any]:
    """The names of the file of a class, whose `__module__` may be the one that PyTorch has."""
    for member in vars(cls).values():
        if isinstance(member, FunctionType) and member.__module__ == cls.__module__:
            return member.__globals__
    return vars(sys.modules[cls.__module__])


class Module(StateMethods):
    """Base class of layers and networks: named parameters, buffers and children, and a `forward`.

    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = nn.Linear(2, 3)
    ...     def forward(self, x):
    ...         return self.layer(x).relu()
    >>> net = Net()
    >>> net
    Net(
      (layer): Linear(in_features=2, out_features=3, bias=True)
    )
    >>> [(name, tuple(p.shape)) for name, p in net.named_parameters()]
    [('layer.weight', (3, 2)), ('layer.bias', (3,))]
    >>> net(torch.zeros(5, 2)).shape
    torch.Size([5, 3])
    """

    dump_patches: bool = False
    call_super_init: bool = False
    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if not self.call_super_init:
            if kwargs:
                unknown = next(iter(kwargs))
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{unknown}'")
            if args:
                raise TypeError(
                    f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        attributes = self.__dict__
        attributes["training"] = True
        for registry in _REGISTRIES:
            attributes[registry] = {}
        attributes["_non_persistent_buffers_set"] = set()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # --- calling ---

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._plain:
                return self.forward(*args, **kwargs)
            return call_with_hooks(self, args, kwargs)
        except Exception as error:
            late.add_model(error)
            raise

    _call_impl = _wrapped_call_impl = __call__
    _compiled_call_impl: Any = None

    def _slow_forward(self, *args: object, **kwargs: object) -> Any:
        return self.forward(*args, **kwargs)

    # A value, so that a subclass may give forward any signature.
    forward: Callable[..., Any]

    def _forward_unimplemented(self, *input: object) -> None:
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    forward = _forward_unimplemented

    # --- attributes ---

    def __setattr__(self, name: str, value: object) -> None:
        attributes = self.__dict__
        parameters = attributes.get("_parameters")
        if isinstance(value, Module):
            if parameters is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            if name in parameters:
                self._set_member(name, value)  # raises
            self._forget(name, "_buffers")
            modules = attributes["_modules"]
            if GLOBAL.on_module:
                value = registered(GLOBAL.on_module, self, name, value)
            modules[name] = value
        elif type(value) is Parameter or (
            isinstance(value, _Tensor) and isinstance(value, Parameter)
        ):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif parameters is not None and (
            name in parameters or name in attributes["_modules"] or name in attributes["_buffers"]
        ):
            self._set_member(name, value)  # None, a new tensor for a buffer, or an error
        elif isinstance(value, _Tensor) and isinstance(value, Buffer):
            self._set_buffer(name, value, value.persistent)
        else:
            super().__setattr__(name, value)

    def _set_member(self, name: str, value: object) -> None:
        """Assigns something other than a Parameter or Module to a name that is registered."""
        attributes = self.__dict__
        if name in attributes["_parameters"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{rl.typename(value)}' as parameter '{name}' "
                    f"(torch.nn.Parameter or None expected){taking_pytorchs(value)}"
                )
            self.register_parameter(name, None)
        elif name in attributes["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{rl.typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            attributes["_modules"][name] = registered(GLOBAL.on_module, self, name, None)
        else:
            if value is not None and not isinstance(value, _Tensor):
                raise TypeError(
                    f"cannot assign '{rl.typename(value)}' as buffer '{name}' "
                    f"(torch.nn.Buffer, torch.Tensor or None expected){taking_pytorchs(value)}"
                )
            persistent = name not in self._non_persistent_buffers_set
            if value is not None and isinstance(value, Buffer):
                persistent = value.persistent
            self._set_buffer(name, value, persistent)

    def _set_buffer(self, name: str, value: Any, persistent: bool) -> None:
        if persistent:  # subclasses may override register_buffer without the flag
            self.register_buffer(name, value)
        else:
            self.register_buffer(name, value, persistent=False)

    def _forget(self, name: str, *registries: str) -> None:
        """Drops a name from the instance and from the given registries, before it is registered
        anew.
        """
        attributes = self.__dict__
        for registry in registries:
            attributes[registry].pop(name, None)
        attributes["_non_persistent_buffers_set"].discard(name)
        attributes.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        rl._core.find_members(type(self), _getattr)  # from now on in C, where nothing overrides it
        attributes = self.__dict__
        for registry in _REGISTRIES:
            members = attributes.get(registry)
            if members is not None and name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for members in (self._parameters, self._buffers, self._modules):
            if name in members:
                del members[name]
                if members is self._buffers:
                    self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """As PyTorch's modules are: with the hooks that this one does not have."""
        reduced: Any = super().__reduce_ex__(protocol)
        if isinstance(reduced, str) or len(reduced) < 3 or "_parameters" not in (reduced[2] or ()):
            return reduced  # of a class that reduces itself
        absent: dict[str, Any] = {n: _hooks.NoHooks() for n in _hooks.NAMES if n not in reduced[2]}
        state = {"_is_full_backward_hook": None, **absent, **reduced[2]}
        if _is_ours(type(self).__setstate__):  # which finds out for itself
            state.pop("_plain", None)
        state.pop("_compiled_call_impl", None)
        return (*reduced[:2], state, *reduced[3:])

    def __copy__(self) -> Any:
        """With the same hooks, those that come later too."""
        reduced = self.__reduce_ex__(4)
        if isinstance(reduced, str):
            return self
        made = copy._reconstruct(self, None, *reduced)  # type: ignore[attr-defined]
        if "_parameters" in self.__dict__:
            hooks = {name: getattr(self, name) for name in _hooks.NAMES}
            made.__dict__.update(hooks, _plain=False)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """As the state of `__reduce_ex__` makes the copy, without the hooks that are not there."""
        cls = type(self)
        if (
            cls.__setstate__ is not Module.__setstate__
            or cls.__reduce_ex__ is not Module.__reduce_ex__
            or cls.__reduce__ is not object.__reduce__
            or cls.__getstate__ is not object.__getstate__
            or hasattr(cls, "__getnewargs__")
            or hasattr(cls, "__getnewargs_ex__")
            or copyreg._slotnames(cls)  # type: ignore[attr-defined]
        ):
            reduced = self.__reduce_ex__(4)
            if isinstance(reduced, str):
                return self
            return copy._reconstruct(self, memo, *reduced)  # type: ignore[attr-defined]
        made = cls.__new__(cls)
        memo[id(self)] = made
        own = {k: v for k, v in self.__dict__.items() if k != "_compiled_call_impl"}
        made.__dict__.update(copy.deepcopy(own, memo))
        return made

    def __setstate__(self, state: dict[str, Any]) -> None:
        attributes = self.__dict__
        attributes.update(state)
        attributes.setdefault("_non_persistent_buffers_set", set())
        for name in _hooks.NAMES:
            if name in attributes and not attributes[name]:
                del attributes[name]
        if any(hooks in attributes for hooks in _hooks.ON_CALL):
            attributes["_plain"] = False
        for registry in _REGISTRIES:  # up to version 0.2 members were in the __dict__ as well
            for name, member in attributes.get(registry, {}).items():
                if name in attributes and attributes[name] is member:
                    del attributes[name]

    def __dir__(self) -> list[str]:
        members = [*self._parameters, *self._buffers, *self._modules]
        return sorted({key for key in [*super().__dir__(), *members] if not key[0].isdigit()})

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("rushlight."):
            _read_annotations(cls)
            for base in cls.__bases__:
                if not issubclass(base, Module):  # which has read its own
                    for each in base.__mro__:
                        _read_annotations(each)

    # --- registration ---

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is part of the module's state but is not trained.

        >>> layer = nn.Module()
        >>> layer.register_buffer("count", torch.tensor(0))
        >>> list(layer.state_dict()), list(layer.parameters())
        (['count'], [])
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, _Tensor):
            raise TypeError(
                f"cannot assign '{rl.typename(tensor)}' object to buffer '{name}' "
                f"(torch Tensor or None required){taking_pytorchs(tensor)}"
            )
        self._buffers[name] = registered(GLOBAL.on_buffer, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a trainable parameter, reachable as an attribute; None reserves the name."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if type(param) is not Parameter and not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{rl.typename(param)}' object to parameter '{name}' "
                    f"(torch.nn.Parameter or None required){taking_pytorchs(param)}"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model "
                    f"parameters must be created explicitly. To express '{name}' "
                    "as a function of another Tensor, compute the value in "
                    "the forward() method."
                )
            param = registered(GLOBAL.on_parameter, self, name, param)
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a child module, reachable as an attribute."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{rl.typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = registered(GLOBAL.on_module, self, name, module)

    register_module = add_module

    def _check_name(self, kind: str, name: str, members: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {rl.typename(name)}")
        if kind == "module":  # where the order of the checks differs, so does the error
            if name not in members and hasattr(self, name):
                raise KeyError(f"attribute '{name}' already exists")
            if "." in name:
                raise KeyError(f'module name can\'t contain ".", got: {name}')
        elif "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in members and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # --- members by name ---

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path below this one; the empty path is the module itself."""
        module: Any = self
        for item in target.split(".") if target else ():
            if not hasattr(module, item):
                raise AttributeError(f"{module._get_name()} has no attribute `{item}`")
            module = getattr(module, item)
            if not isinstance(module, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replaces the module at a dotted path (or adds it, unless `strict`)."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if hasattr(parent, name):
            if not isinstance(getattr(parent, name), Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        elif strict:
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        parameter = getattr(module, name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        buffer: Tensor = module._buffers[name]
        return buffer

    # --- iteration ---

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[Any] = set()
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules:
            start = path + "." if path else ""
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield start + name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of the module and, if `recurse`, of all below it, each once.

        >>> sum(p.numel() for p in nn.Linear(3, 2).parameters())
        8
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Dotted path and parameter, in order of registration.

        >>> [name for name, _ in nn.Sequential(nn.Linear(3, 2)).named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of the module and, if `recurse`, of all below it, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Dotted path and buffer, in order of registration."""
        return self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def children(self) -> Iterator[Module]:
        """The direct child modules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Name and module of the direct children, each module once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """The module itself and all modules below it, depth first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Dotted path and module, the module itself (path `prefix`) first, then depth first."""
        if memo is None:
            memo = set()
        waiting: list[tuple[str, Module]] = [(prefix, self)]
        while waiting:
            path, module = waiting.pop()
            if module in memo:
                continue
            if module is not self and type(module).named_modules is not Module.named_modules:
                yield from module.named_modules(memo, path, remove_duplicate)
                continue
            if remove_duplicate:
                memo.add(module)
            yield path, module
            children = module._modules
            if children:
                start = path + "." if path else ""
                below = [(start + name, m) for name, m in children.items() if m is not None]
                waiting.extend(reversed(below))

    # --- changing everything below ---

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Calls `fn` on every module below and then on the module itself.

        >>> def start(module):
        ...     if isinstance(module, nn.Linear):
        ...         nn.init.zeros_(module.bias)
        >>> nn.Sequential(nn.Linear(3, 2)).apply(start)[0].bias.sum().item()
        0.0
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replaces the data of every parameter, its gradient, and every buffer by `fn` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            grad = parameter.grad
            with rl.no_grad():
                moved = fn(parameter)
                if Conversion.swap:
                    self._swap(name, parameter, Parameter(moved, parameter.requires_grad))
                    if grad is not None:
                        grad.data = fn(grad)
                        parameter.grad = grad
                    continue
                if Conversion.overwrite or moved.is_meta is not parameter.is_meta:
                    moved = self._parameters[name] = Parameter(moved, parameter.requires_grad)
                    moved.grad = None if grad is None else fn(grad)
                    continue
                parameter.data = moved
                if grad is not None:
                    grad.data = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _swap(self, name: str, parameter: Tensor, moved: Tensor) -> None:
        try:
            swap_tensors(parameter, moved)
        except RuntimeError as error:
            raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}") from error

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves and casts in place: `to(device)`, `to(dtype)`, `to(device, dtype)` or `to(tensor)`.

        Only floating-point and complex members change their dtype.

        >>> nn.Linear(3, 2).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = target(args, kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    "nn.Module.to only accepts floating point or complex "
                    f"dtypes, but got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warn(_COMPLEX)

        def convert(t: Tensor) -> Tensor:
            cast = dtype if t.is_floating_point() or t.is_complex() else None
            if t.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use "
                    "torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                    "from meta to a different device."
                )
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(device, cast, non_blocking, memory_format=memory_format)
            return t.to(device, cast, non_blocking)

        return self._apply(convert)

    def to_empty(self, *, device: DeviceLike | None, recurse: bool = True) -> Self:
        """Moves the members to `device` without their values.

        >>> nn.Linear(3, 2, device="meta").to_empty(device="cpu").weight.shape
        torch.Size([2, 3])
        """
        return self._apply(lambda t: rl.empty_like(t, device=device), recurse)

    def cpu(self) -> Self:
        """Moves all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: DeviceLike | None = None) -> Self:
        """Moves all parameters and buffers to the GPU."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device: DeviceLike | None = None) -> Self:
        """Moves all parameters and buffers to the XPU."""
        return self._apply(lambda t: t.xpu(device))

    def mtia(self, device: DeviceLike | None = None) -> Self:
        """Moves all parameters and buffers to the MTIA."""
        return self._apply(lambda t: t.mtia(device))

    def ipu(self, device: DeviceLike | None = None) -> Self:
        """Moves all parameters and buffers to the IPU."""
        return self._apply(lambda t: t.ipu(device))

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Calls of this module are captured and replayed from now on. Takes `torch.compile`'s
        settings.

        >>> layer = nn.Linear(2, 1)
        >>> layer.compile()
        >>> layer(torch.zeros(3, 2)).shape
        torch.Size([3, 1])
        """
        made = late.compile(types.MethodType(call_uncompiled, self), *args, **kwargs)
        self.__dict__.update(_compiled_call_impl=made, _plain=False)

    def type(self, dst_type: Any) -> Self:
        """Casts all parameters and buffers to `dst_type`."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Casts all floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Casts all floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Casts all floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Casts all floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def train(self, mode: bool = True) -> Self:
        """Sets `training` on the module and all below (dropout and batch norm read it).

        >>> net = nn.Sequential(nn.Dropout(0.5))
        >>> net.eval()[0].training, net.train()[0].training
        (False, True)
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Sets evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Makes all parameters record (or not record) gradients."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or fills them with zeros.

        >>> layer = nn.Linear(3, 2)
        >>> layer(torch.ones(3)).sum().backward()
        >>> layer.zero_grad()
        >>> layer.weight.grad is None
        True
        """
        for parameter in self.parameters():
            grad = parameter.grad
            if grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def _replicate_for_data_parallel(self) -> Self:
        """A module of the same attributes, without parameters: those are set on it."""
        replica = self.__new__(type(self))
        replica.__dict__.update(self.__dict__)
        replica._parameters = {}
        replica._buffers = self._buffers.copy()
        replica._modules = self._modules.copy()
        replica._is_replica = True
        return replica

    def share_memory(self) -> Self:
        """Moves all parameters and buffers to shared memory."""
        return self._apply(lambda t: t.share_memory_())

    # --- printing ---

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text of `repr` after the module's name, before the children; for overriding."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(m))}" for name, m in self._modules.items()]
        if len(own) == 1 and not children:
            return f"{self._get_name()}({own[0]})"
        if not own and not children:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(own + children) + "\n)"

    def _repr_html_(self) -> str | None:
        """As a notebook's cell shows it."""
        return late.cell_html(self)


_getattr = Module.__getattr__


def _indented(text: str) -> str:
    """`text` with every line after the first moved right by two; blank lines stay empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *("  " + line if line.strip() else "" for line in rest)])


_read_annotations(Module)

__getattr__ = _missing_name(__name__)
