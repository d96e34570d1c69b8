"""Before and after the forward of a custom Function: keyword arguments become positional ones, and
the outputs become those of the node."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from .._base.errors import warn
from .._core import Flag, Tensor
from .._levels.running import maps
from ..ops import quietly
from .anomaly_mode import is_anomaly_enabled, note_place

__all__ = ["Signature", "finish"]


class Signature:
    """How keyword arguments of `apply` become the positional ones that forward gets."""

    def __init__(self, forward: Callable[..., Any], skip: int) -> None:
        self.skip = skip
        self.signature = inspect.signature(forward)
        kinds = [p.kind for p in self.signature.parameters.values()]
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.n_positional = sum(k in positional for k in kinds) - skip
        # Gradients go by position: what can be given by keyword only has none.
        self.by_keyword, self.only_by_keyword = (
            {name for name, p in self.signature.parameters.items() if p.kind is kind}
            for kind in (
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                inspect.Parameter.KEYWORD_ONLY,
            )
        )

    def positional(
        self, args: tuple[Tensor, ...], kwargs: dict[str, Any], with_defaults: bool
    ) -> tuple[Any, ...]:
        if not kwargs and (len(args) >= self.n_positional or not with_defaults):
            return args
        for name in kwargs:
            if name not in self.by_keyword:
                if name in self.only_by_keyword and maps():
                    raise NotImplementedError(
                        "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not "
                        f"pass kwarg-only Tensors to autograd.Function. Got: {kwargs}"
                    )
                raise TypeError(f"forward() got an unexpected keyword argument {name!r}")
        try:
            bound = self.signature.bind(*(None,) * self.skip, *args, **kwargs)
        except TypeError as error:
            if str(error).startswith("multiple values"):
                raise TypeError(f"forward() got {error}") from None
            raise
        bound.apply_defaults()
        return bound.args[self.skip :]


def _among(tensor: object, tensors: Sequence[Tensor]) -> bool:
    return any(t is tensor for t in tensors)


def _as_output(o: Tensor, is_input: bool, differentiable: bool) -> Tensor:
    """An output before it gets its node: inputs become views of themselves,
    views say who made them."""
    if not differentiable:
        if is_input:
            return o.detach() if o.requires_grad else _plain_view(o)
        return o.detach() if o.requires_grad and not o._is_view() else o
    return _plain_view(o) if is_input else o


def _plain_view(o: Tensor) -> Tensor:
    kind = type(o)
    before = _core.set_grad_enabled(False)
    try:
        view = o.view_as(o)
        if kind.__torch_function__ is _core._disabled_torch_function_impl:
            return view
        return view if kind is Tensor else view.as_subclass(kind)
    finally:
        _core.set_grad_enabled(before)


def _say_who_made(
    results: Any,
    outputs: Any,
    inputs: list[Tensor],
    dirty: tuple[Tensor, ...],
    detached: Any,
    recording: bool,
) -> None:
    """Marks views among the outputs as made by a Function, recorded or not; of a recorded Function
    with several outputs, also as one of several views."""
    several = recording and (
        sum(
            isinstance(o, Tensor) and o.dtype.is_differentiable and not _among(given, detached)
            for o, given in zip(results, outputs, strict=True)
        )
        > 1
    )
    for o, given in zip(results, outputs, strict=True):
        if not isinstance(o, Tensor) or not o._is_view():
            continue
        if not (_among(given, inputs) and _among(given, dirty)):
            # Made under no_grad by us, not by the user.
            o._set_flag(Flag.NO_GRAD_VIEW | Flag.INFERENCE_VIEW, False)
            o._set_flag(Flag.FUNCTION_VIEW, True)
        if several:
            o._set_flag(Flag.MULTI_VIEW, True)


_DIRTY_NO_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
    "mutated should be passed to ctx.mark_dirty()."
)


@quietly
def finish(
    ctx: Any, outputs: tuple[Any, ...], inputs: list[Tensor], recording: bool
) -> tuple[Any, ...]:
    """Make the outputs the node's, and what was saved its saved values."""
    dirty, detached = ctx.dirty_tensors, ctx.non_differentiable
    for t in dirty:
        t._bump_version()
    for t in dirty:
        if not _among(t, outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the Function."
            )
        if not _among(t, inputs):
            if t._is_view():
                raise RuntimeError(f"{_DIRTY_NO_INPUT} This one is a view of another tensor.")
            warn(_DIRTY_NO_INPUT)
        if recording and _among(t, inputs):
            if not _among(t, detached):
                _core.check_dirty(t)
            if t._is_view() and sum(isinstance(o, Tensor) for o in outputs) > 1:
                raise RuntimeError(
                    "If your Function modifies inplace an input that is a view of another Tensor, "
                    "your Function cannot return more than one Tensor. Give the changed view "
                    "alone, or clone it before it is changed."
                )
    # Written in place, and the same tensors afterwards.
    same = [t for t in dirty if not t.requires_grad or (recording and not _among(t, detached))]
    results = [
        _as_output(o, _among(o, inputs), recording and not _among(o, detached))
        if isinstance(o, Tensor) and not _among(o, same)
        else o
        for o in outputs
    ]
    _say_who_made(results, outputs, inputs, dirty, detached, recording)
    saved = ctx.to_save
    if recording:
        attached = [
            o
            if isinstance(o, Tensor) and o.dtype.is_differentiable and not _among(given, detached)
            else None
            for o, given in zip(results, outputs, strict=True)
        ]
        numbers = tuple(
            next((i for i, o in enumerate(attached) if o is t and t is not None), -1)
            if not _among(t, inputs) or _among(t, dirty)
            else -1
            for t in saved
        )
        rebased = {i: o for i, o in enumerate(attached) if o is not None and _among(o, dirty)}
        ctx._attach([None if i in rebased else o for i, o in enumerate(attached)], results)
        for i, written in rebased.items():
            edge = next((k for k, t in enumerate(inputs) if t is written), -1)
            _core.rebase(written, ctx, i, edge)
        ctx._save(saved, numbers)
        ctx._finished = True
        if len(outputs) > 1:
            ctx._no_tensors = frozenset(
                i for i, o in enumerate(outputs) if not isinstance(o, Tensor)
            )
            ctx._no_gradients = frozenset(i for i, o in enumerate(attached) if o is None)
        if is_anomaly_enabled():
            note_place(ctx)
    ctx.to_save = () if recording else saved
    ctx.dirty_tensors = ctx.non_differentiable = ()
    return tuple(results)
