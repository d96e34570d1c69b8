"""Another name of pipes of files."""

from .files import StreamReaderIterDataPipe as StreamReaderIterDataPipe
