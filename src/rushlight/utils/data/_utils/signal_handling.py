"""How a loader notices a worker's end: its pipe is closed, no signal is handled."""

from rushlight._base.missing import missing_name as _missing_name

IS_WINDOWS = False


def _set_SIGCHLD_handler() -> None:
    """Nothing to set."""


__getattr__ = _missing_name(__name__)
