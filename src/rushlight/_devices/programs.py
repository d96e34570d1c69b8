"""Pointwise programs as kernels: an interpreter, and compiled kernels for the programs used much.

Both are made of kernels/pointwise.cl and the rows of ops.def: what an instruction computes stands
there once, for the CPU, too.
"""

from __future__ import annotations

import struct

from .. import _core
from .._base.dtypes import ALL
from .accelerators import build, kernel, numbered
from .texts import numbers_of, text_of

__all__ = ["interpreter", "specialised"]

_FILE = "pointwise.cl"
_SCALAR = numbers_of("accelerator_call.h").SCALAR
_NAMES = [name for name, _ in _core.instructions()]


def interpreter(device: int, code: int) -> int:
    """For the core: the kernel of pointwise programs in a type; -2 where the device has it not."""
    computed = ALL[code].name
    if computed == "float64" and not numbered(device).facts.has_double:
        return -2
    return kernel(device, _FILE, "pointwise", computed)


def specialised(
    device: int,
    code: int,
    instructions: bytes,
    signature: bytes,
    inputs: int,
    constants: int,
    result: int,
    form: int,
) -> int:
    """For the core: the number of a kernel that runs one program.

    instructions: five numbers of 32 bits each; signature: the types of the inputs and of the
    result, one byte each, then the form; form: 0 where all lie densely and alike, else the number
    of dimensions.
    """
    computed, wide = ALL[code].name, numbered(device).facts.has_double
    functions = text_of(_FILE, computed, wide, "-DOWN_KERNEL")
    program, types = list(struct.iter_unpack("5i", instructions)), signature[: inputs + 1]
    read = [k for k in range(inputs) if types[k] != _SCALAR]
    used = sorted({register for step in program for register in step[1:]} | {result})
    lines = [f"T {', '.join(f'r{k}' for k in {*range(inputs + constants), *used})};"]
    lines += [f"i64 at_{k} = call.places[{k}];" for k in read]
    lines.append("i64 target = call.out_place;")
    if form == 0:
        lines += [f"at_{k} += first * SIZE({types[k]});" for k in read]
        lines.append(f"target += first * SIZE({types[-1]});")
    else:
        lines.append("i64 left = first, next, place;")
    for d in range(form - 1, -1, -1):
        lines.append(f"next = quotient(left, call.sizes[{d}]);")
        lines.append(f"place = left - next * call.sizes[{d}];")
        lines.append("left = next;")
        lines += [f"at_{k} += place * call.strides[{k}][{d}];" for k in read]
        lines.append(f"target += place * call.out_strides[{d}];")
    for k in range(inputs):
        value = f"load(in{k}, at_{k}, {types[k]})" if k in read else f"SCALAR_OF(call, {k})"
        lines.append(f"r{k} = {value};")
    lines += [f"r{inputs + k} = constants[{k}];" for k in range(constants)]
    for op, to, *given in program:
        lines.append(f"r{to} = op_{_NAMES[op]}({', '.join(f'r{register}' for register in given)});")
    lines.append(f"store(out, target, {types[-1]}, r{result});")
    body = "\n  ".join(lines)
    text = (
        f"{functions}\nKERNEL own(POINTWISE_PARAMETERS) {{\n"
        "  const i64 first = ITEM;\n  if (first >= call.count) return;\n"
        f"  {body}\n}}\n"
    )
    return build(device, text, "own")
