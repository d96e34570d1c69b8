"""Which ops take types that are stored only (float8, complex32), and whose names errors give.

A view takes every type. What an op that is not listed says of such a type is torch's error, which
names a kernel: that of `_KERNELS`, or the op's own name with `_cpu` behind it.
"""

from __future__ import annotations

__all__ = ["stored_words"]

_FLOAT8, _COMPLEX32 = 1, 2

# They move elements, or write them.
_MOVES = """_to_copy _to_format _to_device clone _copied _contiguous_copy contiguous cat stack where
_index _index_put _index_zero _index_backward index_select select_scatter slice_scatter reshape
diagonal_scatter as_strided_scatter _strided_scatter _strided_zeroed _zeroed _overwrite
_overwrite_number repeat repeat_interleave roll flip masked_select _masked_select_backward
constant_pad_nd diag_embed _block_diag _unsafe_view _embedding
_embedding_transpose select_copy permute_copy _diagonal_copy _slice_backward
_select_backward fill _fill_number""".split()
_COMPUTES = (
    "abs eq ne _eq_number _ne_number mul isnan isreal positive resolve_conj resolve_neg".split()
)
_FLOAT8_ONLY = "any all matmul mm addmm linear _linear_bias".split()
_COMPLEX = """add sub neg sgn isfinite isinf masked_fill _masked_fill_number addcmul
conj_physical _isclose""".split()

_TAKES = {
    **dict.fromkeys(_MOVES + _COMPUTES, _FLOAT8 | _COMPLEX32),
    **dict.fromkeys(_FLOAT8_ONLY, _FLOAT8),
    **dict.fromkeys(_COMPLEX, _COMPLEX32),
}

# Kernel: the ops that it stands for. `{}` is the name of the op.
_KERNELS = {
    "add_stub": "add sub",
    "{}_vml_cpu": """acos asin atan ceil cos erf erfc erfinv exp expm1 floor log log10 log1p log2
    round sin sqrt tan tanh trunc""",
    "{}": """digamma exp2 isfinite isinf masked_fill nan_to_num tril triu trace unique""",
    "max_values_cpu": "amax logsumexp",
    "min_values_cpu": "amin",
    "{}_out_cpu": "cumprod cumsum prod logcumsumexp",
    "max_all": "_max_all",
    "min_all": "_min_all",
    "std_cpu": "std var",
    "sorting_kernel_method_name": "_sort sort argsort",
    "sign_cpu": "sign sgn",
    "addcdiv_cpu_out": "addcdiv",
    "addcmul_cpu_out": "addcmul",
    "sigmoid_cpu_reduced_float": "sigmoid",
    "nonzero_count_cpu": "nonzero count_nonzero argwhere",
    "scatter_gather_tensor_cpu": "gather _scatter scatter",
    "index_fill_cpu": "_index_fill_number index_fill",
    "clamp_scalar_cpu": "_clamp_numbers",
    "clamp_min_scalar_cpu": "relu",
    "addmm_impl_cpu_": "matmul mm addmm linear _linear_bias",
    "addmv_impl_cpu": "mv addmv",
    "softmax_lastdim_kernel_impl": "softmax _softmax",
    "log_softmax_lastdim_kernel_impl": "log_softmax _log_softmax",
    "mul_cpu_reduced_float": "_isclose",
    "masked_fill": "_masked_fill_number",
    "sum_cpu": "sum mean _sum_dims _mean_dims",
    "pow": "pow _pow_two _pow_number",
    "div_floor_cpu": "_div_floor floor_divide _floor_divide_number _div_floor_number",
    "unique": "_unique_all _unique_dim _unique_runs",
    "norm_cpu": "_vector_norm",
    "searchsorted_out_cpu": "searchsorted bucketize",
    "lerp_kernel_scalar": "_lerp_number",
    "lerp_kernel_tensor": "lerp",
    "isin_default_cpu": "isin",
    "dot": "dot",
    "bmm": "bmm _einsum",
    "baddbmm": "baddbmm",
    "mse_cpu": "mse_loss",
    "slow_conv2d_cpu": "convolution",
    "cdist": "cdist",
}
_KERNEL_OF = {
    name: kernel.format(name) for kernel, names in _KERNELS.items() for name in names.split()
}


def stored_words(name: str) -> dict[str, int | str]:
    """What `make_op` is told of an op of that name."""
    words: dict[str, int | str] = {}
    if name in _TAKES:
        words["stored"] = _TAKES[name]
    if name in _KERNEL_OF:
        words["stored_text"] = _KERNEL_OF[name]
    elif name.startswith("_"):
        words["stored_text"] = f"{name[1:]}_cpu"
    return words
