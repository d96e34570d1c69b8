"""Tensors on the accelerator as programs meet them: made, moved, shown, mixed, saved and loaded."""

import copy
import io
import pickle

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn

THERE = "opencl"
DTYPES = [
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32),
    *(torch.int16, torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128),
]


def values(dtype):
    made = torch.tensor([[0, 1, 2], [3, 100, 5]]).to(dtype)
    return made * (1 + 1j) if dtype.is_complex else made


class TestNames:
    def test_the_number_of_a_device(self):
        assert torch.device(THERE).index is None
        assert torch.ones(1, device=THERE).device == torch.device(THERE, 0)
        assert torch.ones(1, device="opencl:0").get_device() == 0
        assert str(torch.device("opencl:1")) == "opencl:1"

    def test_one_that_is_not_there(self):
        with pytest.raises(
            RuntimeError, match=r"^OpenCL error: invalid device ordinal\..*opencl:7"
        ):
            torch.ones(1, device="opencl:7")

    def test_a_default_device(self):
        with torch.device(THERE):
            layer = nn.Linear(2, 1)
            made = [torch.ones(2), torch.tensor([1.0]), torch.rand(3), torch.arange(3)]
        assert {t.device.type for t in (*layer.parameters(), *made)} == {THERE}
        assert torch.ones(1).device.type == "cpu"

    def test_it_is_no_cuda(self):
        t = torch.ones(1, device=THERE)
        assert not t.is_cuda and not t.is_cpu and not torch.cuda.is_available()
        with pytest.raises(AssertionError, match=r"^Torch not compiled with CUDA enabled"):
            t.cuda()


class TestMoves:
    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_there_and_back(self, dtype):
        x = values(dtype)
        there = x.to(THERE)
        assert there.device.type == THERE and there.dtype is dtype and there.shape == x.shape
        for back in (there.cpu(), there.to("cpu"), there.to(x), there.to("cpu", non_blocking=True)):
            assert back.device.type == "cpu" and back.equal(x)

    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_views_with_gaps(self, dtype):
        x = values(dtype)
        for view in (x.T, x[:, ::2], x[1:, 1:], x[0, 0], x[2:], x.expand(2, 2, 3)):
            there = view.to(THERE)
            assert there.shape == view.shape and there.cpu().equal(view.contiguous())
        there = x.to(THERE)
        for view in (lambda t: t.T, lambda t: t[:, ::2], lambda t: t[1:, 1:], lambda t: t[0, 0]):
            assert view(there).cpu().equal(view(x))
            assert view(there)._is_view() and view(there).stride() == view(x).stride()

    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_writing_a_view_leaves_what_lies_between(self, dtype):
        x, there = values(dtype), values(dtype).to(THERE)
        x[:, ::2] = 1
        there[:, ::2] = 1
        assert there.cpu().equal(x)
        x.T[1] = values(dtype)[:, 0]
        there.T[1] = values(dtype)[:, 0].to(THERE)
        assert there.cpu().equal(x)
        there.zero_()
        assert there.cpu().equal(torch.zeros_like(x))

    @pytest.mark.parametrize("target", DTYPES, ids=str)
    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    @pytest.mark.filterwarnings("ignore:Casting complex")
    def test_casts(self, dtype, target):
        x = values(dtype)
        assert x.to(THERE).to(target).cpu().equal(x.to(target))
        assert x.to(THERE, target).cpu().equal(x.to(target))
        assert x.to(THERE).T.to("cpu", target).equal(x.T.to(target))

    def test_copies_between(self):
        x = torch.arange(6.0).reshape(2, 3)
        there = torch.zeros(2, 3, device=THERE)
        there.copy_(x)
        assert there.cpu().equal(x)
        there.copy_(torch.tensor([7, 8, 9]))  # spread, and of another type
        assert there.tolist() == [[7.0, 8.0, 9.0]] * 2
        here = torch.zeros(3, 2)
        here.T.copy_(x.to(THERE))
        assert here.equal(x.T)
        with pytest.raises(RuntimeError, match="size of tensor a"):
            there.copy_(torch.ones(4))

    def test_a_gradient_goes_along(self):
        x = torch.ones(3, requires_grad=True)
        x.to(THERE).mul(2).cpu().sum().backward()
        assert x.grad.device.type == "cpu" and x.grad.tolist() == [2.0] * 3

    def test_the_same_tensor_where_nothing_changes(self):
        x = torch.ones(3, device=THERE)
        assert x.to(THERE) is x and x.to(torch.float32) is x and x.to(THERE, copy=True) is not x

    def test_pinning_is_for_the_host(self):
        assert torch.ones(2).pin_memory().to(THERE, non_blocking=True).tolist() == [1.0, 1.0]
        with pytest.raises(
            RuntimeError, match=r"^cannot pin 'torch.opencl.FloatTensor' only dense"
        ):
            torch.ones(2, device=THERE).pin_memory()


