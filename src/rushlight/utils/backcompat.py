"""`torch.utils.backcompat`: warnings of what changed long ago; none is given."""

from .._base.missing import missing_name as _missing_name


class Warning:
    """A switch without effect."""

    enabled = False


broadcast_warning: Warning = Warning()
keepdim_warning: Warning = Warning()

__getattr__ = _missing_name(__name__)
