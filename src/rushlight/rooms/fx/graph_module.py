"""A module whose forward is the code of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import nn
from .._base.errors import warn
from .._base.missing import missing_name as _missing_name
from .._core import Tensor
from .graph import Graph, PythonCode, _custom_builtins, _PyTreeCodeGen

__all__ = ["GraphModule", "reduce_graph_module", "reduce_package_graph_module"]

_count = itertools.count()
_HOOKS = "_replace_hooks _create_node_hooks _erase_node_hooks _deepcopy_hooks".split()
_KEPT_HOOKS = ["_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks"]


class _Sources:
    """The texts of generated code, where tracebacks look for them."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def get_source(self, name: str) -> str | None:
        return self.texts.get(name)


_loader = _Sources()


def _forward_from_src(src: str, globals: dict[str, object], co_fields: object = None) -> object:
    """The function `forward` that a text defines."""
    key = f"<eval_with_key>.{next(_count)}"
    _loader.texts[key] = src
    names = {**globals}
    told = {**names, "__file__": key, "__name__": key, "__loader__": _loader}
    linecache.lazycache(key, told)
    exec(compile(src, key, "exec", dont_inherit=True), names)
    return names.pop("forward")


def _import_block(globals: dict[str, Any]) -> str:
    """Statements that give a file the names that generated code uses."""
    lines = set()
    for name, obj in globals.items():
        if name in _custom_builtins:
            lines.add(_custom_builtins[name].import_str)
        else:
            lines.add(f"from {obj.__module__} import {obj.__qualname__} as {name}")
    return "\n".join(sorted(lines))


def reduce_graph_module(body: dict[str, Any], import_block: str) -> Any:
    """A GraphModule of what its pickle has: the code is traced again."""
    source = body.get("_code") or body["code"]
    forward = _forward_from_src(import_block + source, {})
    return _deserialize_graph_module(forward, body)


def reduce_package_graph_module(
    importer: Any, body: dict[str, Any], generated_module_name: str
) -> Any:
    """A GraphModule of what a package has."""
    return _deserialize_graph_module(importer.import_module(generated_module_name).forward, body)


class _CodeOnlyModule(nn.Module):
    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _deserialize_graph_module(
    forward: Any, body: dict[str, Any], graph_module_cls: Any = None
) -> Any:
    from ._symbolic_trace import Tracer

    tracer_cls: Any = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer_cls):  # type: ignore[misc]
        def is_leaf_module(self, m: Any, name: str) -> bool:
            return True

    class Code(_CodeOnlyModule):
        pass

    Code.forward = forward
    module = Code(body)
    graph = KeepModules().trace(module, **body.get("_tracer_extras", {}))
    graph._tracer_cls = tracer_cls
    traces = body.pop("_graphmodule_graph_node_meta_stack_trace", None) or {}
    for node in graph.nodes:
        if traces.get(node.name) is not None:
            node.meta["stack_trace"] = traces[node.name]
    name = body.get("_graphmodule_cls_name", "GraphModule")
    made = (graph_module_cls or GraphModule)(module, graph, class_name=name)
    for key, value in body.items():
        if not hasattr(made, key):
            setattr(made, key, value)
    return made


def _set_member(module: Any, name: str, value: object) -> None:
    if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _assign_attr(from_obj: object, to_module: object, target: str) -> None:
    """Put a value into a module under a dotted name; modules on the way are made."""
    *path, name = target.split(".")
    for part in path:
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, nn.Module())
        to_module = getattr(to_module, part)
    _set_member(to_module, name, from_obj)


def _copy_attr(from_module: object, to_module: object, target: str) -> None:
    """Let a module have what another has under a dotted name."""
    *path, name = target.split(".")
    for part in path:
        source = getattr(from_module, part)
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, nn.Module())
        from_module, to_module = source, getattr(to_module, part)
        if source is to_module:
            return
    _set_member(to_module, name, getattr(from_module, name))


def _get_attr(model: object, attr_name: str) -> Any:
    for part in attr_name.split("."):
        model = getattr(model, part)
    return model


def _has_attr(model: object, attr_name: str) -> bool:
    try:
        _get_attr(model, attr_name)
    except AttributeError:
        return False
    return True


def _del_attr(model: object, attr_name: str) -> None:
    path, _, name = attr_name.rpartition(".")
    delattr(_get_attr(model, path) if path else model, name)


