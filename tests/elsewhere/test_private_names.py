"""Names with an underscore that libraries build on, and the switches of torch.backends.

The tests are written in torch's API, and pass on PyTorch too (RUSHLIGHT_TEST_WITH=torch).
"""

import collections
import dataclasses

import pytest

from _subject import NAME, submodule, torch

pytree = submodule("utils._pytree")
_utils = submodule("_utils")

TREE = {"a": [1, (2, 3)], "b": collections.OrderedDict(c=4)}


def test_paths_say_where_leaves_are():
    leaves, spec = pytree.tree_flatten_with_path(TREE)
    shown = [(pytree.keystr(path), leaf) for path, leaf in leaves]
    assert shown == [("['a'][0]", 1), ("['a'][1][0]", 2), ("['a'][1][1]", 3), ("['b']['c']", 4)]
    assert all(pytree.key_get(TREE, path) == leaf for path, leaf in leaves)
    assert pytree.tree_unflatten([leaf for _, leaf in leaves], spec) == TREE


def test_map_with_paths():
    found = pytree.tree_map_with_path(lambda path, x: f"{pytree.keystr(path)}={x}", [5, {"k": 6}])
    assert found == ["[0]=5", {"k": "[1]['k']=6"}]


def test_attributes_of_named_tuples_and_dataclasses_have_paths():
    Point = collections.namedtuple("Point", "x y")

    @dataclasses.dataclass
    class Pair:
        left: object
        right: object

    pytree.register_dataclass(Pair)
    tree = (Point(1, 2), Pair(3, [4]))
    paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(tree)]
    assert paths == ["[0].x", "[0].y", "[1].left", "[1].right[0]"]
    assert pytree.tree_map(lambda x: -x, tree) == (Point(-1, -2), Pair(-3, [-4]))


@pytest.mark.parametrize("tree", [TREE, 1, [], (1, [2, {}]), [collections.deque([1], maxlen=2)]])
def test_structures_as_text_come_back(tree):
    spec = pytree.tree_structure(tree)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_a_structure_as_text():
    text = pytree.treespec_dumps(pytree.tree_structure([1, {"a": 3}]))
    leaf = '{"type": null, "context": null, "children_spec": []}'
    inner = f'{{"type": "builtins.dict", "context": "[\\"a\\"]", "children_spec": [{leaf}]}}'
    outer = f'{{"type": "builtins.list", "context": "null", "children_spec": [{leaf}, {inner}]}}'
    assert text == f"[1, {outer}]"


def test_only_some_leaves():
    seen = []
    tree = [1, "a", 2.5]
    assert pytree.tree_map_only_(int, seen.append, tree) is tree and seen == [1]
    assert pytree.tree_all_only(str, str.islower, tree)
    assert not pytree.tree_any_only((int, float), lambda x: x > 3, tree)
    assert list(pytree.tree_iter([1, (2, None)])) == [1, 2, None]
    assert pytree.tree_is_leaf(3) and not pytree.tree_is_leaf([])
    assert pytree.arg_tree_leaves(1, [2], k=3) == [1, 2, 3]


CHECKS = [
    ("_check", RuntimeError),
    ("_check_index", IndexError),
    ("_check_value", ValueError),
    ("_check_type", TypeError),
    ("_check_not_implemented", NotImplementedError),
]


@pytest.mark.parametrize(("name", "error"), CHECKS)
def test_checks_raise_their_kind(name, error):
    check = getattr(torch, name)
    check(True)
    with pytest.raises(error, match=r"^Expected cond to be True, but got False\."):
        check(False)
    with pytest.raises(error, match=r"^said 3$"):
        check(False, lambda: f"said {3}")
    with pytest.raises(TypeError, match=r"^message must be a callable$"):
        check(False, "text")
    with pytest.raises(TypeError, match=r"^cond must be a bool, but got <class 'int'>$"):
        check(1)


def test_checks_of_tensors():
    torch._check_tensor_all(torch.tensor([True, True]))
    with pytest.raises(ValueError, match=r"^no$"):
        torch._check_tensor_all_with(ValueError, torch.tensor([True, False]), lambda: "no")
    with pytest.raises(TypeError, match=r"^cond tensor must have dtype torch.bool"):
        torch._check_tensor_all(torch.tensor([1.0]))
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value"):
        torch._assert_async(torch.tensor(0))


@pytest.mark.parametrize(
    ("args", "kwargs", "found"),
    [
        (("cpu", torch.float64), {}, (torch.device("cpu"), torch.float64, False, None)),
        ((torch.float16, True), {}, (None, torch.float16, True, None)),
        (("cpu",), {"non_blocking": True}, (torch.device("cpu"), None, True, None)),
        ((torch.ones(1),), {}, (torch.device("cpu"), torch.float32, False, None)),
        ((), {"dtype": torch.int8}, (None, torch.int8, False, None)),
    ],
)
def test_arguments_of_to(args, kwargs, found):
    assert torch._C._nn._parse_to(*args, **kwargs) == found


def test_tensors_end_to_end_and_back():
    tensors = [torch.arange(6.0).reshape(2, 3), torch.tensor(7.0), torch.empty(0, 2)]
    flat = _utils._flatten_dense_tensors(tensors)
    assert flat.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0]
    back = _utils._unflatten_dense_tensors(flat, tensors)
    assert all(torch.equal(a, b) for a, b in zip(back, tensors, strict=True))


