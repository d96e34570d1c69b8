"""A model's graph as TensorBoard shows one: the calls of a run, each in the box of its module."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ... import _root as rl
from ..._base.pytree import tree_leaves
from ..._core import Tensor
from ...nn import Module
from ...nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ...overrides import TorchFunctionMode
from .summary import Message

_attributes: Message = import_module("tensorboard.compat.proto.attr_value_pb2")
_graphs: Message = import_module("tensorboard.compat.proto.graph_pb2")
_nodes: Message = import_module("tensorboard.compat.proto.node_def_pb2")
_settings: Message = import_module("tensorboard.compat.proto.config_pb2")
_shapes: Message = import_module("tensorboard.compat.proto.tensor_shape_pb2")
_steps: Message = import_module("tensorboard.compat.proto.step_stats_pb2")
_versions: Message = import_module("tensorboard.compat.proto.versions_pb2")


def _tensors(tree: object) -> Iterator[Tensor]:
    return (leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor))


def _boxes(model: Module) -> dict[int, str]:
    """The box of each module: the path of the outer boxes, then the module's class and name."""
    found = {"": type(model).__name__}
    boxes = {id(model): found[""]}
    for path, module in model.named_modules():
        if path:
            outer, _, name = path.rpartition(".")
            found[path] = f"{found[outer]}/{type(module).__name__}[{name}]"
            boxes[id(module)] = found[path]
    return boxes


class _Recorder(TorchFunctionMode):
    def __init__(self, model: Module) -> None:
        super().__init__()
        self.boxes, self.within = _boxes(model), [type(model).__name__]
        self.nodes: list[Message] = []
        self.made: dict[int, tuple[Tensor, str]] = {}  # a tensor, which lives, and its node
        self.owned = {
            id(tensor): (self.boxes[id(module)], name)
            for module in model.modules()
            for members in (module._parameters, module._buffers)
            for name, tensor in members.items()
        }

    def add(self, name: str, op: str, inputs: list[str], said: str, tensor: object) -> str:
        given = {"attr": _attributes.AttrValue(s=said.encode())}
        if isinstance(tensor, Tensor):
            sizes = [_shapes.TensorShapeProto.Dim(size=n) for n in tensor.shape]
            shape = _shapes.TensorShapeProto(dim=sizes)
            given["_output_shapes"] = _attributes.AttrValue(
                list=_attributes.AttrValue.ListValue(shape=[shape])
            )
        self.nodes.append(_nodes.NodeDef(name=name, op=op, input=inputs, attr=given))
        return name

    def source(self, tensor: Tensor) -> str:
        """The node that a tensor comes from; one more for a parameter or a constant."""
        known = self.made.get(id(tensor))
        if known is None:
            box, name = self.owned.get(id(tensor), (self.within[-1], ""))
            if name:
                at = self.add(
                    f"{box}/{name}/{name}", "prim::GetAttr", [], f"{{ name : {name}}}", tensor
                )
            else:
                at = self.add(f"{box}/{len(self.nodes)}", "prim::Constant", [], "{}", tensor)
            known = self.made[id(tensor)] = tensor, at
        return known[1]

    def __torch_function__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> object:
        inputs = [self.source(t) for t in _tensors((args, kwargs))]
        result = func(*args, **(kwargs or {}))
        results = list(_tensors(result))
        if results and func.__name__ != "__get__":
            name = f"{self.within[-1]}/{len(self.nodes)}"
            at = self.add(name, f"aten::{func.__name__.strip('_')}", inputs, "{}", results[0])
            for tensor in results:
                self.made[id(tensor)] = tensor, at
        return result

    def enter(self, module: object, args: object) -> None:
        self.within.append(self.boxes.get(id(module), self.within[-1]))

    def leave(self, module: object, args: object, output: object) -> None:
        self.within.pop()


def graph(model: Module, args: Any) -> tuple[Message, Message]:
    """The calls of a run of the model in evaluation, and the device they ran on."""
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    recorder, training = _Recorder(model), {m: m.training for m in model.modules()}
    names = [*inspect.signature(model.forward).parameters, *(str(i) for i in range(len(args)))]
    for name, given in zip(names, args, strict=False):
        for i, tensor in enumerate(_tensors(given)):
            label = f"input/{name}" + (f".{i}" if i else "")
            recorder.made[id(tensor)] = tensor, recorder.add(label, "IO Node", [], "", tensor)
    hooks = [
        register_module_forward_pre_hook(recorder.enter),
        register_module_forward_hook(recorder.leave, always_call=True),
    ]
    try:
        with rl.no_grad(), recorder:
            result = model.eval()(*args)
    finally:
        for hook in hooks:
            hook.remove()
        for module, mode in training.items():
            module.training = mode
    for i, tensor in enumerate(_tensors(result), 1):
        recorder.add(f"output/output.{i}", "IO Node", [recorder.source(tensor)], "", tensor)
    versions = _versions.VersionDef(producer=22)
    device = _steps.StepStats(dev_stats=[_steps.DeviceStepStats(device="/device:CPU:0")])
    made = _graphs.GraphDef(node=recorder.nodes, versions=versions)
    return made, _settings.RunMetadata(step_stats=device)
