"""Another name of pipes."""

from .pipes import ShufflerIterDataPipe as ShufflerIterDataPipe