def test_groups_of_a_size():
    tensors = [torch.zeros(4), torch.zeros(4), torch.zeros(4, dtype=torch.int64), torch.zeros(4)]
    groups = [len(g) for g in _utils._take_tensors(tensors, 32)]
    assert sorted(groups) == [1, 1, 2]


@pytest.mark.parametrize("kind", [ValueError, KeyError])
def test_an_error_from_elsewhere_keeps_its_kind(kind):
    try:
        raise kind("deep down")
    except kind:
        wrapped = _utils.ExceptionWrapper(where="in the cellar")
    with pytest.raises(kind) as caught:
        wrapped.reraise()
    text = str(caught.value)
    assert text.startswith(f"Caught {kind.__name__} in the cellar.\nOriginal Traceback")
    assert "deep down" in text


@pytest.mark.parametrize(
    ("given", "how", "number"),
    [
        ("cuda:1", {}, 1),
        (3, {}, 3),
        ("cpu", {"allow_cpu": True}, -1),
        (None, {"optional": True}, None),
    ],
)
def test_numbers_of_devices(given, how, number):
    assert _utils._get_device_index(given, **how) == number


def test_the_cpu_has_no_number():
    with pytest.raises(ValueError, match=r"^Expected a non cpu device, but got: cpu$"):
        _utils._get_device_index("cpu")


@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
def test_gradients_of_softmax_as_functions(name):
    x = torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.0, 1.0]], requires_grad=True)
    g = torch.tensor([[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]])
    out = (x.log_softmax(1) if "log" in name else x.softmax(1)).backward(g)
    with torch.no_grad():
        out = x.log_softmax(1) if "log" in name else x.softmax(1)
    assert torch.allclose(getattr(torch, name)(g, out, 1, torch.float32), x.grad, atol=1e-6)


def test_casts():
    assert torch._cast_Long(torch.tensor([1.5])).dtype == torch.int64
    assert torch._shape_as_tensor(torch.ones(2, 3)).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("module", "switch", "value"),
    [
        ("cudnn", "benchmark", True),
        ("mkldnn", "deterministic", True),
        ("opt_einsum", "strategy", "greedy"),
    ],
)
def test_switches_of_backends_are_put_back(module, switch, value):
    if NAME == "torch" and module == "opt_einsum" and not torch.backends.opt_einsum.is_available():
        pytest.skip("PyTorch keeps the strategy only where opt_einsum is installed")
    where = submodule(f"backends.{module}")
    before = getattr(where, switch)
    with where.flags(enabled=True, **{switch: value}):
        assert getattr(where, switch) == value
    assert getattr(where, switch) == before


def test_fast_path_switch():
    mha = submodule("backends.mha")
    mha.set_fastpath_enabled(False)
    assert not mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(True)


def test_is_batched_inside_vmap_only():
    asked = []

    def f(x):
        asked.append(torch._C._functorch.is_batchedtensor(x))
        return x

    torch.func.vmap(f)(torch.ones(2))
    assert asked == [True] and not torch._C._functorch.is_batchedtensor(torch.ones(1))


@pytest.mark.parametrize("rows", [[], [0, 0, 2], [3], [1, 1, 1, 3]])
def test_rows_of_compressed_matrices(rows):
    """Against the counts of rows; and back again."""
    index, columns = torch.tensor(rows, dtype=torch.int64), torch.arange(len(rows))
    starts = torch._convert_indices_from_coo_to_csr(index, 4, out_int32=True)
    assert starts.dtype == torch.int32
    assert starts.tolist() == [sum(r < i for r in rows) for i in range(5)]
    back = torch._convert_indices_from_csr_to_coo(starts.long(), columns)
    assert back.tolist() == [rows, columns.tolist()]
    back = torch._convert_indices_from_csr_to_coo(starts.long(), columns, transpose=True)
    assert back.tolist() == [columns.tolist(), rows]


def test_rows_of_a_matrix_are_refused():
    with pytest.raises(RuntimeError, match="supposed to be a vector, but got 2 dimensional"):
        torch._convert_indices_from_coo_to_csr(torch.ones(2, 2, dtype=torch.int64), 3)


def test_parallel_lists_in_groups_of_one_type():
    utils = submodule("utils._foreach_utils")
    a = [torch.ones(1), torch.ones(2, dtype=torch.float64), torch.zeros(3)]
    groups = utils._group_tensors_by_device_and_dtype([a, [None, a[0], a[1]]], with_indices=True)
    lists, places = groups[torch.device("cpu"), torch.float32]
    assert places == [0, 2] and lists[0][0] is a[0] and lists[0][1] is a[2]
    assert lists[1][0] is None and lists[1][1] is a[1]
    lists, places = groups[torch.device("cpu"), torch.float64]
    assert places == [1] and lists[0][0] is a[1] and lists[1][0] is a[0]
    (group,) = torch.optim.Optimizer._group_tensors_by_device_and_dtype([a[::2], []]).values()
    assert group[0][0][1] is a[2] and group[0][1] == [] == group[1]
    assert utils._has_foreach_support(a, torch.device("cpu"))
