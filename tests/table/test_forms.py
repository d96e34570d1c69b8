"""The other ways to call an op give what the function gives; no call touches what it should not."""

from __future__ import annotations

import inspect
import warnings
from functools import partial

import numpy as np
import pytest
from cases import (
    DIFFERENTIABLE,
    OPS,
    REFUSALS,
    SAMPLED,
    Call,
    calls,
    is_inexact,
    noise,
    plain,
    tensor_of,
    tensors_in,
)

import rushlight as torch

_VIEWS = """
    adjoint alias as_strided chunk detach diagonal dsplit expand expand_as hsplit imag movedim
    moveaxis narrow permute select slice _slice split split_with_sizes squeeze swapaxes
    swapdims t tensor_split transpose unbind unflatten unfold unsqueeze view view_as
    view_as_complex view_as_real vsplit H T mH mT strided_view
"""
_MAYBE_VIEWS = """
    alpha_dropout atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to conj conj_physical
    contiguous
    double dropout dropout1d dropout2d dropout3d einsum feature_alpha_dropout flatten meshgrid pad
    positive ravel real reshape reshape_as resolve_conj resolve_neg sum_to_size to type type_as
"""
# What PyTorch documents as a view of the first argument, and what is one where it can be.
VIEWS, MAYBE_VIEWS = frozenset(_VIEWS.split()), frozenset(_MAYBE_VIEWS.split())


def parameters(name: str) -> tuple[str, ...]:
    function = OPS[name].function
    if hasattr(function, "params"):
        return tuple(function.params)
    return tuple(inspect.signature(function).parameters)


METHODS = [n for n in SAMPLED if "method" in OPS[n].forms]
IN_PLACE = [n for n in SAMPLED if "in_place" in OPS[n].forms]

# PyTorch leaves the history of what these write alone, as if nothing had been written.
WRITTEN_UNSEEN = frozenset(["logical_and", "logical_not", "logical_or", "logical_xor"])
IN_PLACE_DIFFERENTIABLE = [n for n in IN_PLACE if n in DIFFERENTIABLE and n not in WRITTEN_UNSEEN]


def assert_same(found: list[torch.Tensor], expected: list[torch.Tensor], what: str) -> None:
    assert len(found) == len(expected), what
    for f, e in zip(found, expected, strict=True):
        assert f.dtype == e.dtype and f.shape == e.shape, what
        np.testing.assert_array_equal(f._array, e._array, err_msg=what)


def takes_out(name: str) -> bool:
    """Whether an op has the form with `out=`."""
    entry = OPS[name]
    if entry.kind == "composite" or name in VIEWS:
        return False
    try:
        call = calls(name)[0]
        call.kwargs["out"] = None
        with warnings.catch_warnings(action="ignore"):
            call.run()
    except Exception:
        return False
    return True


WITH_OUT = [n for n in SAMPLED if takes_out(n)]
RECORDED_WITH_OUT = [n for n in WITH_OUT if n in DIFFERENTIABLE]


@pytest.mark.parametrize("name", METHODS)
def test_method(name: str) -> None:
    for call in calls(name):
        first = call.args[0]
        if not isinstance(first, torch.Tensor):
            continue
        torch.manual_seed(7)
        found = getattr(first, name)(*call.args[1:], **call.kwargs)
        assert_same(tensors_in(plain(found)), call.outputs(), f"{call!r} as a method")


WITH_FLAG = [n for n in SAMPLED if "inplace" in parameters(n)]


@pytest.mark.parametrize("name", WITH_FLAG)
def test_inplace_flag(name: str) -> None:
    """`relu(x, inplace=True)` writes x and gives it back."""
    for call in calls(name):
        expected = call.outputs()
        copy = call.copied()
        x = copy.args[0]
        copy.kwargs["inplace"] = True
        assert copy.run() is x
        assert_same([x], expected, f"{call!r}, inplace=True")
        assert x._version >= 1


def room_for(call: Call, output: torch.Tensor) -> bool:
    """Whether the first argument can hold the result."""
    first = call.args[0]
    return (
        isinstance(first, torch.Tensor)
        and first.shape == output.shape
        and torch.can_cast(output.dtype, first.dtype)
    )


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    tried = 0
    for call in calls(name):
        if not isinstance(call.args[0], torch.Tensor):
            continue
        expected = call.outputs()
        copy = call.copied()
        x = copy.args[0]
        before, version = x._array.copy(), x._version
        memory = x.data_ptr()
        torch.manual_seed(7)
        if room_for(call, expected[0]):
            tried += 1
            found = getattr(x, name + "_")(*copy.args[1:], **copy.kwargs)
            assert found is x
            assert x._version == version + 1, f"{call!r} in place: the version"
            assert x.data_ptr() == memory
            assert_same([x], [expected[0].to(x.dtype)], f"{call!r} in place")
        else:
            with pytest.raises(RuntimeError):
                getattr(x, name + "_")(*copy.args[1:], **copy.kwargs)
            assert x._version == version
            np.testing.assert_array_equal(x._array, before)
    assert tried, f"no sample of '{name}' can be written in place"


