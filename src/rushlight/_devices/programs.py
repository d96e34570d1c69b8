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

__all__ = ["EVEN", "NARROW", "interpreter", "own_text", "specialised"]

_FILE = "pointwise.cl"
_SCALAR = numbers_of("accelerator_call.h").SCALAR
GROUP, WIDE_GROUP = numbers_of("accelerator_call.h").GROUP, numbers_of("vectors.cl").WIDE_GROUP
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
) -> tuple[int, int, int]:
    """For the core: a kernel that runs one program, the elements of an item, the items of a group.

    See `own_text` for the arguments.
    """
    facts = numbered(device).facts
    given = instructions, signature, inputs, constants, result, form
    text, each, group = own_text(code, facts.has_double, bool(facts.warp), *given)
    return build(device, text, "own"), each, group


def own_text(
    code: int,
    wide: bool,
    warps: bool,
    instructions: bytes,
    signature: bytes,
    inputs: int,
    constants: int,
    result: int,
    form: int,
) -> tuple[str, int, int]:
    """The text of a program's own kernel `own`, the elements of an item, the items of a group.

    code: of the dtype that is computed in; wide, warps: whether the device has double, and warps;
    instructions: five numbers of 32 bits each; signature: the types of the inputs and of the
    result, one byte each, then the form; form: 0 where all lie densely and alike, else the number
    of dimensions, with NARROW and EVEN where the device has warps.
    """
    program = list(struct.iter_unpack("5i", instructions))
    own = _Own(program, signature[: inputs + 1], constants, result)
    body, each, group = own.of_neighbours(form) if warps else (own.of_one(form), 1, GROUP)
    options = "-DOWN_KERNEL -DWARPS" if warps else "-DOWN_KERNEL"
    return f"{text_of(_FILE, ALL[code].name, wide, options)}\n{body}\n}}\n", each, group


NARROW, EVEN = 64, 128  # places fit into 32 bits; rows of the last dimension have a multiple of 8


class _Own:
    """The parts that kernels of a program are written of."""

    def __init__(
        self, program: list[tuple[int, ...]], types: bytes, constants: int, result: int
    ) -> None:
        self.types, self.out = types[:-1], types[-1]
        inputs = len(self.types)
        self.read = [k for k in range(inputs) if types[k] != _SCALAR]
        self.numbers = [f"SCALAR_OF(call, {k})" for k in range(inputs)]
        self.numbers += [f"constants[{k}]" for k in range(constants)]
        used = {register for step in program for register in step[1:]} | {result}
        self.registers = ", ".join(f"r{k}" for k in sorted({*range(len(self.numbers)), *used}))
        self.result = f"r{result}"
        self.steps = [
            f"r{to} = op_{_NAMES[op]}({', '.join(f'r{register}' for register in given)});"
            for op, to, *given in program
        ]

    def places(self, form: int, index: str = "i64") -> list[str]:
        """How the element `left` is found: at_0 and so on, and target, move there."""
        lines = []
        for d in range(form - 1, -1, -1):
            size, step = f"({index})call.sizes[{d}]", f"({index})call.strides"
            if d:
                quick = f"(int)((u32)left / (u32){size})"
                lines.append(f"next = {quick if index == 'int' else f'quotient(left, {size})'};")
                lines.append(f"place = left - next * {size};")
            else:
                lines.append("place = left;")
            lines += [f"at_{k} += place * {step}[{k}][{d}];" for k in self.read]
            lines.append(f"target += place * ({index})call.out_strides[{d}];")
            lines.append("left = next;" if d else "")
        return lines

    def of_one(self, form: int) -> str:
        """A work item does an element."""
        lines = ["const i64 first = ITEM;", "if (first >= call.count) return;"]
        lines += [f"T {self.registers};", "i64 target = call.out_place;"]
        lines += [f"i64 at_{k} = call.places[{k}];" for k in self.read]
        if form == 0:
            lines += [f"at_{k} += first * SIZE({self.types[k]});" for k in self.read]
            lines.append(f"target += first * SIZE({self.out});")
        else:
            lines += ["i64 left = first, next, place;", *self.places(form)]
        for k, number in enumerate(self.numbers):
            value = f"load(in{k}, at_{k}, {self.types[k]})" if k in self.read else number
            lines.append(f"r{k} = {value};")
        lines += [*self.steps, f"store(out, target, {self.out}, {self.result});"]
        return _kernel("KERNEL", lines)

    def of_neighbours(self, form: int) -> tuple[str, int, int]:
        """A work item does some times as many neighbours as 16 bytes have; all are read first."""
        narrow, dims = form & NARROW, form % NARROW
        types = [*(self.types[k] for k in self.read), self.out]
        small, large = min(map(_size, types)), max(map(_size, types))
        n = min(16 // small, 8) if not dims or form & EVEN else 1
        rounds = max(1, min(4, 32 // (n * large)))
        index, last = "int" if narrow else "i64", max(dims - 1, 0)
        lines = [f"const T n{k} = {v};" for k, v in enumerate(self.numbers) if k not in self.read]
        lines += [f"Few<{self.types[k]}, {n}> all_{k}[{rounds}];" for k in self.read]
        lines += [f"{index} targets[{rounds}];"]
        first = f"((GROUP_NUMBER * {rounds} + round) * {WIDE_GROUP} + MEMBER) * {n}"
        lines += ["#pragma unroll", f"for (int round = 0; round < {rounds}; ++round) {{"]
        lines += [f"const i64 first = {first}, rest = call.count - first;"]
        if dims:
            lines.append(f"{index} left = ({index})first, next, place, target = 0;")
            lines += [f"{index} at_{k} = 0;" for k in self.read] + self.places(dims, index)
        else:
            lines += [f"const i64 at_{k} = first * SIZE({self.types[k]});" for k in self.read]
            lines.append(f"const i64 target = first * SIZE({self.out});")
        for k in self.read:
            step = f"call.strides[{k}][{last}]" if dims else f"SIZE({self.types[k]})"
            given = f"in{k} + call.places[{k}] + at_{k}, {step}, rest"
            lines.append(f"all_{k}[round] = fetch_along<{self.types[k]}, {n}>({given});")
        lines += ["targets[round] = target;", "}"]
        lines += ["#pragma unroll", f"for (int round = 0; round < {rounds}; ++round) {{"]
        lines += [f"const i64 first = {first}, rest = call.count - first;", f"T made[{n}];"]
        lines += ["#pragma unroll", f"for (int j = 0; j < {n}; ++j) {{", f"T {self.registers};"]
        for k in range(len(self.numbers)):
            lines.append(f"r{k} = {f'all_{k}[round].value(j)' if k in self.read else f'n{k}'};")
        lines += [*self.steps, f"made[j] = {self.result};", "}"]
        step = f"call.out_strides[{last}]" if dims else f"SIZE({self.out})"
        to = f"out + call.out_place + targets[round], made, {step}, rest"
        lines += [f"put_along<{self.out}, {n}>({to});", "}"]
        return _kernel(f"KERNEL_OF({WIDE_GROUP})", lines), n * rounds, WIDE_GROUP


def _size(code: int) -> int:
    return int(ALL[code].itemsize)


def _kernel(kind: str, lines: list[str]) -> str:
    body = "\n  ".join(lines)
    return f"{kind} own(POINTWISE_PARAMETERS) {{\n  {body}"
