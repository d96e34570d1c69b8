"""What a program's gradients do, shown to a person; imported when it is asked for."""

from ._watch import watch as watch

__all__ = ["watch"]
