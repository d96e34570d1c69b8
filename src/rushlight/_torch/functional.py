"""`torch.functional`: functions of torch that PyTorch writes in Python, under that name too."""

from .. import _root as rl
from .._base.missing import missing_name as _missing_name

__all__ = [
    name
    for name in """atleast_1d atleast_2d atleast_3d align_tensors broadcast_shapes
    broadcast_tensors cartesian_prod block_diag cdist chain_matmul einsum istft lu norm meshgrid
    split stft tensordot unique unique_consecutive unravel_index""".split()
    if hasattr(rl, name)
]
globals().update({name: getattr(rl, name) for name in __all__})

__getattr__ = _missing_name(__name__)
