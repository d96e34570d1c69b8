"""Notes that the nodes made in a block take over: `preserve_node_meta` and its like."""

from __future__ import annotations

import contextlib
import traceback as _traceback
from collections.abc import Iterator
from typing import Any

from .._base.missing import missing_name as _missing_name

__all__ = [
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

_meta: dict[str, Any] = {}
_preserved = False


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """In the block, nodes get the notes that `set_current_meta` and its like write."""
    global _preserved, _meta
    before, notes = _preserved, _meta.copy()
    _preserved = enable
    try:
        yield
    finally:
        _preserved, _meta = before, notes


def has_preserved_node_meta() -> bool:
    """Whether nodes get notes now."""
    return _preserved


def get_current_meta() -> dict[str, Any]:
    """The notes that nodes get now."""
    return _meta


@contextlib.contextmanager
def set_current_meta(node: Any, pass_name: str = "") -> Iterator[None]:
    """In the block, nodes get the notes of another node."""
    global _meta
    if not (_preserved and node.meta):
        yield
        return
    before, _meta = _meta, node.meta.copy()
    try:
        yield
    finally:
        _meta = before


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """In the block, nodes get these notes under "custom"."""
    before = _meta.get("custom")
    _meta["custom"] = {**(before or {}), **annotation_dict}
    try:
        yield
    finally:
        if before is None:
            del _meta["custom"]
        else:
            _meta["custom"] = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Any:
    """A decorator: nodes that a function makes get these notes under "custom"."""
    return annotate(annotation_dict)


def set_stack_trace(stack: list[str]) -> None:
    """Note where the program is."""
    if _preserved and stack:
        _meta["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Note the number of a step of the backward."""
    if _preserved:
        _meta["grad_fn_seq_nr"] = seq_nr
        _meta["in_grad_fn"] = _meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """Forget the number of the step of the backward."""
    if _preserved:
        _meta.pop("grad_fn_seq_nr", None)
        _meta.pop("in_grad_fn", None)


def format_stack() -> list[str]:
    """Where the program is, as lines."""
    if _preserved:
        return [_meta.get("stack_trace", "")]
    return _traceback.format_list(_traceback.extract_stack()[:-1])


__getattr__ = _missing_name(__name__)
