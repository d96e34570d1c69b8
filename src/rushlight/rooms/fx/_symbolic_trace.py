"""Tracing: a program is run once with proxies for its arguments, and its calls become a graph."""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import math
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from .. import _core, nn
from .._alias.spelling import IN_BOTH, METHODS, regrouped, root
from .._base import pytree
from .._base.errors import warn
from .._base.missing import missing_name as _missing_name
from .._core import Tensor
from ..nn import functional
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .graph_module import GraphModule
from .node import Node, base_types, map_aggregate
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

__all__ = ["PH", "PHBase", "PHWithMeta", "ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]

_F = TypeVar("_F")
_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_proxyable_classes: dict[type, None] = {}
_is_fx_tracing_flag = False

# The arguments of `wrap`: names in a module's globals, by the globals' id and the name.
_wrapped_fns_to_patch: dict[tuple[int, str], dict[str, Any]] = {}
_wrapped_methods_to_patch: list[tuple[type, str]] = []


def is_fx_tracing() -> bool:
    """Whether a program is being traced."""
    return _is_fx_tracing_flag


is_fx_symbolic_tracing = is_fx_tracing


def _as_functional(name: str, method: bool) -> Callable[..., object]:
    """Stands for `torch.nn.functional.<name>` while a program is traced."""
    plain = getattr(functional, name)

    def call(*args: object, **kwargs: object) -> Any:
        if not any(isinstance(a, Proxy) for a in (*args, *kwargs.values())):
            return plain(*args, **kwargs)
        if method:
            given = args[0] if args else kwargs["input"]
            return getattr(given, name)()
        args, kwargs = regrouped(plain, f"torch.nn.functional.{name}", args, kwargs)
        return Proxy.__torch_function__(plain, (), args, kwargs)

    call.__name__ = name
    return call


def _find_proxy(*values: object) -> Proxy | None:
    found: list[Proxy] = []

    def note(x: Any) -> Any:
        if isinstance(x, Proxy):
            found.append(x)
        return x

    map_aggregate(values, note)
    return found[-1] if found else None


class ProxyableClassMeta(type):
    """Metaclass: making an instance from traced values becomes a node.

    >>> class Pair(metaclass=torch.fx.ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> gm = torch.fx.symbolic_trace(lambda x: Pair(x, x))
    >>> [n.op for n in gm.graph.nodes]
    ['placeholder', 'call_function', 'output']
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs) if _is_fx_tracing_flag else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


def _patch_function(fn: Any, nargs: int) -> types.FunctionType:
    """A function whose parameters, *args and **kwargs too, are taken by position, as they are."""
    code = fn.__code__.replace(
        co_argcount=nargs,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=fn.__code__.co_flags & ~_VARIADIC,
    )
    return types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


def _annotations(fn: Any) -> dict[str, object]:
    """A function's annotations; of a function of the library only texts that contain Tensor."""
    found: dict[str, Any] = inspect.get_annotations(fn)
    if not str(fn.__module__).startswith(("rushlight.", "torch.")):
        return found
    if fn is nn.Sequential.forward:  # PyTorch's says nothing
        return {}
    return {name: Tensor for name, text in found.items() if text == "Tensor"}


class PHBase:
    """Stands in `concrete_args` for what is not concrete."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A `PH` whose attributes the node gets."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


def _transfer_attrs(fr: object, to: object) -> None:
    for name in dir(fr):
        value = getattr(fr, name)
        if not (callable(value) or name.startswith("__") or hasattr(to, name)):
            setattr(to, name, value)


class _Patches:
    """Names that stand for others until the end of a block."""

    def __init__(self) -> None:
        self.undo = contextlib.ExitStack()

    def item(self, names: dict[str, object], name: str, value: Any) -> None:
        """Let a name in a dict stand for a value."""
        if name in names:
            if getattr(names[name], "_fx_patch", False):
                return
            self.undo.callback(names.__setitem__, name, names[name])
        elif hasattr(builtins, name):
            self.undo.callback(names.pop, name)
        else:
            raise KeyError(name)
        value._fx_patch = True
        names[name] = value

    def attribute(self, cls: object, name: str, value: object) -> None:
        """Let an attribute of a class be a value."""
        self.undo.callback(setattr, cls, name, getattr(cls, name))
        setattr(cls, name, value)


def _wrapped(function: Callable[..., Any]) -> Callable[..., object]:
    """A function whose calls over traced values become nodes."""

    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return call


def _wrapped_method(cls: type, name: str) -> Callable[..., object]:
    method = getattr(cls, name)

    @functools.wraps(method)
    def call(*args: object, **kwargs: object) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return method(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return call


_nesting = 0
_PLAIN_GETATTR, _PLAIN_CALL = nn.Module.__getattr__, nn.Module.__call__


@contextlib.contextmanager
def _patched(tracer: Tracer, cache: dict[str, Proxy], fn_globals: Any) -> Iterator[None]:
    """The block in which modules, wrapped functions and torch.nn.functional are traced."""
    global _nesting
    patches, seen = _Patches(), set[int]()

    def autowrap(names: dict[str, Any]) -> None:
        if names.get("__name__", "builtins") == "builtins" or id(names) in seen:
            return
        seen.add(id(names))
        for name, value in list(names.items()):
            if not name.startswith("_") and id(value) in tracer._autowrap_function_ids:
                patches.item(names, name, _wrapped(value))

    def member(mod: nn.Module, attr: str) -> Any:
        return tracer.getattr(attr, _PLAIN_GETATTR(mod, attr), cache)

    def called(mod: nn.Module, *args: object, **kwargs: object) -> Any:
        def forward(*args: object, **kwargs: object) -> Any:
            return _PLAIN_CALL(mod, *args, **kwargs)

        autowrap(getattr(getattr(mod, "forward", mod), "__globals__", {}))
        return tracer.call_module(mod, forward, args, kwargs)

    _nesting += 1
    with patches.undo:
        try:
            patches.attribute(nn.Module, "__getattr__", member)
            patches.attribute(nn.Module, "__call__", called)
            for name in IN_BOTH + METHODS:
                patches.item(vars(functional), name, _as_functional(name, name in METHODS))
            for (_, name), names in _wrapped_fns_to_patch.items():
                value = names.get(name, getattr(builtins, name, None))
                if value is not None:
                    patches.item(names, name, _wrapped(value))
            for cls, name in _wrapped_methods_to_patch:
                patches.attribute(cls, name, _wrapped_method(cls, name))
            autowrap(fn_globals)
            for module in tracer._autowrap_search:
                autowrap(vars(module))
            yield
        finally:
            _nesting -= 1
            patches.undo.close()
            if not _nesting:
                _look_members_up_in_c(nn.Module)


def _look_members_up_in_c(cls: type) -> None:
    """Give modules their fast look-up of members back: a new `__getattr__` takes it off."""
    todo = [cls]
    while todo:
        kind = todo.pop()
        _core.find_members(kind, _PLAIN_GETATTR)
        todo += type.__subclasses__(kind)


def _parameter_proxy(tracer: Tracer, name: str, value: nn.Parameter, node: Node) -> Proxy:
    return ParameterProxy(tracer, node, name, value)


class Tracer(TracerBase):
    """Traces a module or function into a graph; its methods are to be overridden.

    autowrap_modules: modules of Python whose functions become nodes. param_shapes_constant: sizes
    of parameters are numbers, not nodes.

    >>> class Through(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> graph = Through().trace(nn.Sequential(nn.ReLU()))
    >>> [n.op for n in graph.nodes]
    ['placeholder', 'call_function', 'output']
    """

    _qualname_counter: ClassVar[dict[str, int]] = defaultdict(int)

    def __init__(
        self,
        autowrap_modules: tuple[types.ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(f) for f in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[nn.Module, str] | None = None
        self.root_module_name: str = ""
        self.scope: Scope = Scope("", None)
        self.module_stack: OrderedDict[str, tuple[str, Any]] = OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope: dict[str, tuple[str, Any]] = {}
        self.tensor_attrs: dict[Any, str] = {}
        self.root: Any = None

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that begins so and that the root has no attribute of."""
        if not hasattr(self.root, f"{prefix}0"):
            self._qualname_counter[prefix] = 0
            return f"{prefix}0"
        i = self._qualname_counter[prefix]
        while hasattr(self.root, f"{prefix}{i}"):
            i += 1
        self._qualname_counter[prefix] = i + 1
        return f"{prefix}{i}"

    def _kept(self, a: object, prefix: str) -> Any:
        """The node of a value that the root keeps from now on."""
        name = self.tensor_attrs.get(a) if isinstance(a, Tensor) else None
        if name is None:
            name = self.get_fresh_qualname(prefix)
            setattr(self.root, name, a)
            if isinstance(a, Tensor):
                self.tensor_attrs[a] = name
        return self.create_node("get_attr", name, (), {})

    def create_arg(self, a: Any) -> Any:
        """A value of the program as an argument: tensors and modules become members of the root."""
        members: Any = ()
        if isinstance(a, nn.Parameter):
            members = self.root.named_parameters()
        elif isinstance(a, Tensor):
            members = self.root.named_buffers()
        elif isinstance(a, nn.Module):
            members = self.root.named_modules()
        for name, member in members:
            if a is member:
                return self.create_node("get_attr", name, (), {})
        if isinstance(a, nn.Parameter):
            raise NameError("parameter is not a member of this module")
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            args = tuple(self.create_arg(x) for x in a)
            return self.create_node("call_function", type(a), args, {})
        if isinstance(a, Tensor):
            return self._kept(a, "_tensor_constant")
        if isinstance(a, pytree.TreeSpec):
            return self._kept(a, "_tree_spec_constant")
        if type(a) in _proxyable_classes:
            return self._kept(a, f"_{type(a).__name__}_constant_")
        return super().create_arg(a)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether a call of the module is one node: so for those of torch.nn, but Sequential."""
        module = type(m).__module__
        own = module.startswith(("rushlight.nn", "rushlight.ao.nn", "torch.nn", "torch.ao.nn"))
        return own and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod: nn.Module) -> str:
        """The name of a module from the root; NameError where it is no child."""
        if self.submodule_paths:
            found = self.submodule_paths.get(mod)
        else:
            found = next((n for n, m in self.root.named_modules() if m is mod), None)
        if found is None:
            raise NameError("module is not installed as a submodule")
        return found

    def call_module(
        self,
        m: nn.Module,
        forward: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Traces a call of a child: a leaf becomes a node, any other child runs its forward."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            count = self.num_calls.get(path, 0)
            key = f"{path}@{count}" if count else path
            self.module_stack[key] = path, type(m)
            self.num_calls[path] = count + 1
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            self.module_stack.popitem()
        return result

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Proxy]) -> Any:
        """A member of a module during tracing: parameters become proxies."""
        members: Any = ()
        if isinstance(attr_val, nn.Parameter):
            members = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            members = self.root.named_buffers()
        for name, member in members:
            if member is not attr_val:
                continue
            if name not in parameter_proxy_cache:
                settings: dict[str, Any] = {}
                if self.param_shapes_constant and isinstance(attr_val, nn.Parameter):
                    settings["proxy_factory_fn"] = functools.partial(
                        _parameter_proxy, self, name, attr_val
                    )
                made = self.create_proxy("get_attr", name, (), {}, **settings)
                parameter_proxy_cache[name] = made
            return parameter_proxy_cache[name]
        return attr_val

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Any, list[Any]]:
        """Placeholders for a function's parameters: the function to call, and its arguments."""
        plain = inspect.unwrap(root_fn)
        code = plain.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = iter(code.co_varnames)
        args: list[Any] = []
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
            next(names)
        signature = inspect.signature(plain)
        variadic = code.co_flags & _VARIADIC
        if isinstance(concrete_args, tuple) and concrete_args and variadic and total == 1:
            for i, given in enumerate(concrete_args):
                made = self.create_proxy("placeholder", f"input_{i}", (), {})
                if isinstance(given, PHBase) and given is not PH:
                    _transfer_attrs(given, made.node)
                args.append(made)
            return root_fn, args
        own = [next(names) for _ in range(int(is_module), total)]
        if isinstance(concrete_args, tuple):
            if len(own) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(own)} arguments but got {len(concrete_args)} concrete "
                    "arguments"
                )
            concrete_args = dict(zip(own, concrete_args, strict=True))

        def placeholder(name: str) -> Any:
            return self._proxy_placeholder(name, concrete_args, signature, plain)

        args += map(placeholder, own)
        if code.co_kwonlyargcount or variadic:
            if code.co_flags & inspect.CO_VARARGS:
                args.append(placeholder("*" + next(names)))
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(placeholder("**" + next(names)))
            root_fn = _patch_function(root_fn, len(args))
        flat, in_spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in in_spec.children_specs):
            return root_fn, args
        codegen = _PyTreeCodeGen(_PyTreeInfo(list(code.co_varnames)[:total], in_spec, None))
        self.graph._codegen = codegen

        def flattened(*leaves: object) -> Any:
            result = root_fn(*pytree.tree_unflatten(list(leaves), in_spec))
            outputs, out_spec = pytree.tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return outputs

        return flattened, flat

    def _proxy_placeholder(
        self, name: str, concrete_args: Any, sig: inspect.Signature, fn: Callable[..., object]
    ) -> Any:
        default: tuple[object, ...] = ()
        if name[0] != "*" and sig.parameters[name].default is not inspect.Parameter.empty:
            default = (sig.parameters[name].default,)
        if concrete_args is None or name not in concrete_args:
            annotation = _annotations(fn).get(name)
            return self.create_proxy("placeholder", name, default, {}, type_expr=annotation)
        count = 0

        def leaf(x: object) -> Any:
            nonlocal count
            count += 1
            made = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(x, PHBase):
                if x is not PH:
                    _transfer_attrs(x, made.node)
                return made
            if type(x) in base_types and not isinstance(x, Tensor):
                root()._assert(
                    made == x,
                    f"{name} has been specialized to have value {x} but got another value",
                )
            elif x is None:
                said = f"{name} has been specialized to have value None but got another value"
                self.create_proxy("call_function", _assert_is_none, (made, said), {})
            else:
                warn(
                    f"Was not able to add assertion to guarantee correct input {name} to "
                    "specialized function. It is up to the user to make sure that your inputs "
                    "match the inputs you specialized the function with.",
                )
            return x

        return pytree.tree_map(leaf, concrete_args[name])

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's forward, or of a function.

        concrete_args: values of parameters, by name, that the graph is to hold for.
        """
        global _is_fx_tracing_flag
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            is_module = isinstance(root, nn.Module)
            if is_module:
                self.root = root
                if not hasattr(type(root), self.traced_func_name):
                    raise AssertionError(
                        f"traced_func_name={self.traced_func_name} doesn't exist in "
                        f"{type(root).__name__}"
                    )
                fn = getattr(type(root), self.traced_func_name)
                self.root_module_name = root._get_name()
                self.submodule_paths = {mod: name for name, mod in root.named_modules()}
            else:
                self.root, fn = nn.Module(), root
            self.graph: Graph = Graph(tracer_cls=type(self))
            self.tensor_attrs = {}
            for name, module in self.root.named_modules():
                for key, value in vars(module).items():
                    if isinstance(value, Tensor):
                        self.tensor_attrs[value] = f"{name}.{key}" if name else key
            if not isinstance(fn, types.FunctionType):
                raise AssertionError(f"Expected FunctionType, got {type(fn)}")
            annotation = _annotations(inspect.unwrap(fn)).get("return")
            fn_globals = fn.__globals__
            call, args = self.create_args_for_root(fn, is_module, concrete_args)
            with _patched(self, {}, fn_globals):
                result = (self.create_arg(call(*args)),)
                self.create_node("output", "output", result, {}, type_expr=annotation)
            self.submodule_paths = None
        finally:
            _is_fx_tracing_flag = before
        return self.graph

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        import copy

        copied = Tracer.__new__(Tracer)
        for name, value in vars(self).items():
            modules = name == "_autowrap_search"  # which cannot be copied
            vars(copied)[name] = copy.copy(value) if modules else copy.deepcopy(value, memo)
        return copied


def wrap(fn_or_name: _F) -> _F:
    """Let calls of a function over traced values become nodes: called at a module's top level.

    The function may be told by its name in the module, as those of Python: `torch.fx.wrap("len")`.

    >>> @torch.fx.wrap
    ... def opaque(x):
    ...     return x if x.sum() > 0 else -x
    >>> gm = torch.fx.symbolic_trace(lambda x: opaque(x) + 1)
    >>> [n.name for n in gm.graph.nodes]
    ['x', 'opaque', 'add', 'output']
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else getattr(fn_or_name, "__name__", "")
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    caller = frame.f_back
    if caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def _assert_is_none(value: object, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


wrap(_assert_is_none)


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """The module of the calls that a module or function makes, recorded by running it with proxies.

    What depends on values, as `if` over a tensor, raises TraceError. concrete_args: values of
    parameters, by name, that the result is to hold for.

    >>> gm = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> print(gm.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    >>> gm(torch.tensor([-1.0, 2.0]))
    tensor([1., 3.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


__getattr__ = _missing_name(__name__)
