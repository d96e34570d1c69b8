"""`torch._logging`: settings of PyTorch's logs, without effect; warnings once for each text."""

from __future__ import annotations

import functools
import logging
from typing import Any


@functools.cache
def warning_once(logger: logging.Logger, *args: Any, **kwargs: Any) -> None:
    """A warning of a logger, the first time that it is called with these arguments."""
    logger.warning(*args, **kwargs)


def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:
    """The logger of a name."""
    return logging.getLogger(f"{module_qname}.__{artifact_name}")


class LazyString:
    """A text that is made when it is asked for."""

    def __init__(self, func: Any, *args: Any, **kwargs: object) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self) -> str:
        return str(self.func(*self.args, **self.kwargs))
