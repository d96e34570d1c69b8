"""Kernels of accelerators for the steps of optimizers."""
