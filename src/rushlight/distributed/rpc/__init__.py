"""`torch.distributed.rpc`: calls in other processes are refused."""

from ..._errors import refuse_all as _refuse_all
from ..._missing import missing_name as _missing_name

globals().update(
    _refuse_all(
        "torch.distributed.rpc",
        """BackendType RRef RpcBackendOptions TensorPipeRpcBackendOptions WorkerInfo get_worker_info
        init_rpc remote rpc_async rpc_sync shutdown""",
        "processes do not talk to each other here.",
    )
)


def is_available() -> bool:
    """False: processes do not talk to each other here."""
    return False


__getattr__ = _missing_name(__name__)
