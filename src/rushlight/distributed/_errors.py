"""What goes wrong between processes."""

from __future__ import annotations


class DistError(RuntimeError):
    """What goes wrong between processes."""


class DistBackendError(DistError):
    """What goes wrong in a backend."""


class DistNetworkError(DistError):
    """What goes wrong in the network."""


class DistStoreError(DistError):
    """What goes wrong in a store."""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError):
    _error.__module__ = "rushlight.distributed"
