"""Helpers of pipes."""
