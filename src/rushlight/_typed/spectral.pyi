"""ops/spectral/: functions in torch. Written by tools/public_stub.py."""
