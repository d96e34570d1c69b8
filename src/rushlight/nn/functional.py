"""`torch.nn.functional`: the neural-network part of the op table under its public names.

Nothing is computed here: `F.linear` is the op itself, and costs no more.
"""

from .. import _root as _rl
from .._base.missing import missing_name as _missing_name
from ..ops.layers.multi_head import _canonical_mask, _none_or_dtype  # noqa: F401

globals().update({name: op for name, op in vars(_rl._nn).items() if not name.startswith("_")})
__all__ = [name for name in vars(_rl._nn) if not name.startswith("_")]

_threshold = _rl._nn.threshold  # its name in traced programs

__getattr__ = _missing_name(__name__)
