"""All pointwise ops under one roof, for the families that build on them."""

from .arithmetic import *  # noqa: F403
from .comparison import *  # noqa: F403
from .elementary import *  # noqa: F403
from .selection import *  # noqa: F403
