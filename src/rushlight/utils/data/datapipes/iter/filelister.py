"""Another name of pipes of files."""

from .files import FileListerIterDataPipe as FileListerIterDataPipe
