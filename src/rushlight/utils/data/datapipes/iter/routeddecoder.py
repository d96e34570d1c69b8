"""Another name of pipes of files."""

from .files import RoutedDecoderIterDataPipe as RoutedDecoderIterDataPipe
