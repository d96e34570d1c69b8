"""The functions that the core and rooms further left call: callbacks.h and _late.py have the names.

Nothing here runs before the package is imported whole. `check_registered` names what is missing.
"""

from __future__ import annotations

import sys

from . import _core
from ._base import dlpack as _dlpack
from ._base.device import contiguous_format, device, layout, memory_format, resolve
from ._base.errors import AcceleratorError, OutOfMemoryError, warn
from ._base.late import connect, imported
from ._devices import meta
from ._devices.cpu import beyond_memory
from ._devices.generator import Generator
from ._levels import running
from ._levels.dispatch import wrapped
from ._tensor import _missing_attribute, _tensor_new
from .autograd import _engine as engine
from .autograd import _saved as saved
from .autograd import anomaly_mode, graph
from .func._printing import text as _text
from .ops.elementwise import arithmetic, comparison, complex_numbers
from .ops.indexing import subscript as indexing
from .ops.layout import joining, shape, slices, strided, transposes
from .ops.making import casts, copies, creation, from_data
from .ops.reduction import reductions
from .ops.table import arguments as _arguments
from .ops.table import arrays as _arrays
from .ops.table import formulas as _trace
from .ops.table import kinds as _kinds
from .ops.table import outputs as _outputs
from .utils import _selective

_core.register(
    callbacks={
        # ops, called as such
        "add": arithmetic.add,
        "alias": copies.alias,
        "conj_view": complex_numbers._conj,
        "neg_view": complex_numbers.neg_view,
        "to_copy": casts.to_copy,
        "strided_view": strided.strided_view,
        "strided_gather": strided._strided_gather,
        "strided_scatter": strided._strided_scatter,
        "permute": transposes.permute,
        "view": shape.view,
        "reshape_alias": shape._reshape_alias,
        "unsafe_view": shape.unsafe_view,
        "contiguous_copy": copies.contiguous_copy,
        "slice": slices.slice_op,
        "select": slices.select,
        "view_as_real": complex_numbers.view_as_real,
        "expand": shape.expand,
        "unsqueeze": shape.unsqueeze,
        "cat": joining.cat,
        "sum": reductions.sum,
        "sub": arithmetic.sub,
        "logical_xor": comparison.logical_xor,
        # functions of ops/
        "mixed_strided_view": strided._mixed_view,
        "mixed_strided_gather": strided._mixed_gather,
        "mixed_strided_scatter": strided._mixed_scatter,
        "clone": copies.clone,
        "zeros_like": creation.zeros_like,
        "sum_to": shape.sum_to,
        "fit_dtype": casts.fit_dtype,
        "fitted_number": _arrays.fitted_number,
        "warn": warn,
        "warn_once": _arrays.warn_once,
        "write_out": _outputs.write_out,
        "as_tensor": from_data.as_tensor,
        "take_pytorchs": _dlpack.take_pytorchs,
        "beyond_memory": beyond_memory,
        "on_stand_ins": meta.run,
        "load_kernels_there": imported("rushlight._devices.there", "load"),
        "copy_there": imported("rushlight._devices.complex", "copy_across"),
        "put_off_there": imported("rushlight._devices.complex", "put_off"),
        "interpreter": imported("rushlight._devices.programs", "interpreter"),
        "specialised": imported("rushlight._devices.programs", "specialised"),
        "OutOfMemoryError": OutOfMemoryError,
        "AcceleratorError": AcceleratorError,
        "getitem": indexing.get_item,
        "setitem": indexing.set_item,
        "spread_to": indexing._spread_to,
        "iter": indexing._iterate,
        "trace_call": _trace._call,
        "compile": _kinds._compile,
        "explain": _arguments.explain,
        "takes": _arguments.takes,
        # types of arguments
        "Generator": Generator,
        "contiguous_format": contiguous_format,
        "device": device,
        "layout": layout,
        "memory_format": memory_format,
        "resolve_device": resolve,
        # members of Tensor and Node
        "repr": _text,
        "handed_on": imported("rushlight._alias.spelling", "handed_on"),
        "handed_as_is": {},
        "tensor_new": _tensor_new,
        "call_node": graph._call_node,
        "raw_saved": saved.SavedTensor._of,
        "move_retained": graph._move_retained,
        "before_write": saved._before_write,
        "missing_attribute": _missing_attribute,
        # the engine
        "no_grad_root": engine._no_grad_root,
        "no_grad_input": engine._no_grad_input,
        "copy_gradient": engine._copy_gradient,
        "thread_state": running.thread_state,
        "set_thread_state": running.set_thread_state,
        # function transforms and forward mode
        "wrapped": wrapped,
        # anomaly mode, the profiler, selective checkpoints and the trace
        "op_starts": _selective._op_starts,
        "op_ran": anomaly_mode._op_ran,
        "op_ends": _selective._op_ends,
        "node_made": anomaly_mode.note_place,
        "node_ran": anomaly_mode._node_ran,
        "node_failed": anomaly_mode.node_failed,
        "trace_starts": imported("rushlight._base.observers", "_starts"),
        "trace_ran": imported("rushlight._base.observers", "_ran"),
        "trace_ends": imported("rushlight._base.observers", "_ends"),
    }
)
_core.check_registered()
connect(
    accelerator_between=imported("rushlight.ops.making.there.filling", "between"),
    accelerator_draw=imported("rushlight.ops.random.there.random", "fill"),
    accelerator_steps=imported("rushlight.ops.making.there.filling", "steps"),
    accelerator_wait=imported("rushlight._torch._present_device", "wait"),
    define_torchvision=imported("rushlight._torch._torchvision", "define"),
    found=imported("rushlight._torch", "find"),
    has_modules=imported("rushlight._torch", "has_modules"),
    listed=imported("rushlight._torch", "listed"),
    load=imported("rushlight.serialization", "load"),
    make_wrapper_subclass=imported("rushlight._torch._dispatched", "make_wrapper_subclass"),
    of_aten=imported("rushlight._torch._private", "of_aten"),
    sparse_gathered=imported("rushlight.sparse._rows", "gathered"),
    sparse_gradcheck=imported("rushlight.sparse", "as_sparse_gradcheck"),
    sparse_method=imported("rushlight.sparse", "_call_method"),
    sparse_refusal=imported("rushlight.sparse._form", "stay_here"),
    spec_of=imported("rushlight._torch", "spec_of"),
    sparse_rows=imported("rushlight.sparse._rows", "rows"),
    world=lambda: sys.modules.get("rushlight.distributed"),
)
