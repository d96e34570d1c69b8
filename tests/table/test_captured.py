"""Every sample of the op table, forward and gradient, captured and replayed on other values of the
same layouts: the bits of an eager run, or a refusal with its reason.

The expectation is an eager run of the same call. Both results are compared as bytes. As a program,
with the names of ops or none, this file says what is refused and why.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import cases
import pytest

import rushlight as torch
from rushlight import _core

# Ops whose samples are all refused: they answer Python with values, or compute in NumPy.
REFUSED: frozenset[str] = frozenset(
    "_pivot_matrix matrix_exp _index_fill_tensor _segment_reduce _gelu_given "
    "embedding_bag fake_quantize_per_tensor_affine".split()
)


def captured(function: Any, inputs: list[torch.Tensor]) -> tuple[list[torch.Tensor], Any]:
    """The results of a run, and its program or (why, where)."""
    _core.capture_begin(tuple(inputs), ())
    try:
        results = function(*inputs)
    except BaseException:
        _core.capture_stop()
        raise
    return results, _core.capture_end(tuple(results))


def other(t: torch.Tensor) -> torch.Tensor:
    """The same elements in another order, in the same layout."""
    made = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype) if t.numel() else t.clone()
    return made.copy_(t.reshape(-1).roll(1).reshape(t.shape)) if t.numel() else made


def alike(t: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype).copy_(t)


def bits(results: list[torch.Tensor]) -> list[Any]:
    plain = [r.resolve_conj().resolve_neg() for r in results]
    return [(r.dtype, tuple(r.shape), r.stride(), r.numpy().tobytes()) for r in plain]


def forward(call: cases.Call) -> Any:
    def run(*inputs: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            made = cases.OPS[call.name].function(*(c := call.having(list(inputs))).args, **c.kwargs)
        return [r.clone() if r._is_view() else r for r in cases.tensors_in(made)]

    return run


def gradient(call: cases.Call) -> Any:
    numbers = call.leaves

    def run(*inputs: torch.Tensor) -> list[torch.Tensor]:
        tensors = list(inputs)
        leaves = []
        for i in numbers:
            tensors[i] = tensors[i].detach().requires_grad_()
            leaves.append(tensors[i])
        c = call.having(tensors)
        results = cases.tensors_in(cases.OPS[call.name].function(*c.args, **c.kwargs))
        wanted = [r for r in results if r.requires_grad]
        grads = torch.autograd.grad(wanted, leaves, [r.detach() for r in wanted], allow_unused=True)
        return [r.detach() for r in results if not r._is_view()] + [
            g for g in grads if g is not None
        ]

    return run


def outcome(function: Any, inputs: list[torch.Tensor]) -> tuple[str, str]:
    """("same", ""), ("refused", why), or ("wrong", what)."""
    first, second = [alike(t) for t in inputs], [other(t) for t in inputs]
    function(*[alike(t) for t in inputs])

    def seeded(f: Any, tensors: list[torch.Tensor]) -> Any:
        torch.manual_seed(7)
        return f(*tensors)

    results, program = seeded(lambda *x: captured(function, list(x)), first)
    if isinstance(program, tuple):
        return "refused", program[0]
    del results
    third = [alike(t) for t in inputs]
    for t in third:
        if t.dtype is torch.bool or not t.is_floating_point():
            t.zero_()
        else:
            t.neg_()
    fourth = [torch.ones_like(t) for t in inputs]
    for values in (second, inputs, third, fourth):
        expected_of, given = [alike(t) for t in values], [alike(t) for t in values]
        try:
            expected = seeded(function, expected_of)
        except Exception as error:
            try:
                if seeded(program.replay, given) is NotImplemented:  # the call begins anew
                    continue
            except type(error):
                continue
            return "wrong", f"{error!r} and no error"
        replayed = seeded(program.replay, given)
        if replayed is NotImplemented:
            if [bits([t]) for t in given] != [bits([t]) for t in values]:
                return "wrong", "not replayed, and arguments were written"
            replayed = function(*given)
        if bits(expected) != bits(list(replayed)):
            return "wrong", f"{expected} and {replayed}"
        if bits(expected_of) != bits(given):
            return "wrong", "arguments after the call"
    return "same", ""


def outcomes(name: str) -> list[tuple[str, str]]:
    found = []
    for call in cases.calls(name):
        inputs = call.tensors
        filled = [t for t in inputs if t.numel()]
        if len({t.untyped_storage().data_ptr() for t in filled}) < len(filled):
            continue  # of one storage
        ways = [forward(call)]
        if name in cases.DIFFERENTIABLE and call.leaves:
            ways.append(gradient(call))
        found += [outcome(way, inputs) for way in ways]
    return found


@pytest.mark.parametrize("name", cases.SAMPLED)
def test_replays_have_the_bits_of_eager(name: str) -> None:
    found = outcomes(name)
    assert not [what for how, what in found if how == "wrong"]
    if found:
        assert (name in REFUSED) == all(how == "refused" for how, what in found)


if __name__ == "__main__":
    why: dict[str, Counter[str]] = {}
    for name in sys.argv[1:] or cases.SAMPLED:
        for how, what in outcomes(name):
            why.setdefault(f"{how}: {what[:300]}" if what else how, Counter())[name] += 1
    for what, names in why.items():
        print(names.total(), what, "" if what == "same" else dict(names))
    refused = {n for w, names in why.items() if w.startswith("refused") for n in names}
    print("all samples are refused:", *sorted(refused - why.get("same", Counter()).keys()))
