"""The reference of convert.cpp in plain NumPy: numbers as halves and back."""

import ml_dtypes
import numpy as np

TYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


def rounded(x, name):
    """float32 to the nearest half, to even in between; as float32 again."""
    with np.errstate(over="ignore"):
        return x.astype(TYPES[name]).astype(np.float32)


def every(name):
    """All halves there are, as float32."""
    return np.arange(1 << 16, dtype=np.uint16).view(TYPES[name]).astype(np.float32)
