"""Another name of pipes."""

from .pipes import ConcaterMapDataPipe as ConcaterMapDataPipe
from .pipes import ZipperMapDataPipe as ZipperMapDataPipe