def _indented(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *("    " + line if line.strip() else "" for line in rest)])


def _readable(module: Any, name: str, settings: dict[str, object]) -> str:
    code = module.graph.python_code("self", verbose=True, **settings).src.lstrip("\n")
    inner = [""]
    for child_name, child in module.named_children():
        if isinstance(child, GraphModule):
            inner.append(_readable(child, child_name, settings))
    text = f"class {name}(torch.nn.Module):\n{code}"
    return _indented(text) + _indented("\n".join(inner))


def _shown_error(error: BaseException) -> str | None:
    """Where in generated code an exception was raised; None if it was elsewhere."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if "eval_with_key" not in last.filename or last.lineno is None:
        return None
    lines, at = linecache.getlines(last.filename), last.lineno
    return "\n".join(
        [
            traceback.format_exc(),
            f"Call using an FX-traced Module, line {at} of the traced Module's generated forward "
            "function:",
            "".join(lines[at - 2 : at]),
            "~" * len(last.line or "") + "~~~ <--- HERE",
            "\n".join(lines[at : at + 2]),
        ]
    )


class _WrappedCall:
    """Calls a traced module; an error in generated code shows the line."""

    def __init__(self, cls: Any, cls_call: Callable[..., Any] | None) -> None:
        self.cls, self.cls_call = cls, cls_call

    def __call__(self, obj: object, *args: Any, **kwargs: object) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            plain: Any = super(self.cls, obj)
            return plain.__call__(*args, **kwargs)
        except Exception as error:
            shown = _shown_error(error)
            if shown is None:
                raise
            print(shown, file=sys.stderr)
            raise error.with_traceback(None)  # noqa: B904


class GraphModule(nn.Module):
    """A module whose forward is the code of a graph.

    root: the module, or the dict by dotted names, that has what the graph's nodes name. After a
    change of the graph, call `recompile`.

    >>> gm = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> for node in gm.graph.nodes:
    ...     if node.op == "call_function":
    ...         node.target = torch.sub
    >>> _ = gm.recompile()
    >>> gm(torch.tensor([3]))
    tensor([2])
    """

    _wrapped_call: _WrappedCall

    def __new__(cls, *args: Any, **kwargs: object) -> Any:
        # Each has a class of its own, since `forward` is found there.
        for base in cls.__mro__:
            if base.__qualname__.split(".")[-1] != "GraphModuleImpl":
                break

        class GraphModuleImpl(base):  # type: ignore[valid-type, misc]
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        members = [n for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, nn.Module):
            if hasattr(root, "training"):
                self.training: bool = root.training
            if isinstance(root, _CodeOnlyModule):
                for named in (root.named_children(), root.named_buffers(), root.named_parameters()):
                    for name, _ in named:
                        _copy_attr(root, self, name)
            for node in members:
                _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            for node in members:
                if node.target not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not "
                        "provided in ``root``!"
                    )
            for target in sorted((n.target for n in members), key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        tracer_cls = graph._tracer_cls
        self._tracer_cls: type[object] | None = None
        if tracer_cls is not None and "<locals>" not in tracer_cls.__qualname__:
            self._tracer_cls = tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        for hooks in _HOOKS:
            setattr(self, hooks, [])
        self.shape_env: Any = None

    @property
    def graph(self) -> Graph:
        """The graph; a new one may be assigned."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The Python code of the graph, as it was at the last `recompile`."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Write the code of the graph anew; to be called after a change of it."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info[1:]
        written = self._graph.python_code(root_module="self")
        self._code = written.src
        self._lineno_map, self._prologue_start = written._lineno_map, written._prologue_start
        cls: Any = type(self)
        cls.forward = _forward_from_src(self._code, written.globals)
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, vars(cls).get("__call__"))

            def call(self: Any, *args: object, **kwargs: object) -> Any:
                return self._wrapped_call(self, *args, **kwargs)

            cls.__call__ = call
        for child in self.children():
            if isinstance(child, GraphModule):
                child.recompile()
        return written

    def add_submodule(self, target: str, m: nn.Module) -> bool:
        """Put a child in under a dotted name; False where something else stands on the way."""
        *path, name = target.split(".")
        at: Any = self
        for part in path:
            if getattr(at, part, None) is None:
                setattr(at, part, nn.Module())
            at = getattr(at, part)
            if not isinstance(at, nn.Module):
                return False
        at.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take a child out by its dotted name; False where there is none."""
        path, _, name = target.rpartition(".")
        at: Any = self
        for part in filter(None, path.split(".")):
            at = getattr(at, part, None)
            if not isinstance(at, nn.Module):
                return False
        if not isinstance(getattr(at, name, None), nn.Module):
            return False
        delattr(at, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take out the children that no node uses."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            used.update(itertools.accumulate(node.target.split("."), lambda x, y: f"{x}.{y}"))
            if node.op == "call_module" and _has_attr(self, node.target):
                inner = self.get_submodule(node.target).named_modules()
                used.update(f"{node.target}.{name}" for name, _ in inner if name)
        for name in [name for name, _ in self.named_modules() if name not in used]:
            self.delete_submodule(name)

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: Any = None,
    ) -> str:
        """The code of the graph and of the traced children, with what `meta` knows of the tensors.

        It is also printed, if not told otherwise. Colors are left out.
        """
        kept = {
            "include_stride": include_stride,
            "include_device": include_device,
            "expanded_def": expanded_def,
            "additional_meta": additional_meta,
        }
        text = _readable(self, self._get_name(), kept)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        note = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, note])

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write the module as a package: its code, and files of its tensors and children."""
        from ..serialization import save

        folder = Path(folder)
        folder.mkdir(exist_ok=True)
        save(self.state_dict(), folder / "state_dict.pt")
        imports = [k.import_str for k in _custom_builtins.values()]
        lines = [*imports, "", "", f"class {module_name}(torch.nn.Module):"]
        body = ["def __init__(self):", "    super().__init__()"]
        files = []
        for name, module in self.named_children():
            if type(module).__name__ in _SAFE and type(module).__module__.startswith(
                ("rushlight.nn", "torch.nn")
            ):
                body.append(f"    self.{name} = torch.nn.{module!r}")
                continue
            path = folder / f"{name}.pt"
            save(module, path)
            files.append(name)
            body.append(f"    self.{name} = torch.load({str(path)!r}, weights_only=False)")
        for name, tensor in [*self._buffers.items(), *self._parameters.items()]:
            if tensor is None:
                continue
            made = f"torch.empty({list(tensor.shape)}, dtype={tensor.dtype})"
            if name in self._buffers:
                body.append(f"    self.register_buffer({name!r}, {made})")
            else:
                body.append(f"    self.{name} = torch.nn.Parameter({made})")
        state = os.fspath(folder / "state_dict.pt")
        body.append(f"    self.load_state_dict(torch.load({state!r}))")
        lines += ["    " + line for line in body] + _indented(self.code).split("\n")
        (folder / "module.py").write_text("\n".join(lines) + "\n")
        (folder / "__init__.py").write_text("from .module import *\n")
        if files:
            warn(
                "Was not able to save the following children modules as reprs -saved as pickled "
                f"files instead: {files}",
            )

    # --- copies

    def __reduce__(self) -> Any:
        body = self.__dict__.copy()
        block = _import_block(self.recompile().globals)
        del body["_graph"]
        return reduce_graph_module, (body, block)

    def _deepcopy_init(self) -> Callable[..., None]:
        return GraphModule.__init__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        body = copy.deepcopy({k: v for k, v in vars(self).items() if k != "_graph"}, memo)
        graph = copy.deepcopy(self._graph)
        graph._tracer_cls, graph._tracer_extras = (
            self._graph._tracer_cls,
            self._graph._tracer_extras,
        )
        self._deepcopy_init()(made, _CodeOnlyModule(body), graph)
        for name in _KEPT_HOOKS + _HOOKS:
            if name in body:
                setattr(made, name, body[name])
        made.meta = body.get("meta", {})
        for name, value in made.meta.get("_user_preserved_attributes", {}).items():
            setattr(made, name, value)
        for hook in getattr(self, "_deepcopy_hooks", ()):
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph)
        made.meta = getattr(self, "meta", {})
        return made

    def _replicate_for_data_parallel(self) -> Any:
        return self.__copy__()

    # --- hooks

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Callable[..., Any]) -> None:
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f: Callable[..., Any]) -> None:
        self._deepcopy_hooks.remove(f)


_SAFE = "Linear Conv1d Conv2d Conv3d BatchNorm1d BatchNorm2d BatchNorm3d".split()

__getattr__ = _missing_name(__name__)
