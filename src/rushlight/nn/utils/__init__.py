"""Helpers over parameters and gradients: clipping, flattening, padded sequences; and over modules:
weights that are computed from others.
"""

from ..._base.late import functions_named_as_modules as _functions_named_as_modules
from ..._base.missing import missing_name as _missing_name

_FILES = {
    "clip_grad": """clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_
        get_total_norm""",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "fusion": """fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval
        fuse_linear_bn_weights""",
    "init": "skip_init",
    "spectral_norm": "remove_spectral_norm",
    "weight_norm": "remove_weight_norm",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
}
_LATE = {name: file for file, names in _FILES.items() for name in names.split()}
_MODULES = [*_FILES, *"parametrizations parametrize prune rnn stateless".split()]

__all__ = sorted([*_LATE, "rnn", "spectral_norm", "weight_norm"])

_functions_named_as_modules(__name__, "spectral_norm", "weight_norm")

__getattr__ = _missing_name(__name__, late=_LATE | {name: name for name in _MODULES})
