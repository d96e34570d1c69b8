# ruff: noqa: E501 - a case is one line
"""Names that few programs use: makers, switches, members of Tensor, fake quantization, enumerations."""

import math
import pickle

import pytest
from compat import cases, check

import rushlight

pytorch = pytest.importorskip("torch")

CASES = cases("""
# makers
t.scalar_tensor(3)
t.scalar_tensor(True)
t.scalar_tensor(3.5, dtype=t.int64)
t.scalar_tensor(1j)               # raises
t.scalar_tensor([1])              # raises
t.empty_permuted((2, 3, 4), (2, 0, 1)).stride()
t.empty_permuted((2, 0), (1, 0), dtype=t.int8).stride()
t.empty_permuted((2, 3), (0, 0))  # raises
t.empty_permuted((2, 3), (0,))    # raises
t.empty_permuted((2, 3), (0, 2))  # raises
x.new_empty_strided((2, 3), (1, 2)).stride()   # all
# hashes
t.hash_tensor(x)                  # real bool
t.hash_tensor(x, 1)               # f i64
t.hash_tensor(b3, (0, 2), keepdim=True)    # f i8
x.hash_tensor(-1)                 # f
t.hash_tensor(s)                  # f
t.hash_tensor(e, 1)               # f
t.hash_tensor(e, 0)               # raises
t.hash_tensor(e)                  # raises
t.hash_tensor(x, mode=1)          # raises
t.hash_tensor(x, 5)               # raises
# questions
t.is_same_size(x, y), x.is_same_size(v), t.is_signed(x), t.is_distributed(x), t.get_device(x)   # some
x.is_ipu, x.is_maia, x.is_mtia, x.is_vulkan, x.is_xla, x.is_distributed()
x.const_data_ptr() == x.data_ptr()
x.dim_order(), x.t().dim_order(), h4.to(memory_format=t.channels_last).dim_order(), s.dim_order()
x.t().dim_order(ambiguity_check=True)
one[None].dim_order(ambiguity_check=True)  # raises
x.dim_order(ambiguity_check='a')   # raises
x.storage_type() is t.FloatStorage
# in place
o = x.abs() + 2; o.mvlgamma_(2); o          # f
o = x * 1; o.float_power_(2); o   # f64
o = x * 1; o.float_power_(t.tensor(2)); o   # f64
x.float_power_(2)                 # raises
o = x * 1; t.detach_(o); o        # f nograd
o = v * 1; t.addmv_(o, sq, u); o  # f
o = x * 1; t.as_strided_(o, (2, 2), (1, 2)); o  # f nograd
o = x * 1; t.resize_as_(o, x43); o     # f nograd
t.detach(x)                       # all
# older members
x.resize(4, 3)                    # f nonode
x.resize_as(x43)                  # f nonode
x.resize(5)                       # raises
x.module_load(y)                  # f nograd
x.dequantize()                    # f nograd
t.dequantize([x, y])              # f32 raises
x.reinforce(1)                    # raises
x.ipu()                           # raises
x.xpu()                           # raises
x.q_scale()                       # raises
t.int_repr(x)                     # raises
x.to_padded_tensor(0.)            # raises
# operators that the CPU does not have
t.cudnn_is_acceptable(x)
t.native_norm(x)                  # raises
t.batch_norm_stats(x, 1e-5)       # raises
t.miopen_convolution(im, k2, None, [0, 0], [1, 1], [1, 1], 1, False, False)    # raises
t.mkldnn_convolution(im, k2, w, [0, 0], [1, 1], [1, 1], 1)    # f32 nonode loose
# numbers that a compiler would keep symbolic
t.sym_int(-3.7), t.sym_float(2), t.sym_not(0), t.sym_max(3, 4.5), t.sym_min(3, 4.5), t.sym_ite(True, 1, 2), t.sym_sum([1, 2]), t.sym_sqrt(9)
t.sym_constrain_range(7, min=1, max=5)    # raises
# control flow
t.cond(x.sum() > 0, lambda a: a + 1, lambda a: a * 2, (x,))   # f nonode
t.cond(False, lambda a: a + 1, lambda a: a * 2, (x,))         # f nonode
t.cond('a', lambda a: a, lambda a: a, (x,))                   # raises
t.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (t.tensor(0), x))   # nograd
# fake quantization
t.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15)           # f f16
t.fake_quantize_per_tensor_affine(x, t.tensor(0.1), t.tensor(3), 0, 15)    # f
t.fake_quantize_per_tensor_affine(x, 0.1, 3, 15, 0)           # raises
t.fake_quantize_per_tensor_affine(x, 0.1, 30, 0, 15)          # raises
t.fake_quantize_per_tensor_affine(cls, 0.1, 3, 0, 15)         # raises
t.fake_quantize_per_channel_affine(x, t.tensor([0.1, 0.5, 1.0]), i3.int(), 0, 0, 15)   # f
t.fake_quantize_per_channel_affine(x.t(), t.tensor([0.1, 0.5, 1.0]), i3.int(), 1, 0, 15)   # f
t.fake_quantize_per_channel_affine(x, t.tensor([0.1, 0.5]), i3.int(), 0, 0, 15)   # raises
t.fake_quantize_per_channel_affine(x, t.tensor([0.1, 0.5, 1.0]), i3, 0, 0, 15)   # raises
t.fake_quantize_per_channel_affine(x, t.tensor([0.1, 0.5, 1.0]), i3.int() + 20, 0, 0, 15)   # raises
a, b, c, d = t.tensor([math.inf]), t.tensor([-math.inf]), t.ones(1), t.zeros(1, dtype=t.int32); t.fused_moving_avg_obs_fake_quant(x, t.tensor([1]), t.tensor([1]), a, b, c, d, 0.01, 0, 255, -1), a, b, c, d   # f32
a, b, c, d = t.tensor([-1.0]), t.tensor([2.0]), t.ones(1), t.zeros(1, dtype=t.int32); t.fused_moving_avg_obs_fake_quant(x, t.tensor([1]), t.tensor([1]), a, b, c, d, 0.1, -128, 127, -1, False, True), a, b, c, d   # f32
a, b, c, d = t.full((3,), -1.0), t.full((3,), 2.0), t.ones(3), t.zeros(3, dtype=t.int32); t.fused_moving_avg_obs_fake_quant(x, t.tensor([1]), t.tensor([1]), a, b, c, d, 0.1, 0, 15, 0, True), a, b, c, d   # f32
a, b, c, d = t.tensor([-1.0]), t.tensor([2.0]), t.ones(1), t.zeros(1, dtype=t.int32); t.fused_moving_avg_obs_fake_quant(x, t.tensor([0]), t.tensor([0]), a, b, c, d, 0.1, 0, 15, -1), a, b, c, d   # f32 nonode
# names of dtypes and schemes
repr(t.qint8), repr(t.quint4x2), repr(t.per_tensor_affine), repr(t.jagged), t.qint32.itemsize
t.qscheme()                       # raises
# TorchScript's types
repr(t.ListType(t.IntType.get())), repr(t.DictType(t.StringType.get(), t.TensorType.get())), t.IntType.get() == t.IntType.get(), t.NoneType.get().kind()
repr(t.TupleType([t.IntType.get(), t.FloatType.get()])), repr(t.ListType.ofInts().getElementType()), repr(t.UnionType([t.IntType.get(), t.BoolType.get()]))
# switches
t.set_deterministic_debug_mode('warn'), t.get_deterministic_debug_mode(), t.is_deterministic_algorithms_warn_only_enabled(), t.set_deterministic_debug_mode(0)
t.set_deterministic_debug_mode('a')   # raises
t.set_deterministic_debug_mode(5)     # raises
t.set_deterministic_debug_mode(1.5)   # raises
t.is_warn_always_enabled(), t.set_warn_always(False), t.set_flush_denormal(False)
t.set_warn_always(1)              # raises
t.set_flush_denormal(1)           # raises
t.get_autocast_ipu_dtype(), t.get_autocast_xla_dtype(), t.is_autocast_xla_enabled(), t.is_vulkan_available()
t.SUM.value, t.AVG.name, t.Tag.core.name, t.PRIVATE_OPS, t.compiled_with_cxx11_abi(), t.thread_safe_generator()
t.wait(t.fork(lambda a: a + 1, x))    # f nonode
""")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_like_torch(case):
    check(case)


