"""Every row of the table is complete, and what it names exists."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from cases import DIFFERENTIABLE, OPS, calls, tensor_of

import rushlight as torch
from rushlight.ops._op import namespace, node_name

NAMES = list(OPS)
STATED = [n for n in NAMES if OPS[n].kind not in ("composite", "constant")]
PUBLIC = [n for n in NAMES if not n.startswith("_")]

# Every class name of PyTorch 2.13 that a public program was seen to make; one a line.
TABLE = Path(__file__).parents[1] / "data" / "grad_fn_names.tsv"
