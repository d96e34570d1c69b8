"""`torch.package`: names that programs import; packages are refused."""

from __future__ import annotations

from typing import Any

from .._elsewhere import refuse_all as _refuse_all
from .._missing import missing_name as _missing_name

globals().update(
    _refuse_all(
        "torch.package",
        """Directory EmptyMatchError GlobGroup Importer OrderedImporter PackageExporter
        PackageImporter PackagingError""",
        "modules are not packed here; torch.save keeps what they hold.",
    )
)


def is_from_package(obj: Any) -> bool:
    """False: nothing is from a package."""
    return False


__getattr__ = _missing_name(__name__)
