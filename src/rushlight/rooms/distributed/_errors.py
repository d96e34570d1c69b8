"""Errors between processes."""

from __future__ import annotations


class DistError(RuntimeError):
    """An error between processes."""


class DistBackendError(DistError):
    """An error in a backend."""


class DistNetworkError(DistError):
    """An error in the network."""


class DistStoreError(DistError):
    """An error in a store."""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError):
    _error.__module__ = "rushlight.distributed"
