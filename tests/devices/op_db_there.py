"""PyTorch's table of operators on the accelerator, in float32.

    python tests/devices/op_db_there.py [--samples 4] [NAME ...]

As tests/torch_compat/op_db.py, with this library's tensors on `DEVICE`: values, gradients, methods
and in-place variants are compared with PyTorch's on the CPU. Where a sample names the CPU, it is
the accelerator here. An accelerator has random numbers of its own, so of calls that draw some only
types and shapes are compared. An entry runs there if none of its calls went by way of the host.
PyTorch has to be installed.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from rushlight import _core
from rushlight._devices import generator as _generator

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "torch_compat")]
importlib.import_module("_pocl").prepare()


def _own_copy(name: str) -> Any:
    """The module under another name, so that functions can be replaced in it."""
    found: Any = importlib.util.find_spec(name)
    spec: Any = importlib.util.spec_from_file_location(f"{name}_of_devices", found.origin)
    made = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


op_db = _own_copy("op_db")
oracle, subject = op_db.oracle, op_db.subject

DEVICE = "opencl"  # tools/gpu_check.py names another

# Entries that are not compared, or that are known to differ.
NO_SPARSE = "Sparse tensors are on the CPU alone."
LEFT_OUT = dict.fromkeys(("sparse.sampled_addmm", "sparse.mm(reduce)", "to_sparse"), NO_SPARSE)

# Entries of which something goes by way of the host: LAPACK chooses the signs of these vectors,
# and the host draws by weights.
BY_HOST = frozenset(
    "multinomial svd svd_lowrank pca_lowrank norm(nuc) linalg.cond linalg.eig linalg.eigvals "
    "linalg.eigh linalg.eigvalsh linalg.lstsq linalg.lstsq(grad_oriented) linalg.norm "
    "linalg.norm(subgradients_at_zero) linalg.svd linalg.svdvals".split()
)


def known() -> dict[str, str]:
    """The entries that need not agree, and why: these, and those that differ on the CPU."""
    return {**op_db.listed()[0]["float32"], **LEFT_OUT}


_from_oracle, _to_numpy, _seeded, _different = (
    getattr(op_db, name) for name in ("from_oracle", "to_numpy", "seeded", "different")
)
_of = op_db.Translation.of
_place_of = _generator.place_of
_drew = False  # whether the last call drew random numbers on the accelerator


def from_oracle(value: Any) -> Any:
    """On the accelerator, in memory of the same size: a sample may be a part of it."""
    here = _from_oracle(value)
    size = here.untyped_storage().nbytes() // here.element_size()
    plain = here.conj() if here.is_conj() else here
    memory = plain.as_strided((size,), (1,), 0).to(DEVICE)
    there = memory.as_strided(tuple(here.shape), here.stride(), here.storage_offset()).detach()
    return there.conj() if here.is_conj() else there


def to_numpy(value: Any) -> Any:
    return _to_numpy(value.cpu())


def translated(self: Any, value: Any) -> Any:
    """The counterpart of a value; that of the CPU is the accelerator."""
    if isinstance(value, str) and value == "cpu":
        return DEVICE
    if isinstance(value, oracle.device) and value.type == "cpu":
        return subject.device(DEVICE)
    return _of(self, value)


def seeded(library: Any, call: Any) -> Any:
    global _drew
    if library is subject:
        _drew = False
    return _seeded(library, call)


def place_of(*args: Any) -> Any:
    """The place of an accelerator's generator, which is asked for before numbers are drawn."""
    global _drew
    _drew = True
    return _place_of(*args)


def different(want: Any, have: Any, values: bool = True, *args: Any, **named: Any) -> str:
    found: str = _different(want, have, values and not _drew, *args, **named)
    return found


op_db.from_oracle, op_db.to_numpy, op_db.different = from_oracle, to_numpy, different
op_db.seeded, op_db.Translation.of = seeded, translated
_generator.place_of = place_of


def titles() -> list[str]:
    """The entries that take float32."""
    found = [e for e in op_db.table() if e.supports_dtype(oracle.float32, "cpu")]
    return [op_db.title(entry) for entry in found]


def sweep(names: list[str], samples: int) -> dict[str, tuple[Any, dict[str, int]]]:
    """What became of each entry, and which of its calls went by way of the host."""
    found = {}
    op_db.oracle.set_num_threads(1)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for entry in op_db.table():
            title = op_db.title(entry)
            if names and title not in names and entry.name not in names:
                continue
            if not entry.supports_dtype(op_db.oracle.float32, "cpu"):
                continue
            _core.accelerator_forget_fallbacks()
            outcome = op_db.run(entry, "float32", samples)
            if outcome.compared:
                found[title] = outcome, _core.accelerator_fallbacks()
    return found


def main() -> None:
    words, samples = sys.argv[1:], 4
    if "--samples" in words:
        at = words.index("--samples")
        samples = int(words[at + 1])
        del words[at : at + 2]
    found = sweep(words, samples)
    reasons: dict[str, int] = {}
    for title, (outcome, by_host) in found.items():
        for reason in by_host:
            reasons[reason] = reasons.get(reason, 0) + 1
        if outcome.wrong:
            print(f"{title}: {outcome.wrong[0].partition(chr(0))[0][:200]}")
            if title in known():
                print(f"  (known: {known()[title]})")
    wrong = sum(bool(outcome.wrong) for outcome, _ in found.values())
    alone = sum(not by_host for _, by_host in found.values())
    print(f"{len(found)} entries, {wrong} differ, {alone} run on the device alone")
    for reason, count in sorted(reasons.items(), key=lambda pair: -pair[1])[:60]:
        print(f"  {count:4} {reason}")


if __name__ == "__main__":
    main()
