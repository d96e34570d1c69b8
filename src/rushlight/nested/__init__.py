"""`torch.nested`: named, and refused; nested tensors are not here."""

from .._elsewhere import refusing as _refusing
from .._missing import missing_name as _missing_name

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]

_WHY = "pad the tensors to one shape (torch.nn.utils.rnn.pad_sequence), or keep them in a list."
for _name in __all__:
    globals()[_name] = _refusing(f"torch.nested.{_name}", _WHY)

__getattr__ = _missing_name(__name__)
