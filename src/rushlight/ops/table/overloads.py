"""The functions that have several signatures in torch: what they take, and the wording of errors
(`table/arguments.py`).

One line a name: signatures apart by `|`, a parameter as `type name`, with `=` when it may be left
out, with `?` where None may stand. Types: T tensor, L tensors, N number, i int, I ints, J ints or
one alone, f float, b bool, s str, d dtype, g generator, l layout, v device, m memory format, S
storage. `...` are the keywords of every function that makes a tensor. In-place forms are not
listed: they follow from the name without `_`. Where one signature stands alone, torch has others
that it does not show, and words a wrong number of arguments as if there were several.
"""

# Orders of arguments that torch had before and still takes, with a warning.
BEFORE = {
    **dict.fromkeys(["add", "sub"], "input alpha other"),
    **dict.fromkeys(["addcmul", "addcdiv"], "input value tensor1 tensor2"),
    **dict.fromkeys(
        ["addbmm", "baddbmm"], "beta input alpha batch1 batch2 | beta input batch1 batch2"
    ),
    "addmm": "beta input alpha mat1 mat2 | beta input mat1 mat2",
    "addmv": "beta input alpha mat vec | beta input mat vec",
    "addr": "beta input alpha vec1 vec2 | beta input vec1 vec2",
}

