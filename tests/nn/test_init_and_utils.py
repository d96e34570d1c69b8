"""Initialisers and the helpers over parameters and gradients."""

import math

import pytest

from _subject import submodule, torch

nn = torch.nn
init = submodule("nn.init")
utils = submodule("nn.utils")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def test_they_work_in_place_and_record_nothing():
    weight = nn.Parameter(torch.empty(30, 20))
    for fill in (
        init.uniform_,
        init.normal_,
        init.ones_,
        init.zeros_,
        init.eye_,
        init.xavier_uniform_,
        init.xavier_normal_,
        init.kaiming_uniform_,
        init.kaiming_normal_,
        init.orthogonal_,
        init.trunc_normal_,
    ):
        assert fill(weight) is weight
        assert weight.is_leaf and weight.requires_grad and weight.isfinite().all()


def test_scales():
    def std(fill, *args, shape=(200, 300), **kwargs):
        return fill(torch.empty(*shape), *args, **kwargs).std().item()

    assert abs(std(init.xavier_normal_) - math.sqrt(2 / 500)) < 1e-3
    assert abs(std(init.xavier_uniform_, gain=2.0) - 2 * math.sqrt(2 / 500)) < 2e-3
    assert abs(std(init.kaiming_normal_) - math.sqrt(2 / 300)) < 1e-3
    assert abs(std(init.kaiming_uniform_, mode="fan_out") - math.sqrt(2 / 200)) < 2e-3
    bound = math.sqrt(3) * math.sqrt(2 / (1 + 5)) / math.sqrt(300)
    values = init.kaiming_uniform_(torch.empty(200, 300), a=math.sqrt(5))
    assert 0.99 * bound < values.abs().max().item() <= bound
    assert init._calculate_fan_in_and_fan_out(torch.empty(4, 3, 5, 2)) == (30, 40)


def test_special_matrices():
    q = init.orthogonal_(torch.empty(5, 3), gain=2.0)
    assert torch.allclose(q.T @ q, 4 * torch.eye(3), atol=1e-5)
    wide = init.orthogonal_(torch.empty(3, 2, 4))
    flat = wide.reshape(3, 8)
    assert torch.allclose(flat @ flat.T, torch.eye(3), atol=1e-5)
    assert init.eye_(torch.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    passes = init.dirac_(torch.empty(2, 2, 3))
    x = torch.arange(10.0).reshape(1, 2, 5)
    assert torch.equal(nn.functional.conv1d(x, passes, padding=1), x)
    sparse = init.sparse_(torch.empty(10, 4), 0.3)
    assert (sparse == 0).sum(0).tolist() == [3, 3, 3, 3]
    assert init.constant_(torch.empty(2), 3.5).tolist() == [3.5, 3.5]


def test_truncation():
    values = init.trunc_normal_(torch.empty(2000), 0.0, 1.0, -1.0, 0.5)
    assert values.min().item() >= -1.0 and values.max().item() <= 0.5
    tail = init.trunc_normal_(torch.empty(2000), 0.0, 1.0, 1.5, 2.0)
    assert tail.min().item() >= 1.5 and tail.max().item() <= 2.0
    assert tail.mean().item() < 1.75  # the density falls


def test_gains():
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("conv2d") == init.calculate_gain("sigmoid") == 1
    assert init.calculate_gain("leaky_relu", 2) == math.sqrt(2 / 5)
    assert init.calculate_gain("leaky_relu") == math.sqrt(2 / (1 + 0.01**2))
    assert init.calculate_gain("selu") == 0.75


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: init.xavier_uniform_(torch.empty(3)), "Fan in and fan out can not be computed"),
        (lambda: init.kaiming_normal_(torch.empty(3, 2), mode="x"), "Mode x not supported"),
        (lambda: init.calculate_gain("x"), "Unsupported nonlinearity x"),
        (lambda: init.calculate_gain("leaky_relu", "a"), "negative_slope a not a valid number"),
        (lambda: init.eye_(torch.empty(3)), "Only tensors with 2 dimensions are supported"),
        (lambda: init.dirac_(torch.empty(3)), "Only tensors with 3, 4, or 5 dimensions"),
        (lambda: init.dirac_(torch.empty(3, 2, 2), 2), "dim 0 must be divisible by groups"),
        (lambda: init.orthogonal_(torch.empty(3)), "Only tensors with 2 or more dimensions"),
    ],
)
def test_errors(call, text):
    with pytest.raises(ValueError) as caught:
        call()
    assert text in str(caught.value)


def parameters_with_gradients():
    a, b, c = (nn.Parameter(torch.zeros(2)) for _ in range(3))
    a.grad, b.grad = torch.tensor([3.0, 0.0]), torch.tensor([0.0, 4.0])
    return a, b, c


