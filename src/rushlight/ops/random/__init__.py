"""Random numbers, equal to PyTorch's by seed: tensors filled in place, and new ones."""
