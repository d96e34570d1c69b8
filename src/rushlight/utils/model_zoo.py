"""`torch.utils.model_zoo`: an older name of what `torch.hub` downloads."""

from .._missing import missing_name as _missing_name
from .._torch.hub import download_url_to_file as download_url_to_file
from .._torch.hub import load_state_dict_from_url as load_state_dict_from_url

load_url = load_state_dict_from_url

__getattr__ = _missing_name(__name__)
