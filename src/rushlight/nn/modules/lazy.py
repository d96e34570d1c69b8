"""Lazy layers: those that learn the sizes of their input from the first call.

Until then their parameters and buffers are uninitialised (`nn.parameter.UninitializedParameter`).
The first call gives them shapes, draws their values, and changes the layer's class to the plain
one, `cls_to_become`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rushlight._root import Tensor

from .._uninitialized import is_lazy
from .module import Module

if TYPE_CHECKING:  # the class behind it in the bases is a module
    _Base = Module
else:
    _Base = object


class LazyModuleMixin(_Base):
    """Makes the module class that stands behind it in the bases a lazy one.

    The class has a method `initialize_parameters`, which is called with the arguments of the first
    call, and perhaps `cls_to_become`.

    >>> layer = nn.LazyLinear(2)
    >>> layer.has_uninitialized_params()
    True
    >>> y = layer(torch.zeros(4, 3))
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become: ClassVar[type[Module] | None] = None

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Gives the parameters shapes and values, for the arguments of the first call."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(map(is_lazy, [*self._parameters.values(), *self._buffers.values()]))

    def _load_one(
        self, key: str, name: str, current: Tensor, value: Tensor, assign: bool
    ) -> str | None:
        if is_lazy(current) and is_lazy(value):
            return None
        return super()._load_one(key, name, current, value, assign)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        left_out = self._non_persistent_buffers_set
        members = {**self._parameters, **self._buffers}
        for name, value in members.items():
            if value is not None and name not in left_out:
                plain = is_lazy(value) or keep_vars
                destination[prefix + name] = value if plain else value.detach()

    def _lazy_load_hook(
        self, state_dict: Any, prefix: str, metadata: object, strict: bool, *lists: object
    ) -> None:
        """Gives uninitialised members the shapes of what is loaded into them."""
        for name, value in {**self._parameters, **self._buffers}.items():
            loaded = state_dict.get(prefix + name)
            if is_lazy(value) and loaded is not None and not is_lazy(loaded):
                value.materialize(loaded.shape)

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """The first call: shapes, values, and the plain class."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become
