"""Saving and loading: `state_dict`, `load_state_dict` and the per-module steps that subclasses
override.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from rushlight import _root as rl

from ..._base.errors import taking_pytorchs, warn
from ..._base.handles import listed
from ..._core import Tensor
from ...autograd._swapped import swap_tensors
from .._moving import Conversion
from ..parameter import Parameter
from ._hooks import HookMethods

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """The result of `load_state_dict`: keys that lack a value, and keys that have no place."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self[0]!r}, unexpected_keys={self[1]!r})"

    def __str__(self) -> str:
        return repr(self)


class StateDict(OrderedDict[str, Any]):
    """Name -> tensor, in order of registration; `_metadata` holds each module's version."""

    _metadata: object


class StateMethods(HookMethods):
    """The part of `Module` that turns it into a dict of tensors and back."""

    _version: int = 1

    def get_extra_state(self) -> Any:
        """Further state to save with the module: override together with `set_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. "
            f"{type(self).__name__} defines no extra state."
        )

    def set_extra_state(self, state: Any) -> None:
        """Takes back what `get_extra_state` returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. "
            f"{type(self).__name__} defines no extra state."
        )

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted path; detached, but sharing memory.

        >>> state = nn.Linear(3, 2).state_dict()
        >>> {name: tuple(value.shape) for name, value in state.items()}
        {'weight': (2, 3), 'bias': (2,)}
        """
        if args:
            warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html"
                "#torch.nn.Module.state_dict for details.",
                FutureWarning,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata

        for _, hook in listed(self._state_dict_pre_hooks):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self.__dict__["_modules"].items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for _, hook in listed(self._state_dict_hooks):
            result = hook(self, destination, prefix, local_metadata)
            if result is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def _own_state(self) -> dict[str, Any]:
        """The module's own parameters and persistent buffers, without those that are None."""
        attributes = self.__dict__
        transient = attributes["_non_persistent_buffers_set"]
        state = {name: p for name, p in attributes["_parameters"].items() if p is not None}
        for name, buffer in attributes["_buffers"].items():
            if buffer is not None and name not in transient:
                state[name] = buffer
        return state

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Writes the module's own state (not its children's) to `destination`."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not StateMethods.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def load_state_dict(
        self, state_dict: Mapping[str, object], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copies values by name into the module's parameters and buffers.

        Args:
            strict: raise if keys are missing or left over.
            assign: take the tensors themselves instead of copying their values.

        >>> one, other = nn.Linear(3, 2), nn.Linear(3, 2)
        >>> one.load_state_dict(other.state_dict())
        <All keys matched successfully>
        >>> torch.equal(one.weight, other.weight)
        True
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state = StateDict(state_dict)
        if metadata is not None:
            state._metadata = metadata

        _load(self, state, "", metadata, assign, (missing, unexpected, errors))
        if strict:
            if unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
            if missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
        if errors:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(errors)
            )
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads the module's own entries and notes what is missing, left over or wrong."""
        for _, hook in listed(self._load_state_dict_pre_hooks):
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        own = self._own_state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, current in own.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_one(key, name, current, state_dict[key], assign)
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)

        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateMethods.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            children = self.__dict__["_modules"]
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if head not in (children if dot else own):
                        unexpected_keys.append(key)

    def _load_one(
        self, key: str, name: str, current: Tensor, value: Tensor, assign: bool
    ) -> str | None:
        """Copies (or assigns) one value; returns what was wrong with it, if anything."""
        if not isinstance(value, rl.Tensor):
            return (
                f'While copying the parameter named "{key}", '
                "expected torch.Tensor or Tensor-like object from checkpoint but "
                f"received {type(value)}{taking_pytorchs(value)}"
            )
        if current.dim() == 0 and value.dim() == 1 and value.shape[0] == 1:
            value = value[0]
        if value.shape != current.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from "
                f"checkpoint, the shape in current model is {current.shape}."
            )
        try:
            with rl.no_grad():
                if not assign:
                    if current.is_meta and not value.is_meta:
                        warn(
                            f"for {key}: copying from a non-meta parameter in the checkpoint to a "
                            "meta parameter in the current model, which is a no-op. (Did you mean "
                            "to pass `assign=True` to assign items in the state dictionary to "
                            "their corresponding key in the module instead of copying them in "
                            "place?)"
                        )
                    current.copy_(value)
                    return None
                swapped = Conversion.swap
                if swapped:
                    value = value.detach()
                if isinstance(current, Parameter):
                    if isinstance(value, Parameter):
                        value.requires_grad_(current.requires_grad)
                    else:
                        value = Parameter(value, requires_grad=current.requires_grad)
                if swapped:
                    swap_tensors(current, value)
                else:
                    setattr(self, name, value)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", '
                f"whose dimensions in the model are {current.size()} and "
                f"whose dimensions in the checkpoint are {value.size()}, "
                f"an exception occurred : {error.args}."
            )
        return None


def _load(
    module: Any,
    state: Any,
    prefix: str,
    metadata: Any,
    assign: bool,
    found: tuple[Any, Any, object],
) -> None:
    """Loads the entries of a module and of all below it; `found` takes the names of the missing,
    those of the unexpected, and the errors.
    """
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, local_metadata, True, *found)
    for name, child in module._modules.items():
        if child is not None:
            start = f"{prefix}{name}."
            below = {key: value for key, value in state.items() if key.startswith(start)}
            _load(child, below, start, metadata, assign, found)
    for _, hook in listed(module._load_state_dict_post_hooks):
        if hook(module, _IncompatibleKeys(*found[:2])) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                "expected to return new values, if incompatible_keys need to be modified, "
                "it should be done inplace."
            )


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
