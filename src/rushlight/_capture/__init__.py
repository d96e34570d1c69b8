"""Capture: a run of a function as a program of kernels, replayed while all it read is as it was."""
