"""The versions, said once: the build reads the first from here."""

__version__ = "0.18.0"

# The version of the PyTorch whose API this is: `torch.__version__` tells programs this text.
TORCH_VERSION = "2.13.0+rushlight"
