"""`DeviceMesh`: the processes as an array of ranks, with a group for each of its dimensions.

A mesh keeps the ranks of its root in one row, and for each of its own dimensions an axis: sizes
and strides in that row. Slices and flattened meshes share the row and have other axes.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _root as rl
from .._base.missing import missing_name as _missing_name
from .._core import Tensor
from ._groups import (
    ProcessGroup,
    _World,
    default_group,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    new_group,
)

__all__ = ["DeviceMesh", "init_device_mesh"]

_Axis = tuple[tuple[int, int], ...]  # (size, stride) of each of the root's dimensions it goes over
_Backends = tuple[tuple[str | None, Any], ...]  # the backend and options of each dimension


def _joined(axes: Sequence[_Axis]) -> _Axis:
    """One axis over several, in as few steps as say the same."""
    steps: list[tuple[int, int]] = []
    for size, stride in itertools.chain.from_iterable(axes):
        if size == 1 and (steps or len(axes) > 1):
            continue
        if steps and steps[-1][1] == size * stride:
            steps[-1] = (steps[-1][0] * size, stride)
        else:
            steps.append((size, stride))
    return tuple(steps) or ((1, 1),)


def _length(axis: _Axis) -> int:
    return math.prod(size for size, _ in axis)


def _offsets(axis: _Axis) -> list[int]:
    """The places in the row, from the first, that an axis goes through."""
    return [
        sum(i * stride for i, (_, stride) in zip(at, axis, strict=True))
        for at in itertools.product(*(range(size) for size, _ in axis))
    ]


def _contiguous(shape: Sequence[int]) -> tuple[_Axis, ...]:
    return tuple(((size, math.prod(shape[i + 1 :])),) for i, size in enumerate(shape))


def _shown(values: Sequence[object]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


class DeviceMesh:
    """The processes as an array; processes that differ in one place only have a group there."""

    _rank: int
    _names_of_groups: list[str]

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: _Backends | None = None,
        _init_backend: bool = True,
        _rank: int | None = None,
    ) -> None:
        """mesh: the ranks. Where no group was started, and the environment tells how, one is.

        Raises RuntimeError for more ranks than processes, ValueError for ranks that are not there.
        """
        if mesh is None:
            raise TypeError("The mesh argument is required except for PRIVATE USAGE ONLY!")
        ranks = mesh.detach() if isinstance(mesh, Tensor) else rl.tensor(mesh)
        shape = tuple(ranks.shape)
        axes = _contiguous(shape)
        if 0 in shape:
            raise AssertionError(f"A mesh of shape {shape} has no ranks.")
        if backend_override is not None and len(backend_override) != len(shape):
            raise ValueError(
                "backend_override should have the same length as the number of mesh dimensions, "
                f"but got {len(backend_override)} and {len(shape)}."
            )
        row = [int(rank) for rank in ranks.reshape(-1).tolist()]
        self._set(device_type, row, axes, mesh_dim_names, None)
        self._rank = 0 if _rank is None else _rank
        if _init_backend:
            _start_world()
            world = get_world_size() if is_initialized() else 1
            if len(row) > world:
                raise RuntimeError(
                    f"Mesh should not be bigger than default world size {world}, but found "
                    f"{len(row)} ranks!"
                )
            if is_initialized():
                self._names_of_groups = self._new_groups(backend_override)
        if _rank is None and is_initialized():
            self._rank = get_rank()

    def _set(
        self,
        device_type: str,
        row: list[int],
        axes: tuple[_Axis, ...],
        names: Sequence[str] | None,
        root: DeviceMesh | None,
    ) -> None:
        self._device_type, self._row, self._axes, self._root_mesh = device_type, row, axes, root
        self._mesh_dim_names = tuple(names) if names else None
        self._names_of_groups = []
        self._flatten_mapping: dict[str, DeviceMesh] = {}

    def _derived(
        self, axes: Sequence[_Axis], names: Sequence[str] | None, groups: Sequence[str]
    ) -> DeviceMesh:
        """A mesh over the same root."""
        made = DeviceMesh.__new__(DeviceMesh)
        made._set(self._device_type, self._row, tuple(axes), names, self._get_root_mesh())
        made._rank, made._names_of_groups = self._rank, list(groups)
        return made

    # ---- groups

    def _parts(self, axis: _Axis) -> list[list[int]]:
        """The ranks of the root, in parts that each go along an axis."""
        offsets, left = _offsets(axis), dict.fromkeys(range(len(self._row)))
        parts = []
        while left:
            first = next(iter(left))
            for offset in offsets:
                del left[first + offset]
            parts.append([self._row[first + offset] for offset in offsets])
        return parts

    def _new_groups(self, backends: _Backends | None = None) -> list[str]:
        """The names of this process's groups, one for each dimension; all processes call."""
        names = []
        for i, axis in enumerate(self._axes):
            backend, options = backends[i] if backends is not None else (None, None)
            world = default_group()
            if _length(axis) == world.size() and backend is None and options is None:
                ranks = sorted(self._parts(axis)[0])
                if ranks == list(range(world.size())):
                    names.append(world.group_name)
                    continue
            called = self._mesh_dim_names[i] if self._mesh_dim_names else f"dim_{i}"
            for ranks in self._parts(axis):
                made = new_group(ranks, backend=backend, group_desc=f"mesh_{called}")
                if isinstance(made, ProcessGroup):
                    names.append(made.group_name)
        return names

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of a dimension; of the only one if none is told."""
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                "please use `get_all_groups()` instead.",
            )
        dim = self._get_mesh_dim_by_name(mesh_dim) if isinstance(mesh_dim, str) else mesh_dim or 0
        if not is_initialized() and self._row == [0]:
            init_process_group(rank=0, world_size=1)
        if not self._names_of_groups and self._row == [0] and get_world_size() == 1:
            self._names_of_groups = self._new_groups()
        return _resolved(self._names_of_groups[dim])

    def get_all_groups(self) -> list[ProcessGroup]:
        """The group of each dimension."""
        return [self.get_group(i) for i in range(self.ndim)]

    @staticmethod
    def from_group(
        group: ProcessGroup | list[ProcessGroup],
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:
        """A mesh over groups that are there: a group, or a list with one for each dimension.

        Raises ValueError where the ranks do not say what the groups do.
        """
        if isinstance(group, list) and not group:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if isinstance(group, list) and len(group) > 1 and mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        if isinstance(group, list) and mesh_dim_names is None:
            raise ValueError("Must pass mesh_dim_names if passing multiple ProcessGroups")
        groups = group if isinstance(group, list) else [group]
        told = mesh.tolist() if isinstance(mesh, Tensor) else mesh
        if len(groups) == 1:
            own = get_process_group_ranks(groups[0])
            if told is not None and told != own:
                raise ValueError(f"Invalid mesh {told} for ProcessGroup with ranks {own}")
            told = own
        made = DeviceMesh(device_type, told, mesh_dim_names=mesh_dim_names, _init_backend=False)
        if made.ndim != len(groups):
            raise ValueError(
                "Expects mesh with ndim equal to number of ProcessGroups but got mesh "
                f"{told} and {len(groups)} ProcessGroups"
            )
        made._names_of_groups = [one.group_name for one in groups]
        return made

    # ---- the array

    @property
    def device_type(self) -> str:
        """Where the processes' tensors are."""
        return self._device_type

    @property
    def mesh(self) -> Tensor:
        """The ranks, int32: of a slice those that this process is among."""
        whole = _joined(self._axes) if self._axes else ((1, 1),)
        parts = self._parts(tuple(itertools.chain.from_iterable(self._axes)) or whole)
        ranks = next((part for part in parts if self._rank in part), parts[0])
        return rl.tensor(ranks, dtype=rl.int32).reshape(self.shape)

    @property
    def mesh_dim_names(self) -> tuple[str, ...] | None:
        """The names of the dimensions, or None."""
        return self._mesh_dim_names

    @property
    def ndim(self) -> int:
        """How many dimensions the array has."""
        return len(self._axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the array."""
        return tuple(_length(axis) for axis in self._axes)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, in all or in a dimension."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def get_rank(self) -> int:
        """The rank of this process among all."""
        return self._rank

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The rank of this process in the group of a dimension."""
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
            )
        if self._row == [0] and not self._names_of_groups:
            return 0
        return self.get_group(mesh_dim).rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """The place of this process in the array; None where it is not in it."""
        ranks = self.mesh.reshape(-1).tolist()
        if self._rank not in ranks:
            return None
        found, at = ranks.index(self._rank), []
        for size in reversed(self.shape):
            at.append(found % size)
            found //= size
        return tuple(reversed(at))

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self.get_coordinate() is not None

    def _get_mesh_dim_by_name(self, name: str) -> int:
        names = self._mesh_dim_names
        if not names:
            raise KeyError("No `mesh_dim_names` found.")
        if name not in names:
            raise KeyError(
                f"Mesh dimension '{name}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={names}",
            )
        return names.index(name)

    # ---- other meshes over the same processes

    def _get_root_mesh(self) -> DeviceMesh:
        return self._root_mesh or self

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        if not self._mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        wanted = (names,) if isinstance(names, str) else tuple(names)
        if wanted == self._mesh_dim_names:
            return self
        root = self._get_root_mesh()
        known = dict(zip(self._mesh_dim_names, range(self.ndim), strict=True))
        flat = root._flatten_mapping if self is root else {}
        if not all(name in known or name in flat for name in wanted):
            raise KeyError(
                f"Invalid mesh_dim_names {wanted} specified. Valid mesh_dim_names are "
                f"{[*known, *flat]}."
            )
        axes, groups = [], []
        for name in wanted:
            mesh, dim = (self, known[name]) if name in known else (flat[name], 0)
            axes.append(mesh._axes[dim])
            groups += mesh._names_of_groups[dim : dim + 1]
        if not _apart(axes, len(self._row)):
            raise RuntimeError(f"Slicing overlapping dim_names {wanted} is not allowed.")
        strides = [axis[-1][1] for axis in axes if _length(axis) > 1]
        places = [known[name] for name in wanted if name in known]
        if strides != sorted(strides, reverse=True) or places != sorted(places):
            raise KeyError(
                f"Invalid mesh_dim_names {wanted} specified. Mesh dim indices should be in "
                "ascending order."
            )
        return self._derived(axes, wanted, groups)

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """A mesh of one dimension over all of this one's; all processes call."""
        if not self._mesh_dim_names:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        name = mesh_dim_name or "_".join(self._mesh_dim_names)
        if self._mesh_dim_names == (name,):
            return self
        root = self._get_root_mesh()
        if name in (root._mesh_dim_names or ()):
            raise ValueError(
                f"{name} already exists for submesh of the {root}. ",
                f"The mesh_dim_names of submesh and flattened mesh are {root._mesh_dim_names}. "
                "Please specify another valid mesh_dim_name.",
            )
        axis = _joined(self._axes)
        if name in root._flatten_mapping:
            if root._flatten_mapping[name]._axes == (axis,):
                return root._flatten_mapping[name]
            raise ValueError(
                f"Flatten mesh with mesh_dim_name {name} has been created before, Please specify "
                "another valid mesh_dim_name."
            )
        made = self._derived([axis], [name], [])
        if is_initialized():
            made._names_of_groups = made._new_groups()
        root._flatten_mapping[name] = made
        return made

    def _unflatten(
        self,
        dim: int | str,
        mesh_sizes: Sequence[int],
        mesh_dim_names: Sequence[str],
        backend_override: Mapping[int | str, object] | None = None,
    ) -> DeviceMesh:
        """A mesh with several dimensions in place of one; all processes call."""
        if isinstance(dim, int) and dim >= self.ndim:
            raise ValueError(f"dim {dim} specified in `_unflatten` is out of range {self.ndim}")
        if isinstance(dim, str) and dim not in (self._mesh_dim_names or ()):
            raise ValueError(f"dim {dim} specified in `_unflatten` is not in {self.mesh_dim_names}")
        if len(mesh_sizes) != len(mesh_dim_names):
            raise RuntimeError("mesh_dim_names must have same length as mesh_sizes in _unflatten!")
        at = self._get_mesh_dim_by_name(dim) if isinstance(dim, str) else dim
        sizes, product = tuple(mesh_sizes), math.prod(mesh_sizes)
        if product != self.size(at):
            raise ValueError(
                f"The product of mesh_sizes={sizes} is {product}, but the original dimension at "
                f"dim={at} has size {self.size(at)}. These must be equal for unflatten to work "
                "correctly."
            )
        ((_, stride),) = self._axes[at]
        parts = tuple(((size, step * stride),) for ((size, step),) in _contiguous(sizes))
        inner = self._derived(parts, mesh_dim_names, [])
        if is_initialized():
            inner._names_of_groups = inner._new_groups(
                _overridden(backend_override, len(sizes), tuple(mesh_dim_names))
            )
        names = list(self._mesh_dim_names or ())
        names[at : at + 1] = mesh_dim_names
        axes, groups = list(self._axes), list(self._names_of_groups)
        axes[at : at + 1] = parts
        groups[at : at + 1] = inner._names_of_groups
        return self._derived(axes, names, groups)

    @staticmethod
    def _concatenate(device_mesh_list: Sequence[DeviceMesh]) -> DeviceMesh:
        """A mesh of the dimensions of several over one root."""
        first = device_mesh_list[0]
        if any(mesh._row != first._row for mesh in device_mesh_list):
            raise RuntimeError(
                "Cannot concatenate DeviceMeshes derived from different device meshs"
            )
        axes = [axis for mesh in device_mesh_list for axis in mesh._axes]
        if not _apart(axes, len(first._row)):
            raise RuntimeError(f"Cannot concatenate overlapping meshes: {list(device_mesh_list)}")
        names = [name for mesh in device_mesh_list for name in mesh._mesh_dim_names or ()]
        groups = [name for mesh in device_mesh_list for name in mesh._names_of_groups]
        return first._derived(axes, names, groups)

    # ---- as a value

    def __enter__(self) -> DeviceMesh:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def _key(self) -> tuple[object, ...]:
        return (tuple(self._row), self._axes, self._device_type, self._mesh_dim_names)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        names = self._mesh_dim_names
        sizes = ", ".join(f"{n}={s}" for n, s in zip(names or (), self.shape, strict=bool(names)))
        strides = tuple(_shown([stride for _, stride in axis]) for axis in self._axes)
        shown = f"({sizes})" if names else str(self.shape)
        return f"DeviceMesh({shown}, '{self._device_type}', stride={strides})"