class TestModulesAndOptimizers:
    def test_a_module_moves_its_parameters_and_buffers(self):
        net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
        parameters = list(net.parameters())
        assert net.to(THERE) is net and list(net.parameters()) == parameters
        assert {t.device.type for t in net.state_dict().values()} == {THERE}
        net.to("cpu", torch.float64)
        assert {(t.device.type, t.dtype) for t in net.parameters()} == {("cpu", torch.float64)}

    def test_an_optimizers_state_goes_where_its_parameters_are(self):
        def stepped(device):
            layer = nn.Linear(2, 1).to(device)
            with torch.no_grad():
                for p in layer.parameters():
                    p.fill_(0.5)
            optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
            layer(torch.ones(4, 2, device=device)).sum().backward()
            optimizer.step()
            return layer, optimizer

        layer, optimizer = stepped("cpu")
        other = nn.Linear(2, 1).to(THERE)
        other.load_state_dict(layer.state_dict())
        loaded = torch.optim.Adam(other.parameters(), lr=0.1)
        loaded.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        states = [t for s in loaded.state.values() for k, t in s.items() if k != "step"]
        assert {t.device.type for t in states} == {THERE}
        other(torch.ones(4, 2, device=THERE)).sum().backward()
        loaded.step()
        layer.zero_grad()
        layer(torch.ones(4, 2)).sum().backward()
        optimizer.step()
        for a, b in zip(other.parameters(), layer.parameters(), strict=True):
            assert torch.allclose(a.cpu(), b, rtol=1e-5)


class TestShown:
    def test_as_text(self):
        x = torch.tensor([[1.0, 2.5]], device=THERE)
        assert repr(x) == "tensor([[1.0000, 2.5000]], device='opencl:0')"
        assert repr(x.int()) == "tensor([[1, 2]], device='opencl:0', dtype=torch.int32)"
        assert repr(x[:, :0]) == "tensor([], device='opencl:0', size=(1, 0))"
        assert f"{x[0, 1]:.2f}" == "2.50"

    def test_as_python_objects(self):
        x = torch.tensor([1, 2, 3], device=THERE)
        assert x.tolist() == [1, 2, 3] and x[1].item() == 2 and len(x) == 3
        assert [int(t) for t in x] == [1, 2, 3] and bool(x[0]) and float(x[2]) == 3.0
        assert list(range(x[2])) == [0, 1, 2]

    def test_no_array_over_its_memory(self):
        x = torch.ones(2, device=THERE)
        for call in (x.numpy, lambda: np.asarray(x)):
            with pytest.raises(
                TypeError, match=r"^can't convert opencl:0 device type tensor to numpy"
            ):
                call()
        assert x.numpy(force=True).tolist() == [1.0, 1.0]
        with pytest.raises(BufferError):
            np.from_dlpack(x)

    def test_its_type(self):
        x = torch.ones(2, device=THERE)
        assert x.type() == "torch.opencl.FloatTensor" and not isinstance(x, torch.FloatTensor)
        assert x.type("torch.DoubleTensor").device.type == "cpu"
        assert x.type(torch.float64).device.type == THERE


