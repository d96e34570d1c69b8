"""The words of a statement of the table: facts about an op, without its signature, forward and
rules. They come in groups; `struct Op` (native/core/core.h) has the same groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypedDict

__all__ = ["AUTOCAST", "BATCH", "SHARED_WRITES", "STORED", "TRAITS", "TYPED", "Words"]

# Of element types, by their codes: the exception and its text.
Reasons: TypeAlias = dict[int, tuple[type, str]]


class Promotion(TypedDict, total=False):
    """Which element types an op computes in."""

    # All tensors have the type of the first; or the error for one that has not.
    one_type: bool | str
    numbers_fit: bool  # a number must fit the common type
    halves_round: bool  # then a half takes any number, and is infinite where it is too large
    numbers_round: bool  # with halves a number is rounded to their type first
    integer_power: bool  # the second argument is an exponent: none below 0 for integers
    divides: bool  # by the second argument, which has no 0 where both are integers
    own_type: bool  # the common type is that of the first argument
    # The types for storage alone that the op takes: one of STORED. A view takes all.
    stored: str | None
    kernel_name: str  # PyTorch's, where it refuses them; unless told as in `refuses`, or the op's
    typed: str  # that `dtype=` is a type to convert the first argument to; one of TYPED
    type_check: Callable[..., None]  # is shown the argument and that type, and may refuse it
    zero_dim: tuple[str, str]  # the tensor that must have no dimensions; the error for one that has


# Bits of types that are stored only.
STORED = {"float8": 1, "complex32": 2, "all": 3}

# How an op converts its first argument to `dtype=`.
TYPED = {
    "inside": "its own node is about the argument as it was",
    "node": "the conversion has a node of its own",
}


class Result(TypedDict, total=False):
    """The results of an op."""

    # Of the results from the arguments, for tensors without memory; see _devices/meta.py.
    shape: Any
    like_first: bool  # it is as the first argument; so is that of an op with `write`
    by_values: str  # its shape depends on values: torch's name of the op in the error about that
    outputs: Any  # the namedtuple class of several
    view: bool  # it shows the memory of the first argument
    multi_view: bool  # it is one of several such
    toggles: str  # and is the lazy conjugate ("conj") or negative ("neg") of it
    put_off: Callable[..., Any]  # sees a call with a lazy tensor first, and may refuse it
    keeps: str  # how it lies in memory: one of KEEPS in table/statement.py, and of which arguments
    real_itself: bool  # of a tensor of no complex type the result is the tensor
    may_alias: bool  # the result may alias an argument that nobody else has
    out: bool | str | tuple[str, type, str]  # of which type an `out=` may be; see table/outputs.py


class Places(TypedDict, total=False):
    """Which arguments may be on the CPU where the first is elsewhere. In a pointwise op these are
    tensors without dimensions; with a first argument on meta, what is called index or indices."""

    subscript: str  # an index
    by_value: str  # a tensor without dimensions


class InPlace(TypedDict, total=False):
    """How an op writes its first argument."""

    in_place: bool | str  # `name_` exists; "function": in torch, too, not only as a method
    in_place_node: str  # the class of its node, where that is another
    write: Callable[..., Any] | None  # writes the ndarray itself; else the result is copied
    overlap: str  # which arguments may share memory with it; words of OVERLAPS
    expanded: str  # warned of where it shows an element twice


class Backward(TypedDict, total=False):
    """The record of a call, and the way of its gradients."""

    backward: tuple[Any, str]  # a kernel for all gradients, and the names of the values it reads
    node: str | None  # the node's class where it does not follow from the name
    nodes: list[tuple[int, int, str]]  # by the dimensions of the first two arguments
    edges: str  # the arguments in the order of the node's edges
    unfold: Callable[..., Any]  # makes the several nodes that PyTorch has for a call
    leaves_inference: bool  # recorded though all arguments are inference tensors: it copies them
    first_only: bool  # of several results only the first is differentiable


class Levels(TypedDict, total=False):
    """The ways of the transforms; see `_levels`. The default follows from the kind."""

    batch: str | Callable[..., Any] | None  # one of BATCH, or the result in terms of other ops
    jvp: dict[str, Any]  # tangent rules cheaper than the derived one, by argument; they read `t`
    # PyTorch's name of the in-place operator, where `_levels.captured` finds another: with a tensor
    # as the last argument and, apart by " | ", with a number.
    aten: str
    shared_write: str  # how vmap refuses to write what elements share; one of SHARED_WRITES


# The treatment of a batch in front of an op's dimensions.
BATCH = {
    "solved": "its matrices' other dimensions broadcast",
    "trailing": "it looks at the last dimensions only, or at each element by itself",
    "folded": "dimension 0 of its first argument is a batch already",
    "reduced": "it reduces `dim`: one, several or, where none is given, all",
    "along": "it works along the dimensions that it names",
    "picked": "it reduces one `dim`, or all elements as one row",
}


# How vmap refuses an in-place op that would write the values of all elements to one shared tensor.
# Unless told, PyTorch names the operator: "aten::pow_".
SHARED_WRITES = {
    "shape": "as a result of another shape",
    "name": "by the name of the method",
    "arithmetic": "as 'inplace arithmetic'",
    "number": "as that where the last argument is a number",
}


# Facts that tests derived from a statement must know of an op.
TRAITS = {
    "random": "it draws random numbers: which element gets which is a question of strides",
    "strides": "what it computes is a question of its argument's strides",
    "symmetric": "it reads one triangle of a matrix that is symmetric (Hermitian)",
    "factor": "its last argument is a triangle; the gradient is also in the half not read",
    "phase": "its vectors hold up to a complex factor of modulus 1",
    "complex": "it takes complex numbers alone",
    "underived": "it is recorded, and has no derivative: backward says so",
    "unrecorded": "it is smooth, but PyTorch does not record it",
}


# The types that autocast gives floating-point arguments, float64 left alone.
AUTOCAST = {
    "low": "the lower precision: products are made of them",
    "float32": "float32: less would lose too much",
    "widest": "the widest type among them",
    "none": "nothing, nor inside the call",
}


class Public(TypedDict, total=False):
    """The places where programs find an op, its texts, and the arguments for its tests."""

    doc: str
    overloads: tuple[str, ...]  # PyTorch's signatures, where it has several; see signature.py
    earlier: str  # orders of arguments that PyTorch had before and still takes, apart by " | "
    said: str  # its name in errors, where that is another
    samples: Any
    traits: str  # what those tests must know; words of TRAITS
    # Words of AUTOCAST, apart by ", "; with "here" for the CPU, or "there" for accelerators alone.
    autocast: str
    where: str  # namespaces, "torch" unless told; "Tensor": a method alone; "": nowhere
    method: bool  # of Tensor; unless told, as long as it is in the namespace "torch"
    operator: str
    reflected: str
    # The local gradient of an argument as a person reads it, where the rule is no formula; see
    # `explain/_formulas.py`.
    formula: dict[str, str]
    written: str  # how a call is written in the formula of another op: "{input} at {index}"


class Words(Promotion, Result, Places, InPlace, Backward, Levels, Public, total=False):
    """All of them, and the definitions."""

    reference: Any  # on ndarrays, where a kernel goes first
    # In other ops: the call where no kernel takes the arguments, on every device and on meta, and
    # the rule for vmap. A forward on ndarrays beside it is the CPU's kernel.
    is_: Callable[..., object]
    by_ops: Callable[..., object]  # in other ops: a pointwise op of types that no kernel takes


class Derived(TypedDict, total=False):
    """The words that the kinds add to a statement for `define`."""

    kernel: str | None
    arity: int  # how many leading arguments the loop reads
    result: int  # a ResultType
    refusals: Reasons | None  # common types that are not taken
    argument_refusals: list[tuple[int, Reasons]]  # types of one argument, -1: of any
    by_steps: bool  # of halves each step is rounded: they have a program of their own
    reference_for: int  # a bit for each common type that goes to `reference` all the same
    never: int  # the same of those of which no element is so; always: of which every one is
    always: int


class Spec(Words, Derived, total=False):
    """All words of `define`."""
