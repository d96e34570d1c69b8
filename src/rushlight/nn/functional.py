"""`torch.nn.functional`: the neural-network part of the op table under its public names.

Nothing is computed here: `F.linear` is the op itself, and costs no more.
"""

from .._base.missing import missing_name as _missing_name
from ..ops import namespace as _namespace

__all__ = [name for name in _namespace("nn").known() if not name.startswith("_")]
_PRIVATE = {
    **dict.fromkeys(("_canonical_mask", "_none_or_dtype"), "rushlight.ops.layers.multi_head"),
    "_threshold": "rushlight.ops.layers.activation",
}
__getattr__ = _missing_name(__name__, _PRIVATE, functions=_namespace("nn"))
