"""Tracing beyond proxies."""

from ..._base.missing import missing_name as _missing_name

__getattr__ = _missing_name(__name__, late={"proxy_tensor": "proxy_tensor"})
