// The functions of gradients.cpp that the walk (engine.cpp) calls.
#pragma once
#include "core/core.h"

namespace rushlight {

// A gradient in the shape and the element type that the edge's end expects. Takes over `g`; a new reference. `n`: the node whose
// gradient number `i` it is; nullptr where the program gave it for root `i`.
PyObject* fit_to_edge(Node* n, int i, const Edge& e, PyObject* g, bool create_graph);
// The gradient that `backward()` starts from when none is given.
PyObject* implicit_gradient(PyObject* root, const Edge& e);
// Adds to `v`'s .grad. Takes over `g`, of which `ours` references are the engine's (hooks are shown the gradient's own memory).
int add_to_leaf(Tensor* v, PyObject* g, int ours, bool create_graph);

}  // namespace rushlight
