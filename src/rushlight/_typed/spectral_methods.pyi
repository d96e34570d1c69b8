"""ops/spectral/: methods of Tensor. Written by tools/public_stub.py."""

class SpectralMethods:
    ...
