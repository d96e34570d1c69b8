"""The communicator of a group of one process: each collective gives what it is given. No MPI."""

from __future__ import annotations

from typing import NoReturn

from .. import _root as rl
from .._core import Tensor
from ._work import Done, Request

_DONE = Done()


class Solo:
    """One process; the same methods as `_mpi.Communicator`."""

    rank: int
    size: int

    rank, size = 0, 1

    def all_reduce(self, tensor: Tensor, op: str) -> Request:
        """The tensor stays."""
        return _DONE

    def reduce(self, tensor: Tensor, op: str, root: int) -> Request:
        """The tensor stays."""
        return _DONE

    def broadcast(self, tensor: Tensor, root: int) -> Request:
        """The tensor stays."""
        return _DONE

    def all_gather(self, output: Tensor, input: Tensor) -> Request:
        """The output gets the input."""
        return _copied(output, input)

    def reduce_scatter(self, output: Tensor, input: Tensor, op: str) -> Request:
        """The output gets the input."""
        return _copied(output, input)

    def all_to_all(
        self, output: Tensor, input: Tensor, outputs: list[int] | None, inputs: list[int] | None
    ) -> Request:
        """The output gets the input."""
        return _copied(output, input)

    def barrier(self) -> Request:
        """Nobody to wait for."""
        return _DONE

    def send(self, tensor: Tensor, peer: int | None, tag: int, own: bool = False) -> NoReturn:
        """Refused: there is no other process."""
        raise ValueError(f"Invalid peer {peer}: a group of one process has no other.")

    receive = send

    def part(self, ranks: list[int], tag: int) -> Solo:
        """The group of these ranks: the only one has this process."""
        return Solo()

    def free(self) -> None:
        """Nothing to give back."""


def _copied(output: Tensor, input: Tensor) -> Request:
    with rl.no_grad():
        output.view(-1).copy_(input.reshape(-1))
    return _DONE
