"""Another name of pipes of files."""

from .files import FileOpenerIterDataPipe as FileOpenerIterDataPipe
