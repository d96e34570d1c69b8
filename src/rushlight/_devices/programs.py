"""Pointwise programs as kernels: an interpreter, and compiled kernels for the programs used much.

Both are made of kernels/pointwise.cl: what an instruction computes stands there once.
"""

from __future__ import annotations

import re
import struct
from functools import cache

from .. import _core
from .._dtypes import ALL
from .opencl import FOLDER, LIMITS, build, kernel, numbered, text_of

__all__ = ["interpreter", "own_text", "specialised", "steps"]

_FILE = "pointwise.cl"
_INTERPRETER = "// ---- the interpreter"


@cache
def steps(computed: str) -> dict[str, str]:
    """The pointwise instructions in a type, by name: expressions of a, b and c."""
    text = (FOLDER / _FILE).read_text()
    common, real = text.index("switch (code"), text.index("#ifdef REAL\n      STEP")
    rest = text.index("#else", real)
    part = text[common:real] + (text[rest:] if computed == "int64" else text[real:rest])
    return dict(re.findall(r"^ *STEP\((\w+), (.+)\)$", part, re.MULTILINE))


def options(computed: str) -> str:
    """The numbers of the instructions, for the compiler."""
    return " ".join(f"-DOP_{name}={_core.opcode(name)}" for name in steps(computed))


def interpreter(device: int, code: int) -> tuple[int, bytes]:
    """For the core: the kernel of pointwise programs in a type, and which opcodes it has."""
    computed = ALL[code].name
    if computed == "float64" and not numbered(device).facts.has_double:
        return -2, b""
    known = bytearray(256)
    for name in steps(computed):
        known[_core.opcode(name)] = 1
    return kernel(device, _FILE, "pointwise", computed, options(computed)), bytes(known)


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
    computed = ALL[code].name
    program = list(struct.iter_unpack("5i", instructions))
    text = own_text(
        computed, program, signature[: inputs + 1], constants, result, form, device=device
    )
    return build(device, text, "own")


def own_text(
    computed: str,
    program: list[tuple[int, ...]],
    types: bytes,
    constants: int,
    result: int,
    form: int,
    device: int | None = None,
) -> str:
    """The text of a kernel that runs one program; see `specialised`."""
    wide = device is None or numbered(device).facts.has_double
    whole = text_of(_FILE, computed, wide)
    functions = whole[: whole.index(_INTERPRETER)]
    meaning = {_core.opcode(name): expression for name, expression in steps(computed).items()}
    inputs, scalar = len(types) - 1, LIMITS["SCALAR"]
    read = [k for k in range(inputs) if types[k] != scalar]
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
    for op, to, *operands in program:
        given = "".join(
            f"const T {name} = r{register}; (void){name}; "
            for name, register in zip("abc", operands, strict=True)
        )
        lines.append(f"{{ {given}r{to} = (T)({meaning[op]}); }}")
    lines.append(f"store(out, target, {types[-1]}, r{result});")
    body = "\n  ".join(lines)
    return (
        f"{functions}\nKERNEL own(POINTWISE_PARAMETERS) {{\n"
        "  const i64 first = ITEM;\n  if (first >= call.count) return;\n"
        f"  {body}\n}}\n"
    )