class TestMixed:
    """Tensors of several devices in one call: PyTorch's error, and a number is no tensor."""

    SAID = "^Expected all tensors to be on the same device, but found at least two devices, "

    @pytest.mark.parametrize(
        "call",
        [
            lambda a, b: a + b,
            lambda a, b: a @ b.T,
            lambda a, b: torch.cat([a, b]),
            lambda a, b: torch.where(a > 0, a, b),
            lambda a, b: nn.functional.linear(a, b),
            lambda a, b: nn.functional.mse_loss(a, b),
            lambda a, b: a.add_(b),
            lambda a, b: torch.add(a, a, out=b),
            lambda a, b: torch.addmm(a, a, b.T),
        ],
    )
    def test_refused(self, call):
        here, there = torch.ones(2, 2), torch.ones(2, 2, device=THERE)
        for a, b in ((here, there), (there, here)):
            with pytest.raises(RuntimeError, match=self.SAID):
                call(a, b)
            assert a.tolist() == b.tolist() == [[1.0, 1.0], [1.0, 1.0]]

    def test_a_number_on_the_host_is_no_hindrance(self):
        there, number = torch.ones(2, device=THERE), torch.tensor(3.0)
        assert (there * number).tolist() == (number * there).tolist() == [3.0, 3.0]
        assert (there * number).device.type == THERE
        there += number
        assert there.tolist() == [4.0, 4.0]

    def test_an_index_on_the_host(self):
        there = torch.arange(4.0, device=THERE)
        assert there[torch.tensor([3, 0])].tolist() == [3.0, 0.0]
        assert there[torch.tensor([True, False, True, False])].tolist() == [0.0, 2.0]
        there[torch.tensor([0])] = 9
        assert there.tolist() == [9.0, 1.0, 2.0, 3.0]
        with pytest.raises(RuntimeError, match="indices should be either on cpu or on the same"):
            torch.arange(4.0)[torch.tensor([1], device=THERE)]

    def test_a_gradient_of_another_device(self):
        x = torch.ones(2, device=THERE, requires_grad=True)
        with pytest.raises(RuntimeError, match="assign a gradient with device type 'cpu'"):
            x.grad = torch.ones(2)
        with pytest.raises(RuntimeError, match="device"):
            (x * 2).backward(torch.ones(2))
        assert x.grad is None


class TestKept:
    def test_saved_and_loaded(self):
        x = torch.arange(6.0, device=THERE).reshape(2, 3)
        file = io.BytesIO()
        torch.save({"x": x, "row": x[1], "half": x.half()}, file)

        def loaded(**how):
            file.seek(0)
            return torch.load(file, **how)

        for how in ({}, {"map_location": "cpu"}, {"map_location": {"opencl:0": "cpu"}}):
            found = loaded(**how)
            assert found["x"].device.type == ("cpu" if how else THERE)
            assert found["x"].tolist() == x.tolist() and found["half"].dtype is torch.float16
            found["x"][1] = 7
            assert found["row"].tolist() == [7.0] * 3  # still one memory
        assert loaded(map_location=lambda storage, where: storage)["x"].device.type == "cpu"

    def test_loaded_there(self):
        file = io.BytesIO()
        torch.save(nn.Linear(2, 2).state_dict(), file)
        file.seek(0)
        found = torch.load(file, map_location=THERE)
        assert {t.device.type for t in found.values()} == {THERE}

    def test_copies_and_pickles(self):
        x = torch.ones(3, device=THERE, requires_grad=True)
        for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone()):
            assert made.device == x.device and made.requires_grad and made.tolist() == x.tolist()
            assert made.data_ptr() != x.data_ptr()

    def test_storages(self):
        x = torch.arange(4.0, device=THERE)
        storage = x.untyped_storage()
        assert storage.nbytes() == 16 and storage.device.type == THERE
        assert x[1:].untyped_storage().data_ptr() == storage.data_ptr()
        assert bytes(storage.cpu()) == np.arange(4, dtype=np.float32).tobytes()
        x.resize_(6)
        assert x[:4].tolist() == [0.0, 1.0, 2.0, 3.0] and x.untyped_storage().nbytes() == 24


class TestGenerators:
    def test_a_generator_of_the_device(self):
        made = [
            torch.rand(3, device=THERE, generator=torch.Generator(THERE).manual_seed(4))
            for _ in range(2)
        ]
        assert made[0].equal(made[1])

    @pytest.mark.parametrize("device, other", [(THERE, "cpu"), ("cpu", THERE)])
    def test_one_of_another_device(self, device, other):
        with pytest.raises(
            RuntimeError, match=r"^Expected a '.*' device type for generator but found"
        ):
            torch.rand(3, device=device, generator=torch.Generator(other))

    def test_one_seed_for_all_devices(self):
        torch.manual_seed(3)
        first = torch.rand(3, device=THERE), torch.rand(3)
        torch.manual_seed(3)
        assert torch.rand(3, device=THERE).equal(first[0]) and torch.rand(3).equal(first[1])
