"""The functions that the core and rooms further left call: callbacks.h and _late.py have the names.

Nothing here runs before the package is imported whole. `check_registered` names what is missing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from . import _core
from ._base.device import contiguous_format, device, layout, memory_format, resolve
from ._base.errors import AcceleratorError, OutOfMemoryError
from ._base.late import connect, get_dotted, imported
from ._devices.generator import Generator

# By their modules, which are imported when the core first wants one: the callback, and after "="
# the name that it has in the module.
_FOUND = {
    "_alias.spelling": "handed_on",
    "_base.dlpack": "take_pytorchs",
    "_base.errors": "warn",
    "_base.observers": "trace_starts=_starts trace_ran=_ran trace_ends=_ends",
    "_devices": "on_stand_ins=meta.run",
    "_devices.complex": "copy_there=copy_across put_off_there=put_off",
    "_devices.cpu": "beyond_memory",
    "_devices.programs": "interpreter specialised",
    "_devices.there": "load_kernels_there=load",
    "_levels.dispatch": "wrapped",
    "_levels.running": "thread_state set_thread_state",
    "_tensor": "tensor_new=_tensor_new missing_attribute=_missing_attribute",
    "autograd._engine": """no_grad_root=_no_grad_root no_grad_input=_no_grad_input
        copy_gradient=_copy_gradient""",
    "autograd._saved": "before_write=_before_write raw_saved=SavedTensor._of",
    "autograd.anomaly_mode": "op_ran=_op_ran node_made=note_place node_ran=_node_ran node_failed",
    "autograd.graph": "call_node=_call_node move_retained=_move_retained",
    "func._printing": "repr=text",
    "ops.elementwise.arithmetic": "add sub",
    "ops.elementwise.comparison": "logical_xor",
    "ops.elementwise.complex_numbers": "conj_view=_conj neg_view view_as_real",
    "ops.indexing.subscript": """getitem=get_item setitem=set_item spread_to=_spread_to
        iter=_iterate""",
    "ops.layout.joining": "cat",
    "ops.layout.shape": "view reshape_alias=_reshape_alias unsafe_view expand unsqueeze sum_to",
    "ops.layout.slices": "slice=slice_op select",
    "ops.layout.strided": """strided_view strided_gather=_strided_gather
        strided_scatter=_strided_scatter mixed_strided_view=_mixed_view
        mixed_strided_gather=_mixed_gather mixed_strided_scatter=_mixed_scatter""",
    "ops.layout.transposes": "permute",
    "ops.making.casts": "to_copy fit_dtype",
    "ops.making.copies": "alias contiguous_copy clone",
    "ops.making.creation": "zeros_like",
    "ops.making.from_data": "as_tensor",
    "ops.reduction.reductions": "sum",
    "ops.table.arguments": "explain takes",
    "ops.table.arrays": "fitted_number warn_once",
    "ops.table.formulas": "trace_call=_call",
    "ops.table.kinds": "compile=_compile",
    "ops.table.outputs": "write_out",
    "utils._selective": "op_starts=_op_starts op_ends=_op_ends",
}
_PLACES = {
    callback: (module, name or callback)
    for module, words in _FOUND.items()
    for callback, _, name in (word.partition("=") for word in words.split())
}


def _find(callback: str) -> Any:
    module, name = _PLACES[callback]
    return get_dotted(import_module(f"rushlight.{module}"), *name.split("."))


_core.register(
    callbacks={
        "find": _find,
        "OutOfMemoryError": OutOfMemoryError,
        "AcceleratorError": AcceleratorError,
        # types of arguments
        "Generator": Generator,
        "contiguous_format": contiguous_format,
        "device": device,
        "layout": layout,
        "memory_format": memory_format,
        "resolve_device": resolve,
        "handed_as_is": {},
    }
)
_core.check_registered(list(_PLACES))
connect(
    accelerator_between=imported("rushlight.ops.making.there.filling", "between"),
    accelerator_draw=imported("rushlight.ops.random.there.random", "fill"),
    accelerator_steps=imported("rushlight.ops.making.there.filling", "steps"),
    accelerator_wait=imported("rushlight._torch._present_device", "wait"),
    add_model=imported("rushlight.explain._failure", "add_model"),
    cell_html=imported("rushlight.explain._cells", "cell_html"),
    compile=imported("rushlight._torch.compiler", "compile"),
    define_torchvision=imported("rushlight._torch._torchvision", "define"),
    found=imported("rushlight._torch", "find"),
    has_modules=imported("rushlight._torch", "has_modules"),
    listed=imported("rushlight._torch", "listed"),
    load=imported("rushlight.serialization", "load"),
    make_wrapper_subclass=imported("rushlight._torch._dispatched", "make_wrapper_subclass"),
    of_aten=imported("rushlight._torch._private", "of_aten"),
    records_taken=imported("rushlight._records", "taken"),
    sparse_gathered=imported("rushlight.sparse._rows", "gathered"),
    sparse_gradcheck=imported("rushlight.sparse", "as_sparse_gradcheck"),
    sparse_method=imported("rushlight.sparse", "_call_method"),
    sparse_refusal=imported("rushlight.sparse._form", "stay_here"),
    spec_of=imported("rushlight._torch", "spec_of"),
    sparse_rows=imported("rushlight.sparse._rows", "rows"),
    world=lambda: sys.modules.get("rushlight.distributed"),
)
