"""With PyTorch installed: every public op takes the same element types, and its results have the
same types, shapes and `requires_grad`. (Values are compared in tests/torch_compat.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import (
    COMPLEX_ONLY,
    NUMPY_TYPES,
    OPS,
    REFUSALS,
    SAMPLED,
    Call,
    calls,
    mapped,
    plain,
    tensors_in,
)

import rushlight

torch = pytest.importorskip("torch")

# These take element types that PyTorch has no kernel for on the CPU, and compute them right.
_LENIENT = ""
LENIENT = frozenset(_LENIENT.split())

HOMES = {
    "torch": torch,
    "nn": torch.nn.functional,
    "linalg": torch.linalg,
    "special": torch.special,
    "fft": torch.fft,
    "Tensor": torch.Tensor,
}
PUBLIC = [n for n in SAMPLED if not n.startswith("_")]


def torch_functions(name: str) -> list[Any]:
    """The function and the method, whose arguments may differ: `flip(x, dims)`, `x.flip(0)`."""
    homes = dict.fromkeys([HOMES.get(OPS[name].namespace), torch.Tensor])
    return [f for f in (getattr(home, name, None) for home in homes) if f is not None]


COMMON = [n for n in PUBLIC if torch_functions(n)]


def to_torch(t: rushlight.Tensor) -> Any:
    array = t.detach()._array
    if array.dtype == NUMPY_TYPES["bfloat16"]:
        return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(array.copy(order="K"))


def converted(tree: Any) -> Any:
    tree = mapped(to_torch, tree)

    def dtypes(x: Any) -> Any:
        if isinstance(x, rushlight.dtype):
            return getattr(torch, str(x).removeprefix("torch."))
        if type(x) in (tuple, list):
            return type(x)(map(dtypes, x))
        return {k: dtypes(v) for k, v in x.items()} if isinstance(x, dict) else x

    return dtypes(tree)


def flat(result: Any, kind: Any) -> list[Any]:
    if isinstance(result, kind):
        return [result]
    return [t for r in plain(result) for t in flat(r, kind)] if isinstance(result, tuple) else []


def described(outputs: list[Any]) -> list[tuple[str, tuple[int, ...], bool]]:
    return [(str(o.dtype), tuple(o.shape), o.requires_grad) for o in outputs]


def attempt(functions: list[Any], args: Any, kwargs: Any, kind: Any) -> Any:
    """What comes out, or why it was refused."""
    for f in functions:
        try:
            return described(flat(f(*args, **kwargs), kind))
        except Exception as error:
            refusal = error
    return f"refused: {type(refusal).__name__}: {str(refusal).splitlines()[0][:120]}"


def with_gradients(tree: Any, call: Call) -> None:
    """Let the leaves of a call require gradients."""
    tensors: list[Any] = []

    def collect(x: Any) -> None:
        if isinstance(x, (torch.Tensor, rushlight.Tensor)):
            tensors.append(x)
        elif isinstance(x, dict):
            for v in x.values():
                collect(v)
        elif type(x) in (tuple, list):
            for v in x:
                collect(v)

    collect(tree)
    for i in call.leaves:
        tensors[i].requires_grad_()


def beyond(expected: Any) -> bool:
    """Whether PyTorch has complex numbers of half precision, or no complex derivative, there."""
    return "complex32" in str(expected) or "for outputs with complex dtype" in str(expected)


def differences(name: str) -> list[tuple[Call, Any, Any]]:
    """The calls in which one of the two refuses, or gives something else."""
    different = []
    for dtype in NUMPY_TYPES:
        if name in COMPLEX_ONLY and dtype != "complex128":
            continue
        try:
            drawn = calls(name, dtype)
        except REFUSALS:  # the sampler multiplies matrices of bools
            continue
        for call in drawn:
            theirs = converted((call.args, call.kwargs))
            with_gradients(theirs, call)
            expected = attempt(torch_functions(name), *theirs, torch.Tensor)
            ours = (call.args, call.kwargs)
            with_gradients(ours, call)
            found = attempt([OPS[name].function], *ours, rushlight.Tensor)
            refused = isinstance(found, str) and isinstance(expected, str)
            if not refused and found != expected and not beyond(expected):
                different.append((call, found, expected))
    return different


def told(different: list[tuple[Call, Any, Any]]) -> str:
    return "\n".join(f"{c!r}:\n    {f}\n    PyTorch: {e}" for c, f, e in different[:4])


@pytest.mark.parametrize("name", COMMON)
def test_types_and_shapes(name: str) -> None:
    different = differences(name)
    if name in LENIENT:
        different = [d for d in different if not isinstance(d[2], str)]
    assert not different, told(different)


def gradients(functions: list[Any], call: Call, args: Any, kwargs: Any, library: Any) -> Any:
    """The gradients of all complex and real leaves, with seeds from a fixed stream; or why not."""
    for f in functions:
        leaves = [t for t in tensors_of((args, kwargs)) if t.requires_grad]
        random = np.random.default_rng(5)
        try:
            outputs = [o for o in flat(f(*args, **kwargs), library.Tensor) if o.requires_grad]
            if not outputs:
                return "nothing to differentiate"
            seeds = []
            for o in outputs:
                seed = random.standard_normal(o.shape)
                if o.dtype.is_complex:
                    seed = seed + 1j * random.standard_normal(o.shape)
                seeds.append(library.tensor(seed).to(o.dtype))
            found = library.autograd.grad(outputs, leaves, seeds, allow_unused=True)
            return [None if g is None else g.resolve_conj().detach().numpy() for g in found]
        except Exception as error:
            refusal = error
    return f"refused: {type(refusal).__name__}: {str(refusal).splitlines()[0][:120]}"


def tensors_of(tree: Any) -> list[Any]:
    if isinstance(tree, (torch.Tensor, rushlight.Tensor)):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree if type(tree) in (tuple, list) else ()
    return [t for part in parts for t in tensors_of(part)]


NOT_COMPARED = {
    "as_strided_scatter": "it tells of the storage, which the copies for PyTorch do not have",
}


@pytest.mark.parametrize("name", COMMON)
def test_complex_gradients(name: str) -> None:
    """What PyTorch differentiates for complex numbers has the same gradients here: the conjugate
    Wirtinger derivative, real for real leaves."""
    if name in NOT_COMPARED:
        pytest.skip(NOT_COMPARED[name])
    for call in calls(name, "complex128"):
        given = tensors_of((call.args, call.kwargs))
        if len(set(map(id, given))) < len(given):
            continue  # one tensor in several places: PyTorch's are copies
        theirs = converted((call.args, call.kwargs))
        with_gradients(theirs, call)
        expected = gradients(torch_functions(name), call, *theirs, torch)
        if isinstance(expected, str):
            continue
        ours = (call.args, call.kwargs)
        with_gradients(ours, call)
        found = gradients([OPS[name].function], call, *ours, rushlight)
        assert not isinstance(found, str), f"{call!r}: {found}"
        for a, b in zip(found, expected, strict=True):
            ours, theirs = (np.zeros(()) if g is None else g for g in (a, b))
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7, err_msg=repr(call))


def test_helpers() -> None:
    t = rushlight.ones(2, 3)
    assert len(tensors_in(((t, [t]), {"a": t}))) == 3
    assert described(flat((t, (t, 1)), rushlight.Tensor)) == [("torch.float32", (2, 3), False)] * 2
