"""Settings of PyTorch's tracing: they change nothing here."""

disable_progress = True
verbose_progress = False
split_const_subgraphs = False
do_not_emit_stack_traces = False
use_lazy_graph_module = False