@pytest.mark.parametrize("name", IN_PLACE_DIFFERENTIABLE)
def test_gradient_in_place(name: str) -> None:
    """`x.clone().name_()` has the gradients of `name(x)`."""
    for call in calls(name):
        if not call.leaves or not isinstance(call.args[0], torch.Tensor):
            continue
        if not room_for(call, call.outputs()[0]):
            continue
        results = [gradients(call, in_place=False), gradients(call, in_place=True)]
        for expected, found in zip(*results, strict=True):
            for g, other in ((expected, found), (found, expected)):
                assert other is not None or g is None or not g._array.any(), f"{call!r} in place"
            if expected is not None and found is not None:
                np.testing.assert_allclose(
                    found._array, expected._array, rtol=1e-12, atol=1e-14, err_msg=f"{call!r}"
                )


@pytest.mark.parametrize("name", sorted(WRITTEN_UNSEEN))
def test_writing_that_is_not_recorded(name: str) -> None:
    call = calls(name)[0]
    x = call.args[0].requires_grad_()
    y = getattr(x.clone(), name + "_")(*call.args[1:])
    (g,) = torch.autograd.grad(y.sum(), x)
    np.testing.assert_array_equal(g._array, np.ones(x.shape))


def gradients(call: Call, in_place: bool) -> list[torch.Tensor | None]:
    """By every leaf, through a copy of the first argument."""
    leaves = [call.tensors[i].detach().requires_grad_() for i in call.leaves]
    copy = call.replaced(leaves)
    x = copy.args[0].clone()
    torch.manual_seed(7)
    form = getattr(x, call.name + "_") if in_place else partial(OPS[call.name].function, x)
    out = form(*copy.args[1:], **copy.kwargs)
    if not out.requires_grad:
        return [None] * len(leaves)
    rng = np.random.default_rng(1)
    weights = tensor_of(noise(out._array, rng))
    return list(torch.autograd.grad(out, leaves, weights, allow_unused=True))


@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name: str) -> None:
    for call in calls(name):
        expected = call.outputs()
        for grown in (True, False):
            outs = [torch.empty(0 if grown else tuple(e.shape), dtype=e.dtype) for e in expected]
            versions = [o._version for o in outs]
            copy = call.copied()
            single = isinstance(plain(call.run()), torch.Tensor)
            copy.kwargs["out"] = outs[0] if single else tuple(outs)
            found = tensors_in(plain(copy.run()))
            assert len(found) == len(outs) and all(f is o for f, o in zip(found, outs, strict=True))
            assert_same(outs, expected, f"{call!r} with out=")
            assert all(o._version > v for o, v in zip(outs, versions, strict=True))


@pytest.mark.parametrize("name", RECORDED_WITH_OUT)
def test_out_has_no_gradient(name: str) -> None:
    """Nothing is recorded of a result that is written into a given tensor."""
    for call in calls(name)[:1]:
        if not call.leaves:
            continue
        expected = call.outputs()
        if not all(is_inexact(e) for e in expected):
            continue
        outs = [torch.empty(tuple(e.shape), dtype=e.dtype) for e in expected]
        call.kwargs["out"] = outs[0] if len(outs) == 1 else tuple(outs)
        leaves = [t.detach().requires_grad_() for t in map(call.tensors.__getitem__, call.leaves)]
        with pytest.raises(RuntimeError, match="support automatic differentiation"):
            call.replaced(leaves).run()


def shares(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(np.shares_memory(a._array, b._array))


@pytest.mark.parametrize("name", SAMPLED)
def test_arguments_are_unchanged(name: str) -> None:
    for call in calls(name):
        before = [(t, t._array.copy(), t._version) for t in call.tensors]
        call.run()
        for i, (t, array, version) in enumerate(before):
            np.testing.assert_array_equal(t._array, array, err_msg=f"{call!r}: tensor {i}")
            assert t._version == version


@pytest.mark.parametrize("name", SAMPLED)
def test_result_has_its_own_memory(name: str) -> None:
    """Results share no memory with arguments, nor with each other, unless the op is a view."""
    for call in calls(name):
        outputs = call.outputs()
        may_share = name in VIEWS or name in MAYBE_VIEWS or name.startswith(("_", "unsafe_"))
        shared = [t for t in call.tensors if t._array.size and any(shares(o, t) for o in outputs)]
        if name in VIEWS:
            assert shared or not any(o._array.size for o in outputs), f"{call!r} is no view"
        elif not may_share:
            assert not shared, f"{call!r} shares memory with an argument"
            for i, o in enumerate(outputs):
                assert o.is_conj() or o._array.flags.writeable, f"{call!r}: read-only"
                assert not any(shares(o, other) for other in outputs[:i]), f"{call!r}"
        for t in shared:
            views = [o for o in outputs if o is not t and shares(o, t)]
            if name.startswith("unsafe_"):  # what PyTorch does not count as views
                continue
            assert all(o._is_view() for o in views), f"{call!r}: shares memory, but is no view"
            version = t._version
            t.zero_()
            assert all(o._version == version + 1 for o in views), f"{call!r}: another version"


@pytest.mark.parametrize("name", [n for n in IN_PLACE if n not in WRITTEN_UNSEEN])
def test_refused_in_place_changes_nothing(name: str) -> None:
    """A leaf that requires grad cannot be written while recording; it stays what it was."""
    for call in calls(name)[:1]:
        x = call.args[0]
        if not isinstance(x, torch.Tensor) or not is_inexact(x):
            continue
        x.requires_grad_()
        before = x._array.copy()
        with pytest.raises(REFUSALS):
            getattr(x, name + "_")(*call.args[1:], **call.kwargs)
        np.testing.assert_array_equal(x._array, before)
        assert x._version == 0
