"""Kernels of accelerators for the ops of this subject."""
