"""torch.__future__: how `nn.Module` changes the type or the device of its parameters."""

from __future__ import annotations

from ..nn._moving import Conversion as _Conversion


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether a module that is converted gets new parameters, rather than new data in its own.

    >>> layer = nn.Linear(1, 1)
    >>> weight = layer.weight
    >>> torch.__future__.set_overwrite_module_params_on_conversion(True)
    >>> layer.double().weight is weight
    False
    >>> torch.__future__.set_overwrite_module_params_on_conversion(False)
    """
    _Conversion.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """The setting of `set_overwrite_module_params_on_conversion`.

    >>> torch.__future__.get_overwrite_module_params_on_conversion()
    False
    """
    return _Conversion.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether a module that is converted keeps its parameters by `torch.utils.swap_tensors`; here
    they are kept either way, except between the meta device and others.

    >>> layer = nn.Linear(1, 1)
    >>> weight = layer.weight
    >>> torch.__future__.set_swap_module_params_on_conversion(True)
    >>> layer.double().weight is weight
    True
    >>> torch.__future__.set_swap_module_params_on_conversion(False)
    """
    _Conversion.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """The setting of `set_swap_module_params_on_conversion`.

    >>> torch.__future__.get_swap_module_params_on_conversion()
    False
    """
    return _Conversion.swap
