"""Parts of the loader under the names that PyTorch has for them."""

from rushlight._base.missing import missing_name as _missing_name

from . import collate as collate
from . import fetch as fetch
from . import pin_memory as pin_memory
from . import signal_handling as signal_handling
from . import worker as worker

IS_WINDOWS = False
HAS_NUMPY = True
MP_STATUS_CHECK_INTERVAL = 5.0
python_exit_status = False

__getattr__ = _missing_name(__name__)