def _apart(axes: Sequence[_Axis], count: int) -> bool:
    """Whether axes lead to different places, all in a row of so many."""
    if math.prod(map(_length, axes)) > count:
        return False
    places = _offsets(tuple(itertools.chain.from_iterable(axes)))
    return len(set(places)) == len(places)


def _resolved(name: str) -> ProcessGroup:
    """The group of a name."""
    for group in _World.groups:
        if group.group_name == name:
            return group
    raise ValueError(f"The group {name!r} of the mesh was destroyed: make the mesh anew.")


def _start_world() -> None:
    """Start the default group where none was, and the environment tells of one."""
    from . import _mpi

    if not is_initialized() and ("RANK" in os.environ or _mpi.launched()):
        init_process_group()


def _overridden(
    told: Mapping[int | str, object] | None, ndim: int, names: Sequence[str] | None
) -> _Backends | None:
    """The backend and options of each dimension, told by its number or name."""
    if told is None:
        return None
    left, found = dict(told), []
    for i in range(ndim):
        name = names[i] if names else None
        if name in left and i in left:
            raise RuntimeError(f"Found redundant dim index {i} and name {name} in backend_override")
        value = left.pop(name if name is not None and name in left else i, (None, None))
        if isinstance(value, str):
            value = (value, None)
        found.append(value if isinstance(value, tuple) else (None, value))
    if left:
        raise RuntimeError(
            f"Found invalid keys in backend_override: got {list(left)}, expected integers in "
            f"range [0, {ndim}) or one of {names or ()}"
        )
    return tuple(found)


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Mapping[int | str, object] | None = None,
) -> DeviceMesh:
    """The first ranks as an array of sizes; all processes call.

    Where no group was started, it is, as `init_process_group()` does. A program of one process
    needs none until it asks for a group of the mesh.

    >>> torch.distributed.device_mesh.init_device_mesh("cpu", (1,)).size()
    1
    """
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError(
            "Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names "
            f"{mesh_dim_names}"
        )
    if mesh_dim_names is not None and len(mesh_shape) != len(mesh_dim_names):
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
            f"{len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
        )
    backends = _overridden(backend_override, len(mesh_shape), mesh_dim_names)
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    ranks = rl.arange(math.prod(mesh_shape)).reshape(tuple(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, backend_override=backends)


__getattr__ = _missing_name(__name__)
