"""Constants of `torch.distributed`."""

from datetime import timedelta

from .._missing import missing_name as _missing_name

default_pg_timeout = default_pg_nccl_timeout = timedelta(minutes=30)

__getattr__ = _missing_name(__name__)
