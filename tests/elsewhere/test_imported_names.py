"""What libraries import and one process can answer: checkpoints, fused layers, own operators.

And what is only to be imported: it refuses in one sentence.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import rushlight as torch

nn = torch.nn

# Modules, and names that public packages take from them.
IMPORTED = """
onnx: export is_in_onnx_export OnnxExporterError | onnx.symbolic_helper: parse_args
onnx.operators: shape_as_tensor | export: Dim export ExportedProgram register_dataclass save load
ao.quantization: QuantStub DeQuantStub fuse_modules prepare convert get_default_qconfig QConfig
quantization: QuantStub DeQuantStub fuse_modules prepare_qat | ao.nn.intrinsic: ConvReLU2d
distributed.rpc: init_rpc shutdown RRef is_available | distributed.checkpoint: save load
distributed.checkpoint: FileSystemReader FileSystemWriter DefaultLoadPlanner async_save
distributed.checkpoint.state_dict: StateDictOptions get_model_state_dict set_optimizer_state_dict
distributed.fsdp: FullyShardedDataParallel MixedPrecision ShardingStrategy StateDictType fully_shard
distributed.fsdp.wrap: transformer_auto_wrap_policy size_based_auto_wrap_policy ModuleWrapPolicy
distributed.fsdp.fully_sharded_data_parallel: FullyShardedDataParallel ShardingStrategy
distributed.fsdp.sharded_grad_scaler: ShardedGradScaler
distributed.tensor: DTensor Shard Replicate
distributed.tensor.parallel: parallelize_module ColwiseParallel RowwiseParallel
distributed.tensor.placement_types: Placement _StridedShard
distributed._tensor: DTensor DeviceMesh | distributed._tensor.experimental: implicit_replication
distributed.device_mesh: DeviceMesh init_device_mesh | distributed.algorithms.join: Join Joinable
distributed.elastic.multiprocessing.errors: record | distributed.optim: ZeroRedundancyOptimizer
distributed.nn.functional: all_gather all_reduce | distributed._functional_collectives: all_reduce
distributed.pipelining: PipelineStage | distributed.run: main | distributed.launch: main
distributed.distributed_c10d: ProcessGroup _get_default_group default_pg_timeout
distributed._composable.fsdp: fully_shard | distributed.constants: default_pg_timeout
distributed.algorithms._checkpoint.checkpoint_wrapper: checkpoint_wrapper CheckpointImpl
distributed.algorithms.ddp_comm_hooks.default_hooks: fp16_compress_hook
package: PackageExporter PackageImporter | monitor: Event log_event | _logging: set_logs
_inductor.config: triton | backends.opt_einsum: enabled | backends.mkl: is_available
utils._python_dispatch: TorchDispatchMode is_traceable_wrapper_subclass | utils.cpp_extension: load
nn.functional: _canonical_mask _none_or_dtype | nn.modules.conv: _ConvTransposeNd
profiler.profiler: _default_schedule_fn | utils.data.dataloader: _collate_fn_t
_C: _get_cudnn_enabled | backends: flags_frozen __allow_nonbracketed_mutation
utils.data._utils.collate: default_collate_fn_map np_str_obj_array_pattern
serialization: DEFAULT_PROTOCOL MAGIC_NUMBER | utils.data.dataloader: _DatasetKind
utils.data._utils.worker: _worker_info get_worker_info | utils.model_zoo: load_url
library: Library define impl impl_abstract fallthrough_kernel register_autocast
functional: einsum split norm | fx.experimental.symbolic_shapes: guard_size_oblivious
""".replace("\n", "|").split("|")
REFUSED = """onnx.export(1) | export.export(1) | ao.quantization.prepare(1)
package.PackageExporter('x')
distributed.rpc.init_rpc('x') | distributed.pipelining.PipelineStage()
distributed.tensor.distribute_module(1) | distributed.tensor.zeros(1)
utils.cpp_extension.load('x') | utils.mobile_optimizer.optimize_for_mobile(1)
library.get_kernel('x') | utils._python_dispatch.TorchDispatchMode().__enter__()
distributed.checkpoint.SavePlanner()""".replace("\n", "|").split("|")


@pytest.mark.parametrize("line", [x.strip() for x in IMPORTED if x.strip()])
def test_libraries_can_import(line: str) -> None:
    module, _, names = line.partition(":")
    found = importlib.import_module(f"rushlight.{module}")
    for name in names.split():
        assert hasattr(found, name)


@pytest.mark.parametrize("call", [x.strip() for x in REFUSED])
def test_what_cannot_be_is_refused_in_a_sentence(call: str) -> None:
    path, _, _ = call.partition("(")
    names = path.replace("()", "").split(".")
    module = max(
        (".".join(names[:i]) for i in range(1, len(names)) if _is_module(names[:i])), key=len
    )
    found = importlib.import_module(f"rushlight.{module}")
    with pytest.raises(NotImplementedError, match="not in rushlight"):
        eval(f"found.{call.removeprefix(module + '.')}", {"found": found})


def _is_module(names: list[str]) -> bool:
    try:
        importlib.import_module("rushlight." + ".".join(names))
    except ModuleNotFoundError:
        return False
    return True


def test_layers_are_fused_for_evaluation() -> None:
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.bn, self.relu = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()
            self.linear, self.act = nn.Linear(2, 2), nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.act(self.linear(self.relu(self.bn(self.conv(x))).mean((2, 3))))

    net, x = Net(), torch.randn(4, 1, 5, 5)
    net(x)  # moves the running means
    net.eval()
    fused = torch.ao.quantization.fuse_modules(net, [["conv", "bn", "relu"], ["linear", "act"]])
    assert np.allclose(fused(x).detach(), net(x).detach(), atol=1e-6)
    kinds = [type(m).__name__ for m in fused.children()]
    assert kinds == ["ConvReLU2d", "Identity", "Identity", "LinearReLU", "Identity"]
    assert type(net.bn) is nn.BatchNorm2d
    with pytest.raises(NotImplementedError, match="Cannot fuse"):
        torch.ao.quantization.fuse_modules(net, ["relu", "act"])


def trained(seed: int) -> tuple[Any, Any]:
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    for _ in range(2):
        net(torch.ones(2, 3)).sum().backward()
        optimizer.step()
    return net, optimizer


def test_checkpoints_of_one_process(tmp_path: Any) -> None:
    dcp = importlib.import_module("rushlight.distributed.checkpoint")
    states = importlib.import_module("rushlight.distributed.checkpoint.state_dict")
    net, optimizer = trained(0)
    model_state, optimizer_state = states.get_state_dict(net, optimizer)
    assert set(optimizer_state["state"]) == {n for n, _ in net.named_parameters()}
    kept = {"model": model_state, "optim": optimizer_state, "step": 7}
    dcp.save(kept, checkpoint_id=tmp_path / "a")
    assert dcp.async_save(kept, checkpoint_id=tmp_path / "b").result() is not None

    other, other_optimizer = trained(1)
    state = dict(
        zip(("model", "optim"), states.get_state_dict(other, other_optimizer), strict=True)
    )
    state["step"] = 0
    dcp.load(state, checkpoint_id=tmp_path / "a")
    states.set_state_dict(
        other, other_optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"]
    )
    assert state["step"] == 7
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        assert np.array_equal(a.detach(), b.detach())
    for network, opt in ((net, optimizer), (other, other_optimizer)):
        opt.zero_grad()
        network(torch.ones(2, 3)).sum().backward()
        opt.step()
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        assert np.array_equal(a.detach(), b.detach())
    with pytest.raises(dcp.CheckpointException, match="Missing key"):
        dcp.load({"nothing": torch.ones(1)}, checkpoint_id=tmp_path / "a")


def test_modules_of_one_process_are_whole() -> None:
    fsdp = importlib.import_module("rushlight.distributed.fsdp")
    wrapper = importlib.import_module(
        "rushlight.distributed.algorithms._checkpoint.checkpoint_wrapper"
    )
    net, _ = trained(0)
    x = torch.ones(2, 3, requires_grad=True)
    want = net(x).sum()
    whole = fsdp.FullyShardedDataParallel(net)
    assert list(whole.state_dict()) == list(net.state_dict()) and whole.module is net
    assert fsdp.fully_shard(net) is net
    again = wrapper.checkpoint_wrapper(net)
    assert [n for n, _ in again.named_parameters()] == [n for n, _ in net.named_parameters()]
    for module in (whole, again):
        x.grad = None
        result = module(x).sum()
        result.backward()
        assert result.item() == want.item() and x.grad is not None


def test_meshes_have_one_process() -> None:
    mesh = torch.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    assert mesh.size() == 1 and mesh.ndim == 2 and mesh["tp"].mesh_dim_names == ("tp",)
    with pytest.raises(RuntimeError, match="world size"):
        torch.distributed.init_device_mesh("cpu", (2,))
    with pytest.raises(KeyError, match="Invalid mesh_dim_names"):
        _ = mesh["pp"]


def test_operators_of_a_schema() -> None:
    lib = torch.library.Library("names_test", "DEF")
    assert lib.define("scaled(Tensor x, float k=2.0, *, bool neg=False) -> Tensor") == "scaled"
    with pytest.raises(NotImplementedError, match="no kernel"):
        torch.ops.names_test.scaled(torch.ones(1))
    torch.library.impl(lib, "scaled", "CPU")(lambda x, k, neg: x * (-k if neg else k))
    call = torch.ops.names_test.scaled
    assert (
        call(torch.ones(1)).item() == 2 and call.default(torch.ones(1), 3.0, neg=True).item() == -3
    )
    with pytest.raises(RuntimeError, match="Declaration"):
        call(torch.ones(1), bad=1)
    torch.library.register_autograd(
        "names_test::scaled", lambda ctx, g: (g * ctx.k, None), setup_context=_keep_k
    )
    x = torch.ones(2, requires_grad=True)
    call(x, 5.0).sum().backward()
    assert x.grad.tolist() == [5, 5]
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        _ = torch.ops.names_test.other
    lib._destroy()
    assert not hasattr(torch.ops.names_test, "scaled")

    @torch.library.custom_op("names_test::plus_one", mutates_args=())
    def plus_one(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert torch.ops.names_test.plus_one(torch.ones(1)).item() == 2
    assert torch.ops.aten.add.Tensor(torch.ones(1), 2).item() == 3
    assert torch.ops.aten.view.default(torch.ones(4), (2, 2)).shape == (2, 2)
    with pytest.raises(NotImplementedError, match="not in rushlight"):
        torch.ops.aten._no_such_operator(1)


def _keep_k(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    ctx.k = inputs[1]


@pytest.mark.parametrize("name", ["nn", "nn.modules", "optim", "optim.lr_scheduler"])
def test_a_module_shows_all_its_classes_to_who_goes_through_it(name: str) -> None:
    """As libraries that make a class of their own of each; no program has asked for one before."""
    program = (
        f"import rushlight as torch; found = vars(torch.{name}); "
        f"print([n for n in torch.{name}.__all__ if n not in found])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
