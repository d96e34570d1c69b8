"""Steps of optimizers, and norms and scales of gradients.

On devices where memory has addresses one launch computes all parameters of an element type, on
others each has a launch. All lists are checked before the first element is written, so that a step
happens whole or not at all. Halves are computed in float and rounded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ... import _core
from ..._base import dtypes
from ..._core import Tensor, kernels
from ..._devices.accelerators import kernel, numbered
from ..._devices.launch import Written, code, computed, empty, number, rows, start
from ..._devices.there import numbers_of, struct_of, there

_FILE = "optimizers.cl"
_N = numbers_of(_FILE)
_GROUP = numbers_of("vectors.cl").WIDE_GROUP
_PARTS = 256  # sums that a norm is made of, for each tensor


def _fit(lists: Sequence[Sequence[Any]]) -> bool:
    """Whether the tensors at each place are of one type and shape; None fits everywhere."""
    return all(
        t is None or (t.dtype is p.dtype and t.shape == p.shape)
        for p, *others in zip(*lists, strict=True)
        for t in others
    )


def _at_once(like: Tensor) -> bool:
    """Whether one launch computes many tensors."""
    return bool(numbered(like._accelerator).facts.warp)


Lists = tuple[Sequence[Tensor], ...]


def _alike(
    marks: Sequence[Any], lists: Lists, written: int, alike: bool
) -> Iterator[tuple[Sequence[int], Lists]]:
    """Places of one mark and one element type, and the lists of their tensors, which lie alike.

    Tensors of the first `written` lists get their values back where others stand for them. alike:
    what `accelerator_alike` says of the lists.
    """
    if alike and marks.count(marks[0]) == len(marks):
        yield range(len(marks)), lists
        return
    found: dict[Any, list[int]] = {}
    for i, (mark, p) in enumerate(zip(marks, lists[0], strict=True)):
        if p.numel():
            found.setdefault((mark, p.dtype), []).append(i)
    for places in found.values():
        picked = tuple([tensors[i] for i in places] for tensors in lists)
        apart = not _core.accelerator_overlap(picked[0])
        for some in [places] if apart else [[i] for i in places]:
            given = tuple([tensors[i] for i in some] for tensors in lists)
            held = tuple([rows(t) for t in tensors] for tensors in given)
            yield some, held
            for tensors, copies in zip(given[:written], held, strict=False):
                for tensor, copy in zip(tensors, copies, strict=True):
                    if copy is not tensor:
                        _core.copy_values(tensor, copy)


def _start(name: str, lists: Lists, *given: Any, most: int = 1) -> None:
    """Start a kernel on what is at each place of lists; most: how many lists there may be."""
    like = lists[0][0]
    if _at_once(like):
        _start_all(name, lists, *given)
        return
    for tensors in zip(*lists, strict=True):
        if n := tensors[0].numel():
            none = [None] * (most - len(lists))
            start(_FILE, name, n, like, *tensors, *none, code(like), n, *given)


def _start_all(name: str, lists: Lists, *given: Any, computes: str = "") -> int:
    """Start a kernel of a table. How many groups there were."""
    like = lists[0][0]
    made = kernel(
        like._accelerator,
        _FILE,
        f"{name}_all",
        computes or computed(like.dtype).name,
        f"-DWARPS -DELEMENT={code(like)}",
    )
    return _core.accelerator_launch_lists(made, _GROUP, _N.CHUNK, lists, given)


@there(kernels.sgd_step, takes="float")
def sgd_step(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    buffers: Any,
    lr: float,
    momentum: float,
    dampening: float,
    decay: float,
    nesterov: bool,
    maximize: bool,
) -> Written:
    kept: Any = buffers if momentum != 0 else [None] * len(params)
    if not params or not len(params) == len(grads) == len(kept):
        return NotImplemented
    new = [momentum != 0 and buffer is None for buffer in kept]
    lists = (params, kept, grads) if momentum != 0 else (params, grads)
    alike = True not in new and _core.accelerator_alike(lists)
    if not alike and not _fit(lists):
        return NotImplemented
    for i, first in enumerate(new):
        if first:
            kept[i] = empty(params[i].shape, params[i])
            alike = False
    how = _N.HAS_MOMENTUM * (momentum != 0) + _N.NESTEROV * bool(nesterov)
    for places, (param, *held, grad) in _alike(new, lists, len(lists) - 1, alike):
        options = struct_of(_FILE, "Sgd", computed(param[0].dtype).name).pack(
            rate=-lr,
            momentum=momentum,
            mix=1 - dampening,
            decay=decay,
            sign=-1 if maximize else 1,
            how=how + _N.IS_FIRST * new[places[0]],
        )
        _start("sgd", (param, grad, *held), options, most=3)
    return None


@there(kernels.adam_step, takes="float, steps: any")
def adam_step(
    params: Any,
    grads: Any,
    means: Any,
    squares: Any,
    highest: Any,
    steps: Any,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    amsgrad: bool,
    maximize: bool,
    decoupled: bool,
) -> Any:
    lists = (params, means, squares, *((highest,) if amsgrad else ()), grads)
    if not params or any(len(given) != len(params) for given in (*lists, steps)):
        return NotImplemented
    at_once = _at_once(params[0])
    alike = _core.accelerator_alike(lists)
    if not alike and not _fit(lists):
        return NotImplemented
    counts, there = _started(steps, at_once)
    if counts is None:
        return NotImplemented
    fixed = {
        "eps": eps,
        "weight": 1 - beta1,
        "beta2": beta2,
        "rest": 1 - beta2,
        "shrink": 1 - lr * decay if decoupled else 1,
        "decay": 0 if decoupled else decay,
        "sign": -1 if maximize else 1,
        "keeps_highest": int(amsgrad),
    }
    for places, (param, mean, square, *top, grad) in _alike(counts, lists, len(lists) - 1, alike):
        count = counts[places[0]]
        options = struct_of(_FILE, "Adam", computed(param[0].dtype).name).pack(
            rate=-(lr / (1 - beta1**count)) if count else 0,
            correction=(1 - beta2**count) ** 0.5,
            **fixed,
        )
        given = [param, grad, mean, square, *top]
        if not at_once:
            _start("adam", tuple(given), options, most=5)
            continue
        if there:
            given.append([steps[i] for i in places])
        counted = struct_of(_FILE, "Counted").pack(
            lr=lr, beta1=beta1, beta2=beta2, type=code(steps[0]) if there else -1
        )
        _start_all("adam", tuple(given), options, counted)
    return None


def _started(steps: Sequence[Tensor], at_once: bool) -> tuple[Any, bool]:
    """The numbers of steps, which begin now, and whether they are in the device's memory alone;
    None where a count is no number."""
    counts = _core.accelerator_counted(steps)
    if counts is not None:
        return counts, False
    if not all(step.numel() == 1 and step.dtype.is_floating_point for step in steps):
        return None, False
    if at_once and all(step._accelerator is not None for step in steps):
        return _count_there(steps), True
    return [_counted(step) for step in steps], False


def _counted(step: Tensor) -> float:
    array = _core.to_write(step)
    array += 1
    _core.write_values(step, array)
    return float(array.reshape(()))


def _count_there(steps: Sequence[Tensor]) -> Sequence[float]:
    """Count steps in the device's memory, where a graph that is replayed finds their numbers."""
    for _, (some,) in _alike([0] * len(steps), (steps,), 1, _core.accelerator_alike((steps,))):
        _start_all("add", (some,), number(1, some[0]))
    return [0.0] * len(steps)


