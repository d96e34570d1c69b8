"""Processes that are started together: refused."""

from ...._errors import refuse_all as _refuse_all
from ...._missing import missing_name as _missing_name

globals().update(
    _refuse_all(
        "torch.distributed.elastic.multiprocessing",
        "DefaultLogsSpecs LogsSpecs MultiprocessContext PContext Std start_processes",
        "torch.multiprocessing starts processes.",
    )
)

__getattr__ = _missing_name(__name__, late={"errors": "errors"})
