"""Modules whose activations are computed again."""
