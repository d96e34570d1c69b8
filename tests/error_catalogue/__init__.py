"""Every error and warning of autograd that programs and people match on, as cases that raise it.

Texts are named by the catalogue's number (E1 to E95 errors, W1 to W7 warnings), with a word behind
it where one number has several texts; those without a number by what they are about. `WANTED` is
the list of all; `ELSEWHERE` says which of them this library cannot raise, and why. `registry.py`
says how a case is written.
"""

from . import everyday, functions, graph, hooks, tensors, transforms
from .registry import CASES, check_here, check_there

__all__ = [
    "CASES",
    "ELSEWHERE",
    "SECTIONS",
    "WANTED",
    "check_here",
    "check_there",
    "missing",
    "summary",
]

SECTIONS = (graph, tensors, functions, hooks, transforms, everyday)

WANTED = (
    [f"E{n}" for n in range(1, 96) if n not in (5, 6)]
    + [f"W{n}" for n in range(1, 8)]
    + """
E5 type
E5 dtype
E5 number
E5 list
E5 surplus
E6 backward
E6 grad
E6 no grad
E6 mapping
E7 Function
E8 mark_dirty
E11 view of view
E13 anomaly
E30 node
E43 aten
E43 twice
E56 mark_non_differentiable
E57 view
E57 summed
E62 results
E94 aten
W3 none
W7 no forward
Function forward
Function backward
Function both
Function legacy
Function instance
Function cleared
Function once
SavedTensor
register_hooks twice
hooks disabled
allow_mutation nested
allow_mutation outside
checkpoint unused
checkpoint keywords
checkpoint options
checkpoint determinism
gradcheck
overlap
matmul shapes
broadcast
matmul dtypes
view
reshape
index
dimension
ambiguous bool
item
iteration
cast
output shape
optimizer leaf
optimizer empty
cat
grad_fn
saved name
node arguments
node weakref
queue_callback
target size
only_inputs
""".strip().splitlines()
)

ELSEWHERE = {
    "E24": "needs an accelerator: a gradient on another device, and the CPU is the only one here",
}


def missing() -> list[str]:
    """The texts that no case raises and that are not elsewhere."""
    have = {case.name for case in CASES}
    return [name for name in WANTED if name not in have and name not in ELSEWHERE]


def summary() -> str:
    """How much of the catalogue is raised, as one line."""
    have = {case.name for case in CASES}
    apart = sum(bool(case.better or case.stricter) for case in CASES)
    numbers = {name.split()[0] for name in WANTED if name[1].isdigit()}
    reached = numbers & {name.split()[0] for name in have}
    return (
        f"error catalogue: {len(CASES)} cases raise {len(have)} of {len(WANTED)} texts, "
        f"{len(reached)} of {len(numbers)} numbers; {apart} of the cases differ from PyTorch on "
        f"purpose; elsewhere: {', '.join(ELSEWHERE)}; missing: {', '.join(missing()) or 'none'}"
    )
