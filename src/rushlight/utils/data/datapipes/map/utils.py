"""Another name of pipes."""

from .pipes import SequenceWrapperMapDataPipe as SequenceWrapperMapDataPipe
