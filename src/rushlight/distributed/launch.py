"""`torch.distributed.launch`: starting several processes is refused."""

from .._elsewhere import refuse_all as _refuse_all
from .._missing import missing_name as _missing_name

globals().update(
    _refuse_all(
        "torch.distributed.launch",
        "config_from_args get_args_parser main parse_args run",
        "processes do not talk to each other here; run the script as one.",
    )
)

__getattr__ = _missing_name(__name__)

if __name__ == "__main__":
    globals()["main"]()