OVERLOADS = """
add: T input, T other, *, N alpha=, T? out=
addbmm: T input, T batch1, T batch2, *, N beta=, N alpha=, T? out=
addcdiv: T input, T tensor1, T tensor2, *, N value=, T? out=
addcmul: T input, T tensor1, T tensor2, *, N value=, T? out=
addmm: T input, T mat1, T mat2, *, N beta=, N alpha=, T? out=
  | T input, T mat1, T mat2, d out_dtype, *, N beta=, N alpha=, T? out=
addmv: T input, T mat, T vec, *, N beta=, N alpha=, T? out=
addr: T input, T vec1, T vec2, *, N beta=, N alpha=, T? out=
all: T input, *, T? out= | T input, I? dim=, b keepdim=, *, T? out=
  | T input, i dim, b keepdim=, *, T? out=
any: T input, *, T? out= | T input, I? dim=, b keepdim=, *, T? out=
  | T input, i dim, b keepdim=, *, T? out=
arange: N end, *, T? out=, ... | N start, N end, *, ... | N start, N end, N step=, *, T? out=, ...
argsort: T input, *, b stable, i dim=, b descending=, T? out= | T input, i dim=, b descending=
baddbmm: T input, T batch1, T batch2, *, N beta=, N alpha=, T? out=
  | T input, T batch1, T batch2, d out_dtype, *, N beta=, N alpha=, T? out=
bernoulli: T input, *, g? generator=, T? out= | T input, f p, *, g? generator=
bernoulli_: T input, T p, *, g? generator= | T input, f p=, *, g? generator=
bitwise_and: T input, T other, *, T? out= | N self, T other | T input, N other, *, T? out=
bitwise_left_shift: T input, T other, *, T? out= | N self, T other | T input, N other, *, T? out=
bitwise_or: T input, T other, *, T? out= | N self, T other | T input, N other, *, T? out=
bitwise_right_shift: T input, T other, *, T? out= | N self, T other | T input, N other, *, T? out=
bitwise_xor: T input, T other, *, T? out= | N self, T other | T input, N other, *, T? out=
bmm: T input, T mat2, *, T? out= | T input, T mat2, d out_dtype, *, T? out=
bucketize: T input, T boundaries, *, b out_int32=, b right=, T? out=
  | N self, T boundaries, *, b out_int32=, b right=
clamp: T input, T? min=, T? max=, *, T? out= | T input, N? min=, N? max=, *, T? out=
clamp_max: T input, T max, *, T? out= | T input, N max, *, T? out=
clamp_min: T input, T min, *, T? out= | T input, N min, *, T? out=
clip: T input, T? min=, T? max=, *, T? out= | T input, N? min=, N? max=, *, T? out=
conv1d: T input, T weight, T? bias=, J stride=, J padding=, J dilation=, i groups=
  | T input, T weight, T? bias=, J stride=, s padding=, J dilation=, i groups=
conv2d: T input, T weight, T? bias=, J stride=, J padding=, J dilation=, i groups=
  | T input, T weight, T? bias=, J stride=, s padding=, J dilation=, i groups=
conv3d: T input, T weight, T? bias=, J stride=, J padding=, J dilation=, i groups=
  | T input, T weight, T? bias=, J stride=, s padding=, J dilation=, i groups=
copy_: T self, T other, b non_blocking=
copysign: T input, T other, *, T? out= | T input, N other, *, T? out=
count_nonzero: T input, i? dim= | T input, I dim
cuda: T self, v device=, b non_blocking=, *, m? memory_format=
cumulative_trapezoid: T y, T x, *, i dim= | T y, *, N dx=, i dim=
div: T input, T other, *, T? out= | T input, T other, *, s? rounding_mode, T? out=
  | T input, N other, *, s? rounding_mode
divide: T input, T other, *, T? out= | T input, T other, *, s? rounding_mode, T? out=
  | T input, N other | T input, N other, *, s? rounding_mode
dsplit: T input, i sections | T input, I indices
eq: T input, T other, *, T? out= | T input, N other, *, T? out=
eye: i n, *, T? out=, ... | i n, i m, *, T? out=, ...
fill: T input, T value | T input, N value
float_power: T input, T exponent, *, T? out= | N self, T exponent, *, T? out=
  | T input, N exponent, *, T? out=
floor_divide: T input, T other, *, T? out= | T input, N other
fmod: T input, T other, *, T? out= | T input, N other, *, T? out=
ge: T input, T other, *, T? out= | T input, N other, *, T? out=
greater: T input, T other, *, T? out= | T input, N other, *, T? out=
greater_equal: T input, T other, *, T? out= | T input, N other, *, T? out=
gt: T input, T other, *, T? out= | T input, N other, *, T? out=
hsplit: T input, i sections | T input, I indices
index_fill: T input, i dim, T index, T value | T input, i dim, T index, N value
isin: T elements, T test_elements, *, b assume_unique=, b invert=, T? out=
  | N element, T test_elements, *, b assume_unique=, b invert=, T? out=
  | T elements, N test_element, *, b assume_unique=, b invert=, T? out=
le: T input, T other, *, T? out= | T input, N other, *, T? out=
lerp: T input, T end, T weight, *, T? out= | T input, T end, N weight, *, T? out=
less: T input, T other, *, T? out= | T input, N other, *, T? out=
less_equal: T input, T other, *, T? out= | T input, N other, *, T? out=
linalg.cond: T input, N? p=, *, T? out= | T input, s p, *, T? out=
linalg.matrix_norm: T input, N ord, I dim=, b keepdim=, *, d? dtype=, T? out=
  | T input, s ord=, I dim=, b keepdim=, *, d? dtype=, T? out=
linalg.matrix_rank: T input, *, T? atol=, T? rtol=, b hermitian=, T? out=
  | T input, *, f? atol=, f? rtol=, b hermitian=, T? out= | T input, T tol, b hermitian=, *, T? out=
  | T input, f tol, b hermitian=, *, T? out=
linalg.norm: T input, N? ord=, J? dim=, b keepdim=, *, d? dtype=, T? out=
  | T input, s ord, J? dim=, b keepdim=, *, d? dtype=, T? out=
linalg.pinv: T input, *, T? atol=, T? rtol=, b hermitian=, T? out=
  | T input, *, f? atol=, f? rtol=, b hermitian=, T? out=
  | T input, T rcond, b hermitian=, *, T? out= | T input, f rcond, b hermitian=, *, T? out=
linspace: T start, T end, i steps, *, T? out=, ... | N start, T end, i steps, *, T? out=, ...
  | T start, N end, i steps, *, T? out=, ... | N start, N end, i steps, *, T? out=, ...
logspace: T start, T end, i steps, f base=, *, T? out=, ...
  | N start, T end, i steps, f base=, *, T? out=, ...
  | T start, N end, i steps, f base=, *, T? out=, ...
  | N start, N end, i steps, f base=, *, T? out=, ...
lt: T input, T other, *, T? out= | T input, N other, *, T? out=
masked_fill: T input, T mask, T value | T input, T mask, N value
max: T input, *, T? out= | T input, T other, *, T? out= | T input, i dim, b keepdim=, *, L? out=
mean: T input, *, d? dtype=, T? out= | T input, J? dim, b keepdim=, *, d? dtype=, T? out=
median: T input | T input, i dim, b keepdim=, *, L? out=
min: T input, *, T? out= | T input, T other, *, T? out= | T input, i dim, b keepdim=, *, L? out=
mm: T input, T mat2, *, T? out= | T input, T mat2, d out_dtype, *, T? out=
moveaxis: T input, i source, i destination | T input, I source, I destination
movedim: T input, i source, i destination | T input, I source, I destination
multiply: T input, T other, *, T? out= | T input, N other
nanmedian: T input | T input, i dim, b keepdim=, *, L? out=
nanquantile: T input, T q, i? dim=, b keepdim=, *, s interpolation=, T? out=
  | T input, f q, i? dim=, b keepdim=, *, s interpolation=, T? out=
narrow: T input, i dim, T start, i length | T input, i dim, i start, i length
ne: T input, T other, *, T? out= | T input, N other, *, T? out=
new: T self, *, v device= | T self, T other | T self, I size, *, v device=
nonzero: T input | T input, *, b as_tuple
normal: T mean, T std, *, g? generator=, T? out= | T mean, f std=, *, g? generator=, T? out=
  | f mean, T std, *, g? generator=, T? out= | f mean, f std, I size, *, g? generator=, T? out=, ...
normal_: T input, f mean=, f std=, *, g? generator=
not_equal: T input, T other, *, T? out= | T input, N other, *, T? out=
pow: T input, T exponent, *, T? out= | N self, T exponent, *, T? out=
  | T input, N exponent, *, T? out=
prod: T input, *, d? dtype= | T input, i dim, b keepdim=, *, d? dtype=, T? out=
quantile: T input, T q, i? dim=, b keepdim=, *, s interpolation=, T? out=
  | T input, f q, i? dim=, b keepdim=, *, s interpolation=, T? out=
rand: I size, *, g? generator, T? out=, ... | I size, *, T? out=, ...
rand_like: T input, *, g? generator, m? memory_format=, ... | T input, *, m? memory_format=, ...
randint: i high, I size, *, g? generator, T? out=, ... | i high, I size, *, T? out=, ...
  | i low, i high, I size, *, g? generator, T? out=, ... | i low, i high, I size, *, T? out=, ...
randint_like: T input, i low, i high, *, g? generator, m? memory_format=, ...
  | T input, i low, i high, *, m? memory_format=, ...
  | T input, T high, *, g? generator, m? memory_format=, ...
  | T input, T high, *, m? memory_format=, ...
  | T input, i high, *, g? generator, m? memory_format=, ...
  | T input, i high, *, m? memory_format=, ...
randn: I size, *, g? generator, T? out=, ... | I size, *, T? out=, ...
randn_like: T input, *, g? generator, m? memory_format=, ... | T input, *, m? memory_format=, ...
random_: T self, *, g? generator= | T self, i from, i? to, *, g? generator=
  | T self, i to, *, g? generator=
randperm: i n, *, g? generator, T? out=, ... | i n, *, T? out=, ...
remainder: T input, T other, *, T? out= | N self, T other | T input, N other, *, T? out=
repeat_interleave: T input, T repeats, i? dim=, *, i? output_size= | T repeats, *, i? output_size=
  | T input, i repeats, i? dim=, *, i? output_size=
result_type: T tensor, T other | N scalar, T tensor | T tensor, N other | N scalar1, N scalar2
round: T input, *, T? out= | T input, *, i decimals, T? out=
rsub: T input, T other, *, N alpha= | T input, N other, N alpha=
scatter: T input, i dim, T index, T src, *, T? out= | T input, i dim, T index, N value, *, T? out=
  | T input, i dim, T index, T src, *, s reduce, T? out=
  | T input, i dim, T index, N value, *, s reduce, T? out=
  | T input, i dim, T index, T src, *, s reduce, T? out=
  | T input, i dim, T index, N value, *, T? out=
  | T input, i dim, T index, N value, *, s reduce, T? out=
searchsorted: T sorted_sequence, T input, *, b out_int32=, b right=, s? side=, T? sorter=, T? out=
  | T sorted_sequence, N self, *, b out_int32=, b right=, s? side=, T? sorter=, T? out=
set_: T self | T self, S source | T self, S source, i storage_offset, I size, I stride=
  | T self, T source | T self, T source, i storage_offset, I size, I stride=
sort: T input, *, b? stable, i dim=, b descending=, L? out=
  | T input, i dim=, b descending=, *, L? out=
special.xlog1py: T input, T other, *, T? out= | N self, T other, *, T? out=
  | T input, N other, *, T? out=
special.xlogy: T input, T other, *, T? out= | N self, T other, *, T? out=
  | T input, N other, *, T? out=
special.zeta: T input, T other, *, T? out= | N self, T other, *, T? out=
  | T input, N other, *, T? out=
squeeze: T input | T input, i dim | T input, I dim
std: T input, J? dim, b unbiased=, b keepdim=, *, T? out=
  | T input, J? dim=, *, N? correction=, b keepdim=, T? out= | T input, b unbiased=
std_mean: T input, J? dim, b unbiased=, b keepdim= | T input, J? dim=, *, N? correction=, b keepdim=
  | T input, b unbiased=
sub: T input, T other, *, N alpha=, T? out=
subtract: T input, T other, *, N alpha=, T? out= | T input, N other, N alpha=
sum: T input, *, d? dtype= | T input, J? dim, b keepdim=, *, d? dtype=, T? out=
tensor_split: T input, I indices, i dim= | T input, T tensor_indices_or_sections, i dim=
  | T input, i sections, i dim=
to: T self, v? device=, d? dtype=, b non_blocking=, b copy=, *, m? memory_format=
  | T self, d dtype, b non_blocking=, b copy=, *, m? memory_format=
  | T self, T tensor, b non_blocking=, b copy=, *, m? memory_format=
trapezoid: T y, T x, *, i dim= | T y, *, N dx=, i dim=
trapz: T y, *, f dx=, i dim= | T y, T x, *, i dim=
true_divide: T input, T other, *, T? out= | T input, N other
var: T input, J? dim, b unbiased=, b keepdim=, *, T? out=
  | T input, J? dim=, *, N? correction=, b keepdim=, T? out= | T input, b unbiased=
var_mean: T input, J? dim, b unbiased=, b keepdim= | T input, J? dim=, *, N? correction=, b keepdim=
  | T input, b unbiased=
view: T self, d dtype | T self, I size
vsplit: T input, i sections | T input, I indices
where: T condition | T condition, T input, T other, *, T? out= | T condition, N self, T other
  | T condition, T input, N other | T condition, N self, N other
xlogy: T input, T other, *, T out= | N self, T other, *, T out= | T input, N other, *, T out=
"""
