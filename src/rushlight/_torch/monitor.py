"""`torch.monitor`: events that a program tells itself."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any


class Event:
    """Something that happened: a name, a time, and what is known of it."""

    def __init__(self, name: str, timestamp: datetime.datetime, data: dict[str, Any]) -> None:
        self.name, self.timestamp, self.data = name, timestamp, data


class EventHandlerHandle:
    """The handle of a registration, for `unregister_event_handler`."""

    def __init__(self, handler: Callable[[Event], None]) -> None:
        self.handler = handler


_handlers: list[EventHandlerHandle] = []


def register_event_handler(handler: Callable[[Event], None]) -> EventHandlerHandle:
    """Let a function be called with each event."""
    _handlers.append(EventHandlerHandle(handler))
    return _handlers[-1]


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Let it be called no more."""
    _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Tell the handlers of an event."""
    for handle in list(_handlers):
        handle.handler(event)
