"""`torch.fx`: programs as graphs of calls, to look at, to change and to run.

A module or function is traced once with proxies for its arguments; the calls that it makes are a
`Graph`, whose Python code is the forward of a `GraphModule`.

>>> gm = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
>>> [(n.op, n.target) for n in gm.graph.nodes]
[('placeholder', 'input'), ('call_module', '0'), ('call_module', '1'), ('output', 'output')]
"""

from .._base.missing import missing_name as _missing_name
from . import graph as graph
from . import graph_module as graph_module
from . import immutable_collections as immutable_collections
from . import interpreter as interpreter
from . import node as node
from . import operator_schemas as operator_schemas
from . import proxy as proxy
from . import subgraph_rewriter as subgraph_rewriter
from . import traceback as traceback
from ._symbolic_trace import PH as PH
from ._symbolic_trace import ProxyableClassMeta as ProxyableClassMeta
from ._symbolic_trace import Tracer, symbolic_trace, wrap
from .graph import CodeGen as CodeGen
from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

__getattr__ = _missing_name(
    __name__,
    late={n: n for n in ("annotate", "config", "experimental", "passes", "tensor_type")},
)
