"""Capture: a run of a function as a flat program of kernel calls, replayed while nothing it read has changed."""
