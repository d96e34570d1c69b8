"""What the tests of `watch` share: programs that train, and what they find in what is shown."""

import io
import re
import struct
import textwrap
import zlib

import rushlight as torch

TRAIN = """
import torch
x = torch.tensor([3.0, 4.0], requires_grad=True)
optimizer = torch.optim.SGD([x], lr=0.25)
for i in range(3):
    optimizer.zero_grad()
    (x * x).sum().backward()
    optimizer.step()
    print("step", i)
"""

# x is halved by each step, so the losses are 25, 25/4, 25/16 and the norms 10, 5, 2.5.

HOSTILE = """
import torch
names = ["\\x1b[31m<b>[bold red]", "$\\\\frac{x", "_hidden", "a\\nb\\r"]
names += ["漢字", "x" * 10000, "", "%s{}"]
xs = [torch.ones(2, requires_grad=True) for _ in names]
optimizer = torch.optim.SGD([{"params": [x], "name": n} for x, n in zip(xs, names)], lr=0.1)
for _ in range(3):
    sum((x * x).sum() for x in xs).backward()
    optimizer.step()
"""


def is_picture(path):
    """Whether a file is a whole PNG of some size, by its own checksums."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, kinds = 8, []
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 4 : at + 8 + length]
        assert zlib.crc32(body) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        kinds.append(kind)
        at += 12 + length
    assert kinds[-1] == b"IEND"
    return min(struct.unpack(">II", data[16:24])) > 300


def table(stderr):
    """The rows of the table by their name, as lists of words."""
    rows = re.findall(r"^  (\S.*?)  +(.*)$", stderr, re.M)
    return {name: words.split() for name, words in rows}


class Screen:
    """What a terminal shows of what is written to it: text, and the few controls that occur."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines = [""]  # of all time; the screen is the last `rows` of them
        self.row = self.column = 0
        self.wrapped = False

    def feed(self, text):
        for part in re.findall(r"\x1b\[[\d;?]*[A-Za-z]|\x1b.|[^\x1b]", text, re.S):
            self._one(part)
        return self

    def _one(self, part):
        if part == "\n":
            self.row += 1
            while len(self.lines) <= self.row:
                self.lines.append("")
        elif part == "\r":
            self.column = 0
        elif part.startswith("\x1b["):
            number = int(part[2:-1] or 1) if part[2:-1].isdigit() or not part[2:-1] else 0
            if part[-1] == "A":
                top = max(len(self.lines) - self.rows, 0)
                self.row = max(self.row - number, top)
            elif part[-1] == "J":
                del self.lines[self.row + 1 :]
                self.lines[self.row] = self.lines[self.row][: self.column]
            elif part[-1] == "K":
                self.lines[self.row] = self.lines[self.row][: self.column]
            elif part[-1] != "m":
                raise AssertionError(f"a control that this model does not have: {part!r}")
        else:
            if self.column == self.columns:
                self.wrapped = True
                self._one("\r")
                self._one("\n")
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + part + line[self.column + 1 :]
            self.column += 1

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.lines)


class Tty(io.TextIOWrapper):
    """A stream that says it is a terminal, and keeps what one would get."""

    def __init__(self, encoding="utf-8"):
        super().__init__(io.BytesIO(), encoding=encoding, newline="\r\n")

    def isatty(self):
        return True

    @property
    def text(self):
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)


def run_here(text, **given):
    """Run a program's text in this process, as prog.py, with rushlight as its torch and what is
    given as its variables."""
    text = textwrap.dedent(text).replace("import torch\n", "\n")
    exec(compile(text, "prog.py", "exec"), {"torch": torch, **given})


def train(steps=3, optimizer=None, x=None):
    x = torch.tensor([3.0, 4.0], requires_grad=True) if x is None else x
    optimizer = optimizer or torch.optim.SGD([x], lr=0.25)
    for _ in range(steps):
        optimizer.zero_grad()
        (x * x).sum().backward()
        optimizer.step()
