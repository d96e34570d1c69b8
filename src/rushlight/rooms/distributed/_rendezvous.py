"""How processes find the store they share: from a URL, or from the environment's variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from numbers import Integral
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ._stores import FileStore, Store, TCPStore
from .constants import default_pg_timeout

__all__ = ["register_rendezvous_handler", "rendezvous"]

Found = tuple[Store, int, int]  # the store, this process's rank, how many there are
Handler = Callable[..., Iterator[Found]]

_handlers: dict[str, Handler] = {}


def register_rendezvous_handler(scheme: str, handler: Handler) -> None:
    """Say who answers `rendezvous` for URLs of a scheme: a generator of (store, rank, world_size).

    >>> def alone(url, timeout=None):
    ...     yield torch.distributed.HashStore(), 0, 1
    >>> torch.distributed.register_rendezvous_handler("alone", alone)
    >>> next(torch.distributed.rendezvous("alone://"))[1:]
    (0, 1)
    """
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, **settings: object
) -> Iterator[Found]:
    """A generator of one (store, rank, world_size) for a URL.

    env:// reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; tcp://host:port and file:///path
    have `?rank=0&world_size=2`, or the arguments. Settings: `timeout`, of the store. Raises
    ValueError for what is told nowhere, RuntimeError for a scheme that nobody answers.

    >>> next(torch.distributed.rendezvous("tcp://localhost", rank=0, world_size=1))
    Traceback (most recent call last):
        ...
    ValueError: Error initializing torch.distributed using tcp:// rendezvous: port number missing
    """
    if not isinstance(url, str | bytes):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, Integral):
        raise RuntimeError(f"`rank` must be an integer. {rank}")
    if not isinstance(world_size, Integral):
        raise RuntimeError(f"`world_size` must be an integer. {world_size}")
    parts = urlsplit(url.decode() if isinstance(url, bytes) else url)
    given = {"rank": int(rank), "world_size": int(world_size)}
    given = {name: number for name, number in given.items() if number != -1}
    if given:
        query = _query(parts)
        if not query.keys().isdisjoint(["rank", "world_size"]):
            raise AssertionError(
                f"The url: {parts.geturl()} has node-specific arguments(rank, world_size) already."
            )
        pairs = {**query, **given}.items()
        parts = parts._replace(query="&".join(f"{name}={value}" for name, value in pairs))
    if parts.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    return _handlers[parts.scheme](parts.geturl(), **settings)


def _query(parts: SplitResult) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in parts.query.split("&"))
    return {name: value for name, _, value in pairs if name}


def _error(scheme: str, what: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {what}")


def _numbers(scheme: str, query: dict[str, str]) -> tuple[int, int]:
    """The rank and the number of processes that a URL tells."""
    if "rank" not in query:
        raise _error(scheme, "rank parameter missing")
    if "world_size" not in query:
        raise _error(scheme, "world size parameter missing")
    return int(query["rank"]), int(query["world_size"])


def _file(url: str, **settings: Any) -> Iterator[Found]:
    parts = urlsplit(url)
    if not parts.path:
        raise _error("file", "path missing")
    rank, world_size = _numbers("file", _query(parts))
    store = FileStore(parts.path, world_size)
    if "timeout" in settings:
        store.set_timeout(settings["timeout"])
    yield store, rank, world_size
    raise RuntimeError("Unable to perform rerendezvous using file:// method")


def _tcp(url: str, timeout: timedelta = default_pg_timeout, **settings: object) -> Iterator[Found]:
    parts = urlsplit(url)
    if parts.port is None or parts.hostname is None:
        raise _error("tcp", "port number missing" if parts.port is None else "host name missing")
    rank, world_size = _numbers("tcp", _query(parts))
    yield _store(parts.hostname, parts.port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using tcp:// method")


def _env(url: str, timeout: timedelta = default_pg_timeout, **settings: object) -> Iterator[Found]:
    query = _query(urlsplit(url))

    def told(name: str) -> str:
        if value := query.get(name.lower()) or os.environ.get(name):
            return value
        raise _error("env", f"environment variable {name} expected, but not set")

    rank, world_size = int(told("RANK")), int(told("WORLD_SIZE"))
    host, port = told("MASTER_ADDR"), int(told("MASTER_PORT"))
    yield _store(host, port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


def _store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> TCPStore:
    """The store that rank 0 serves, or that torchrun's agent serves already."""
    if not 0 <= port < 1 << 16:
        raise ValueError(f"port must have value from 0 to 65535 but was {port}.")
    served = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    return TCPStore(
        host, port, world_size, rank == 0 and not served, timeout, multi_tenant=not served
    )


for _scheme, _handler in {"tcp": _tcp, "env": _env, "file": _file}.items():
    register_rendezvous_handler(_scheme, _handler)
