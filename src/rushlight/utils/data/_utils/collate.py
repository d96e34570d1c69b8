"""From samples to batches."""

import re

from rushlight._base.missing import missing_name as _missing_name

from .._collate import _arrays as collate_numpy_array_fn
from .._collate import _floats as collate_float_fn
from .._collate import _ints as collate_int_fn
from .._collate import _numpy_scalars as collate_numpy_scalar_fn
from .._collate import _tensors as collate_tensor_fn
from .._collate import _unchanged as collate_str_fn
from .._collate import collate, default_collate, default_collate_fn_map, default_convert

__all__ = [
    "collate",
    "collate_float_fn",
    "collate_int_fn",
    "collate_numpy_array_fn",
    "collate_numpy_scalar_fn",
    "collate_str_fn",
    "collate_tensor_fn",
    "default_collate",
    "default_collate_fn_map",
    "default_convert",
]
np_str_obj_array_pattern = re.compile(r"[SaUO]")  # of the types of arrays that stay as they are
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)

__getattr__ = _missing_name(__name__)