@there(kernels.total_norm2, takes="float same")
def total_norm2(tensors: Sequence[Tensor]) -> Tensor:
    if not tensors:
        return NotImplemented
    like = tensors[0]
    out = empty((), like)
    if _at_once(like):
        count = sum(-(-t.numel() // _N.CHUNK) for t in tensors)
        sums = empty((count,), like, dtypes.float64)
        _start_all("squares", (tuple(map(rows, tensors)),), sums, computes="float64")
        more = f"-DWARPS -DELEMENT={code(like)}"
        arguments = sums, out, code(out), count
        start(
            _FILE, "root_of_all", 1, like, *arguments, more=more, computes="float64", group=_GROUP
        )
        return out
    parts = [min(_PARTS, t.numel()) for t in tensors]
    wide = numbered(like._accelerator).facts.has_double
    sums = empty((sum(parts),), like, dtypes.float64 if wide else dtypes.float32)
    place = 0
    for tensor, n in zip(tensors, parts, strict=True):
        if n:
            given = code(tensor), tensor.numel(), n, place
            start(_FILE, "squares", n, like, rows(tensor), sums, *given)
            place += n
    start(_FILE, "root_of_sum", 1, like, sums, out, code(out), place)
    return out


@there(kernels.scale_, takes="float")
def scale_(tensors: Sequence[Tensor], factor: float | Tensor) -> Written:
    of, value = (factor, 1.0) if isinstance(factor, Tensor) else (None, factor)
    alike = bool(tensors) and _core.accelerator_alike((tensors,))
    for _, (some,) in _alike([0] * len(tensors), (tensors,), 1, alike):
        by = number(value, some[0])
        _start("scale", (some,), of, 0 if of is None else code(of), by)
    return None
