"""Another name of pipes."""

from .pipes import MapperMapDataPipe as MapperMapDataPipe
from .pipes import default_fn as default_fn
