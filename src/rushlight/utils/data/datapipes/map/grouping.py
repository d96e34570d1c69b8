"""Another name of pipes."""

from .pipes import BatcherMapDataPipe as BatcherMapDataPipe