def test_files_as_tensors(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(8)))
    for library in (rushlight, pytorch):
        found = library.from_file(str(path), size=2, dtype=library.int32)
        assert found.tolist() == [0x03020100, 0x07060504]
        with pytest.raises(RuntimeError, match="is smaller than the required mapping size"):
            library.from_file(str(path), size=3, dtype=library.int32)
        with pytest.raises(RuntimeError, match="unable to open file"):
            library.from_file(str(tmp_path / "none"), size=1)
        made = tmp_path / library.__name__
        library.from_file(str(made), shared=True, size=3).fill_(math.pi)
        kept = library.from_file(str(made), size=3)
        kept.zero_()  # of a private mapping the file sees nothing
        assert library.from_file(str(made), size=3).tolist() == pytest.approx([math.pi] * 3)


def test_constants_are_singletons_after_pickling():
    for name in ("qint8", "per_channel_symmetric", "jagged"):
        constant = getattr(rushlight, name)
        assert pickle.loads(pickle.dumps(constant)) is constant
    assert issubclass(rushlight.AcceleratorError, RuntimeError)
    with pytest.raises(TypeError, match="known by name only"):
        rushlight.zeros(2, dtype=rushlight.qint8)


@pytest.mark.parametrize(
    "name", ["Graph", "ScriptModule", "DispatchKeySet", "QInt8Storage", "SymInt"]
)
def test_classes_that_cannot_be_made_say_so(name):
    cls = getattr(rushlight, name)
    assert isinstance(cls, type) and not isinstance(3, cls)
    with pytest.raises(NotImplementedError, match=f"torch.{name} is not in rushlight"):
        cls()


def test_properties_of_classes():
    class Thing:
        label = rushlight.classproperty(lambda cls: cls.__name__.lower())

    assert Thing.label == Thing().label == "thing"


def test_warnings_that_come_each_time():
    from rushlight.ops.table.arrays import warn_once

    rushlight.set_warn_always(True)
    try:
        for _ in range(2):
            with pytest.warns(UserWarning, match="again"):
                warn_once("again")
    finally:
        rushlight.set_warn_always(False)
