"""`torch.utils.tensorboard`: event files for TensorBoard. It needs the package tensorboard."""

from importlib import import_module as _import_module
from typing import Any as _Any

from ..._base.missing import missing_name as _missing_name

_tensorboard: _Any = _import_module("tensorboard")
_version = getattr(_tensorboard, "__version__", "0")
if tuple(int(n) for n in _version.split(".")[:2] if n.isdigit()) < (1, 15):
    raise ImportError("TensorBoard logging requires TensorBoard version 1.15 or above")

from .writer import FileWriter, SummaryWriter  # noqa: E402

RecordWriter: _Any = _import_module("tensorboard.summary.writer.record_writer").RecordWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]

__getattr__ = _missing_name(__name__)
