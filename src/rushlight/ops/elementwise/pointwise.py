"""All pointwise ops under one roof, and torch's in-place functions (`torch.exp_`)."""

from ... import _core
from ..table.statement import namespace
from .arithmetic import *  # noqa: F403
from .comparison import *  # noqa: F403
from .elementary import *  # noqa: F403
from .powers import *  # noqa: F403
from .selection import *  # noqa: F403
from .special import *  # noqa: F403

_IN_PLACE_FUNCTIONS = """
abs_ acos_ acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_
ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_
exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_
nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_
square_ tan_ tanh_ trunc_ xlogy_ zero_
"""
for _name in _IN_PLACE_FUNCTIONS.split():
    if hasattr(_core.Tensor, _name):
        namespace("torch")[_name] = getattr(_core.Tensor, _name)
