"""`DeviceMesh`: processes as an array; here the array has one element."""

from __future__ import annotations

import math
from typing import Any

from .. import _root as rl
from .._core import Tensor
from .._missing import missing_name as _missing_name
from . import GroupMember, get_rank, get_world_size, is_initialized

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """The processes as an array of ranks: of one process, each dimension has one."""

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        **settings: Any,
    ) -> None:
        ranks = mesh if isinstance(mesh, Tensor) else rl.tensor(mesh if mesh is not None else [0])
        if ranks.numel() != 1:
            raise RuntimeError(
                f"Mesh should not be bigger than default world size 1, but found {ranks.numel()} "
                "ranks!"
            )
        self.device_type, self.mesh, self.mesh_dim_names = device_type, ranks, mesh_dim_names

    @property
    def ndim(self) -> int:
        """How many dimensions the array has."""
        return self.mesh.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the array."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, in all or in a dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def get_group(self, mesh_dim: Any = None) -> Any:
        """The group of a dimension."""
        return GroupMember.WORLD if is_initialized() else None

    def get_all_groups(self) -> list[Any]:
        """The group of each dimension."""
        return [self.get_group() for _ in range(self.ndim)]

    def get_rank(self) -> int:
        """The number of this process."""
        return get_rank() if is_initialized() else 0

    def get_local_rank(self, mesh_dim: Any = None) -> int:
        """The place of this process in a dimension."""
        return 0

    def get_coordinate(self) -> list[int]:
        """The place of this process."""
        return [0] * self.ndim

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        wanted = (names,) if isinstance(names, str) else tuple(names)
        known = self.mesh_dim_names
        if not known:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        if not set(wanted) <= set(known):
            raise KeyError(
                f"Invalid mesh_dim_names {wanted} specified. Valid mesh_dim_names are {known}."
            )
        ranks = self.mesh.reshape([1] * len(wanted))
        return DeviceMesh(self.device_type, ranks, mesh_dim_names=wanted)

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        return DeviceMesh(self.device_type, self.mesh.reshape(1), mesh_dim_names=(name,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (
            (self.device_type, self.shape, self.mesh_dim_names)
            == (other.device_type, other.shape, other.mesh_dim_names)
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.shape, self.mesh_dim_names))

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        shown = ", ".join(f"{n}={s}" for n, s in zip(names or (), self.shape, strict=False))
        return f"DeviceMesh(({shown or self.mesh.tolist()}), '{self.device_type}')"


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    **settings: Any,
) -> DeviceMesh:
    """A mesh of sizes whose product is 1: there is one process.

    >>> torch.distributed.device_mesh.init_device_mesh("cpu", (1,)).size()
    1
    """
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError("Each mesh_dim_name must be unique.", mesh_dim_names)
    if mesh_dim_names is not None and len(mesh_shape) != len(mesh_dim_names):
        raise RuntimeError("mesh_shape and mesh_dim_names should have same length!")
    world = get_world_size() if is_initialized() else 1
    if math.prod(mesh_shape) > world:
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {world}, but found "
            f"{math.prod(mesh_shape)} ranks!"
        )
    ranks = rl.zeros(mesh_shape, dtype=rl.int32)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)


__getattr__ = _missing_name(__name__)
