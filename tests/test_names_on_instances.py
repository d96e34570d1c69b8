"""Instances of modules, optimizers, schedulers, loaders and distributions have PyTorch's names."""

import re

import pytest

import instances
import rushlight

# PyTorch's names that are not here, by the reason; each pattern is a whole name.
EXCEPTIONS = {
    "a type in annotations of PyTorch's own file": "T_destination|Optimizer(Pre|Post)Hook",
    "how PyTorch finds a module's hooks": (
        "_get_backward_(pre_)?hooks|_maybe_warn_non_full_backward_hook"
    ),
    "how PyTorch steps many parameters at once, profiles and captures that": (
        "_process_value_according_to_param_policy|_(cuda|accelerator)_graph_capture_health_check"
        "|_optimizer_step_code|_warned_capturable_if_run_uncaptured|profile_hook_step"
        "|_init_group"
    ),
    "parts of one method, of which there is another one here": (
        "_monotonize_cdf|_conv_forward|_apply_instance_norm|_handle_no_batch_input"
        "|_get_in_channels|_get_num_spatial_dims|_get_full_log_prob|_fill_padding_idx_with_zero"
        "|_key_to_attr|_get_abs_string_index|_get_item_by_idx|_check_non_zero_input_channels"
        "|_require_tuple_int|_numel(_cache)?|_directional_evaluate|_clone_param"
        "|_gather_flat_grad|_set_param|_add_grad|_anneal_func|_annealing_(cos|linear)|recursive_undo"
    ),
    "one copy of the weights for cuDNN": "_flat_weight_refs|_weights_have_changed",
    "methods of tensors for PyTorch's own use": (
        "_view_func(_unsafe)?|_rev_view_func_unsafe|_addmm_activation|_nested_tensor_.*|_philox_.*"
        "|_has_symbolic_sizes_strides|_to_sparse.*|_to_dense|_clear_non_serializable_cached_data"
        "|_lazy_clone|_is_(all|any)_true|_dtensor__new__|_sparse_mask_projection"
        "|_reduce_ex_internal|_autocast_to_.*|_python_dispatch|_use_count|_conj_physical"
        "|_is_zerotensor"
    ),
    "what an iterator of a DataLoader copies of its loader": (
        "_index_sampler|_dataset(_kind|_fetcher)?|_shared_seed|_pin_memory(_device)?|_reset"
        "|_auto_collation|_next_(data|index)|_persistent_workers|_collate_fn|_num_(workers|yielded)"
        "|_IterableDataset_len_called|_world_size|_drop_last|_profile_name|_rank|_sampler_iter|_pg"
        "|_timeout"
    ),
    "states of CUDA's graphs, and an address": "graphsafe_[gs]et_state|_cdata",
    "one number a device": (
        "_lazy_init_scale_growth_tracker|_maybe_opt_step|_check_scale_growth_tracker"
        "|_get_growth_tracker|_unscale_grads_"
    ),
}
WANTED = instances.read()
EXCUSED = re.compile("|".join(f"({p})" for p in EXCEPTIONS.values()))


def missing() -> dict[str, set[str]]:
    found = instances.attributes(rushlight)
    assert set(WANTED) - set(found) <= {"nn.LinearCrossEntropyLoss"}
    return {name: set(WANTED[name]) - set(found[name]) for name in WANTED if name in found}


def test_names_are_there():
    wrong = {
        name: lost
        for name, all_of_them in missing().items()
        if (lost := {n for n in all_of_them if not EXCUSED.fullmatch(n)})
    }
    assert not wrong, wrong


def test_every_exception_is_one():
    lost = set().union(*missing().values())
    for reason, pattern in EXCEPTIONS.items():
        for part in re.split(r"\|(?![^(]*\))", pattern):
            assert any(re.fullmatch(part, n) for n in lost), (reason, part)


def test_the_kept_names_are_pytorchs():
    torch = pytest.importorskip("torch")
    assert instances.attributes(torch) == WANTED


def test_what_is_not_imported_yet_is_shown():
    assert "CosineAnnealingWarmRestarts" in dir(rushlight.optim.lr_scheduler)
    assert "InstanceNorm3d" in dir(rushlight.nn)


def test_a_convolution_of_other_weights():
    class Standardised(rushlight.nn.Conv2d):
        def _conv_forward(self, input, weight, bias):
            return super()._conv_forward(input, weight * 0 + 1, None)

    layer = Standardised(1, 1, 2, padding=1, padding_mode="circular")
    assert (layer(rushlight.ones(1, 1, 3, 3)) == 4).all()


def test_a_class_of_tensors_may_use_names_of_its_own():
    class WithFacts(rushlight.Tensor):
        def __init__(self, *_):
            self._meta = {"spacing": 2}

    x = rushlight.ones(2).as_subclass(WithFacts)
    x.__init__()
    assert x._meta == {"spacing": 2} and (x + 1).sum().item() == 4
