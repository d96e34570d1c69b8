// Guards: a fast answer to whether all Python state that a run could have read is as it was;
// state.cpp has more.
#pragma once
#include "core/python.h"

namespace rushlight {

// After a replay of the run of these guards, at whose start `changes.gradients` was `before`. The
// replay set so many gradients, and made so many of them anew, for itself alone.
void replayed(PyObject* guards, uint64_t before, size_t set, size_t made);
int init_state(PyObject* module);
// Whether code that reads the one value cannot tell it from the other. Runs no Python code.
bool same_value(PyObject* a, PyObject* b);
// Guards.match: a tuple of the inputs, or None; nullptr with an exception.
PyObject* matched_inputs(PyObject* guards, PyObject* args, PyObject* kwargs);

}  // namespace rushlight
