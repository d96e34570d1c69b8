"""`torch._functorch`: the transforms under the names that libraries import them by."""

from .._missing import missing_name as _missing_name

__getattr__ = _missing_name(__name__, late={"vmap": "vmap"})
