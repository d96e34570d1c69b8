"""`torch.onnx`: names that programs import; exporting is refused."""

from .._elsewhere import refuse_all as _refuse_all
from .._missing import missing_name as _missing_name

_NO_ONNX = "there is no ONNX here."

globals().update(
    _refuse_all(
        "torch.onnx",
        """ONNXProgram ExportableModule InputObserver ExportOptions JitScalarType export
        dynamo_export""",
        _NO_ONNX,
    )
)


class OnnxExporterError(RuntimeError):
    """What goes wrong in an export: never raised."""


def is_in_onnx_export() -> bool:
    """False: nothing is exported.

    >>> torch.onnx.is_in_onnx_export()
    False
    """
    return False


__getattr__ = _missing_name(
    __name__,
    late={n: n for n in ("errors", "operators", "symbolic_helper", "utils")},
)
