"""Types of traced values."""

from __future__ import annotations

from typing import Any

from .._base.missing import missing_name as _missing_name
from .proxy import Proxy

__all__ = ["annotate"]


def annotate(val: object, type: object) -> Any:
    """Note the type of a traced value; other values are given back as they are."""
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(
                f"Tried to annotate a value that already had a type on it! Existing type is "
                f"{val.node.type} and new type is {type}. This could happen if you tried to "
                "annotate a function parameter value (in which case you should use the type slot "
                "on the function signature) or you called annotate on the same value twice"
            )
        val.node.type = type
    return val


__getattr__ = _missing_name(__name__)