def test_clipping_by_norm():
    a, b, c = parameters_with_gradients()
    assert utils.clip_grad_norm_([a, b, c], 1.0).item() == 5.0
    assert torch.allclose(a.grad, torch.tensor([0.6, 0.0])) and c.grad is None
    assert abs(utils.clip_grad_norm_([a, b], 10.0).item() - 1.0) < 1e-5
    assert torch.allclose(b.grad, torch.tensor([0.0, 0.8]))
    a, b, _ = parameters_with_gradients()
    assert utils.clip_grad_norm_([a, b], 2.0, norm_type=float("inf")).item() == 4.0
    assert torch.allclose(b.grad, torch.tensor([0.0, 2.0]))
    a.grad[0] = float("nan")
    with pytest.raises(RuntimeError, match=r"The total norm of order 2\.0 for gradients from"):
        utils.clip_grad_norm_(a, 1.0, error_if_nonfinite=True)
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_clipping_by_value():
    a, b, c = parameters_with_gradients()
    utils.clip_grad_value_([a, b, c], 3.5)
    assert a.grad.tolist() == [3.0, 0.0] and b.grad.tolist() == [0.0, 3.5]


def test_parameters_as_a_vector():
    layer = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (9,) and torch.equal(vector[6:], layer.bias)
    utils.vector_to_parameters(torch.arange(9.0), layer.parameters())
    assert layer.weight.tolist() == [[0, 1], [2, 3], [4, 5]] and layer.bias.tolist() == [6, 7, 8]
    assert isinstance(layer.weight, nn.Parameter)


def test_padding_and_packing():
    rnn = submodule("nn.utils.rnn")
    sequences = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0])]
    padded = rnn.pad_sequence(sequences, batch_first=True, padding_value=-1.0)
    assert padded.tolist() == [[1, 2, -1], [3, 4, 5]]
    left = rnn.pad_sequence(sequences, batch_first=True, padding_side="left")
    assert left.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert [s.tolist() for s in rnn.unpad_sequence(padded, torch.tensor([2, 3]), True)] == [
        [1, 2],
        [3, 4, 5],
    ]
    packed = rnn.pack_padded_sequence(padded, [2, 3], batch_first=True, enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 4, 2, 5]
    assert packed.batch_sizes.tolist() == [2, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0] == packed.unsorted_indices.tolist()
    back, lengths = rnn.pad_packed_sequence(packed, batch_first=True, total_length=4)
    assert back.tolist() == [[1, 2, 0, 0], [3, 4, 5, 0]] and lengths.tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="`lengths` array must be sorted in decreasing order"):
        rnn.pack_padded_sequence(padded, [2, 3], batch_first=True)
    with pytest.raises(RuntimeError, match="Length of all samples has to be greater than 0"):
        rnn.pack_padded_sequence(padded, [3, 0], batch_first=True)


def test_casts_of_a_packed_sequence():
    rnn = submodule("nn.utils.rnn")
    sequences = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0])]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    names = "half float double byte char short int long"
    kinds = [getattr(packed, name)().data.dtype for name in names.split()]
    assert kinds[:3] == [torch.float16, torch.float32, torch.float64]
    assert kinds[3:] == [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
    assert packed.double().sorted_indices.tolist() == [1, 0]
    assert packed.float() is packed.cpu() is packed and not packed.is_pinned()
    assert packed.cpu(torch.float64).data.dtype == torch.float64
    with pytest.raises(RuntimeError, match="does not accept copy argument"):
        packed.to(torch.float64, copy=True)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda rnn: rnn.pack_padded_sequence(torch.ones(3, 2), []),
            RuntimeError,
            "Expected `len(lengths)` to be equal to batch_size, but got 0 (batch_size=2)",
        ),
        (
            lambda rnn: rnn.pack_padded_sequence(torch.ones(3, 0), []),
            RuntimeError,
            "Cannot pack empty tensors.",
        ),
        (
            lambda rnn: rnn.pack_padded_sequence(torch.ones(3, 2), 3),
            RuntimeError,
            "'lengths' argument should be a 1D CPU int64 tensor, but got 0D cpu Long tensor",
        ),
        (
            lambda rnn: rnn.PackedSequence(torch.ones(3)),
            AssertionError,
            "Expected data to be a list or tuple of length 2",
        ),
        (
            lambda rnn: rnn.pad_packed_sequence(
                rnn.PackedSequence(torch.ones(0), torch.ones(0).long())
            ),
            RuntimeError,
            "batch_sizes can not be empty",
        ),
        (
            lambda rnn: rnn.pad_sequence([1, 2]),
            TypeError,
            "expected Tensor as element 0 in argument 0, but got int",
        ),
        (
            lambda rnn: rnn.pad_sequence([torch.ones(1)], padding_side="up"),
            RuntimeError,
            "Expected padding_side to be one of left or right, but got up.",
        ),
    ],
)
def test_sequences_that_are_refused(call, error, text):
    with pytest.raises(error) as caught:
        call(submodule("nn.utils.rnn"))
    assert text in str(caught.value)


def test_padding_takes_the_dtype_of_the_first_sequence():
    rnn = submodule("nn.utils.rnn")
    one, two = torch.ones(1), torch.ones(2, dtype=torch.float64)
    assert rnn.pad_sequence([one, two]).dtype == torch.float32
    assert rnn.pad_sequence([two, one]).dtype == torch.float64
