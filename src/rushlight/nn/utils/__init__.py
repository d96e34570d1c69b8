"""Helpers over parameters and gradients: clipping, flattening, padded sequences."""

from ..._missing import missing_name as _missing_name
from . import rnn as rnn
from .clip_grad import clip_grad_norm as clip_grad_norm
from .clip_grad import clip_grad_norm_ as clip_grad_norm_
from .clip_grad import clip_grad_value_ as clip_grad_value_
from .clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from .clip_grad import get_total_norm as get_total_norm
from .convert_parameters import parameters_to_vector as parameters_to_vector
from .convert_parameters import vector_to_parameters as vector_to_parameters
from .init import skip_init as skip_init

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "skip_init",
    "vector_to_parameters",
]

__getattr__ = _missing_name(__name__)
