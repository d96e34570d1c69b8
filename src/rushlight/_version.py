"""The versions, said once: the build reads the first from here."""

__version__ = "0.11.0"

# What programs are told that ask `torch` for its version: the PyTorch whose API this is.
TORCH_VERSION = "2.13.0+rushlight"
