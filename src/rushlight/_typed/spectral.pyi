"""ops/spectral/: functions in torch. Written by tools/public_stub.py."""

from ..ops.spectral.short_time import istft as istft
from ..ops.spectral.short_time import stft as stft
